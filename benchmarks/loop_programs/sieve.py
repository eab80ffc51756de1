"""The sieve of Eratosthenes, and the primes that it leaves."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def sieve(n):
    composite = np.zeros(n + 1, dtype=np.bool_)
    count = 0
    for i in range(2, n + 1):
        if not composite[i]:
            count += 1
            for j in range(i * i, n + 1, i):
                composite[j] = True
    primes = np.empty(count, dtype=np.int64)
    k = 0
    for i in range(2, n + 1):
        if not composite[i]:
            primes[k] = i
            k += 1
    return primes


FUNCTION = sieve


def arguments(scale=1.0):
    return (max(50, int(4_000_000 * scale)),)
