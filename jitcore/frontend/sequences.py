"""Python's own sequences whose items are read while the region runs: lists and tuples of numbers, and bytes.

Job: their ``Indexable`` protocols, and ``length`` and ``item`` for ``len()`` and subscripts.  Invariants: a list or
tuple is an input whose items were numbers of one type when it was looked at; each item is checked as it is read, and
one of another type is left to the interpreter.  Nothing changes such a list while a region runs.  Used by
``operations`` and ``builtin_calls``; importing it registers the kinds with ``iteration``.
"""
from __future__ import annotations

from jitcore.frontend.iteration import Indexable, indexable, register
from jitcore.frontend.machine import MAX_TRIPS, Machine
from jitcore.frontend.numpy_index import is_int, wrapped
from jitcore.frontend.numpy_shapes import lengths_of
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, FoundSequence, Known, Opaque, Scalar, is_number
from jitcore.guards.guard import TypeIs
from jitcore.guards.sources import Item
from jitcore.ir.graph import Value
from jitcore.ir.types import INT, OBJECT, ScalarType, parse_type, strong

FEW = 8     # items of a tuple that is unrolled


class _Objects(Indexable):
    """Items that are objects: of lists and tuples."""

    def __init__(self, kind: type) -> None:
        found = parse_type(kind.__name__) if kind in (bool, int, float, complex) else strong(kind)
        assert isinstance(found, ScalarType)
        self.type = found

    def length(self, m: Machine, value: Abstract) -> Abstract:
        return _count(m, value)

    def item(self, m: Machine, value: Abstract, index: Value) -> Abstract:
        of = value.kind if isinstance(value, FoundSequence) else "tuple"
        found = m.builder.emit("item", (_pointer(m, value), index), OBJECT, of=of)
        return Scalar(m.builder.emit("number", (found,), self.type, exit=m.builder.failing()), None, None, found)

    def unrolls(self, m: Machine, value: Abstract) -> bool:
        obj = value.obj  # type: ignore[attr-defined]
        return len(obj) <= (MAX_TRIPS if m.frame.constant_globals or isinstance(value, Known) else
                            FEW if type(obj) is tuple else 0)


class _Bytes(Indexable):
    """Bytes: small ints."""

    def length(self, m: Machine, value: Abstract) -> Abstract:
        return _count(m, value)

    def item(self, m: Machine, value: Abstract, index: Value) -> Abstract:
        return Scalar(m.builder.emit("byte", (_pointer(m, value), index), INT))

    def unrolls(self, m: Machine, value: Abstract) -> bool:
        return isinstance(value, Known) and len(value.obj) <= MAX_TRIPS  # type: ignore[arg-type]


def _pointer(m: Machine, value: Abstract) -> Value:
    """The object in the graph."""
    if isinstance(value, Known):
        return m.builder.emit("object", (), OBJECT, index=m.builder.graph.add_object(value.obj))
    if isinstance(value, Opaque):
        return m.builder.object_input(value)
    assert value.source is not None
    return m.builder.object_at(value.source)


def _count(m: Machine, value: Abstract) -> Abstract:
    obj = getattr(value, "obj", None)
    if isinstance(value, Known):
        return Known(len(obj))  # type: ignore[arg-type]
    found = m.builder.emit("count", (_pointer(m, value),), INT)
    hint = len(obj) if isinstance(obj, (list, tuple, bytes)) else None
    lengths_of(m).note(found, hint)
    lengths_of(m).assume_length(found)
    return Scalar(found, None, hint)


_BYTES = _Bytes()


def _found(m: Machine, value: Abstract) -> Indexable | None:
    assert isinstance(value, FoundSequence) and value.source is not None
    if value.number is None:
        return None
    m.guard(TypeIs(Item(value.source, 0), value.number))        # others have a region of their own
    return _Objects(value.number)


def _known(m: Machine, value: Abstract) -> Indexable | None:
    assert isinstance(value, Known)
    if type(value.obj) is bytes:
        return _BYTES
    if type(value.obj) is tuple and value.obj and is_number(value.obj[0]) and len(set(map(type, value.obj))) == 1:
        return _Objects(type(value.obj[0]))
    return None


def _opaque(m: Machine, value: Abstract) -> Indexable | None:
    assert isinstance(value, Opaque)
    return _BYTES if value.type is bytes else None


register(FoundSequence, _found)
register(Known, _known)
register(Opaque, _opaque)


# -- len() and subscripts -------------------------------------------------------------------------------
def _runtime(m: Machine, value: Abstract) -> Indexable | None:
    """The protocol of a sequence that is not rather known item by item."""
    found = indexable(m, value) if isinstance(value, (FoundSequence, Opaque)) else None
    return None if found is None or found.unrolls(m, value) else found


def length(m: Machine, value: Abstract) -> Abstract | None:
    """``len(value)`` where that is read while the region runs; None for other objects."""
    found = _runtime(m, value)
    return None if found is None else found.length(m, value)


def item(m: Machine, value: Abstract, key: Abstract) -> Abstract | None:
    """``value[key]`` for an int, where that is read while the region runs; None in other cases."""
    if not is_int(key):
        return None
    found = _runtime(m, value)
    if found is None and isinstance(key, Scalar) and key.source is None and isinstance(value, (FoundSequence, Known)):
        found = indexable(m, value)         # a computed index: the item cannot be known one by one
    if found is None:
        return None
    size = found.length(m, value)
    result = found.item(m, value, wrapped(m, key, m.builder.as_value(size)))
    assert isinstance(result, Scalar)
    hint = getattr(key, "obj", None) if isinstance(key, Known) else getattr(key, "hint", None)
    obj = getattr(value, "obj", None)
    if hint is not None and isinstance(obj, (list, tuple, bytes)):
        if not -len(obj) <= hint < len(obj):
            raise Unsupported("an index out of range")
        result.hint = obj[int(hint)]
    return result
