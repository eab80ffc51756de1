"""Making arrays: ``empty`` and its kin, ``asarray``, ``arange``, ``where``, ``copyto``.

Job: NumPy's C functions that make arrays from shapes, numbers and arrays.  Invariants: as NumPy, ``asarray`` of an
array that fits is the array itself; new arrays are values without identity elsewhere; ``empty`` is filled with
zeros, one of the contents that it may have.  Used by ``numpy_calls``.
"""
from __future__ import annotations

from functools import reduce as fold_left
from typing import Any

import numpy as np

from jitcore.frontend import list_makers
from jitcore.frontend.numpy_args import bind, is_absent, is_const, items_of, known_int, require_const
from jitcore.frontend.numpy_elementwise import apply, as_dtype, as_item, cast, element, is_array_like, type_of, wrap
from jitcore.frontend.numpy_methods import converted, copied, order_of
from jitcore.frontend.numpy_ops import known_dtype
from jitcore.frontend.numpy_shapes import all_equal, lengths_of, new_array
from jitcore.frontend.numpy_store import update
from jitcore.frontend.numpy_views import length_argument, make_view, packed_strides, strides_of
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Array, Known, Scalar, TypedList, is_free
from jitcore.ir.graph import Value
from jitcore.ir.types import BOOL, FLOAT, INT, array, strong
from jitcore.ops.table import OPS

Args = list[Abstract]
Kwargs = dict[str, Abstract]

#: More elements than this are not made one by one.
MOST_ELEMENTS = 8
_FLOAT64 = np.dtype("d")


def splat(m: Any, value: Value, shape: tuple[Value, ...], layout: str = "C", like: bool = False) -> Array:
    """A new array filled with a strong scalar; ``like``: in the order of a copy of one with this layout."""
    dtype = value.type.dtype  # type: ignore[attr-defined]
    kind = array(dtype, len(shape), "C" if len(shape) <= 1 else layout)
    attrs = {"like": True} if like and kind.layout == "F" else {}
    return new_array(m, m.builder.emit("splat", (value,), kind, shape=shape, **attrs))


def shape_argument(m: Any, value: Abstract) -> tuple[Value, ...]:
    """The lengths of a ``shape`` argument: an int, or a tuple or list of them."""
    items = items_of(m, value)
    found = [length_argument(m, item) for item in (items if items is not None else [value])]
    shape = tuple(length for length in found if length is not None)
    if len(shape) != len(found):
        raise Unsupported("a negative length")
    if len(shape) > 32:
        raise Unsupported("more than 32 axes")
    return shape


def empty(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    """``np.empty`` and ``np.zeros``."""
    given = bind(m, "empty", args, kwargs, "shape, dtype, order, * device, like",
                 {"dtype": None, "order": "C", "device": None, "like": None})
    if not is_absent(given["like"]) or not is_const(given["device"], None, "cpu"):
        raise Unsupported("empty with like=")
    dtype = known_dtype(given["dtype"]) or _FLOAT64
    require_const(given["order"], "order", "C", "F")
    shape = shape_argument(m, given["shape"])
    return splat(m, m.builder.const(dtype.type(0)), shape, given["order"].obj)  # type: ignore[attr-defined]


def empty_like(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    """``np.empty_like``."""
    given = bind(m, "empty_like", args, kwargs, "prototype, dtype, order, subok, shape, * device",
                 {"dtype": None, "order": "K", "subok": True, "shape": None, "device": None})
    model = given["prototype"]
    kind = type_of(model)
    if not is_array_like(model) or not is_const(given["device"], None, "cpu"):
        raise Unsupported("empty_like of a Python number")
    dtype = known_dtype(given["dtype"]) or kind.dtype
    zero = m.builder.const(dtype.type(0))
    if not is_absent(given["shape"]) or not isinstance(model, Array):
        require_const(given["order"], "order", "C", "K")
        if isinstance(model, Array) and not is_absent(given["shape"]) and model.type.layout != "C":
            raise Unsupported("empty_like with a shape, of an array that is not C-contiguous")
        return splat(m, zero, () if is_absent(given["shape"]) else shape_argument(m, given["shape"]))
    order = order_of(model, given["order"], "empty_like")
    layout = model.type.layout if order == "K" else order
    if layout == "A":
        raise Unsupported("empty_like of an array whose memory order is not static")
    return splat(m, zero, lengths_of(m).shape(model), layout, like=not is_const(given["order"], "F"))


# -- from objects ---------------------------------------------------------------------------------------
def default_dtype(value: Abstract) -> np.dtype:
    """The dtype of an array that NumPy makes of one object."""
    return type_of(value).dtype


def as_array(m: Any, value: Abstract, dtype: np.dtype | None = None) -> Array:
    """``np.asarray(value, dtype)``: an array as it is, a number or numbers as a new array."""
    if isinstance(value, Array):
        type_of(value)
        return value if dtype is None or dtype == value.type.dtype else converted(m, value, dtype)
    if isinstance(value, TypedList):
        return _from_list(m, value, dtype)
    items = items_of(m, value)
    if items is None:
        return splat(m, as_dtype(m, value, dtype or default_dtype(value)), ())
    return _from_items(m, items, dtype)


def _from_list(m: Any, value: TypedList, dtype: np.dtype | None) -> Array:
    """The array of a list of run-time length, with the dtype that NumPy finds, or as float64."""
    found = list_makers.to_array(m, value)
    if dtype is None or dtype == found.type.dtype:
        return found
    if dtype != np.float64 or found.type.dtype.kind not in "bi":
        raise Unsupported("an array of a list of another dtype")
    return converted(m, found, dtype)


def _from_items(m: Any, items: Args, dtype: np.dtype | None) -> Array:
    """A short one-axis array of numbers."""
    if not items:
        return splat(m, m.builder.const((dtype or _FLOAT64).type(0)), (lengths_of(m).const(0),))
    if len(items) > MOST_ELEMENTS or any(isinstance(item, Array) for item in items):
        raise Unsupported("an array of many or of unlike things")
    kinds = [default_dtype(item) for item in items]
    dtype = dtype or fold_left(np.promote_types, kinds)
    values = [as_item(m, item, dtype) for item in items]
    lengths = lengths_of(m)
    shape = (lengths.const(len(items)),)
    return new_array(m, m.builder.emit("pack", tuple(values), array(dtype, 1), shape=shape))


def asarray(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    """``np.asarray`` and ``np.asanyarray``."""
    given = bind(m, "asarray", args, kwargs, "a, dtype, order, * device, copy, like",
                 {"dtype": None, "order": None, "device": None, "copy": None, "like": None})
    return _array(m, given["a"], given, copy=is_const(given["copy"], True))


def make_array(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    """``np.array``."""
    given = bind(m, "array", args, kwargs, "object, dtype, * copy, order, subok, ndmin, like, ndmax",
                 {"dtype": None, "copy": True, "order": "K", "subok": False, "ndmin": 0, "like": None, "ndmax": 0})
    if not is_const(given["ndmax"], 0):
        raise Unsupported("array with ndmax=")
    value = given["object"]
    least = known_int(m, given["ndmin"], "ndmin")
    copy = given["copy"]
    if isinstance(copy, Known) and copy.obj is False and isinstance(value, Array):
        copy = Known(None)
        if not is_absent(given["dtype"]) and known_dtype(given["dtype"]) != value.type.dtype:
            raise Unsupported("array with copy=False")
    if not is_const(copy, True, None):
        raise Unsupported("array with copy=")
    found = _array(m, value, given, copy=is_const(copy, True))
    assert isinstance(found, Array)
    missing = least - found.type.ndim
    if missing <= 0:
        return found
    lengths = lengths_of(m)
    shape = [*[lengths.const(1)] * missing, *lengths.shape(found)]
    strides = packed_strides(m, shape, found.type.dtype.itemsize)[:missing] + strides_of(m, found)
    return make_view(m, found, "newaxis", None, shape, strides, "C" if found.type.layout == "C" else "A")


def _array(m: Any, value: Abstract, given: dict[str, Abstract], copy: bool) -> Abstract:
    if not is_absent(given["like"]) or not is_const(given.get("device", Known(None)), None, "cpu"):
        raise Unsupported("asarray with like=")
    dtype = known_dtype(given["dtype"])
    if not isinstance(value, Array):
        return as_array(m, value, dtype)
    order = "K" if is_absent(given["order"]) else order_of(value, given["order"], "array")
    fits = order == "K" or (value.type.ndim <= 1 and value.type.layout == "C") or order == value.type.layout
    same = dtype is None or dtype == value.type.dtype
    if same and fits and not copy:
        type_of(value)
        return value
    if same and copy:
        return copied(m, value, order)
    if not fits:        # without a copy the lengths decide: an array can be contiguous in both orders
        raise Unsupported("a conversion with a change of memory order")
    assert dtype is not None
    return converted(m, value, dtype)


def ascontiguousarray(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    """``np.ascontiguousarray`` of an array with axes."""
    given = bind(m, "ascontiguousarray", args, kwargs, "a, dtype, * like", {"dtype": None, "like": None})
    if not isinstance(given["a"], Array) or given["a"].type.ndim == 0:
        raise Unsupported("ascontiguousarray of a number")
    return _array(m, given["a"], {**given, "order": Known("C")}, copy=False)


# -- ranges -----------------------------------------------------------------------------------------------
def arange(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    """``np.arange`` of Python ints, or of floats whose second element has no rounding of its own."""
    given = bind(m, "arange", args, kwargs, "start, stop, step, dtype, * device, like",
                 {"start": None, "stop": None, "step": None, "dtype": None, "device": None, "like": None})
    if not is_absent(given["like"]) or not is_const(given["device"], None, "cpu"):
        raise Unsupported("arange with like=")
    start, stop, step = given["start"], given["stop"], given["step"]
    if is_absent(stop):
        start, stop = Known(0), start
    if is_absent(start):
        start = Known(0)
    if is_absent(step):
        step = Known(1)
    kinds = [type_of(v) for v in (start, stop, step)]
    if not all(getattr(k, "weak", False) and k.dtype.kind in "if" for k in kinds):
        raise Unsupported("arange of NumPy's numbers")
    wanted = known_dtype(given["dtype"])
    if all(k.dtype.kind == "i" for k in kinds):
        return _int_range(m, start, stop, known_int(m, step, "a step"), wanted or np.dtype("l"))
    if wanted not in (None, _FLOAT64):
        raise Unsupported("arange of floats with another dtype")
    return _float_range(m, *(cast_weak(m, v) for v in (start, stop, step)))


def cast_weak(m: Any, value: Abstract) -> Value:
    """A Python number as a weak float."""
    if isinstance(value, Known):
        return m.builder.const(float(value.obj))  # type: ignore[arg-type]
    graph = m.builder.as_value(value)
    return graph if graph.type == FLOAT else m.builder.emit("py", (graph,), FLOAT, exit=0, fn="float")


def _int_range(m: Any, start: Abstract, stop: Abstract, step: int, dtype: np.dtype) -> Abstract:
    if step == 0 or abs(step) >= 2**31 or dtype.char not in "ilfd":
        raise Unsupported("arange with this step or dtype")
    lengths = lengths_of(m)
    first, last = (m.builder.as_value(v) for v in (start, stop))
    low, high = (first, last) if step > 0 else (last, first)
    if isinstance(start, Known) and isinstance(stop, Known):
        count = lengths.const(len(range(start.obj, stop.obj, step)))  # type: ignore[call-overload]
    else:
        span = high if isinstance(start, Known) and start.obj == 0 and step > 0 else m.builder.emit(
            "py", (high, low), INT, exit=0, fn="sub")
        for graph, value in ((high, stop if step > 0 else start), (low, start if step > 0 else stop)):
            lengths.note(graph, value.hint if isinstance(value, Scalar) else None)
        whole = lengths.idx("max", lengths.canonical(span), lengths.const(0))
        # NumPy divides as floats; below 2**52 that is exact enough to round up alike.
        limit = m.builder.emit("py", (whole, lengths.const(2**52)), BOOL, fn="lt")
        m.builder.emit_check("check", (limit,))
        size = abs(step)
        count = whole if size == 1 else lengths.idx(
            "floordiv", lengths.idx("add", whole, lengths.const(size - 1)), lengths.const(size))
    begin = as_dtype(m, start, dtype)
    delta = m.builder.const(dtype.type(step))
    return new_array(m, m.builder.emit("iota", (begin, delta), array(dtype, 1), shape=(count,)))


def _float_range(m: Any, start: Value, stop: Value, step: Value) -> Abstract:
    """The length is the quotient rounded up; elements are start + i * delta, delta = (start + step) - start."""
    def py(fn: str, *operands: Value, kind: Any = FLOAT) -> Value:
        return m.builder.emit("py", operands, kind, exit=0, fn=fn)
    lengths = lengths_of(m)
    span, zero = py("sub", stop, start), m.builder.const(0.0)
    quotient = py("truediv", span, step)
    # Where the quotient has vanished (an infinite step), NumPy looks at its sign.
    both = (py("eq", x, zero, kind=BOOL) for x in (quotient, span))
    m.builder.emit_check("check", (py("eq", *both, kind=BOOL),))
    count = lengths.idx("max", py("math.ceil", quotient, kind=INT), lengths.const(0))
    second = py("add", start, step)
    delta = py("sub", second, start)
    m.builder.emit_check("check", (py("eq", py("add", start, delta), second, kind=BOOL),))
    operands = tuple(cast(m, value, _FLOAT64) for value in (start, delta))
    return new_array(m, m.builder.emit("iota", operands, array("d", 1), shape=(count,)))


# -- choosing and storing -----------------------------------------------------------------------------------
def where(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    """``np.where(condition, x, y)``: always an array."""
    if len(args) != 3 or kwargs:
        raise Unsupported("where with one argument")
    condition, x, y = (m.force(v) for v in args)
    for operand in (condition, x, y):
        type_of(operand)
    test = element(m, condition)
    if type_of(test).dtype.kind != "b" or getattr(type_of(test), "weak", False):
        graph = m.builder.as_value(test)
        if isinstance(test, Array):
            lengths_of(m).shape(test)
        test = wrap(m, cast(m, graph, np.dtype(np.bool_)))
    value = apply(m, OPS["where"], [test, x, y])[0]
    found = wrap(m, value)
    return found if isinstance(found, Array) else splat(m, value, ())


def copyto(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    """``np.copyto(dst, src)`` into an array made inside the region."""
    given = bind(m, "copyto", args, kwargs, "dst, src, casting, where", {"casting": "same_kind", "where": True})
    target, source = given["dst"], given["src"]
    require_const(given["where"], "where", True)
    casting = given["casting"]
    if not isinstance(target, Array) or not isinstance(casting, Known) or casting.obj not in (
            "no", "equiv", "safe", "same_kind", "unsafe"):
        raise Unsupported("copyto that is not known")
    store(m, target, source, str(casting.obj))
    return Known(None)


_KINDS = "biufc"


def only_element(m: Any, source: Array) -> Scalar:
    """The element of an array whose lengths are all 1."""
    at = (lengths_of(m).const(0),) * source.type.ndim
    return Scalar(m.builder.emit("load", (source.value, *at), strong(source.type.dtype)))


def store(m: Any, target: Array, source: Abstract, casting: str) -> None:
    """``target[...] = source`` under a casting rule."""
    dtype = target.type.dtype
    kind = type_of(source)
    lengths = lengths_of(m)
    if isinstance(source, Array) and source.type.ndim and all(lengths.number(n) == 1 for n in lengths.shape(source)):
        source = only_element(m, source)
    source = element(m, source)
    if getattr(kind, "weak", False):
        if casting != "unsafe" and (casting != "same_kind" or _KINDS.index(kind.dtype.kind) > _KINDS.index(dtype.kind)):
            raise Unsupported("a Python number that does not convert")
        casting = "unsafe"
    elif not np.can_cast(kind.dtype, dtype, casting):  # type: ignore[arg-type]
        raise Unsupported("a value that does not convert")
    if not isinstance(source, Array):
        update(m, target, as_dtype(m, source, dtype), "unsafe")
        return
    value = cast(m, source.value, dtype)
    spread = _spread(m, value, source, target) if is_free(target) else None
    update(m, target, value if spread is None else spread, "unsafe")


def _spread(m: Any, value: Value, source: Array, target: Array) -> Value | None:
    """A copy of ``value`` broadcast to the shape of ``target``, in its memory order; None where that is not known."""
    lengths = lengths_of(m)
    if source.type.ndim > target.type.ndim or target.type.layout == "A":
        return None
    lengths.broadcast([lengths.shape(source), lengths.shape(target)])
    before, after = lengths.shape(source), lengths.shape(target)
    if not all_equal(before, after):
        strides = strides_of(m, Array(value))
        spread = [lengths.const(0)] * (len(after) - len(before))
        for a, b, stride in zip(before, after[len(after) - len(before):], strides):
            if a is not b and lengths.number(a) != 1:
                return None
            spread.append(lengths.const(0) if a is not b else stride)
        value = make_view(m, Array(value), "broadcast", None, after, spread, "A").value
    order = target.type.layout
    return m.builder.emit("copy", (value,), array(target.type.dtype, target.type.ndim, order), shape=after, order=order)


__all__ = ["arange", "as_array", "asarray", "ascontiguousarray", "copyto", "empty", "empty_like",
           "make_array", "splat", "store", "where"]
