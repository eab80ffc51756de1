"""Functions made inside a region that live on as objects: what they are, what they share, when they run."""
from __future__ import annotations

import functools
import gc
import operator
import sys
import types
import weakref

import numpy as np
import pytest

import jitcore

from .compare import fresh_copy, observe, same

X = np.arange(4.0)
FIRST = operator.itemgetter(0)      # does nothing, and is not known to: a CALL site


def apply(func, *args):
    return FIRST([func])(*args)


def key_of_sorted(x, k):
    y = x * k
    return sorted([3, 1, 2], key=lambda v: -v * k), y + 1.0


def mapped(x, k):
    y = x * 2.0
    return list(map(lambda v, w=k: v * w + y[1], [1.0, 2.0])), y


def loop_variable(x):
    y = x * 2.0
    made = []
    for i in (1, 2, 3):
        made.append(lambda: i)      # noqa: B023
    return [f() for f in FIRST([made])], y


def default_at_definition(x):
    made, k = {}, 1
    for name in ("a", "b"):
        made[name] = lambda v, k=k, *, extra=x * k: v * k + extra
        k += 1
    made = FIRST([made])
    return made["a"](x), made["b"](x), made["a"].__defaults__, list(made["a"].__kwdefaults__), made["b"](x, extra=0.0)


def counter(x):
    n = 0

    def up():
        nonlocal n
        n += 1
        return n
    y = x * 2.0
    seen = [apply(up), n]
    n = 10
    seen += [apply(up), n]
    up()
    return seen, n, y + n


def returned(x, k):
    total = x * k

    def add(v: int, w: float = 2.0, *, scale=k) -> k:
        """What add says."""
        nonlocal total
        total = total + v * w * scale
        return total
    return add


def identity(x):
    def f():
        return f
    g = f
    y = x + 1.0
    pair = FIRST([[f, g, f]])
    return pair[0] is pair[1] is pair[2] is f is g, pair[0]() is f, y, f is not (lambda: f)


def recursion(x, n):
    y = x * 2.0

    def fact(k):
        return 1 if k < 2 else k * fact(k - 1)
    return FIRST([fact])(n), fact(3), y


def mutual_recursion(x, n):
    y = x * 2.0

    def even(k):
        return True if k == 0 else odd(k - 1)

    def odd(k):
        return False if k == 0 else even(k - 1)
    both = FIRST([(odd, even)])
    return both[0](n), both[1](n), both[1] is even, even.__closure__[0].cell_contents is odd, y


def attributes(x):
    def f(a, b):
        return a + b
    y = x * 2.0
    f.mark = 3
    f.__name__ = "other"
    return f.mark, f.__name__, f.__qualname__, f.__module__, f.__doc__, f.__code__.co_name, f(1, 2), y


def partial(x, k):
    y = x * k
    return functools.partial(lambda a, b: a * b + k, 2.0)(y), functools.reduce(lambda a, b: a + b * k, [1, 2, 3]), y


def in_a_container(x, k):
    z = x + k
    return {"f": [lambda: (z, k)], "g": (lambda q: q + z, 1)}


def made_by_a_helper(x, k):
    return make_scaler(x + 1.0)(k), FIRST([make_scaler(k)])(x)


def make_scaler(factor):
    return lambda v: v * factor * SCALE


def nested(x):
    def outer(k):
        def inner(v):
            return v * k + y[0]
        return inner
    y = x + 3.0
    return FIRST([outer])(2.0)(x), FIRST([outer(3.0)])(x)


def raises(x):
    def bad(v):
        raise ValueError(v)
    y = x * 2.0
    try:
        apply(bad, 7)
    except ValueError as error:
        return str(error), y, error.__traceback__.tb_next.tb_next.tb_lineno
    return None


def holds_itself(x):
    things = []
    y = x * 2.0
    things.append(lambda: things)
    return FIRST([things])[0]() is things, y


def generator(x, k):
    y = x * 2.0
    return FIRST([[v * k for v in (1, 2)]]), FIRST([sum])(v + k for v in (1, 2, 3)), y


def unbound_yet(x):
    y = x * 2.0
    try:
        apply(lambda: late)
    except NameError as error:
        late = str(error)
    return late, y


def waiting_for_a_cell(x):
    y = x + 1.0
    f = lambda: z       # noqa: E731
    held = FIRST([f])
    z = y * 2.0
    return held(), f()


def deleted(x):
    k = 1.0
    f = FIRST([lambda: k])      # noqa: F821
    y = x + k
    del k
    try:
        return f(), y
    except NameError as error:
        return str(error), y


def set_from_both_sides(x):
    n = 1

    def get():
        return n

    def put(v):
        nonlocal n
        n = v
    y = x * 2.0
    a = FIRST([get])()
    FIRST([put])(5)
    b = n, get()
    n = 7
    c = FIRST([get])()
    put(9)
    return a, b, c, n, get(), y


def generator_function(x, k):
    y = x * 2.0

    def values(n):
        for i in range(n):
            yield y[i] * k
    return list(values(3)), sum(values(2)), FIRST([values])(1).__name__


def local_class(x, k):
    y = x * 2.0

    class Base:
        def get(self):
            return y * k

    class Derived(Base):
        def get(self):
            return super().get() + 1.0, __class__.__name__
    return Derived().get()


def cleanup(x):
    y, log = x * 2.0, []
    try:
        return FIRST([lambda: y + 1.0])(), log
    finally:
        apply(lambda: log.append(y[1]))


SCALE = 2.0
CASES = {
    set_from_both_sides: (X,), generator_function: (X, 3.0), local_class: (X, 2.0), cleanup: (X,),
    key_of_sorted: (X, 2), mapped: (X, 3.0), loop_variable: (X,), default_at_definition: (X,), counter: (X,),
    identity: (X,), recursion: (X, 5), mutual_recursion: (X, 7), attributes: (X,), partial: (X, 2.0),
    made_by_a_helper: (X, 3.0), nested: (X,), raises: (X,), holds_itself: (X,), generator: (X, 2), unbound_yet: (X,),
    waiting_for_a_cell: (X,), deleted: (X,),
}


@pytest.mark.parametrize("func", CASES, ids=lambda func: func.__name__)
def test_functions_that_escape(func):
    fast = jitcore.accelerate(fresh_copy(func))
    for _ in range(3):
        plain, seen = observe(func, CASES[func], {}), observe(fast, CASES[func], {})
        assert plain.kind == seen.kind == "return", (plain.value, seen.value)
        same(plain.value, seen.value)
    counts = jitcore.stats(fast)
    assert counts.kernels > 0 and counts.compiles > 0


def test_a_returned_function_is_the_one_that_python_makes():
    fast = jitcore.accelerate(fresh_copy(returned))
    for _ in range(2):
        plain, made = returned(X, 3), fast(X, 3)
        assert type(made) is types.FunctionType and made.__code__ is plain.__code__
        for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__",
                     "__annotations__", "__dict__"):
            assert getattr(made, name) == getattr(plain, name), name
        assert made.__globals__ is plain.__globals__ and made.__builtins__ is plain.__builtins__
        assert [type(cell.cell_contents) for cell in made.__closure__] == [np.ndarray]
        for _ in range(3):
            np.testing.assert_array_equal(made(2), plain(2))
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            made()
    assert jitcore.stats(fast).native_calls == 2 and made is not fast(X, 3)


def test_returned_containers_of_functions_share_their_cells():
    made = jitcore.accelerate(fresh_copy(in_a_container))(X, 2.0)
    f, g = made["f"][0], made["g"][0]
    assert f()[1] == 2.0 and np.array_equal(f()[0], X + 2.0) and np.array_equal(g(X), X + (X + 2.0))
    cells = dict(zip(f.__code__.co_freevars, f.__closure__))
    assert cells["z"] is g.__closure__[0]


def test_functions_of_one_code_with_other_globals():
    """The globals are those of the function that runs, not of the one that was compiled."""
    source = "def make(x):\n    y = x * 2.0\n    return lambda: (y, NAME)\n"
    code = compile(source, "source", "exec").co_consts[0]
    for name in ("one", "two", "three"):
        make = jitcore.accelerate(types.FunctionType(code, {"NAME": name, "__name__": name}))
        made = make(X)
        assert made()[1] == name == made.__module__ and made.__globals__ is make.__globals__
    assert jitcore.stats(make).native_calls == 3 and jitcore.stats(make).compiles == 1


def test_cells_of_the_closure_are_handed_on():
    def factory(k):
        def body(x):
            nonlocal k
            y = x * k

            def bump():
                nonlocal k
                k += 1.0
                return k
            return sorted([1, 2], key=lambda v: -v * k), bump, y
        return body
    slow, fast = factory(2.0), jitcore.accelerate(factory(2.0))
    for _ in range(3):
        plain, seen = slow(X), fast(X)
        same((plain[0], plain[2], plain[1]()), (seen[0], seen[2], seen[1]()))
        assert seen[1].__closure__[0] is fast.__closure__[0]
    other = jitcore.accelerate(types.FunctionType(fast.__code__, globals(), "other", None, (types.CellType(5.0),)))
    same(other(X)[2], X * 5.0)
    assert other(X)[1]() == 6.0 and other.__closure__[0].cell_contents == 6.0


def test_made_functions_can_be_accelerated():
    @jitcore.accelerate
    def make(x):
        y = x * 2.0
        return jitcore.accelerate(lambda v: v * y + 1.0)

    for _ in range(3):
        made = make(X)
        np.testing.assert_array_equal(made(X), X * (X * 2.0) + 1.0)
    assert jitcore.stats(made).compiles == 1 and jitcore.stats(made).native_calls == 3


def test_functions_and_their_cells_are_freed():
    @jitcore.accelerate
    def make(x, n):
        y = x * 2.0

        def fact(k, thing=y):
            return n if k < 2 else k * fact(k - 1)
        FIRST([fact])(3)
        return fact

    codes = [code for code in make.__code__.co_consts if isinstance(code, types.CodeType)]
    for _ in range(10):
        made = make(X, 1)
    dead = weakref.ref(made)
    del made
    gc.collect()
    counts, objects = [sys.getrefcount(o) for o in (*codes, make, X)], len(gc.get_objects())
    for _ in range(2000):
        make(X, 1)
    gc.collect()
    assert dead() is None and [sys.getrefcount(o) for o in (*codes, make, X)] == counts
    assert len(gc.get_objects()) - objects < 20
    assert jitcore.stats(make).native_calls >= 2000
    assert jitcore.stats(make).compiles <= 6         # although its defaults are others each time
