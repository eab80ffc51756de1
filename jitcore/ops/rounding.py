"""Rounding to integers.

Job: declarations of NumPy's rounding ufuncs.  Invariants: as in ``ops.op``.  Read by ``ops.table``.
"""
from __future__ import annotations

import numpy as np

from jitcore.ops.builder import COMPLEX, INTS, Lowering, Scalar, ScalarBuilder
from jitcore.ops.op import Op, by_parts, each, merge


def _round(name: str) -> Lowering:
    def rounded(b: ScalarBuilder, x: Scalar) -> Scalar:
        return getattr(b, name)(x)

    return rounded


def _unchanged(b: ScalarBuilder, x: Scalar) -> Scalar:
    return x


def _rounding(name: str, ufunc: np.ufunc) -> Op:
    return Op(name, ufunc, merge(each("efd", "x->x", _round(name)), each("?" + INTS, "x->x", _unchanged)))


OPS = (
    _rounding("floor", np.floor),
    _rounding("ceil", np.ceil),
    _rounding("trunc", np.trunc),
    Op("rint", np.rint, merge(each("efd", "x->x", _round("rint")), each(COMPLEX, "x->x", by_parts(_round("rint"))))),
)
