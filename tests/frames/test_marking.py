"""Marked functions: what they still are, and that every call of one is seen."""
from __future__ import annotations

import copy
import functools
import inspect
import pickle
import sys
import threading
import types
from typing import Any

import pytest

from jitcore import _core
from tests.child import run_child
from tests.frames.support import (
    NULL,
    RESTART,
    V,
    adding,
    assert_no_leak,
    call,
    call_of,
    const,
    exiting,
    handler,
    ints,
    marked,
    objects,
    region,
    ret,
    src,
    word,
)


def module_function(x: Any, y: Any = 2, *, k: Any = 0) -> Any:
    """Its text."""
    return ("plain", x, y, k)


class Holder:
    def method(self, x: Any) -> Any:
        return ("plain", x)


def test_a_marked_function_is_what_it_was() -> None:
    f = module_function
    signature, source = inspect.signature(f), inspect.getsource(f)
    with marked(f):
        assert _core.is_marked(f)
        assert isinstance(f, types.FunctionType) and f.__class__ is types.FunctionType
        assert inspect.isfunction(f) and callable(f)
        assert type(f).__name__ == "function"
        if V >= (3, 12):
            assert type(f) is types.FunctionType
        assert repr(f).startswith("<function module_function at")
        assert inspect.signature(f) == signature and inspect.getsource(f) == source
        assert f.__doc__ == "Its text." and f.__defaults__ == (2,) and f.__kwdefaults__ == {"k": 0}
        assert pickle.loads(pickle.dumps(f)) is f
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle._loads(pickle._dumps(f, protocol)) is f       # type: ignore[attr-defined]
        assert copy.copy(f) is f and copy.deepcopy([f])[0] is f
        f.attribute = 1                                                 # type: ignore[attr-defined]
        assert f.__dict__ == {"attribute": 1}
        del f.attribute                                                 # type: ignore[attr-defined]
        assert isinstance(f.__get__(1), types.MethodType)
        assert functools.wraps(f)(lambda: 0).__wrapped__ is f           # type: ignore[attr-defined]
        assert pickle.loads(pickle.dumps(Holder.method)) is Holder.method
    assert not _core.is_marked(f) and type(f) is types.FunctionType


def test_a_marked_lambda_does_not_pickle_like_a_plain_one() -> None:
    f = lambda: 0                                                       # noqa: E731
    errors = []
    for mark in (False, True):
        if mark:
            _core.mark(f)
        with pytest.raises((pickle.PicklingError, AttributeError)) as e:
            pickle.dumps(f)
        errors.append(type(e.value))
    assert errors[0] is errors[1]


def test_mark_twice_and_unmark_twice() -> None:
    f = module_function
    for _ in range(2):
        _core.mark(f)
        assert _core.is_marked(f)
    for _ in range(2):
        _core.unmark(f)
        assert not _core.is_marked(f)
    assert f(1) == ("plain", 1, 2, 0)


def test_what_cannot_be_marked() -> None:
    def generator() -> Any:
        yield

    async def coroutine() -> Any:
        pass

    async def asynchronous() -> Any:
        yield
    for f in (generator, coroutine, asynchronous):
        with pytest.raises(ValueError, match="generator or coroutine"):
            _core.mark(f)                                               # type: ignore[arg-type]
        assert not _core.is_marked(f)
    for x in (len, 1, None, Holder, Holder().method, functools.partial(len)):
        with pytest.raises(TypeError, match="expected a Python function"):
            _core.mark(x)                                               # type: ignore[arg-type]
        assert not _core.is_marked(x)


SITES = '''
def f(a, b=2, *, k=0): return a
def pyfun(a, b): return a
class C:
    def meth(self, b): return b
    @property
    def prop(self): return 1
    def __getitem__(self, i): return i
    def __init__(self, v=0): self.v = v
    def __add__(self, o): return o
    def __getattr__(self, n): return n
    def __call__(self, z): return z
    def __eq__(self, o): return True
    __hash__ = None
    def __len__(self): return 3
    def __enter__(self): return 1
    def __exit__(self, *a): return None
    @classmethod
    def cm(cls, q): return q
    @staticmethod
    def sm(q): return q
class S(C):
    def meth(self, b): return super().meth(b)
class T(C):
    pass
def exact(n):
    for _ in range(n): pyfun(1, 2)
def default(n):
    for _ in range(n): f(1)
def keyword(n):
    for _ in range(n): f(1, k=3)
def star(n):
    t = (1, 2)
    for _ in range(n): pyfun(*t)
def method(n):
    c = C()
    for _ in range(n): c.meth(2)
def bound(n):
    m = C().meth
    for _ in range(n): m(2)
def superclass(n):
    c = S()
    for _ in range(n): c.meth(2)
def prop(n):
    c = C()
    for _ in range(n): c.prop
def getitem(n):
    c = C()
    for _ in range(n): c[3]
def init(n):
    for _ in range(n): C(1)
def init0(n):
    for _ in range(n): C()
def subinit(n):
    for _ in range(n): T(1)
def add(n):
    c = C()
    for _ in range(n): c + 1
def eq(n):
    c = C()
    for _ in range(n): c == 1
def length(n):
    c = C()
    for _ in range(n): len(c)
def getattr_(n):
    c = C()
    for _ in range(n): c.zzz
def instance(n):
    c = C()
    for _ in range(n): c(3)
def withs(n):
    c = C()
    for _ in range(n):
        with c: pass
def classmethod_(n):
    for _ in range(n): C.cm(3)
def staticmethod_(n):
    for _ in range(n): C.sm(3)
def mapped(n):
    for _ in map(pyfun, range(n), range(n)): pass
def partial(n):
    p = functools.partial(pyfun, 1)
    for _ in range(n): p(2)
def sort(n):
    sorted(range(n), key=f)
'''
CALLS = {
    "exact": "pyfun", "default": "f", "keyword": "f", "star": "pyfun", "method": "C.meth", "bound": "C.meth",
    "superclass": "C.meth", "prop": "C.prop", "getitem": "C.__getitem__", "init": "C.__init__", "init0": "C.__init__",
    "subinit": "C.__init__", "add": "C.__add__", "eq": "C.__eq__", "length": "C.__len__", "getattr_": "C.__getattr__",
    "instance": "C.__call__", "withs": "C.__exit__", "classmethod_": "C.cm", "staticmethod_": "C.sm", "mapped": "pyfun",
    "partial": "pyfun", "sort": "f",
}


@pytest.mark.parametrize("name", CALLS)
def test_every_kind_of_call_is_seen(name: str) -> None:
    """Call sites that were specialised before the function was marked, and those that are specialised after."""
    scope: dict[str, Any] = {"functools": functools, "__name__": "sites"}
    exec(SITES, scope)
    site = scope[name]
    site(300)
    path = CALLS[name].split(".")
    f = scope[path[0]] if len(path) == 1 else scope[path[0]].__dict__[path[1]]
    f = f.fget if isinstance(f, property) else getattr(f, "__func__", f)
    _core.mark(f)
    site(500)
    if name == "subinit" and V >= (3, 13):      # the class that is called is another than the one that has __init__
        assert _core.counters(f.__code__)["calls"] in (0, 500)
        return
    assert _core.counters(f.__code__)["calls"] == 500
    site(500)
    assert _core.counters(f.__code__)["calls"] == 1000
    _core.unmark(f)
    site(500)
    assert _core.counters(f.__code__)["calls"] == 1000


def test_methods_enter_regions() -> None:
    with marked(Holder.method, (0, region(exiting(0), ints(1), ret(src(0))))):
        h = Holder()
        assert h.method(3) == 3 and h.method(x=4) == 4 and Holder.method(h, 5) == 5 and (lambda m: m(6))(h.method) == 6
        assert h.method("s") == ("plain", "s")


def test_code_that_is_replaced() -> None:
    def f(x: Any) -> Any:
        return 1

    def other(x: Any) -> Any:
        return 2
    with marked(f, (0, region(exiting(0), objects(0), ret(src(0))))):
        assert f(7) == 7
        f.__code__ = other.__code__
        assert f(7) == 2
        assert _core.is_marked(f)


def test_regions_belong_to_the_code_and_guards_see_the_function() -> None:
    def make(n: Any) -> Any:
        return lambda x: ("plain", x, n)
    functions = [make(k) for k in range(100)]
    code = functions[0].__code__
    _core.add_region(code, 0, region(exiting(0), ints(0), ret(src(0))))
    for k, f in enumerate(functions):
        _core.mark(f)
        assert f(k) == k and f("s") == ("plain", "s", k)


def test_left_alone() -> None:
    with marked(module_function, (0, region(adding(), ints(0, 1), RESTART, ret(word(0))))):
        assert module_function(1) == 3
        _core.set_active(module_function.__code__, False)
        assert not _core.is_active(module_function.__code__)
        assert module_function(1) == ("plain", 1, 2, 0)
        _core.set_active(module_function.__code__, True)
        assert module_function(1) == 3


def run_alone(text: str) -> str:
    done = run_child(text, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout.strip()


def test_recursion_goes_as_deep_as_before() -> None:
    assert run_alone('''
        import sys
        from jitcore import _core
        sys.setrecursionlimit(10 ** 6)
        def f(n): return 0 if n == 0 else 1 + f(n - 1)
        def even(n): return True if n == 0 else odd(n - 1)
        def odd(n): return False if n == 0 else even(n - 1)
        def alone(n): return 0 if n == 0 else 1 + alone(n - 1)
        seen = []
        _core.set_miss_handler(lambda *a: bool(seen.append(a[0].__name__)))
        for g in (f, even, odd, alone): _core.mark(g)
        _core.set_active(alone.__code__, False)
        print(f(50_000), even(50_000), alone(50_000), seen.count("f") <= 201)
        print(all(map(_core.is_marked, (f, even, odd, alone))), f(10), _core.counters(f.__code__)["calls"] < 300)
    ''').split() == ["50000", "True", "50000", "True", "True", "10", "True"]


def test_recursion_through_sites_goes_as_deep_as_before() -> None:
    assert run_alone('''
        import sys
        from jitcore import _core
        from tests.frames.support import *
        sys.setrecursionlimit(10 ** 6)
        def f(n):
            if n == 0:
                return 0
            return 1 + f(n - 1)
        unit, following = call_of(f, "f")
        body = native("""
            %n = load i64, ptr %in
            %m = sub i64 %n, 1
            store i64 %m, ptr %out
            %z = icmp eq i64 %n, 0
            %k = select i1 %z, i32 1, i32 2
            ret i32 %k""")
        r0 = region(body, ints(0), RESTART, ret(const(0)),
                    call((src(0),), (const(1),), (const(f), NULL, word(0)), unit, following, "call"))
        r1 = region(adding(), ints(1, 2), RESTART, ret(word(0)))
        _core.add_region(f.__code__, 0, r0)
        _core.add_region(f.__code__, following, r1)
        _core.mark(f)
        print(f(100), _core.counters(f.__code__)["native_calls"], f(50_000), f(50), _core.is_marked(f))
    ''').split() == ["100", "101", "50000", "50", "True"]


def test_marks_that_change_during_deep_recursion() -> None:
    def f(n: int) -> Any:
        if n == 0:
            _core.unmark(f)
            assert not _core.is_marked(f)
            return 0
        return 1 + f(n - 1)
    _core.mark(f)
    assert f(300) == 300
    assert not _core.is_marked(f)

    def g(n: int) -> Any:
        if n == 0:
            assert _core.is_marked(g)
            _core.unmark(g)
            _core.mark(g)
            return 0
        return 1 + g(n - 1)
    _core.mark(g)
    assert g(300) == 300
    assert _core.is_marked(g)
    _core.unmark(g)


def test_recursion_error_is_raised_at_the_same_depth() -> None:
    def f(n: int) -> int:
        depths.append(n)
        return f(n + 1)
    reached = []
    for mark in (False, True):
        depths: list[int] = []
        if mark:
            _core.mark(f)
        with pytest.raises(RecursionError):
            f(0)
        reached.append(max(depths))
    assert reached[0] == reached[1]
    assert _core.is_marked(f)
    _core.unmark(f)


def test_deep_recursion_in_threads() -> None:
    def f(n: int) -> int:
        return 0 if n == 0 else 1 + f(n - 1)
    results: list[bool] = []
    _core.mark(f)

    def work() -> None:
        results.append(all(f(400) == 400 for _ in range(50)))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert results == [True] * 4 and _core.is_marked(f)
    _core.unmark(f)
    assert f(400) == 400


def test_another_evaluator_is_chained() -> None:
    def inner(x: Any) -> Any:
        return x

    def f(x: Any) -> Any:
        return inner(x)
    unit, following = call_of(f, "inner")
    r = region(exiting(0), ints(0), call((src(0), NULL), (), (const(inner), NULL, src(0)), unit, following, "call"))
    with marked(f, (0, r)):
        _core._testing_evaluator(True)
        try:
            assert f(3) == 3
            assert _core._testing_state()["evaluator"]
        finally:
            seen = _core._testing_evaluator(False)
    assert seen >= 1                # inner was seen by the other evaluator
    assert not _core._testing_state()["evaluator"]


def test_threads_with_a_handler() -> None:
    def f(x: Any) -> Any:
        return ("plain", x)
    asked: list[int] = []

    def on_miss(func: Any, code: Any, unit: int, locals: Any, stack: Any) -> bool:
        asked.append(1)
        for _ in range(1000):
            pass
        _core.add_region(code, 0, region(exiting(0), ints(0), ret(src(0))))
        return True
    results: list[Any] = []
    with marked(f), handler(on_miss):
        threads = [threading.Thread(target=lambda: results.extend(f(1) for _ in range(1000))) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(asked) == 1
    assert {1} <= set(results) <= {1, ("plain", 1)}


def test_functions_do_not_leak() -> None:
    def run() -> None:
        def f(x: Any) -> Any:
            return x
        _core.mark(f)
        f(1)
    assert_no_leak(run, n=10_000)


def test_subinterpreter_import_fails_cleanly() -> None:
    name = {(3, 11): "_xxsubinterpreters", (3, 12): "_xxsubinterpreters"}.get(V, "_interpreters")
    assert run_alone(f'''
        import {name} as interpreters
        from jitcore import _core
        i = interpreters.create()
        text = """if True:
            import importlib.machinery, importlib.util
            loader = importlib.machinery.ExtensionFileLoader("jitcore._core", {{path!r}})
            spec = importlib.util.spec_from_file_location("jitcore._core", {{path!r}}, loader=loader)
            try:
                importlib.util.module_from_spec(spec)
            except ImportError as e:
                print("refused")
        """.format(path=_core.__file__)
        interpreters.run_string(i, text)
        interpreters.destroy(i)
        print(len(_core.SITES) > 0)
    ''').split() == ["refused", "True"]


def test_importing_again_gives_the_same_module() -> None:
    assert run_alone('''
        import sys
        from jitcore import _core
        first = _core
        def f(): pass
        _core.mark(f)
        del sys.modules["jitcore._core"]
        import importlib
        again = importlib.import_module("jitcore._core")
        print(again is first, again.is_marked(f))
    ''').split() == ["True", "True"]
