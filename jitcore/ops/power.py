"""Powers.

Job: declarations of ``power`` and ``float_power``, and ``power_fast_path``, what NumPy does instead of a power
when the exponent is a scalar.  Invariants: as in ``ops.op``.  Read by ``ops.table`` and the front end.

Where the exponent has a stride of 0 (a scalar) NumPy's float loops compute 2 as a square, 0.5 as a square
root (so that ``-inf ** 0.5`` is NaN), -1 as a reciprocal, 1 and 0 without computing.  An int power with a
negative exponent raises ``ValueError`` from within the loop.
"""
from __future__ import annotations

import math

import numpy as np

from jitcore.ops.builder import INTS, Scalar, ScalarBuilder
from jitcore.ops.op import DIVIDE, INVALID, OVER, UNDER, Op, each

_STEPS = 6
_BY_EXPONENT = {2: "square", 0.5: "sqrt", -1: "reciprocal", 1: "positive"}


def power_fast_path(dtype: str, exponent: float, operator: bool) -> str | None:
    """The unary op that NumPy runs for an array of ``dtype`` to the power of a scalar exponent.

    ``dtype`` is the loop's (``power`` resolved; for ``operator`` and complex: the array's), ``exponent`` a
    Python number or the value of a NumPy scalar, ``operator`` says ``x ** e`` rather than
    ``np.power(x, e)``.  ``None``: a power like any other.
    """
    if dtype in INTS:
        return _BY_EXPONENT.get(exponent) if exponent in (1, 2) else None
    if dtype in "fd":
        return _BY_EXPONENT.get(exponent)
    if dtype in "eFD" and operator and exponent != 1 and isinstance(exponent, int) == (exponent != 0.5):
        return _BY_EXPONENT.get(exponent)       # Python's 2.0 is not 2 here
    return None


def int_power(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """By squaring, wrapping; exponents outside of [0, 64) hand over.  A constant exponent leaves only its own
    multiplications."""
    zero, one = b.const(x.dtype, 0), b.const(x.dtype, 1)
    result, base = one, x
    for step in range(_STEPS):
        bit = b.cmp("!=", b.and_(y, b.const(x.dtype, 1 << step)), zero)
        result = b.select(bit, b.mul(result, base), result)
        base = b.mul(base, base)
    b.bail(b.cmp(">=", b.bits(y, y.dtype.upper()), b.const(y.dtype.upper(), 1 << _STEPS)))
    return result


def float_power(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    return b.call_math("pow", x, y)


def uniform_float_power(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """With a scalar exponent: NumPy's special exponents first; 3 and 4 by two multiplications, which are within
    2 and 3 ulp and many times faster than a power (libmvec's takes a slow path for negative bases).  An infinite one
    is left to NumPy: its vector and scalar functions report different things then."""
    b.bail(b.cmp("==", b.fabs(y), b.const(y.dtype, math.inf)))
    one, squared = b.const(x.dtype, 1), b.mul(x, x)
    special = ((4, b.mul(squared, squared)), (3, b.mul(squared, x)),
               (2, squared), (0.5, b.sqrt(x)), (-1, b.div(one, x)), (1, x), (0, one))
    result = b.call_math("pow", x, y)
    for exponent, value in special:
        result = b.select(b.cmp("==", y, b.const(x.dtype, exponent)), value, result)
    return result


_REPORTS = frozenset({INVALID, DIVIDE, OVER, UNDER})
_EXPONENT = frozenset({1})

OPS = (
    Op("power", np.power, each(INTS, "xx->x", int_power), _REPORTS, exact=False, cost=40, libm="pow",
       raises=frozenset(f"{c}{c}->{c}" for c in INTS),
       uniform={f"{c}{c}->{c}": (_EXPONENT, uniform_float_power) for c in "fd"}),
    Op("float_power", np.float_power, {}, _REPORTS, cost=40),
)
