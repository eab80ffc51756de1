"""An array and its copies are arrays of their own, all of them filled."""
from __future__ import annotations

import numpy as np

from .compare import check


def one_copy(a):
    c = a * 2
    d = c.copy()
    return c, d


def copies(a):
    return a.copy(), a.copy(), a + 1, (a + 1).copy()


def copy_and_stores(a, n):
    c = a * 2
    d = c.copy()
    for i in range(n):
        c[i] = np.sum(c) + d[i]
    return c, d, c + d


def test_copies():
    check(one_copy, lambda: (np.arange(1.0, 900.0),))
    check(one_copy, lambda: (np.arange(12).reshape(3, 4).T,))
    check(copies, lambda: (np.arange(1.0, 900.0),))
    check(copies, lambda: (np.arange(12).reshape(3, 4)[:, ::2],))
    check(copy_and_stores, lambda: (np.arange(1.0, 6.0), 5))
    check(copy_and_stores, lambda: (np.arange(1.0, 6.0), 0))
