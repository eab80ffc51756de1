"""Arrays of a few elements, which compiled code holds as numbers: values, warnings, identity, aliases, exits."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from numpy.lib.array_utils import byte_bounds

import jitcore

from .compare import check, fresh_copy, observe, same, same_call


def oscillator(t: Any, y: Any) -> Any:
    return np.array([y[1], 2.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])


def runge_kutta(f: Any, y: Any, t: Any, h: Any, n: Any) -> Any:
    path = np.empty((n + 1, len(y)))
    path[0] = y
    for i in range(n):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
        path[i + 1] = y
    return path, y


def euler(y: Any, h: Any, n: Any) -> Any:
    """Nothing but the state."""
    for _ in range(n):
        y = y + h * np.array([y[1], -y[0]])
    return y


def in_place(y: Any, h: Any, n: Any) -> Any:
    """The state is changed, and so is whatever else it is called."""
    other = y
    for _ in range(n):
        y += h * np.array([y[1], -y[0]])
    return y, other, other is y


def filled(x: Any, n: Any) -> Any:
    total = np.zeros(3)
    for i in range(n):
        dy = np.empty(3)
        dy[0] = x * i
        dy[1] = dy[0] + 1
        dy[2:] = dy[1] * dy[0]
        total += dy
        total[-1] *= 0.5
    return total, dy


def former(y: Any, n: Any) -> Any:
    """Two names, which are one array at first."""
    last = y
    for _ in range(n):
        last, y = y, y + np.array([0.5, 0.25])
    return last, y, last is y


def former_own(x: Any, n: Any) -> Any:
    y = np.array([x, x + 1])
    last = y
    for _ in range(n):
        last, y = y, y * 0.5 + np.array([1.0, x])
    return last, y


def kept(x: Any, n: Any) -> Any:
    """Every state is seen outside."""
    y, seen = np.array([x, 1.0]), []
    for _ in range(n):
        y = y * 0.5
        seen.append(y)
    return seen, y is seen[-1] if seen else None


def written_later(x: Any, n: Any) -> Any:
    """What is handed on is written to in the next trip."""
    y = np.array([x, 1.0])
    for i in range(n):
        z = y + 1.0
        y[0] = z[1] + i
        y = z
    return y, z


def chosen(x: Any, n: Any) -> Any:
    a, b = np.array([x, 1.0]), np.array([2.0, x])
    for i in range(n):
        c = a if i % 2 else b
        a = a + 0.5 * c
    return a, c, c is b


def views(x: Any, n: Any) -> Any:
    y = np.array([x, 1.0, 2.0, 3.0])
    for _ in range(n):
        y = y[::-1] * 0.5 + y
        z = y[1:3]
        y = np.array([y[0], z[1], z[0], y[-1]])
    return y, z, z.base is not None


def seen_through(x: Any) -> Any:
    y = np.array([x, 1.0, 2.0])
    z = y[1:]
    z[0] = 7.0
    return y, z, np.shares_memory(y, z)


def table(a: Any, b: Any, n: Any) -> Any:
    m = np.array([a, b])[:, None] * np.array([b, 1.0])
    for _ in range(n):
        m = m + m.T * 0.25
    return m, m.T, m.copy(order="F") + m.T


def summed(x: Any, n: Any) -> Any:
    out = 0.0
    for i in range(n):
        y = np.array([x, 0.1 * i, -0.3])
        out += y.sum() + np.sum(y * y) + y.max()
    return out


def counted(x: Any, n: Any) -> Any:
    """Integers wrap around in arrays, without a word."""
    y = np.array([x, 3, 7])
    for i in range(n):
        y = y * 31 + np.arange(3) - (y > i)
    return y, y.sum(), y & 255, y == y[::-1]


def narrow(x: Any, n: Any) -> Any:
    y = np.zeros(2, dtype=np.float32) + np.float32(x)
    for _ in range(n):
        y = y * 1.5 + np.ones(2, dtype=np.float32)
    return y, y.astype(np.float64) * 0.1


def small_ints(n: Any) -> Any:
    y = np.ones(2, dtype=np.uint8)
    for _ in range(n):
        y = y * np.uint8(3) + np.array([1, 2], dtype=np.uint8)
    return y


def masks(x: Any, n: Any) -> Any:
    y = np.array([x, -x])
    for _ in range(n):
        up = (y > 0) | np.array([False, True])
        y = np.where(up, y * 0.5, y + 1.0)
    return y, up, ~up


def grows(x: Any, n: Any) -> Any:
    """Overflows in some trip: the warning is that of the array's multiplication."""
    y = np.array([x, 1.0])
    for _ in range(n):
        y = y * 10.0
    return y


def divides(x: Any, n: Any) -> Any:
    y = np.array([x, 1.0])
    for i in range(n):
        y = y / (np.array([i, i]) - 3.0)
    return y


def invalid(x: Any) -> Any:
    return np.sqrt(np.array([x, 4.0])) - np.array([1.0, 2.0]) / np.array([0.0, x])


def ignored(x: Any, n: Any) -> Any:
    y = np.array([x, 1.0])
    with np.errstate(all="ignore"):
        for _ in range(n):
            y = y * 1e200 - y / 0.0
    return y


def tiny(x: Any, n: Any) -> Any:
    y = np.array([x, 1.0])
    for _ in range(n):
        y = y * 1e-200
    return y


def shown(x: Any, n: Any, report: Any) -> Any:
    """A call in each trip, which sees the array and keeps it."""
    y = np.array([x, 1.0])
    for _ in range(n):
        y = y + 0.5
        report(y)
    return y


def raises(x: Any, n: Any, stop: Any) -> Any:
    y = last = np.array([x, 1.0])
    try:
        for i in range(n):
            last, y = y, y * 2.0 + np.array([0.0, 1.0])
            stop[i]
    except IndexError:
        return y, last, i
    return y, last, None


def stored(out: Any, x: Any, n: Any) -> Any:
    """Into rows of an argument, which may lie anyhow."""
    y = np.array([x, 1.0])
    for i in range(n):
        out[i] = y
        y = y * 0.5 + out[0] * 0.25
    return out


def read_back(y: Any, n: Any) -> Any:
    """The argument is written to while its elements are read."""
    for _ in range(n):
        z = y + np.array([1.0, 2.0])
        y[:] = z[::-1]
        y[0] = y[1] + z[0]
    return y, z


def unequal(y: Any) -> Any:
    return y + np.array([1.0, 2.0, 3.0])


def many(x: Any) -> Any:
    """More than there is room for as numbers."""
    y = np.arange(9.0) + x
    for _ in range(60):
        y = (y + 1.0) * 0.5 - y * 0.25 + (y - x) * 0.125
    return y


def by_index(x: Any, n: Any) -> Any:
    y = np.array([x, 1.0, 2.0])
    out = 0.0
    for i in range(n):
        y = y * 0.5 + np.array([0.0, x, 1.0])
        out += y[i % 3] - y[-1 - i % 3]
    return out, y


def zeros(n: Any) -> Any:
    y = np.array([0.0, -0.0])
    for _ in range(n):
        y = y + np.array([-0.0, -0.0])
    return y, y.sum(), -y, abs(y)


X = [1.5, -0.25, 0.0, float("nan"), float("inf"), 1e308]
CASES = [
    *((runge_kutta, (oscillator, np.array([2.0, 0.0]), 0.0, 1e-2, n)) for n in (0, 1, 2, 40)),
    (runge_kutta, (oscillator, np.array([2, 0]), 0, 1e-2, 5)),
    (runge_kutta, (oscillator, np.array([2.0, 1.0])[::-1], 0.0, 1e-2, 5)),
    (runge_kutta, (oscillator, np.array([[2.0, 5.0], [1.0, 7.0]])[:, 0], 0.0, 1e-2, 5)),
    (runge_kutta, (oscillator, np.array([2.0]), 0.0, 1e-2, 5)),
    (runge_kutta, (oscillator, np.array([2.0, 1.0, 0.0]), 0.0, 1e-2, 5)),
    (runge_kutta, (oscillator, np.array([1e300, 1e300]), 0.0, 1e-2, 5)),
    *((f, (np.array([1.0, 0.5]), 0.1, n)) for f in (euler, in_place) for n in (0, 1, 2, 9)),
    *((f, (y, 0.1, 4)) for f in (euler, in_place) for y in (
        np.array([3.0]), np.array([3, 4]), np.arange(4.0)[::2], np.arange(4.0)[::-3], np.broadcast_to(2.0, 2),
        np.float32([1, 2]), np.array([[1.0, 2.0], [3.0, 4.0]]), np.arange(3.0), np.ones((3, 1)))),
    *((former, (np.array([1.0, 2.0]), n)) for n in (0, 1, 2, 5)),
    *((f, (x, n)) for f in (filled, former_own, kept, written_later, chosen, views, summed, narrow, masks, grows,
                            divides, ignored, tiny, by_index) for x in X for n in (1, 2, 7)),
    *((f, (x,)) for f in (seen_through, invalid, many) for x in X),
    *((table, (a, 0.5, n)) for a in X for n in (0, 3)),
    *((counted, (x, n)) for x in (5, 2**62, -1) for n in (0, 1, 20)),
    *((f, (n,)) for f in (small_ints, zeros) for n in (0, 1, 30)),
    *((raises, (1.5, n, [0, 0, 0])) for n in (2, 3, 4, 9)),
    *((stored, (out, 0.75, 4)) for out in (
        np.zeros((4, 2)), np.zeros((2, 4)).T, np.zeros((8, 6))[::2, ::3], np.zeros((4, 2), dtype=np.float32),
        np.zeros((4, 1)), np.zeros((4, 3)), np.zeros((3, 2)), np.zeros((4, 2), dtype=int),
        np.lib.stride_tricks.as_strided(np.zeros(6), (4, 2), (8, 8)),
        np.lib.stride_tricks.as_strided(np.zeros(6), (4, 2), (8, 0)))),
    *((read_back, (y, 3)) for y in (np.array([1.0, 2.0]), np.arange(4.0)[::-2], np.arange(3.0))),
    *((unequal, (y,)) for y in (np.ones(3), np.ones(1), np.ones(2), np.ones((2, 3)), np.ones((3, 1)), np.ones(()))),
]


def again(value: Any) -> Any:
    """An array that lies in memory as ``value`` does; anything else as it is."""
    if not isinstance(value, np.ndarray) or value.flags.owndata:
        return value.copy() if isinstance(value, np.ndarray) else value
    low, high = byte_bounds(value)
    memory = bytearray(ctypes.string_at(low, high - low))
    made: Any = np.ndarray(value.shape, value.dtype, memory, value.ctypes.data - low, value.strides)
    made.flags.writeable = value.flags.writeable
    return made


FUNCTIONS = list(dict.fromkeys(func for func, _ in CASES))


@pytest.mark.parametrize("func", FUNCTIONS, ids=[func.__name__ for func in FUNCTIONS])
def test_as_without(func: Any) -> None:
    """One marked function for all arguments, twice each."""
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for case in [args for one, args in CASES if one is func] * 2:
        args, args2 = tuple(map(again, case)), tuple(map(again, case))
        same_call(plain, fast, (args, {}), (args2, {}), where=f"{func.__name__}{case}")
    counts = jitcore.stats(fast)
    assert counts.native_calls + counts.leaves > 0, counts


def test_what_is_kept_is_each_trip_s_own() -> None:
    def run(func: Any) -> tuple[Any, list[Any]]:
        seen: list[Any] = []
        return func(1.5, 6, seen.append), seen

    fast = jitcore.accelerate(fresh_copy(shown))
    (plain, had), (got, has) = run(fresh_copy(shown)), run(fast)
    same((plain, had), (got, has))
    assert jitcore.stats(fast).native_calls == 1 and got is has[-1] and len({id(one) for one in has}) == 6


@pytest.mark.parametrize("func, args", [
    (runge_kutta, (oscillator, np.array([2.0, 0.0]), 0.0, 1e-2, 30)), (filled, (1.5, 30)), (former_own, (1.5, 30)),
    (chosen, (1.5, 30)), (table, (1.5, 0.5, 30)), (summed, (1.5, 30)), (masks, (1.5, 30)), (counted, (5, 30))])
def test_they_run_natively(func: Any, args: Any) -> None:
    fast = jitcore.accelerate(fresh_copy(func))
    for _ in range(3):
        observe(fast, args, {})
    before = jitcore.stats(fast)
    fast(*args)
    after = jitcore.stats(fast)
    assert after.native_calls == before.native_calls + 1
    assert (after.leaves, after.site_calls) == (before.leaves, before.site_calls)


@pytest.mark.parametrize("func, args", [
    (runge_kutta, (oscillator, np.array([2.0, 0.0]), 0.0, 1e-2, 30)), (former_own, (1.5, 30)), (table, (1.5, 0.5, 30)),
    (masks, (1.5, 30)), (counted, (5, 30))])
def test_no_loop_nest_is_run_in_a_trip(func: Any, args: Any) -> None:
    """The kernels that a call runs do not grow with its trips."""
    fast = jitcore.accelerate(fresh_copy(func))
    counts = []
    for n in (5, 30):
        fast(*args[:-1], n)
        before = jitcore.stats(fast).kernels
        fast(*args[:-1], n)
        counts.append(jitcore.stats(fast).kernels - before)
    assert counts[0] == counts[1] and jitcore.stats(fast).native_calls >= 2


def test_numbers_of_a_vector_are_kept_across_rare_calls():
    """A product that is zero is looked at by a C function, while the others are in one register."""
    def f(step):
        a = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
        return a * step, np.linspace(0.0, 1.0, 6)

    check(f, lambda: (0.2,))
