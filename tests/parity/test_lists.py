"""Lists of run-time length: native to their end, and exactly what the interpreter does."""
from __future__ import annotations

import numpy as np
import pytest

from .compare import check

FLOATS = np.random.default_rng(3).normal(size=40)


# -- growing ------------------------------------------------------------------------------------------
def collected(n):
    out = []
    for i in range(n):
        out.append(i * 0.5)
    return out


def chosen(a, bound):
    small, large = [], []
    for i in range(len(a)):
        if a[i] < bound:
            small.append(i)
        else:
            large.append(float(a[i]))
    return small, large, len(small), len(large)


def primes(n):
    sieve = [True] * (n + 1)
    found = []
    for i in range(2, n + 1):
        if sieve[i]:
            found.append(i)
            for j in range(i * i, n + 1, i):
                sieve[j] = False
    return found


def stacked(n):
    stack = [n]
    seen = 0
    while stack:
        k = stack.pop()
        seen += k
        if k > 1:
            stack.append(k // 2)
            stack.append(k // 3)
    return seen


def queue(n):
    work = [1]
    order = []
    while len(work) > 0 and len(order) < n:
        k = work.pop(0)
        order.append(k)
        work.append(2 * k)
        work.append(2 * k + 1)
    return order, work


def edit_distance(a, b, n, m):
    prev = list(range(m + 1))
    for i in range(1, n + 1):
        cur = [i] + [0] * m
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + cost)
        prev = cur
    return prev[m]


def swapped(n):
    prev, cur = [0] * n, [1] * n
    for k in range(5):
        for i in range(1, n):
            cur[i] = prev[i - 1] + cur[i - 1] + k
        prev, cur = cur, prev
    return prev, cur


def table(n, m):
    rows = [[0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            rows[i][j] = i * j
    return rows


def pascal(n):
    rows = []
    for i in range(n):
        row = [1]
        for j in range(1, i):
            row.append(rows[i - 1][j - 1] + rows[i - 1][j])
        if i:
            row.append(1)
        rows.append(row)
    return rows


def buckets(n, k):
    groups = [[] for _ in range(k)]
    for i in range(n):
        groups[i % k].append(i)
    return groups


def float_buckets(n, k):
    groups = [[] for _ in range(k)]
    for i in range(n):
        groups[i % k].append(i * 0.5)
    return groups


def numpy_items(a):
    out = []
    for i in range(len(a)):
        out.append(a[i] * 2)
    return out


def complex_items(n):
    out = []
    z = 0j
    for _ in range(n):
        z = z * z + (0.1 + 0.2j)
        out.append(z)
    return out


def flags(n):
    out = []
    for k in range(n):
        out.append(k % 3 == 0)
    return out


@pytest.mark.parametrize("n", [0, 1, 2, 7, 60])
@pytest.mark.parametrize("func", [collected, primes, stacked, queue, swapped, pascal, complex_items, flags])
def test_growing(func, n):
    check(func, lambda: (n,))


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (4, 3), (3, 0), (60, 50)])
@pytest.mark.parametrize("func", [table])
def test_tables(func, shape):
    check(func, lambda: shape)


@pytest.mark.parametrize("func", [buckets, float_buckets])
def test_buckets(func):
    for n in (0, 1, 10, 50):
        check(func, lambda n=n: (n, 4))


@pytest.mark.parametrize("n, m", [(0, 0), (1, 5), (9, 6)])
def test_edit_distance(n, m):
    a, b = np.arange(n) % 4, np.arange(m) % 3
    check(edit_distance, lambda: (a, b, n, m))


def test_items_of_arrays():
    for a in (FLOATS, FLOATS.astype(np.float32), np.arange(9, dtype=np.int32), FLOATS[:0]):
        check(numpy_items, lambda a=a: (a,))
    check(chosen, lambda: (FLOATS, 0.1))


# -- one list under several names ------------------------------------------------------------------------
def aliased(n):
    a = b = []
    for i in range(n):
        a.append(i)
        if i % 2:
            b.append(-i)
    return a, b, a is b


def rows_shared(n, m):
    row = [0] * m
    rows = [row] * n
    for i in range(n):
        rows[i][i % m] += i
    return rows, row


def rows_moved(n):
    a, b = [1] * n, [2] * n
    rows = [a, b]
    for k in range(n):
        rows[k % 2][k] = k + 10
    rows[0], rows[1] = rows[1], rows[0]
    return rows, a, b


def passed_on(out, x):
    out.append(x)
    return len(out)


def through_calls(n):
    out = []
    total = 0
    for i in range(n):
        total += passed_on(out, i * i)
    return out, total


def fill(out, n):
    for i in range(n):
        out.append(n // (i - 3))


def refilled(n, m):
    out = []
    for _ in range(m):
        fill(out, n)
    return out


def kept(n):
    rows = []
    row = [0] * 3
    for i in range(n):
        row[i % 3] = i
        if i % 4 == 0:
            rows.append(row)
            row = [i] * 3
    return rows, row


def same_objects(result):
    """Which lists in a result are one object."""
    seen = []

    def walk(value):
        if isinstance(value, (list, tuple)):
            if isinstance(value, list):
                for k, other in enumerate(seen):
                    if other is value:
                        return k
                seen.append(value)
            return [walk(item) for item in value]
        return None
    return walk(result)


@pytest.mark.parametrize("func, args", [(aliased, (9,)), (rows_shared, (7, 3)), (rows_moved, (8,)),
                                        (through_calls, (12,)), (kept, (21,)), (swapped, (6,))])
def test_aliases(func, args):
    check(func, lambda: args)
    import jitcore

    from .compare import fresh_copy
    assert same_objects(jitcore.accelerate(fresh_copy(func))(*args)) == same_objects(func(*args))


def test_a_call_that_changed_a_list_is_not_done_again():
    check(refilled, lambda: (3, 4))
    check(refilled, lambda: (9, 4), native=None)


# -- exits ------------------------------------------------------------------------------------------------
def dividing(a, n):
    out = [0]
    for i in range(n):
        out.append(out[-1] + 12 // int(a[i]))
        out[i] += 1
    return out


def caught(a, n):
    out = []
    try:
        for i in range(n):
            out.append(i)
            out.append(100 // int(a[i]))
    except ZeroDivisionError as error:
        return out, str(error)
    return out


def reading(n, at):
    out = []
    for i in range(n):
        out.append(i)
        if i == at:
            out[i + 1] = 5
    return out


def popping(n):
    out = [1.5] * n
    total = 0.0
    for _ in range(n + 1):
        total += out.pop()
    return total


def overflowing(n):
    out = [1]
    for _ in range(n):
        out.append(out[-1] * 3)
    return out


def mixed(n):
    out = []
    for i in range(n):
        if i % 2:
            out.append(i)
        else:
            out.append(i * 0.5)
    return out


def becoming_float(n):
    row = [0] * n
    for i in range(n):
        row[i] = i * 0.5
    return row


def with_objects(n):
    out = []
    for i in range(n):
        out.append((i, str(i)))
    return out


@pytest.mark.parametrize("at", [0, 1, 4, 8])
@pytest.mark.parametrize("func", [dividing, caught])
def test_exits_at_any_trip(func, at):
    a = np.ones(9, dtype=np.int64)
    check(func, lambda: (a, 9))
    b = a.copy()
    b[at] = 0
    check(func, lambda: (b, 9), native=None)


@pytest.mark.parametrize("at", [0, 3, 6])
def test_indices_out_of_range(at):
    check(reading, lambda: (7, at), native=None)
    check(reading, lambda: (7, 99))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_pop_from_an_empty_list(n):
    check(popping, lambda: (n,), native=None)


@pytest.mark.parametrize("n", [5, 39, 40, 45])
def test_items_beyond_64_bits(n):
    check(overflowing, lambda: (n,), native=None)


@pytest.mark.parametrize("func", [mixed, becoming_float, with_objects])
def test_items_of_several_types(func):
    for n in (0, 1, 2, 9):
        check(func, lambda n=n: (n,), native=None)


# -- memory -----------------------------------------------------------------------------------------------------
def test_a_million_items():
    check(collected, lambda: (1_000_000,), calls=1)
