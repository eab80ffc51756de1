"""Reductions: ``ufunc.reduce`` as ``reduce`` nodes.

Job: NumPy's rules of ``ufunc.reduce`` for dtype, axes, result shape and boxing.  Invariants: the accumulation dtype
is NumPy's (``add`` and ``multiply`` widen small integers); an operand of another dtype is not converted
beforehand, since NumPy converts it in buffers, which decides the order of a sum; no axis left means a NumPy scalar.
Used by ``numpy_calls`` and ``numpy_attrs``.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from jitcore.frontend.numpy_args import bind, flag, is_absent, is_const, is_not_given, items_of, known_axes
from jitcore.frontend.numpy_elementwise import apply, as_dtype, as_own_array, cast, element, find_op, type_of, wrap
from jitcore.frontend.numpy_ops import known_dtype
from jitcore.frontend.numpy_shapes import all_equal, lengths_of
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Array, Known, Scalar
from jitcore.ir.types import array as array_type
from jitcore.ir.types import strong
from jitcore.ops.dtypes import resolve
from jitcore.ops.op import Op
from jitcore.ops.table import OPS, is_altered

#: ufuncs whose loops are ``xx->x`` and whose reductions regions contain.
_PLAIN = ("add", "multiply", "maximum", "minimum", "fmax", "fmin", "bitwise_and", "bitwise_or", "bitwise_xor")
_TRUTH = ("logical_and", "logical_or")
_IDENTITY = ("add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or")
_NAMES = "array, axis, dtype, out, keepdims, initial, where"
_DEFAULTS = {"axis": 0, "dtype": None, "out": None, "keepdims": False, "initial": np._NoValue, "where": True}


def accumulator(op: Op, dtype: np.dtype, wanted: np.dtype | None) -> np.dtype:
    """The dtype in which ``op.reduce`` of an array of ``dtype`` accumulates; ``Unsupported`` if NumPy has none."""
    if is_altered(op):
        raise Unsupported(f"{op.name} has loops that are not NumPy's")
    if op.name in _TRUTH:
        if wanted is not None and wanted.kind != "b":
            raise Unsupported("a logical reduction with another dtype")
        return np.dtype(np.bool_)
    if op.name not in _PLAIN:
        raise Unsupported(f"{op.name}.reduce")
    if wanted is None and op.name in ("add", "multiply"):
        if dtype.kind == "b" or (dtype.kind == "i" and dtype.itemsize < 8):
            wanted = np.dtype("l")
        elif dtype.kind == "u" and dtype.itemsize < 8:
            wanted = np.dtype("L")
    found = resolve(op, (array_type(dtype, 1), array_type(dtype, 1)), wanted)
    if found is None or found.inputs != found.outputs * 2 or (wanted is not None and found.outputs[0] != wanted):
        raise Unsupported(f"{op.name}.reduce of {dtype}")
    return found.outputs[0]


#: What an element that is left out counts as, where no order of operations can change the result.
_NEUTRAL = {"add": 0, "multiply": 1, "bitwise_or": 0, "bitwise_xor": 0, "bitwise_and": -1, "logical_or": False,
            "logical_and": True}


def _masked(m: Any, ufunc: np.ufunc, given: dict[str, Abstract]) -> Abstract:
    """A reduction with ``where=``: elements left out become neutral, for integers and truths only (the order in
    which floats are added depends on the mask)."""
    operand, mask = given["array"], given["where"]
    assert isinstance(operand, Array)
    op = find_op(ufunc)
    neutral = _NEUTRAL.get(op.name)
    exact = op.name in _TRUTH or operand.type.dtype.kind in "biu"
    if neutral is None or not exact or not isinstance(mask, Array) or mask.type.dtype.kind != "b":
        raise Unsupported(f"{op.name}.reduce with where=")
    dtype = accumulator(op, operand.type.dtype, known_dtype(given["dtype"]))
    if dtype.kind in "fc" or (neutral == -1 and dtype.kind != "i"):
        raise Unsupported(f"{op.name}.reduce with where=")
    lengths = lengths_of(m)
    before = lengths.shape(operand)
    if not all_equal(lengths.broadcast([before, lengths.shape(mask)]), lengths.shape(operand)):
        raise Unsupported("a mask that is larger than its array")
    source = wrap(m, cast(m, operand.value, dtype))
    chosen = wrap(m, apply(m, OPS["where"], [mask, source, Known(dtype.type(neutral))])[0])
    rest = {name: value for name, value in given.items() if name not in ("array", "where")}
    return reduce(m, ufunc, [chosen], {**rest, "dtype": Known(dtype)})


def _without_axes(m: Any, ufunc: np.ufunc, given: dict[str, Abstract]) -> Abstract:
    """A reduction of an array without axes: its element, added to 0 where the reduction is a sum."""
    operand, op = given["array"], find_op(ufunc)
    plain = is_absent(given["out"]) and is_not_given(given["initial"]) and is_const(given["where"], True, np._NoValue)
    if not plain or not (is_absent(given["axis"]) or items_of(m, given["axis"]) == []):
        raise Unsupported("a reduction of an array without axes with arguments")
    dtype = accumulator(op, type_of(operand).dtype, known_dtype(given["dtype"]))
    only = element(m, operand)
    if isinstance(only, Known) and op.name in _TRUTH:
        return Known(np.bool_(bool(only.obj)))
    value = as_dtype(m, only, dtype)
    if op.name == "add":
        return wrap(m, apply(m, op, [Known(dtype.type(0)), Scalar(value)])[0])
    return Scalar(value)


def reduce(m: Any, ufunc: np.ufunc, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    """``ufunc.reduce(*args, **kwargs)`` of an array with axes."""
    given = bind(m, f"{ufunc.__name__}.reduce", args, kwargs, _NAMES, _DEFAULTS)
    operand = given["array"]
    if isinstance(operand, Scalar) and not operand.type.weak:
        operand = given["array"] = as_own_array(m, operand.value)
    if not isinstance(operand, Array):
        raise Unsupported("a reduction of something that is no array")
    if operand.type.ndim == 0:
        return _without_axes(m, ufunc, given)
    type_of(operand)
    op = find_op(ufunc)
    if not is_absent(given["out"]):
        raise Unsupported(f"{ufunc.__name__}.reduce with out=")
    if not is_const(given["where"], True, np._NoValue):
        return _masked(m, ufunc, given)
    ndim = operand.type.ndim
    axes = known_axes(m, given["axis"], ndim)
    every = tuple(range(ndim))
    reduced = every if axes is None else axes
    if not reduced:
        raise Unsupported("a reduction over no axis")
    keepdims = False if is_not_given(given["keepdims"]) else flag(m, given["keepdims"], "keepdims")
    dtype = accumulator(op, operand.type.dtype, known_dtype(given["dtype"]))
    lengths = lengths_of(m)
    lengths.shape(operand)                      # notes the hints
    operands = [operand.value]
    if not is_not_given(given["initial"]):
        if is_absent(given["initial"]):
            raise Unsupported("a reduction with initial=None")
        type_of(given["initial"])
        if isinstance(given["initial"], Array):
            raise Unsupported("an array as the initial value")
        operands.append(as_dtype(m, given["initial"], dtype))
    elif op.name not in _IDENTITY and any(lengths.hint(operand.shape[k]) == 0 for k in reduced):
        raise Unsupported("a reduction of nothing without an identity")
    before = lengths.shape(operand)
    shape = tuple(lengths.const(1) if k in reduced else before[k] for k in every if keepdims or k not in reduced)
    sig = f"{dtype.char}{dtype.char}->{dtype.char}"
    may_exit = bool(op.reports_for(sig)) or op.name not in _IDENTITY
    attrs = {"op": op.name, "sig": sig, "axes": None if len(reduced) == ndim else reduced, "keepdims": keepdims}
    layout = "C" if len(shape) <= 1 else operand.type.layout
    kind = array_type(dtype, len(shape), layout) if shape else strong(dtype)
    value = m.builder.emit("reduce", tuple(operands), kind, shape=shape, exit=0 if may_exit else None, **attrs)
    return wrap(m, value)
