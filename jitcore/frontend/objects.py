"""What the executor knows of objects: constants, reading by source, types, identity, truth.

Job: questions about abstract values that have one answer whatever the instruction.  Invariants: a question that
cannot be decided while tracing raises ``Unsupported``; guards that an answer needs are recorded.
Used by the handlers and the modules behind them.
"""
from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from jitcore.frontend.builder import UNREAD, is_empty
from jitcore.frontend.machine import Machine
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.unseen import CObject
from jitcore.frontend.values import (
    Abstract,
    Array,
    Cell,
    Dict,
    Function,
    Instance,
    Known,
    Lazy,
    Method,
    Opaque,
    Partial,
    Range,
    Scalar,
    Sequence,
    Set,
    Slice,
    TypedList,
    is_number,
)
from jitcore.guards.guard import ClassVersion, Guard, LengthIs, TypeIs, TypeVersion
from jitcore.guards.sources import Constant, Source

_PLAIN = (type(None), type(...), type(NotImplemented), bool, int, float, complex, str, bytes)
_IDENTITY = (type, types.ModuleType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
             types.CodeType, np.ufunc, np.dtype, type(np.mean), types.GenericAlias, types.UnionType)
_PYTHON_SCALARS = {"?": bool, "l": int, "q": int, "d": float, "D": complex}


#: Objects of the library that are read like inputs even where they are constants.
_READ = (np.ndarray, tuple, list, dict, set, types.FunctionType, types.MethodType, types.CellType, int, complex, float)


# -- constants and sources -----------------------------------------------------------------------
def constant(m: Machine, obj: object) -> Abstract:
    """The abstract value of an object that is fixed by what has been guarded already."""
    if is_plain(obj) or type(obj) is frozenset or (_is_library(type(obj)) and not isinstance(obj, _READ)):
        return Known(obj)
    known = m.constants.get(id(obj))
    if known is None:
        source = Constant(obj)
        if type(obj) is tuple:
            known = Sequence("tuple", [constant(m, item) for item in obj], source)
        elif isinstance(obj, types.FunctionType) and is_numpy_globals(obj.__globals__):
            known = _numpy_function(m, obj, source)
        else:
            known = Lazy(obj, source)
        m.constants[id(obj)] = known
    return known


def known_items(m: Machine, value: Abstract) -> list[Abstract] | None:
    """The items of a tuple or list that are known one by one, None for other objects."""
    if isinstance(value, Sequence):
        return value.items
    if isinstance(value, Known) and type(value.obj) is tuple:
        return [constant(m, item) for item in value.obj]
    return None


def is_plain(obj: object) -> bool:
    """Whether an object and all in it are immutable constants."""
    if type(obj) is tuple:
        return all(map(is_plain, obj))
    return type(obj) in _PLAIN or isinstance(obj, _IDENTITY) or is_number(obj)


def lacks(value: Abstract, name: str) -> bool:
    """Whether a number or a constant is known not to have the attribute ``name``."""
    if isinstance(value, Scalar):
        return not hasattr(value.type.dtype.type(0) if not value.type.weak else value.type.dtype.type(0).item(), name)
    return isinstance(value, Known) and is_plain(value.obj) and not hasattr(value.obj, name)


def is_numpy_globals(namespace: dict[str, Any]) -> bool:
    """Whether these are the globals of one of NumPy's own modules."""
    name = namespace.get("__name__")
    return isinstance(name, str) and (name == "numpy" or name.startswith("numpy."))


def _numpy_function(m: Machine, obj: types.FunctionType, source: Source) -> Function:
    """One of NumPy's own functions: taken as it is."""
    cells = tuple(
        Cell(UNREAD if is_empty(cell) else constant(m, cell.cell_contents), name)
        for name, cell in zip(obj.__code__.co_freevars, obj.__closure__ or ()))
    return Function(obj.__code__, obj.__globals__, cells, tuple(map(Known, obj.__defaults__ or ())),
                    {k: Known(v) for k, v in (obj.__kwdefaults__ or {}).items()}, obj, source)


def read(m: Machine, obj: object, source: Source) -> Abstract:
    """The object at ``source``: the same abstract value each time."""
    value = m.lazies.get(source)
    if value is None:
        value = m.lazies[source] = Lazy(obj, source)
    return value


def guard_once(m: Machine, guard: Guard, *key: object) -> None:
    """Record a guard that compares by identity, once for its ``key``."""
    mark = (type(guard), guard.source, *map(id, key))
    if mark not in m.guarded:
        m.guarded.add(mark)
        m.builder.guard(guard)


def type_version(m: Machine, value: Abstract) -> None:
    """Guard that the type of ``value`` has not been changed."""
    if isinstance(value, Instance):
        return                          # guarded when it was made
    assert isinstance(value, Opaque)
    if value.type.__flags__ & _IMMUTABLE_TYPE:
        return
    if value.source is None:
        raise Unsupported(f"an object of type {value.type.__name__} that was made inside")
    guard_once(m, TypeVersion(value.source, value.type), value.type)


def class_version(m: Machine, value: Known) -> None:
    """Guard that the class ``value`` has not been changed."""
    cls = value.obj
    assert isinstance(cls, type)
    if cls.__flags__ & _IMMUTABLE_TYPE or cls.__module__.startswith("numpy"):
        return
    guard_once(m, ClassVersion(value.source or Constant(cls), cls), cls)


_IMMUTABLE_TYPE = 1 << 8        # Py_TPFLAGS_IMMUTABLETYPE


# -- type and identity ------------------------------------------------------------------------------
def pytype(m: Machine, value: Abstract) -> type:
    """The exact Python type of an object."""
    value = m.force(value)
    if isinstance(value, Known):
        return type(value.obj)
    if isinstance(value, Scalar):
        return _PYTHON_SCALARS[value.type.dtype.char] if value.type.weak else value.type.dtype.type
    if isinstance(value, (Opaque, CObject)):
        return value.type
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, Sequence):
        return tuple if value.kind == "tuple" else list
    for kind, found in _TYPES.items():
        if isinstance(value, kind):
            return found
    raise Unsupported(f"the type of a {type(value).__name__.lower()}")


_TYPES: dict[type, type] = {Array: np.ndarray, Dict: dict, Set: set, Slice: slice, Range: range, TypedList: list,
                            Function: types.FunctionType, Method: types.MethodType,
                            Partial: functools.partial}


def exact_object(value: Abstract) -> tuple[bool, object]:
    """Whether the very object is known, and the object."""
    if isinstance(value, Known) and not (value.source is not None and isinstance(value.obj, (int, str))):
        return True, value.obj
    if isinstance(value.source, Constant):
        return True, value.source.obj
    return False, None


def is_same(m: Machine, a: Abstract, b: Abstract) -> bool | None:
    """``a is b``; None where it is not known while tracing."""
    a, b = m.force(a), m.force(b)
    if a is b:
        return True
    if isinstance(a, TypedList) and isinstance(b, TypedList):
        return True if a.value is b.value else None
    (known_a, obj_a), (known_b, obj_b) = exact_object(a), exact_object(b)
    if known_a and known_b:
        if obj_a is obj_b:
            return True
        return None if type(obj_a) is type(obj_b) and type(obj_a) in (int, float, complex, str, bytes, tuple) else False
    if pytype(m, a) is not pytype(m, b):
        return False
    if pytype(m, a) is bool:
        return None
    if all(isinstance(one, Array) and (one.source is not None or one.value.node is None) for one in (a, b)):
        return None                                 # arrays from outside, or a meeting's, which may be such a one
    if a.source is None or b.source is None:        # made inside: a new object, but small ints are shared
        return None if isinstance(a, Scalar) or isinstance(b, Scalar) or pytype(m, a) in (int, str, tuple) else False
    return None


def is_instance(m: Machine, value: Abstract, classes: object) -> bool:
    """``isinstance(value, classes)`` for classes that are known."""
    if isinstance(classes, (tuple, types.UnionType)):
        parts = classes if isinstance(classes, tuple) else classes.__args__
        return any(is_instance(m, value, part) for part in parts)
    if classes is None:
        classes = type(None)
    if not isinstance(classes, type):
        raise Unsupported("isinstance with something that is no class")
    found = pytype(m, value)
    checks = type(classes).__instancecheck__
    if checks is not type.__instancecheck__ and not _is_library(found):
        raise Unsupported(f"isinstance of {found.__name__} with a class that decides itself")
    if isinstance(m.force(value), (Opaque, Instance)) and not _plain_class(found):
        raise Unsupported(f"isinstance of an object whose __class__ {found.__name__} decides itself")
    return issubclass(found, classes)


def _plain_class(found: type) -> bool:
    return all("__class__" not in base.__dict__ for base in found.__mro__ if base is not object)


def _is_library(found: type) -> bool:
    return found.__module__ in ("builtins", "numpy") or found.__module__.startswith("numpy.")


# -- truth ----------------------------------------------------------------------------------------------
def static_truth(m: Machine, value: Abstract) -> bool | None:
    """``bool(value)``; None where it depends on a number or an array."""
    value = m.force(value)
    if isinstance(value, (Scalar, Array, TypedList)):
        return None
    if isinstance(value, Known):
        if type(value.obj) in _PLAIN or type(value.obj) in (tuple, frozenset) or is_number(value.obj):
            return bool(value.obj)
        kind = type(value.obj)
        if kind is not type and (hasattr(kind, "__bool__") or hasattr(kind, "__len__")):
            raise Unsupported(f"the truth of a {kind.__name__}")
        return True
    if isinstance(value, (Sequence, Dict, Set)):
        return bool(value.items)
    if isinstance(value, Range):
        return None if not _known_range(value) else bool(known_range(value))
    if isinstance(value, Instance) and (hasattr(value.cls, "__bool__") or hasattr(value.cls, "__len__")):
        raise Unsupported(f"the truth of a {value.cls.__name__}")
    if isinstance(value, Opaque):
        if value.type is dict and value.source is not None:
            m.guard(TypeIs(value.source, dict))
            m.guard(LengthIs(value.source, len(value.obj)))  # type: ignore[arg-type]
            return bool(value.obj)
        if hasattr(value.type, "__bool__") or hasattr(value.type, "__len__"):
            raise Unsupported(f"the truth of a {value.type.__name__}")
        type_version(m, value)
    return True


def _known_range(value: Range) -> bool:
    return all(isinstance(part, Known) for part in (value.start, value.stop, value.step))


def known_range(value: Range) -> range:
    """The range; raises ``Unsupported`` if a part is a run-time value."""
    if not _known_range(value):
        raise Unsupported("a range of run-time length")
    return range(value.start.obj, value.stop.obj, value.step.obj)  # type: ignore[attr-defined]
