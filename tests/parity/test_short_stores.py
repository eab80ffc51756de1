"""Stores of a few numbers in loops: computed in place, whatever shares memory, and left where NumPy reports."""
from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import jitcore
from jitcore.errors import NotCompilable

from .compare import check, fresh_copy, observe, same, same_call
from .program_source import Program
from .test_loop_programs import function


def gathered(a: Any, b: Any, n: Any) -> Any:
    """Rows added to a row that is found at run time, of an array made inside."""
    sums = np.zeros((3, a.shape[1]))
    for i in range(n):
        sums[i % 3] += a[i % len(a)]
        sums[(i + 1) % 3] *= b
    return sums


def onto_itself(a: Any, b: Any, n: Any) -> Any:
    for i in range(n):
        a[i % len(a), 1:] += a[i % len(a), :-1]
        a[i % len(a), :-1] = a[i % len(a), 1:] - b[1:]
        a[i % len(a)] = a[i % len(a), ::-1] * b
    return a


def of_strides(a: Any, b: Any, n: Any) -> Any:
    for i in range(n):
        a[::2, i % a.shape[1]] = a[::2, 0] * 0.5 + b[0]
        a[:, -1] -= a[:, 0] / b[0]
    return a


def broadcast(a: Any, b: Any, n: Any) -> Any:
    for i in range(n):
        a[i % len(a)] -= b[:1]
        a[0] = -a[i % len(a), :1] * b[:1]
    return a


def and_back(a: Any, b: Any, n: Any) -> Any:
    """A view that lives on while its array is stored into."""
    own = np.zeros_like(a)
    row = None
    for i in range(n):
        if i == 1:
            row = own[0]
        own[i % len(a)] += b
        own[i % len(a)] *= a[i % len(a)]
        if i > 1:
            row += 1
    return own, row


FUNCTIONS = [gathered, onto_itself, of_strides, broadcast, and_back]


@pytest.mark.parametrize("func", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
def test_ordinary_numbers(func, dtype):
    if np.dtype(dtype).kind == "i" and func is of_strides:
        pytest.skip("ints take no quotients")
    widths = [3, 16, 17, 40, 1]

    def arguments() -> tuple[Any, ...]:
        width = widths[next(calls) // 2]
        rng = np.random.default_rng(width)
        return rng.integers(1, 9, (4, width)).astype(dtype), rng.integers(1, 5, width).astype(dtype), 6

    calls = iter(range(2 * len(widths)))
    check(func, arguments, calls=len(widths))


@pytest.mark.parametrize("func", FUNCTIONS)
def test_numbers_that_may_report(func):
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for width in (3, 17):
        for value in (1.0, np.inf, -np.inf, np.nan, 1.7e308, -1.7e308, 1e-300, 5e-324, 0.0, -0.0):
            for kind in ("warn", "ignore", "raise"):
                a = np.full((4, width), 1e200)
                a[1, width // 2] = a[2, 0] = value
                b = np.full(width, 1e-160 if abs(value) < 1 else 1.5)
                first, second = (a.copy(), b, 7), (a.copy(), b, 7)
                with np.errstate(all=kind):
                    same_call(plain, fast, (first, {}), (second, {}), where=f"{width}, {value}, {kind}")
    counts = jitcore.stats(fast)
    assert counts.native_calls and counts.leaves


def test_ints_wrap():
    check(onto_itself, lambda: (np.full((2, 4), 2**62), np.arange(1, 5), 6))


def test_rows_are_added_in_native_code():
    fast = jitcore.accelerate(fresh_copy(gathered))
    args = np.ones((4, 3)), np.full(3, 0.5), 50
    for _ in range(3):
        same(observe(fast, args, {}).value, gathered(*args))
    before = jitcore.stats(fast)
    fast(*args)
    after = jitcore.stats(fast)
    assert after.native_calls == before.native_calls + 1 and after.leaves == before.leaves


def test_an_array_that_stays_is_no_parameter_of_the_loop():
    """Views of it are taken in the loop: the array is the same all the time."""
    graph = jitcore.trace(fresh_copy(gathered), np.ones((4, 3)), np.full(3, 0.5), 5).graph
    assert not any(hasattr(param.type, "ndim") for block in graph.blocks for param in block.params)


def test_whole_numbers_of_floats():
    def whole(a: Any) -> Any:
        t = []
        for x in a:
            y = float(x)
            t.append(int(y))
            t.append(round(y))
        return t

    near = [2.0**63, np.nextafter(2.0**63, 0), 2.0**53 + 1, 0.5, 1.5, -0.0, -0.75, 1e300]
    values = [*near, *(-x for x in near), np.nextafter(-2.0**63, -np.inf)]
    for value in values:
        fits = -2.0**63 <= value < 2.0**63
        check(whole, lambda value=value: (np.array([0.25, value, -7.5]),), native=True if fits else None)
    for value in (np.inf, np.nan):
        check(whole, lambda value=value: (np.array([0.25, value]),), native=None)


def test_random_programs_have_short_stores():
    """What ``test_loop_programs`` runs takes this way: some of its programs store a few numbers in loops."""
    found = 0
    for seed in range(60):
        func = function(Program(random.Random(seed)).source)
        a, b = np.array([1.5, -2.0, 3.25]), np.array([1, -3, 7])
        try:
            lowered = jitcore.trace(func, a, b, np.ones((2, 3)), 3, 0.5).lower()
        except NotCompilable:
            continue
        found += "short:" in lowered.as_text("llvm")
    assert found >= 2
