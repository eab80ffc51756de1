"""Attributes of abstract values.

Job: ``get`` gives ``obj.name`` or says that the interpreter must.  Invariants: only what is found without
running Python code is read here (module dicts, instance dicts under a type-version guard, static class
attributes); a property becomes a call of its function.  Used by the handlers and ``builtin_calls``.
"""
from __future__ import annotations

import builtins
import functools
import types
from typing import Any, NoReturn

import numpy as np

from jitcore.frontend import instances, numpy_attrs, numpy_objects
from jitcore.frontend.instances import MISSING, class_attribute
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import class_version, constant, is_numpy_globals, pytype, read, type_version
from jitcore.frontend.protocol import Leaves, Raises, Redirect, Unsupported
from jitcore.frontend.unseen import CObject
from jitcore.frontend.values import (
    Abstract,
    Array,
    Dict,
    Function,
    Instance,
    Known,
    Method,
    NativeMethod,
    Opaque,
    Range,
    Scalar,
    Sequence,
    Set,
    Slice,
    TypedList,
)
from jitcore.guards.guard import Absent, TypeIs
from jitcore.guards.sources import Attr, Constant
from jitcore.ops import random

_METHOD_DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType)
_DESCRIPTORS = (*_METHOD_DESCRIPTORS, types.GetSetDescriptorType, types.MemberDescriptorType)
_IN_DICT = ("__dict__", "__doc__")      # what these descriptors give is in the object's dict, and can be changed
_VALUES = (str, int, float, complex, tuple, bytes, type(None), np.generic)


def get(m: Machine, obj: Abstract, name: str) -> Abstract | Redirect:
    """``obj.name``; a ``Redirect`` where a property's function answers."""
    obj = m.force(obj)
    if isinstance(obj, (Array, Scalar)):
        return numpy_attrs.get(m, obj, name)
    if isinstance(obj, Known):
        return _of_known(m, obj, name)
    if isinstance(obj, Opaque) and obj.type is np._core.multiarray.flagsobj and obj.source is None:
        return numpy_attrs.of_flags(m, obj, name)
    if isinstance(obj, Opaque) and not _is_numpys_dict(m, obj):
        return _of_instance(m, obj, name)
    if isinstance(obj, Instance):
        return instances.get(m, obj, name)
    if isinstance(obj, (Slice, Range)) and name in ("start", "stop", "step"):
        return getattr(obj, name)
    if isinstance(obj, (Sequence, TypedList, Dict)) or _is_numpys_dict(m, obj):
        if isinstance(getattr(pytype(m, obj), name, None), types.MethodDescriptorType):
            return NativeMethod(obj, name)
        if not hasattr(pytype(m, obj), name):
            raise Raises(AttributeError, f"attribute {name} is absent")
    if isinstance(obj, CObject):
        return numpy_objects.get(m, obj, name)
    if isinstance(obj, Function):
        return _of_function(m, obj, name)
    raise Unsupported(f"attribute {name} of a {type(obj).__name__.lower()}")


def _is_numpys_dict(m: Machine, obj: Abstract) -> bool:
    """A dict that is a constant of NumPy's own Python code."""
    constant_ = isinstance(obj, Opaque) and obj.type is dict and isinstance(obj.source, Constant)
    return constant_ and m.frame.constant_globals


def has(m: Machine, obj: Abstract, name: str) -> bool:
    """``hasattr(obj, name)``."""
    obj = m.force(obj)
    if isinstance(obj, (Scalar, Array)):
        return _answers(_example(obj), name)
    if isinstance(obj, Known) and isinstance(obj.obj, _VALUES) and type(obj.obj).__module__ in ("builtins", "numpy"):
        return _answers(obj.obj, name)
    if isinstance(obj, (Sequence, TypedList, Dict, Set, Slice, Range)):     # a metaclass's attributes are not theirs
        return class_attribute(pytype(m, obj), name) is not MISSING
    try:
        found = get(m, obj, name)
    except Raises:
        return False
    if isinstance(found, Redirect):
        raise Unsupported(f"a property that may raise AttributeError ({name})")
    return True


def _example(obj: Scalar | Array) -> Any:
    """An object with the attributes of ``obj``."""
    if isinstance(obj, Array):
        return np.empty((1,) * obj.type.ndim, obj.type.dtype)
    number = obj.type.dtype.type(0)
    return number.item() if obj.type.weak else number


def _answers(obj: Any, name: str) -> bool:
    """``hasattr`` of an object without code written in Python."""
    try:
        return hasattr(obj, name)
    except Exception as error:
        raise Unsupported(f"attribute {name} raises {type(error).__name__}") from None


def _of_known(m: Machine, obj: Known, name: str) -> Abstract:
    target = obj.obj
    if isinstance(target, types.ModuleType):
        return _of_module(m, obj, target, name)
    if isinstance(target, type):
        return _of_class(m, obj, target, name)
    if isinstance(target, (np.ufunc, np.dtype, str, bytes, int, float, complex, tuple, np.generic, type(np.mean))) and (
            type(target).__module__ in ("builtins", "numpy", "numpy.dtypes")):
        found = getattr(target, name, MISSING) if _is_fixed(target, name) else MISSING
        if found is MISSING:
            raise Raises(AttributeError, f"attribute {name} is absent")
        if isinstance(found, types.BuiltinMethodType) and getattr(type(target), name, None) is not None:
            return NativeMethod(obj, name)
        return constant(m, found)
    if isinstance(target, (np.finfo, np.iinfo)):
        found = getattr(target, name, MISSING)
        if isinstance(found, (int, np.generic, np.dtype)):
            return Known(found)
    if obj.source is None and type(target).__module__.startswith("numpy."):
        return _of_numpys_own(m, target, name)
    raise Unsupported(f"attribute {name} of a {type(target).__name__}")


def _is_fixed(target: object, name: str) -> bool:
    """Whether the class of ``target``, written in C, answers for ``name``, always with the same; False: no object of it
    has such an attribute.  Raises ``Unsupported`` where what is in the object's own dict counts."""
    if isinstance(target, np.dtype) and target.names is not None:
        raise Unsupported("an attribute of a structured dtype")     # its names can be changed
    found = class_attribute(type(target), name)
    if hasattr(target, "__dict__") and (name in _IN_DICT or not isinstance(found, _DESCRIPTORS)):
        raise Unsupported(f"attribute {name} of a {type(target).__name__}, which has a dict")
    return found is not MISSING


def _of_numpys_own(m: Machine, target: object, name: str) -> Abstract:
    """What one of NumPy's own objects, taken as it is, holds in its dict or a slot."""
    namespace = getattr(target, "__dict__", None)
    if type(namespace) is dict and name in namespace:
        return constant(m, namespace[name])
    slot = class_attribute(type(target), name)
    if isinstance(slot, types.MemberDescriptorType):
        return constant(m, slot.__get__(target))
    raise Unsupported(f"attribute {name} of a {type(target).__name__}")


def _of_module(m: Machine, obj: Known, module: types.ModuleType, name: str) -> Abstract:
    found = vars(module).get(name, MISSING)
    if found is MISSING or type(module) is not types.ModuleType:
        raise Unsupported(f"attribute {name} is not in module {module.__name__}")
    if obj.source is None:
        if is_numpy_globals(vars(module)) or isinstance(found, types.BuiltinFunctionType) or (
                module is builtins and isinstance(found, type)) or (
                m.frame.constant_globals and isinstance(found, (type, types.FunctionType))):
            return constant(m, found)
        raise Unsupported("a module that was reached without a source")
    return read(m, found, Attr(obj.source, name))


def _of_class(m: Machine, value: Known, cls: type, name: str) -> Abstract:
    """An attribute of a class: as it is now, under a guard where it can change."""
    if not cls.__flags__ & 1 << 8 and not cls.__module__.startswith("numpy"):
        own = class_attribute(cls, name)
        if type(cls) not in instances.METACLASSES or own is MISSING or class_attribute(type, name) is not MISSING:
            raise Unsupported(f"attribute {name} of class {cls.__name__}")
        class_version(m, value)
        return instances.of_class(m, own, None, value)
    if type(cls) is not type and name in ("__name__", "__qualname__", "__module__"):
        return Known(getattr(cls, name))
    found = getattr(cls, name, MISSING)
    if found is MISSING:
        raise Unsupported(f"attribute {name} is absent")
    return constant(m, found)


def _of_function(m: Machine, obj: Function, name: str) -> Abstract:
    if obj.obj is not None and name == "__code__":
        return Known(obj.code)
    if isinstance(obj.obj, types.FunctionType) and is_numpy_globals(obj.globals):
        found = getattr(obj.obj, name, MISSING)
        if found is not MISSING and isinstance(found, (str, type(None))):
            return Known(found)
    raise Unsupported(f"attribute {name} of a function")


def _of_instance(m: Machine, obj: Opaque, name: str) -> Abstract | Redirect:
    cls = obj.type
    plain = cls.__getattribute__ is object.__getattribute__ or cls is functools.partial
    if not plain or obj.source is None:
        raise Unsupported(f"attribute {name} of a {cls.__name__}")
    found = class_attribute(cls, name)
    type_version(m, obj)
    if isinstance(found, types.MemberDescriptorType):
        return _of_slot(m, obj, found, Attr(obj.source, name))
    if hasattr(type(found), "__set__") or hasattr(type(found), "__delete__"):
        if type(found) is property and isinstance(found.fget, types.FunctionType):
            return Redirect(constant(m, found.fget), [obj])
        raise Unsupported(f"attribute {name} of a {cls.__name__}")
    namespace = _instance_dict(obj)
    if namespace is not None and name in namespace:
        if not _is_harmless(found):         # it would be asked, were the entry gone
            raise Unsupported(f"attribute {name} of a {cls.__name__}")
        return read(m, namespace[name], Attr(obj.source, name))
    if found is MISSING:
        _absent(m, obj, name, namespace)
    if not hasattr(type(found), "__get__"):
        return read(m, found, Attr(obj.source, name))
    if cls.__dictoffset__:
        return _of_class_behind_dict(m, obj, found, name)
    if isinstance(found, types.FunctionType):
        return Method(constant(m, found), obj)
    if type(found) is staticmethod and isinstance(found.__func__, types.FunctionType):
        return constant(m, found.__func__)
    if type(found) is classmethod and isinstance(found.__func__, types.FunctionType):
        return Method(constant(m, found.__func__), Known(cls))
    if isinstance(found, types.MethodDescriptorType):
        return NativeMethod(obj, name)
    if random.of_method(found) is not None:
        return Method(Known(found), obj)
    raise Unsupported(f"attribute {name} of a {cls.__name__}")


def _is_harmless(found: object) -> bool:
    """Whether what a class has beside an instance's own attribute is no descriptor that may run code."""
    if isinstance(found, (staticmethod, classmethod)):
        found = found.__func__
    return (isinstance(found, (types.FunctionType, types.MethodDescriptorType))
            or not (hasattr(type(found), "__get__") or hasattr(type(found), "__set__")))


def _absent(m: Machine, obj: Opaque, name: str, namespace: dict[str, Any] | None) -> NoReturn:
    """An attribute that neither the class nor the instance has."""
    assert obj.source is not None
    reason = f"attribute {name} of a {obj.type.__name__} is not in its dict"
    if class_attribute(obj.type, "__getattr__") is not MISSING or (namespace is None and obj.type.__dictoffset__):
        raise Unsupported(reason)
    m.guard(Absent(Attr(obj.source, name)))
    raise Raises(AttributeError, reason)


def of_super(m: Machine, cls: Abstract, obj: Abstract, name: str) -> Method:
    """``super(cls, obj).name`` where it is a method written in Python, or ``object.__init__``."""
    if not isinstance(cls, Known) or not isinstance(cls.obj, type) or not isinstance(obj, (Opaque, Instance)):
        raise Leaves("super() of objects that are not known")
    type_version(m, obj)
    mro = pytype(m, obj).__mro__
    if cls.obj not in mro or name == "__class__":
        raise Leaves(f"super().{name}")
    for base in mro[mro.index(cls.obj) + 1:]:
        if name in base.__dict__:
            found = base.__dict__[name]
            if isinstance(found, types.FunctionType):
                return Method(constant(m, found), obj)
            if found is object.__dict__["__init__"] or found is object.__dict__["__setattr__"]:
                return Method(Known(found), obj)
            break
    raise Leaves(f"super().{name}")


def _of_slot(m: Machine, obj: Opaque, slot: types.MemberDescriptorType, source: Attr) -> Abstract:
    try:
        value = slot.__get__(obj.obj)
    except AttributeError:
        raise Unsupported(f"attribute {source.name} is absent") from None
    return read(m, value, source)


def _of_class_behind_dict(m: Machine, obj: Opaque, found: Any, name: str) -> Abstract:
    """A method of an instance that has a dict, which could hide it: the function of the bound method is guarded."""
    assert obj.source is not None
    bound = Attr(obj.source, name)
    inner = getattr(found, "__func__", None) if type(found) in (staticmethod, classmethod) else found
    if not isinstance(inner, types.FunctionType):
        raise Unsupported(f"attribute {name} of a {obj.type.__name__}")
    if type(found) is staticmethod:
        return read(m, inner, bound)
    m.guard(TypeIs(bound, types.MethodType))
    return Method(read(m, inner, Attr(bound, "__func__")), Known(obj.type) if type(found) is classmethod else obj)


def _instance_dict(obj: Opaque) -> dict[str, Any] | None:
    """The instance's dict, without running its code; None if it has none."""
    if obj.obj is None or obj.source is None or not obj.type.__dictoffset__:
        return None
    try:
        found = object.__getattribute__(obj.obj, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def method_descriptor(m: Machine, value: NativeMethod) -> Any:
    """The descriptor that LOAD_METHOD pushes for a native method, None where it pushes a bound one."""
    found = class_attribute(pytype(m, value.self_value), value.name)
    return found if isinstance(found, _METHOD_DESCRIPTORS) else None
