"""What the machine and the modules that know NumPy ask of each other.

Job: the few exceptions and results that pass between the executor and the semantic modules.
Invariants: a semantic function either returns an abstract value, or returns a ``Redirect``, or raises one
of the exceptions here before it has changed any abstract value.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from jitcore.frontend.values import Abstract


@dataclass
class Redirect:
    """The result is that of calling ``func`` (a Function or a Known Python function): the machine inlines it.

    ``operator``: unless the result is NotImplemented, which is where the machine gives up.
    """

    func: Abstract
    args: list[Abstract]
    kwargs: dict[str, Abstract] = field(default_factory=dict)
    operator: bool = False


class Unsupported(Exception):
    """The operation is not compiled: the machine makes it a CALL site."""


class Raises(Unsupported):
    """CPython is sure to raise an exception of exactly ``cls`` at this operation.  Where a handler that is part of the
    trace catches it, the machine goes on there; otherwise it is an operation that is not compiled."""

    def __init__(self, cls: type[BaseException], reason: str) -> None:
        super().__init__(reason)
        self.cls = cls


class Exceptional(Unsupported):
    """What is done here is for exceptional cases, like raising an exception: the interpreter does all of the call."""


class Leaves(Exception):
    """The instruction cannot be part of any region: the machine leaves to the interpreter there."""
