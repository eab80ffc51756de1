"""Abstract values: what the symbolic executor knows of each Python object.

Job: stand for the objects in locals, on the stack and inside containers while bytecode is executed
symbolically.  Invariants: an abstract value stands for exactly one Python object, and identity of
abstract values is identity of the objects (`is` in Python is `is` here), so shared and aliased
objects stay shared.  Values are immutable except the containers and arrays that the region itself
made (``source is None``).  ``frontend.state`` clones them, ``frontend.exits`` turns them into recipes.
"""
from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from jitcore.guards.sources import Item, Source
from jitcore.ir.graph import Value
from jitcore.ir.types import ArrayType, ListType, ScalarType


class Abstract:
    """Base.  ``source`` is the path on which the object was read at entry; None if made inside."""

    __slots__ = ("source",)

    def __init__(self, source: Source | None = None) -> None:
        self.source = source


class Unbound(Abstract):
    """An unbound local, or NULL on the stack (the one instance is ``UNBOUND``)."""

    __slots__ = ()


UNBOUND = Unbound()


class Lazy(Abstract):
    """An object of the entry state that nothing has looked at yet: no guard on it so far.

    ``obj`` is the snapshot's object.  ``Builder.force`` turns it into one of the other kinds, with
    the guards that this needs, once: the result is remembered in ``forced``.  ``alone``: as far as the snapshot
    shows, only its place on the frame's operand stack has the object, so that an equal one may take its place.
    """

    __slots__ = ("obj", "forced", "alone")

    def __init__(self, obj: object, source: Source, alone: bool = False) -> None:
        super().__init__(source)
        self.obj, self.alone = obj, alone
        self.forced: Abstract | None = None


class Known(Abstract):
    """An object known exactly: a literal, or guarded by identity or value."""

    __slots__ = ("obj",)

    def __init__(self, obj: object, source: Source | None = None) -> None:
        super().__init__(source)
        self.obj = obj

    def __repr__(self) -> str:
        return f"Known({self.obj!r})"


class Scalar(Abstract):
    """A number held in the graph: a Python scalar (weak type) or a NumPy scalar (strong type).

    ``hint`` is its value for the snapshot where that is known: good for guessing, never for truth.  ``box`` is the
    graph's value of the object itself, where it was an object before.
    """

    __slots__ = ("value", "hint", "box")

    def __init__(self, value: Value, source: Source | None = None, hint: Any = None, box: Value | None = None) -> None:
        super().__init__(source)
        self.value, self.hint, self.box = value, hint, box

    @property
    def type(self) -> ScalarType:
        assert isinstance(self.value.type, ScalarType)
        return self.value.type


class Array(Abstract):
    """An exact ndarray held in the graph.

    ``value`` is its present content (an in-place operation on an array made inside the region
    replaces it).  ``hint`` is the snapshot's shape where known (entries may be None).  ``base`` is the
    array that this one is a view of.  ``shared`` is set when a view of a region-made array exists: then
    it must not be updated in place any more.
    """

    __slots__ = ("value", "hint", "base", "shared", "readonly")

    def __init__(self, value: Value, source: Source | None = None, hint: tuple[int | None, ...] | None = None,
                 base: Array | None = None, readonly: bool = False) -> None:
        super().__init__(source)
        self.value, self.base, self.shared, self.readonly = value, base, False, readonly
        self.hint = hint if hint is not None else (None,) * self.type.ndim

    @property
    def type(self) -> ArrayType:
        assert isinstance(self.value.type, ArrayType)
        return self.value.type

    @property
    def shape(self) -> tuple[Value, ...]:
        return self.value.shape


class Sequence(Abstract):
    """A tuple or list.  Its items are known one by one.

    ``site``: the instruction that made a list inside (``learning.Site``), where a ``TypedList`` may be made instead.
    """

    __slots__ = ("kind", "items", "site")

    def __init__(self, kind: str, items: list[Abstract], source: Source | None = None,
                 site: tuple[tuple[object, int], ...] | None = None) -> None:
        super().__init__(source)
        self.kind, self.items, self.site = kind, items, site


class TypedList(Abstract):
    """A list of run-time length that was made inside: a reference to memory of native code, which holds the items.

    Two of these may stand for one list, which what they refer to then shows; all else about a list is in memory.
    ``sites``: the instructions that made it, lists in it, and so on, as far as known.
    """

    __slots__ = ("value", "sites")

    def __init__(self, value: Value, sites: tuple[tuple[tuple[object, int], ...] | None, ...]) -> None:
        super().__init__()
        self.value, self.sites = value, sites

    @property
    def type(self) -> ListType:
        assert isinstance(self.value.type, ListType)
        return self.value.type


class FoundSequence(Sequence):
    """A tuple or list read from a source; ``obj`` is the snapshot's.

    Whoever asks for ``items`` has its length guarded, and gets them as Lazy values.  Until then nothing is known of
    its length.  ``number`` is the type of all its items in the snapshot, if that is one of a number and there are any:
    good for guessing, never for truth.
    """

    __slots__ = ("obj", "number", "_items", "_guard_length")

    def __init__(self, kind: str, obj: tuple[object, ...] | list[object], source: Source,
                 guard_length: Callable[[], None]) -> None:
        Abstract.__init__(self, source)
        self.kind, self.obj, self.site = kind, obj, None
        kinds = set(map(type, obj[:_LOOKED_AT]))
        self.number = kinds.pop() if len(kinds) == 1 and is_number(obj[0]) else None
        self._items: list[Abstract] | None = None
        self._guard_length = guard_length

    @property
    def items(self) -> list[Abstract]:  # type: ignore[override]
        if self._items is None:
            assert self.source is not None
            self._guard_length()
            self._items = [Lazy(item, Item(self.source, i)) for i, item in enumerate(self.obj)]
        return self._items


_LOOKED_AT = 1000       # items of a long sequence


class Dict(Abstract):
    """An exact dict made inside the region; keys are hashable constants."""

    __slots__ = ("items",)

    def __init__(self, items: dict[Any, Abstract], source: Source | None = None) -> None:
        super().__init__(source)
        self.items = items


class Set(Abstract):
    """An exact set made inside the region; ``items`` are hashable constants in the order in which they were added.

    ``merged``: another set was copied into it, after which its order cannot be had by adding items.
    """

    __slots__ = ("items", "merged", "made_at")

    def __init__(self, items: dict[Any, Abstract]) -> None:
        super().__init__()
        self.items, self.merged = items, False
        self.made_at: int | None = None


class Slice(Abstract):
    """A slice object made inside the region."""

    __slots__ = ("start", "stop", "step")

    def __init__(self, start: Abstract, stop: Abstract, step: Abstract) -> None:
        super().__init__()
        self.start, self.stop, self.step = start, stop, step


class Range(Abstract):
    """A range object; the parts are Known or weak int Scalars (Lazy in one read from a source)."""

    __slots__ = ("start", "stop", "step")

    def __init__(self, start: Abstract, stop: Abstract, step: Abstract, source: Source | None = None) -> None:
        super().__init__(source)
        self.start, self.stop, self.step = start, stop, step


class Cell(Abstract):
    """A cell.  Made inside (source None), or found outside: then ``content`` is Lazy and never changes here.

    A cell in a slot of the entry frame has that ``Local`` as its source.  A cell of a function's closure has the
    source ``Closure`` of its content, since no source reads the cell itself.
    """

    __slots__ = ("content", "name")

    def __init__(self, content: Abstract, name: str = "", source: Source | None = None) -> None:
        super().__init__(source)
        self.content, self.name = content, name


class Function(Abstract):
    """A Python function.

    Read from a source: ``obj`` is it, guarded with ``FunctionIs``.  Made inside the region by MAKE_FUNCTION:
    ``obj`` is None, the parts are abstract, and ``made_at`` is the unit of the region's own frame at which
    it was made.  ``globals`` is the dict object of its globals, ``globals_source`` the function that they are
    read through (None: the region's own).  ``annotations``: of one made inside, a tuple of names and values in turn.
    """

    __slots__ = ("code", "globals", "closure", "defaults", "kwdefaults", "obj", "made_at", "globals_source",
                 "annotations")

    def __init__(self, code: CodeType, globals: dict[str, Any], closure: tuple[Cell, ...],
                 defaults: tuple[Abstract, ...], kwdefaults: dict[str, Abstract], obj: object | None = None,
                 source: Source | None = None) -> None:
        super().__init__(source)
        self.code, self.globals, self.closure = code, globals, closure
        self.defaults, self.kwdefaults, self.obj = defaults, kwdefaults, obj
        self.made_at: int | None = None
        self.globals_source = source
        self.annotations: Abstract | None = None


class Method(Abstract):
    """A bound method: ``func`` (Function, Known builtin...) with ``self``."""

    __slots__ = ("func", "self_value")

    def __init__(self, func: Abstract, self_value: Abstract) -> None:
        super().__init__()
        self.func, self.self_value = func, self_value


class NativeMethod(Abstract):
    """A bound method of a builtin type, by name: ``x.sum``, ``[].append``, ``"".join``.

    ``made_at``: as for ``Function`` (the object itself can't be rebuilt at an exit).
    """

    __slots__ = ("self_value", "name", "made_at")

    def __init__(self, self_value: Abstract, name: str) -> None:
        super().__init__()
        self.self_value, self.name = self_value, name
        self.made_at: int | None = None


class Iterator(Abstract):
    """An iterator made inside over items known one by one (``position`` of the next).

    ``over`` is the object that it iterates, None for enumerate, zip and their like;
    ``fixed`` says that nothing can change what is to come.  ``made_at``: as for ``Function``.
    """

    __slots__ = ("items", "position", "over", "fixed", "made_at")

    def __init__(self, items: list[Abstract], over: Abstract | None, fixed: bool) -> None:
        super().__init__()
        self.items, self.position, self.over, self.fixed = items, 0, over, fixed
        self.made_at: int | None = None


class LoopIterator(Abstract):
    """Base of iterators that a compiled loop can go over: where they are is held in the graph.

    Made inside, or read at entry from a place that nobody else sees: an exit makes an equal one.
    """

    __slots__ = ()


class RangeIterator(LoopIterator):
    """An iterator over a range whose trips are not known: ``position`` is the next item.

    ``position``, ``stop`` and ``step`` are Known or weak int Scalars of at most 61 bits; ``down`` says that the step is
    negative, else it is positive.
    """

    __slots__ = ("position", "stop", "step", "down")

    def __init__(self, position: Abstract, stop: Abstract, step: Abstract, down: bool) -> None:
        super().__init__()
        self.position, self.stop, self.step, self.down = position, stop, step, down


class SequenceIterator(LoopIterator):
    """An iterator by index over ``over`` (see ``iteration.Indexable``); ``position`` is the index of the next item, a
    Known or weak int Scalar of at most 61 bits.  ``down``: from ``reversed``, it counts down to 0."""

    __slots__ = ("over", "position", "down")

    def __init__(self, over: Abstract, position: Abstract, down: bool) -> None:
        super().__init__()
        self.over, self.position, self.down = over, position, down


class FlatIterator(LoopIterator):
    """``over.flat`` of an array; ``position`` is the number of the next element in C order."""

    __slots__ = ("over", "position")

    def __init__(self, over: Array, position: Abstract) -> None:
        super().__init__()
        self.over, self.position = over, position


class Enumerate(LoopIterator):
    """``enumerate`` of a loop's iterator; ``position`` is the next number."""

    __slots__ = ("over", "position")

    def __init__(self, over: LoopIterator, position: Abstract) -> None:
        super().__init__()
        self.over, self.position = over, position


class Zip(LoopIterator):
    """``zip`` of loops' iterators."""

    __slots__ = ("parts", "strict")

    def __init__(self, parts: list[LoopIterator], strict: bool) -> None:
        super().__init__()
        self.parts, self.strict = parts, strict


class Gathered(Abstract):
    """What a generator expression gave that was run to its end for the builtin which the next instruction calls: to be
    iterated once, all of it.  Its items are the list's."""

    __slots__ = ("over",)

    def __init__(self, over: TypedList) -> None:
        super().__init__()
        self.over = over


class View(Abstract):
    """``keys()``, ``values()`` or ``items()`` (``what``) of a dict made inside."""

    __slots__ = ("over", "what", "made_at")

    def __init__(self, over: Dict, what: str) -> None:
        super().__init__()
        self.over, self.what = over, what
        self.made_at: int | None = None


class Instance(Abstract):
    """An object of a class written in Python that the region made.

    ``cls_value`` is its class (``Known``), whose version is guarded; ``attrs`` has what lies in its dict and its
    slots, in the order in which it was put there.
    """

    __slots__ = ("cls_value", "attrs")

    def __init__(self, cls_value: Known, attrs: dict[str, Abstract]) -> None:
        super().__init__()
        self.cls_value, self.attrs = cls_value, attrs

    @property
    def cls(self) -> type:
        assert isinstance(self.cls_value.obj, type)
        return self.cls_value.obj


class Partial(Abstract):
    """A ``functools.partial`` made inside.  ``made_at``: as for ``Function``."""

    __slots__ = ("func", "args", "kwargs", "made_at")

    def __init__(self, func: Abstract, args: list[Abstract], kwargs: dict[str, Abstract]) -> None:
        super().__init__()
        self.func, self.args, self.kwargs = func, args, kwargs
        self.made_at: int | None = None


class Opaque(Abstract):
    """An object known by its type only (``TypeIs`` guarded, or the result of a call).

    ``obj`` is the snapshot's object where it has one, ``type`` the guarded exact type.
    """

    __slots__ = ("value", "type", "obj")

    def __init__(self, value: Value | None, type: type, source: Source | None = None, obj: object = None) -> None:
        super().__init__(source)
        self.value, self.type, self.obj = value, type, obj


def constant(value: Abstract) -> Any:
    """The Python object that ``value`` is known to be, containers included; ``NotKnown`` otherwise."""
    if isinstance(value, Known):
        return value.obj
    if isinstance(value, Sequence) and value.kind == "tuple":
        return tuple(constant(item) for item in value.items)
    if isinstance(value, Slice):
        return slice(constant(value.start), constant(value.stop), constant(value.step))
    raise NotKnown


class NotKnown(Exception):
    """Raised by ``constant`` when an object is not known while compiling."""


def is_number(obj: object) -> bool:
    """Whether ``obj`` is of a type that the graph holds as a scalar."""
    return type(obj) in (bool, int, float, complex) or (
        isinstance(obj, np.generic) and type(obj) is obj.dtype.type and obj.dtype.char in "?bBhHiIlLqQefdFD")


def is_free(array: Array) -> bool:
    """Whether the array was made inside, and nothing else sees its memory."""
    return array.source is None and not array.shared and array.base is None
