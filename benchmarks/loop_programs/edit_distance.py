"""The edit distance of two sequences of numbers, with the whole table."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def edit_distance(a, b):
    n, m = len(a), len(b)
    table = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        table[i, 0] = i
    for j in range(m + 1):
        table[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table[n, m]


FUNCTION = edit_distance


def arguments(scale=1.0):
    rng = np.random.default_rng(8)
    n = max(5, int(900 * scale**0.5))
    return rng.integers(0, 4, n), rng.integers(0, 4, n + 3)
