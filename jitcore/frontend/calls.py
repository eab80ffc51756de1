"""Calls of abstract values.

Job: ``call`` finds out what a callable is and does the call: inlines Python functions, asks the builtins' and
NumPy's rules for the rest.  Invariants: ``PENDING`` means that a frame was pushed and the result will reach the
caller's stack when it returns; a call that is not understood raises ``Unsupported``.  Used by the handlers.
"""
from __future__ import annotations

import types

import numpy as np

from jitcore.frontend import (
    attributes,
    builtin_calls,
    builtin_methods,
    builtin_numbers,
    numpy_attrs,
    numpy_calls,
    random_calls,
)
from jitcore.frontend.inline import enter
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import constant, pytype, type_version
from jitcore.frontend.protocol import Redirect, Unsupported
from jitcore.frontend.state import Frame
from jitcore.frontend.values import (
    UNBOUND,
    Abstract,
    Array,
    Dict,
    Function,
    Known,
    Method,
    NativeMethod,
    Opaque,
    Scalar,
    Sequence,
    Unbound,
)

#: The result of a call that was inlined: it is not known yet.
PENDING = Unbound()

_MAX_REDIRECTS = 16
#: The modules that have rules for builtins: importing them fills the one table.
_RULES = (builtin_calls, builtin_numbers)
_DISPATCHER = type(np.mean)


def perform(m: Machine, redirect: Redirect, deliver: str = "push") -> Abstract:
    """The call that a ``Redirect`` asks for."""
    return call(m, redirect.func, redirect.args, redirect.kwargs, deliver)


def call(m: Machine, func: Abstract, args: list[Abstract], kwargs: dict[str, Abstract],
         deliver: str = "push") -> Abstract:
    """``func(*args, **kwargs)``: its result, or ``PENDING``."""
    for _ in range(_MAX_REDIRECTS):
        func = m.force(func)
        if isinstance(func, Method):
            args, func = [func.self_value, *args], func.func
            continue
        if isinstance(func, Known) and isinstance(func.obj, types.FunctionType):
            func = m.force(constant(m, func.obj))
        if isinstance(func, Function):
            enter(m, func, args, kwargs, deliver)
            return PENDING
        found = _semantic(m, func, args, kwargs)
        if found is None:
            raise Unsupported(f"a call of {_name(func)}")
        if isinstance(found, Abstract):
            return m.made(found)
        func, args, kwargs = found.func, found.args, found.kwargs
    raise Unsupported("a call that is passed on without end")


def _semantic(m: Machine, func: Abstract, args: list[Abstract],
              kwargs: dict[str, Abstract]) -> Abstract | Redirect | None:
    if isinstance(func, NativeMethod):
        return _native_method(m, func, args, kwargs)
    if isinstance(func, Opaque):
        return _instance(m, func, args, kwargs)
    if not isinstance(func, Known):
        raise Unsupported(f"a call of {_name(func)}")
    target = func.obj
    if isinstance(target, (types.MethodDescriptorType, types.WrapperDescriptorType)) and args and (
            issubclass(pytype(m, args[0]), target.__objclass__)):
        return _native_method(m, NativeMethod(args[0], target.__name__), args[1:], kwargs)
    if isinstance(target, _DISPATCHER):
        _check_dispatch(m, [*args, *kwargs.values()])
        found = numpy_calls.call_known(m, target, args, kwargs)
        return found if found is not None else Redirect(constant(m, target._implementation), args, kwargs)  # type: ignore[attr-defined]
    handler = builtin_calls.find(target) or random_calls.find(target)
    if handler is not None:
        return handler(m, args, kwargs)
    return numpy_calls.call_known(m, target, args, kwargs)


def _instance(m: Machine, func: Opaque, args: list[Abstract], kwargs: dict[str, Abstract]) -> Redirect:
    """An object whose class has a ``__call__`` written in Python."""
    found = attributes.class_attribute(func.type, "__call__")
    if not isinstance(found, types.FunctionType):
        raise Unsupported(f"a call of {_name(func)}")
    type_version(m, func)
    return Redirect(constant(m, found), [func, *args], kwargs)


def _native_method(m: Machine, func: NativeMethod, args: list[Abstract],
                   kwargs: dict[str, Abstract]) -> Abstract | Redirect | None:
    obj = m.force(func.self_value)
    if isinstance(obj, Scalar) and obj.type.weak:
        return builtin_methods.of_number(m, obj, func.name, args, kwargs)
    if isinstance(obj, (Array, Scalar)):
        return numpy_attrs.call_method(m, func, args, kwargs)
    if isinstance(obj, Known) and isinstance(obj.obj, (np.ufunc, np.generic, np.dtype)):
        return numpy_attrs.call_method(m, func, args, kwargs)
    return builtin_methods.call(m, obj, func.name, args, kwargs)


def _check_dispatch(m: Machine, args: list[Abstract]) -> None:
    """NumPy's dispatcher asks arguments with ``__array_function__``: only exact arrays are known to go on."""
    for arg in args:
        arg = m.force(arg)
        if isinstance(arg, Opaque) and (hasattr(arg.type, "__array_function__") or hasattr(arg.type, "__array__")):
            raise Unsupported(f"NumPy's dispatch on a {arg.type.__name__}")
        if isinstance(arg, Sequence):
            _check_dispatch(m, arg.items)
        if isinstance(arg, Dict):
            _check_dispatch(m, list(arg.items.values()))


def deliver_null(frame: Frame, value: Abstract, null_first: bool) -> None:
    """Push what LOAD_METHOD pushes for a value that is no method."""
    if null_first:
        frame.push(UNBOUND)
        frame.push(value)
    else:
        frame.push(value)
        frame.push(UNBOUND)


def deliver(m: Machine, value: Abstract, frame: Frame) -> None:
    """The result of an inlined call reaches the caller's stack."""
    if frame.deliver == "push":
        m.frame.push(value)
    else:
        deliver_null(m.frame, value, frame.deliver == "null_first")


def _name(func: Abstract) -> str:
    if isinstance(func, Known):
        obj = func.obj
        return str(getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None) or type(obj).__name__)
    if isinstance(func, Opaque):
        return f"an object of type {func.type.__name__}"
    return f"a {type(func).__name__.lower()}"
