"""Both sides of a choice are computed, and reported, by NumPy: so must they be by compiled code."""
from __future__ import annotations

import numpy as np
import pytest

from .compare import check


def uniform(x, k):
    return np.where(k > 0, 1 / x, x)


def uniform_mod(x, k):
    return np.where(np.add.reduce(x) > 1e9, np.fmod(x, 3), x)


def masked_division(x, k):
    return np.where(x > 0, 1 / x, 0)


def masked_log(x, k):
    return np.where(x > 0, np.log(x), 0)


def masked_root(x, k):
    return np.where(x > 0, x, -np.sqrt(x))


def nested(x, k):
    return np.where(x > 0, np.where(x > 1, x / k, 1 / x), np.exp(x * k))


FUNCS = [uniform, uniform_mod, masked_division, masked_log, masked_root, nested]


@pytest.mark.parametrize("func", FUNCS)
@pytest.mark.parametrize("n", [1, 8, 17, 1003])
def test_reports(func, n):
    clean = np.linspace(0.5, 3, n)
    check(func, lambda: (clean.copy(), 0.5), ulp=8)
    for bad in (0.0, -1.0, np.inf, np.nan, -0.0, 1e308):
        for at in {0, n // 2, n - 1}:
            x = clean.copy()
            x[at] = bad
            for k in (0.5, -1.0, 0.0):
                check(func, lambda x=x, k=k: (x.copy(), k), ulp=8, native=None, calls=2)
