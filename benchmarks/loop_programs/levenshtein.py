"""Levenshtein's distance of two byte strings, a row of the table at a time, in lists."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def levenshtein(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a):
        current = [i + 1]
        for j, y in enumerate(b):
            cost = 0 if x == y else 1
            current.append(min(previous[j + 1] + 1, current[j] + 1, previous[j] + cost))
        previous = current
    return previous[-1]


FUNCTION = levenshtein


def arguments(scale=1.0):
    rng = np.random.default_rng(13)
    n = max(6, int(1300 * scale**0.5))
    return rng.integers(97, 101, n).astype(np.uint8).tobytes(), rng.integers(97, 101, n + 4).astype(np.uint8).tobytes()
