"""Iterators that a region finds on its frame's operand stack: the loops that it begins in.

Job: ``Adopted.iterator`` turns such an object into the abstract iterator that the loop's handlers know.  Invariants:
only what nobody else has is turned (an exit makes an equal iterator in its place), which a guard asks for; its
numbers are inputs, read once; anything else stays what it is, untouched.  Used by ``meeting`` alone.
"""
from __future__ import annotations

import numpy as np

from jitcore.frontend.builder import Builder
from jitcore.frontend.values import (
    Abstract,
    Array,
    Enumerate,
    FlatIterator,
    FoundSequence,
    Known,
    Lazy,
    LoopIterator,
    Opaque,
    RangeIterator,
    Scalar,
    Sequence,
    SequenceIterator,
    Zip,
)
from jitcore.guards import iterators
from jitcore.guards.guard import Alone, Guard, LengthIs, LoadPosition, LoadRange, StrictIs, TypeIs
from jitcore.guards.sources import Global, Item, Iterated, Local, Source
from jitcore.ir.types import INT


class Adopted:
    """The iterators of one region's entry state; their numbers by source.  ``seen``: the ids of the objects in the
    frame's slots."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.seen: frozenset[int] = frozenset()
        self._numbers: dict[tuple[Source, int], Scalar] = {}

    def iterator(self, value: Lazy) -> Abstract:
        """The loop's iterator that ``value`` is; ``value`` if it is none, or others may have it."""
        found = self._find(value) if value.alone and value.forced is None else None
        return value if found is None else found

    def _find(self, value: Lazy) -> LoopIterator | None:
        assert value.source is not None
        kind = type(value.obj)
        if kind is iterators.RANGE:
            return self._range(value.obj, value.source)
        if kind in iterators.BACKWARDS:
            return self._indexed(value.obj, value.source)
        if kind is enumerate:
            return self._enumerate(value.obj, value.source)
        return self._zip(value.obj, value.source) if kind is zip else None

    def _guard(self, guard: Guard) -> None:
        if guard not in self.builder.guards:
            self.builder.guard(guard)

    def _number(self, guard: LoadRange | LoadPosition, hint: int) -> Scalar:
        key = (guard.source, guard.part if isinstance(guard, LoadRange) else 0)
        if key not in self._numbers:
            self.builder.guard(guard)
            self._numbers[key] = Scalar(self.builder.graph.add_input(INT), None, hint)
        return self._numbers[key]

    def _range(self, obj: object, source: Source) -> LoopIterator | None:
        rest = iterators.rest_of_range(obj)
        if rest is None:
            return None
        self._guard(Alone(source))
        down = rest.step < 0
        start, stop, step = (self._number(LoadRange(source, part, down), hint)
                             for part, hint in enumerate((rest.start, rest.stop, rest.step)))
        return RangeIterator(start, stop, step, down)

    def _indexed(self, obj: object, source: Source) -> LoopIterator | None:
        position, sequence = iterators.position(obj), iterators.iterated(obj)
        if position is None or sequence is None:
            return None
        found = self._number(LoadPosition(source, type(obj)), position)
        over = self.builder.force(Lazy(sequence, Iterated(source)))
        if not _may_loop(over) and not (type(obj) is np.flatiter and isinstance(over, Array)):
            return None
        self._guard(Alone(source))
        if type(obj) is np.flatiter:
            assert isinstance(over, Array)
            return FlatIterator(over, found)
        return SequenceIterator(over, found, iterators.BACKWARDS[type(obj)])

    def _inner(self, obj: object, source: Source) -> LoopIterator | None:
        found = self.iterator(Lazy(obj, source, id(obj) not in self.seen))
        return found if isinstance(found, LoopIterator) else None

    def _enumerate(self, obj: object, source: Source) -> LoopIterator | None:
        position = iterators.position(obj)
        if position is None:
            return None
        number = self._number(LoadPosition(source, enumerate), position)
        over = self._inner(iterators.iterated(obj), Iterated(source))
        if over is None:
            return None
        self._guard(Alone(source))
        return Enumerate(over, number)

    def _zip(self, obj: object, source: Source) -> LoopIterator | None:
        parts, inner = iterators.iterated(obj), Iterated(source)
        strict = iterators.is_strict(obj)
        if not isinstance(parts, tuple) or not parts or strict is None or len(set(map(id, parts))) < len(parts):
            return None
        for guard in (StrictIs(source, strict), TypeIs(inner, tuple), LengthIs(inner, len(parts))):
            self._guard(guard)
        found = [self._inner(part, Item(inner, k)) for k, part in enumerate(parts)]
        if None in found:
            return None
        self._guard(Alone(source))
        self._guard(Alone(inner))
        return Zip([part for part in found if part is not None], strict)


def _may_loop(value: Abstract) -> bool:
    """Whether a compiled loop can go over what was found (see ``iteration.Indexable``)."""
    if isinstance(value, Array):
        return bool(value.shape)
    return value.number is not None if isinstance(value, FoundSequence) else isinstance(value, Opaque) and \
        value.type is bytes


def described(value: Abstract) -> str:
    """What a loop goes over, in words."""
    if isinstance(value, RangeIterator):
        return "a range"
    if isinstance(value, Enumerate):
        return f"enumerate({described(value.over)})"
    if isinstance(value, Zip):
        return f"zip({', '.join(map(described, value.parts))})"
    if isinstance(value, FlatIterator):
        return f"all elements of {described(SequenceIterator(value.over, value.position, False))}"
    if not isinstance(value, SequenceIterator):
        return "an iterator"
    over = value.over
    kind = "a sequence"
    if isinstance(over, Array):
        kind = f"array {over.type}"
    elif isinstance(over, Sequence):
        kind = f"a {over.kind}"
    elif isinstance(over, (Known, Opaque)):
        kind = (type(over.obj) if isinstance(over, Known) else over.type).__name__
    name = f"{kind} ({over.source})" if isinstance(over.source, (Local, Global)) else kind
    return f"reversed({name})" if value.down else name
