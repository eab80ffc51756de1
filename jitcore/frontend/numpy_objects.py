"""Objects of NumPy's C classes that its Python code makes, asks and drops: array converters, broadcasts, iterators.

Job: what making one, its attributes and its methods mean.  Invariants: such an object never leaves the region (no exit
can build it); an iterator is known only as a way to a broadcast view; what a converter decides from types is asked of a
real one, made of samples.  Used by ``attributes``, ``calls`` and ``operations``.
"""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from jitcore.frontend.numpy_args import items_of
from jitcore.frontend.numpy_attrs import as_int
from jitcore.frontend.numpy_calls import rule
from jitcore.frontend.numpy_create import as_array, shape_argument
from jitcore.frontend.numpy_direct import sample_of, through
from jitcore.frontend.numpy_elementwise import element
from jitcore.frontend.numpy_shapes import lengths_of
from jitcore.frontend.numpy_views import make_view, strides_of
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.unseen import CObject
from jitcore.frontend.values import Abstract, Array, Known, NativeMethod, Sequence
from jitcore.ir.graph import Value

Args = list[Abstract]
Kwargs = dict[str, Abstract]
_multiarray_umath: Any = sys.modules["numpy._core._multiarray_umath"]
_CONVERTER: Any = _multiarray_umath._array_converter


@rule(_CONVERTER)
def _converter(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    if kwargs or not args:
        raise Unsupported("an array converter of nothing")
    samples = [sample_of(m, arg) for arg in args]
    return CObject(_CONVERTER, {"args": args, "arrays": [_converted(m, arg) for arg in args],
                                 "real": _CONVERTER(*samples)})


def _converted(m: Any, value: Abstract) -> Abstract:
    try:
        return as_array(m, value)
    except Unsupported:
        return through(m, _multiarray_umath.asarray, [value], {}, "a", view=True)


@rule(np.broadcast)
def _broadcast(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    lengths = lengths_of(m)
    if kwargs or not args:
        raise Unsupported("a broadcast of nothing")
    shape = lengths.broadcast([lengths.shape(as_array(m, arg)) for arg in args])
    return CObject(np.broadcast, {"shape": shape})


@rule(np.nditer)
def _nditer(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    """An iterator in C order over one array that is only read, of a larger shape."""
    operands = items_of(m, args[0]) if len(args) == 1 else None
    given = {name: _strings(m, value) for name, value in kwargs.items() if name != "itershape"}
    plain = set(given.pop("flags", ())) == {"multi_index", "refs_ok", "zerosize_ok"} and given == {
        "op_flags": ("readonly",), "order": "C"}
    if not plain or operands is None or len(operands) != 1 or not isinstance(operands[0], Array) or (
            "itershape" not in kwargs):
        raise Unsupported("an iterator over arrays")
    return CObject(np.nditer, {"array": operands[0], "shape": shape_argument(m, m.force(kwargs["itershape"]))})


def _strings(m: Any, value: Abstract) -> Any:
    items = items_of(m, value) if not isinstance(m.force(value), Known) else None
    if items is None:
        value = m.force(value)
        return value.obj if isinstance(value, Known) else None
    return tuple(item.obj if isinstance(item, Known) else None for item in items)


def get(m: Any, obj: CObject, name: str) -> Abstract:
    """``obj.name``."""
    if obj.kind == "broadcast" and name in ("shape", "ndim", "nd", "size"):
        shape = obj.parts["shape"]
        if name == "size":
            return as_int(m, lengths_of(m).product(shape))
        return Sequence("tuple", [as_int(m, n) for n in shape]) if name == "shape" else Known(len(shape))
    if obj.kind == "nditer" and name == "itviews":
        return Sequence("tuple", [broadcast_view(m, obj.parts["array"], obj.parts["shape"])])
    if obj.kind == "_array_converter":
        if name == "scalar_input":
            return Known(obj.parts["real"].scalar_input)
        if name in ("as_arrays", "result_type", "wrap"):
            return NativeMethod(obj, name)
    raise Unsupported(f"attribute {name} of a {obj.kind}")


def getitem(m: Any, obj: CObject, key: Abstract) -> Abstract:
    """``obj[key]``."""
    if obj.kind != "_array_converter":
        raise Unsupported(f"an item of a {obj.kind}")
    return obj.parts["arrays"][m.pin_index(key)]


def call(m: Any, obj: CObject, name: str, args: Args, kwargs: Kwargs) -> Abstract:
    """``obj.name(*args, **kwargs)``."""
    if name == "__exit__" and obj.kind == "nditer":
        return Known(None)
    if obj.kind != "_array_converter":
        raise Unsupported(f"method {name} of a {obj.kind}")
    real = obj.parts["real"]
    named = {key: m.known(value) for key, value in kwargs.items()}
    if name == "as_arrays" and not args:
        chosen = real.as_arrays(**named)
        arrays = [array if isinstance(one, np.ndarray) else arg
                  for one, array, arg in zip(chosen, obj.parts["arrays"], obj.parts["args"])]
        return Sequence("tuple", arrays)
    if name == "result_type" and len(args) <= 1:
        return Known(real.result_type(*map(m.known, args), **named))
    if name == "wrap" and len(args) == 1:
        value = m.force(args[0])
        wrapped = real.wrap(sample_of(m, value), **named)
        if isinstance(value, Array):
            return value if isinstance(wrapped, np.ndarray) else element(m, value)
        if not isinstance(wrapped, np.ndarray):
            return value
    raise Unsupported(f"method {name} of an array converter")


def broadcast_view(m: Any, array: Array, shape: tuple[Value, ...]) -> Array:
    """A view of ``array`` in a larger shape, which may not be written to; axes that are repeated, and those of length
    1, have a stride of 0."""
    lengths = lengths_of(m)
    before, steps = lengths.shape(array), strides_of(m, array)
    if len(before) > len(shape):
        raise Unsupported("a shape with fewer axes than the array")
    zero, one = lengths.const(0), lengths.const(1)
    strides = [zero] * (len(shape) - len(before))
    for have, want, step in zip(before, shape[len(strides):], steps):
        want = lengths.canonical(want)
        if have is not want and lengths.hint(have) == 1 and lengths.hint(want) != 1:
            lengths.require_equal(have, one)
            strides.append(zero)
            continue
        lengths.require_equal(have, want)
        several = lengths.idx("min", lengths.idx("satsub", have, one), one)     # 0 for a length of 0 or 1
        strides.append(lengths.idx("mul", several, step))
    return make_view(m, array, "broadcast", None, shape, strides, "A", readonly=True)
