"""Calls of abstract values.

Job: ``call`` finds out what a callable is and does the call: inlines Python functions, asks the builtins' and
NumPy's rules for the rest.  Invariants: ``PENDING`` means that a frame was pushed and the result will reach the
caller's stack when it returns; a call that is not understood raises ``Unsupported``.  Used by the handlers.
"""
from __future__ import annotations

import functools
import types
import warnings
from typing import Any

import numpy as np

from jitcore.frontend import (
    attributes,
    builtin_calls,
    builtin_methods,
    builtin_numbers,
    errstates,
    exceptions,
    instances,
    iteration,
    numpy_attrs,
    numpy_calls,
    numpy_objects,
    numpy_whole,
    operations,
    random_calls,
)
from jitcore.frontend.inline import enter
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import class_version, constant, is_numpy_globals, pytype, type_version
from jitcore.frontend.protocol import Exceptional, Redirect, Unsupported
from jitcore.frontend.state import Frame
from jitcore.frontend.unseen import CObject, LeaveErrstate, Raised
from jitcore.frontend.values import (
    UNBOUND,
    Abstract,
    Array,
    Dict,
    Function,
    Instance,
    Known,
    Method,
    NativeMethod,
    Opaque,
    Partial,
    Scalar,
    Sequence,
    Unbound,
)
from jitcore.guards.guard import LengthIs

#: The result of a call that was inlined: it is not known yet.
PENDING = Unbound()

_MAX_REDIRECTS = 16
#: The modules that have rules for builtins: importing them fills the one table.
_RULES = (builtin_calls, builtin_numbers, numpy_whole)
_DISPATCHER = type(np.mean)


def perform(m: Machine, redirect: Redirect, deliver: str = "push") -> Abstract:
    """The call that a ``Redirect`` asks for."""
    if redirect.operator and deliver == "push":
        deliver = "operator"
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
        if isinstance(func, Partial):
            args, kwargs, func = [*func.args, *args], {**func.kwargs, **kwargs}, func.func
            continue
        if isinstance(func, Function):
            enter(m, func, args, kwargs, deliver)
            return PENDING
        if isinstance(func, LeaveErrstate):
            return errstates.leave(m, func)
        if isinstance(func, Known) and func.obj is np.errstate:
            return errstates.make(m, args, kwargs)
        if isinstance(func, Known) and is_own_class(func.obj) and deliver == "push" and not numpy_calls.find(func.obj):
            return _object(m, func, args, kwargs)
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
    if isinstance(func, (Opaque, Instance)):
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
        return found if found is not None else Redirect(_dispatched(m, target), args, kwargs)
    if isinstance(target, type) and issubclass(target, BaseException) and exceptions.is_caught(m.state, m.choices.seen):
        return _exception(m, func, target, kwargs)
    if target is warnings.warn and m.frame.constant_globals and m.depth > 1:
        raise Exceptional("a warning")
    if target is functools.partial and args and isinstance(m.force(args[0]), (Function, Method, Partial)):
        return Partial(args[0], args[1:], dict(kwargs))
    handler = builtin_calls.find(target) or random_calls.find(target)
    if handler is not None:
        return handler(m, args, kwargs)
    return numpy_calls.call_known(m, target, args, kwargs)


def is_own_class(obj: object) -> bool:
    """Whether ``obj`` is a class written in Python, of objects that are no exceptions."""
    return (type(obj) in instances.METACLASSES and isinstance(obj, type) and not obj.__flags__ & 1 << 8
            and not issubclass(obj, BaseException))


def _object(m: Machine, cls: Known, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    """A new object of a class written in Python; its ``__init__`` is inlined."""
    m.check_cut()
    obj = instances.make(m, cls)
    init = instances.class_attribute(obj.cls, "__init__")
    if init is object.__dict__["__init__"] and not args and not kwargs:
        return obj
    if not isinstance(init, types.FunctionType):
        raise Unsupported(f"a call of {_name(cls)}")
    func = m.force(constant(m, init))
    assert isinstance(func, Function)
    enter(m, func, [obj, *args], kwargs)
    m.frame.making = obj
    return PENDING


def _instance(m: Machine, func: Opaque | Instance, args: list[Abstract], kwargs: dict[str, Abstract]) -> Redirect:
    """An object whose class has a ``__call__`` written in Python, or a partial function."""
    if isinstance(func, Opaque) and func.type is functools.partial and type(func.obj) is functools.partial:
        return _partial(m, func, args, kwargs)
    found = attributes.class_attribute(pytype(m, func), "__call__")
    if not isinstance(found, types.FunctionType):
        raise Unsupported(f"a call of {_name(func)}")
    type_version(m, func)
    return Redirect(constant(m, found), [func, *args], kwargs)


def _exception(m: Machine, func: Known, cls: type[BaseException], kwargs: dict[str, Abstract]) -> Raised:
    """An exception that is raised at once and may be caught in the trace."""
    if kwargs or not exceptions.made_plainly(cls):
        raise Unsupported(f"a call of {_name(func)}")
    class_version(m, func)
    return Raised(cls, m.outer_unit)


def _partial(m: Machine, func: Opaque, args: list[Abstract], kwargs: dict[str, Abstract]) -> Redirect:
    assert isinstance(func.obj, functools.partial) and func.source is not None
    inner, first, named = (attributes.get(m, func, name) for name in ("func", "args", "keywords"))
    assert isinstance(inner, Abstract) and isinstance(first, Abstract) and isinstance(named, Abstract)
    keywords = m.force(named)
    assert isinstance(keywords, Opaque) and keywords.source is not None
    m.guard(LengthIs(keywords.source, len(func.obj.keywords)))
    given: dict[str, Abstract] = {}
    for name in func.obj.keywords:
        value = operations.getitem(m, keywords, Known(name))
        assert isinstance(value, Abstract)
        given[name] = value
    return Redirect(inner, [*iteration.items(m, first, 1000)[0], *args], {**given, **kwargs})


def _native_method(m: Machine, func: NativeMethod, args: list[Abstract],
                   kwargs: dict[str, Abstract]) -> Abstract | Redirect | None:
    obj = m.force(func.self_value)
    if isinstance(obj, Scalar) and obj.type.weak:
        return builtin_methods.of_number(m, obj, func.name, args, kwargs)
    if isinstance(obj, CObject):
        return numpy_objects.call(m, obj, func.name, args, kwargs)
    if isinstance(obj, Instance):
        return _of_object(m, obj, func.name, args, kwargs)
    if isinstance(obj, (Array, Scalar)):
        return numpy_attrs.call_method(m, func, args, kwargs)
    if isinstance(obj, Known) and isinstance(obj.obj, (np.ufunc, np.generic, np.dtype)):
        return numpy_attrs.call_method(m, func, args, kwargs)
    return builtin_methods.call(m, obj, func.name, args, kwargs)


def _of_object(m: Machine, obj: Instance, name: str, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    """``object``'s own methods of an object made inside."""
    if name == "__setattr__" and len(args) == 2 and not kwargs:
        key = m.force(args[0])
        if isinstance(key, Known) and type(key.obj) is str:
            instances.store(m, obj, key.obj, args[1], True)
            return Known(None)
    if name == "__init__" and not args and not kwargs:
        return Known(None)
    raise Unsupported(f"method {name} of an object")


def _dispatched(m: Machine, target: Any) -> Abstract:
    """What one of NumPy's own functions does with arguments that dispatch to nobody else.

    What finds these arguments is another function, which is not run here: of NumPy's own it is known that it does
    nothing else, and those for ``like=`` alone take an argument that is not passed on.
    """
    found = target._implementation
    code = getattr(found, "__code__", None)
    if code is None or not is_numpy_globals(found.__globals__) or "like" in code.co_varnames[:code.co_argcount
                                                                                         + code.co_kwonlyargcount]:
        raise Unsupported(f"NumPy's dispatch for {getattr(found, '__qualname__', target)}")
    return constant(m, found)


def _check_dispatch(m: Machine, args: list[Abstract]) -> None:
    """NumPy's dispatcher asks arguments with ``__array_function__``: only exact arrays are known to go on."""
    for arg in args:
        arg = m.force(arg)
        if isinstance(arg, (Opaque, Instance)):
            kind = pytype(m, arg)
            if any(hasattr(kind, name) for name in ("__array_function__", "__array__")):
                raise Unsupported(f"NumPy's dispatch on a {kind.__name__}")
            type_version(m, arg)
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
    if frame.deliver in ("push", "operator", "bool"):
        m.frame.push(value)
    elif frame.deliver != "drop":
        deliver_null(m.frame, value, frame.deliver == "null_first")


def _name(func: Abstract) -> str:
    if isinstance(func, Known):
        obj = func.obj
        return str(getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None) or type(obj).__name__)
    if isinstance(func, Opaque):
        return f"an object of type {func.type.__name__}"
    return f"a {type(func).__name__.lower()}"
