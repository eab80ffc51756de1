"""Abstract values of objects that the region makes and no exit can build: exceptions that it catches, np.errstate.

Job: stand for them on stacks and in locals.  Invariants: immutable, so states share them; ``made_at`` is the unit of
the region's own frame where they were made, which an attempt to build them cuts.
Made by the handlers; ``exits`` refuses them.
"""
from __future__ import annotations

from typing import Any

from jitcore.frontend.values import Abstract


class Raised(Abstract):
    """An exception of exactly ``cls`` that the region raises and catches itself; nothing else sees it.

    ``made_at``: the unit of the region's own frame at which it was made.
    """

    __slots__ = ("cls", "made_at")

    def __init__(self, cls: type[BaseException], made_at: int) -> None:
        super().__init__()
        self.cls, self.made_at = cls, made_at


class Handling(Abstract):
    """What lies on the stack while the handler of ``error`` runs (CPython keeps the exception before it there)."""

    __slots__ = ("error", "made_at")

    def __init__(self, error: Raised) -> None:
        super().__init__()
        self.error, self.made_at = error, error.made_at


class Text(Abstract):
    """A string that only an exception holds which the region catches itself: nobody will read it."""

    __slots__ = ("made_at",)

    def __init__(self, made_at: int) -> None:
        super().__init__()
        self.made_at = made_at


class Errstate(Abstract):
    """A ``np.errstate`` made inside, not entered: ``ignored`` are the kinds that it ignores, as bits; it says nothing
    of the others.  ``made_at``: as for ``Function``."""

    __slots__ = ("ignored", "made_at")

    def __init__(self, ignored: int) -> None:
        super().__init__()
        self.ignored = ignored
        self.made_at: int | None = None


class CObject(Abstract):
    """An object of one of NumPy's C classes, ``type``; ``parts`` is what it is made of (``numpy_objects``).
    ``made_at``: as for ``Function``."""

    __slots__ = ("made_at", "parts", "type")

    def __init__(self, type: type, parts: dict[str, Any]) -> None:
        super().__init__()
        self.type, self.parts = type, parts
        self.made_at: int | None = None

    @property
    def kind(self) -> str:
        return self.type.__name__


class LeaveErrstate(Abstract):
    """``__exit__`` of a ``np.errstate`` that was entered: ``before`` are the kinds that are ignored afterwards."""

    __slots__ = ("before", "made_at")

    def __init__(self, before: int, made_at: int | None) -> None:
        super().__init__()
        self.before, self.made_at = before, made_at
