"""Conversions between dtypes, as ``astype`` and a ufunc's operands make them.

Job: the lowering of each conversion, what it may report, and which are left to the interpreter.
Invariants: bits are NumPy's, or the lowering bails.  Used by the front end (reports) and the back ends.

A float that has no place in an int dtype bails: NumPy reports it as invalid (or, for some dtypes and
machines, gives whatever the instruction gives), and that is for NumPy to do.
"""
from __future__ import annotations

import numpy as np

from jitcore.ops.builder import (
    COMPLEX,
    DTYPES,
    FLOATS,
    INTS,
    ITEMSIZE,
    PART,
    SIGNED,
    Lowering,
    Scalar,
    ScalarBuilder,
)
from jitcore.ops.op import INVALID, NONE, OVER, UNDER


def cast_reports(source: np.dtype, target: np.dtype) -> frozenset[str]:
    """What NumPy may report: float to int ``invalid``, to a narrower float ``over`` and ``under``."""
    return _reports(source.char, target.char)


def cast_warns(source: np.dtype, target: np.dtype) -> bool:
    """Whether NumPy warns that an imaginary part is dropped: left to the interpreter."""
    return source.kind == "c" and target.kind not in "cb"


def _reports(source: str, target: str) -> frozenset[str]:
    source, target = PART.get(source, source), PART.get(target, target)
    if source in FLOATS and target not in FLOATS:
        return NONE if target == "?" else frozenset({INVALID})
    if source in FLOATS and ITEMSIZE[target] < ITEMSIZE[source]:
        return frozenset({OVER, UNDER})
    return frozenset({OVER}) if target == "e" and source in "HiIlLqQ" else NONE


def int_range(dtype: str) -> tuple[int, int]:
    """The least and the greatest value of an int dtype."""
    bits = 8 * ITEMSIZE[dtype]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if dtype in SIGNED else (0, (1 << bits) - 1)


def _float_to_int(b: ScalarBuilder, x: Scalar, dtype: str) -> Scalar:
    if x.dtype == "e":
        x = b.cast(x, "f")
    least, greatest = int_range(dtype)
    whole = b.trunc(x)
    fits = b.and_(b.cmp(">=", whole, b.const(x.dtype, float(least))),
                  b.cmp("<", whole, b.const(x.dtype, float(greatest + 1))))
    b.bail(b.not_(fits))
    return b.cast(b.select(fits, whole, b.const(x.dtype, 0)), dtype)


def double_to_half(b: ScalarBuilder, x: Scalar) -> Scalar:
    """Rounded once: to single with the last bit telling that something was cut off (round to odd), which
    leaves the second rounding to decide alone (Boldo and Melquiond, 2008)."""
    near = b.cast(x, "f")
    back = b.cast(near, "d")
    one, zero = b.const("I", 1), b.const("I", 0)
    bits = b.bits(near, "I")
    above = b.cmp(">", b.fabs(back), b.fabs(x))
    odd = b.or_(b.sub(bits, b.select(above, one, zero)), one)
    inexact = b.or_(b.cmp("<", back, x), b.cmp(">", back, x))       # neither for a NaN
    return b.cast(b.bits(b.select(inexact, odd, bits), "f"), "e")


def _convert(b: ScalarBuilder, x: Scalar, dtype: str) -> Scalar:
    if x.dtype in COMPLEX and dtype == "?":
        return b.cast(x, "?")
    if dtype in COMPLEX:
        part = PART[dtype]
        return b.make_complex(_convert(b, b.real(x), part), _convert(b, b.imag(x), part))
    if x.dtype in FLOATS and dtype in INTS:
        return _float_to_int(b, x, dtype)
    return b.cast(x, dtype)


def cast_lowering(source: str, target: str) -> Lowering | None:
    """The lowering from one dtype character to another; ``None`` where ``cast_warns`` or a dtype is unknown."""
    if source not in DTYPES or target not in DTYPES or (source in COMPLEX and target not in COMPLEX + "?"):
        return None

    def lowered(b: ScalarBuilder, x: Scalar) -> Scalar:
        return _convert(b, x, target)

    return lowered


def weak_lowering(source: str, target: str) -> Lowering | None:
    """For a weak scalar (``l``, ``d``, ``D``) that takes an operand's dtype: NumPy goes through a double, and a
    Python int outside of an int dtype's range is an error, so it bails."""
    if source == "l" and target in INTS:
        least, greatest = int_range(target)

        def checked(b: ScalarBuilder, x: Scalar) -> Scalar:
            if target not in "lL":
                b.bail(b.or_(b.cmp("<", x, b.const("l", least)), b.cmp(">", x, b.const("l", greatest))))
            elif target == "L":
                b.bail(b.cmp("<", x, b.const("l", 0)))
            return b.cast(x, target)

        return checked
    through = cast_lowering("d", target)
    if source == "l" and target in FLOATS + COMPLEX and through is not None:
        final = through

        def doubled(b: ScalarBuilder, x: Scalar) -> Scalar:
            return final(b, b.cast(x, "d"))

        return doubled
    return cast_lowering(source, target)
