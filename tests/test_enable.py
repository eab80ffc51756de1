"""``enable``: what is found, what is not, and what is said about it."""
from __future__ import annotations

import logging
import types

import numpy as np
import pytest

import jitcore
from jitcore import _core
from jitcore.runtime import discovery
from jitcore.runtime.records import find_record

from .discovery import is_native, nothing_is_left, warm  # noqa: F401  (a fixture that every test uses)

X = np.arange(6.0)


def scale(x):
    return x * 2.0 + 1.0


def call_scale(x, n):
    for _ in range(n):
        scale(x)


def test_a_hot_function_is_found_and_runs_natively(caplog):
    def f(x, y):
        return x * y + x

    jitcore.enable(threshold=20)
    with caplog.at_level(logging.INFO, "jitcore.found"):
        for _ in range(9):
            f(X, X)
        assert jitcore.stats(f).found == 0 and _core.heat(f.__code__) == ("counted", 18, 20)
        expected = f(X, X)
    assert jitcore.stats(f).found == 1 and jitcore.stats().found >= 1
    assert [r.getMessage() for r in caplog.records if "found after 20 NumPy operations" in r.getMessage()]
    assert is_native(f, X, X)
    np.testing.assert_array_equal(f(X, X), expected)


def test_every_kind_of_operation_is_counted():
    a = np.arange(4.0)

    def f(expression):
        return expression()

    jitcore.enable(threshold=10**9)
    for expression, n in [(lambda: a + a, 1), (lambda: 2 - a, 1), (lambda: a @ a, 1), (lambda: a < a, 1),
                          (lambda: -a, 1), (lambda: np.exp(a), 1), (lambda: a[1], 1), (lambda: a[1:], 1),
                          (lambda: np.add.reduce(a), 1), (lambda: a.sum(), 1), (lambda: np.cumsum(a), 1),
                          (lambda: np.add.accumulate(a), 1), (lambda: a.__setitem__(0, 1.0), 0)]:
        expression()
        assert _core.heat(expression.__code__) == (("counted", n, 10**9) if n else None), expression

    def store():
        a[0] = 1.0
        a[1:] += 1.0

    def iterate():
        for v in a:
            assert v is not None

    store()
    assert _core.heat(store.__code__)[1] == 4
    iterate()
    assert _core.heat(iterate.__code__)[1] == 5


def test_large_arrays_count_for_more():
    def f(x):
        return x + x

    jitcore.enable(threshold=10**9)
    f(np.ones(1 << 16))
    assert _core.heat(f.__code__)[1] == 65


def test_operations_inside_numpy_count_for_the_caller():
    def f(x):
        return np.mean(x) + np.std(x)

    jitcore.enable(threshold=30)
    warm(f, X)
    assert is_native(f, X)
    assert find_record(np.mean._implementation.__code__) is None
    assert _core.heat(np.mean._implementation.__code__) is None or \
        _core.heat(np.mean._implementation.__code__)[0] == "through"


def test_callers_of_native_functions_are_found():
    jitcore.enable(threshold=20)
    warm(call_scale, X, 10, calls=8)
    assert jitcore.stats(scale).found and jitcore.stats(call_scale).found
    calls = jitcore.stats(scale).calls
    assert is_native(call_scale, X, 10)
    assert jitcore.stats(scale).calls == calls          # compiled into its caller


def test_a_loop_that_runs_already_is_entered():
    def long(x, n):
        total = 0.0
        for i in range(n):
            total += x[i % 6] * 2.0
        return total

    expected = long(X, 20000)
    jitcore.enable(threshold=50)
    assert long(X, 20000) == expected
    assert _core.counters(long.__code__)["loop_entries"] > 0
    assert _core.heat(long.__code__)[1] < 2000      # the rest of its operations were native


def test_closures_are_marked_as_they_come():
    def outer(k):
        def inner(x):
            return x * k + 1.0
        return inner

    jitcore.enable(threshold=6)
    first, second = outer(2.0), outer(3.0)
    warm(first, X)
    assert is_native(first, X)
    assert not _core.is_marked(second)
    assert second(X).tolist() == (X * 3.0 + 1.0).tolist() and _core.is_marked(second)
    assert is_native(second, X) and second(X).tolist() == (X * 3.0 + 1.0).tolist()


def test_functions_made_anew_count_for_their_maker():
    def make_and_call(x):
        return (lambda y: y * 2.0 + 1.0)(x)

    jitcore.enable(threshold=20)
    warm(make_and_call, X)
    assert jitcore.stats(make_and_call).found and is_native(make_and_call, X)


def test_comprehensions_count_for_their_function():
    def f(x):
        return [x[i] * 2.0 for i in range(3)], sum(x[i] for i in range(3))

    jitcore.enable(threshold=10**9)
    f(X)
    assert _core.heat(f.__code__)[1] == 6


def test_methods():
    class Model:
        def __init__(self, x):
            self.y = x * 2.0 + 1.0

        def value(self, x):
            return x * self.y + x

        @staticmethod
        def static(x):
            return x * 2.0 + 1.0

        @property
        def twice(self):
            return self.y * 2.0 + 1.0

    def use(x):
        model = Model(x)
        return model.value(x) + Model.static(x) + model.twice

    expected = use(X)
    jitcore.enable(threshold=10)
    model = Model(X)
    for _ in range(15):
        Model(X), model.value(X), Model.static(X), model.twice
    for func in (Model.__init__, Model.value, Model.static, Model.twice.fget):
        assert jitcore.stats(func).found and jitcore.stats(func).native_calls
    assert warm(use, X).tolist() == expected.tolist()


def test_generators_and_coroutines_are_not_marked():
    def generator(x):
        for i in range(3):
            yield x[i] * 2.0

    async def coroutine(x):
        return x * 2.0 + 1.0

    def run():
        list(generator(X))
        with pytest.raises(StopIteration):
            coroutine(X).send(None)

    jitcore.enable(threshold=3)
    warm(run)
    for func in (generator, coroutine):
        assert jitcore.stats(func).found == 0 and _core.heat(func.__code__)[0] == "never"
        assert "generators and coroutines" in discovery.describe(func)


def make_module(name, source):
    module = types.ModuleType(name)
    module.np = np
    exec(source, module.__dict__)
    return module


def test_modules():
    source = "def f(x): return x * 2.0 + 1.0\ndef g(x, func): return func(x)"
    one, sub = make_module("one_module", source), make_module("one_module.sub", source)
    other = make_module("one_module_more", source)

    def warm_all():
        for module in (one, sub, other):
            warm(module.f, X)

    jitcore.enable(modules=[one], threshold=4)
    warm_all()
    assert [jitcore.stats(m.f).found for m in (one, sub, other)] == [1, 1, 0]
    jitcore.enable(modules="one_module_more", threshold=4)
    assert [jitcore.stats(m.f).found for m in (one, sub, other)] == [0, 0, 0]
    warm_all()
    assert [jitcore.stats(m.f).found for m in (one, sub, other)] == [0, 0, 1]
    jitcore.enable(modules=[sub, other], threshold=10**9)
    one.g(X, scale)                             # neither is looked at
    assert _core.heat(one.g.__code__)[0] == _core.heat(scale.__code__)[0] == "through"
    other.g(X, scale)                           # what scale does counts for its caller
    assert _core.heat(other.g.__code__)[:2] == ("counted", 2)
    assert "not one of those" in discovery.describe(scale)


@pytest.mark.parametrize("modules", [3, [3], [None]])
def test_modules_of_another_kind(modules):
    with pytest.raises(TypeError, match="modules must be"):
        jitcore.enable(modules=modules)


def test_other_arguments():
    with pytest.raises(ValueError, match="threshold"):
        jitcore.enable(threshold=0)
    with pytest.raises(ValueError, match="precision"):
        jitcore.enable(precision="fast")
    jitcore.enable(precision="numpy", threshold=4)
    x = np.linspace(0.1, 9.0, 1001)

    def f(x):
        return np.exp(x) + np.log(x)

    expected = f(x)
    assert warm(f, x).tobytes() == expected.tobytes() and is_native(f, x)


def test_never():
    @jitcore.never
    def f(x):
        return x * 2.0 + 1.0

    @jitcore.never
    class Model:
        def value(self, x):
            return x * 2.0 + 1.0

        @property
        def prop(self):
            return X * 2.0 + 1.0

        @classmethod
        def cls(cls, x):
            return x * 2.0 + 1.0

    def caller(x):
        return f(x) + 1.0

    jitcore.enable(threshold=4)
    for _ in range(20):
        f(X), Model().value(X), Model().prop, Model.cls(X), caller(X)
    for func in (f, Model.value, Model.prop.fget, Model.cls):
        assert jitcore.stats(func).found == 0 and jitcore.stats(func).calls == 0
    assert not _core.is_marked(f) and "never" in discovery.describe(f)
    site_calls = jitcore.stats(caller).site_calls
    caller(X)
    assert jitcore.stats(caller).found and jitcore.stats(caller).site_calls == site_calls + 1   # not compiled in


def test_never_takes_back_what_was_found():
    def f(x):
        return x * 2.0 + 1.0

    def caller(x):
        return f(x) * 3.0

    jitcore.enable(threshold=4)
    warm(caller, X)
    assert jitcore.stats(f).found and is_native(caller, X)
    jitcore.never(f)
    calls = jitcore.stats(f).calls
    sites = jitcore.stats(caller).site_calls
    assert warm(caller, X).tolist() == ((X * 2.0 + 1.0) * 3.0).tolist()
    assert jitcore.stats(f).calls == calls and jitcore.stats(caller).site_calls > sites
    jitcore.accelerate(f)
    assert is_native(f, X)
    with pytest.raises(TypeError, match="never expects"):
        jitcore.never(3)


def test_marks_by_hand_are_not_touched():
    @jitcore.accelerate(precision="numpy")
    def by_hand(x):
        return np.exp(x) + 1.0

    by_hand(X)
    jitcore.enable(threshold=2)
    warm(by_hand, X)
    assert jitcore.stats(by_hand).found == 0 and is_native(by_hand, X)
    jitcore.disable()
    assert not _core.is_marked(by_hand)
    jitcore.enable(modules=[])
    assert _core.is_marked(by_hand) and jitcore.stats(by_hand).compiles == 1 and is_native(by_hand, X)


def test_a_found_function_that_is_marked_stays_marked():
    def f(x):
        return x * 2.0 + 1.0

    jitcore.enable(threshold=4)
    warm(f, X)
    jitcore.accelerate(f)
    assert jitcore.stats(f).found == 0
    jitcore.enable(modules=[])
    assert is_native(f, X)


def test_explain(capsys):
    def cold(x):
        return x + 1.0

    jitcore.enable(threshold=4)
    cold(X)
    warm(scale, X)
    jitcore.explain(cold)
    jitcore.explain(scale)
    text = capsys.readouterr().out
    assert "not marked: 1 NumPy operations were seen in it since enable(), 4 make it hot" in text
    assert "found by enable(), after 4 NumPy operations in it" in text


def test_compilation_is_bounded(monkeypatch):
    def f(x):
        return x * 2.0 + 1.0

    def g(x):
        return x * 3.0 + 1.0

    jitcore.enable(threshold=4)
    warm(f, X)
    assert jitcore.stats(f).found
    monkeypatch.setattr(discovery.config, "FOUND_SECONDS", -1e9)
    warm(g, X)
    assert not jitcore.stats(g).found and _core.heat(g.__code__)[2] > 30
    monkeypatch.undo()
    warm(g, X, calls=100)
    assert jitcore.stats(g).found
