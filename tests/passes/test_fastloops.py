"""Fast versions of loops: the text of one, and the same runs for functions with loops of many kinds."""
from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest

from jitcore import passes
from jitcore.frontend.snapshot import Snapshot
from jitcore.frontend.trace import trace_region
from jitcore.ir.interp import run
from jitcore.ir.text import print_graph
from jitcore.ir.verify import verify
from jitcore.ops.table import OPS
from jitcore.passes import bounds, fastloops
from jitcore.passes.tables import PY_FUNCTIONS

from .texts import after, expect, unchanged

SUM = """
    input %0: int64[1C] (%1)
    input %2: int
    b0:
      %1: int = dim %0 {axis=0}
      %3: int = const 0
      %4: int = const 1
      jump b1(%3)
    b1(%5: int):
      %6: bool = py.lt %5, %2
      branch %6 b2(), b3()
    b2:
      %7: int = idx.add %5, %4
      %8: int = wrap %5, %1 !0
      %9: int64 = load %0, %8
      store %0, %9, %8
      poll !1
      jump b1(%7)
    b3:
      exit 2
    exit 1: leave unit=4 values(%7) locals[v0]
    exit 2: return values(%2) result=v0
"""


def test_a_loop_and_its_fast_version():
    expect(SUM, fastloops.run, """
        input %0: int64[1C] (%1)
        input %2: int
        b0:
          %1: int = dim %0 {axis=0}
          %3: int = const 0
          %4: int = const 1
          jump b4(%3)
        b4(%10: int):
          %13: int = const 1099511627776
          %14: bool = py.le %10, %13
          %15: bool = py.le %2, %13
          %16: int = const -1099511627776
          %17: bool = py.ge %2, %16
          %18: bool = py.and %14, %15
          %19: bool = py.and %18, %17
          branch %19 b8(), b1(%10)
        b8:
          %20: int = const 16384
          %21: int = const 0
          %22: int = idx.sub %10, %1
          %23: int = const 1
          %24: int = idx.add %22, %23
          %25: int = idx.sub %21, %24
          %26: int = idx.add %25, %23
          %27: int = idx.min %20, %26
          %28: int = idx.add %10, %27
          %29: int = idx.min %2, %28
          jump b7(%10)
        b7(%12: int):
          %30: bool = py.lt %12, %29
          branch %30 b5(), b1(%12)
        b1(%5: int):
          %6: bool = py.lt %5, %2
          branch %6 b2(), b3()
        b3:
          exit 2
        b2:
          %7: int = idx.add %5, %4
          %8: int = wrap %5, %1 !0
          %9: int64 = load %0, %8
          store %0, %9, %8
          poll !1
          jump b4(%7)
        b5:
          jump b6()
        b6:
          %32: int = idx.add %12, %4
          %33: int64 = load %0, %12
          store %0, %33, %12
          jump b7(%32)
        exit 1: leave unit=4 values(%7) locals[v0]
        exit 2: return values(%2) result=v0
        exit 3: restart reason='never taken'
    """)


def test_loops_that_are_left_alone():
    unchanged(SUM.replace("      poll !1\n", ""), fastloops.run)
    unchanged(SUM.replace("      store", "      %10: int64[1C] (%1) = copy.C %0\n      store"), fastloops.run)


def test_reports_are_looked_for_where_values_end_up():
    text, _ = after(SUM.replace("int64", "float64").replace("      store %0, %9", """
      %10: float64 = ew.multiply.dd->d %9, %9 !0
      %11: float64 = ew.add.dd->d %10, %9 !0
      %12: float64 = ew.divide.dd->d %9, %11 !0
      store %0, %12"""), fastloops.run)
    fast = text[text.index("asks_under"):]
    assert fast.count("ew.") == 6 and fast.count("finite") == 1
    (line,) = (line for line in fast.splitlines() if "finite" in line)
    assert line.count("%") == 3         # its result and two sums: an infinite divisor would not show in the quotient
    assert "goto to=b1" in text


def counted(a, n, k):
    s = 0
    for i in range(n):
        s += a[i] * k
    return s


def wandering(a, n, k):
    i, steps, s = n, 0, 0
    while i >= 0:
        s += a[i - 1] + steps
        i -= 1
        steps += k
    return i, steps, s


def broken_off(a, n, k):
    x = 0
    for i in range(n, 0, -1):
        x = a[i - 1] + i
        if x > k:
            break
        a[i - 1] = x * k
    return x


def nested(a, n, k):
    found = 0
    for i in range(n):
        for j in range(i, n, 2):
            if a[j] % 3 == 0:
                continue
            if a[j] > k:
                found += j * i
                break
            a[j] += 1
        else:
            found -= 1
    return found


def floats(a, n, k):
    x = 0.0
    for i in range(n):
        x = x * 0.5 + a[i] / (i - k)
        if x > 100.0:
            return x, i
    return x


def recurrence(a, n, k):
    x = 0
    for i in range(1, n):
        x += a[i]
        a[i] = a[i - 1] + k
        if x > 20:
            break
    return x


def two_back(a, n, k):
    for i in range(n, 1, -2):
        a[i - 2] = a[i - 1] + a[i]
    return i


def roots(a, n, k):
    x = 0.0
    for i in range(n):
        d = math.sqrt(a[i] + k)
        x += a[i] * (2.0 / d)
    return x


def searched(a, n, k):
    best, at = 100.0, -1
    for i in range(n):
        s = 0.0
        for j in range(k):
            s += (a[j] - i) ** 2 * a[i]
        if s < best:
            best, at = s, i
        a[i] = s
    return best, at


def triangle(a, n, k):
    t = 0
    for i in range(n):
        for j in range(i):
            t += i * j * k
            if a[j] > t:
                break
    return t


@pytest.mark.parametrize("trips", [1, 2, 5, bounds.CHUNK])
@pytest.mark.parametrize("func, versions", [
    *((func, 1) for func in (counted, wandering, broken_off, nested, floats, recurrence, two_back, roots)),
    (searched, 3), (triangle, 2)])
def test_the_same_runs(func, versions, trips, monkeypatch):
    monkeypatch.setattr(bounds, "CHUNK", trips)
    arrays = [np.array([1, 5, 3, 3, 2, 9, 11]), np.array([1.0, np.inf, 1e308, np.nan, -1e308, 0.0, 1e-310])]
    for a in arrays:
        unbound = object()
        locals = (a, 5, 2, *[unbound] * (func.__code__.co_nlocals - 3))
        trace = trace_region(Snapshot(func, func.__code__, 0, locals, (), unbound))
        graph = trace.graph
        passes.run(graph, verify=True)
        slow = copy.deepcopy(graph)
        assert fastloops.run(graph) == versions
        verify(graph)
        assert passes.run(copy.deepcopy(graph), verify=True) >= 0
        for n, k in itertools.product((0, 1, 4, 6, 7, 9, 2**50), (-3, 0, 1, 2, 7, 2**40, 2**62)):
            if (n == 2**50 and func in (counted, wandering)) or (max(n, k) > 2**30 and func in (searched, triangle)):
                continue
            given = {"a": a, "n": n, "k": k}
            results = []
            for one in (slow, graph):
                values = []
                for guard in trace.guards:
                    name = getattr(guard.source, "name", None)
                    if type(guard).__name__.startswith("Load"):
                        values.append(given[name].copy() if name == "a" else given[name])
                exit, got = run(one, values, OPS, PY_FUNCTIONS)
                results.append((one.exits[exit].kind, one.exits[exit].unit, str(got), [str(v) for v in values]))
            assert results[0] == results[1], f"{n}, {k}:\n{print_graph(graph)}"
