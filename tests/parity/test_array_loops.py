"""Loops whose trips work on whole arrays: stencils, arrays that change places, shapes that change, late failures."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, observe, same


def heat(u: Any, k: Any, n: Any) -> Any:
    for _ in range(n):
        u[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
    return u


def swapped(u: Any, v: Any, n: Any) -> Any:
    for _ in range(n):
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        u, v = v, u
    return u, v


def swapped_own(u: Any, n: Any) -> Any:
    v = np.empty_like(u)
    w = u.copy()
    for _ in range(n):
        v[1:-1] = 0.5 * (w[2:] + w[:-2])
        v[0] = v[-1] = 0
        w, v = v, w
    return w


def wave(u: Any, v: Any, n: Any) -> Any:
    for _ in range(n):
        lap = u[2:] + u[:-2] - 2.0 * u[1:-1]
        v[1:-1] += 0.1 * lap
        u += 0.1 * v
    return u, lap


def life(g: Any, n: Any) -> Any:
    for _ in range(n):
        near = (g[:-2, :-2] + g[:-2, 1:-1] + g[:-2, 2:] + g[1:-1, :-2] + g[1:-1, 2:] + g[2:, :-2] + g[2:, 1:-1]
                + g[2:, 2:])
        birth = (near == 3) & (g[1:-1, 1:-1] == 0)
        stay = ((near == 2) | (near == 3)) & (g[1:-1, 1:-1] == 1)
        g[...] = 0
        g[1:-1, 1:-1][birth | stay] = 1
    return g


def train(x: Any, y: Any, w: Any, b: Any, n: Any) -> Any:
    loss = 0.0
    for _ in range(n):
        d = (x @ w + b - y) / x.shape[0]
        w -= 0.1 * (x.T @ d)
        b -= 0.1 * d.sum(axis=0)
        loss = (d * d).sum()
    return w, b, loss


def rows(a: Any) -> Any:
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] * 0.5 + a[i]
        a[i, 1:] -= a[i, :-1]
    return a


def elimination(a: Any) -> Any:
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k:] -= a[k, k:] * (a[i, k] / a[k, k])
    return a


def views_carried(a: Any, n: Any) -> Any:
    part = a[1:]
    for i in range(n):
        part += 1.0
        part = a[:-1] if i % 2 else a[1:]
    return a, part


def halving(a: Any) -> Any:
    total = 0.0
    while a.shape[0] > 1:
        a = a[::2] + a[: a.shape[0] // 2 * 2 : 2][0]
        total += a.sum()
    return total, a


def masked(a: Any, n: Any) -> Any:
    for i in range(n):
        a[a > 20] = 0
        a += i
    return a


def nearest(points: Any, centres: Any, best: Any, label: Any) -> Any:
    best[:] = 1e300
    for j in range(centres.shape[0]):
        d = ((points - centres[j]) ** 2).sum(axis=1)
        closer = d < best
        best[:] = np.minimum(best, d)
        label[closer] = j
    return label


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).random(shape)


CASES: dict[str, tuple[Any, Any]] = {
    "heat": (heat, lambda: (_random(9, 12), 0.1, 40)),
    "swapped": (swapped, lambda: (_random(20), np.zeros(20), 41)),
    "swapped_own": (swapped_own, lambda: (_random(20), 41)),
    "wave": (wave, lambda: (_random(20), np.zeros(20), 41)),
    "life": (life, lambda: ((_random(16, 18) < 0.4).astype(np.uint8), 40)),
    "life of ints": (life, lambda: ((_random(16, 18) < 0.4).astype(int), 40)),
    "train": (train, lambda: (_random(10, 3), _random(10, 2), _random(3, 2), np.zeros(2), 40)),
    "rows": (rows, lambda: (_random(40, 5),)),
    "elimination": (elimination, lambda: (_random(40, 40),)),
    "views_carried": (views_carried, lambda: (_random(10), 40)),
    "masked": (masked, lambda: (np.arange(30.0), 40)),
    "nearest": (nearest, lambda: (_random(50, 3), _random(40, 3), np.zeros(50), np.zeros(50, int))),
}


@pytest.mark.parametrize("name", CASES)
def test_native(name: str) -> None:
    func, make = CASES[name]
    check(func, make)


def test_shapes_that_change() -> None:
    check(halving, lambda: (_random(100),), native=None)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 100])
def test_other_numbers_of_trips(trips: int) -> None:
    fast = jitcore.accelerate(fresh_copy(swapped))
    for n in (40, trips, 40):
        a, b = (_random(12), np.zeros(12)), (_random(12), np.zeros(12))
        got = fast(*b, n)
        same(swapped(*a, n), got)
        assert got[0] is (b[1] if n % 2 else b[0])      # the very objects


def growing(u: Any, n: Any) -> Any:
    for _ in range(n):
        u[1:-1] += u[2:] * u[:-2]
        u *= 1.5
    return u


def dividing(u: Any, v: Any, n: Any) -> Any:
    for i in range(n):
        v[...] = u + i
        u[1:] = v[:-1] / (v[1:] - 40.0)
        v += 1
    return u, v


@pytest.mark.parametrize("mode", ["warn", "raise"])
def test_reports_late_in_a_loop(mode: Any) -> None:
    """The trips before are done once, and the one that reports finds what they left."""
    with np.errstate(all=mode, under="ignore"):
        for func, make in ((growing, lambda: (np.linspace(1, 2, 9), 60)),
                           (dividing, lambda: (np.arange(9.0), np.zeros(9), 60))):
            check(func, make, native=None, calls=4)


def test_an_index_that_fails_late() -> None:
    def func(a: Any, at: Any) -> Any:
        for i in range(at.shape[0]):
            a[at[i]] += 1.0
            a[at[i], 1:] *= 2.0
        return a

    def last_fails() -> tuple[Any, ...]:
        return np.ones((5, 3)), np.array([0, 1, 2, 3, 4] * 8 + [7])

    check(func, lambda: (np.ones((5, 3)), np.array([0, 1, 2, 3, 4] * 8)))
    check(func, last_fails, native=None)
    fast = jitcore.accelerate(fresh_copy(func))
    for _ in range(3):
        args, again = last_fails(), last_fails()
        a, b = observe(func, args, {}), observe(fast, again, {})
        assert a.kind == b.kind == "raise"
        same(args, again)


def test_memory_of_trips_comes_back() -> None:
    """Ten thousand trips over arrays of a megabyte take no more memory than a few."""
    resource = pytest.importorskip("resource")

    def func(u: Any, v: Any, n: Any) -> Any:
        for _ in range(n):
            t = u + 1.0
            v[1:] = t[:-1] * 0.5
            u[...] = v
        return u

    fast = jitcore.accelerate(func)
    for _ in range(3):
        fast(np.ones(1000), np.ones(1000), 40)
    fast(np.ones(130_000), np.ones(130_000), 40)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fast(np.ones(130_000), np.ones(130_000), 1500)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    assert jitcore.stats(fast).native_calls == 5
