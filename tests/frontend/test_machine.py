"""The machine: whole functions run through traces give what the functions give."""
from __future__ import annotations

import copy
import functools
import math
import sys
import types
from typing import Any

import numpy as np
import pytest

from tests.frontend.regions import Run

RATE = 2.5
NAMES = ("a", "b")
TABLE = {"w": 3.0, "n": 2}


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (float, np.floating)) and a != a:
        return bool(b != b)
    return bool(a == b)


def check(func: Any, *args: Any, events: str | None = None, **kwargs: Any) -> Run:
    """Runs ``func`` plainly and by regions; results, or exceptions, must be the same."""
    def outcome(call: Any) -> tuple[str, Any]:
        try:
            return "value", call()
        except NameError as error:
            return type(error).__name__, ()             # the tests' interpreter has its own words
        except Exception as error:
            return type(error).__name__, error.args
    first, second = copy.deepcopy((args, kwargs)), (args, kwargs)
    wanted = outcome(lambda: func(*first[0], **first[1]))
    run = Run(func, *second[0], **second[1])
    got = outcome(run.go)
    assert got[0] == wanted[0] and same(got[1], wanted[1]), (got, wanted, run.events)
    if events is not None:
        assert ", ".join(run.events) == events
    return run


# -- straight code ----------------------------------------------------------------------------------
def arithmetic(a, b):
    return (a + b) * a - b / a, a // b, a % b, -a, +b, a ** 2, a < b, not a


def test_arithmetic():
    for a in (3, 2.5, -7, True):
        for b in (2, 0.5, 11):
            check(arithmetic, a, b, events="return")


def test_exceptional_arithmetic_restarts():
    check(arithmetic, 1, 0, events="restart")
    check(arithmetic, 2**62, 5, events="restart")
    check(lambda a: a * a, 2**70, events="call binary, return")


def arrays(x, y):
    t = x * y + x
    t += 1
    return -t, t > x, RATE * t


def test_arrays():
    x = np.arange(4.0)
    check(arrays, x, x + 1, events="return")
    check(arrays, x, 2.0, events="return")
    check(arrays, x, np.float64(3), events="return")
    check(arrays, x, np.ones((3, 1)), events="return")
    check(arrays, x, np.ones(3))            # does not broadcast: NumPy raises


def test_returned_argument_is_the_argument():
    def f(x, y):
        y = [x, (x, y)]
        return y
    x = np.ones(2)
    result = check(f, x, 1.5).go
    found = Run(f, x, 1.5).go()
    assert found[0] is x and found[1][0] is x and callable(result)


def test_shared_objects_stay_shared():
    def f(x):
        t = [x * 2]
        return t, (t, t[0])
    run = check(f, np.ones(2), events="return")
    first, (second, item) = Run(f, np.ones(2)).go()
    assert first is second and first[0] is item and run.events


# -- calls ------------------------------------------------------------------------------------------
def helper(a, b=2.0, *args, k=1, **kwargs):
    return a * b + k + sum(args) + len(kwargs)


def calls(x):
    return helper(x), helper(x, 3), helper(b=x, a=1), helper(x, 2, 3, 4, k=5, z=6), helper(*(x, 2), **{"k": 3})


def test_inlined_calls():
    check(calls, 3, events="return")
    run = check(calls, 2.5)
    assert run.events == ["return"]


@pytest.mark.parametrize("call", [
    lambda: helper(), lambda: helper(1, a=2), lambda: (lambda a: a)(1, 2), lambda: (lambda a: a)(b=1),
    lambda: (lambda a, /: a)(a=1), lambda: (lambda *, a: a)(),
])
def test_calls_that_do_not_bind_raise_as_in_cpython(call):
    check(call)


def closure(x, k):
    def inner(z):
        return z + k
    def twice(f, z):
        return f(f(z))
    return twice(inner, x)


def test_closures_and_functions_made_inside():
    check(closure, 3, 4, events="return")
    check(lambda x: (lambda y: y + x)(x), 2.5, events="return")


def counter(x):
    n = 0
    def step():
        nonlocal n
        n += x
        return n
    step()
    return step() + n


def test_nonlocal_of_an_inner_function():
    check(counter, 3, events="return")


def test_function_that_escapes_is_left_to_the_interpreter():
    def f(x):
        y = x * 2
        g = lambda z: z + y  # noqa: E731
        return g
    run = Run(f, 3)
    assert run.go()(4) == 10
    assert run.events[-1] == "leave"


def test_recursion():
    def fact(n):
        return 1 if n <= 1 else n * fact(n - 1)
    check(fact, 5)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def test_recursive_global():
    run = check(fib, 6)
    assert "call call" in run.events


def unknown(x, f):
    y = x * 2
    z = f(y)
    return z + y


def test_unknown_callable_is_a_site_with_a_continuation():
    class Callable:
        def __call__(self, v):
            return v + 1
    check(unknown, 3, Callable(), events="return")
    check(unknown, 3.5, math.gamma, events="call call, return")
    check(unknown, 3.5, functools.partial(max, 3), events="call call, return")
    check(unknown, 3, len)                          # raises in the site


def test_a_site_inside_a_helper_becomes_a_site_of_the_region():
    seen = []
    def log(v):
        seen.append(v)
        return v
    def f(x):
        return log(x * 2) + 1
    run = check(f, 3)
    assert run.events == ["call call", "return"] and seen == [6, 6]


# -- flow ---------------------------------------------------------------------------------------------
def branches(x, mode="up", flag=None):
    if mode == "up" and flag is None:
        x = x + 1
    elif flag:
        x = x - 1
    if x > 3 or x < -3:
        return "far", x
    y = 0 if x else 1
    return y, x


def test_branches():
    for x in (5, 1, -1, 0, -9, 2.5):
        check(branches, x, events="return")
        check(branches, x, "down", True, events="return")
        check(branches, x, mode="up", flag=False, events="return")


def test_both_sides_of_a_branch_are_in_one_region():
    traces: dict[int, list[Any]] = {}
    for x in (5, 1, -1, 0):
        Run(branches, x, traces=traces).go()
    assert [len(found) for found in traces.values()] == [1]


def unrolled(x):
    total = 0
    for i, (name, w) in enumerate(zip(NAMES, (x, x + 1))):
        if name == "b":
            continue
        total += w * i
    for j in range(3):
        total = total + j
    for k in reversed([1, x]):
        total += k
    return total, [v * 2 for v in (1, x)], {n: x for n in NAMES if n}


def test_loops_of_known_length_unroll():
    check(unrolled, 3, events="return")


def growing(x):
    items = [1, 2]
    for item in items:
        if len(items) < 5:
            items.append(item + x)
    return items


def test_a_list_that_grows_while_it_is_iterated():
    check(growing, 2, events="return")


def loops(n):
    total = 0
    for i in range(n):
        total += i
    while total > 3:
        total -= 3
    return total


def test_other_loops_are_left_at_their_header():
    check(loops, 10, events="leave")
    def only_while(n):
        k = n + 1
        while k > 3:
            k -= 3
        return k
    assert check(only_while, 10).events == ["leave"]
    assert check(only_while, 1).events == ["return"]


def caught(x, d):
    try:
        y = x / d
    except ZeroDivisionError:
        return "zero"
    finally:
        x = 0
    return y + x


def test_try():
    check(caught, 3, 2, events="return")
    check(caught, 3, 0, events="restart")


def raises(x):
    if x > 2:
        raise ValueError(f"{x} is above {RATE}")
    if x < 0:
        raise KeyError
    return x


def test_raise():
    check(raises, 1, events="return")
    check(raises, 3, events="leave")
    check(raises, -1, events="leave")
    def outer(x):
        try:
            return raises(x) + 1
        except ValueError as error:
            return error.args
    check(outer, 1, events="return")
    check(outer, 5, events="restart")


def unbound(x):
    if x > 1:
        y = 2
    return y


def test_unbound_local():
    check(unbound, 2, events="return")
    check(unbound, 1)
    run = Run(lambda: missing_name)  # type: ignore[name-defined]  # noqa: F821
    with pytest.raises(AttributeError):         # as the tests' interpreter says it
        run.go()
    assert run.events == ["leave"]


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


def test_with_is_left():
    def f(x):
        y = x + 1
        with np.errstate(all="ignore"):
            y = y * 2
        return y
    run = check(f, 3)
    assert run.events[-1] == "leave"
