"""Prefix sums, and with them the best contiguous stretch."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def prefix_sums(values):
    sums = np.empty_like(values)
    total = 0.0
    lowest = 0.0
    best = values[0]
    for i in range(len(values)):
        total += values[i]
        sums[i] = total
        best = max(best, total - lowest)
        lowest = min(lowest, total)
    return sums, best


FUNCTION = prefix_sums


def arguments(scale=1.0):
    return (np.random.default_rng(5).standard_normal(max(10, int(1_500_000 * scale))),)
