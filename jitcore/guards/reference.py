"""What guards and sources mean, in Python: the definition that the C programs are compared with.

Job: read sources and check guards slowly and plainly.  Invariants: like the C side it runs no Python code of
the user's, answers the same index for the same failure and fills the same words.  Called by ``guards.explain`` and
by tests.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CellType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, ModuleType
from typing import Any, cast

import numpy as np

from jitcore.guards import guard as g
from jitcore.guards import iterators
from jitcore.guards import sources as s
from jitcore.guards.pack import fixes_type
from jitcore.ir.types import is_plain_dtype


@dataclass(frozen=True)
class FrameValues:
    """A frame at a region's entry: ``locals`` as in a snapshot, with ``unbound`` standing for NULL."""

    func: FunctionType
    locals: Sequence[object]
    unbound: object = None


class Unreadable(Exception):
    """A source cannot be read without leaving what its guards promise."""


class _Missing:
    def __repr__(self) -> str:
        return "ABSENT"


#: What reading gives where nothing is found.
ABSENT = _Missing()


def class_lookup(type_: type, name: str) -> object:
    """What ``name`` is on the type or its bases, as it lies there; ``ABSENT`` if it is nowhere."""
    for base in type.__dict__["__mro__"].__get__(type_):
        namespace = type.__dict__["__dict__"].__get__(base)
        if name in namespace:
            return cast(object, namespace[name])
    return ABSENT


def version_token(type_: type) -> tuple[Any, ...]:
    """Compares equal for as long as neither the type nor a base of it was changed, nor registered for ``match``."""
    mro = type.__dict__["__mro__"].__get__(type_)
    namespaces = [type.__dict__["__dict__"].__get__(base) for base in mro]
    return (type_.__flags__ & (1 << 5 | 1 << 6),
            *((id(base), tuple((k, id(v)) for k, v in found.items())) for base, found in zip(mro, namespaces)))


def _dict_get(namespace: object, key: str) -> object:
    if type(namespace) is not dict:
        raise Unreadable("not an exact dict")
    if any(type(other) is not str and hash(other) == hash(key) for other in namespace):
        raise Unreadable("a key that may run code when it is compared")
    return namespace.get(key, ABSENT)


def _global(func: object, name: str) -> object:
    if not isinstance(func, FunctionType):
        raise Unreadable("not a function")
    found = _dict_get(func.__globals__, name)
    return found if found is not ABSENT else _dict_get(getattr(func, "__builtins__"), name)  # noqa: B009


def _closure(func: object, index: int) -> object:
    if not isinstance(func, FunctionType) or func.__closure__ is None or index >= len(func.__closure__):
        raise Unreadable("no such closure variable")
    return _cell(func.__closure__[index])


def _cell(cell: object) -> object:
    if not isinstance(cell, CellType):
        raise Unreadable("not a cell")
    try:
        return cast(object, cell.cell_contents)
    except ValueError:
        return ABSENT


def _instance_attr(obj: object, name: str) -> object:
    """An attribute as ``object.__getattribute__`` finds it, where no code of the user's can run (the packed program
    is refused otherwise)."""
    on_class = class_lookup(type(obj), name)
    if isinstance(on_class, MemberDescriptorType):
        try:
            return cast(object, on_class.__get__(obj))
        except AttributeError:
            return ABSENT
    plain = isinstance(on_class, (FunctionType, MethodDescriptorType)) or (
        type(on_class) in (staticmethod, classmethod) and isinstance(on_class.__func__, FunctionType))  # type: ignore[attr-defined]
    if not plain and _is_descriptor(on_class):
        raise Unreadable("a descriptor")
    dict_slot = class_lookup(type(obj), "__dict__")
    if isinstance(dict_slot, GetSetDescriptorType):
        namespace = dict_slot.__get__(obj)
        if name in namespace:
            return cast(object, namespace[name])
    if plain:
        return cast(object, on_class.__get__(obj, type(obj)))  # type: ignore[attr-defined]
    return on_class


def _is_descriptor(obj: object) -> bool:
    return any(class_lookup(type(obj), name) is not ABSENT for name in ("__get__", "__set__", "__delete__"))


def read(source: s.Source, frame: FrameValues, versions: Mapping[s.Source, type] | None = None) -> object:
    """The object at ``source`` or ``ABSENT``; ``Unreadable`` where guards on its base were left out.

    ``versions`` has the sources that a ``TypeVersion`` guard was checked on; ``None`` trusts every type.
    """
    base: object = ABSENT
    inner = getattr(source, "base", None)
    if inner is not None:
        base = read(inner, frame, versions)
        if base is ABSENT:
            raise Unreadable("nothing to read from")
    match source:
        case s.Local(index=index):
            return ABSENT if frame.locals[index] is frame.unbound else frame.locals[index]
        case s.Constant(obj=obj):
            return obj
        case s.Global(name=name):
            return _global(frame.func, name)
        case s.ModuleGlobal(name=name):
            return _global(base, name)
        case s.Closure(index=index):
            return _closure(frame.func if inner is None else base, index)
        case s.CellContent():
            return _cell(base)
        case s.Attr(name=name):
            if type(base) is ModuleType:
                return _dict_get(base.__dict__, name)
            if versions is not None and versions.get(source.base) is not type(base):
                raise Unreadable("no guard on the type's version")
            return _instance_attr(base, name)
        case s.Item(index=index):
            if type(base) is tuple or type(base) is list:
                return base[index] if index < len(base) else ABSENT
            raise Unreadable("not an exact tuple or list")
        case s.Key(key=key):
            return _dict_get(base, key)
        case s.Iterated():
            found = iterators.iterated(base)
            if found is None:
                raise Unreadable("not an iterator that goes by index, or used up")
            return found
    raise TypeError(f"unknown source {source!r}")


def array_layout(a: np.ndarray) -> str:
    """'C', 'F' or 'A', exactly one for every array."""
    return "C" if a.flags.c_contiguous else "F" if a.flags.f_contiguous else "A"


def _load_int(obj: object) -> bytes | None:
    return struct.pack("q", obj) if type(obj) is int and -2**63 <= obj < 2**63 else None


def _load_float(obj: object) -> bytes | None:
    return struct.pack("d", obj) if type(obj) is float else None


def _load_bool(obj: object) -> bytes | None:
    return struct.pack("q", obj) if type(obj) is bool else None


def _load_complex(obj: object) -> bytes | None:
    return struct.pack("dd", obj.real, obj.imag) if type(obj) is complex else None


_PYTHON_LOADS: dict[str, Callable[[object], bytes | None]] = {
    "int": _load_int, "float": _load_float, "bool": _load_bool, "complex": _load_complex,
}


def loaded_words(guard: g.Guard, obj: object) -> bytes | None:
    """The input words that a loading guard fills from ``obj``; ``None`` if it fails."""
    if isinstance(guard, g.LoadObject):
        return struct.pack("P", id(obj))
    if isinstance(guard, g.LoadArray):
        fits = (type(obj) is np.ndarray and obj.dtype.num == np.dtype(guard.dtype).num and is_plain_dtype(obj.dtype)
                and obj.ndim == guard.ndim and obj.flags.aligned and array_layout(obj) == guard.layout)
        return struct.pack("P", id(obj)) if fits else None
    if isinstance(guard, (g.LoadRange, g.LoadPosition)):
        number = iterator_number(guard, obj)
        return None if number is None else struct.pack("q", number)
    assert isinstance(guard, g.Load)
    if guard.kind in _PYTHON_LOADS:
        return _PYTHON_LOADS[guard.kind](obj)
    if type(obj) is not np.dtype(guard.kind).type:
        return None
    data = cast(np.generic, obj).tobytes()
    return data + bytes(-len(data) % 8)


def iterator_number(guard: g.LoadRange | g.LoadPosition, obj: object) -> int | None:
    """The number of an iterator that ``guard`` loads; ``None`` if it fails."""
    if isinstance(guard, g.LoadPosition):
        return iterators.position(obj) if type(obj) is guard.type else None
    found = iterators.rest_of_range(obj)
    if found is None or (found.step < 0) != guard.down:
        return None
    return (found.start, found.stop, found.step)[guard.part]


def input_of(guard: g.Loading, obj: object) -> object:
    """The object that stands for the input which ``guard`` fills from ``obj``."""
    return iterator_number(guard, obj) if isinstance(guard, (g.LoadRange, g.LoadPosition)) else obj


class Program:
    """Guards and sources ready to be checked; types are remembered as they are now."""

    def __init__(self, guards: Sequence[g.Guard], sources: Sequence[s.Source] = ()) -> None:
        self.guards, self.sources = list(guards), list(sources)
        self._tokens = {id(guard): version_token(guard.type) for guard in guards if isinstance(guard, g.TypeVersion)}
        self._tokens |= {id(guard): version_token(guard.cls) for guard in guards if isinstance(guard, g.ClassVersion)}

    def holds(self, guard: g.Guard, obj: object, frame: FrameValues, versions: Mapping[s.Source, type]) -> bool:
        """Does a guard that loads nothing hold for what its source gave?"""
        if isinstance(guard, g.Absent) or obj is ABSENT:
            return isinstance(guard, g.Absent) and obj is ABSENT
        match guard:
            case g.TypeIs(type=type_):
                return type(obj) is type_
            case g.IsObject(obj=wanted):
                return obj is wanted
            case g.ValueIs(value=value):
                return type(obj) is type(value) and obj == value
            case g.LengthIs(length=length):
                return type(obj) in (tuple, list, dict) and len(cast(Sequence[object], obj)) == length
            case g.TypeVersion(type=type_):
                return type(obj) is type_ and self._tokens[id(guard)] == version_token(type_)
            case g.ClassVersion(cls=cls):
                return obj is cls and self._tokens[id(guard)] == version_token(cls)
            case g.FunctionIs(code=code, defaults=defaults, kwdefaults=kwdefaults):
                return (isinstance(obj, FunctionType) and obj.__code__ is code and obj.__defaults__ is defaults
                        and obj.__kwdefaults__ is kwdefaults)
            case g.Alone():
                return True         # how many references there are depends on who asks: only C can tell
            case g.StrictIs(strict=strict):
                return type(obj) is zip and iterators.is_strict(obj) is strict
            case g.DimsEqual(axis=axis, other=other, other_axis=other_axis):
                b = read(other, frame, versions)
                return (type(obj) is np.ndarray and type(b) is np.ndarray and axis < obj.ndim
                        and other_axis < b.ndim and bool(obj.shape[axis] == b.shape[other_axis]))
        raise TypeError(f"unknown guard {guard!r}")

    def check(self, frame: FrameValues) -> tuple[int, bytes | None, list[object] | None]:
        """``(0, words, source objects)``, or ``(1 + index of the failing guard, None, None)``."""
        versions: dict[s.Source, type] = {}
        words = b""
        for index, guard in enumerate(self.guards):
            try:
                obj = read(guard.source, frame, versions)
                if isinstance(guard, g.Loading):
                    loaded = None if obj is ABSENT else loaded_words(guard, obj)
                    words += loaded or b""
                    good = loaded is not None
                else:
                    good = self.holds(guard, obj, frame, versions)
            except Unreadable:
                good = False
            if not good:
                return index + 1, None, None
            if fixes_type(guard):
                versions[guard.source] = guard.type
        found = []
        named = {guard.source for guard in self.guards}
        for source in self.sources:
            try:
                obj = read(source, frame, versions)
            except Unreadable:
                return len(self.guards) + 1, None, None
            if obj is ABSENT and source not in named and not isinstance(source, s.DeadLocal):
                return len(self.guards) + 1, None, None
            found.append(frame.unbound if obj is ABSENT else obj)
        return 0, words, found


def first_failure(guards: Sequence[g.Guard], func: FunctionType, values: Sequence[object],
                  unbound: object) -> int | None:
    """The index of the first of ``guards`` that fails for a frame (``values``: its locals, then its stack), ``None`` if
    all hold.  Changes of classes since the guards were made are not seen."""
    failed, _, _ = Program(guards).check(FrameValues(func, values, unbound))
    return failed - 1 if failed else None
