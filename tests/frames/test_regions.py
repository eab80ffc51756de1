"""Regions by hand: hits, misses, returns, leaves, counters, memory."""
from __future__ import annotations

import gc
import types
import weakref
from typing import Any

import pytest

from jitcore import _core
from tests.frames.support import (
    NULL,
    RESTART,
    UNBOUND,
    adding,
    assert_no_leak,
    call,
    const,
    exiting,
    handler,
    ints,
    leave,
    marked,
    objects,
    region,
    ret,
    slot,
    slots,
    src,
    traceback,
    unit_of,
    word,
)


def add(x: Any, y: Any = 5, *, z: Any = 7) -> Any:
    return ("plain", x, y, z)


ADD = (0, region(adding(), ints(0, 1), RESTART, ret(word(0))))


def fresh_add() -> tuple[int, _core.Region]:
    return (0, region(adding(), ints(0, 1), RESTART, ret(word(0))))


def test_hit_and_miss() -> None:
    with marked(add, ADD):
        assert add(2, 3) == 5
        assert add(2.0, 3) == ("plain", 2.0, 3, 7)
        assert add(2) == 7
        assert add(y=1, x=2) == 3
        assert add(2, y=9) == 11
        assert add(2, 3, z=1) == 5
        assert add(*(1, 2)) == 3
        assert add(**{"x": 4}) == 9
        c = _core.counters(add.__code__)
        assert (c["calls"], c["native_calls"], c["guard_misses"], c["leaves"]) == (8, 7, 1, 0)
        assert c["kernels"] == 7
    assert add(2, 3) == ("plain", 2, 3, 7)


@pytest.mark.parametrize("args, kwargs", [
    ((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"w": 2}), ((), {"z": 1}), ((1, 2), {"y": 3}),
])
def test_binding_errors_are_cpythons(args: Any, kwargs: Any) -> None:
    with pytest.raises(TypeError) as plain:
        add(*args, **kwargs)
    with marked(add, ADD), pytest.raises(TypeError) as ours:
        add(*args, **kwargs)
    assert str(ours.value) == str(plain.value)
    assert not _core._testing_state()["evaluator"]


def test_defaults_that_change_are_seen() -> None:
    def f(x: Any, y: Any = 1, *, z: Any = 2) -> Any: ...
    r = region(adding(), ints(1, 2), RESTART, ret(word(0)))
    with marked(f, (0, r)):
        assert f(0) == 3
        f.__defaults__ = (10,)
        assert f(0) == 12
        f.__kwdefaults__ = {"z": 30}
        assert f(0) == 40
        f.__kwdefaults__ = None
        with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'z'"):
            f(0)
        f.__defaults__ = None
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
            f(0)


def test_positional_only() -> None:
    def f(x: Any, /, y: Any) -> Any:
        return "plain"
    with marked(f, (0, region(adding(), ints(0, 1), RESTART, ret(word(0))))):
        assert f(1, y=2) == 3
        with pytest.raises(TypeError, match="positional-only"):
            f(x=1, y=2)


def test_varargs_bind_through_cpython() -> None:
    def f(x: Any, *rest: Any, k: Any = 1, **kw: Any) -> Any:
        return ("plain", x, rest, k, kw)
    assert slot(f, "k") == 1
    with marked(f, (0, region(adding(), ints(0, 1), RESTART, ret(word(0))))):
        assert f(1) == 2
        assert f(1, 8, 9, k=3, w=4) == 4
        assert f(1.5, 2, w=4) == ("plain", 1.5, (2,), 1, {"w": 4})
        assert _core.counters(f.__code__)["native_calls"] == 2
        with pytest.raises(TypeError):
            f()
        assert_no_leak(lambda: f(1, 8, k=3, w=4), (f, f.__code__), 20_000)


def test_restart_runs_plain() -> None:
    with marked(add, (0, region(exiting(0), ints(0, 1), RESTART))):
        assert add(1, 2) == ("plain", 1, 2, 7)
        c = _core.counters(add.__code__)
        assert (c["calls"], c["native_calls"], c["restarts"], c["kernels"]) == (1, 0, 1, 0)


def test_negative_region() -> None:
    calls: list[Any] = []
    with handler(lambda *a: calls.append(a)), marked(add, (0, region(0, ints(0, 1)))):
        assert add(1, 2) == ("plain", 1, 2, 7)
        assert not calls
        assert add(1, "2") == ("plain", 1, "2", 7)
        assert len(calls) == 1


def test_most_recently_used_first() -> None:
    a, b = region(exiting(0), ints(0), ret(const("int"))), region(exiting(0), objects(0), ret(const("object")))
    with marked(add, (0, b), (0, a)):
        assert [r for _, r in _core.regions(add.__code__)] == [a, b]
        assert add(1) == "int"
        assert add("s") == "object"
        assert [r for _, r in _core.regions(add.__code__)] == [b, a]
        assert _core.remove_region(add.__code__, b)
        assert not _core.remove_region(add.__code__, b)
        assert add("s") == ("plain", "s", 5, 7)


# ---- leave ------------------------------------------------------------------------------------

def opaque(v: Any) -> Any:
    return v * 10


def middle(a: Any, b: Any) -> Any:
    t = a * 2
    u = t + b * opaque(b)
    return u, t


def test_leave_in_the_middle_of_an_expression() -> None:
    unit = unit_of(middle, "LOAD_GLOBAL")
    e = leave((src(0), src(1), const(100), NULL), (const(100), src(1)), unit)
    with marked(middle, (0, region(exiting(0), ints(0, 1), e))):
        assert middle(1, 3) == (100 + 3 * 30, 100)
        c = _core.counters(middle.__code__)
        assert (c["leaves"], c["native_calls"], c["calls"]) == (1, 0, 1)
        assert_no_leak(lambda: middle(1, 3), (middle, middle.__code__, opaque))


def protected(a: Any, n: Any) -> Any:
    out: list[Any] = []
    for i in range(n):
        try:
            out.append(fails(i))
        except ZeroDivisionError as e:
            out.append(("caught", traceback(e.__traceback__)[0][1] - protected.__code__.co_firstlineno))
        finally:
            out.append("fin")
    return out


def fails(i: int) -> int:
    if i == 4:
        raise ZeroDivisionError("four")
    return i


def test_leave_inside_for_and_try() -> None:
    reference = protected(0, 6)
    unit = unit_of(protected, "LOAD_FAST", "out", 0)
    for _ in range(3):
        it = iter(range(6))
        out: list[Any] = []
        for _k in range(3):
            out += [next(it), "fin"]
        next(it)
        e = leave((src(0), src(1), const(out), const(3), NULL), (const(it),), unit)
        with marked(protected, (0, region(exiting(0), ints(0, 1), e))):
            assert protected(0, 6) == reference
    assert ("caught", 4) in reference


def test_leave_with_an_exception_has_the_right_line() -> None:
    def f(a: Any) -> Any:
        t = a + 1
        return (t +
                t.nothing)
    unit = unit_of(f, "LOAD_ATTR")
    with marked(f, (0, region(exiting(0), ints(0), leave((src(0), const(5)), (const(5), const(5)), unit)))):
        with pytest.raises(AttributeError) as e:
            f(1)
        assert traceback(e.value.__traceback__)[-1] == ("f", f.__code__.co_firstlineno + 3)
        assert e.value.__traceback__.tb_next.tb_frame.f_locals == {"a": 1, "t": 5}


def test_leave_puts_cells_and_free_variables_in_place() -> None:
    z = 10

    def f(y: Any) -> Any:
        def inner() -> Any:
            return y + z
        t = 1
        return inner() + t + z
    unit = unit_of(f, "LOAD_CONST", 1)
    inner_code = next(c for c in f.__code__.co_consts if isinstance(c, types.CodeType))
    cell = types.CellType(3)
    inner = types.FunctionType(inner_code, globals(), "inner", None, (cell, f.__closure__[0]))
    locals = slots(f, NULL, y=("build", "cell", (src(0),)), inner=const(inner))
    with marked(f, (0, region(exiting(0), ints(slot(f, "y")), leave(locals, (), unit)))):
        assert f(100) == 3 + 10 + 1 + 10
        assert_no_leak(lambda: f(100), (f, inner, cell, f.__closure__[0]), 20_000)


def test_miss_handler_at_entry() -> None:
    asked: list[Any] = []

    def on_miss(func: Any, code: Any, unit: int, locals: Any, stack: Any) -> bool:
        asked.append((unit, locals, stack))
        assert add("c", 2) == ("plain", "c", 2, 7)      # misses while one is handled run plain
        _core.add_region(code, 0, fresh_add()[1])
        return True
    with marked(add), handler(on_miss):
        assert add(3, 4) == 7
        assert asked == [(0, (3, 4, 7), ())]
        assert add("a", "b") == ("plain", "a", "b", 7)
        assert len(asked) == 2


def test_thrashing_region_is_not_entered() -> None:
    r = region(exiting(0), ints(0, 1), RESTART)
    with marked(add, (0, r)):
        for _ in range(100):
            add(1, 2)
        assert r.thrashing and r.runs == 33
        assert r.exit_counts == (33,) and r.exit_left == (33,)


# ---- memory, threads ---------------------------------------------------------------------------------

def test_regions_are_collected() -> None:
    class Thing:
        pass
    thing = Thing()
    ref = weakref.ref(thing)
    holder: list[Any] = [thing]
    r = region(exiting(0), ints(0), ret(const(holder)), keep=holder)
    holder.append(r)
    del thing, r, holder
    gc.collect()
    assert ref() is None


def test_tables_die_with_their_code() -> None:
    class Thing:
        pass
    thing = Thing()
    ref = weakref.ref(thing)
    scope: dict[str, Any] = {}
    exec("def f(x): return x", scope)
    f = scope.pop("f")
    _core.add_region(f.__code__, 0, region(exiting(0), ints(0), ret(const(1)), keep=thing))
    _core.mark(f)
    before = _core.totals()["calls"]
    assert f(3) == 1
    del thing, f
    scope.clear()
    gc.collect()
    assert ref() is None
    assert _core.totals()["calls"] == before + 1


def test_hits_do_not_leak() -> None:
    big = 10 ** 15
    with marked(add, ADD):
        assert_no_leak(lambda: add(big, 3), (add, add.__code__, big))
        assert_no_leak(lambda: add(2.5, 3), (add, add.__code__, 2.5))
        assert_no_leak(lambda: add(x=big), (add, add.__code__))


def test_bad_regions_are_refused() -> None:
    with pytest.raises(ValueError, match="bad exit"):
        region(0, None, ("jump", (), 0, 0, 0, 0, 0, "", None, "", 0))
    with pytest.raises(ValueError, match="no site"):
        region(0, None, call((), (), (), 0, 0, "nonsense"))
    with pytest.raises(ValueError, match="takes 1 operands"):
        region(0, None, call((), (), (), 0, 0, "getattr", "x"))
    with pytest.raises(ValueError, match="does not take"):
        region(0, None, call((), (), (NULL, NULL), 0, 0, "binary", 99))
    with pytest.raises(ValueError, match="recipes for"):
        region(0, None, ("return", (), 0, 0, 0, 0, 0, "", None, "", 0))
    with pytest.raises(TypeError):
        region(0, None, ("return",))
    with pytest.raises(ValueError, match="unit"):
        _core.add_region(add.__code__, 10_000, ADD[1])
    with pytest.raises(TypeError):
        _core.add_region(add, 0, ADD[1])        # type: ignore[arg-type]


def test_region_check_names_the_guard() -> None:
    r = ADD[1]
    assert r.check(add, (1, 2, 3)) == 0
    assert r.check(add, (1, "2", 3)) == 2
    assert r.check(add, (UNBOUND, 2, 3)) == 1
