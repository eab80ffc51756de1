"""Objects of classes written in Python that a region makes: their class, their attributes.

Job: whether the region can make objects of a class, and what ``obj.name`` is, gets and loses.  Invariants: nothing
outside sees such an object before an exit builds it (``exits``), so changing it has no effect; the class's version is
guarded when the object is made.  Used by ``attributes``, ``calls`` and the handlers.
"""
from __future__ import annotations

import abc
import types
from typing import Any, NoReturn

from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import class_version, constant
from jitcore.frontend.protocol import Raises, Redirect, Unsupported
from jitcore.frontend.values import Abstract, Instance, Known, Method

MISSING = object()
#: Metaclasses that change nothing about making objects, nor about the attributes of a class.
METACLASSES = (type, abc.ABCMeta)


def class_attribute(cls: type, name: str) -> Any:
    """What the class and its bases hold under ``name``, without descriptors being asked."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return MISSING


def make(m: Machine, cls_value: Known) -> Instance:
    """A new object of a class, before ``__init__``."""
    cls = cls_value.obj
    assert isinstance(cls, type)
    if (type(cls) not in METACLASSES or cls.__flags__ & 1 << 8 or cls.__new__ is not object.__new__
            or class_attribute(cls, "__del__") is not MISSING or getattr(cls, "__abstractmethods__", None)):
        raise Unsupported(f"a call of {cls.__qualname__}")
    class_version(m, cls_value)
    return Instance(cls_value, {})


def get(m: Machine, obj: Instance, name: str) -> Abstract | Redirect:
    """``obj.name``; a ``Redirect`` where a property's function answers."""
    cls = obj.cls
    found = class_attribute(cls, name)
    if name == "__class__" and found is object.__dict__["__class__"]:
        return obj.cls_value
    if cls.__getattribute__ is not object.__getattribute__:
        _unknown(obj, name)
    if _is_slot(found, name):
        return obj.attrs[name] if name in obj.attrs else _absent(obj, name)
    if _is_data(found):
        if type(found) is property and isinstance(found.fget, types.FunctionType):
            return Redirect(constant(m, found.fget), [obj])
        _unknown(obj, name)
    if name in obj.attrs:
        return obj.attrs[name]
    if found is MISSING:
        _absent(obj, name)
    return of_class(m, found, obj, obj.cls_value)


def of_class(m: Machine, found: Any, obj: Abstract | None, cls: Known) -> Abstract:
    """What an attribute of the class ``cls`` is when it is read from ``obj``, or from the class itself (None)."""
    if isinstance(found, types.FunctionType):
        return constant(m, found) if obj is None else Method(constant(m, found), obj)
    if type(found) is staticmethod and isinstance(found.__func__, types.FunctionType):
        return constant(m, found.__func__)
    if type(found) is classmethod and isinstance(found.__func__, types.FunctionType):
        return Method(constant(m, found.__func__), cls)
    if hasattr(type(found), "__get__"):
        raise Unsupported("an attribute that a descriptor computes")
    return constant(m, found)


def store(m: Machine, obj: Instance, name: str, value: Abstract, plain: bool = False) -> Redirect | None:
    """``obj.name = value``; ``plain``: by ``object.__setattr__``."""
    cls = obj.cls
    if cls.__setattr__ is not object.__setattr__ and not plain:
        _unknown(obj, name)
    found = class_attribute(cls, name)
    if not _is_slot(found, name):
        if type(found) is property and isinstance(found.fset, types.FunctionType):
            return Redirect(constant(m, found.fset), [obj, value])
        if _is_data(found):
            _unknown(obj, name)
        if not cls.__dictoffset__:
            raise Raises(AttributeError, f"attribute {name} of a {cls.__name__} cannot be set")
    obj.attrs[name] = value
    return None


def delete(m: Machine, obj: Instance, name: str) -> None:
    """``del obj.name``."""
    found = class_attribute(obj.cls, name)
    if obj.cls.__delattr__ is not object.__delattr__ or (_is_data(found) and not _is_slot(found, name)):
        _unknown(obj, name)
    if name not in obj.attrs:
        raise Raises(AttributeError, f"attribute {name} of a {obj.cls.__name__} is absent")
    del obj.attrs[name]


def _is_slot(found: Any, name: str) -> bool:
    return isinstance(found, types.MemberDescriptorType) and found.__name__ == name


def _is_data(found: Any) -> bool:
    return found is not MISSING and (hasattr(type(found), "__set__") or hasattr(type(found), "__delete__"))


def _unknown(obj: Instance, name: str) -> NoReturn:
    raise Unsupported(f"attribute {name} of a {obj.cls.__name__}")


def _absent(obj: Instance, name: str) -> NoReturn:
    if class_attribute(obj.cls, "__getattr__") is not MISSING:
        _unknown(obj, name)
    raise Raises(AttributeError, f"attribute {name} of a {obj.cls.__name__} is absent")
