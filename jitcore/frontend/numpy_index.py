"""Subscripts of arrays: basic indexing as views and loads.

Job: ``getitem`` and ``setitem`` for integers, slices, ``...`` and ``None``; stores through masks.
Invariants: clamping is that of ``slice.indices``; an integer out of range exits, so NumPy raises; lengths are canonical
(``x[1:]`` and ``x[:-1]`` have the same length value).  Other masks, integer arrays and anything else raise
``Unsupported``.  Called by the machine's handlers.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jitcore.frontend import numpy_direct
from jitcore.frontend.numpy_args import items_of, known_int
from jitcore.frontend.numpy_elementwise import as_dtype, as_item, element, emit, type_of
from jitcore.frontend.numpy_shapes import lengths_of, new_array
from jitcore.frontend.numpy_store import store_number, update
from jitcore.frontend.numpy_views import make_view, reshape, strides_of
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Array, FlatIterator, Known, Scalar, Slice, is_free
from jitcore.ir.graph import Value
from jitcore.ir.types import BOOL, INT, strong
from jitcore.ir.types import array as array_type
from jitcore.ops.table import OPS


@dataclass
class Part:
    """One item of an index: ``kind`` is 'int', 'slice', 'full' or 'new'."""

    kind: str
    value: Abstract | None = None


def parts_of(m: Any, array: Array, index: Abstract) -> tuple[list[Part], bool]:
    """The parts, one for each axis and each ``None``, and whether ``...`` was there."""
    index = m.force(index)
    items = items_of(m, index)
    if items is None:
        items = [index]
    elif not (isinstance(index, Known) or getattr(index, "kind", "") == "tuple"):
        raise Unsupported("an index that is a list")
    parts: list[Part] = []
    dots: int | None = None
    for item in items:
        if isinstance(item, Slice):
            parts.append(Part("slice", item))
        elif isinstance(item, Known) and item.obj is None:
            parts.append(Part("new"))
        elif isinstance(item, Known) and item.obj is Ellipsis:
            if dots is not None:
                raise Unsupported("an index with two ellipses")
            dots = len(parts)
        elif isinstance(item, Known) and type(item.obj) is slice:
            parts.append(Part("slice", Slice(Known(item.obj.start), Known(item.obj.stop), Known(item.obj.step))))
        elif is_int(item):
            parts.append(Part("int", item))
        else:
            raise Unsupported("an index that is no integer, slice, None or ...")
    missing = array.type.ndim - sum(part.kind != "new" for part in parts)
    if missing < 0:
        raise Unsupported("too many indices")
    at = len(parts) if dots is None else dots
    parts[at:at] = [Part("full")] * missing
    return parts, dots is not None


def is_int(value: Abstract) -> bool:
    """An exact int, or a NumPy integer scalar that fits one."""
    if isinstance(value, Known):
        return type(value.obj) is int or (isinstance(value.obj, np.integer) and value.obj.dtype.kind in "iu")
    return isinstance(value, Scalar) and value.type.dtype.kind in "iu" and value.type.dtype.char not in "LQ"


def int_value(m: Any, value: Abstract) -> Value:
    """The graph value of an integer, weak."""
    if isinstance(value, Known):
        return lengths_of(m).const(int(value.obj))  # type: ignore[call-overload]
    assert isinstance(value, Scalar)
    number = value.value if value.type.weak else m.builder.emit("unbox", (value.value,), INT)
    if type(value.hint) is int or isinstance(value.hint, np.integer):
        lengths_of(m).note(number, int(value.hint))
    return number


def wrapped(m: Any, value: Abstract, length: Value) -> Value:
    """An index counted from the front; exits where it is out of range."""
    index = int_value(m, value)
    lengths = lengths_of(m)
    i, n = lengths.hint(index), lengths.hint(length)
    if i is not None and n is not None and not -n <= i < n:
        raise Unsupported("an index out of range")
    i, n = lengths.number(index), lengths.number(length)
    if i is not None and n is not None:
        return lengths.const(i % n)
    return lengths.wrap(index, length)


# -- slices -----------------------------------------------------------------------------------------
def _bound(m: Any, value: Abstract, length: Value, default: Value) -> Value:
    """A bound of a slice with a positive step, clamped to 0 .. length."""
    value = m.force(value)
    if isinstance(value, Known) and value.obj is None:
        return default
    if not is_int(value):
        raise Unsupported("a slice with a bound that is no integer")
    lengths = lengths_of(m)
    index = int_value(m, value)
    number = lengths.number(index)
    if number is not None:
        if number >= 0:
            return lengths.idx("min", length, index)
        return lengths.idx("satsub", length, lengths.const(-number))
    if lengths.is_length(index):
        return lengths.idx("min", index, length)
    # Inside -length .. length first, so that nothing overflows; then length is added once if negative.
    low = lengths.idx("sub", lengths.const(0), length)
    inside = lengths.idx("max", lengths.idx("min", index, length), low)
    negative = lengths.idx("min", lengths.idx("satsub", lengths.const(0), inside), lengths.const(1))
    return lengths.idx("add", inside, lengths.idx("mul", negative, length))


def _down_bound(m: Any, value: Abstract, length: Value, default: Value) -> Value:
    """A known bound of a slice with a negative step, clamped to -1 .. length - 1."""
    value = m.force(value)
    if isinstance(value, Known) and value.obj is None:
        return default
    number = known_int(m, value, "a bound of a slice with a negative step")
    lengths = lengths_of(m)
    if number >= 0:
        return lengths.idx("min", lengths.idx("sub", length, lengths.const(1)), lengths.const(number))
    return lengths.idx("sub", lengths.idx("satsub", length, lengths.const(-number - 1)), lengths.const(1))


def sliced(m: Any, part: Slice, length: Value) -> tuple[Value, Value, int]:
    """Start, number of items and step of a slice of an axis."""
    lengths = lengths_of(m)
    step_value = m.force(part.step)
    step = 1 if isinstance(step_value, Known) and step_value.obj is None else known_int(m, step_value, "a step")
    if step == 0 or not -2**31 < step < 2**31:
        raise Unsupported("a slice step of zero, or a very long one")
    if step > 0:
        start = _bound(m, part.start, length, lengths.const(0))
        stop = _bound(m, part.stop, length, length)
        span = lengths.idx("satsub", stop, start)
    else:
        last = lengths.idx("sub", length, lengths.const(1))
        start = _down_bound(m, part.start, length, last)
        stop = _down_bound(m, part.stop, length, lengths.const(-1))
        if start is last and lengths.number(stop) == -1:
            span = length
        else:
            span = lengths.idx("satsub", start, stop)
    size = abs(step)
    if size != 1:
        span = lengths.idx("floordiv", lengths.idx("add", span, lengths.const(size - 1)), lengths.const(size))
    return start, span, step


# -- reading ------------------------------------------------------------------------------------------
def getitem(m: Any, array: Abstract, index: Abstract) -> Abstract:
    """``array[index]``: a view, or a NumPy scalar where every axis has an integer."""
    array = m.force(array)
    if not isinstance(array, Array):
        raise Unsupported("an item of a scalar")
    type_of(array)
    if is_advanced(m, index):
        return numpy_direct.through(m, np.ndarray.__getitem__, [array, index], {}, "self index",
                                     by_values=_has_mask(m, index))
    parts, dots = parts_of(m, array, index)
    if not dots and all(part.kind == "int" for part in parts):
        before = lengths_of(m).shape(array)
        at = [wrapped(m, part.value, length) for part, length in zip(parts, before) if part.value is not None]
        return Scalar(m.builder.emit("load", (array.value, *at), strong(array.type.dtype)))
    return _view(m, array, parts, True)


def _has_mask(m: Any, index: Abstract) -> bool:
    index = m.force(index)
    items = items_of(m, index) if getattr(index, "kind", "") == "tuple" else [index]
    return any(isinstance(item, Array) and item.type.dtype.kind == "b" for item in items or ())


def is_advanced(m: Any, index: Abstract) -> bool:
    """Whether an index has an array, or a list of numbers: what it chooses is copied."""
    index = m.force(index)
    items = items_of(m, index) if getattr(index, "kind", "") == "tuple" else [index]
    return any(isinstance(item, Array) or getattr(item, "kind", "") == "list" for item in items or ())


def _flat(m: Any, over: FlatIterator) -> Array:
    """A view of all elements one behind another, where there is one."""
    array = m.force(over.over)
    if not (isinstance(array, Array) and isinstance(over.position, Known) and over.position.obj == 0):
        raise Unsupported("an item of an iterator over an array")
    return reshape(m, array, [Known(-1)])


def _stepped(m: Any, flat: Array, index: Slice) -> Array:
    """A view of an array with one C-ordered axis by a slice whose step is found at run time; it must be positive."""
    lengths = lengths_of(m)
    (length,), size = lengths.shape(flat), flat.type.dtype.itemsize
    step = m.builder.as_value(m.force(index.step))
    ok = m.builder.emit("py", (step, lengths.const(0)), BOOL, fn="gt")
    m.builder.emit_check("check", (ok,))
    start, span, _ = sliced(m, Slice(index.start, index.stop, Known(None)), length)
    count = lengths.idx("floordiv", lengths.idx("add", span, lengths.idx("sub", step, lengths.const(1))), step)
    return make_view(m, flat, "slice", "::n", [count], [lengths.idx("mul", step, lengths.const(size))], "A",
                     lengths.idx("mul", start, lengths.const(size)))


def _flat_index(m: Any, index: Abstract, stored: bool) -> Abstract:
    """An index of a flat iterator: a number, a slice, an array of numbers or of truth values; of the forms that arrays
    have beside these, ``...`` and ``()`` are everything where they are read."""
    index = m.force(index)
    items = items_of(m, index) if getattr(index, "kind", "") in ("tuple", "list") else None
    if items is not None and len(items) == 1 and getattr(index, "kind", "") == "tuple":
        return _flat_index(m, items[0], stored)
    if isinstance(index, Array):
        known = index.type.ndim > 0 or type_of(index).dtype.kind != "b"
    elif items is not None:
        known = bool(items) if getattr(index, "kind", "") == "list" else not (items or stored)
    elif isinstance(index, Known):
        known = not stored if index.obj is ... else (
            isinstance(index.obj, (int, np.integer)) and type(index.obj) is not bool)
    else:
        known = isinstance(index, Slice) or (isinstance(index, Scalar) and index.type.dtype.kind in "iu")
    if not known:
        raise Unsupported("an index of an iterator over an array")
    return index


def flat_item(m: Any, over: FlatIterator, index: Abstract) -> Abstract:
    """``array.flat[index]``: a number, or a copy."""
    found = getitem(m, _flat(m, over), _flat_index(m, index, False))
    if not isinstance(found, Array):
        return found
    return new_array(m, m.builder.emit("copy", (found.value,), array_type(found.type.dtype, found.type.ndim),
                                       shape=found.shape, order="C"))


def set_flat_item(m: Any, over: FlatIterator, index: Abstract, value: Abstract) -> None:
    """``array.flat[index] = value``; an array must have as many elements as there are places."""
    flat, index = _flat(m, over), _flat_index(m, index, True)
    if is_advanced(m, index):
        if isinstance(value, Array) and value.type.ndim:
            if not isinstance(index, Array) or index.type.ndim != 1 or type_of(index).dtype.kind == "b":
                raise Unsupported("a store of an array into an iterator over an array")
            lengths_of(m).require_equal(lengths_of(m).shape(value)[0], lengths_of(m).shape(index)[0])
    elif isinstance(index, Slice) and isinstance(m.force(index.step), Scalar):
        flat, index = _stepped(m, flat, index), Slice(Known(None), Known(None), Known(None))
        if isinstance(value, Array) and value.type.ndim:
            lengths_of(m).require_equal(lengths_of(m).shape(value)[0], flat.shape[0])
    elif isinstance(value, Array) and value.type.ndim:
        parts, _ = parts_of(m, flat, index)
        if len(parts) != 1 or not isinstance(parts[0].value, Slice) or value.type.ndim != 1:
            raise Unsupported("a store of an array into an iterator over an array")
        span = sliced(m, parts[0].value, lengths_of(m).shape(flat)[0])[1]
        lengths_of(m).require_equal(lengths_of(m).shape(value)[0], span)
    setitem(m, flat, index, value)


def _view(m: Any, array: Array, parts: list[Part], kept: bool) -> Array:
    """The view that an index gives.  ``kept``: others may keep it; else it is for the present instruction only."""
    lengths = lengths_of(m)
    before, old = lengths.shape(array), strides_of(m, array)
    shape: list[Value] = []
    strides: list[Value] = []
    offset = lengths.const(0)
    axis = 0
    steps: list[tuple[str, bool]] = []          # what happened to each axis: kind, and whether without gaps
    for part in parts:
        if part.kind == "new":
            shape.append(lengths.const(1))
            strides.append(lengths.const(0))
            continue
        length, stride = before[axis], old[axis]
        axis += 1
        if part.kind == "full":
            shape.append(length)
            strides.append(stride)
            steps.append(("full", True))
        elif part.kind == "int":
            assert part.value is not None
            offset = lengths.idx("add", offset, lengths.idx("mul", wrapped(m, part.value, length), stride))
            steps.append(("int", True))
        else:
            assert isinstance(part.value, Slice)
            start, count, step = sliced(m, part.value, length)
            whole = count is length and step == 1
            offset = lengths.idx("add", offset, lengths.idx("mul", start, stride))
            shape.append(count)
            strides.append(stride if step == 1 else lengths.idx("mul", stride, lengths.const(step)))
            steps.append(("full" if whole else "slice", step == 1))
    return make_view(m, array, "slice", _shown(parts), shape, strides, _layout(array, steps, len(shape)), offset, kept)


def item_at(m: Any, array: Array, index: Value) -> Abstract:
    """``array[index]`` for an index that is known to be in range."""
    type_of(array)
    lengths = lengths_of(m)
    if array.type.ndim == 1:
        return Scalar(m.builder.emit("load", (array.value, index), strong(array.type.dtype)))
    shape, strides = lengths.shape(array)[1:], strides_of(m, array)
    steps = [("int", True), *[("full", True)] * len(shape)]
    return make_view(m, array, "slice", ",".join("i" + ":" * len(shape)), shape, strides[1:],
                     _layout(array, steps, len(shape)), lengths.idx("mul", index, strides[0]))


def element_at(m: Any, array: Array, number: Value) -> Abstract:
    """``array.flat[number]`` for a number that is known to be in range."""
    type_of(array)
    lengths = lengths_of(m)
    at: list[Value] = []
    for length in reversed(lengths.shape(array)[1:]):
        rows = lengths.idx("floordiv", number, length)
        at.append(lengths.idx("sub", number, lengths.idx("mul", rows, length)))
        number = rows
    at = [number, *at[::-1]] if array.type.ndim else []
    return Scalar(m.builder.emit("load", (array.value, *at), strong(array.type.dtype)))


def _layout(array: Array, steps: list[tuple[str, bool]], ndim: int) -> str:
    """Integers first, then one slice without gaps, then whole axes keep an array C-contiguous (F: reversed)."""
    if array.type.layout == "A":
        return "A"
    order = steps if array.type.layout == "C" else steps[::-1]
    kinds = [kind for kind, _ in order]
    first = next((k for k, kind in enumerate(kinds) if kind != "int"), len(kinds))
    if any(kind != "full" for kind in kinds[first + 1:]) or not all(dense for _, dense in order):
        return "A"
    if ndim <= 1:
        return "C"
    return array.type.layout if array.type.layout == "C" or len(kinds) - first == ndim else "A"


def _shown(parts: list[Part]) -> str:
    """The index in short, for readers of the graph."""
    return ",".join({"full": ":", "new": "None", "int": "i", "slice": "a:b"}[part.kind] for part in parts)


# -- writing ------------------------------------------------------------------------------------------
def setitem(m: Any, array: Abstract, index: Abstract, value: Abstract) -> None:
    """``array[index] = value`` for integers, slices, ``...``, ``None``, and a mask of the array's shape."""
    array, index, value = m.force(array), m.force(index), m.force(value)
    if not isinstance(array, Array):
        raise Unsupported("an item of a scalar")
    kind, given = type_of(array), type_of(value)
    if isinstance(index, Array) and type_of(index).dtype.kind == "b" and index.type.ndim == array.type.ndim:
        if not isinstance(value, Array) or value.type.ndim == 0:
            _set_masked(m, array, index, value)
            return
    if is_advanced(m, index):
        if m.depth == 1 and not is_free(array):     # a call of NumPy's touches the elements that are meant, no others
            raise Unsupported("a store by an array of indices")
        numpy_direct.changed(m, np.ndarray.__setitem__, 0, [array, index, value], {}, "self index value", True)
        return
    parts, dots = parts_of(m, array, index)
    if not dots and all(part.kind == "int" for part in parts):
        if isinstance(value, Array):
            raise Unsupported("an array stored into an element")
        at = [wrapped(m, part.value, length) for part, length in zip(parts, lengths_of(m).shape(array))
              if part.value is not None]
        store_number(m, array, as_item(m, value, kind.dtype), tuple(at))
        return
    shape = lengths_of(m).shape(array)
    whole = all(part.kind == "full" or (isinstance(part.value, Slice) and
                                        sliced(m, part.value, length)[1:] == (length, 1))
                for part, length in zip(parts, shape))
    target = array if whole and len(parts) == len(shape) else _view(m, array, parts, False)
    if not isinstance(value, Array):
        update(m, target, as_item(m, value, kind.dtype), "unsafe")
        return
    lengths_of(m).shape(value)                  # notes the hints
    source = value.value
    if is_free(target) and given.dtype == kind.dtype:       # the value becomes the content: not that of both
        source = m.builder.emit("copy", (source,), value.type, shape=source.shape, order="K")
    update(m, target, source, "unsafe")


def _set_masked(m: Any, array: Array, mask: Array, value: Abstract) -> None:
    """``array[mask] = number``: every element is written, those outside the mask as they were."""
    kind = type_of(array)
    lengths = lengths_of(m)
    for a, b in zip(lengths.shape(mask), lengths.shape(array)):
        lengths.require_equal(a, b)
    char = kind.dtype.char
    chosen = emit(m, OPS["where"], f"?{char}{char}->{char}",
                  (mask.value, as_dtype(m, element(m, value), kind.dtype), array.value), lengths.shape(array))
    update(m, array, chosen)
