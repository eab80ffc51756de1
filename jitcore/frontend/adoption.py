"""Iterators that a region finds on its frame's operand stack: the loops that it begins in.

Job: ``Adopted.iterator`` turns such an object into the abstract iterator that the loop's handlers know.  Invariants:
only what nobody else has is turned (an exit makes an equal iterator in its place), which a guard asks for; its
numbers are inputs, read once; anything else stays what it is, untouched.  Used by ``meeting`` alone.
"""
from __future__ import annotations

from jitcore.frontend.builder import Builder
from jitcore.frontend.values import Abstract, Lazy, LoopIterator, RangeIterator, Scalar
from jitcore.guards import iterators
from jitcore.guards.guard import Alone, LoadRange
from jitcore.guards.sources import Source
from jitcore.ir.types import INT


class Adopted:
    """The iterators of one region's entry state; their numbers by source."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._numbers: dict[Source, tuple[Scalar, ...]] = {}

    def iterator(self, value: Lazy) -> Abstract:
        """The loop's iterator that ``value`` is; ``value`` if it is none, or others may have it."""
        found = self._find(value) if value.alone and value.forced is None else None
        return value if found is None else found

    def _find(self, value: Lazy) -> LoopIterator | None:
        assert value.source is not None
        if type(value.obj) is iterators.RANGE:
            return self._range(value.obj, value.source)
        return None

    def _range(self, obj: object, source: Source) -> LoopIterator | None:
        rest = iterators.rest_of_range(obj)
        if rest is None:
            return None
        down = rest.step < 0
        if source not in self._numbers:
            self.builder.guard(Alone(source))
            numbers = []
            for part, hint in enumerate((rest.start, rest.stop, rest.step)):
                self.builder.guard(LoadRange(source, part, down))
                numbers.append(Scalar(self.builder.graph.add_input(INT), None, hint))
            self._numbers[source] = tuple(numbers)
        start, stop, step = self._numbers[source]
        return RangeIterator(start, stop, step, down)
