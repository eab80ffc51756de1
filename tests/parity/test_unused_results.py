"""Results that nothing reads: what their operations report or raise is seen all the same."""
from __future__ import annotations

import numpy as np
import pytest

import jitcore

from .compare import fresh_copy, same_call

ZEROS, ONES = np.array([1.0, 0.0, 3.0]), np.ones(3)


def beside_a_loop_that_clears_the_flags(x, y):
    w = x * 1.0
    _ = w / y
    return np.clip(w, w, w)


def of_strided_arrays(x, y):
    _ = np.exp2(x[::-1, ::-1] * 1000.0)
    return y == y, x.shape


def conversions_to_ints(x, y):
    _ = np.clip(x, y, x).astype("B")
    return x * 2.0


def conversions_to_half(x, y):
    return x.astype("e"), y


def behind_a_store(x, n):
    x[:1] *= 3.0
    _ = np.sqrt(n - 300)
    return x * 2.0


def lengths_before_a_complex_number(x, y, z):
    s = np.sum(y, axis=1)
    _ = s > x
    return s, z + np.True_


def complex_signs(x, y):
    return np.sign(x), y


@pytest.mark.parametrize("func, calls", [
    (beside_a_loop_that_clears_the_flags, [(ONES, ONES), (ZEROS, ZEROS)]),
    (of_strided_arrays, [(np.ones((1, 5), "f") / 100, ONES), (np.full((1, 5), 3e38, "f"), ONES)]),
    (conversions_to_ints, [(ONES, ONES), (np.array([1.0, np.inf, 3.0]), ONES), (np.array([1.0, 300.0, 3.0]), ONES)]),
    (conversions_to_half, [(np.arange(3, dtype="i"), 1), (np.full(3, 2147483647, "i"), 1), (np.full(3, 2**62), 1)]),
    (behind_a_store, [(ONES, 304), (ONES, 200)]),
    (lengths_before_a_complex_number, [
        (np.ones((4, 1), "l"), np.ones((4, 1), "?"), np.complex64(3)),
        (np.ones((5, 4), "l"), np.ones((5, 1), "?"), np.complex64(3))]),
    (complex_signs, [(np.array([1 + 1j, 2 + 0j], "F"), 1), (np.array([3e38 + 3e38j, 0j], "F"), 1)]),
])
def test_reports_of_unused_results(func, calls):
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for args in calls * 2:
        first, second = (tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args) for _ in "12")
        same_call(plain, fast, (first, {}), (second, {}), where=f"{func.__name__} of {args!r}")
    assert jitcore.stats(fast).native_calls > 0
