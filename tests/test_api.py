"""The public functions: marking, switching, looking inside."""
from __future__ import annotations

import copy
import functools
import inspect
import logging
import pickle

import numpy as np
import pytest

import jitcore
from jitcore.ir.text import parse_graph, print_graph

from .child import run_child


@jitcore.accelerate
def module_level(x):
    """Doc."""
    return x * 2 + 1


def test_the_function_stays_itself():
    def f(x, *, k=2):
        return x * k

    g = jitcore.accelerate(f)
    assert g is f
    assert inspect.isfunction(g) and isinstance(g, type(test_the_function_stays_itself))
    assert str(inspect.signature(g)) == "(x, *, k=2)"
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert copy.copy(module_level) is module_level and copy.deepcopy(module_level) is module_level
    assert module_level.__doc__ == "Doc."


def test_methods_of_every_kind():
    class Scale:
        k = 3.0

        @jitcore.accelerate
        def method(self, x):
            return x * self.k

        @jitcore.accelerate
        @staticmethod
        def static(x):
            return x * 2.0

        @classmethod
        @jitcore.accelerate
        def cls_method(cls, x):
            return x * cls.k

    class Sub(Scale):
        k = 5.0

        def method(self, x):
            return super().method(x) + 1

    x = np.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(Scale().method(x), x * 3)
        np.testing.assert_array_equal(Scale.static(x), x * 2)
        np.testing.assert_array_equal(Sub.cls_method(x), x * 5)
        np.testing.assert_array_equal(Sub().method(x), x * 5 + 1)


def test_methods_and_their_callers_are_both_marked():
    class Model:
        @jitcore.accelerate
        def value(self, x):
            return x * self.k + 1.0

    @jitcore.accelerate
    def total(model, x):
        return model.value(x) + model.value(x * 2.0)

    model, x = Model(), np.arange(3.0)
    model.k = 2.0
    for _ in range(3):
        np.testing.assert_array_equal(model.value(x), x * 2.0 + 1.0)
        np.testing.assert_array_equal(total(model, x), x * 6.0 + 2.0)
    assert jitcore.stats(total).native_calls == 3


def test_partials_and_wrappers():
    def f(x, k):
        return x * k + 1

    part = functools.partial(f, k=2.0)
    assert jitcore.accelerate(part) is part
    for _ in range(2):
        np.testing.assert_array_equal(part(np.ones(2)), [3.0, 3.0])
    assert jitcore.stats(f).native_calls == 2

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    jitcore.accelerate(wrapper)
    np.testing.assert_array_equal(wrapper(np.ones(2), 2.0), [3.0, 3.0])


@pytest.mark.parametrize("thing", [3, "f", None.__class__, len, np.sin, object()])
def test_what_is_no_python_function_is_refused(thing):
    with pytest.raises(TypeError, match="Python function"):
        jitcore.accelerate(thing)


def test_generators_and_coroutines_run_as_they_are():
    @jitcore.accelerate
    def gen(n):
        for i in range(n):
            yield i * 2

    @jitcore.accelerate
    async def coro():
        return 1

    assert list(gen(3)) == [0, 2, 4]
    c = coro()
    with pytest.raises(StopIteration):
        c.send(None)


def test_unknown_options():
    with pytest.raises(ValueError, match="precision"):
        jitcore.accelerate(precision="fast")
    with pytest.raises(TypeError):
        jitcore.accelerate(speed=11)


def test_marking_again_replaces_the_options():
    def f(x):
        return np.exp(x) + 1

    x = np.linspace(-3, 3, 101)
    jitcore.accelerate(f)
    f(x)
    jitcore.accelerate(precision="numpy")(f)
    assert f(x).tobytes() == (np.exp(x) + 1).tobytes()
    assert jitcore.stats(f).native_calls == 2


def test_disable_enable_and_disabled():
    @jitcore.accelerate
    def f(x):
        return x * 2 + 1

    x = np.ones(3)
    f(x)
    with jitcore.disabled():
        f(x)
        with jitcore.disabled():
            f(x)
        f(x)
    assert jitcore.stats(f).calls == 1
    jitcore.disable()
    try:
        f(x)
        assert jitcore.stats(f).calls == 1
    finally:
        jitcore.enable(modules=[])
    f(x)
    assert jitcore.stats(f).calls == 2


def test_never():
    @jitcore.never
    @jitcore.accelerate
    def f(x):
        return x * 2 + 1

    f(np.ones(2))
    assert jitcore.stats(f).calls == 0


def test_trace_shows_the_stages():
    def f(x, y):
        return x * y + x

    x = np.arange(4.0)
    t = jitcore.trace(f, x, x)
    text = print_graph(t.graph)
    assert str(t.graph) == text and "multiply" in text and "add" in text
    assert print_graph(parse_graph(text, t.graph.objects)) == text
    low = t.lower()
    assert "multiply" in low.as_text("kernels") and "define" in low.as_text("llvm")
    with pytest.raises(ValueError, match="stages"):
        low.as_text("ptx")
    run = low.compile()
    np.testing.assert_array_equal(run(x, x), f(x, x))
    np.testing.assert_array_equal(run(x.astype("f4"), x), f(x, x))
    assert "ret" in run.as_text("asm")


def test_trace_of_what_has_no_region():
    def f(x):
        yield x

    with pytest.raises(jitcore.NotCompilable, match="generator"):
        jitcore.trace(f, 1)


def test_explain(capsys):
    @jitcore.accelerate
    def f(x, y):
        z = x * y
        return z + x

    x = np.arange(4.0)
    f(x, x)
    jitcore.explain(f, x, x)
    text = capsys.readouterr().out
    assert "1 kernel" in text and "z = x * y" in text and "argument `x`" in text and "float64" in text
    jitcore.explain(f)
    assert "1 call, 1 native" in capsys.readouterr().out


def test_guard_log_names_what_changed(caplog):
    @jitcore.accelerate
    def f(x):
        return x * 2 + 1

    with caplog.at_level(logging.INFO, logger="jitcore"):
        f(np.ones(3))
        f(np.ones(3, "f4"))
    lines = [r.getMessage() for r in caplog.records if r.name == "jitcore.guards"]
    assert len(lines) == 1
    assert "argument `x`: dtype float64 -> float32 (called at test_api.py:" in lines[0]
    assert "2 entries" in lines[0] and "compiled in" in lines[0]


def output_of(source: str, **env: str) -> str:
    done = run_child(source, **env)
    return done.stdout + done.stderr


CHILD = """
    import numpy as np, jitcore
    def f(x): return x * 2 + 1
    g = jitcore.accelerate(f)
    assert g is f
    print(g(np.ones(2)), jitcore.stats(f).calls, jitcore.stats().native_calls)
"""


def test_jitcore_0_is_inert():
    assert "[3. 3.] 0 0" in output_of(CHILD, JITCORE="0")


def test_log_variable():
    out = output_of(CHILD.replace("def f(x): return x * 2 + 1", "exec('def f(x): return x * 2 + 1')"),
                    JITCORE_LOG="compile,graph,llvm")
    assert "jitcore.compile" in out and "ew.multiply" in out and "define" in out


def test_cuda_is_not_imported():
    assert "False" in output_of("import sys, jitcore; print(any(m.startswith('cuda') for m in sys.modules))")


def test_explain_names_loops_and_counts_sites(capsys):
    @jitcore.accelerate
    def f(a, n):
        total = 0.0
        for i in range(n):
            for x in a:
                total += x * i
            if i % 10 == 0:
                print(total)
        return total

    f(np.arange(5.0), 50)
    capsys.readouterr()
    jitcore.explain(f)
    first, behind = capsys.readouterr().out.split("behind the call")
    line = f.__code__.co_firstlineno
    for text, times in ((first, "1 time"), (behind, "4 times")):
        assert f"loop in test_api.py:{line + 3}: a range" in text
        assert f"loop in test_api.py:{line + 4}: array float64[1C]" in text
        assert f"test_api.py:{line + 7}: a call of print" in text and text.rstrip().endswith(times), text
