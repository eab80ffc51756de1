"""Inlining of Python functions: arguments bound as CPython binds them, and the new frame.

Job: ``enter`` pushes a frame for a call.  Invariants: where CPython would raise while binding, or where the limits
are passed, ``Unsupported`` is raised and nothing has changed.  Used by ``calls``.
"""
from __future__ import annotations

import inspect
from functools import lru_cache
from types import CodeType

from jitcore.bytecode import Code, decode
from jitcore.bytecode.canonical import CallArg
from jitcore.frontend import lists
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import constant, is_numpy_globals
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.state import Frame
from jitcore.frontend.values import UNBOUND, Abstract, Dict, Function, Known, Sequence, Unbound

MAX_DEPTH = 12
MAX_RECURSION = 3


@lru_cache(maxsize=1024)
def decoded(code: CodeType) -> Code:
    return decode(code)


def enter(m: Machine, func: Function, args: list[Abstract], kwargs: dict[str, Abstract], deliver: str = "push") -> None:
    """Push a frame that runs ``func(*args, **kwargs)``."""
    name = func.code.co_qualname
    m.check_cut()
    if m.depth > MAX_DEPTH:
        raise Unsupported(f"calls nested deeper than {MAX_DEPTH} at {name}")
    if sum(frame.code.code is func.code for frame in m.state.frames) > MAX_RECURSION:
        raise Unsupported(f"recursion of {name}")
    code = decoded(func.code)
    if not code.is_function and not _is_eaten_at_once(m, func):
        raise Unsupported(f"{name} is a generator or coroutine")
    locals = bind(m, func, args, kwargs)
    locals += [UNBOUND] * (len(code.names) - len(locals))
    frame = Frame(code, 0, locals, [], func, is_numpy_globals(func.globals), deliver)
    if not code.is_function:
        eater = _eater(m)
        frame.yields = Sequence("list", []) if eater in (any, all) else lists.make(m, [])
        frame.stops_at = True if eater is any else False if eater is all else None
    m.state.frames.append(frame)
    if func.code not in m.inlined:
        m.inlined.append(func.code)


def _is_eaten_at_once(m: Machine, func: Function) -> bool:
    """Whether a call makes a generator expression that the next instruction unpacks or hands to a builtin which uses
    it up.

    Nothing can happen in between, and what regions do has no effects: it is run to its end at once.
    """
    frame = m.frame
    following = frame.code.instructions[frame.index]
    if func.obj is not None or func.code.co_name != "<genexpr>":
        return False
    if following.op == "UNPACK_SEQUENCE" or frame.constant_globals:     # NumPy's own have no effects
        return True
    return _eater(m) is not None


def _eater(m: Machine) -> object:
    """The builtin of ``_EATERS`` that the next instruction calls on what lies on top of the stack then."""
    frame = m.frame
    if frame.code.instructions[frame.index].op != "CALL" or (
            frame.code.instructions[frame.index].arg != CallArg(1, (), frame.code.null_first)):
        return None
    eater = m.force(next((v for v in reversed(frame.stack) if not isinstance(v, Unbound)), UNBOUND))
    return next((known for known in _EATERS if isinstance(eater, Known) and eater.obj is known), None)


_EATERS = (tuple, list, dict, set, frozenset, any, all, sum, min, max, sorted)


def bind(m: Machine, func: Function, args: list[Abstract], kwargs: dict[str, Abstract]) -> list[Abstract]:
    """The first locals of a call: positional parameters, keyword-only ones, ``*args``, ``**kwargs``."""
    code = func.code
    n, n_only = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[:n + n_only]
    slots: list[Abstract | None] = [None] * (n + n_only)
    slots[:n] = list(args[:n]) + [None] * (n - min(n, len(args)))
    extra = args[n:]
    rest: dict[str, Abstract] = {}
    for key, value in kwargs.items():
        at = names.index(key) if key in names else -1
        if at >= code.co_posonlyargcount:
            if slots[at] is not None:
                raise Unsupported(f"{code.co_qualname}() got multiple values for argument {key!r}")
            slots[at] = value
        else:
            rest[key] = value
    if extra and not code.co_flags & inspect.CO_VARARGS:
        raise Unsupported(f"{code.co_qualname}() takes {n} positional arguments")
    if rest and not code.co_flags & inspect.CO_VARKEYWORDS:
        raise Unsupported(f"{code.co_qualname}() got an unexpected keyword argument")
    first_default = n - len(func.defaults)
    for i, slot in enumerate(slots):
        if slot is None:
            slots[i] = _default(m, func, i, first_default, names[i])
    locals = [slot for slot in slots if slot is not None]
    if code.co_flags & inspect.CO_VARARGS:
        locals.append(Sequence("tuple", list(extra)) if extra else Known(()))
    if code.co_flags & inspect.CO_VARKEYWORDS:
        locals.append(Dict(rest))
    return locals


def _default(m: Machine, func: Function, i: int, first_default: int, name: str) -> Abstract:
    n = func.code.co_argcount
    if first_default <= i < n:
        value = func.defaults[i - first_default]
    elif i >= n and name in func.kwdefaults:
        value = func.kwdefaults[name]
    else:
        raise Unsupported(f"{func.code.co_qualname}() misses argument {name!r}")
    return constant(m, value.obj) if isinstance(value, Known) and func.obj is not None else value
