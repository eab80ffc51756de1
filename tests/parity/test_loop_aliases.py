"""Loops in which a name stands for the same array as another one in some trips only."""
from __future__ import annotations

import numpy as np
import pytest

import jitcore

from .compare import fresh_copy, same


def becomes_an_argument(a, b):
    c = -a
    for _ in b:
        for _, _ in enumerate(b):
            c = a
    return a, c


def becomes_another(a, b):
    c = a
    for i in range(len(b)):
        if b[i] > 1.0:
            c = a * 2.0
        c[0] += 1.0
    return a, c


def swapped(a, b):
    c, d = a, b
    for _ in range(3):
        c, d = d, c
        a[0] += len(c)
    return a, b, c, d


def either(a, b, flag=0.5):
    c = a if flag > 0.0 else b
    for i in range(len(b)):
        if b[i] > 1.0:
            c = b
    return a, b, c


@pytest.mark.parametrize("func", [becomes_an_argument, becomes_another, swapped, either])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_identity(func, n):
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for _ in range(3):
        expected, got = plain(np.ones(3), np.arange(float(n))), fast(np.ones(3), np.arange(float(n)))
        assert [x.tolist() for x in expected] == [x.tolist() for x in got]
        assert [[x is y for x in expected] for y in expected] == [[x is y for x in got] for y in got]
    counts = jitcore.stats(fast)
    assert counts.native_calls + counts.leaves > 0, counts


@pytest.mark.parametrize("y", [np.ones(3), np.ones((2, 2))])
def test_names_that_are_read_anew_behind_a_call_may_be_one_array(y):
    def changed(y, n, call):
        other = y
        for _ in range(n):
            y += call(y)
        return other is y, y

    plain, fast = fresh_copy(changed), jitcore.accelerate(fresh_copy(changed))
    for call in (np.sort, lambda v: v * 0.5, list):
        same(plain(y.copy(), 4, call), fast(y.copy(), 4, call))
