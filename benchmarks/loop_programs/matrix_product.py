"""The product of two matrices by three loops."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def matrix_product(a, b):
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p))
    for i in range(n):
        for j in range(p):
            for k in range(m):
                c[i, j] += a[i, k] * b[k, j]
    return c


FUNCTION = matrix_product


def arguments(scale=1.0):
    rng = np.random.default_rng(6)
    n = max(5, int(160 * scale ** (1 / 3)))
    return rng.standard_normal((n, n + 2)), rng.standard_normal((n + 2, n - 1))
