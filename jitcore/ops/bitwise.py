"""Operations on bits.

Job: declarations of NumPy's bitwise ufuncs.  Invariants: as in ``ops.op``.  Read by ``ops.table``.
A shift by the width or more, or by a negative amount, moves every bit out: zero, or all sign bits for a
signed right shift.
"""
from __future__ import annotations

import numpy as np

from jitcore.ops.builder import INTS, ITEMSIZE, SIGNED, UNSIGNED, Lowering, Scalar, ScalarBuilder
from jitcore.ops.op import Op, each, merge


def _bits(name: str) -> Lowering:
    def lowered(b: ScalarBuilder, *args: Scalar) -> Scalar:
        return getattr(b, name)(*args)

    return lowered


def _in_width(b: ScalarBuilder, y: Scalar) -> Scalar:
    """Whether the amount lies in [0, bits): a negative one is large as an unsigned number."""
    kind = y.dtype.upper()
    return b.cmp("<", b.bits(y, kind), b.const(kind, 8 * ITEMSIZE[y.dtype]))


def left_shift(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    inside, zero = _in_width(b, y), b.const(x.dtype, 0)
    return b.select(inside, b.shl(x, b.select(inside, y, zero)), zero)


def right_shift(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    inside, zero = _in_width(b, y), b.const(x.dtype, 0)
    last = b.const(x.dtype, 8 * ITEMSIZE[x.dtype] - 1)
    if x.dtype in SIGNED:
        return b.shr(x, b.select(inside, y, last))
    return b.select(inside, b.shr(x, b.select(inside, y, zero)), zero)


def bitwise_count(b: ScalarBuilder, x: Scalar) -> Scalar:
    """Of the absolute value."""
    if x.dtype in SIGNED:
        x = b.select(b.cmp("<", x, b.const(x.dtype, 0)), b.neg(x), x)
    return b.cast(b.popcount(x), "B")


OPS = (
    Op("bitwise_and", np.bitwise_and, each("?" + INTS, "xx->x", _bits("and_"))),
    Op("bitwise_or", np.bitwise_or, each("?" + INTS, "xx->x", _bits("or_"))),
    Op("bitwise_xor", np.bitwise_xor, each("?" + INTS, "xx->x", _bits("xor"))),
    Op("invert", np.invert, each("?" + INTS, "x->x", _bits("not_"))),
    Op("left_shift", np.left_shift, each(INTS, "xx->x", left_shift)),
    Op("right_shift", np.right_shift, each(INTS, "xx->x", right_shift)),
    Op("bitwise_count", np.bitwise_count, merge(
        each(SIGNED, "x->B", bitwise_count), each(UNSIGNED, "x->B", bitwise_count))),
)
