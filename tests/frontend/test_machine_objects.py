"""The machine on objects: containers, attributes, methods, imports, strings, globals."""
from __future__ import annotations

import math
import operator
import sys
import threading
import types
from typing import Any

import numpy as np

from tests.frontend.checks import check
from tests.frontend.regions import Run

RATE = 2.5
NAMES = ("a", "b")
TABLE = {"w": 3.0, "n": 2}


# -- objects ----------------------------------------------------------------------------------------------
def containers(x):
    a, (b, *c), d = x, (1, 2, 3), [x, 5]
    d.append(a)
    d[0] = 7
    e = {"p": a, **{"q": b}}
    e["r"] = d.pop()
    e.update(s=1)
    t = tuple(d) + (a,)
    return a, b, c, d, e, t, t[1:], len(d), "p" in e, list(e.items()), e.get("z", 4), max(b, 3), b in (1, 2)


def test_containers():
    check(containers, 3, events="return")


def test_sets_and_generator_expressions():
    def f(x, names):
        seen = {1, 2, 2}  # noqa: B033
        seen2 = {n for n in names}  # noqa: C416
        a, b = (v * 2 for v in (x, 1))
        return len(seen), len(set(names)), 2 in seen, seen2, tuple(v + 1 for v in (a, b)), any(n == "b" for n in names)
    check(f, 3, NAMES, events="return")
    check(lambda x: sum(v * x for v in (1, 2)), 3, events="return")
    def lazily(x):
        g = (v + x for v in (1, 2))
        x = 100
        return list(g)
    check(lazily, 3)
    check(lambda: {9, 1, 17, 33, 2}, events="leave")


def test_an_unlikely_path_of_a_helper_goes_back_to_the_entry():
    def helper(n, log):
        if n > 100:
            log.append(n)
        return n * 2
    def f(n, log):
        return helper(n, log) + 1
    check(f, 3, [], events="return")
    traces: dict[int, list[Any]] = {}
    assert Run(f, 3, [], traces=traces).go() == 7
    log: list[int] = []
    run = Run(f, 200, log, traces=traces)
    assert run.go() == 401 and log == [200] and run.events == ["restart"]
    check(f, 200, [])


def outside(xs, d, o):
    n = len(xs) + d["w"]
    xs.append(n)
    d["n"] = n
    o.attr = n
    return xs[0] + d["n"] + o.attr


def test_objects_from_outside_are_changed_by_sites():
    class Thing:
        pass
    run = check(outside, [1, 2], dict(TABLE), Thing())
    assert [e for e in run.events if e.startswith("call")] == ["call call", "call setitem", "call setattr"]


class Model:
    scale = 10

    def __init__(self, w):
        self.w = w

    def step(self, x):
        return self.helper(x) * self.scale

    def helper(self, x):
        return x * self.w

    @property
    def double(self):
        return self.w * 2


class Slots:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w

    def step(self, x):
        return x * self.w


def test_attributes_and_methods():
    def f(m, x):
        return m.step(x) + m.w
    check(f, Model(3), 2, events="return")
    check(f, Slots(3), 2, events="return")
    check(lambda m: m.double + m.scale, Model(4), events="return")
    check(lambda m: m.absent, Model(4))
    patched = Model(3)
    patched.step = types.MethodType(lambda self, x: 1000, patched)  # type: ignore[method-assign]
    traces: dict[int, list[Any]] = {}
    assert Run(f, Model(3), 2, traces=traces).go() == 63
    assert Run(f, patched, 2, traces=traces).go() == 1003


class Derived(Model):
    def step(self, x):
        return super().step(x) + 1

    def __call__(self, x):
        return self.step(x)


def test_super_and_call():
    wanted = "return" if sys.version_info >= (3, 12) else None
    check(lambda m: m(2) + m.step(1), Derived(3), events=wanted)


def test_imports():
    def f(x):
        from math import pi
        return x * pi
    check(f, 2.0, events="call import_name, return")


def test_strings():
    check(lambda n: (f"{NAMES[0]}-{n}", f"{'x':>4}", "a".upper() + "b", "%s" % "k"), 3)  # noqa: UP031
    check(lambda s: (s == "up", s.startswith("u"), s in ("up", "down")), "up", events="return")


def test_types():
    check(lambda x: (isinstance(x, (int, float)), type(x) is int, isinstance(x, np.ndarray), callable(x), x is None), 3,
          events="return")
    check(lambda x: (isinstance(x, np.ndarray), type(x) is np.ndarray), np.ones(2), events="return")
    check(lambda x: x is True, True, events="return")


def test_math():
    check(lambda x: math.sqrt(x) + math.sin(x) * math.pi + math.floor(x) + abs(-x) + round(x), 2.25, events="return")
    check(lambda x: math.sqrt(x), -1.0, events="restart")


def scaled(x):
    return x * RATE


def test_global_number_is_an_input():
    traces: dict[int, list[Any]] = {}
    global RATE
    before = RATE
    try:
        for RATE in (1.0, 2.0, 3.0):
            assert Run(scaled, 2, traces=traces).go() == 2 * RATE
    finally:
        RATE = before
    assert len(traces[0]) == 1


def test_fresh_lambdas_share_a_region():
    def make(k):
        return lambda x: x * k
    def f(g, x):
        return g(x)
    traces: dict[int, list[Any]] = {}
    for k in range(5):
        assert Run(f, make(k), 3, traces=traces).go() == 3 * k
    assert len(traces[0]) == 1


def test_generators_are_refused():
    def gen(x):
        yield x
    assert Run(gen, 1).region(0).reason


def test_with():
    lock = threading.RLock()
    def f(x):
        y = x + 1
        with lock:
            y = y * 2
        return y
    run = check(f, 3)
    assert run.events == ["call before_with", "call call", "return"], run.events


def test_functions_that_escape():
    """What an exit makes of functions, and of the cells that they share with the frame and with one another."""
    def counter(x):
        n = x

        def up(k=x, *, by: int = 1):
            nonlocal n
            n = n + k * by
            return n
        first = OPAQUE(up)
        n = n * 10
        return first, OPAQUE(up), n, OPAQUE(lambda: up(by=3)), n
    run = check(counter, 3)
    assert run.events[0] == "call call" and "call store_cell" in run.events and run.events[-1] == "return", run.events

    def even_and_odd(n):
        def even(k):
            return True if k == 0 else odd(k - 1)

        def odd(k):
            return False if k == 0 else even(k - 1)
        return OPAQUE(lambda: odd(n)), OPAQUE(lambda: even(n))
    check(even_and_odd, 7, events="call call, call call, return")

    def of_the_closure(x):
        return OPAQUE(lambda: (x, RATE, factor))
    factor = 4
    check(of_the_closure, 2, events="call call, return")


OPAQUE = operator.methodcaller("__call__")        # a call of its argument that is not looked into
