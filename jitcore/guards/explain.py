"""Guard failures in words.

Job: say which value changed, what was expected of it and what came.  Invariants: runs no Python code of the
user's (no ``repr`` of their objects); never raises for any guard and frame.  Called by ``runtime`` for the log and
for ``jitcore.explain``.
"""
from __future__ import annotations

from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import cast

import numpy as np

from jitcore.guards import guard as g
from jitcore.guards import iterators
from jitcore.guards import sources as s
from jitcore.guards.reference import ABSENT, FrameValues, Unreadable, array_layout, loaded_words, read
from jitcore.ir.types import is_plain_dtype

_PLAIN = (int, float, bool, complex, str, bytes, type(None), type(Ellipsis))
_LAYOUTS = {"C": "C", "F": "Fortran", "A": "strided"}
_LONGEST = 40


def type_name(type_: type) -> str:
    """A type's name, with its module where that is not builtins."""
    module, name = type.__dict__["__module__"].__get__(type_), type.__dict__["__qualname__"].__get__(type_)
    return name if module == "builtins" else f"{module}.{name}"


def brief(obj: object) -> str:
    """An object in a few words."""
    if obj is ABSENT:
        return "nothing"
    if type(obj) in _PLAIN:
        if type(obj) is int and obj.bit_length() > 128:
            return f"an int of {obj.bit_length()} bits"
        text = repr(obj)
        return text if len(text) <= _LONGEST else text[:_LONGEST - 3] + "..."
    if isinstance(obj, type):
        return f"class {type_name(obj)}"
    if type(obj) is ModuleType:
        return f"module {ModuleType.__getattribute__(obj, '__dict__').get('__name__', '?')}"
    if isinstance(obj, FunctionType):
        return f"function {obj.__qualname__}"
    if type(obj) is BuiltinFunctionType:
        return f"function {obj.__qualname__}"
    if type(obj) is np.ndarray:
        return f"array {obj.dtype}[{obj.ndim}{array_layout(obj)}]"
    if type(obj) is np.ufunc:
        return f"ufunc {obj.__name__}"
    if isinstance(obj, np.generic) and type(obj).__module__ == "numpy":
        return f"{type(obj).__name__}({obj})"
    return f"a {type_name(type(obj))}"


def _array_changes(guard: g.LoadArray, a: np.ndarray) -> list[str]:
    wanted = np.dtype(guard.dtype)
    changes = []
    if a.dtype.num != wanted.num:
        changes.append(f"dtype {wanted} -> {a.dtype}")
    elif not a.dtype.isnative:
        changes.append("byte order native -> swapped")
    elif not is_plain_dtype(a.dtype):
        changes.append("a plain dtype -> one with fields or metadata")
    if a.ndim != guard.ndim:
        changes.append(f"axes {guard.ndim} -> {a.ndim}")
    elif array_layout(a) != guard.layout:
        changes.append(f"memory order {_LAYOUTS[guard.layout]} -> {_LAYOUTS[array_layout(a)]}")
    if not a.flags.aligned:
        changes.append("aligned -> not aligned")
    return changes


def _array(guard: g.LoadArray, obj: object) -> str:
    if type(obj) is not np.ndarray:
        wanted = f"array {np.dtype(guard.dtype)}[{guard.ndim}{guard.layout}]"
        return f"{wanted} -> {brief(obj)}"
    return ", ".join(_array_changes(guard, obj))


def _kind_name(kind: str) -> str:
    return kind if kind in ("int", "float", "bool", "complex") else f"numpy.{np.dtype(kind).type.__name__}"


def _number(guard: g.Load, obj: object) -> str:
    if guard.kind == "int" and type(obj) is int:
        return "int -> int beyond 64 bits"
    return f"{_kind_name(guard.kind)} -> {brief(obj) if type(obj) is np.ndarray else type_name(type(obj))}"


def _function(guard: g.FunctionIs, obj: object) -> str:
    if not isinstance(obj, FunctionType):
        return f"a function -> {brief(obj)}"
    name = getattr(guard.code, "co_qualname", "?")
    if obj.__code__ is not guard.code:
        return f"function {name} -> {brief(obj)} with other code"
    return f"the defaults of function {name} were replaced"


def _object_change(guard: g.Guard, obj: object, frame: FrameValues) -> str:
    """What is wrong with a present object; '' if nothing."""
    match guard:
        case g.LoadArray():
            return _array(guard, obj)
        case g.Load():
            return "" if loaded_words(guard, obj) is not None else _number(guard, obj)
        case g.TypeIs(type=type_):
            return "" if type(obj) is type_ else f"type {type_name(type_)} -> {type_name(type(obj))}"
        case g.TypeVersion(type=type_):
            if type(obj) is type_:
                return f"class {type_name(type_)} was changed"
            return f"type {type_name(type_)} -> {type_name(type(obj))}"
        case g.ClassVersion(cls=cls):
            return f"class {type_name(cls)} was changed" if obj is cls else f"{brief(cls)} -> {brief(obj)}"
        case g.IsObject(obj=wanted):
            if obj is wanted:
                return ""
            before, after = brief(wanted), brief(obj)
            return f"{before} -> {after}" if before != after else f"{before} -> another object of that kind"
        case g.ValueIs(value=value):
            if type(obj) is type(value) and obj == value:
                return ""
            return f"value {brief(value)} -> {brief(obj)}"
        case g.LengthIs(length=length):
            if type(obj) not in (tuple, list, dict):
                return f"length {length} -> {brief(obj)}"
            found = len(cast("list[object]", obj))
            return "" if found == length else f"length {length} -> {found}"
        case g.Absent():
            return f"nothing -> {brief(obj)}"
        case g.FunctionIs():
            same = (isinstance(obj, FunctionType) and obj.__code__ is guard.code
                    and obj.__defaults__ is guard.defaults and obj.__kwdefaults__ is guard.kwdefaults)
            return "" if same else _function(guard, obj)
        case g.DimsEqual():
            return _dims(guard, obj, frame)
        case g.StrictIs() | g.LoadRange() | g.LoadPosition():
            fits = (iterators.is_strict(obj) is guard.strict if isinstance(guard, g.StrictIs)
                    else loaded_words(guard, obj) is not None)
            return "" if fits else f"{_wanted(guard)} -> {brief(obj)}"
    return ""


def _dims(guard: g.DimsEqual, a: object, frame: FrameValues) -> str:
    other = read(guard.other, frame)
    if type(a) is not np.ndarray or type(other) is not np.ndarray or guard.axis >= a.ndim \
            or guard.other_axis >= other.ndim:
        return f"arrays -> {brief(a)} and {brief(other)}"
    n, m = a.shape[guard.axis], other.shape[guard.other_axis]
    if n == m:
        return ""
    return f"axis {guard.axis} as long as axis {guard.other_axis} of {guard.other} -> {n} and {m}"


def _unreadable(source: s.Source, frame: FrameValues) -> str:
    """The innermost thing on the path that is not what it was."""
    base = getattr(source, "base", None)
    if base is not None:
        try:
            found = read(base, frame)
        except Unreadable:
            return _unreadable(base, frame)
        return f"{source}: cannot be read from {brief(found)}"
    return f"{source}: cannot be read"


def describe(guard: g.Guard, func: FunctionType, values: Sequence[object], unbound: object) -> str:
    """Why ``guard`` fails for a frame (``values``: its locals, then its stack): the source, what was expected and
    what came, such as "argument `x`: dtype float64 -> float32"; "...: as expected" if it does not fail."""
    frame = FrameValues(func, values, unbound)
    try:
        obj = read(guard.source, frame)
        if obj is ABSENT:
            change = "" if isinstance(guard, g.Absent) else f"{_wanted(guard)} -> nothing"
        else:
            change = _object_change(guard, obj, frame)
    except Unreadable:
        return _unreadable(guard.source, frame)
    return f"{guard.source}: {change or 'as expected'}"


def expectation(guard: g.Guard) -> str:
    """What a guard asks for, such as "argument `x`: array float64[1C]"."""
    return f"{guard.source}: {_wanted(guard)}"


def _wanted(guard: g.Guard) -> str:
    match guard:
        case g.LoadArray(dtype=dtype, ndim=ndim, layout=layout):
            return f"array {np.dtype(dtype)}[{ndim}{layout}]"
        case g.Load(kind=kind):
            return _kind_name(kind)
        case g.TypeIs(type=type_) | g.TypeVersion(type=type_):
            return f"type {type_name(type_)}"
        case g.ClassVersion(cls=cls):
            return f"class {type_name(cls)}"
        case g.IsObject(obj=obj):
            return brief(obj)
        case g.ValueIs(value=value):
            return f"value {brief(value)}"
        case g.LengthIs(length=length):
            return f"length {length}"
        case g.Absent():
            return "nothing"
        case g.LoadObject():
            return "any object"
        case g.DimsEqual():
            return f"axis {guard.axis} as long as axis {guard.other_axis} of {guard.other}"
        case g.Alone():
            return "an object that nobody else has"
        case g.StrictIs(strict=strict):
            return f"a zip that is {'' if strict else 'not '}strict"
        case g.LoadRange(down=down):
            return f"an iterator over a range that goes {'down' if down else 'up'}"
        case g.LoadPosition(type=type_):
            return f"a {type_name(type_)} that is not used up"
        case g.FunctionIs():
            return f"function {getattr(guard.code, 'co_qualname', '?')}"
    return "something"
