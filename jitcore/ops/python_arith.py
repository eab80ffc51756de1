"""Python's arithmetic on ``bool``, ``int``, ``float`` and ``complex``.

Job: overloads for the number operators.  Invariants: see ``ops.python``.  Read by ``ops.python``.
"""
from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from jitcore.ops import arithmetic
from jitcore.ops.builder import Scalar, ScalarBuilder
from jitcore.ops.python_op import (
    MIN,
    Outcome,
    PyLowering,
    PyOp,
    all_of,
    is_finite,
    is_inf,
    is_nonzero,
    same,
    sure,
    unsure,
)


def _int_arith(op: str) -> PyLowering:
    def lowered(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
        result, overflow = b.overflowing(op, x, y)
        return result, b.not_(overflow)

    return lowered


def _complex_multiply(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    a, c, d, e = b.real(x), b.imag(x), b.real(y), b.imag(y)
    return b.make_complex(b.sub(b.mul(a, d), b.mul(c, e)), b.add(b.mul(a, e), b.mul(c, d)))


def _by_parts(name: str) -> Callable[..., Scalar]:
    def lowered(b: ScalarBuilder, *args: Scalar) -> Scalar:
        emit = getattr(b, name)
        return b.make_complex(emit(*(b.real(a) for a in args)), emit(*(b.imag(a) for a in args)))

    return lowered


def _arith(name: str, function: Callable[..., object], floats: Callable[..., Scalar],
           complexes: Callable[..., Scalar]) -> PyOp:
    return PyOp(name, function, {"ll": unsure("l", _int_arith(name)), "dd": sure("d", floats),
                                 "DD": sure("D", complexes)})


def _int_truediv(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    """Exact operands of at most 53 bits: then the quotient of the doubles is the rounded quotient."""
    limit, bound = b.const("L", 1 << 53), b.const("L", 1 << 54)

    def exact(v: Scalar) -> Scalar:
        return b.cmp("<=", b.add(b.bits(v, "L"), limit), bound)

    result = b.div(b.cast(x, "d"), b.cast(y, "d"))
    return result, all_of(b, is_nonzero(b, y), exact(x), exact(y))


def _float_truediv(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    return b.div(x, y), is_nonzero(b, y)


def _guarded_divisor(b: ScalarBuilder, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """A divisor that cannot trap, whether the real one is not 0, and whether the quotient fits."""
    zero, one = b.const("l", 0), b.const("l", 1)
    nonzero = b.cmp("!=", y, zero)
    wraps = b.and_(b.cmp("==", x, b.const("l", MIN)), b.cmp("==", y, b.const("l", -1)))
    safe = b.select(b.and_(nonzero, b.not_(wraps)), y, one)
    return safe, nonzero, b.not_(wraps)


def _int_floordiv(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    safe, nonzero, fits = _guarded_divisor(b, x, y)
    zero = b.const("l", 0)
    quotient = b.div(x, safe)
    down = b.and_(b.cmp("!=", b.mul(quotient, safe), x), b.xor(b.cmp("<", x, zero), b.cmp("<", safe, zero)))
    return b.select(down, b.sub(quotient, b.const("l", 1)), quotient), b.and_(nonzero, fits)


def _int_mod(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    safe, nonzero, _ = _guarded_divisor(b, x, y)        # MIN % -1 is MIN % 1: 0
    zero = b.const("l", 0)
    mod = b.rem(x, safe)
    wrong = b.and_(b.cmp("!=", mod, zero), b.xor(b.cmp("<", mod, zero), b.cmp("<", safe, zero)))
    return b.select(wrong, b.add(mod, safe), mod), nonzero


def _float_floordiv(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    return arithmetic.float_floor_divide(b, x, y), is_nonzero(b, y)


def _float_mod(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    return arithmetic.float_remainder(b, x, y), is_nonzero(b, y)


def _int_pow(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    """Six squarings reach every exponent that a base beyond 1 can have in 64 bits."""
    zero, one = b.const("l", 0), b.const("l", 1)
    result, base = one, x
    bad = base_bad = b.const("?", False)
    for step in range(6):
        bit = b.cast(b.and_(b.shr(y, b.const("l", step)), one), "?")
        product, overflow = b.overflowing("mul", result, base)
        bad = b.or_(bad, b.and_(bit, b.or_(overflow, base_bad)))
        result = b.select(bit, product, result)
        base, overflow = b.overflowing("mul", base, base)
        base_bad = b.or_(base_bad, overflow)
    small_base = b.cmp("<=", b.add(b.bits(x, "L"), b.const("L", 1)), b.const("L", 2))
    small = b.or_(b.cmp("<", y, b.const("l", 64)), small_base)
    result = b.select(b.and_(b.cmp("==", x, zero), b.cmp(">", y, zero)), zero, result)
    return result, all_of(b, b.cmp(">=", y, zero), small, b.not_(bad))


def float_pow(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    """C99's ``pow``.  Not ok: a negative base to a fraction, zero to a negative power, overflow."""
    zero = b.const("d", 0.0)
    result = b.call_libm("pow", x, y)
    finite = b.and_(is_finite(b, x), is_finite(b, y))
    fraction = b.and_(b.cmp("<", x, zero), b.cmp("!=", b.floor(y), y))
    pole = b.and_(b.cmp("==", x, zero), b.cmp("<", y, zero))
    bad = b.or_(b.or_(fraction, pole), is_inf(b, result))
    return result, b.not_(b.and_(finite, bad))


def _c_pow(x: float, y: float) -> float:
    """What C's ``pow`` gives where Python raises: an infinity or NaN."""
    with np.errstate(all="ignore"):
        return float(np.float64(x) ** np.float64(y))


# -- signs and bits -------------------------------------------------------------------------------

def _int_neg(b: ScalarBuilder, x: Scalar) -> Outcome:
    return b.neg(x), b.cmp("!=", x, b.const("l", MIN))


def _int_abs(b: ScalarBuilder, x: Scalar) -> Outcome:
    return arithmetic.int_absolute(b, x), b.cmp("!=", x, b.const("l", MIN))


def _complex_abs(b: ScalarBuilder, x: Scalar) -> Outcome:
    result = b.call_libm("hypot", b.real(x), b.imag(x))
    finite = b.and_(is_finite(b, b.real(x)), is_finite(b, b.imag(x)))
    return result, b.not_(b.and_(finite, is_inf(b, result)))


def _lshift(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    zero = b.const("l", 0)
    inside = b.cmp("<", b.bits(y, "L"), b.const("L", 64))
    amount = b.select(inside, y, zero)
    shifted = b.shl(x, amount)
    kept = b.and_(inside, b.cmp("==", b.shr(shifted, amount), x))
    nothing = b.and_(b.cmp("==", x, zero), b.cmp(">=", y, zero))
    return shifted, b.or_(kept, nothing)


def _rshift(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    last, nonnegative = b.const("l", 63), b.cmp(">=", y, b.const("l", 0))
    inside = b.cmp("<", b.bits(y, "L"), b.const("L", 64))
    return b.shr(x, b.select(inside, y, last)), nonnegative


def _bits(name: str, emit: str, function: Callable[..., object]) -> PyOp:
    def lowered(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        return getattr(b, emit)(x, y)

    return PyOp(name, function, {"??": sure("?", lowered), "ll": sure("l", lowered)}, "ints")


def _float_op(name: str) -> Callable[..., Scalar]:
    def lowered(b: ScalarBuilder, *args: Scalar) -> Scalar:
        return getattr(b, name)(*args)

    return lowered


def _complex_truediv(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    """Smith's method, as CPython up to 3.13 divides: by the larger part of the divisor.  Not ok: a divisor of 0."""
    a, c, d, e = b.real(x), b.imag(x), b.real(y), b.imag(y)
    by_real = b.cmp(">=", b.fabs(d), b.fabs(e))
    by_imag = b.cmp(">=", b.fabs(e), b.fabs(d))
    large, small = b.select(by_real, d, e), b.select(by_real, e, d)
    ratio = b.div(small, large)
    whole = b.add(large, b.mul(small, ratio))
    re = b.select(by_real, b.add(a, b.mul(c, ratio)), b.add(b.mul(a, ratio), c))
    im = b.select(by_real, b.sub(c, b.mul(a, ratio)), b.sub(b.mul(c, ratio), a))
    ordered, nan = b.or_(by_real, by_imag), b.const("d", float("nan"))
    quotient = b.make_complex(b.select(ordered, b.div(re, whole), nan), b.select(ordered, b.div(im, whole), nan))
    return quotient, b.or_(is_nonzero(b, d), is_nonzero(b, e))


def _bit_count(b: ScalarBuilder, x: Scalar) -> Scalar:
    """Of the absolute value, which has a place in 64 bits without a sign."""
    return b.bits(b.popcount(b.bits(arithmetic.int_absolute(b, x), "L")), "l")


def _bit_length(b: ScalarBuilder, x: Scalar) -> Scalar:
    value = b.bits(arithmetic.int_absolute(b, x), "L")
    for step in (1, 2, 4, 8, 16, 32):
        value = b.or_(value, b.shr(value, b.const("L", step)))
    return b.bits(b.popcount(value), "l")


def _is_integer(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.and_(is_finite(b, x), b.cmp("==", b.floor(x), x))


def _conjugate(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.make_complex(b.real(x), b.neg(b.imag(x)))


OPS = (
    _arith("add", operator.add, _float_op("add"), _by_parts("add")),
    _arith("sub", operator.sub, _float_op("sub"), _by_parts("sub")),
    _arith("mul", operator.mul, _float_op("mul"), _complex_multiply),
    PyOp("truediv", operator.truediv, {"ll": unsure("d", _int_truediv), "dd": unsure("d", _float_truediv),
                                       "DD": unsure("D", _complex_truediv)}),
    PyOp("floordiv", operator.floordiv, {"ll": unsure("l", _int_floordiv), "dd": unsure("d", _float_floordiv)}),
    PyOp("mod", operator.mod, {"ll": unsure("l", _int_mod), "dd": unsure("d", _float_mod)}),
    PyOp("pow", operator.pow, {"ll": unsure("l", _int_pow), "dd": unsure("d", float_pow)}),
    PyOp("c.pow", _c_pow, {"dd": sure("d", lambda b, x, y: b.call_libm("pow", x, y))}, "no"),
    PyOp("neg", operator.neg, {"l": unsure("l", _int_neg), "d": sure("d", _float_op("neg")),
                               "D": sure("D", _by_parts("neg"))}, "ints"),
    PyOp("pos", operator.pos, {"l": sure("l", same), "d": sure("d", same), "D": sure("D", same)}, "ints"),
    PyOp("abs", abs, {"l": unsure("l", _int_abs), "d": sure("d", _float_op("fabs")),
                      "D": unsure("d", _complex_abs)}, "ints"),
    # ~True warns from 3.12 on: left to the interpreter.
    PyOp("invert", operator.invert, {"l": sure("l", _float_op("not_"))}, "no"),
    _bits("and", "and_", operator.and_),
    _bits("or", "or_", operator.or_),
    _bits("xor", "xor", operator.xor),
    PyOp("lshift", operator.lshift, {"ll": unsure("l", _lshift)}, "ints"),
    PyOp("rshift", operator.rshift, {"ll": unsure("l", _rshift)}, "ints"),
    PyOp("conjugate", lambda x: x.conjugate(), {"l": sure("l", same), "d": sure("d", same),
                                                "D": sure("D", _conjugate)}, "ints"),
    PyOp("real", lambda x: x.real, {"l": sure("l", same), "d": sure("d", same), "D": sure("d", _float_op("real"))},
         "ints"),
    PyOp("imag", lambda x: x.imag, {"D": sure("d", _float_op("imag"))}, "no"),
    PyOp("bit_length", int.bit_length, {"l": sure("l", _bit_length)}, "ints"),
    PyOp("bit_count", int.bit_count, {"l": sure("l", _bit_count)}, "ints"),
    PyOp("is_integer", float.is_integer, {"d": sure("?", _is_integer)}, "no"),
)
