"""Loops that contain loops, as one fast version: reports, indices, exceptions and signals anywhere in the nest."""
from __future__ import annotations

import itertools
import signal

import numpy as np
import pytest

import jitcore
from jitcore.passes import bounds

from .compare import fresh_copy, same
from .test_loop_checks import SPECIAL, compare


def nearest(a, b, out):
    for i in range(a.shape[0]):
        best, found = np.inf, -1
        for c in range(len(b)):
            distance = 0.0
            for d in range(a.shape[1]):
                distance += (a[i, d] - b[c, d]) ** 2
            if distance < best:
                best, found = distance, c
        out[i] = found
    return best


def python_powers(a, b, out):
    most = 0.0
    for i in range(a.shape[0]):
        s = 0.0
        for d in range(a.shape[1]):
            s = s + 2.0 * float(a[i, d]) ** 2.0
        if s > most:
            most = s
    return most


def roots_of_powers(a, b, out):
    for i in range(a.shape[0]):
        s = 1.0
        for d in range(a.shape[1]):
            x = float(a[i, d]) ** 0.5
            s = s * 1.5 + 1.0 / x
        out[i] = i
    return s


def products(a, b, out):
    for i in range(len(b)):
        s = 0.0
        for d in range(b.shape[1]):
            s += b[i, d] * a[d, i]
        b[i, 0] = s
    return b


def branches(a, b, out):
    n = 0
    for i in range(a.shape[0]):
        s = a[i, 0] * 0.0
        for d in range(a.shape[1]):
            x = a[i, d] * 1e200
            if x > 0.0:
                s += x
            else:
                s = s - x * 0.5
        if s > 1.0:
            out[i] += 1
            n += 1
        for d in range(a.shape[1]):
            if a[i, d] > 2.0:
                n += d
                break
    return n, s


def triangle(a, b, out):
    s = 0.0
    for i in range(a.shape[0]):
        t = 0.0
        for j in range(i):
            t += a[j, 0] / b[0, j % 3]
        s = s + t * 0.5
    return s


def whiles(a, b, out):
    i, s = 0, 0.0
    while i < a.shape[0]:
        x, steps = a[i, 0], 0
        while x < 100.0 and steps < 50:
            x = x * 2.0
            steps += 1
        for d in range(a.shape[1]):
            s += a[i, d] * x
        out[i] = steps
        i += 1
    return s


NESTS = [nearest, python_powers, roots_of_powers, products, branches, triangle, whiles]


@pytest.fixture(params=[1, 3, bounds.CHUNK])
def chunk(request, monkeypatch):
    monkeypatch.setattr(bounds, "CHUNK", request.param)


def arguments(at, special, rows=5):
    a = np.linspace(0.5, 4.0, rows * 3).reshape(rows, 3)
    b = np.array([[0.5, 2.0, 1.0], [3.0, 0.25, 2.5]])
    if at is not None:
        a.reshape(-1)[at] = special
    return a, b, np.zeros(rows, dtype=np.int64)


@pytest.mark.parametrize("func", NESTS)
def test_special_values_at_every_place(func, chunk):
    compare(func, [(at, special) for at in (0, 4, 14) for special in SPECIAL], lambda case: arguments(*case))


@pytest.mark.parametrize("func", NESTS)
@pytest.mark.parametrize("rows", [0, 1, 2, 7])
def test_few_rows(func, rows, chunk):
    compare(func, [(None, 0.0, 3), (None, 0.0, rows)], lambda case: arguments(*case))


def window(a, lo, hi, n, by):
    found = 0
    for i in range(lo, hi):
        s = 0.0
        for j in range(n):
            s += a[i + j] * a[j * 2 + by]
        for j in range(1, n):
            if a[j - by] > s:
                found += i * j
    return found


def counted(a, lo, hi, n, by):
    total = 0
    for i in range(lo, hi):
        for j in range(0, n, 2):
            for k in range(j):
                total += (i + j) * k * by
        if total > 2**62:
            return i
    return total


@pytest.mark.parametrize("func", [window, counted])
def test_indices_and_ints_at_both_ends(func, chunk):
    cases = itertools.product((-9, 0, 1), (0, 3, 8, 9), (-1, 0, 1, 4, 9), (-1, 0, 1, 7, 2**60))
    compare(func, list(cases)[::2], lambda case: (np.arange(8.0), *case))


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (3, 1), (3, 5)])
def test_rows_of_other_lengths(shape, chunk):
    compare(nearest, [(0,), (1,)], lambda case: (np.ones((4, shape[1])), np.ones(shape) * case[0],
                                                 np.zeros(4, dtype=int)))
    compare(nearest, [()], lambda case: (np.ones((4, shape[1] + 1)), np.ones(shape), np.zeros(4, dtype=int)))


def test_signals_end_a_nest_of_long_loops():
    def spin(a, b, out):
        for i in range(10**9):
            s = 0.0
            for c in range(100):
                for d in range(a.shape[1]):
                    s += a[0, d] * c
            out[i % 5] = c
        return s

    fast = jitcore.accelerate(fresh_copy(spin))

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(TimeoutError):
            fast(*arguments(None, 0.0))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert jitcore.stats(fast).leaves + jitcore.stats(fast).native_calls > 0


def shadowed(a, b, n, x):
    i, t, last = 0, 1.5, 0
    for _ in range(n):
        if x > 0:
            last = -4
        for t in a:
            for t in b:
                i += int(t)
    return i, t, last


def test_names_that_change_their_type_in_an_inner_loop(chunk):
    """The outer loop then has a form for each type, and all of them ask whether the inner one has trips."""
    plain, fast = fresh_copy(shadowed), jitcore.accelerate(fresh_copy(shadowed))
    for rows, columns, n, x in itertools.product((7, 2, 1, 0), (3, 1, 0), (7, 2, 1, 0), (1.0, -1.0)):
        args = np.arange(rows) + 0.25, np.arange(columns) - 3, n, x
        same(plain(*args), fast(*args))
    assert jitcore.stats(fast).native_calls > 40


def counted_before(a):
    s = k = 0
    while k < 4:
        k += 1
        for _ in a:
            s += 1
    b = np.array([s, 1, 2, 3])
    b[s % len(b)] = 7
    return b, s


def test_a_constant_of_a_nest_that_is_a_length_behind_it(chunk):
    plain, fast = fresh_copy(counted_before), jitcore.accelerate(fresh_copy(counted_before))
    for n in (0, 1, 2, 7):
        same(plain(np.ones(n)), fast(np.ones(n)))
    assert jitcore.stats(fast).native_calls == 4
