"""Checks that fail inside inlined calls, behind stores: every frame stands where it stood."""
from __future__ import annotations

import sys
import traceback

import numpy as np
import pytest

import jitcore

from .compare import fresh_copy


def insert(a, i, value):
    j = i
    while j > 0 and a[j - 1] > value:
        a[j] = a[j - 1]
        j -= 1
    a[j] = value
    return j


def insertion_sort(a):
    moves = 0
    for i in range(1, len(a)):
        moves += i - insert(a, i, a[i])
    return moves


def fill(a, n, *, start=0, factor=2):
    done = start
    for k in range(start, n):
        a[k] = k * factor
        done += 1
    return done


def fill_often(a, n):
    total = 0
    for i in range(n):
        total += fill(a, i) + fill(a, i + 1, start=i, factor=3)
    return total


def three_deep(a, n):
    return fill_often(a, n) + 1


class Filler:
    def __init__(self, factor):
        self.factor = factor

    @property
    def twice(self):
        return self.factor * 2

    def fill(self, a, n):
        for k in range(n):
            a[k] = a[k] + self.twice
        return n


def method(filler, a, n):
    total = 0
    for i in range(n):
        total += filler.fill(a, i)
    return total


def with_closure(a, n):
    scale = 3
    count = 0

    def step(i):
        nonlocal count
        for k in range(i):
            a[k] += scale
            count += 1
        return count

    total = 0
    for i in range(n):
        total += step(i)
    return total, count


def caught_outside(a, n):
    total = 0
    try:
        for i in range(n):
            total += fill(a, i)
    except IndexError as error:
        total = -total
        a[0] = len(str(error))
    return total


def overflowing(a, n):
    """An int beyond 64 bits is made inside, after stores; both functions go on with it."""
    def grow(value, i):
        a[i] = i
        return value * 1_000_003 + i

    value = 1
    for i in range(n):
        value = grow(value, i)
    return value


def outcome(func, args):
    try:
        return func(*args), None
    except Exception as error:
        lines = [(entry.name, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)][1:]
        return None, (type(error), error.args, lines)


@pytest.mark.parametrize(("func", "args"), [
    (insertion_sort, lambda: (np.random.default_rng(0).random(60),)),
    (fill_often, lambda: (np.zeros(5), 3)),
    (fill_often, lambda: (np.zeros(5), 9)),
    (three_deep, lambda: (np.zeros(5), 9)),
    (method, lambda: (Filler(4), np.zeros(5), 4)),
    (method, lambda: (Filler(4), np.zeros(5), 9)),
    (with_closure, lambda: (np.zeros(5), 4)),
    (with_closure, lambda: (np.zeros(5), 9)),
    (caught_outside, lambda: (np.zeros(5), 9)),
    (overflowing, lambda: (np.zeros(9), 9)),
    (overflowing, lambda: (np.zeros(2), 9)),
], ids=lambda value: getattr(value, "__name__", "") if callable(value) and value.__name__ != "<lambda>" else "")
def test_inner_frames(func, args):
    fast = jitcore.accelerate(fresh_copy(func))
    for _ in range(3):
        a, b = args(), args()
        assert outcome(func, a) == outcome(fast, b)
        for x, y in zip(a, b):
            if isinstance(x, np.ndarray):
                assert x.tobytes() == y.tobytes()
    counts = jitcore.stats(fast)
    assert counts.native_calls + counts.leaves >= 3, counts


def test_stores_of_an_inlined_call_run_native():
    """The loop of a helper that stores into an argument is part of its caller's region."""
    fast = jitcore.accelerate(fresh_copy(insertion_sort))
    for _ in range(3):
        fast(np.random.default_rng(1).random(50))
    counts = jitcore.stats(fast)
    assert counts.native_calls == counts.calls == 3 and counts.leaves == counts.site_calls == 0, counts


def test_frames_of_callers_while_the_interpreter_goes_on():
    """A hook that the failing instruction calls sees the whole chain of frames, with their locals."""
    seen = []

    class Watching(int):
        def __index__(self):
            frame = sys._getframe(1)
            inner = {k: v for k, v in frame.f_locals.items() if isinstance(v, (int, float))}
            outer = {k: v for k, v in frame.f_back.f_locals.items() if isinstance(v, (int, float))}
            seen.append((frame.f_code.co_name, inner, frame.f_lineno, frame.f_back.f_code.co_name, outer,
                         frame.f_back.f_lineno))
            return 0

    def put(a, i, at):
        a[i] = i + 0.5
        a[at] = 7.0
        return i * 2

    def outer(a, n, at):
        total = 0
        for i in range(n):
            total += put(a, i, at)
        return total

    fast = jitcore.accelerate(fresh_copy(outer))
    for at in (1, 2, Watching(3), 1):
        plain, a, b = [], np.zeros(4), np.zeros(4)
        seen.clear()
        expected = outer(a, 4, at)
        plain[:] = seen
        seen.clear()
        assert fast(b, 4, at) == expected and a.tobytes() == b.tobytes()
        assert seen == plain
    assert jitcore.stats(fast).native_calls > 0
