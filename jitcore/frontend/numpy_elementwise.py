"""Elementwise operations: operands, conversions, the node.

Job: ``apply``, which turns a ufunc and abstract operands into ``cast`` and ``ew`` nodes exactly as NumPy
would run them.  Invariants: dtypes come from ``ops.dtypes.resolve``; whatever NumPy would report, refuse or
warn of takes the restart exit; results of operands without axes are NumPy scalars.  Used by ``frontend.numpy_*``.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitcore.frontend.numpy_shapes import lengths_of, new_array
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Array, Known, Scalar, is_free, is_number
from jitcore.frontend.values import Sequence as Items
from jitcore.ir.graph import Value
from jitcore.ir.layout import elementwise_layout
from jitcore.ir.types import INT, ArrayType, ScalarType, Type, array, strong
from jitcore.ops.dtypes import cast_reports, cast_warns, resolve
from jitcore.ops.op import Op
from jitcore.ops.power import power_fast_path
from jitcore.ops.table import OPS, is_altered, op_for

_ORDERINGS = ("less", "less_equal", "greater", "greater_equal")

#: C types that are others of the same size: their scalars are classes of their own, which no region makes.
ALIASES = "qQ"


def number_type(obj: Any) -> ScalarType:
    """The graph type of a number."""
    if type(obj) in (bool, int, float, complex):
        return ScalarType(np.dtype(type(obj)), True)
    return strong(obj.dtype)


def type_of(value: Abstract) -> ScalarType | ArrayType:
    """The graph type of an operand; ``Unsupported`` where it is neither array nor number."""
    if isinstance(value, (Array, Scalar)):
        found: ScalarType | ArrayType = value.type
    elif isinstance(value, Known) and is_number(value.obj):
        found = number_type(value.obj)
    else:
        raise Unsupported(f"an operand that is no array or number ({describe(value)})")
    if found.dtype.char in ALIASES and not (isinstance(found, ScalarType) and found.weak):
        raise Unsupported("a dtype that is another name of int64 or uint64")
    return found


def describe(value: Abstract) -> str:
    if isinstance(value, Known):
        return type(value.obj).__name__
    return type(value).__name__.lower()


def is_array_like(value: Abstract) -> bool:
    """An array or a NumPy scalar: an operand that makes an operation NumPy's."""
    if isinstance(value, Array):
        return True
    if isinstance(value, Scalar):
        return not value.type.weak
    return isinstance(value, Known) and isinstance(value.obj, np.generic) and is_number(value.obj)


def element(m: Any, value: Abstract) -> Abstract:
    """``value``, an array without axes replaced by its element (a strong scalar)."""
    if isinstance(value, Array) and value.type.ndim == 0:
        made = value.value.node
        if is_free(value) and made is not None and made.op == "splat":
            number = made.operands[0]
            known = number.node is not None and number.node.op == "const"
            return Known(number.node.attrs["value"]) if known else Scalar(number)  # type: ignore[union-attr]
        return Scalar(m.builder.emit("load", (value.value,), strong(value.type.dtype)))
    return value


# -- conversions ----------------------------------------------------------------------------------
def fold(obj: Any, dtype: np.dtype) -> Any | None:
    """A number converted to ``dtype`` where that is free of reports and loses no range; else None."""
    if type(obj) is int and dtype.kind in "iu":
        info = np.iinfo(dtype)
        if not info.min <= obj <= info.max:
            raise Unsupported(f"{obj} does not fit {dtype}")
        return dtype.type(obj)
    if isinstance(obj, (complex, np.complexfloating)) and dtype.kind != "c":
        return None
    if isinstance(obj, (float, np.floating)) and dtype.kind not in "fc":
        return None
    try:
        with np.errstate(all="raise"):
            if isinstance(obj, np.generic):
                return obj.astype(dtype)
            return np.asarray(obj, dtype=dtype)[()]
    except (FloatingPointError, OverflowError):
        return None


def cast(m: Any, value: Value, dtype: np.dtype, as_copy: bool = False) -> Value:
    """``value`` converted to ``dtype`` as NumPy converts operands; exits where NumPy would report.  ``as_copy``: into
    an array that has a memory order of its own, which a conversion in NumPy's buffers has not."""
    kind = value.type
    assert isinstance(kind, (ScalarType, ArrayType))
    weak = isinstance(kind, ScalarType) and kind.weak
    if kind.dtype == dtype and not weak:
        return value
    if weak and kind.dtype.kind == "i" and dtype.kind in "fc" and dtype.char not in "dD":
        value = cast(m, value, np.dtype("d"))       # NumPy goes through a C double
        kind, weak = strong("d"), False
    if weak and kind.dtype.kind == "f" and dtype.kind in "iu":
        value = m.builder.emit("py", (value,), INT, exit=0, fn="int")   # as Python does: no bits are lost
        kind = INT
    if weak and kind.dtype.kind == "i":
        exit: int | None = None if dtype.char in "ldD?" else 0
    elif cast_warns(kind.dtype, dtype):
        raise Unsupported("a conversion that drops the imaginary part")
    else:
        exit = 0 if cast_reports(kind.dtype, dtype) else None
    if isinstance(kind, ArrayType):
        layout = elementwise_layout((value,), value.shape)
        attrs = {"order": "K"} if as_copy and kind.ndim > 1 else {}
        return m.builder.emit("cast", (value,), array(dtype, kind.ndim, layout), shape=value.shape, exit=exit,
                              dtype=dtype.char, **attrs)
    return m.builder.emit("cast", (value,), strong(dtype), exit=exit, dtype=dtype.char)


def as_dtype(m: Any, operand: Abstract, dtype: np.dtype) -> Value:
    """The graph value of an operand, converted to ``dtype``; ``Unsupported`` where it is neither array nor number."""
    type_of(operand)
    if isinstance(operand, Known):
        folded = fold(operand.obj, dtype)
        if folded is not None:
            return m.builder.const(folded)
    if isinstance(operand, Scalar) and operand.type.weak and type(operand.hint) is int and dtype.kind in "iu":
        fold(operand.hint, dtype)           # refuse what would exit at once
    return cast(m, m.builder.as_value(operand), dtype)


def as_item(m: Any, operand: Abstract, dtype: np.dtype) -> Value:
    """The same for a number that becomes an element of an array of ``dtype``: an int that NumPy cannot convert safely
    it takes for Python's, and so it has to fit."""
    kind = type_of(operand)
    weak = isinstance(kind, ScalarType) and kind.weak
    if weak or dtype.kind not in "iu" or kind.dtype.kind not in "iu" or np.can_cast(kind.dtype, dtype):
        return as_dtype(m, operand, dtype)
    if isinstance(operand, Known):
        return as_dtype(m, Known(int(operand.obj)), dtype)  # type: ignore[call-overload]
    if kind.dtype.kind == "u" and kind.dtype.itemsize == 8:
        raise Unsupported("a uint64 as an element of another dtype")
    return cast(m, m.builder.emit("unbox", (m.builder.as_value(operand),), INT), dtype)


# -- the operation ----------------------------------------------------------------------------------
def find_op(ufunc: np.ufunc) -> Op:
    op = op_for(ufunc)
    if op is None:
        raise Unsupported(f"{ufunc.__name__} works on whole arrays")
    return op


def emit(m: Any, op: Op, sig: str, operands: Sequence[Value], shape: tuple[Value, ...], output: int = 0) -> Value:
    """One ``ew`` node over operands of the loop's dtypes, with the broadcast ``shape``."""
    if is_altered(op):
        raise Unsupported(f"{op.name} has loops that are not NumPy's")
    out = np.dtype(sig.partition("->")[2][output].replace("q", "l").replace("Q", "L"))
    exit = 0 if op.reports_for(sig) or sig in op.raises else None
    arrays = [v for v in operands if isinstance(v.type, ArrayType)]
    attrs: dict[str, Any] = {"op": op.name, "sig": sig}
    if output:
        attrs["output"] = output
    if not arrays:
        return m.builder.emit("ew", tuple(operands), strong(out), exit=exit, **attrs)
    if len(arrays) == 1:
        shape = arrays[0].shape
    layout = elementwise_layout(arrays, shape)
    return m.builder.emit("ew", tuple(operands), array(out, len(shape), layout), shape=shape, exit=exit, **attrs)


def apply(m: Any, op: Op, operands: Sequence[Abstract], dtype: np.dtype | None = None) -> list[Value]:
    """The values of all outputs of an op on operands without further keywords (0-d arrays as scalars)."""
    operands = [element(m, m.force(v)) for v in operands]
    types: tuple[Type, ...] = tuple(type_of(v) for v in operands)
    found = resolve(op, types, dtype)
    if found is None:
        raise Unsupported(f"{op.name} has no loop for these operands")
    if op.lowering(found.sig) is None and not op.can_block(found.sig):
        raise Unsupported(f"{op.name} is not compiled for {found.sig}")
    if found.inputs[0].kind == "c" and op.name in _ORDERINGS and not op.reports_for(found.sig):
        raise Unsupported("an ordering of complex numbers, which may report")
    if op.name == "power":
        op, operands, found = _special_power(m, op, operands, found)
    shapes = [lengths_of(m).shape(v) for v in operands if isinstance(v, Array)]
    shape = lengths_of(m).broadcast(shapes)
    values = [as_dtype(m, v, d) for v, d in zip(operands, found.inputs)]
    return [emit(m, op, found.sig, values, shape, k) for k in range(len(found.outputs))]


def _special_power(m: Any, op: Op, operands: list[Abstract], found: Any) -> Any:
    """NumPy's loops look at an exponent without axes.  One that is known chooses its operation here; one that is
    not is left to the op's ``uniform`` lowering."""
    base, exponent = operands
    if not isinstance(exponent, Known):
        hint = exponent.hint if isinstance(exponent, Scalar) else None
        if found.inputs[0].kind == "i" and isinstance(hint, (int, np.integer)) and hint < 0:
            raise Unsupported("an integer to a negative power")
        return op, operands, found
    number: Any = exponent.obj
    if found.inputs[0].kind == "i" and number < 0:
        raise Unsupported("an integer to a negative power")
    chosen = power_fast_path(found.inputs[0].char, number, False)
    if chosen is None or chosen == "positive":
        return op, operands, found
    return OPS[chosen], [base], resolve(OPS[chosen], (array(found.inputs[0], 1),))


def guess(function: Any, *operands: Abstract) -> Any:
    """The snapshot's value of ``function`` of numbers, where all of them have one."""
    hints = [v.obj if isinstance(v, Known) else getattr(v, "hint", None) for v in operands]
    if any(hint is None or isinstance(hint, tuple) for hint in hints):
        return None
    try:
        with np.errstate(all="ignore"):
            found = function(*hints)
    except Exception:
        return None
    return found if isinstance(found, (np.generic, int, float, complex)) else None


def wrap(m: Any, value: Value) -> Abstract:
    """The abstract result of a node: a scalar, or an array made inside."""
    return new_array(m, value) if isinstance(value.type, ArrayType) else Scalar(value)


def as_own_array(m: Any, value: Value) -> Array:
    """The abstract array of a node's result, a scalar made an array without axes."""
    if isinstance(value.type, ScalarType):
        value = m.builder.emit("splat", (value,), array(value.type.dtype, 0))
    return new_array(m, value)


def results(m: Any, values: Sequence[Value]) -> Abstract:
    """One result as it is, several as a tuple."""
    wrapped = [wrap(m, value) for value in values]
    return wrapped[0] if len(wrapped) == 1 else Items("tuple", wrapped)
