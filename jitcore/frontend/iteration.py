"""Iteration: what loops go over, and how far they have come.

Job: ``items`` and ``iterate`` for things whose items are known one by one, which are unrolled; ``loop_iterator``,
``more``, ``take`` and ``advance`` for what a compiled loop goes over.  ``Indexable`` is the protocol of everything
that is iterated by index: a new kind of sequence registers itself, and ``for``, ``enumerate``, ``zip``,
``reversed``, ``iter``, ``next`` and unpacking know it.  Invariants: an iterator gives exactly what CPython's gives,
item by item, asking for the length each time; everything that may fail or give up comes before anything changes.
Used by the handlers and ``builtin_calls``.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from jitcore.frontend import python_ops
from jitcore.frontend.machine import MAX_TRIPS, Machine
from jitcore.frontend.numpy_index import element_at, item_at
from jitcore.frontend.numpy_shapes import lengths_of
from jitcore.frontend.objects import constant, known_range
from jitcore.frontend.protocol import Leaves, Raises, Unsupported
from jitcore.frontend.unseen import CObject
from jitcore.frontend.values import (
    Abstract,
    Array,
    Dict,
    Enumerate,
    FlatIterator,
    FoundSequence,
    Iterator,
    Known,
    LoopIterator,
    Range,
    RangeIterator,
    Scalar,
    Sequence,
    SequenceIterator,
    View,
    Zip,
)
from jitcore.guards.iterators import FAR
from jitcore.ir.graph import Value
from jitcore.ir.types import INT


class Indexable(ABC):
    """How a compiled loop goes over one kind of sequence.

    CPython's iterators over lists, tuples, bytes and sequences in general keep an index and ask for the length each
    time; so does ``SequenceIterator``, through this.  An exit makes the iterator again as ``iter(sequence)``, or
    ``reversed(sequence)``, put to the index (recipes ``iter_at`` and ``reversed_at``): the object must be one whose
    iterator CPython makes that way, and whose recipe the exit knows.
    """

    @abstractmethod
    def length(self, m: Machine, value: Abstract) -> Abstract:
        """How many items there are now: Known, or a weak int Scalar."""

    @abstractmethod
    def item(self, m: Machine, value: Abstract, index: Value) -> Abstract:
        """Item number ``index``, which is at least 0 and below the length.  It may emit checks and raise
        ``Unsupported``, and changes nothing."""

    def unrolls(self, m: Machine, value: Abstract) -> bool:
        """Whether a loop over it is rather unrolled: its items are few, and known one by one."""
        return False


_KINDS: dict[type[Abstract], Callable[[Machine, Abstract], Indexable | None]] = {}


def register(kind: type[Abstract], find: Callable[[Machine, Abstract], Indexable | None]) -> None:
    """``find`` gives the ``Indexable`` of abstract values of ``kind``; None for those that are not iterated so."""
    _KINDS[kind] = find


def indexable(m: Machine, value: Abstract) -> Indexable | None:
    """The protocol of a value that is iterated by index."""
    find = _KINDS.get(type(value))
    return None if find is None else find(m, value)


class _ArrayItems(Indexable):
    """Arrays: NumPy's scalars, or views."""

    def length(self, m: Machine, value: Abstract) -> Abstract:
        assert isinstance(value, Array)
        length = lengths_of(m).shape(value)[0]
        return Scalar(length, None, value.hint[0])

    def item(self, m: Machine, value: Abstract, index: Value) -> Abstract:
        assert isinstance(value, Array)
        return item_at(m, value, index)


_ARRAYS = _ArrayItems()


def _array_items(m: Machine, value: Abstract) -> Indexable | None:
    if isinstance(value, Array) and not value.shape:
        raise Unsupported("iteration over an array without axes")
    return _ARRAYS


register(Array, _array_items)


# -- compiled loops -----------------------------------------------------------------------------------
def goes_down(step: Abstract) -> bool:
    """Whether a range's step is negative; for a run-time value a guess, to be checked."""
    number = step.obj if isinstance(step, Known) else step.hint if isinstance(step, Scalar) else None
    return type(number) is int and number < 0


def require(m: Machine, op: str, value: Abstract, bound: Abstract) -> None:
    """A check that an int compares with ``bound``."""
    found = python_ops.compare(m, op, value, bound)
    m.builder.emit_check("check", (m.builder.as_value(found),))


def require_near(m: Machine, value: Abstract) -> None:
    """A check that nothing overflows where ``value`` is counted."""
    if isinstance(value, Known):
        if type(value.obj) not in (int, bool) or not -FAR <= value.obj <= FAR:  # type: ignore[operator]
            raise Leaves("a loop that counts very large numbers")
    elif not lengths_of(m).is_length(m.builder.as_value(value)):
        for op, bound in (("ge", -FAR), ("le", FAR)):
            require(m, op, value, Known(bound))


def range_iterator(m: Machine, value: Range) -> RangeIterator:
    """``iter()`` of a range, with numbers that stay far from overflow."""
    start, stop, step = (m.force(part) for part in (value.start, value.stop, value.step))
    for part in (start, stop, step):
        require_near(m, part)
    down = goes_down(step)
    if isinstance(step, Scalar):
        require(m, "lt" if down else "gt", step, Known(0))
    return RangeIterator(start, stop, step, down)


def loop_iterator(m: Machine, value: Abstract) -> LoopIterator | None:
    """``iter(value)`` for what a compiled loop can go over, None for other objects."""
    value = m.force(value)
    if isinstance(value, LoopIterator):
        return value
    if isinstance(value, Range):
        return range_iterator(m, value)
    return SequenceIterator(value, Known(0), False) if indexable(m, value) is not None else None


def reversed_iterator(m: Machine, value: Abstract) -> LoopIterator:
    """``reversed(value)`` for what a compiled loop can go over."""
    value = m.force(value)
    if isinstance(value, Range):
        return _reversed_range(m, range_iterator(m, value))
    found = indexable(m, value)
    if found is None:
        raise Unsupported("reversed() of an object")
    length = m.builder.as_value(found.length(m, value))
    return SequenceIterator(value, Scalar(lengths_of(m).idx("sub", length, lengths_of(m).const(1))), True)


def _reversed_range(m: Machine, it: RangeIterator) -> RangeIterator:
    """The numbers of a range, last first: down to the first one."""
    lengths = lengths_of(m)
    start, stop, step = (m.builder.as_value(part) for part in (it.position, it.stop, it.step))
    one, zero = lengths.const(1), lengths.const(0)
    size = lengths.idx("sub", zero, step) if it.down else step
    span = lengths.idx("satsub", start, stop) if it.down else lengths.idx("satsub", stop, start)
    trips = lengths.idx("floordiv", lengths.idx("add", span, lengths.idx("sub", size, one)), size)
    back = lengths.idx("sub", zero, step)
    last = lengths.idx("add", start, lengths.idx("mul", lengths.idx("sub", trips, one), step))
    return RangeIterator(Scalar(last), Scalar(lengths.idx("add", start, back)), Scalar(back), not it.down)


def is_runtime(m: Machine, value: Abstract) -> bool:
    """Whether iterating ``value`` takes a compiled loop."""
    value = m.force(value)
    if isinstance(value, LoopIterator):
        return True
    if isinstance(value, Range):
        try:
            return len(known_range(value)) > MAX_TRIPS
        except Unsupported:
            return True
    found = indexable(m, value)
    return found is not None and not found.unrolls(m, value)


def _indexed(m: Machine, iterator: SequenceIterator) -> Indexable:
    found = indexable(m, iterator.over)
    assert found is not None
    return found


def more(m: Machine, iterator: LoopIterator) -> Abstract:
    """Whether the iterator has another item: Known, or a weak bool Scalar."""
    if isinstance(iterator, RangeIterator):
        return python_ops.compare(m, "gt" if iterator.down else "lt", iterator.position, iterator.stop)
    if isinstance(iterator, Enumerate):
        return more(m, iterator.over)
    if isinstance(iterator, Zip):
        return _all_more(m, iterator)
    if isinstance(iterator, FlatIterator):
        lengths = lengths_of(m)
        return python_ops.compare(m, "lt", iterator.position, Scalar(lengths.product(lengths.shape(iterator.over))))
    assert isinstance(iterator, SequenceIterator)
    below = python_ops.compare(m, "lt", iterator.position, _indexed(m, iterator).length(m, iterator.over))
    if not iterator.down:
        return below
    return _both(m, python_ops.compare(m, "ge", iterator.position, Known(0)), below)


def _both(m: Machine, a: Abstract, b: Abstract) -> Abstract:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Known):
            return other if one.obj else one
    return python_ops.apply(m, "and", a, b)


def _all_more(m: Machine, iterator: Zip) -> Abstract:
    """All of a zip's iterators have another item.  If it is strict, either all or none must: else CPython raises."""
    found = [more(m, part) for part in iterator.parts]
    if iterator.strict:
        for other in found[1:]:
            same = python_ops.compare(m, "eq", found[0], other)
            m.builder.emit_check("check", (m.builder.as_value(same),))
        return found[0]
    every = found[0]
    for other in found[1:]:
        every = _both(m, every, other)
    return every


def take(m: Machine, iterator: LoopIterator) -> Abstract:
    """The next item of an iterator that has one.  Nothing changes until ``advance``."""
    if isinstance(iterator, RangeIterator):
        return iterator.position
    if isinstance(iterator, Enumerate):
        return Sequence("tuple", [iterator.position, take(m, iterator.over)])
    if isinstance(iterator, Zip):
        return Sequence("tuple", [take(m, part) for part in iterator.parts])
    if isinstance(iterator, FlatIterator):
        return element_at(m, iterator.over, m.builder.as_value(iterator.position))
    assert isinstance(iterator, SequenceIterator)
    return _indexed(m, iterator).item(m, iterator.over, m.builder.as_value(iterator.position))


def advance(m: Machine, iterator: LoopIterator) -> None:
    """The iterator goes on behind the item that ``take`` gave."""
    if isinstance(iterator, Zip):
        for part in iterator.parts:
            advance(m, part)
        return
    if isinstance(iterator, Enumerate):
        advance(m, iterator.over)
    assert isinstance(iterator, (RangeIterator, Enumerate, FlatIterator, SequenceIterator))
    step: Abstract = Known(1)
    if isinstance(iterator, RangeIterator):
        step = iterator.step
    elif isinstance(iterator, SequenceIterator) and iterator.down:
        step = Known(-1)
    parts = tuple(m.builder.as_value(part) for part in (iterator.position, step))
    iterator.position = Scalar(m.builder.emit("idx", parts, INT, fn="add"))


# -- things whose items are known one by one ------------------------------------------------------------
def items(m: Machine, value: Abstract, limit: int = MAX_TRIPS) -> tuple[list[Abstract], bool]:
    """The items that iterating ``value`` gives from now on, and whether nothing can change them.  An iterator
    is used up."""
    value = m.force(value)
    found, fixed = _items(m, value, limit)
    if len(found) > limit:
        raise Unsupported(f"a loop of more than {limit} trips")
    if isinstance(value, Iterator):
        value.position += len(found)
    return found, fixed


def _items(m: Machine, value: Abstract, limit: int) -> tuple[list[Abstract], bool]:
    if isinstance(value, FoundSequence) and len(value.obj) > limit:
        raise Unsupported(f"a loop of more than {limit} trips")
    if isinstance(value, Sequence):
        return list(value.items), value.kind == "tuple"
    if isinstance(value, Iterator):
        return upcoming(value), value.fixed
    if isinstance(value, CObject) and "arrays" in value.parts:
        return list(value.parts["arrays"]), True
    if isinstance(value, Dict):
        return [Known(key) for key in value.items], False
    if isinstance(value, View):
        return _view(value), False
    if isinstance(value, Range):
        found = known_range(value)
        if len(found) > limit:
            raise Unsupported(f"a loop of more than {limit} trips")
        return [Known(i) for i in found], True
    if isinstance(value, Known) and type(value.obj) in (tuple, str, bytes):
        return [constant(m, item) for item in value.obj], True  # type: ignore[attr-defined]
    if isinstance(value, Scalar) or (isinstance(value, Known) and type(value.obj) in (int, float, bool, type(None))):
        raise Raises(TypeError, "iteration over a number")
    raise Unsupported("a loop on run-time values")


def unpacked(m: Machine, value: Abstract, count: int) -> list[Abstract] | None:
    """The ``count`` items of a sequence whose length is read while the region runs; None for others.  The interpreter
    decides where there are not as many."""
    found = None if isinstance(value, FoundSequence) else indexable(m, value)
    if found is None or found.unrolls(m, value):
        return None
    length = m.builder.as_value(found.length(m, value))
    lengths_of(m).require_equal(length, lengths_of(m).const(count))
    return [found.item(m, value, lengths_of(m).const(k)) for k in range(count)]


def iterate(m: Machine, value: Abstract) -> Iterator | LoopIterator:
    """``iter(value)``."""
    value = m.force(value)
    if isinstance(value, Iterator):
        return value
    if is_runtime(m, value) and (loop := loop_iterator(m, value)) is not None:
        return loop
    found, fixed = items(m, value)
    iterator = Iterator(found, value, fixed)
    m.made(iterator)
    return iterator


def upcoming(iterator: Iterator) -> list[Abstract]:
    """What an iterator still gives.  A list is seen as it is now; a dict must not have changed."""
    over = iterator.over
    if isinstance(over, Sequence):
        return over.items[iterator.position:]
    source = over.over if isinstance(over, View) else over
    if isinstance(source, Dict) and len(source.items) != len(iterator.items):
        raise Unsupported("a dict that changed while it was iterated")
    return iterator.items[iterator.position:]


def _view(view: View) -> list[Abstract]:
    if view.what == "keys":
        return [Known(key) for key in view.over.items]
    if view.what == "values":
        return list(view.over.items.values())
    return [Sequence("tuple", [Known(key), value]) for key, value in view.over.items.items()]
