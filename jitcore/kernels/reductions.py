"""Which reductions are loops of our own, and which are left to NumPy.

Job: one table.  Invariant: a reduction that is listed gives NumPy's bits, in NumPy's order.
Read by ``planner`` and by the back ends.
"""
from __future__ import annotations

from jitcore.ir.graph import Node, Value
from jitcore.ir.types import ArrayType, ScalarType
from jitcore.ops.builder import FLOATS, INTS, canonical

#: Reductions in one kernel, at most.
MOST = 8

#: ufunc name -> dtypes that it accumulates in, exactly as NumPy does.
NATIVE: dict[str, str] = {
    "add": INTS + "fd",
    "multiply": INTS + "fd",
    "minimum": INTS + "?fd",
    "maximum": INTS + "?fd",
    "logical_and": "?",
    "logical_or": "?",
    "bitwise_and": INTS,
    "bitwise_or": INTS,
    "bitwise_xor": INTS,
}
#: Those that take any operand by its truth.
_TRUTH = frozenset({"logical_and", "logical_or"})
#: Those without a start of their own: an empty reduction is an error.
NO_IDENTITY = frozenset({"minimum", "maximum"})


def loop_dtype(node: Node) -> str:
    """The canonical dtype that a ``reduce`` node's loop accumulates in."""
    return canonical(node.attrs["sig"].partition("->")[2])


def axes_of(node: Node) -> tuple[int, ...]:
    """The axes of a ``reduce`` node."""
    axes, type = node.attrs["axes"], node.operands[0].type
    assert isinstance(type, ArrayType)
    return tuple(range(type.ndim)) if axes is None else tuple(axes)


def _converts(node: Node, have: str, want: str) -> bool:
    """Whether a reduction converts its elements in an order that is known.

    Ints may be added in any order.  Floats NumPy converts in its iterator's buffers; where all axes of
    a contiguous array are reduced these are filled one after another (found by experiment).
    """
    if want in INTS:
        return have in INTS + "?"
    type = node.operands[0].type
    assert isinstance(type, ArrayType)
    return (have in INTS + FLOATS + "?" and node.attrs["op"] in ("add", "multiply")
            and len(axes_of(node)) == type.ndim)


def is_buffered(node: Node) -> bool:
    """``Reduction.buffered`` of a native node."""
    type, want = node.operands[0].type, loop_dtype(node)
    assert isinstance(type, ArrayType)
    return want in FLOATS and canonical(type.dtype.char) != want


def is_native(node: Node) -> bool:
    """Whether a ``reduce`` node can be a part of a kernel.

    The order in which floats are added follows the operand's memory order, which must be static: C,
    F or one axis.
    """
    operand, result = node.operands[0], node.result
    assert result is not None
    type, right = operand.type, loop_dtype(node)
    if not isinstance(type, ArrayType) or right not in NATIVE.get(node.attrs["op"], ""):
        return False
    have = canonical(type.dtype.char)
    if node.attrs["op"] not in _TRUTH:
        left = canonical(node.attrs["sig"].partition("->")[0])
        if left != right + right or not (have == right or _converts(node, have, right)):
            return False
    if (type.ndim > 1 and type.layout == "A") or type.ndim == 0 or type.ndim > 16:
        return False
    if isinstance(result.type, ArrayType) and result.type.ndim > 1 and result.type.layout not in (type.layout, "A"):
        return False
    if node.attrs["op"] in NO_IDENTITY and len(node.operands) > 1 and right in "fd":
        return False
    return isinstance(result.type, ArrayType | ScalarType) and _start_fits(node.operands[1:], right)


def _start_fits(initial: tuple[Value, ...], dtype: str) -> bool:
    return all(isinstance(v.type, ScalarType) and canonical(v.type.dtype.char) == dtype for v in initial)
