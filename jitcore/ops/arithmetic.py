"""Arithmetic: sums, products, quotients, remainders, signs.

Job: declarations of NumPy's arithmetic ufuncs.  Invariants: as in ``ops.op``.  Read by ``ops.table``.

Float floor division and remainder follow the definition that NumPy shares with Python: ``fmod``,
corrected to the divisor's sign, and the quotient rounded from ``(a - mod) / b``.  Complex products and
quotients are left to NumPy's loops, which use fused multiply-add where the machine has it.
"""
from __future__ import annotations

import math

import numpy as np

from jitcore.ops.builder import COMPLEX, INTS, ITEMSIZE, SIGNED, UNSIGNED, Lowering, Scalar, ScalarBuilder
from jitcore.ops.op import DIVIDE, INVALID, OVER, UNDER, Op, by_parts, each, merge, through_float


def add(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    return b.add(x, y)


def subtract(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    return b.sub(x, y)


def multiply(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    return b.mul(x, y)


def divide(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    return b.div(x, y)


def negative(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.neg(x)


def positive(b: ScalarBuilder, x: Scalar) -> Scalar:
    return x


def conjugate(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.make_complex(b.real(x), b.neg(b.imag(x)))


def fabs(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.fabs(x)


def int_absolute(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.select(b.cmp("<", x, b.const(x.dtype, 0)), b.neg(x), x)


def square(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.mul(x, x)


def reciprocal(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.div(b.const(x.dtype, 1), x)


def sqrt(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.sqrt(x)


def sign(b: ScalarBuilder, x: Scalar) -> Scalar:
    """1, -1, +0 for either zero, and a NaN itself."""
    zero = b.const(x.dtype, 0)
    result = b.select(b.cmp("==", x, zero), zero, x)
    if x.dtype not in UNSIGNED:
        result = b.select(b.cmp("<", x, zero), b.const(x.dtype, -1), result)
    return b.select(b.cmp(">", x, zero), b.const(x.dtype, 1), result)


def copysign(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    return b.copysign(x, y)


# -- remainders of floats -----------------------------------------------------------------------

def fmod(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    return b.rem(x, y)


def float_remainder(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    zero = b.const(x.dtype, 0)
    mod = b.rem(x, y)
    wrong_sign = b.xor(b.cmp("<", y, zero), b.cmp("<", mod, zero))
    fixed = b.select(wrong_sign, b.add(mod, y), mod)
    fixed = b.select(b.cmp("==", mod, zero), b.copysign(zero, y), fixed)
    return b.select(b.cmp("==", y, zero), mod, fixed)


def float_floor_divide(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    zero, one, half = b.const(x.dtype, 0), b.const(x.dtype, 1), b.const(x.dtype, 0.5)
    mod = b.rem(x, y)
    quotient = b.div(b.sub(x, mod), y)
    wrong_sign = b.and_(b.cmp("!=", mod, zero), b.xor(b.cmp("<", y, zero), b.cmp("<", mod, zero)))
    quotient = b.select(wrong_sign, b.sub(quotient, one), quotient)
    floored = b.floor(quotient)
    floored = b.select(b.cmp(">", b.sub(quotient, floored), half), b.add(floored, one), floored)
    plain = b.div(x, y)
    floored = b.select(b.cmp("==", quotient, zero), b.copysign(zero, plain), floored)
    return b.select(b.cmp("==", y, zero), plain, floored)


# -- division of ints ---------------------------------------------------------------------------

def _safe_divisor(b: ScalarBuilder, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """A divisor that cannot trap, and where MIN is divided by -1.  Division by zero hands over."""
    zero, one = b.const(y.dtype, 0), b.const(y.dtype, 1)
    by_zero = b.cmp("==", y, zero)
    b.bail(by_zero)
    safe = b.select(by_zero, one, y)
    if x.dtype not in SIGNED:
        return safe, b.const("?", False)
    lowest = b.const(x.dtype, -(1 << (8 * ITEMSIZE[x.dtype] - 1)))
    overflow = b.and_(b.cmp("==", x, lowest), b.cmp("==", y, b.const(y.dtype, -1)))
    return b.select(overflow, one, safe), overflow


def int_floor_divide(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """Towards minus infinity; what NumPy reports hands over."""
    safe, overflow = _safe_divisor(b, x, y)
    quotient = b.div(x, safe)
    if x.dtype not in SIGNED:
        return quotient
    b.bail(overflow)
    zero = b.const(x.dtype, 0)
    inexact = b.cmp("!=", b.mul(quotient, safe), x)
    negative_quotient = b.xor(b.cmp("<", x, zero), b.cmp("<", safe, zero))
    return b.select(b.and_(inexact, negative_quotient), b.sub(quotient, b.const(x.dtype, 1)), quotient)


def int_remainder(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """With the divisor's sign."""
    safe, _ = _safe_divisor(b, x, y)        # MIN % -1 becomes MIN % 1, which is 0 as well
    mod = b.rem(x, safe)
    if x.dtype not in SIGNED:
        return mod
    zero = b.const(x.dtype, 0)
    wrong_sign = b.and_(b.cmp("!=", mod, zero), b.xor(b.cmp("<", mod, zero), b.cmp("<", safe, zero)))
    return b.select(wrong_sign, b.add(mod, safe), mod)


def int_fmod(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    """With the dividend's sign."""
    safe, _ = _safe_divisor(b, x, y)
    return b.rem(x, safe)


def _scale(numerator: float, denominator: float) -> Lowering:
    """By a quotient that is rounded in the dtype of the operand, as its parts are."""

    def scaled(b: ScalarBuilder, x: Scalar) -> Scalar:
        kind = np.dtype(x.dtype).type
        return b.mul(x, b.const(x.dtype, float(kind(numerator) / kind(denominator))))

    return scaled


def _with_half(pattern: str, lowering: Lowering) -> dict[str, Lowering]:
    """``f`` and ``d`` directly, ``e`` through ``f``."""
    return merge(each("fd", pattern, lowering), each("e", pattern, through_float(lowering)))


_SUM = frozenset({INVALID, OVER})
_SCALED = frozenset({OVER, UNDER})
_PRODUCT = frozenset({INVALID, OVER, UNDER})
_QUOTIENT = frozenset({INVALID, DIVIDE, OVER, UNDER})
_INVALID = frozenset({INVALID})

OPS = (
    Op("add", np.add, merge(
        each(INTS + "efd", "xx->x", add), each(COMPLEX, "xx->x", by_parts(add)),
        {"??->?": lambda b, x, y: b.or_(x, y)}), _SUM),
    Op("subtract", np.subtract, merge(
        each(INTS + "efd", "xx->x", subtract), each(COMPLEX, "xx->x", by_parts(subtract))), _SUM),
    Op("multiply", np.multiply, merge(
        each(INTS + "efd", "xx->x", multiply), {"??->?": lambda b, x, y: b.and_(x, y)}), _PRODUCT),
    Op("divide", np.divide, each("efd", "xx->x", divide), _QUOTIENT, cost=4),
    Op("negative", np.negative, merge(
        each(INTS + "efd", "x->x", negative), each(COMPLEX, "x->x", by_parts(negative)))),
    Op("positive", np.positive, each(INTS + "efdFD", "x->x", positive)),
    Op("conjugate", np.conjugate, merge(
        each(INTS + "efd", "x->x", positive), each(COMPLEX, "x->x", conjugate))),
    Op("absolute", np.absolute, merge(
        each(SIGNED, "x->x", int_absolute), each("efd", "x->x", fabs),
        each("?" + UNSIGNED, "x->x", positive)), complex_reports=frozenset({OVER})),
    Op("fabs", np.fabs, each("efd", "x->x", fabs)),
    Op("square", np.square, each(INTS + "efd", "x->x", square), _SCALED, complex_reports=_PRODUCT),
    Op("reciprocal", np.reciprocal, each("efd", "x->x", reciprocal), _SCALED | {DIVIDE},
       frozenset({DIVIDE, INVALID}), _QUOTIENT, cost=4),
    Op("sqrt", np.sqrt, each("efd", "x->x", sqrt), _INVALID, cost=5),
    Op("sign", np.sign, each(INTS + "efd", "x->x", sign), complex_reports=frozenset({OVER})),
    Op("copysign", np.copysign, each("efd", "xx->x", copysign)),
    Op("fmod", np.fmod, merge(each(INTS, "xx->x", int_fmod), _with_half("xx->x", fmod)),
       _INVALID, frozenset({DIVIDE}), cost=30),
    Op("remainder", np.remainder, merge(
        each(INTS, "xx->x", int_remainder), _with_half("xx->x", float_remainder)),
       _INVALID, frozenset({DIVIDE}), cost=30),
    Op("floor_divide", np.floor_divide, merge(
        each(INTS, "xx->x", int_floor_divide), _with_half("xx->x", float_floor_divide)),
       _QUOTIENT, frozenset({DIVIDE, OVER}), cost=30),
    Op("degrees", np.degrees, _with_half("x->x", _scale(180.0, math.pi)), _SCALED),
    Op("rad2deg", np.rad2deg, _with_half("x->x", _scale(180.0, math.pi)), _SCALED),
    Op("radians", np.radians, _with_half("x->x", _scale(math.pi, 180.0)), frozenset({UNDER})),
    Op("deg2rad", np.deg2rad, _with_half("x->x", _scale(math.pi, 180.0)), frozenset({UNDER})),
    Op("gcd", np.gcd, cost=60),
    Op("lcm", np.lcm, cost=60),
    Op("divmod", np.divmod, {}, _QUOTIENT, frozenset({DIVIDE, OVER}), cost=30),
)
