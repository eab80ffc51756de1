"""Handlers: calls."""
from __future__ import annotations

from jitcore.bytecode import Instr
from jitcore.frontend import errstates, operators
from jitcore.frontend.calls import PENDING, call, perform
from jitcore.frontend.iteration import items
from jitcore.frontend.machine import Machine
from jitcore.frontend.protocol import Leaves, Redirect, Unsupported
from jitcore.frontend.registry import handles
from jitcore.frontend.unseen import CObject, Errstate, Raised
from jitcore.frontend.values import (
    Abstract,
    Dict,
    Known,
    Method,
    NativeMethod,
    Unbound,
)


def _callee(low: Abstract, high: Abstract, null_first: bool) -> tuple[Abstract, list[Abstract]]:
    """The callable and the arguments that its two stack entries stand for."""
    if isinstance(low, Unbound):
        return high, []
    if isinstance(high, Unbound):
        return low, []
    return low, [high]


def _call(m: Machine, func: Abstract, args: list[Abstract], kwargs: dict[str, Abstract]) -> None:
    m.check_cut()
    result = call(m, func, args, kwargs)
    if result is not PENDING:
        m.frame.push(result)


@handles("CALL")
def call_(m: Machine, instr: Instr) -> None:
    _call_args(m, instr, instr.arg.kwnames)


@handles("CALL_KW")
def call_kw(m: Machine, instr: Instr) -> None:
    names = m.frame.pop()
    assert isinstance(names, Known)
    _call_args(m, instr, names.obj)  # type: ignore[arg-type]


def _call_args(m: Machine, instr: Instr, names: tuple[str, ...]) -> None:
    args = m.frame.pop_n(instr.arg.nargs)
    low, high = m.frame.pop_n(2)
    func, first = _callee(low, high, instr.arg.null_first)
    kwargs = dict(zip(names, args[len(args) - len(names):])) if names else {}
    _call(m, func, first + args[:len(args) - len(names)], kwargs)


@handles("CALL_EX")
def call_ex(m: Machine, instr: Instr) -> None:
    kwargs = m.force(m.frame.pop()) if instr.arg.kwargs else Dict({})
    args = m.force(m.frame.pop())
    low, high = m.frame.pop_n(2)
    if not isinstance(kwargs, Dict) or any(type(key) is not str for key in kwargs.items):
        raise Unsupported("keyword arguments that are not known")
    func, first = _callee(low, high, instr.arg.null_first)
    _call(m, func, first + items(m, args, 1000)[0], dict(kwargs.items))


@handles("BEFORE_WITH")
def before_with(m: Machine, instr: Instr) -> None:
    """Where both methods are written in Python they are calls; all else is a site, the body a region behind it, and
    leaving it in the ordinary way a call."""
    frame = m.frame
    manager = m.force(frame.pop())
    if isinstance(manager, Errstate):
        errstates.enter(m, manager)
        return
    if isinstance(manager, CObject) and manager.kind == "nditer":
        frame.push(NativeMethod(manager, "__exit__"))
        frame.push(manager)
        return
    if not operators.has_class(manager):
        raise Unsupported("a with statement is entered")
    enter, leave = (operators.method(m, manager, name) for name in ("__enter__", "__exit__"))
    if enter is None or leave is None:
        raise Unsupported("a with statement of an object that is no context manager")
    frame.push(Method(leave, manager))
    perform(m, Redirect(enter, [manager]))


@handles("WITH_EXCEPT_START")
def with_except_start(m: Machine, instr: Instr) -> None:
    """The exception that the region handles is shown to ``__exit__``, which may look at its class only."""
    stack = m.frame.stack
    leave, error, before = stack[-4], stack[-1], stack[-2]
    if not isinstance(error, Raised):
        raise Leaves("an exception that was raised before")
    _call(m, leave, [Known(error.cls), error, before], {})
