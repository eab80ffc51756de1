"""Insertion sort of an array in place, then a binary search for each query."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def insertion_sort(values):
    for i in range(1, len(values)):
        key = values[i]
        j = i - 1
        while j >= 0 and values[j] > key:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = key


def binary_search(values, x):
    low, high = 0, len(values) - 1
    while low <= high:
        middle = (low + high) // 2
        if values[middle] == x:
            return middle
        if values[middle] < x:
            low = middle + 1
        else:
            high = middle - 1
    return -1


def find_all(values, queries):
    insertion_sort(values)
    found = np.empty(len(queries), dtype=np.int64)
    for k in range(len(queries)):
        found[k] = binary_search(values, queries[k])
    return found


FUNCTION = find_all


def arguments(scale=1.0):
    rng = np.random.default_rng(4)
    n = max(12, int(3000 * scale**0.5))
    return rng.integers(0, 10 * n, n), rng.integers(0, 10 * n, 20 * n)
