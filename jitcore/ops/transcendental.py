"""Exponentials, logarithms, trigonometry: inline through the back end's vector functions.

Job: declarations of the ufuncs that are not exact.  Their inline lowering is within the bound that the
documentation states; ``precision="numpy"`` takes the block way instead.  Invariants: as in ``ops.op``.
Read by ``ops.table``.
"""
from __future__ import annotations

import numpy as np

from jitcore.ops.builder import Lowering, Scalar, ScalarBuilder
from jitcore.ops.op import ALL_REPORTS, DIVIDE, INVALID, NONE, OVER, UNDER, Op, each, merge, through_float


def _function(libm: str) -> Lowering:
    def lowered(b: ScalarBuilder, *args: Scalar) -> Scalar:
        return b.call_math(libm, *args)

    return lowered


def _op(ufunc: np.ufunc, libm: str, *reports: str, cost: int = 20) -> Op:
    pattern = "x->x" if ufunc.nin == 1 else "xx->x"
    lowering = _function(libm)
    return Op(ufunc.__name__, ufunc,
              merge(each("fd", pattern, lowering), each("e", pattern, through_float(lowering))),
              frozenset(reports), complex_reports=ALL_REPORTS, exact=False, cost=cost, libm=libm)


OPS = (
    _op(np.exp, "exp", OVER, UNDER),
    _op(np.exp2, "exp2", OVER, UNDER),
    _op(np.expm1, "expm1", OVER),
    _op(np.log, "log", DIVIDE, INVALID),
    _op(np.log2, "log2", DIVIDE, INVALID),
    _op(np.log10, "log10", DIVIDE, INVALID),
    _op(np.log1p, "log1p", DIVIDE, INVALID),
    _op(np.sin, "sin", INVALID),
    _op(np.cos, "cos", INVALID),
    _op(np.tan, "tan", INVALID),
    _op(np.arcsin, "asin", INVALID),
    _op(np.arccos, "acos", INVALID),
    _op(np.arctan, "atan"),
    _op(np.sinh, "sinh", OVER),
    _op(np.cosh, "cosh", OVER),
    _op(np.tanh, "tanh"),
    _op(np.arcsinh, "asinh"),
    _op(np.arccosh, "acosh", INVALID),
    _op(np.arctanh, "atanh", DIVIDE, INVALID),
    _op(np.cbrt, "cbrt"),
    _op(np.arctan2, "atan2", UNDER, cost=40),
    _op(np.hypot, "hypot", OVER, UNDER, cost=30),
    # Sums of logarithms of exponentials have no counterpart in C: block.
    Op("logaddexp", np.logaddexp, {}, frozenset({OVER, INVALID}), cost=60),
    Op("logaddexp2", np.logaddexp2, {}, frozenset({OVER, INVALID}), cost=60),
    Op("spacing", np.spacing, {}, frozenset({INVALID, OVER}), cost=10),
    Op("nextafter", np.nextafter, {}, frozenset({OVER, UNDER}), cost=10),
    Op("ldexp", np.ldexp, {}, frozenset({OVER, UNDER}), cost=20),
    Op("frexp", np.frexp, {}, NONE, cost=20),
    Op("modf", np.modf, {}, NONE, cost=20),
)
