"""Collatz sequences: the length of each, and the start of the longest."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def collatz(limit):
    lengths = np.zeros(limit, dtype=np.int64)
    longest = 1
    for start in range(1, limit):
        n = start
        steps = 1
        while n != 1:
            if n % 2 == 0:
                n //= 2
            else:
                n = 3 * n + 1
            steps += 1
        lengths[start] = steps
        if steps > lengths[longest]:
            longest = start
    return longest, lengths


FUNCTION = collatz


def arguments(scale=1.0):
    return (max(30, int(100_000 * scale)),)
