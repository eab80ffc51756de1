"""Lists that native code makes are freed at every exit, and on the way when nothing refers to them any more."""
from __future__ import annotations

import gc
import resource

import jitcore

from .test_leaks import resident_bytes


def grown(n):
    out = []
    for i in range(n):
        out.append(i * 0.5)
    return len(out)


def handed_on(n, k):
    prev = [0] * n
    for i in range(k):
        cur = [i] * n
        for j in range(1, n):
            cur[j] = prev[j - 1] + 1
        prev = cur
    return prev[-1]


def of_rows(n, m):
    rows = [[0] * m for _ in range(n)]
    for i in range(n):
        rows[i] = rows[i - 1]
        rows[i][0] += i
        if i % 3 == 0:
            rows.pop()
            rows.insert(0, [i] * m)
    kept = rows[1:3] + rows[:2]
    return len(kept), len(rows)


def failing(n, k):
    out = [[i] * 50 for i in range(n)]
    for i in range(n):
        out[i].append(10 // (i - k))
    return out


def test_nothing_is_left_behind():
    functions = [(jitcore.accelerate(f), args) for f, args in (
        (grown, (20_000,)), (handed_on, (500, 20)), (of_rows, (40, 300)), (failing, (40, 99)))]
    fails = functions[-1][0]

    def one_round():
        for f, args in functions:
            f(*args)
        for k in (0, 20, 39):
            try:
                fails(40, k)
            except ZeroDivisionError:
                pass

    for _ in range(30):
        one_round()
    gc.collect()
    before = resident_bytes()
    for _ in range(200):
        one_round()
    gc.collect()
    assert resident_bytes() - before < 4 << 20      # one list of `grown` alone has 160 KB
    assert all(jitcore.stats(f).native_calls > 200 for f, _ in functions)


def test_lists_of_earlier_trips_are_freed_at_once():
    f = jitcore.accelerate(handed_on)
    f(10, 3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert f(100_000, 400) == 400
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10      # kilobytes; all lists: 320 MB
