"""The machine: whole functions run through traces give what the functions give."""
from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
import pytest

from tests.frontend.checks import check
from tests.frontend.regions import Run

RATE = 2.5
NAMES = ("a", "b")


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


def test_function_that_escapes_is_made_at_the_exit():
    def f(x):
        y = x * 2
        g = lambda z: z + y  # noqa: E731
        return g
    run = Run(f, 3)
    made = run.go()
    assert made(4) == 10 and made.__code__ is f(3).__code__
    assert run.events == ["return"]


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
    check(unknown, 3.5, operator.methodcaller("__add__", 1), events="call call, return")
    check(unknown, 3.5, functools.partial(max, 3), events="return")
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


def test_loops_on_run_time_values_are_loops():
    check(loops, 10, events="return")
    check(loops, 0, events="return")
    def only_while(n):
        k = n + 1
        while k > 3:
            k -= 3
        return k
    assert check(only_while, 10).events == ["return"]
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
