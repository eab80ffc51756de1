"""Memory order of results: ufuncs, copies and conversions each have NumPy's own rule."""
from __future__ import annotations

import numpy as np
import pytest

from .compare import check

B = np.arange(24.0).reshape(4, 6)
CUBE = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
INPUTS = [
    B, B.T, np.asfortranarray(B), B[::-1, ::-2], B[1:3, ::3], np.broadcast_to(np.arange(1.0, 4), (4, 3)),
    np.broadcast_to(np.arange(1.0, 4)[:, None], (3, 4)), CUBE, CUBE[:, ::-1], B[:, 2:3], B[1:-1, 1:-1],
    np.broadcast_to(np.float64(1), (3, 4)),
]


def elementwise(a):
    return a + 1, a * a.T.T, np.where(a > 0, a, 0), np.clip(a, 0, 3)


def copies(a):
    return np.array(a), a.copy("K"), a.copy(), a.ravel("K") * 1


def conversions(a):
    return a.astype("f4"), (a * 1).astype("i4"), np.array(a, dtype="f4") + 1, np.asarray(a, dtype="i4")


def mixed(a):
    return np.array(a) + a, a.astype("f4") * a


def like(a):
    return np.zeros_like(a), np.full_like(a, 2), np.ones_like(a) + a


@pytest.mark.parametrize("func", [elementwise, copies, conversions, mixed, like])
def test_orders(func):
    native = sum(check(func, lambda a=a: (a,), native=None).native_calls for a in INPUTS)
    assert native > 0
