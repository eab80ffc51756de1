"""``disable`` puts everything back; ``enable`` beside threads, processes, signals, profilers and other libraries."""
from __future__ import annotations

import gc
import inspect
import pickle
import sys
import threading
import types

import numpy as np
import pytest

import jitcore
from jitcore import _core
from jitcore.runtime.records import find_record, marked_functions

from .child import run_child
from .discovery import is_native, nothing_is_left, warm  # noqa: F401  (a fixture that every test uses)

X = np.arange(6.0)


def scale(x):
    return x * 2.0 + 1.0


def test_what_was_found_is_ordinary_again():
    jitcore.enable(threshold=4)
    warm(scale, X)
    assert _core.is_marked(scale) and is_native(scale, X) and len(_core.regions(scale.__code__)) == 1
    jitcore.disable()
    assert not _core.is_marked(scale) and type(scale) is types.FunctionType
    assert _core.regions(scale.__code__) == [] and _core.heat(scale.__code__) is None
    assert scale not in marked_functions() and find_record(scale.__code__).found == ""
    calls = jitcore.stats(scale).calls
    warm(scale, X)
    assert jitcore.stats(scale).calls == calls
    jitcore.enable(threshold=4)
    warm(scale, X)
    assert is_native(scale, X)


def test_what_got_another_code_since_is_ordinary_too():
    def f(x):
        return x * 2.0 + 1.0

    jitcore.enable(threshold=4)
    warm(f, X)
    assert _core.is_marked(f)
    f.__code__ = (lambda x: x * 3.0).__code__
    assert warm(f, X).tolist() == (X * 3.0).tolist()
    jitcore.disable()
    assert not _core.is_marked(f) and f not in marked_functions()
    assert f(X).tolist() == (X * 3.0).tolist()


def test_disable_while_a_loop_of_a_found_function_runs():
    def long(x, n):
        total = 0.0
        for i in range(n):
            if i == 60:
                jitcore.disable()
            total += x[i % 6] * 2.0
        return total

    expected = sum(X[i % 6] * 2.0 for i in range(3000))
    jitcore.enable(threshold=50)
    assert long(X, 3000) == expected
    assert not _core.is_marked(long) and not _core.is_watched(long.__code__)
    assert _core.regions(long.__code__) == []


def test_twice_is_once():
    jitcore.enable(threshold=20)
    warm(scale, X, calls=5)
    jitcore.enable(threshold=20)
    assert _core.heat(scale.__code__) == ("counted", 10, 20)
    warm(scale, X)
    jitcore.enable(threshold=20)
    assert jitcore.stats(scale).found


def test_disabled_counts_nothing():
    def f(x):
        return x * 2.0 + 1.0

    jitcore.enable(threshold=4)
    with jitcore.disabled():
        warm(f, X)
        assert _core.heat(f.__code__) is None
    warm(f, X)
    assert is_native(f, X)
    calls = jitcore.stats(f).calls
    with jitcore.disabled():
        f(X)
    assert jitcore.stats(f).calls == calls
    assert is_native(f, X)


def test_subclasses_made_meanwhile_go_on_working():
    class Before(np.ndarray):
        pass

    jitcore.enable(threshold=10**9)

    class Meanwhile(np.ndarray):
        pass

    class Own(np.ndarray):
        def __getitem__(self, key):
            return super().__getitem__(key)

    def use(cls):
        a = np.arange(4.0).view(cls)
        a[1] = 5.0
        return [float(v) for v in a] + [float((a + a)[1]), float(a[1:][0]), type(a[1:]) is cls, len(a)]

    expected = [0.0, 5.0, 2.0, 3.0, 10.0, 5.0, True, 4]
    for _ in range(2):
        assert use(Before) == use(Meanwhile) == use(Own) == expected
        jitcore.disable()
    jitcore.enable(threshold=10**9)
    assert use(Meanwhile) == expected


@pytest.mark.parametrize("name", ["mp_subscript", "mp_ass_subscript", "sq_item"])
def test_others_that_patch_the_same_entry(name):
    """Their function stays where it lies; ours, which it hands calls on to, stays harmless and counts again later."""
    def f(a):
        a[1:] = a[1]
        return list(a)

    def pointer():
        return _core._testing_entries(())[name]

    plain = pointer()
    jitcore.enable(threshold=10**9)
    ours = pointer()
    assert ours != plain
    # Another library's pointer over ours, which calls ours: ours stands for it, NumPy's own for one that is not ours.
    _core._testing_set_entry(name, plain)
    jitcore.disable()
    assert pointer() == plain
    _core._testing_set_entry(name, ours)        # it puts back what it found
    a = X.copy()
    assert f(a) == [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert _core._testing_heats() == 0
    jitcore.enable(threshold=10**9)
    f(a)
    assert _core.heat(f.__code__)[1] > 0
    jitcore.disable()
    assert pointer() == plain


def test_cycles_leak_nothing():
    def f(x):
        return x * 2.0 + np.mean(x)

    def cycle():
        jitcore.enable(threshold=10**6)
        f(X)
        jitcore.disable()

    def references():
        while gc.collect():         # what was made by earlier tests is let go of in several steps
            pass
        return [sys.getrefcount(o) for o in (np.add, np.ndarray, f, f.__code__)], len(gc.get_objects())

    for _ in range(5):
        cycle()
    before = references()
    for _ in range(50):
        cycle()
    after = references()
    assert after[0] == before[0] and after[1] <= before[1] + 2

    jitcore.enable(threshold=2)
    for _ in range(100):                        # code objects that die while they are counted
        exec("def g(x):\n    return x + 1.0", scope := {})
        scope["g"](X)
    del scope
    gc.collect()
    assert _core._testing_heats() < 50


def test_threads():
    def work(k):
        total = 0.0
        for _ in range(30):
            total += float((X * k + 1.0).sum())
        return total

    expected = {k: work(k) for k in range(6)}
    wrong, stop = [], threading.Event()

    def run(k):
        while not stop.is_set():
            if work(k) != expected[k]:
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for i in range(40):
        jitcore.enable(threshold=1 + i)
        threading.Event().wait(0.01)
        jitcore.disable()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_signal_while_a_function_is_judged():
    """Handlers' exceptions reach the program."""
    run_child("""
        import signal, numpy as np, jitcore
        from jitcore.runtime import discovery
        x = np.ones(3)
        def handler(*_): raise KeyError("mine")
        signal.signal(signal.SIGUSR1, handler)
        def f(x): return x * 2.0 + 1.0
        jitcore.enable(threshold=1)
        def verdict(func, old=discovery.verdict):
            signal.raise_signal(signal.SIGUSR1)
            return old(func)
        discovery.verdict = verdict
        try:
            f(x)
        except KeyError as error:
            assert error.args == ("mine",)
        else:
            raise AssertionError
        discovery.verdict = verdict.__defaults__[0]
        for _ in range(5): f(x)
        assert jitcore.stats(f).native_calls
    """)


def test_found_functions_pickle_and_look_as_before():
    jitcore.enable(threshold=4)
    warm(scale, X)
    assert jitcore.stats(scale).found
    assert pickle.loads(pickle.dumps(scale)) is scale
    assert inspect.isfunction(scale) and isinstance(scale, types.FunctionType)
    assert str(inspect.signature(scale)) == "(x)" and scale.__class__ is types.FunctionType


def test_under_a_profiler_nothing_is_found():
    def f(x):
        return x * 2.0 + 1.0

    jitcore.enable(threshold=4)
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        warm(f, X)
    finally:
        sys.setprofile(None)
    assert not any("jitcore/runtime" in name for name in seen) and not jitcore.stats(f).found
    warm(f, X)
    assert is_native(f, X)


def test_fork():
    run_child("""
        import os, numpy as np, jitcore
        x = np.ones(5)
        def f(x): return x * 2.0 + 1.0
        def g(x): return x * 3.0 + 1.0
        jitcore.enable(threshold=4)
        for _ in range(5): f(x)
        pid = os.fork()
        if pid == 0:
            try:
                for _ in range(5): f(x); g(x)
                ok = jitcore.stats(f).native_calls and jitcore.stats(g).native_calls
                jitcore.disable()
                os._exit(0 if ok and g(x)[0] == 4.0 else 1)
            finally:
                os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
        f(x)
        assert jitcore.stats(g).calls == 0
    """)


def test_multiprocessing(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("""
import multiprocessing, sys
import numpy as np, jitcore
jitcore.enable(threshold=4)
def f(x):
    return x * 2.0 + 1.0
def work(k):
    for _ in range(10):
        result = f(np.full(3, float(k)))
    return result[0], jitcore.stats(f).native_calls > 0
if __name__ == "__main__":
    work(1)
    for method in ("spawn", "fork"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(work, range(4)) == [(1.0, True), (3.0, True), (5.0, True), (7.0, True)]
            assert pool.map(f, [np.ones(1)])[0].tolist() == [3.0]
    print("done")
""")
    result = run_child("import runpy, subprocess, sys, os; print(subprocess.run([sys.executable, sys.argv[1]], "
                       "capture_output=True, text=True, env=os.environ))", str(script))
    assert "done" in result.stdout, result.stdout


def test_inert():
    run_child("""
        import numpy as np, jitcore
        jitcore.enable(); jitcore.enable(modules=["a"], precision="numpy", threshold=3)
        assert jitcore.stats().found == 0
        @jitcore.never
        def f(x): return x + 1
        jitcore.disable()
    """, JITCORE="0")


def test_a_whole_program(tmp_path):
    program = """
import sys
import numpy as np
import helper
def f(x):
    return x * 2.0 + 1.0
class Local:
    pass
if __name__ == "__main__":
    for _ in range(100):
        f(np.ones(3))
    import jitcore, pickle
    assert jitcore.stats(f).native_calls and jitcore.stats().found == 1
    assert sys.modules["__main__"].f is f and isinstance(pickle.loads(pickle.dumps(Local())), Local)
    print(sys.argv, sys.path[0] == helper.__file__.rpartition("/")[0], helper.value)
    sys.exit(3)
"""
    (tmp_path / "script.py").write_text(program)
    (tmp_path / "helper.py").write_text("value = 5\n")
    run_child("""
        import os, subprocess, sys
        folder, program = sys.argv[1:]
        env = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
        def run(*args, cwd="/"):
            return subprocess.run([sys.executable, "-m", "jitcore", *args], env=env, cwd=cwd, capture_output=True,
                                  text=True)
        script = os.path.join(folder, "script.py")
        result = run(script, "a", "-b")
        assert (result.returncode, result.stdout) == (3, f"{[script, 'a', '-b']} True 5\\n"), result
        result = run("-m", "script", "a", cwd=folder)
        assert (result.returncode, result.stdout) == (3, f"{[script, 'a']} True 5\\n"), result
        result = run("-c", "import sys; print(__name__, sys.argv, [] == 1/1)", "a")
        assert result.stdout == "__main__ ['-c', 'a'] False\\n", result
        assert run().returncode == run("-c").returncode == 2
    """, str(tmp_path), program)
