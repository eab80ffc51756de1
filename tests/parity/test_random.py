"""Random numbers in compiled loops: NumPy's own stream, number for number, and NumPy's own state afterwards."""
from __future__ import annotations

import inspect
import math
import threading
import types
from typing import Any

import numpy as np
import pytest

import jitcore
from jitcore.ops.random import DRAWS

from .compare import fresh_copy, observe, same

BITS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def generator(bits: str = "PCG64", seed: int = 7) -> np.random.Generator:
    return np.random.Generator(getattr(np.random, bits)(seed))


def equal_states(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal_states(a[k], b[k]) for k in a)
    return bool(np.array_equal(a, b))


def compare(func: types.FunctionType, *args: Any, bits: str = "PCG64", native: bool | None = True,
            calls: int = 3) -> Any:
    """The same results and states, call after call on one generator each."""
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    first, second = generator(bits), generator(bits)
    for call in range(calls):
        a, b = observe(plain, (first, *args), {}), observe(fast, (second, *args), {})
        assert a.kind == b.kind, (a.value, b.value)
        same(a.value, b.value, where=f"{func.__name__}, call {call}")
        assert a.warnings == b.warnings
        assert equal_states(first.bit_generator.state, second.bit_generator.state), f"{func.__name__}, call {call}"
    counts = jitcore.stats(fast)
    if native is not None:
        assert counts.native_calls == (calls if native else 0) and counts.site_calls == 0, counts
    return counts


def drawing(body: str) -> types.FunctionType:
    space: dict[str, Any] = {"np": np, "math": math}
    exec(f"def f(rng, n, p=0.3, q=2.5, k=9):\n    r = []\n    total = 0.0\n    last = None\n    for i in range(n):\n"
         f"        last = {body}\n        total += last\n    return total, last\n", space)
    return space["f"]


ARGUMENTS = {0: "", 1: "p", 2: "p, q"}


@pytest.mark.parametrize("name", DRAWS)
def test_each_method(name):
    draw = DRAWS[name]
    assert draw.is_exact()
    body = "rng.integers(k)" if draw.bounded else f"rng.{name}({ARGUMENTS[len(draw.parameters)]})"
    compare(drawing(body), 40)


@pytest.mark.parametrize("bits", BITS)
def test_each_bit_generator(bits):
    def mixed(rng, n):
        total, count = 0.0, 0
        for i in range(n):
            total += rng.normal(i, 2.0) + rng.random() * rng.standard_exponential()
            if rng.integers(3) == 0:            # halves of 64 bits are kept for the next one
                count += rng.integers(1000)
            if rng.integers(0, 2**40) > 2**39:
                total -= rng.uniform(-1, 1)
        return total, count, rng.integers(5)
    compare(mixed, 200, bits=bits)


@pytest.mark.parametrize("body", [
    "rng.integers(0, 10)", "rng.integers(-5, 5)", "rng.integers(low=3, high=k)", "rng.integers(k, endpoint=True)",
    "rng.integers(-2**62, 2**62)", "rng.integers(1)", "rng.integers(0, 2**32)",
    "rng.integers(0, 2**32 - 1, endpoint=True)", "rng.integers(i + 1)",
    "rng.integers(np.int32(i) + np.int32(1), 100)", "rng.normal(scale=p)", "rng.normal(loc=i)", "rng.uniform()",
    "rng.uniform(i, i + 1)", "rng.uniform(high=q)", "rng.exponential()", "rng.poisson()", "rng.poisson(i)",
    "rng.gamma(q)", "rng.normal(np.float32(p), np.float64(q))", "rng.random(dtype=np.float64)", "rng.normal(0, 0)",
    "rng.random(None)", "rng.normal(True, 1)"])
def test_arguments(body):
    compare(drawing(body), 50)


@pytest.mark.parametrize("body", [
    "rng.normal(0, -p)", "rng.normal(0, -0.0 * i)", "rng.uniform(q, p)", "rng.integers(0)", "rng.integers(5, i)",
    "rng.exponential(p - i)", "rng.poisson(-1.0 + p * 0)", "rng.beta(0.0, p)", "rng.geometric(q)",
    "rng.uniform(-1e308 * q, 1e308 * q)", "rng.normal(p, float('nan') * i)"])
def test_refused_arguments(body):
    """The exception is NumPy's, at NumPy's draw: what was drawn before it stays drawn, once."""
    compare(drawing(body), 20, native=None)


@pytest.mark.parametrize("body", [
    "rng.normal(size=3).sum()", "rng.random(dtype=np.float32)", "rng.integers(5, dtype=np.int8)",
    "rng.binomial(5, p)", "rng.choice(5)", "rng.standard_exponential(method='inv')"])
def test_what_numpy_does_itself(body):
    compare(drawing(body), 10, native=None)


def test_leaving_after_draws_does_not_draw_again():
    def late(rng, n, a):
        total = 0.0
        for i in range(n):
            total += rng.random()
            total += a[i] // (n - i - 3)        # fails near the end
        return total
    compare(late, 20, list(range(20)), native=None)
    compare(late, 20, np.arange(20), native=None)


def test_walk_interleaved_with_the_interpreter():
    def walk(rng, n):
        x = 0.0
        for _ in range(n):
            x += rng.normal()
        return x
    fast = jitcore.accelerate(fresh_copy(walk))
    a, b = generator(), generator()
    for n in (1, 5, 0, 17):
        assert walk(a, n) == fast(b, n)
        assert a.normal() == b.normal() and a.integers(7) == b.integers(7)
    assert a.bit_generator.state == b.bit_generator.state
    assert jitcore.stats(fast).native_calls == 4


def test_two_generators_and_one_twice():
    def both(r, s, t, n):
        total = 0.0
        for _ in range(n):
            total += r.random() - s.random() * t.normal()
        return total
    fast = jitcore.accelerate(fresh_copy(both))
    for _ in range(3):
        r, s = generator(seed=1), generator("SFC64", 2)
        r2, s2 = generator(seed=1), generator("SFC64", 2)
        assert both(r, s, r, 30) == fast(r2, s2, r2, 30)
        assert r.bit_generator.state == r2.bit_generator.state
    assert jitcore.stats(fast).native_calls == 3


class Model:
    def __init__(self, rng):
        self.rng = rng

    def noise(self, n):
        total = 0.0
        rng = self.rng
        for _ in range(n):
            total += rng.normal() + self.rng.random()
        return total


def test_generator_of_an_object():
    def noise(model, n):
        total = 0.0
        rng = model.rng
        for _ in range(n):
            total += rng.normal() + model.rng.random()
        return total
    fast = jitcore.accelerate(fresh_copy(noise))
    assert [noise(Model(generator()), 20)] * 3 == [fast(Model(generator()), 20) for _ in range(3)]
    assert jitcore.stats(fast).native_calls == 3


def test_bound_methods():
    def bound(rng, n):
        draw = rng.normal
        total = 0.0
        for _ in range(n):
            total += draw(1.0, 0.5)
        return total
    compare(bound, 25)


def test_generator_whose_lock_is_taken():
    """Native code does not draw while another thread may be in the middle of a draw: the interpreter waits."""
    def draws(rng, n):
        total = 0.0
        for _ in range(n):
            total += rng.random()
        return total
    fast = jitcore.accelerate(fresh_copy(draws))
    fast(generator(), 5)
    rng, wanted = generator(), draws(generator(), 50)
    taken, done = threading.Event(), threading.Event()

    def hold():
        with rng.bit_generator.lock:
            taken.set()
            done.wait(0.2)
    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    before = jitcore.stats(fast).native_calls
    assert fast(rng, 50) == wanted
    thread.join()
    assert jitcore.stats(fast).native_calls == before


def test_threads_share_a_generator():
    """Every number is drawn once, whoever gets it."""
    def draws(rng, out, start, stop):
        for i in range(start, stop):
            out[i] = rng.random()
    fast = jitcore.accelerate(fresh_copy(draws))
    fast(generator(), np.zeros(4), 0, 4)
    rng, n, workers = generator(), 60_000, 3
    out = np.zeros(n * workers)
    threads = [threading.Thread(target=fast, args=(rng, out, k * n, (k + 1) * n)) for k in range(workers)]
    filler = threading.Thread(target=lambda: [rng.random(1000) for _ in range(50)])
    for thread in (*threads, filler):
        thread.start()
    for thread in (*threads, filler):
        thread.join()
    drawn = np.sort(out)
    stream = np.sort(generator().random(n * workers + 50_000))
    assert np.isin(drawn, stream).all() and len(np.unique(drawn)) == len(drawn)
    check = generator()
    check.random(n * workers + 50_000)
    assert check.bit_generator.state == rng.bit_generator.state


def test_own_class_is_left_to_the_interpreter():
    class Mine(np.random.Generator):
        def normal(self, *args):
            return 1.0

    def draws(rng, n):
        total = 0.0
        for _ in range(n):
            total += rng.normal() + rng.random()
        return total
    fast = jitcore.accelerate(fresh_copy(draws))
    for _ in range(3):
        assert fast(Mine(np.random.PCG64(3)), 9) == draws(Mine(np.random.PCG64(3)), 9)


def test_parameters_are_those_of_numpy():
    """Names and defaults, as the installed NumPy documents them."""
    for name, draw in DRAWS.items():
        text = (getattr(np.random.Generator, name).__doc__ or "").strip().splitlines()[0]
        for parameter, default, _ in draw.parameters:
            assert parameter in text, (name, text)
            if default is not ... and name != "integers":
                assert f"{parameter}={default}" in text, (name, text)
        try:
            signature = inspect.signature(getattr(np.random.Generator, name))
        except (TypeError, ValueError):
            continue
        names = [p for p in signature.parameters if p != "self"]
        assert names[:len(draw.parameters)] == [p for p, _, _ in draw.parameters]
