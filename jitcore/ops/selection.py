"""Choosing between operands: ``where``, ``clip``, ``heaviside``, parts of complex numbers.

Job: elementwise operations that move bits without computing.  ``where``, ``real`` and ``imag`` have no
ufunc; NumPy does them by copying, so that any bits pass unchanged.  Invariants: as in ``ops.op``.
Read by ``ops.table``.
"""
from __future__ import annotations

import math

import numpy as np

from jitcore.ops.builder import COMPLEX, DTYPES, INTS, PART, Scalar, ScalarBuilder
from jitcore.ops.op import Op, each, merge, through_float


def where(b: ScalarBuilder, cond: Scalar, x: Scalar, y: Scalar) -> Scalar:
    return b.select(cond, x, y)


def int_clip(b: ScalarBuilder, x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """The lower bound first: a lower above an upper gives the upper."""
    x = b.select(b.cmp("<", x, low), low, x)
    return b.select(b.cmp(">", x, high), high, x)


def uniform_clip(b: ScalarBuilder, x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """With scalar bounds: a value equal to a bound stays itself (zeros of other sign), a NaN bound gives NaN.
    With array bounds NumPy's answer for equal zeros is another; that runs as a block."""
    clipped = int_clip(b, x, low, high)
    clipped = b.select(b.isnan(high), high, clipped)
    return b.select(b.isnan(low), low, clipped)


def heaviside(b: ScalarBuilder, x: Scalar, at_zero: Scalar) -> Scalar:
    zero, one = b.const(x.dtype, 0), b.const(x.dtype, 1)
    result = b.select(b.cmp("<", x, zero), zero, one)
    result = b.select(b.cmp("==", x, zero), at_zero, result)
    return b.select(b.isnan(x), b.const(x.dtype, math.nan), result)


def real(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.real(x)


def imag(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.imag(x)


_CLIP: np.ufunc = vars(np._core.umath)["clip"]  # type: ignore[attr-defined]

OPS = (
    Op("where", None, each(DTYPES, "?xx->x", where), nin=3),
    Op("real", None, {f"{c}->{PART[c]}": real for c in COMPLEX}, nin=1),
    Op("imag", None, {f"{c}->{PART[c]}": imag for c in COMPLEX}, nin=1),
    Op("clip", _CLIP, each(INTS, "xxx->x", int_clip),
       uniform={f"{c}{c}{c}->{c}": (frozenset({1, 2}), uniform_clip) for c in "fd"}),
    Op("heaviside", np.heaviside, merge(
        each("fd", "xx->x", heaviside), each("e", "xx->x", through_float(heaviside)))),
)
