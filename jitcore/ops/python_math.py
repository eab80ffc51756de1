"""The functions of Python's ``math`` module.

Job: overloads for those that CPython takes from the C library, with the same function, so that the bits
are the same; and when CPython raises instead.  Not here, as CPython has algorithms of its own for them:
``gamma``, ``lgamma``, ``hypot`` and ``dist``, ``fsum``.  Invariants: see ``ops.python``.  Read by ``ops.python``.
"""
from __future__ import annotations

import math
from collections.abc import Callable

from jitcore.ops.builder import Scalar, ScalarBuilder
from jitcore.ops.python_compare import whole_to_int
from jitcore.ops.python_op import (
    Outcome,
    Overload,
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


def _checked(b: ScalarBuilder, result: Scalar, *args: Scalar) -> Outcome:
    """Not ok: a NaN from operands without one (ValueError), an infinity from finite ones (OverflowError or
    ValueError)."""
    numbers = all_of(b, *(b.not_(b.isnan(a)) for a in args))
    finite = all_of(b, *(is_finite(b, a) for a in args))
    bad = b.or_(b.and_(b.isnan(result), numbers), b.and_(is_inf(b, result), finite))
    return result, b.not_(bad)


def _libm(name: str) -> PyLowering:
    def lowered(b: ScalarBuilder, *args: Scalar) -> Outcome:
        return _checked(b, b.call_libm(name, *args), *args)

    return lowered


def _sqrt(b: ScalarBuilder, x: Scalar) -> Outcome:
    """Only a number below zero has no root."""
    return b.sqrt(x), b.not_(b.cmp("<", x, b.const("d", 0.0)))


def _fmod(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    return _checked(b, b.rem(x, y), x, y)


def _log1p(b: ScalarBuilder, x: Scalar) -> Outcome:
    result, ok = _checked(b, b.call_libm("log1p", x), x)
    return b.select(b.cmp("==", x, b.const("d", 0.0)), x, result), ok


def _log_base(b: ScalarBuilder, x: Scalar, base: Scalar) -> Outcome:
    above, ok_above = _checked(b, b.call_libm("log", x), x)
    below, ok_below = _checked(b, b.call_libm("log", base), base)
    assert ok_above is not None and ok_below is not None
    return b.div(above, below), all_of(b, ok_above, ok_below, is_nonzero(b, below))


def _pow(b: ScalarBuilder, x: Scalar, y: Scalar) -> Outcome:
    return _checked(b, b.call_libm("pow", x, y), x, y)


def _modf_whole(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.trunc(x)


def _modf_fraction(b: ScalarBuilder, x: Scalar) -> Scalar:
    """Exact, with the sign of ``x``; that of an infinity is zero."""
    zero = b.const("d", 0.0)
    return b.copysign(b.select(is_inf(b, x), zero, b.sub(x, b.trunc(x))), x)


def _isqrt(b: ScalarBuilder, x: Scalar) -> Outcome:
    """The root of the nearest double is off by one at most; squares are compared in 64 bits without a sign."""
    root = b.cast(b.trunc(b.sqrt(b.fabs(b.cast(x, "d")))), "L")
    one, square = b.const("L", 1), b.bits(x, "L")
    root = b.select(b.cmp(">", b.mul(root, root), square), b.sub(root, one), root)
    above = b.add(root, one)
    root = b.select(b.cmp("<=", b.mul(above, above), square), above, root)
    return b.bits(root, "l"), b.cmp(">=", x, b.const("l", 0))


def _whole(name: str) -> PyLowering:
    def lowered(b: ScalarBuilder, x: Scalar) -> Outcome:
        return whole_to_int(b, getattr(b, name)(x))

    return lowered


def _emit(name: str) -> Callable[..., Scalar]:
    def lowered(b: ScalarBuilder, *args: Scalar) -> Scalar:
        return getattr(b, name)(*args)

    return lowered


def _scale(factor: float) -> Callable[..., Scalar]:
    def lowered(b: ScalarBuilder, x: Scalar) -> Scalar:
        return b.mul(x, b.const("d", factor))

    return lowered


def _op(name: str, **overloads: Overload) -> PyOp:
    return PyOp(f"math.{name}", getattr(math, name), overloads, "ints" if name == "isqrt" else "all")


#: ``math`` functions of one float that are one call of the C library's function of the same name.
_SAME_NAME = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2",
              "expm1", "log", "log10", "log2", "sin", "sinh", "tan", "tanh")

OPS = (
    *(_op(name, d=unsure("d", _libm(name))) for name in _SAME_NAME),
    _op("log1p", d=unsure("d", _log1p)),
    PyOp("math.log_base", math.log, {"dd": unsure("d", _log_base)}),
    _op("sqrt", d=unsure("d", _sqrt)),
    _op("pow", dd=unsure("d", _pow)),
    _op("atan2", dd=unsure("d", _libm("atan2"))),
    _op("fmod", dd=unsure("d", _fmod)),
    _op("fabs", d=sure("d", _emit("fabs"))),
    _op("copysign", dd=sure("d", _emit("copysign"))),
    PyOp("math.modf_whole", lambda x: math.modf(x)[1], {"d": sure("d", _modf_whole)}),
    PyOp("math.modf_fraction", lambda x: math.modf(x)[0], {"d": sure("d", _modf_fraction)}),
    _op("isqrt", l=unsure("l", _isqrt)),
    _op("degrees", d=sure("d", _scale(180.0 / math.pi))),
    _op("radians", d=sure("d", _scale(math.pi / 180.0))),
    _op("isnan", d=sure("?", _emit("isnan"))),
    _op("isinf", d=sure("?", is_inf)),
    _op("isfinite", d=sure("?", is_finite)),
    *(PyOp(f"math.{name}", getattr(math, name), {"l": sure("l", same), "d": unsure("l", _whole(name))}, "ints")
      for name in ("floor", "ceil", "trunc")),
)
