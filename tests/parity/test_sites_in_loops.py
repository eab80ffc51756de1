"""Operations that a native loop does not do itself: CALL sites of the loop, behind which it goes on."""
from __future__ import annotations

import builtins
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitcore
from jitcore import _core

from .compare import check, fresh_copy, observe, same

GLOBAL = 1.0


class Thing:
    def __init__(self) -> None:
        self.v = 0.25
        self.seen: list[Any] = []

    def __call__(self, x: Any) -> None:
        self.seen.append(x)


def share(counts: jitcore.Stats, trips: int) -> float:
    """The share of trips whose site was done by the dispatcher: native trips."""
    return counts.site_calls / trips


def arithmetic(x: float, total: float) -> float:
    return total * 0.5 + x * x - x + 3.0 - 1.5 * x - total * 0.125


# -- kinds of sites -----------------------------------------------------------------------------------
def prints(n, o, a):
    total = 0.0
    for i in range(n):
        x = i * 0.5 + total * 0.25
        total = total * 0.5 + x * 0.125 - x + i * 3 - 1.5 * x
        if i % 3 == 0:
            print(i, total)
    return total


def appends(n, o, a):
    total = 0.0
    log = []
    for i in range(n):
        x = i * 0.5 + total * 0.25
        total = total * 0.5 + x * 0.125 - x + i * 3 - 1.5 * x
        o.seen.append(total)
    return total, log


def sets_attribute(n, o, a):
    total = 0.0
    for i in range(n):
        x = i * 0.5 + total * o.v
        total = total * 0.5 + x * 0.125 - x + i * 3 - 1.5 * x
        o.v = total * 0.001
    return total


def sets_item(n, o, a):
    d = o.__dict__
    total = 0.0
    for i in range(n):
        x = i * 0.5 + total * 0.25
        total = total * 0.5 + x * 0.125 - x + i * 3 - 1.5 * x
        d[i] = total
    return total


def sets_global(n, o, a):
    global GLOBAL
    total = 0.0
    for i in range(n):
        x = i * 0.5 + total * GLOBAL
        total = total * 0.5 + x * 0.125 - x + i * 3 - 1.5 * x
        GLOBAL = total * 0.001 + 0.5
    return total, GLOBAL


def draws(n, o, a):
    rng = np.random.default_rng(3)
    total = 0.0
    for i in range(n):
        x = rng.normal()
        total = total * 0.5 + x * 0.125 - x + i * 3 - 1.5 * x
    return total


def while_calls(n, o, a):
    total = 0.0
    i = 0
    while i < n:
        i += 1
        x = i * 0.5 + total * 0.25
        total = total * 0.5 + x * 0.125 - x + i * 3 - 1.5 * x
        if i & 1:
            o(total)
        else:
            o(i)
    return total


def stores_and_calls(n, o, a):
    for i in range(n):
        k = i % len(a)
        a[k] = a[k] * 0.5 + i * 0.25 - a[0] * 0.125 + 1.0
        o(a[k])
        a[k] += 0.5 * a[k] - i * 2 + 1.5 * i - a[k] * 0.25
    return a.sum()


def nested(n, o, a):
    total = 0.0
    for i in range(n):
        for j in range(5):
            total += j * 0.5 + i * 0.25 - total * 0.0625
            if j == 3:
                o(total)
        total -= 1.0
    return total


def over_array(n, o, a):
    total = 0.0
    for k, x in enumerate(a):
        total += x * 0.5 + k * 0.25 - total * 0.0625 + x * x - 2.0 * x
        o(k)
    return total


def long_calls(n, o, a):
    s = 0.0
    for i in range(n):
        s += i * 0.25 - s * 0.5 + 2.0 * s - i * i * 0.001 + s * 0.0625 - i
        o.v = f"{i}: {s:.3f}"
        o.__dict__["k"] = (i, s)
        print(o.v, end=";")
    return s


KINDS = [prints, appends, sets_attribute, sets_item, sets_global, draws, while_calls, stores_and_calls, nested,
         over_array, long_calls]


@pytest.mark.parametrize("func", KINDS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [0, 1, 2, 57])
def test_kinds_of_sites(func, n):
    global GLOBAL
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for _ in range(3):
        seen = []
        for f in (plain, fast):
            GLOBAL = 1.0
            o, a = Thing(), np.arange(12.0)
            seen.append((observe(f, (n, o, a), {}), {str(k): v for k, v in o.__dict__.items()}, a, GLOBAL))
        (x, *rest), (y, *rest2) = seen
        assert x.kind == y.kind, (x.value, y.value)
        same(x.value, y.value)
        assert x.printed == y.printed and x.warnings == y.warnings
        same(rest, rest2)
    if n == 57 and func is not over_array:
        counts = jitcore.stats(fast)
        assert counts.native_calls == 3 and counts.leaves == 0 and counts.compiles <= 12, counts


# -- what the called function does ---------------------------------------------------------------------
SHARED = {"limit": 40.0}
FACTOR = 2.0
ITEMS = [1.0, 2.0, 3.0]


def changes_global(k):
    global FACTOR
    if k % 10 == 5:
        FACTOR = FACTOR + 0.5 if k != 25 else 7


def changes_array(k):
    if k % 10 == 5:
        ARRAY[k % 4] = k


def resizes_array(k):
    if k == 5:
        ARRAY.resize(9, refcheck=False)


def changes_list(k):
    if k % 10 == 5:
        ITEMS[0] = ITEMS[0] * 1.5
    if k == 30:
        ITEMS.append(k)


def changes_attribute(k):
    if k % 10 == 5:
        THING.v = THING.v + 1 if k != 25 else "text"


ARRAY = np.arange(4.0)
THING = Thing()


def reads_all(n, f, boxes):
    total = 0.0
    for i in range(n):
        f(i)
        total += FACTOR * i + ARRAY[1] * 0.5 + ITEMS[0] * 0.25 - total * 0.125
        total = total * 0.5 + len(ITEMS) + len(ARRAY)
        if i != 26:
            total += THING.v if i < 25 or i > 30 else 0.0
        else:
            boxes.append(THING.v)
            THING.v = 0.75
    return total


@pytest.mark.parametrize("change", [changes_global, changes_array, resizes_array, changes_list, changes_attribute])
def test_what_a_callee_changes_is_seen(change):
    def reset():
        global FACTOR, ARRAY
        FACTOR, ARRAY = 2.0, np.arange(4.0)
        ITEMS[:] = [1.0, 2.0, 3.0]
        THING.v = 0.25

    def callee(k: int) -> None:
        change(k)
    plain, fast = fresh_copy(reads_all), jitcore.accelerate(fresh_copy(reads_all))
    for _ in range(2):
        results = []
        for f in (plain, fast):
            reset()
            boxes: list[Any] = []
            results.append((observe(f, (60, builtins_call(callee), boxes), {}), boxes))
        a, b = results
        assert a[0].kind == b[0].kind, (a[0].value, b[0].value)
        same(a[0].value, b[0].value)
        same(a[1], b[1])
    assert share(jitcore.stats(fast), 120) >= 0.9


def builtins_call(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` as an object that is not looked into."""
    return types.MethodType(_Call(f), ())


class _Call:
    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f

    def __call__(self, _: Any, *args: Any) -> Any:
        return self.f(*args)


# -- frames as callees see them ----------------------------------------------------------------------------
def observed(n, see):
    total = 0.0
    last = None
    for i in range(n):
        x = i * 0.5 + total * 0.25
        if i % 2:
            odd = x * 3.0 - i  # noqa: F841
        total = total * 0.5 + x * 0.125 - x + i * 3 - 1.5 * x
        see(i,
            total)
        last = total - x
    return total, last


def nested_observed(n, see):
    t = 0.0
    for i in range(n):
        y = i * 0.5 - t
        for j in range(3):
            z = y + j * 0.25 - t * 0.5
            t += z * 0.125 + i - j
            if j == 1:
                see(i, j)
        w = z * y
    return t, w


class Look:
    """Notes the caller's line and locals."""

    def __init__(self, at: int | None = None) -> None:
        self.notes: list[Any] = []
        self.at = at

    def __call__(self, *args: Any) -> None:
        frame = sys._getframe(1)
        names = {k: v for k, v in frame.f_locals.items() if k not in ("see", "f")}
        self.notes.append((frame.f_lineno, frame.f_code.co_name, names, args))
        if self.at is not None and len(self.notes) == self.at:
            raise ValueError(f"call {self.at}")


@pytest.mark.xfail(reason="locals that nothing reads any more are unbound in loops", strict=True)
@pytest.mark.parametrize("func", [observed, nested_observed])
@pytest.mark.parametrize("n", [2, 30])
def test_callees_see_lines_and_locals(func, n):
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for _ in range(2):
        a, b = Look(), Look()
        same(plain(n, a), fast(n, b))
        same(a.notes, b.notes)


# -- exceptions ------------------------------------------------------------------------------------------
def caught_inside(n, f, log):
    total = 0.0
    for i in range(n):
        total = total * 0.5 + i * 0.125 - total * 0.25 + i * 3 - 1.5 * i
        try:
            f(i, total)
        except ValueError as error:
            log.append(str(error))
            log.append(lines(error))
    return total


def caught_outside(n, f, log):
    total = 0.0
    i = 0
    for k in range(3):
        try:
            while i < n:
                i += 1
                total = total * 0.5 + i * 0.125 - total * 0.25 + i * 3 - 1.5 * i
                f(i, kind=total)
        except ValueError as error:
            log.append((k, str(error)))
            log.append(lines(error))
    return total, i


def not_caught(n, f, log):
    total = 0.0
    for i in range(n):
        total = total * 0.5 + i * 0.125 - total * 0.25 + i * 3 - 1.5 * i
        f(i, total)
    return total


def finally_and_with(n, f, log):
    total = 0.0
    for i in range(n):
        try:
            total = total * 0.5 + i * 0.125 - total * 0.25 + i * 3 - 1.5 * i
            with Suppress(log):
                f(i, total)
        finally:
            total += 1.0
    return total


class Suppress:
    def __init__(self, log: list[Any]) -> None:
        self.log = log

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if error is not None:
            self.log.append((str(error), lines(error)))
        return True


def lines(error: BaseException) -> list[Any]:
    return [(t.name, t.lineno) for t in traceback.extract_tb(error.__traceback__) if t.name not in ("observe",)]


class Raises:
    def __init__(self, every: int) -> None:
        self.every, self.count = every, 0

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.count += 1
        if self.count % self.every == 0:
            raise ValueError(f"call {self.count}", *args)


@pytest.mark.parametrize("func", [caught_inside, caught_outside, not_caught, finally_and_with])
@pytest.mark.parametrize("every", [1, 7, 1000])
def test_exceptions_of_callees(func, every):
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for _ in range(3):
        seen = []
        for f in (plain, fast):
            log: list[Any] = []
            seen.append((observe(f, (4000, Raises(every), log), {}), log))
        (a, log_a), (b, log_b) = seen
        assert a.kind == b.kind, (a.value, b.value)
        same(a.value, b.value)
        same(log_a, log_b)
        if a.kind == "raise":
            assert lines(a.value) == lines(b.value)
    assert not _core.is_watched(fast.__code__)
    if func is caught_inside and every == 1000:
        assert share(jitcore.stats(fast), 3 * 4000) > 0.9


# -- other callees ----------------------------------------------------------------------------------------
def recursive(n, depth, f):
    total = 0.0
    for i in range(n):
        total += i * 0.5 - total * 0.125 + depth * 0.25 - i * i * 0.001
        if i % 5 == 2 and depth > 0:
            total += f(n, depth - 1, f)
    return total


def test_recursion_through_a_site():
    plain, fast = fresh_copy(recursive), jitcore.accelerate(fresh_copy(recursive))
    for _ in range(2):
        same(plain(12, 3, plain), fast(12, 3, fast))


def generator(n):
    for i in range(n):
        yield i * 0.5


def takes_next(n, g):
    total = 0.0
    for i in range(n):
        total += next(g) - total * 0.125 + i * 0.25 - i * i * 0.001
    return total


def test_generators():
    check(takes_next, lambda: (40, generator(50)), native=None)
    check(takes_next, lambda: (40, generator(20)), native=None)


def test_only_calls_are_left_alone():
    def calls(n, f):
        for i in range(n):
            f(i)

    fast = jitcore.accelerate(fresh_copy(calls))
    for _ in range(3):
        fast(500, Thing())
    counts = jitcore.stats(fast)
    assert counts.site_calls <= 6, counts


def test_threads_see_their_own_loops():
    fast = jitcore.accelerate(fresh_copy(caught_inside))
    expected = [fresh_copy(caught_inside)(3000, Raises(k), []) for k in (50, 70, 90)]
    found: dict[int, Any] = {}

    def run(k: int) -> None:
        found[k] = fast(3000, Raises(k), [])
    threads = [threading.Thread(target=run, args=(k,)) for k in (50, 70, 90)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    same([found[k] for k in (50, 70, 90)], expected)
    assert not _core.is_watched(fast.__code__)


def test_a_patched_builtin_is_called(monkeypatch):
    fast = jitcore.accelerate(fresh_copy(prints))
    fast(30, Thing(), None)
    seen = []
    monkeypatch.setattr(builtins, "print", lambda *args: seen.append(args))
    fast(30, Thing(), None)
    assert len(seen) == 10
