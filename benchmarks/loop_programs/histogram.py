"""A histogram by hand: how many values fall into each bin, and how many into none."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def histogram(values, low, high, bins):
    counts = np.zeros(bins, dtype=np.int64)
    outside = 0
    width = (high - low) / bins
    for x in values:
        if x < low or x >= high:
            outside += 1
            continue
        counts[int((x - low) / width)] += 1
    return counts, outside


FUNCTION = histogram


def arguments(scale=1.0):
    return np.random.default_rng(12).standard_normal(max(20, int(1_500_000 * scale))), -3.0, 3.0, 64
