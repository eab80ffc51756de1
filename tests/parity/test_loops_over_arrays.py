"""Loops over arrays: native to their end, and exactly what the interpreter does."""
from __future__ import annotations

import numpy as np
import pytest

from .compare import check

RNG = np.random.default_rng(11)


def total(a):
    s = 0.0
    for x in a:
        s += x
    return s, x


def rows(a):
    s = 0.0
    for row in a:
        for v in row:
            s = s * 0.5 + v
    return s


def row_sums(a):
    s = 0.0
    for k, row in enumerate(a):
        s += k * row[0] - row[-1]
    return s, row


def changed_on_the_way(a):
    s = 0
    for x in a:
        s += x
        a[3] = s
        a[0] = -1
    return s


def rebound(a):
    s = 0.0
    for x in a:
        a = a * 2
        s += x + a[0]
    return s, a


def own(n):
    a = np.zeros(n)
    for i in range(n):
        a[i] = i * 0.5
    s = 0.0
    for x in a:
        s += x * x
    return s, a


def first_negative(a):
    for x in a:
        if x < 0:
            break
        if x == 3:
            continue
        last = x
    else:
        return "none"
    return x, last


def same_array_twice(a):
    s = 0
    for x in a:
        for y in a:
            s += x * y
    return s


def dtypes(a):
    m = a[0]
    for x in a:
        if x > m:
            m = x
    return m


def bits(a):
    n = 0
    for x in a:
        if x:
            n += 1
    return n


FLOATS = [np.arange(40.0), np.arange(80.0)[::-2], np.arange(3.0), RNG.random(100), np.arange(12.0).reshape(3, 4)[:, 1],
          np.broadcast_to(np.float64(2.5), 7)]


@pytest.mark.parametrize("k", range(len(FLOATS)))
def test_one_axis(k):
    for f in (total, first_negative, same_array_twice, dtypes, bits, rebound):
        if f is not rebound or FLOATS[k].ndim == 1:
            check(f, lambda: (FLOATS[k].copy() if k < 4 else FLOATS[k],))


@pytest.mark.parametrize("dtype", "?bBhHiIlLqQefdFD")
def test_items_are_scalars_of_the_dtype(dtype):
    def last(a):
        for x in a:  # noqa: B007
            pass
        return x
    check(last, lambda: (np.arange(5).astype(dtype),), native=None)
    check(bits, lambda: (np.arange(5).astype(dtype),), native=dtype not in "qQ")


@pytest.mark.parametrize("make", [lambda: np.arange(12.0).reshape(3, 4), lambda: np.arange(12).reshape(3, 4).T,
                                  lambda: np.arange(24.0).reshape(4, 6)[::2, ::-3], lambda: np.ones((1, 1)),
                                  lambda: np.asfortranarray(RNG.random((6, 5)))])
def test_several_axes(make):
    array = make()
    for f in (rows, row_sums):
        check(f, lambda: (array.copy(order="K"),))
        check(f, lambda: (array,))


def test_stores_are_seen():
    check(changed_on_the_way, lambda: (np.arange(9),))
    check(changed_on_the_way, lambda: (np.arange(4),))
    check(changed_on_the_way, lambda: (np.arange(3),), native=None)
    check(own, lambda: (30,))
    check(own, lambda: (0,))


def test_no_items():
    check(bits, lambda: (np.zeros(0),))
    check(rows, lambda: (np.zeros((0, 3)),))
    check(rows, lambda: (np.zeros((3, 0)),))
    check(total, lambda: (np.zeros(0),), native=None)       # `x` is unbound
    check(bits, lambda: (np.zeros(()),), native=None)       # no axes: TypeError
    check(bits, lambda: (np.zeros(3, "O"),), native=None)
    check(bits, lambda: ([1, 0, 2],), native=None)


def raises_at(a, b):
    s = 0.0
    for k, x in enumerate(a):
        s += b[k] / x
    return s


def overflows(a):
    p = 1
    for x in a:
        p *= int(x)
    return p


@pytest.mark.parametrize("n", [0, 1, 4, 5, 6])
def test_what_fails_in_a_loop(n):
    check(raises_at, lambda: (np.arange(1.0, 6.0), np.ones(n)), native=None)
    check(raises_at, lambda: (np.arange(5.0) - n, np.ones(9)), native=None)     # warns
    check(overflows, lambda: (np.full(7, 2**9 * (n + 1)),), native=None)


def test_views_keep_their_base():
    def last(a):
        for row in a:  # noqa: B007
            pass
        row[0] = 7
        return row, row.base is a
    check(last, lambda: (np.zeros((3, 2)),), native=None)


def flat(a):
    s = 0.0
    for x in a.flat:
        s = s * 0.5 + x
    return s


def flat_by_two(a):
    it = a.flat
    s = 0.0
    for x in it:
        s += x - next(it)
    return s, it.index


def own_flat(n):
    a = np.zeros((n, 3))
    for i, x in enumerate(a.flat):
        a[0, 0] += i + x
    return a


def test_flat():
    for a in (np.arange(12.0).reshape(3, 4), np.arange(24.0).reshape(4, 3, 2).T,
              np.arange(24.0).reshape(4, 6)[::2, ::-3], np.arange(5.0), np.zeros((3, 0)), np.zeros((0, 3)),
              np.full((), 2.5)):
        check(flat, lambda a=a: (a,))
        check(flat_by_two, lambda a=a: (a,), native=None)
    check(own_flat, lambda: (3,))
    check(own_flat, lambda: (0,), native=None)


def in_place(n):
    a = np.zeros(n)
    s = 0.0
    for x in a:
        a += 1
        s += x
    return s, a


def rows_in_place(a):
    for i, row in enumerate(a):
        for j, x in enumerate(row):
            row[j] = x + i
        row[0] = row[1]
    return row


def test_arrays_that_change_under_the_loop():
    check(in_place, lambda: (5,))
    check(rows_in_place, lambda: (np.arange(12.0).reshape(3, 4),))
    check(rows_in_place, lambda: (np.arange(12).reshape(4, 3).T,))
    check(rows_in_place, lambda: (np.broadcast_to(np.arange(3), (2, 3)),), native=None)
