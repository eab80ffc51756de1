"""Marked functions that call themselves and one another."""
from __future__ import annotations

import sys
import textwrap
import threading

import numpy as np
import pytest

import jitcore
from tests.child import run_child

from .compare import same

X = np.arange(8.0)

SOURCE = """
import numpy as np

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)

def even(n):
    return True if n == 0 else odd(n - 1)

def odd(n):
    return False if n == 0 else even(n - 1)

def tree(x, n):
    if n == 0:
        return x.sum()
    return tree(x * 0.5, n - 1) + tree(x + 1.0, n - 1)

def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))

def guarded(x, n):
    y = x * 2.0 + n
    try:
        return guarded(x, n + 1)
    except RecursionError:
        return y, n

def fails(x, n):
    y = x + n
    if n == 0:
        raise ValueError("the end")
    try:
        return fails(y, n - 1)
    except ValueError as error:
        if n == 3:
            raise KeyError(n) from error
        raise
"""


def made(accelerate):
    space = {"__name__": "programs"}
    exec(compile(SOURCE, "programs.py", "exec"), space)
    functions = {name: value for name, value in space.items() if callable(value)}
    if accelerate:
        for function in functions.values():
            jitcore.accelerate(function)
    return functions


PLAIN, FAST = made(False), made(True)


@pytest.mark.parametrize("name, args", [
    ("fib", (15,)), ("depth", (100,)), ("even", (101,)), ("odd", (60,)), ("tree", (X, 5)), ("ackermann", (2, 6)),
], ids=lambda v: v if isinstance(v, str) else "")
def test_results(name, args):
    for _ in range(4):
        same(PLAIN[name](*args), FAST[name](*args))


@pytest.mark.parametrize("name", ["fib", "tree"])
def test_each_level_runs_native(name):
    function = FAST[name]
    args = (12,) if name == "fib" else (X, 5)
    same(function(*args), PLAIN[name](*args))
    before = jitcore.stats(function)
    same(function(*args), PLAIN[name](*args))
    after = jitcore.stats(function)
    native = after.native_calls - before.native_calls
    assert native > 8 and 2 * native > after.calls - before.calls
    assert after.compiles == before.compiles


def _lines(error):
    found, trace = [], error.__traceback__
    while trace is not None:
        found.append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
        trace = trace.tb_next
    return found[1:]


def test_an_exception_through_many_levels():
    for _ in range(4):
        with pytest.raises(KeyError) as plain:
            PLAIN["fails"](X, 6)
        with pytest.raises(KeyError) as fast:
            FAST["fails"](X, 6)
        a, b = plain.value, fast.value
        while a is not None:
            assert repr(a) == repr(b) and _lines(a) == _lines(b)
            a, b = a.__cause__, b.__cause__
        assert b is None


@pytest.mark.parametrize("name", ["depth", "even"])
def test_recursion_error_at_the_same_depth(name):
    def limit(function):
        low, high = 1, 5 * sys.getrecursionlimit()
        while low < high:
            middle = (low + high + 1) // 2
            try:
                function(middle)
                low = middle
            except RecursionError:
                high = middle - 1
        return low

    for n in (10, 50, 50):
        FAST[name](n)
    assert limit(FAST[name]) == limit(PLAIN[name])


def test_recursion_error_caught():
    y, n = PLAIN["guarded"](X, 0)
    for _ in range(3):
        z, m = FAST["guarded"](X, 0)
        assert abs(n - m) <= 3
        same(z, y + (m - n))


def test_fifty_thousand_deep():
    program = SOURCE + textwrap.dedent("""
        import sys, threading, jitcore
        for f in (depth, even, odd, tree):
            jitcore.accelerate(f)
        for _ in range(3):
            depth(100), even(100), tree(np.arange(3.0), 3)
        sys.setrecursionlimit(60_000)
        threading.stack_size(512 * 1024 * 1024)
        found = []
        thread = threading.Thread(target=lambda: found.extend([depth(50_000), even(50_001), even(50_000)]))
        thread.start()
        thread.join()
        print(found)
    """)
    done = run_child(program)
    assert done.stdout.strip() == "[50000, False, True]", done.stderr[-2000:]


def test_threads_recurse_at_once():
    results, wanted = [], PLAIN["fib"](14)

    def work():
        results.append(FAST["fib"](14) == wanted and FAST["tree"](X, 4) == PLAIN["tree"](X, 4))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
