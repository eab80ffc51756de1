"""``np.errstate`` that a region makes, enters and leaves itself.

Job: what such an object means.  Invariants: only kinds that are ignored are known here, every other setting is left to
a CALL site; the real errstate of the thread is never touched, so no exit lies between entering and leaving in the
region's own frame (the objects on the stack cannot be built); operations in between carry the ignored kinds
(``quiet``), and back ends that do not look at it take the exit too often, which is right.  Used by ``calls`` and the
handlers.
"""
from __future__ import annotations

from jitcore.frontend.machine import Machine
from jitcore.frontend.protocol import Leaves, Unsupported
from jitcore.frontend.unseen import Errstate, LeaveErrstate
from jitcore.frontend.values import (
    Abstract,
    Known,
)

#: The kinds as bits, as csrc/reports.c counts them.
KINDS = {"divide": 1, "over": 2, "under": 4, "invalid": 8}


def make(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Errstate:
    """``np.errstate(**kwargs)``."""
    given = {name: m.force(value) for name, value in kwargs.items()}
    if args or not given.keys() <= {"all", *KINDS}:
        raise Unsupported("a np.errstate that calls a function")
    if not all(isinstance(value, Known) and value.obj in ("ignore", None) for value in given.values()):
        raise Unsupported("a np.errstate that does more than to ignore")
    names = [name for name, value in given.items() if isinstance(value, Known) and value.obj is not None]
    found = Errstate(sum(bit for name, bit in KINDS.items() if name in names or "all" in names))
    m.made(found)
    return found


def enter(m: Machine, value: Errstate) -> None:
    """A ``with`` statement on an object that is nowhere but there: nobody can enter it twice."""
    if any(other is value for frame in m.state.frames for other in (*frame.locals, *frame.stack)):
        raise Unsupported("a np.errstate that is kept")
    m.frame.push(LeaveErrstate(m.state.ignored, value.made_at))
    m.frame.push(Known(None))
    m.state.ignored |= value.ignored


def leave(m: Machine, value: LeaveErrstate) -> Known:
    """The call of its ``__exit__``: an exception goes on."""
    if m.state.ignored & value.before != value.before:
        raise Leaves("np.errstate that are not left in order")
    m.state.ignored = value.before
    return Known(None)
