"""Operations on whole lists of run-time length: slices, joins, searches, sums, comprehensions, arrays."""
from __future__ import annotations

import numpy as np
import pytest

from .compare import check

FLOATS = np.random.default_rng(3).normal(size=40)


# -- whole lists ------------------------------------------------------------------------------------------
def slices(n, a, b):
    out = list(range(n))
    return out[a:b], out[:a], out[b:], out[::2], out[::-1], out[a:b:3], out[b:a:-2], out[:], out[-3:]


def joined(n):
    a, b = [1] * n, list(range(n))
    c = a + b
    c += b
    c.extend([7, 8])
    c *= 1
    return c, a + [5], [5] + a, c * 2, c == a, a == a, a + b == [1] * n + b


def methods(n):
    out = list(range(n))
    out.insert(1, 50)
    out.insert(-1, 51)
    out.insert(99, 52)
    out.reverse()
    other = out.copy()
    other.append(1)
    del out[0]
    out.extend(out)
    out.sort()
    other.sort(reverse=True)
    return out, other, other.count(1), other.index(52), len(other)


def removed(n):
    out = list(range(n))
    del out[1:3]
    a = out.pop(0)
    b = out.pop(-2)
    out.clear()
    out.append(3)
    return out, a, b


def questions(n):
    ints, floats, bools = list(range(n)), [], []
    for i in range(n):
        floats.append((i * 7 % 5) - 1.5)
        bools.append(i == 3)
    return (sum(ints), sum(floats, 0.5), max(ints), min(floats), max(floats), any(bools), all(bools), any(floats),
            sum(bools), sum(ints, 5), sorted(floats), sorted(ints, reverse=True), len(bools))


def contained(n, k):
    out = list(range(n))
    return k in out, -1 in out, k not in out


def found_in(n, k):
    seen = []
    for i in range(n):
        j = i * i % 7
        if j in seen:
            continue
        seen.append(j)
    return seen, bool(seen), not seen


@pytest.mark.parametrize("n", [33, 40, 64])
@pytest.mark.parametrize("func", [joined, methods, removed, questions])
def test_whole_lists(func, n):
    check(func, lambda: (n,))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("func", [joined, methods, removed, questions])
def test_short_lists(func, n):
    check(func, lambda: (n,), native=None)


@pytest.mark.parametrize("n", [0, 1, 40])
@pytest.mark.parametrize("limits", [(0, 5), (-3, 10**30), (2, -2), (7, 3), (-99, 99)])
def test_slices(n, limits):
    check(slices, lambda: (n, *limits), native=None)


def test_containment():
    check(contained, lambda: (40, 7))
    check(found_in, lambda: (30, 2))


def test_sums_of_floats_are_as_in_this_python():
    def total(a):
        out = []
        for i in range(len(a)):
            out.append(float(a[i]))
        return sum(out)
    rng = np.random.default_rng(8)
    for _ in range(20):
        a = rng.normal(size=50) * 10.0 ** rng.integers(-20, 20, size=50)
        check(total, lambda a=a: (a,))
    for special in ([np.inf, 1.0], [-np.inf, np.inf], [np.nan, 1.0], [-0.0, -0.0], [1e308, 1e308, -1e308], [-0.0]):
        check(total, lambda s=special: (np.array(s),))
    check(total, lambda: (np.empty(0),), native=None)


# -- comprehensions -----------------------------------------------------------------------------------------
def squares(n):
    return [i * i for i in range(n)]


def filtered(a, n):
    return [float(a[i]) for i in range(n) if a[i] > 0]


def nested(n, m):
    return [[i * j for j in range(m)] for i in range(n)]


def flat(n):
    return [i * j for i in range(n) for j in range(i)]


def shadowed(n):
    i = 5
    out = [i * 2 for i in range(n)]
    return out, i


def failing_inside(n, k):
    i = 3
    out = [10 // (i - k) for i in range(n)]
    return out, i


@pytest.mark.parametrize("n", [0, 1, 5, 50])
@pytest.mark.parametrize("func", [squares, flat, shadowed])
def test_comprehensions(func, n):
    check(func, lambda: (n,))


@pytest.mark.parametrize("shape", [(0, 0), (1, 3), (5, 4), (40, 0)])
def test_nested_comprehensions(shape):
    check(nested, lambda: shape)


def test_filters():
    check(filtered, lambda: (FLOATS, 40))
    check(filtered, lambda: (FLOATS, 41), native=None)


@pytest.mark.parametrize("k", [0, 3, 6, 99])
def test_failing_inside(k):
    check(failing_inside, lambda: (7, k), native=None)


# -- arrays ---------------------------------------------------------------------------------------------------
def to_array(n):
    out = []
    for i in range(n):
        out.append(i * 0.25)
    return np.array(out)


def int_array(n):
    return np.array([i * i for i in range(n)])


def grid_array(n, m):
    return np.asarray([[i + 0.5 * j for j in range(m)] for i in range(n)])


def as_floats(n):
    return np.array([i + 1 for i in range(n)], dtype=float) * 2


def from_array(a):
    out = a.tolist()
    out.append(out[0])
    return out


def listed(a):
    out = list(a)
    out.append(out[0])
    return out


@pytest.mark.parametrize("n", [0, 1, 50])
@pytest.mark.parametrize("func", [to_array, int_array, as_floats])
def test_arrays_of_lists(func, n):
    check(func, lambda: (n,), native=True if n else None)


@pytest.mark.parametrize("shape", [(1, 1), (4, 3), (0, 3), (3, 0)])
def test_grids(shape):
    check(grid_array, lambda: shape, native=True if shape[0] else None)


@pytest.mark.parametrize("a", [FLOATS, FLOATS[::-3], np.arange(5), np.array([True, False]), FLOATS.astype("f4"),
                               np.arange(4, dtype=np.uint8), FLOATS * 1j], ids=lambda a: a.dtype.str)
@pytest.mark.parametrize("func", [from_array, listed])
def test_lists_of_arrays(func, a):
    check(func, lambda: (a,))
