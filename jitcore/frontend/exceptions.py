"""Exceptions that a region raises and catches itself.

Job: which handler an exception goes to, what a ``raise`` means, which classes' exceptions are made without running
the user's code.  Invariants: such an exception is never an object: an exit at which it would be seen (inside an active
handler, or behind a handler that kept it) cannot be made, and the instruction that raised is cut; so exits never lie
inside a handler that is active.  Used by ``machine``, ``calls`` and the handlers.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from jitcore.bytecode import Instr
from jitcore.bytecode.decode import Handler
from jitcore.frontend.state import Frame, State
from jitcore.frontend.unseen import Handling, Raised, Text
from jitcore.frontend.values import (
    Abstract,
    Known,
    Lazy,
    Scalar,
    Sequence,
)

#: CPython's classes whose objects take any positional arguments and do nothing with them but keep them: programs raise
#: them, NotImplementedError among them, and nothing here stands for something missing.
_BUILTIN = frozenset((
    BaseException, Exception, ArithmeticError, AssertionError, AttributeError, BufferError, EOFError,
    FloatingPointError, IndexError, KeyError, LookupError, MemoryError, NameError, NotImplementedError, OverflowError,
    RecursionError, ReferenceError, RuntimeError, StopIteration, TypeError, UnboundLocalError, ValueError,
    ZeroDivisionError, Warning, UserWarning, RuntimeWarning, DeprecationWarning, FutureWarning))


def only_raises(frame: Frame) -> bool:
    """Whether all that the code can do from the present instruction on is to raise."""
    return _raise_ahead(frame) is not None


def _raise_ahead(frame: Frame) -> Instr | None:
    """The ``raise`` that the code goes straight to."""
    for instr in frame.code.instructions[frame.index - 1:]:
        if instr.op == "RAISE":
            return instr
        if instr.target is not None or instr.op in ("RETURN_VALUE", "RERAISE"):
            return None
    return None


def is_caught(state: State, seen: Collection[int]) -> bool:
    """Whether the present instruction makes an exception that is raised at once, where a handler of the trace may
    catch it.  ``seen``: units of the region's own frame whose exceptions it must not catch."""
    frame = state.frames[-1]
    ahead = _raise_ahead(frame)
    if ahead is None:
        return False
    first, last = state.frames[0].instr.unit, ahead.unit if len(state.frames) == 1 else state.frames[0].instr.unit
    if any(first <= unit <= last for unit in seen):
        return False
    return frame.code.handler(ahead.op_unit) is not None or any(
        handler is not None for _, handler in _handlers(state, len(state.frames) - 2))


def _handlers(state: State, top: int) -> Iterator[tuple[int, Handler | None]]:
    """The handlers around the running instructions, innermost first, from frame ``top`` on."""
    for depth in range(top, -1, -1):
        frame = state.frames[depth]
        handler = frame.code.handler(frame.instr.op_unit)
        if handler is not None and frame.yields is not None and (
                frame.code.instructions[frame.code.at(handler.target)].op == "INTERPRET"):
            handler = None              # what CPython puts around generators, for StopIteration
        yield depth, handler


def unwind(state: State, error: Raised) -> bool:
    """Go to the handler of ``error``; False, and nothing has changed, if there is none."""
    for depth, handler in _handlers(state, len(state.frames) - 1):
        frame = state.frames[depth]
        if handler is None:
            if frame.yields is not None and issubclass(error.cls, StopIteration):
                return False                # a generator makes another exception of it
            continue
        del state.frames[depth + 1:]
        del frame.stack[handler.depth:]
        if handler.lasti:
            frame.push(Known(frame.instr.unit))
        frame.push(error)
        frame.jump(handler.target)
        return True
    return False


def handled(state: State) -> Raised | None:
    """The exception whose handler is active, the innermost one."""
    for frame in reversed(state.frames):
        for value in reversed(frame.stack):
            if isinstance(value, Handling):
                return value.error
    return None


def made_plainly(cls: type) -> bool:
    """Whether making an exception of ``cls`` from positional arguments runs no code of the user's and has no effect."""
    if cls in _BUILTIN:
        return True
    if type(cls) is not type or not issubclass(cls, BaseException):
        return False
    for base in cls.__mro__:
        if base in _BUILTIN:
            return True
        if base.__flags__ & 1 << 8 or not {"__init__", "__new__", "__del__"}.isdisjoint(base.__dict__):
            return False
    return False


def text(state: State, seen: Collection[int], function: Callable[..., object], *values: Abstract) -> Text | None:
    """The string ``function(*values)`` in the message of an exception that is caught: None where it is not for one, or
    may fail, or run the user's code."""
    if not is_caught(state, seen):
        return None
    try:
        function(*map(_sample, values))
    except Exception:
        return None
    return Text(state.frames[0].instr.unit)


def _sample(value: Abstract) -> Any:
    """An object of the kind of ``value``; what formats one formats all.  Raises ``ValueError`` for what is no number or
    string, nor made of such."""
    if isinstance(value, Lazy) and value.forced is not None:
        value = value.forced
    if isinstance(value, Known) and type(value.obj) in (str, int, float, bool, complex, type(None)):
        return value.obj
    if isinstance(value, Text):
        return ""
    if isinstance(value, Scalar):
        return value.type.dtype.type(1).item() if value.type.weak else value.type.dtype.type(1)
    if isinstance(value, Sequence):
        return (tuple if value.kind == "tuple" else list)(map(_sample, value.items))
    raise ValueError


def matches(cls: type[BaseException], value: Abstract) -> bool | None:
    """Whether an ``except`` with ``value`` catches exceptions of ``cls``; None where that is not known."""
    if isinstance(value, Known):
        parts = value.obj if type(value.obj) is tuple else (value.obj,)
        if all(isinstance(part, type) and issubclass(part, BaseException) for part in parts):
            return any(part in cls.__mro__ for part in parts)
    return None
