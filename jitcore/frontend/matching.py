"""Two states compared, and made alike: what paths that meet have in common.

Job: ``differences`` says in which numbers and arrays two states differ, if in nothing else; ``generalise`` puts block
parameters in their place; ``arguments`` gives what a path hands over for them.  Invariants: two states without a
difference are one state, object for object, aliasing included.  A *place* is a path through a state: the frame's
number, ``'locals'`` or ``'stack'``, the slot, and so on into containers; an array's place may be followed by ``'d'``
and an axis (its length differs) or ``'h'`` (it may be seen from elsewhere).  Used by ``meeting`` alone.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jitcore.frontend.builder import Builder
from jitcore.frontend.state import Frame, State
from jitcore.frontend.values import (
    Abstract,
    Array,
    Cell,
    Dict,
    Enumerate,
    FlatIterator,
    Function,
    Gathered,
    Instance,
    Iterator,
    Known,
    Lazy,
    Method,
    NativeMethod,
    Opaque,
    Partial,
    Range,
    RangeIterator,
    Scalar,
    Sequence,
    SequenceIterator,
    Set,
    Slice,
    TypedList,
    View,
    Zip,
    is_free,
    is_number,
)
from jitcore.ir.build import type_key
from jitcore.ir.graph import Block, Value
from jitcore.ir.literal import same_value
from jitcore.ir.types import INT, ScalarType, parse_type, strong

Place = tuple[Any, ...]

#: The parts of containers that hold other objects.
_PARTS: dict[type, tuple[str, ...]] = {
    Sequence: ("items",), Dict: ("items",), Cell: ("content",), Slice: ("start", "stop", "step"),
    Range: ("start", "stop", "step"), RangeIterator: ("position", "stop", "step"), Method: ("func", "self_value"),
    NativeMethod: ("self_value",), Iterator: ("items", "over"), View: ("over",),
    Function: ("closure", "defaults", "kwdefaults"), Set: ("items",), Gathered: ("over",), Instance: ("attrs",),
    Partial: ("func", "args", "kwargs"), FlatIterator: ("over", "position"),
    SequenceIterator: ("over", "position"), Enumerate: ("over", "position"), Zip: ("parts",),
}
#: The parts that must be the same.
_FIXED: dict[type, tuple[str, ...]] = {
    Sequence: ("kind",), NativeMethod: ("name", "made_at"), Iterator: ("position", "fixed", "made_at"), Cell: ("name",),
    View: ("what", "made_at"), RangeIterator: ("down",),
    Function: ("code", "obj", "made_at"), Set: ("merged", "made_at"), Instance: ("cls",), Partial: ("made_at",),
    SequenceIterator: ("down",), Zip: ("strict",),
}


def plain(value: Abstract) -> Abstract:
    """What an object is known to be by now."""
    return value.forced if isinstance(value, Lazy) and value.forced is not None else value


def number_type(value: Abstract) -> ScalarType | None:
    """The graph type of a number, None for other objects."""
    if isinstance(value, Scalar):
        return value.type
    if isinstance(value, Known) and is_number(value.obj):
        if type(value.obj) is int and not -2**63 <= value.obj < 2**63:
            return None
        kind = type(value.obj)
        if kind in (bool, int, float, complex):
            return parse_type(kind.__name__)  # type: ignore[return-value]
        return strong(value.obj.dtype)  # type: ignore[attr-defined]
    return None


class Different(Exception):
    """Two states differ in more than numbers and arrays."""


class _Comparison:
    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.found: set[Place] = set()
        self._pairs: dict[int, Abstract] = {}
        self._back: dict[int, Abstract] = {}

    def frame(self, a: Frame, b: Frame, at: Place) -> None:
        if (a.code.code is not b.code.code or a.index != b.index or len(a.stack) != len(b.stack)
                or a.deliver != b.deliver or (a.yields is None) != (b.yields is None)):
            raise Different
        self.pair(a.func, b.func, (*at, "f"))
        self.parts([] if a.making is None else [a.making], [] if b.making is None else [b.making], (*at, "making"))
        for part in ("locals", "stack", "yields"):
            self.parts(getattr(a, part) or [], getattr(b, part) or [], (*at, part))

    def parts(self, a: Any, b: Any, at: Place) -> None:
        if isinstance(a, Abstract):
            if not isinstance(b, Abstract):
                raise Different
            self.pair(a, b, at)
        elif isinstance(a, dict):
            if not isinstance(b, dict) or len(a) != len(b) or not all(
                    same_value(x, y) for x, y in zip(a.keys(), b.keys())):
                raise Different
            self.parts(list(a.values()), list(b.values()), at)
        elif isinstance(a, (list, tuple)):
            if not isinstance(b, (list, tuple)) or len(a) != len(b):
                raise Different
            for i, (x, y) in enumerate(zip(a, b)):
                self.parts(x, y, (*at, i))
        elif a is not b:
            raise Different

    def pair(self, a: Abstract, b: Abstract, at: Place) -> None:
        a, b = plain(a), plain(b)
        if a.source is not None and (a is b or a.source == b.source):
            if isinstance(a, (Array, Lazy)):        # elsewhere one of them may stand for another array
                self.seen(a, b)
            return
        if a is b and type(a) not in _PARTS and not isinstance(a, Array):
            return
        if (type_a := number_type(a)) is not None:
            self.numbers(a, b, type_a, at)
            return
        if type(a) is not type(b):
            raise Different
        if isinstance(a, TypedList):
            assert isinstance(b, TypedList)
            if type_key(a.type) != type_key(b.type):
                raise Different
            if a.value is not b.value:
                self.found.add(at)
            return
        if isinstance(a, Known):
            assert isinstance(b, Known)
            if a.obj is not b.obj and not (type(a.obj) in (str, bytes, tuple) and same_value(a.obj, b.obj)):
                raise Different
            return
        if self.seen(a, b):
            return
        if isinstance(a, Array):
            assert isinstance(b, Array)
            self.arrays(a, b, at)
        elif isinstance(a, Opaque):
            assert isinstance(b, Opaque)
            if a.value is None or a.value is not b.value or a.type is not b.type:
                raise Different
        elif type(a) in _PARTS:
            if (a.source is None) != (b.source is None) or not all(
                    getattr(a, part) is getattr(b, part) or getattr(a, part) == getattr(b, part)
                    for part in _FIXED.get(type(a), ())):
                raise Different
            for part in _PARTS[type(a)]:
                self.parts(getattr(a, part), getattr(b, part), (*at, part))
        elif a is not b:
            raise Different

    def seen(self, a: Abstract, b: Abstract) -> bool:
        """Whether the two have been met as a pair; they must not have been met with others."""
        if id(a) in self._pairs or id(b) in self._back:
            if self._pairs.get(id(a)) is not b or self._back.get(id(b)) is not a:
                raise Different
            return True
        self._pairs[id(a)], self._back[id(b)] = b, a
        return False

    def numbers(self, a: Abstract, b: Abstract, type_a: ScalarType, at: Place) -> None:
        type_b = number_type(b)
        if type_b is None or type_key(type_a) != type_key(type_b):
            raise Different
        if isinstance(a, Known) and isinstance(b, Known) and same_value(a.obj, b.obj):
            return
        if isinstance(a, Scalar) and isinstance(b, Scalar) and a.value is b.value:
            return
        self.found.add(at)

    def arrays(self, a: Array, b: Array, at: Place) -> None:
        if type_key(a.type) != type_key(b.type) or a.readonly != b.readonly:
            raise Different
        if a.value is b.value and a.source == b.source and a.base is b.base:
            if is_free(a) and not is_free(b):       # the value stays, and what it is known to be
                self.found.add((*at, "h"))
            return
        self.found.add(at)
        if is_free(a) and not is_free(b):
            self.found.add((*at, "h"))
        for axis, (x, y, p, q) in enumerate(zip(a.shape, b.shape, a.hint, b.hint)):
            x, y = self.builder.canonical(x), self.builder.canonical(y)
            if x is not y and self.builder.unify(x, y, p, q) is None:
                self.found.add((*at, "d", axis))


def differences(builder: Builder, a: State, b: State) -> set[Place] | None:
    """The places in which the states differ; None if they are of different kinds there, or elsewhere."""
    comparison = _Comparison(builder)
    if len(a.frames) != len(b.frames) or a.ignored != b.ignored:
        return None
    try:
        for depth, (x, y) in enumerate(zip(a.frames, b.frames)):
            comparison.frame(x, y, (depth,))
    except Different:
        return None
    return comparison.found


def unlike(builder: Builder, a: Abstract, b: Abstract) -> bool:
    """Whether two locals, each for itself, are of different kinds."""
    try:
        _Comparison(builder).pair(a, b, ())
    except Different:
        return True
    return False


def grown_lists(a: State, b: State) -> list[tuple[Sequence, Sequence]]:
    """Lists in the same places of two states, made by the same instruction, whose lengths differ."""
    found: list[tuple[Sequence, Sequence]] = []
    seen: set[tuple[int, int]] = set()

    def parts(x: Any, y: Any) -> None:
        if isinstance(x, Abstract) and isinstance(y, Abstract):
            pair(plain(x), plain(y))
        elif isinstance(x, dict) and isinstance(y, dict):
            parts(list(x.values()), list(y.values()))
        elif isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            for one, other in zip(x, y):
                parts(one, other)

    def pair(x: Abstract, y: Abstract) -> None:
        if type(x) is not type(y) or type(x) not in _PARTS or (id(x), id(y)) in seen or x.source is not None:
            return
        seen.add((id(x), id(y)))
        if isinstance(x, Sequence) and isinstance(y, Sequence) and len(x.items) != len(y.items):
            if x.site is not None and x.site == y.site:
                found.append((x, y))
            return
        for part in _PARTS[type(x)]:
            parts(getattr(x, part), getattr(y, part))

    for one, other in zip(a.frames, b.frames):
        for part in ("locals", "stack", "yields"):
            parts(getattr(one, part) or [], getattr(other, part) or [])
    return found


# -- walking ----------------------------------------------------------------------------------------
class _Walk:
    """Visits the numbers and arrays of a state; ``change`` gives what stands there afterwards."""

    def __init__(self, change: Callable[[Abstract, Place], Abstract]) -> None:
        self._change = change
        self._memo: dict[int, Abstract] = {}
        self._keep: list[Abstract] = []

    def state(self, state: State) -> None:
        for depth, frame in enumerate(state.frames):
            self.value(frame.func, (depth, "f"))
            if frame.making is not None:
                self.value(frame.making, (depth, "making", 0))
            for part in ("locals", "stack", "yields"):
                found = getattr(frame, part)
                if isinstance(found, list):
                    found[:] = self.part(found, (depth, part))
                elif found is not None:
                    setattr(frame, part, self.part(found, (depth, part)))

    def part(self, part: Any, at: Place) -> Any:
        if isinstance(part, Abstract):
            return self.value(part, at)
        if isinstance(part, dict):
            return {key: self.part(item, (*at, i)) for i, (key, item) in enumerate(part.items())}
        if isinstance(part, (list, tuple)):
            return type(part)(self.part(item, (*at, i)) for i, item in enumerate(part))
        return part

    def value(self, value: Abstract, at: Place) -> Abstract:
        known = plain(value)
        if number_type(known) is not None or isinstance(known, TypedList):
            new = self._change(known, at)
            return value if new is known else new
        if isinstance(known, Array):
            if id(known) not in self._memo:
                self._memo[id(known)] = self._change(known, at)
                self._keep.append(known)
            new = self._memo[id(known)]
            return value if new is known else new
        if type(known) not in _PARTS or known.source is not None or id(known) in self._memo:
            return value
        self._memo[id(known)] = known
        for part in _PARTS[type(known)]:
            setattr(known, part, self.part(getattr(known, part), (*at, part)))
        return value


def places_of(state: State) -> Iterable[tuple[Place, Abstract]]:
    """The numbers and arrays of a state, each array at its first place."""
    found: list[tuple[Place, Abstract]] = []

    def note(value: Abstract, at: Place) -> Abstract:
        found.append((at, value))
        return value

    _Walk(note).state(state)
    return found


def owner_of(array: Array) -> Value:
    """The value of the array that owns the memory, as far as the region knows."""
    return (array.base if array.base is not None else array).value


def owners_of(state: State) -> frozenset[Value]:
    """The owners of all arrays of a state, and its lists."""
    return frozenset(owner_of(value) if isinstance(value, Array) else value.value for _, value in places_of(state)
                     if isinstance(value, (Array, TypedList)))


def generalise(builder: Builder, block: Block, state: State, places: set[Place]) -> list[Place]:
    """Puts parameters of ``block`` into ``places`` of ``state``; gives the places in the order of the parameters."""
    order: list[Place] = []

    def change(value: Abstract, at: Place) -> Abstract:
        if at not in places:
            if isinstance(value, Array) and (*at, "h") in places:
                value.shared = True         # the state is the block's own
            return value
        kind = number_type(value)
        if kind is not None:
            order.append(at)
            return Scalar(builder.graph.add_param(block, kind))
        if isinstance(value, TypedList):
            order.append(at)
            return TypedList(builder.graph.add_param(block, value.type), value.sites)
        assert isinstance(value, Array)
        shape = list(value.shape)
        for axis in range(len(shape)):
            if (*at, "d", axis) in places:
                order.append((*at, "d", axis))
                shape[axis] = builder.graph.add_param(block, INT)
        order.append(at)
        param = builder.graph.add_param(block, value.type, tuple(shape))
        hint = tuple(None if (*at, "d", axis) in places else n for axis, n in enumerate(value.hint))
        new = Array(param, None, hint, None, value.readonly)
        new.shared = not is_free(value) or (*at, "h") in places
        return new

    _Walk(change).state(state)
    return order


def arguments(builder: Builder, state: State, order: list[Place]) -> tuple[Value, ...]:
    """What ``state`` has in the places ``order``; constants are made in the builder's block."""
    found: dict[Place, Value] = {}
    wanted = set(order)
    for at, value in places_of(state):
        if at not in wanted:
            continue
        if isinstance(value, Array):
            found[at] = value.value
            for axis, length in enumerate(value.shape):
                found[(*at, "d", axis)] = length
        elif isinstance(value, TypedList):
            found[at] = value.value
        else:
            found[at] = builder.as_value(value)
    return tuple(found[at] for at in order)
