"""Iteration over things of statically known length.

Job: ``items`` and ``iterate``.  Invariants: only objects whose items are known one by one are iterated; anything
else raises ``Unsupported``, and the loop is left at its header.  Used by the handlers and ``builtin_calls``.
"""
from __future__ import annotations

from jitcore.frontend.machine import MAX_TRIPS, Machine
from jitcore.frontend.objects import constant, known_range
from jitcore.frontend.protocol import Raises, Unsupported
from jitcore.frontend.values import Abstract, Dict, Iterator, Known, Range, Scalar, Sequence, View


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
    if isinstance(value, Sequence):
        return list(value.items), value.kind == "tuple"
    if isinstance(value, Iterator):
        return upcoming(value), value.fixed
    if isinstance(value, Dict):
        return [Known(key) for key in value.items], False
    if isinstance(value, View):
        return _view(value), False
    if isinstance(value, Range):
        found = known_range(value)
        if len(found) > limit:
            raise Unsupported(f"a loop of more than {limit} trips")
        return [Known(i) for i in found], True
    if isinstance(value, Known) and type(value.obj) in (tuple, str):
        return [constant(m, item) for item in value.obj], True  # type: ignore[attr-defined]
    if isinstance(value, Scalar) or (isinstance(value, Known) and type(value.obj) in (int, float, bool, type(None))):
        raise Raises(TypeError, "iteration over a number")
    raise Unsupported("a loop on run-time values")


def iterate(m: Machine, value: Abstract) -> Iterator:
    """``iter(value)``."""
    value = m.force(value)
    if isinstance(value, Iterator):
        return value
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
