"""Handlers: raising and catching exceptions."""
from __future__ import annotations

from jitcore.bytecode import Instr
from jitcore.frontend import exceptions
from jitcore.frontend.machine import Machine
from jitcore.frontend.protocol import Leaves
from jitcore.frontend.registry import handles
from jitcore.frontend.unseen import Handling, Raised
from jitcore.frontend.values import (
    Abstract,
    Known,
    Sequence,
)


@handles("RAISE")
def raise_(m: Machine, instr: Instr) -> None:
    """Where a handler in the trace may catch it the path goes on there; all else the interpreter raises."""
    frame = m.frame
    if instr.arg == 0:
        error = exceptions.handled(m.state)
    else:
        value, *cause = (m.force(v) for v in frame.pop_n(instr.arg))
        error = _raised(m, value)
        if cause and not (isinstance(cause[0], Raised) or (isinstance(cause[0], Known) and cause[0].obj is None)):
            error = None
    if error is None or not m.catch(error):
        raise Leaves("an exception is raised")


def _raised(m: Machine, value: Abstract) -> Raised | None:
    if isinstance(value, Raised):
        return value
    if isinstance(value, Known) and isinstance(value.obj, type) and exceptions.made_plainly(value.obj):
        return Raised(value.obj, m.outer_unit)
    return None


@handles("PUSH_EXC_INFO")
def push_exc_info(m: Machine, instr: Instr) -> None:
    error = m.frame.pop()
    assert isinstance(error, Raised)
    m.frame.push(Handling(error))
    m.frame.push(error)


@handles("POP_EXCEPT")
def pop_except(m: Machine, instr: Instr) -> None:
    if not isinstance(m.frame.stack[-1], Handling):
        raise Leaves("an exception handler that was entered before")
    m.frame.pop()


@handles("CHECK_EXC_MATCH")
def check_exc_match(m: Machine, instr: Instr) -> None:
    frame = m.frame
    wanted = m.force(frame.pop())
    error = frame.stack[-1]
    if isinstance(wanted, Sequence) and wanted.kind == "tuple":
        items = [m.force(item) for item in wanted.items]
        wanted = Known(tuple(item.obj for item in items if isinstance(item, Known)))
        if len(wanted.obj) != len(items):  # type: ignore[arg-type]
            raise Leaves("exception classes that are not known")
    found = exceptions.matches(error.cls, wanted) if isinstance(error, Raised) else None
    if found is None:
        raise Leaves("exception classes that are not known")
    frame.push(Known(found))


@handles("RERAISE")
def reraise(m: Machine, instr: Instr) -> None:
    error = m.frame.stack[-1]
    if not isinstance(error, Raised):
        raise Leaves("an exception that was raised before")
    m.frame.pop()
    m.rethrow(error)
