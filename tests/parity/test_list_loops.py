"""Loops over lists of run-time length, and comprehensions over what a loop can go over."""
from __future__ import annotations

import numpy as np
import pytest

from .compare import check

FLOATS = np.random.default_rng(4).normal(size=40)


def walked(n):
    items = [i * i for i in range(n)]
    total = 0
    for x in items:
        total += x
    return total


def numbered(n):
    items = [i * 0.5 for i in range(n)]
    total = 0.0
    for k, x in enumerate(items, 1):
        total += k * x
    for x in reversed(items):
        total = total * 0.5 + x
    return total


def zipped(n):
    a, b = list(range(n)), [1.5] * (n + 1)
    out = []
    for x, y in zip(a, b):
        out.append(x * y)
    return out, [x + y for x, y in zip(a, b)]


def rows(n, m):
    grid = [[i * j for j in range(m)] for i in range(n)]
    total = 0
    for row in grid:
        for value in row:
            total += value
    widths = [len(row) for row in grid]
    return total, widths, [value for row in grid for value in row]


def growing_while_walked(n):
    items = [1] * n
    for x in items:
        if len(items) < 2 * n:
            items.append(x + 1)
    return items


def shrinking_while_walked(n):
    items = list(range(n))
    seen = []
    for x in items:
        seen.append(x)
        if x % 2:
            items.pop()
    return items, seen


def failing_midway(n, k):
    items = list(range(n))
    out = []
    for x in items:
        out.append(10 // (x - k))
    return out


def leaving_midway(n, k):
    items = list(range(n))
    total = 0
    try:
        for i, x in enumerate(items):
            for y in reversed(items):
                total += i * y // (x - k)
    except ZeroDivisionError:
        total = -total
    return total


def of_array(a):
    return [x * 2 for x in a], [float(x) for x in a if x > 0]


def of_array_pairs(a, b):
    return [x * y for x, y in zip(a, b)], [i * float(x) for i, x in enumerate(a)]


def transposed(n, m):
    grid = [[i + 10 * j for j in range(m)] for i in range(n)]
    return [[row[j] for row in grid] for j in range(m)]


@pytest.mark.parametrize("n", [0, 1, 5, 50])
@pytest.mark.parametrize("func", [walked, numbered, zipped, growing_while_walked, shrinking_while_walked])
def test_loops(func, n):
    check(func, lambda: (n,))


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (1, 1), (4, 40), (40, 4)])
@pytest.mark.parametrize("func", [rows, transposed])
def test_rows(func, shape):
    check(func, lambda: shape)


@pytest.mark.parametrize("k", [0, 3, 6, 99])
@pytest.mark.parametrize("func", [failing_midway, leaving_midway])
def test_leaving_in_the_middle(func, k):
    check(func, lambda: (7, k), native=None)


@pytest.mark.parametrize("a", [FLOATS, FLOATS[:0], np.arange(5)], ids=["floats", "empty", "ints"])
def test_comprehensions_over_arrays(a):
    check(of_array, lambda: (a,))
    check(of_array_pairs, lambda: (a, a[::-1]))


# -- generator expressions that are used up at once ---------------------------------------------------------
def sums(n):
    return sum(i * i for i in range(n)), sum((i * 0.1 for i in range(n)), 0.0), sum(i % 3 == 0 for i in range(n))


def extremes(n):
    return max(i * (7 - i) for i in range(n)), min(i * 0.5 - 3 for i in range(n)), list(i + 1 for i in range(n))  # noqa: C400


def quantified(n, k):
    return any(i == k for i in range(n)), all(i != k for i in range(n)), any(i - k for i in range(n) if i % 2)


def stopped_early(n, k):
    return any(10 // (i - k) > 2 for i in range(n)), all(i * i >= 0 for i in range(k))


def has_divisor(n):
    return [k for k in range(2, n) if all(k % d for d in range(2, k))]


def ordered(n):
    return sorted(i * 7 % 5 for i in range(n))


@pytest.mark.parametrize("n", [1, 5, 50])
@pytest.mark.parametrize("func", [sums, extremes, ordered, has_divisor])
def test_generator_expressions(func, n):
    check(func, lambda: (n,))


@pytest.mark.parametrize("n, k", [(0, 0), (9, 0), (9, 5), (9, 8), (50, 60)])
def test_quantifiers(n, k):
    check(quantified, lambda: (n, k))
    check(stopped_early, lambda: (n, k), native=None)
