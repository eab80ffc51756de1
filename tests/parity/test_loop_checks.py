"""What fails inside of native loops, at any trip: the same exception, line, warnings and arrays as in the interpreter.

Every case runs with runs of trips without polls (``passes.bounds.CHUNK``) of one, three, and the usual many.
"""
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import jitcore
from jitcore.passes import bounds

from .compare import fresh_copy, observe, same


def scaled(a, b, k):
    for i in range(len(a)):
        b[i] = a[i] * k + b[i]
    return b


def total(a, b, k):
    s = b[0]
    for i in range(len(a)):
        s = s + a[i] * k
    return s


def quotients(a, b, k):
    for i in range(len(a)):
        b[i] = k / a[i]


def twice(a, b, k):
    for i in range(len(a)):
        b[i] = b[i] + a[i]
        a[i] = a[i] * k * a[i]
    return a, b


def vanishing(a, b, k):
    n = 0
    for i in range(len(a)):
        if 1.0 / (a[i] * k) < b[i]:
            n += 1
    return n


def largest(a, b, k):
    best = a[0]
    for i in range(len(a)):
        x = a[i] - b[i]
        if x > best:
            best = x
    return best


def searched(a, b, k):
    i = 0
    while a[i] * k < 1e300:
        i += 1
        b[i] = a[i]
    return i


def plain_floats(a, b, k):
    t = 0.0
    for i in range(len(a)):
        t = t * 0.5 + 1.0 / (float(a[i]) - k)
    return t


def roots(a, b, k):
    for i in range(len(a)):
        d = math.sqrt(a[i])
        f = k / (d * d * d)
        b[i] = b[i] - a[i] * f


def quotient_of_quotients(a, b, k):
    for i in range(len(a)):
        x = k / float(a[i])
        y = float(b[i]) / (x + 1.0)
        if y < 0.0:
            b[i] = -x
        else:
            b[i] = a[i] * y * 1e200
    return x, y


def recurrence(a, b, k):
    for i in range(1, len(a)):
        b[i] = b[i - 1] * k + a[i]
    return b[-1]


def neighbours(a, b, k):
    for i in range(len(a) - 1):
        x = a[i] * k
        a[i] = a[i] - x
        b[i] += x * b[i + 1]
        a[i + 1] = a[i + 1] * b[i]
        a[i] += b[i]
    return x


SPECIAL = [0.0, -0.0, 1.5, -3.0, 1e-320, 1e-200, 1e200, 1.7e308, np.inf, -np.inf, np.nan]


@pytest.fixture(params=[1, 3, bounds.CHUNK])
def chunk(request, monkeypatch):
    monkeypatch.setattr(bounds, "CHUNK", request.param)


def compare(func, cases, make):
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for case in cases:
        first, second = make(case), make(case)
        for state in ({}, {"all": "ignore"}, {"all": "raise"}, {"under": "warn"}):
            with np.errstate(**state):
                x, y = observe(plain, first, {}), observe(fast, second, {})
            where = f"{func.__name__}{case} under {state}: "
            assert x.kind == y.kind and type(x.value) is type(y.value), f"{where}{x.value!r} -> {y.value!r}"
            same(x.value, y.value, where=where)
            same(first, second, where=where + "arguments")
            assert x.warnings == y.warnings, f"{where}{x.warnings} -> {y.warnings}"
            if x.kind == "raise":
                assert x.value.__traceback__.tb_next.tb_lineno - plain.__code__.co_firstlineno == \
                    y.value.__traceback__.tb_next.tb_lineno - fast.__code__.co_firstlineno, where
    counted = jitcore.stats(fast)
    assert counted.compiles > 0 and counted.native_calls + counted.leaves > 0


@pytest.mark.parametrize("func", [scaled, total, quotients, twice, vanishing, largest, searched, plain_floats, roots,
                                  quotient_of_quotients, recurrence, neighbours])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_special_values_at_every_trip(func, dtype, chunk):
    def make(case):
        at, special, k = case
        with np.errstate(all="ignore"):
            a = np.arange(1.0, 8.0).astype(dtype)
            a[at] = special
            return a, np.linspace(-1, 1, 7).astype(dtype), k

    compare(func, [(at, special, k) for at in (0, 3, 6) for special in SPECIAL for k in (2.0, 1e308)], make)


def shifted(a, lo, hi, step, by):
    s = 0.0
    for i in range(lo, hi, step):
        a[i + by] = a[i] + 1.0
        s += a[i + by]
    return s


def strides(a, lo, hi, step, by):
    for i in range(lo, hi, step):
        a[2 * i - by] += 1.0


def backwards(a, lo, hi, step, by):
    j = hi
    while j >= lo:
        a[j] = a[j - 1] + a[j + by]
        j -= 1
    return j


def gaps(a, lo, hi, step, by):
    k = by
    for i in range(lo, hi):
        if a[i] < 3.0:
            a[k] = i
            k += step
    return k


@pytest.mark.parametrize("func", [shifted, strides, backwards, gaps])
def test_indices_at_both_ends(func, chunk):
    cases = itertools.product((-9, -1, 0, 1, 4), (-2, 0, 5, 8, 9, 20), (-3, -1, 1, 2), (-1, 0, 1, 7))
    compare(func, list(cases)[::3], lambda case: (np.arange(8.0), *case))


def grows(n, s, k):
    for i in range(n):
        s += i * k
        if s == 12:
            continue
        k += 1
    return s, k


def counts(n, s, k):
    t = 0
    while t < n:
        t += 1
        s -= k
    return s, t


def powers(n, s, k):
    x = 1
    for _ in range(n):
        x = x * k + s
    return x


def halves(n, s, k):
    t = []
    x = s
    for _ in range(n):
        x = x // k + x % k
    return x, t


@pytest.mark.parametrize("func", [grows, counts, powers, halves])
def test_ints_that_overflow(func, chunk):
    edge = [0, 1, -1, 3, -7, 2**31, 2**40, 2**61, -2**62, 2**63 - 3, -2**63, 2**63 - 1]
    cases = [(n, s, k) for n in (0, 1, 5, 9) for s in edge for k in edge]
    compare(func, cases[::5], lambda case: case)


def nested(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(b.shape[0]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@pytest.mark.parametrize("shapes", [((3, 4), (4, 2), (3, 2)), ((3, 4), (5, 2), (3, 2)), ((3, 4), (4, 2), (3, 1)),
                                    ((3, 4), (4, 2), (2, 2)), ((0, 4), (4, 2), (0, 2)), ((3, 0), (0, 2), (3, 2))])
def test_a_nest_of_loops(shapes, chunk):
    compare(nested, [()], lambda case: tuple(np.arange(np.prod(s), dtype=float).reshape(s) for s in shapes))


@pytest.mark.parametrize("func", [twice, neighbours])
def test_arrays_that_are_one(func, chunk):
    def make(case):
        a = np.arange(1.0, 9.0)
        return a[case[0]:case[0] + 5], a[case[1]:case[1] + 5], case[2]

    compare(func, [(*at, k) for at in ((0, 0), (0, 1), (1, 0), (0, 3), (3, 0)) for k in (3.0, 1e60, 1e150)], make)


def over_rows(u, by):
    for i in range(1, len(u)):
        for j in range(1, u.shape[1]):
            u[i, j] = u[i, j - 1] + by * u[i - 1, j]


def downwards(u, by):
    for i in range(len(u) - 1):
        for j in range(u.shape[1] - 2, -1, -1):
            x = u[i + 1, j]
            u[i, j] = u[i, j + 1] - by * x
            x += u[i, j]
        u[i, 0] += x


def in_place(u, by):
    for i in range(len(u)):
        for j in range(u.shape[1]):
            u[i, 1] = u[i, 1] * by + u[i, j]


@pytest.mark.parametrize("strides", [(48, 8), (8, 8), (8, 0), (0, 8), (0, 0), (8, 16), (-48, 8), (48, -8)])
@pytest.mark.parametrize("func", [over_rows, downwards, in_place])
def test_recurrences_whatever_shares_memory(func, strides, chunk):
    def make(case):
        base = np.arange(1.0, 65.0)
        return np.lib.stride_tricks.as_strided(base[30:], (4, 6), strides), 0.5

    compare(func, [()], make)
    compare(func, [()], lambda case: (make(case)[0].astype(np.int32), 3))


def found(a, x):
    for i in range(len(a)):
        y = a[i] * 2
        if y == x:
            break
        if y > 10:
            return i, y
    else:
        y = None
    return x, y


def test_ways_out_of_a_loop(chunk):
    compare(found, [(x,) for x in range(-2, 20)], lambda case: (np.array([1, 0, 3, 4, 2, 7]), case[0]))
