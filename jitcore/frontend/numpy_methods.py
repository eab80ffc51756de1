"""Methods of arrays, NumPy scalars and ufuncs.

Job: ``call_method``.  Invariants: methods that NumPy forwards to its own Python code (``sum``, ``mean``, ``clip``...)
are redirected there; the rest gives exactly NumPy's object (a view, the array itself, a copy) or raises
``Unsupported``.  ``call`` nodes name C functions that run no Python code for exact arrays and change nothing.
Used through ``numpy_attrs``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import _methods

from jitcore.frontend import list_makers, numpy_direct
from jitcore.frontend.numpy_args import bind, flag, is_absent, is_const, items_of, known_int, normalized, require_const
from jitcore.frontend.numpy_elementwise import (
    apply,
    as_dtype,
    as_item,
    cast,
    element,
    find_op,
    is_array_like,
    results,
    type_of,
    wrap,
)
from jitcore.frontend.numpy_matmul import call_node, matmul
from jitcore.frontend.numpy_ops import binary, call_ufunc, known_dtype
from jitcore.frontend.numpy_reduce import reduce
from jitcore.frontend.numpy_scalars import weak
from jitcore.frontend.numpy_shapes import lengths_of, new_array
from jitcore.frontend.numpy_store import update
from jitcore.frontend.numpy_views import reshape, squeeze, transpose
from jitcore.frontend.protocol import Redirect, Unsupported
from jitcore.frontend.values import Abstract, Array, Known, NativeMethod, Scalar
from jitcore.ir.graph import Value
from jitcore.ir.types import COMPLEX, Type, array, strong

#: Methods that NumPy's C code forwards to functions of ``numpy._core._methods``.
FORWARDED = {name: getattr(_methods, target) for name, target in {
    "sum": "_sum", "prod": "_prod", "min": "_amin", "max": "_amax", "any": "_any", "all": "_all", "mean": "_mean",
    "var": "_var", "std": "_std", "clip": "_clip"}.items()}

Args = list[Abstract]
Kwargs = dict[str, Abstract]
Method = Callable[[Any, Array, Args, Kwargs], "Abstract | Redirect"]
METHODS: dict[str, Method] = {}


def method(*names: str) -> Callable[[Method], Method]:
    def register(function: Method) -> Method:
        for name in names:
            METHODS[name] = function
        return function
    return register


def call_method(m: Any, func: NativeMethod, args: Args, kwargs: Kwargs) -> Abstract | Redirect:
    """``func.self_value.<name>(*args, **kwargs)``."""
    value, name = m.force(func.self_value), func.name
    args = [m.force(arg) for arg in args]
    if isinstance(value, Known) and isinstance(value.obj, np.ufunc):
        return call_ufunc_method(m, value.obj, name, args, kwargs)
    if isinstance(value, Array):
        if name in FORWARDED:
            return Redirect(Known(FORWARDED[name]), [value, *args], dict(kwargs))
        found = METHODS.get(name)
        if found is None:
            raise Unsupported(f"ndarray.{name}")
        type_of(value)
        return found(m, value, args, kwargs)
    if isinstance(value, Scalar) or (isinstance(value, Known) and isinstance(value.obj, np.generic)):
        return _scalar_method(m, value, name, args, kwargs)
    raise Unsupported(f"method {name}")


#: What is compiled of ufuncs.
_OF_UFUNCS: dict[str, Callable[..., Abstract]] = {"__call__": call_ufunc, "reduce": reduce}


def call_ufunc_method(m: Any, ufunc: np.ufunc, name: str, args: Args, kwargs: Kwargs) -> Abstract:
    """``ufunc.<name>(...)``: compiled, or else done by the ufunc itself from native code."""
    own = _OF_UFUNCS.get(name)
    try:
        if own is None:
            raise Unsupported(f"{ufunc.__name__}.{name}")
        return own(m, ufunc, args, kwargs)
    except Unsupported as error:
        return numpy_direct.call_ufunc_method(m, ufunc, name, args, kwargs, error)


def number(m: Any, value: Abstract) -> Scalar:
    """A NumPy scalar as the Python number of its kind (``item()``)."""
    kind = type_of(value)
    if kind.dtype.char == "L":
        raise Unsupported("a uint64 as a Python int")
    graph = m.builder.as_value(value)
    if kind.dtype.kind == "c":
        return Scalar(m.builder.emit("unbox", (graph,), COMPLEX))
    return Scalar(weak(m, graph))


def _scalar_method(m: Any, value: Abstract, name: str, args: Args, kwargs: Kwargs) -> Abstract | Redirect:
    kind = type_of(value)
    if getattr(kind, "weak", False):
        if name == "conjugate" and kind.dtype.kind in "if" and not args and not kwargs:
            return value
        raise Unsupported(f"method {name} of a Python number")
    if name in ("item", "tolist") and not args and not kwargs:
        return number(m, value)
    if name in ("conjugate", "conj") and kind.dtype.kind != "c" and not args and not kwargs:
        return value
    if name in ("any", "all", "min", "max"):
        given = bind(m, name, args, kwargs, "axis, out, keepdims", {"axis": None, "out": None, "keepdims": False})
        if not is_absent(given["axis"]) or not is_absent(given["out"]) or flag(m, given["keepdims"], "keepdims"):
            raise Unsupported(f"{name} of a NumPy scalar with arguments")
        if isinstance(value, Known) and name in ("any", "all"):
            return Known(np.bool_(bool(value.obj)))
        return value if name in ("min", "max") else Scalar(as_dtype(m, value, np.dtype(np.bool_)))
    if name == "astype" and isinstance(value, Scalar):
        given = bind(m, "astype", args, kwargs, "dtype, order, casting, subok, copy",
                     {"order": "K", "casting": "unsafe", "subok": True, "copy": True})
        dtype = known_dtype(given["dtype"])
        require_const(given["casting"], "casting", "unsafe")
        if dtype is None:
            raise Unsupported("astype(None)")
        return Scalar(cast(m, value.value, dtype))
    raise Unsupported(f"method {name} of a NumPy scalar")


# -- copies and conversions -------------------------------------------------------------------------------
def copied(m: Any, operand: Array, order: str) -> Array:
    """A new array with the elements of ``operand`` in memory order 'C', 'F' or 'K'."""
    kind = operand.type
    lengths_of(m).shape(operand)                # notes the hints
    layout = kind.layout if order == "K" else order
    if kind.ndim <= 1 or (order == "F" and kind.layout == "A"):
        layout = "C" if kind.ndim <= 1 else "F"
    return new_array(m, m.builder.emit("copy", (operand.value,), array(kind.dtype, kind.ndim, layout),
                                       shape=operand.shape, order=order))


def order_of(operand: Array, value: Abstract, what: str) -> str:
    """A memory order argument: 'C', 'F' or 'K'; 'A' is resolved, which is 'K' for a contiguous array."""
    if is_const(value, "C", "F", "K"):
        return str(value.obj)  # type: ignore[attr-defined]
    if is_const(value, "A") and operand.type.layout != "A":
        return "K"
    raise Unsupported(f"{what} with another order")


def converted(m: Any, operand: Array, dtype: np.dtype) -> Array:
    """``operand.astype(dtype)`` in K order: always a new array."""
    if dtype == operand.type.dtype:
        return copied(m, operand, "K")
    lengths_of(m).shape(operand)                # notes the hints
    return new_array(m, cast(m, operand.value, dtype, as_copy=True))


@method("astype")
def _astype(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "astype", args, kwargs, "dtype, order, casting, subok, copy",
                 {"order": "K", "casting": "unsafe", "subok": True, "copy": True})
    dtype = known_dtype(given["dtype"])
    if dtype is None:
        raise Unsupported("astype(None)")
    casting = given["casting"]
    if not isinstance(casting, Known) or casting.obj not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise Unsupported("astype with unknown casting")
    if not np.can_cast(operand.type.dtype, dtype, casting.obj):
        raise Unsupported("astype that NumPy refuses")
    order = order_of(operand, given["order"], "astype")
    if not flag(m, given["copy"], "copy") and dtype == operand.type.dtype and order in ("K", operand.type.layout):
        return operand
    if order != "K" and operand.type.ndim > 1 and order != operand.type.layout:
        raise Unsupported("astype with a change of memory order")
    return converted(m, operand, dtype)


@method("copy", "__copy__")
def _copy(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "copy", args, kwargs, "order", {"order": "C"})
    return copied(m, operand, order_of(operand, given["order"], "copy"))


@method("item")
def _item(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    if args or kwargs:
        raise Unsupported("item with arguments")
    lengths = lengths_of(m)
    for length in lengths.shape(operand):
        lengths.require_equal(length, lengths.const(1))
    at = (lengths.const(0),) * operand.type.ndim
    return number(m, Scalar(m.builder.emit("load", (operand.value, *at), strong(operand.type.dtype))))


@method("tolist")
def _tolist(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    if args or kwargs:
        raise Unsupported("tolist with arguments")
    if operand.type.ndim:
        return list_makers.of_array(m, operand, True)
    return number(m, element(m, operand))


@method("fill")
def _fill(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "fill", args, kwargs, "value", {})
    type_of(given["value"])
    if isinstance(given["value"], Array):
        raise Unsupported("fill with an array")
    update(m, operand, as_item(m, given["value"], operand.type.dtype), "unsafe")
    return Known(None)


@method("conj", "conjugate")
def _conjugate(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    if args or kwargs:
        raise Unsupported("conjugate with out")
    return operand if operand.type.dtype.kind != "c" else results(m, apply(m, find_op(np.conjugate), [operand]))


@method("round")
def _round(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    """NumPy rounds to decimals by scaling with an exact power of ten, ``rint`` and scaling back."""
    given = bind(m, "round", args, kwargs, "decimals, out", {"decimals": 0, "out": None})
    decimals = known_int(m, given["decimals"], "decimals")
    if operand.type.dtype.kind != "f" or operand.type.ndim == 0 or not is_absent(given["out"]) or abs(decimals) > 15:
        raise Unsupported("round() of these operands")
    if decimals == 0:
        return results(m, apply(m, find_op(np.rint), [operand]))
    if operand.type.layout == "A" and operand.type.ndim > 1:
        raise Unsupported("round() in C or Fortran order, whatever the array's strides say")
    scale = Known(10.0 ** abs(decimals))
    there, back = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    scaled = wrap(m, apply(m, find_op(there), [operand, scale])[0])
    rounded = wrap(m, apply(m, find_op(np.rint), [scaled])[0])
    return results(m, apply(m, find_op(back), [rounded, scale]))


def _operator(name: str) -> Method:
    def found(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
        if kwargs or len(args) != 1 or not is_array_like(args[0]):
            raise Unsupported(f"__{name}__ of an object")
        return binary(m, name, operand, args[0])
    return found


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "lt", "le", "eq", "ne", "gt",
              "ge"):
    METHODS[f"__{_name}__"] = _operator(_name)


# -- shapes -----------------------------------------------------------------------------------------------
def _spread(m: Any, args: Args) -> Args:
    """``f(a, b)`` or ``f((a, b))``."""
    if len(args) == 1:
        items = items_of(m, args[0])
        if items is not None:
            return items
    return args


@method("reshape")
def _reshape(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    for name, value in kwargs.items():
        if not ((name == "order" and is_const(m.force(value), "C")) or (name == "copy" and is_absent(m.force(value)))):
            raise Unsupported(f"reshape with {name}=")
    if not args:
        raise Unsupported("reshape without a shape")
    return reshape(m, operand, _spread(m, args))


@method("ravel")
def _ravel(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "ravel", args, kwargs, "order", {"order": "C"})
    if operand.type.layout == "C" and is_const(given["order"], "C", "A", "K"):
        return reshape(m, operand, [Known(-1)])
    return _flat(m, np.ndarray.ravel, operand, given["order"])


@method("flatten")
def _flatten(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    return _flat(m, np.ndarray.flatten, operand, bind(m, "flatten", args, kwargs, "order", {"order": "C"})["order"])


def _flat(m: Any, function: object, operand: Array, order: Abstract) -> Abstract:
    if not is_const(order, "C", "F", "A", "K"):
        raise Unsupported("an order that is not known")
    lengths = lengths_of(m)
    total = lengths.product(lengths.shape(operand))
    layout = "C" if function is np.ndarray.flatten or operand.type.ndim > 1 else "A"
    value = call_node(m, function, (operand.value,), (("v", 0), ("c", order.obj)),  # type: ignore[attr-defined]
                      array(operand.type.dtype, 1, layout), (total,))
    result = new_array(m, value)
    if function is np.ndarray.ravel:            # it may be a view
        for one in (result, operand, operand.base):
            if one is not None and one.source is None:
                one.shared = True
    return result


@method("transpose")
def _transpose(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    if kwargs:
        raise Unsupported("transpose with keywords")
    if not args or (len(args) == 1 and is_absent(args[0])):
        return transpose(m, operand)
    return transpose(m, operand, [known_int(m, axis, "an axis") for axis in _spread(m, args)])


@method("swapaxes")
def _swapaxes(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "swapaxes", args, kwargs, "axis1, axis2", {})
    ndim = operand.type.ndim
    a, b = (normalized(known_int(m, given[name], "an axis"), ndim) for name in ("axis1", "axis2"))
    order = list(range(ndim))
    order[a], order[b] = b, a
    return transpose(m, operand, order)


@method("squeeze")
def _squeeze(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "squeeze", args, kwargs, "axis", {"axis": None})
    if is_absent(given["axis"]):
        return operand if operand.type.ndim == 0 else squeeze(m, operand, None)     # the object itself
    items = items_of(m, given["axis"])
    given_axes = items if items is not None else [given["axis"]]
    axes = [normalized(known_int(m, a, "an axis"), operand.type.ndim) for a in given_axes]
    return squeeze(m, operand, axes)


# -- calls into NumPy ---------------------------------------------------------------------------------------
@method("dot")
def _dot(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    if len(args) != 1 or kwargs:
        raise Unsupported("dot with out")
    return matmul(m, operand, args[0], np.ndarray.dot)


def _axis_or_none(m: Any, value: Abstract, ndim: int) -> int | None:
    return None if is_absent(value) else normalized(known_int(m, value, "an axis"), ndim)


def _arg_extreme(name: str) -> Method:
    function = getattr(np.ndarray, name)

    def found(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
        given = bind(m, name, args, kwargs, "axis, out, * keepdims", {"axis": None, "out": None, "keepdims": False})
        if not is_absent(given["out"]) or operand.type.ndim == 0:
            raise Unsupported(f"{name} with out=")
        axis = _axis_or_none(m, given["axis"], operand.type.ndim)
        keepdims = False if is_absent(given["keepdims"]) else flag(m, given["keepdims"], "keepdims")
        lengths = lengths_of(m)
        before = lengths.shape(operand)
        shape: tuple[Value, ...] = tuple(
            lengths.const(1) if axis is None or k == axis else length
            for k, length in enumerate(before) if keepdims or not (axis is None or k == axis))
        kind: Type = array("l", len(shape), "C" if len(shape) <= 1 else "A") if shape else strong("l")
        return wrap(m, call_node(m, function, (operand.value,), (("v", 0), ("c", axis), ("c", keepdims)), kind, shape,
                                 ("axis", "keepdims")))
    return found


METHODS["argmin"], METHODS["argmax"] = _arg_extreme("argmin"), _arg_extreme("argmax")


def _cumulative(name: str, ufunc: np.ufunc) -> Method:
    function = getattr(np.ndarray, name)

    def found(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
        given = bind(m, name, args, kwargs, "axis, dtype, out", {"axis": None, "dtype": None, "out": None})
        wanted, kind = known_dtype(given["dtype"]), operand.type.dtype
        if not is_absent(given["out"]) or operand.type.ndim == 0 or kind.kind == "c":
            raise Unsupported(f"{name} with out=")
        axis = _axis_or_none(m, given["axis"], operand.type.ndim)
        if axis is None and operand.type.ndim > 1 and operand.type.layout != "C":
            raise Unsupported(f"{name} of all elements of an array that is not C-contiguous")
        dtype = wanted if wanted is not None else (
            kind if kind.kind == "f" or kind.itemsize == 8 else np.dtype("L" if kind.kind == "u" else "l"))
        lengths = lengths_of(m)
        before = lengths.shape(operand)
        shape = before if axis is not None else (lengths.product(before),)
        layout = operand.type.layout if len(shape) > 1 else "C"
        return wrap(m, call_node(m, function, (operand.value,), (("v", 0), ("c", axis), ("c", wanted)),
                                 array(dtype, len(shape), layout), shape, strict=dtype.kind in "fc"))
    return found


METHODS["cumsum"], METHODS["cumprod"] = _cumulative("cumsum", np.add), _cumulative("cumprod", np.multiply)


@method("argsort")
def _argsort(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "argsort", args, kwargs, "axis, kind, order, * stable",
                 {"axis": -1, "kind": None, "order": None, "stable": None})
    if not is_absent(given["order"]) or operand.type.ndim == 0 or is_absent(given["axis"]):
        raise Unsupported("argsort with order=")
    axis = normalized(known_int(m, given["axis"], "an axis"), operand.type.ndim)
    if not (isinstance(given["kind"], Known) and isinstance(given["stable"], Known)):
        raise Unsupported("argsort with kind=")
    names = ("axis", "kind") + (("stable",) if not is_absent(given["stable"]) else ())
    layout = "C" if operand.type.ndim == 1 else "A"
    options = [value.obj for value in (given["kind"], given["stable"]) if isinstance(value, Known)]
    template = (("v", 0), ("c", axis), *(("c", option) for option in options[:len(names) - 1]))
    return wrap(m, call_node(m, np.ndarray.argsort, (operand.value,), template,
                             array("l", operand.type.ndim, layout), lengths_of(m).shape(operand), names))


__all__ = ["FORWARDED", "call_method", "call_ufunc_method", "converted", "copied", "number", "order_of"]
