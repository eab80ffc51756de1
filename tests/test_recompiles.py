"""How often a function is compiled: shapes are run-time values, types and layouts are not."""
from __future__ import annotations

import numpy as np

import jitcore


def counts(func):
    return jitcore.stats(func).compiles


def test_lengths_and_shapes_share_one_region():
    @jitcore.accelerate
    def f(x, y):
        return x * y + x

    for n in (0, 1, 2, 50):
        f(np.ones(n), np.ones(n))
    assert counts(f) == 1
    rng = np.random.default_rng(1)
    for n in rng.integers(0, 2000, 300):
        x = rng.standard_normal(n)
        np.testing.assert_array_equal(f(x, x), x * x + x)
    assert counts(f) == 1
    assert jitcore.stats(f).native_calls == 304


def test_two_dimensional_shapes_share_one_region():
    @jitcore.accelerate
    def f(x, y):
        return x * y + x

    rng = np.random.default_rng(1)
    for shape in rng.integers(0, 30, (300, 2)):
        x = rng.standard_normal(shape)
        np.testing.assert_array_equal(f(x, x), x * x + x)
    assert counts(f) == 1


def test_four_layouts_at_most_four():
    @jitcore.accelerate
    def f(x):
        return x * 2 + 1

    base = np.arange(24.0).reshape(4, 6)
    for _ in range(3):
        for x in (base, np.asfortranarray(base), base[:, ::2], np.broadcast_to(base[0], (4, 6))):
            np.testing.assert_array_equal(f(x), x * 2 + 1)
    assert counts(f) <= 4


def test_ways_of_passing_share_one_region():
    @jitcore.accelerate
    def f(x, c=2.0):
        return x * c + 1

    x = np.arange(5.0)
    for result in (f(x, 2.0), f(x, c=2.0), f(x), f(x=x), f(c=3.0, x=x)):
        assert result.shape == (5,)
    assert counts(f) == 1
    assert jitcore.stats(f).native_calls == 5


def test_fresh_lambdas_of_one_code_share_one_region():
    results = []
    for k in range(100):
        g = jitcore.accelerate(lambda x, k=k: x * 2 + k)
        results.append(g(np.ones(3))[0])
    assert results == [2.0 + k for k in range(100)]
    assert counts(g) == 1


RATE = 0.0


def test_a_changed_global_number_needs_no_recompile():
    global RATE

    @jitcore.accelerate
    def f(x):
        return x * RATE + 1

    x = np.ones(4)
    for k in range(100):
        RATE = k + 0.5
        assert f(x)[0] == k + 1.5
    assert counts(f) == 1
    RATE = 3
    assert f(x)[0] == 4.0
    assert counts(f) == 2


def test_functions_with_other_defaults_each_time():
    @jitcore.accelerate
    def f(x, g):
        return g(x * 2.0) + 1.0

    x = np.ones(3)
    for k in range(200):
        assert f(x, lambda y, k=k, *, by=2.0: y * k * by).tolist() == [4.0 * k + 1.0] * 3
    assert counts(f) <= 6


def test_functions_with_defaults_that_stay_are_looked_into():
    @jitcore.accelerate
    def f(x, g):
        return g(x * 2.0) + 1.0

    x = np.ones(3)
    kept = [lambda y, k=k: y * k for k in range(2)]
    for i in range(20):
        assert f(x, kept[i % 2]).tolist() == [2.0 * (i % 2) + 1.0] * 3
    assert counts(f) == 2 and jitcore.stats(f).site_calls == 0


def test_objects_made_anew_behind_a_call():
    @jitcore.accelerate
    def f(x):
        y = np.empty(3, np.dtype(np.int32, metadata={}))
        y[:] = x * 2
        return y + 1

    x = np.arange(3.0)
    for _ in range(200):
        assert f(x).tolist() == [1, 3, 5]
    assert counts(f) <= 20


def test_objects_that_come_again_are_known_each():
    @jitcore.accelerate
    def f(x, ufunc):
        return ufunc(x * 2.0, 1.0)

    x, ufuncs = np.arange(3.0), [np.add, np.subtract, np.multiply, np.divide, np.maximum]
    for k in range(50):
        f(x, ufuncs[k % 5])
    assert counts(f) == 5 and jitcore.stats(f).site_calls == 0
