"""Orders: in memory, where ufuncs, copies and conversions each have NumPy's own rule, and of additions."""
from __future__ import annotations

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, same

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


def converted(x):
    return x.sum(dtype=np.float32), np.add.reduce(x * 3.0, dtype=np.float32)


def test_buffers_of_other_sizes():
    """Where NumPy converts elements in buffers, ``np.setbufsize`` decides in which order they are added."""
    plain, fast = fresh_copy(converted), jitcore.accelerate(fresh_copy(converted))
    x = np.random.default_rng(0).integers(-10**9, 10**9, 40_001)
    before, seen = np.getbufsize(), set()
    try:
        for size in (before, 16, 160, 20_000, before):
            np.setbufsize(size)
            want, have = plain(x), fast(x)
            same(want, have)
            seen.add(want)
    finally:
        np.setbufsize(before)
    assert len(seen) > 2 and jitcore.stats(fast).native_calls == 5
