"""From region to region inside a frame: call sites, continuations, observers, threads."""
from __future__ import annotations

import sys
import threading
import warnings
from typing import Any

import pytest

from jitcore import _core
from tests.frames.support import (
    NULL,
    RESTART,
    UNBOUND,
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
    n_slots,
    native,
    region,
    ret,
    src,
    traceback,
    word,
)

# ---- call sites and continuations ---------------------------------------------------------------

seen: dict[str, Any] = {}


def callee(n: Any) -> Any:
    f = sys._getframe(1)
    seen["frame"] = (f.f_code.co_name, f.f_lineno, dict(f.f_locals), f.f_back.f_code.co_name)
    if seen.get("warn"):
        warnings.warn("here", stacklevel=2)
    if seen.get("keep") is not None:
        seen["keep"].append(f)
    if seen.get("write"):
        f.f_locals["t"] = 99
    if seen.get("raise"):
        raise KeyError(n)
    return n * 2


def site(x: Any, n: Any) -> Any:
    t = x + 1
    try:
        r = (t,
             callee(n))[1]
    except KeyError as e:
        return ("caught", e.__traceback__.tb_lineno - site.__code__.co_firstlineno)
    return r + t


def bare(x: Any, n: Any) -> Any:
    t = x + 1
    r = (t,
         callee(n))[1]
    return r


def site_region(f: Any, t: Any = 11) -> tuple[int, _core.Region]:
    """t = x + 1 is native, and so is all up to the call of callee."""
    unit, following = call_of(f, "callee")
    locals = [NULL] * n_slots(f)
    locals[:3] = [src(0), src(1), const(t)]
    return (0, region(exiting(0), ints(0, 1),
                      call(locals, (const(t),), (const(callee), NULL, src(1)), unit, following, "call")))


def observe(f: Any, *args: Any, **modes: Any) -> Any:
    seen.clear()
    seen.update(modes)
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        result = f(*args)
    return result, seen["frame"], [(x.filename, x.lineno) for x in w]


@pytest.mark.parametrize("modes", [{}, {"warn": 1}, {"raise": 1}, {"keep": 1}, {"write": 1}])
def test_callee_sees_the_frame(modes: dict[str, Any]) -> None:
    def go() -> Any:
        return observe(site, 10, 4, **{k: [] if k == "keep" else v for k, v in modes.items()})
    plain = go()
    with marked(site, site_region(site)):
        ours = go()
    assert ours == plain


def test_uncaught_exception_of_a_site() -> None:
    def run() -> Any:
        seen.clear()
        seen["raise"] = 1
        try:
            bare(10, 4)
        except KeyError as e:
            return traceback(e.__traceback__)[1:], e.args
    plain = run()
    with marked(bare, site_region(bare)):
        assert run() == plain
        assert_no_leak(run, (bare, bare.__code__, callee), 30_000)


def test_continuation_returns_without_the_interpreter() -> None:
    following = call_of(bare, "callee")[1]
    n = n_slots(bare)
    r1 = region(adding(), ints(n + 1, 2), RESTART, ret(word(0)))      # the result of the call, and t
    with marked(bare, site_region(bare), (following, r1)):
        seen.clear()
        assert bare(10, 4) == 8 + 11
        c = _core.counters(bare.__code__)
        assert (c["native_calls"], c["site_calls"], c["leaves"], c["kernels"]) == (1, 1, 0, 2)
        keep: list[Any] = []
        seen["keep"] = keep
        assert bare(10, 4) == 8             # the frame object is kept: the interpreter goes on
        assert keep[0].f_locals == {"x": 10, "n": 4, "t": 11, "r": 8}
        assert keep[0].f_back.f_code.co_name == "test_continuation_returns_without_the_interpreter"
        c = _core.counters(bare.__code__)
        assert (c["native_calls"], c["leaves"]) == (1, 1)
        seen.clear()
        keep.clear()
        assert_no_leak(lambda: bare(10, 4), (bare, bare.__code__, callee))


def test_continuation_restart_goes_on_in_place() -> None:
    following = call_of(bare, "callee")[1]
    r1 = region(exiting(0), ints(2), RESTART)
    with marked(bare, site_region(bare), (following, r1)):
        seen.clear()
        assert bare(10, 4) == 8
        c = _core.counters(bare.__code__)
        assert (c["native_calls"], c["restarts"], c["site_calls"]) == (0, 1, 1)


def test_miss_handler_is_asked_behind_a_site() -> None:
    asked: list[Any] = []
    following = call_of(bare, "callee")[1]
    n = n_slots(bare)

    def on_miss(func: Any, code: Any, unit: int, locals: Any, stack: Any) -> bool:
        asked.append((func, code, unit, locals, stack))
        _core.add_region(code, unit, region(adding(), ints(n + 1, 2), RESTART, ret(word(0))))
        return True
    with marked(bare, site_region(bare)), handler(on_miss):
        seen.clear()
        assert bare(10, 4) == 19
        assert asked == [(bare, bare.__code__, following, (10, 4, 11, UNBOUND), (11, 8))]
        assert bare(10, 4) == 19
        assert len(asked) == 1
        assert _core.counters(bare.__code__)["native_calls"] == 2


def test_exception_of_the_handler_reaches_the_caller() -> None:
    def on_miss(*args: Any) -> bool:
        raise RuntimeError("from the handler")
    with marked(bare, site_region(bare)), handler(on_miss):
        seen.clear()
        with pytest.raises(RuntimeError, match="from the handler"):
            bare("x", 4)
        with pytest.raises(RuntimeError, match="from the handler") as e:
            bare(10, 4)
        assert "bare" in [name for name, _ in traceback(e.value.__traceback__)]
    with marked(site, site_region(site)), handler(on_miss):
        for _ in range(1000):
            with pytest.raises(RuntimeError):
                site(10, 4)


def test_sites_in_a_row_do_not_nest() -> None:
    """Ten thousand sites in one call: neither C stack nor memory grows."""
    def f(n: Any) -> Any:
        while True:
            n = opaque_step(n)               # noqa: F821
            if n == 0:
                return "done"
    unit, following = call_of(f, "opaque_step")

    def dec(n: int) -> int:
        return n - 1
    again = call((src(0),), (), (const(dec), NULL, src(0)), unit, following, "call")
    r0 = region(exiting(0), ints(0), again)
    r1 = region(native("""
        %a = load i64, ptr %in
        %z = icmp eq i64 %a, 0
        %k = select i1 %z, i32 1, i32 2
        ret i32 %k"""), ints(1), RESTART, ret(const("native")), again)
    with marked(f, (0, r0), (following, r1)):
        assert f(10_000) == "native"
        c = _core.counters(f.__code__)
        assert (c["site_calls"], c["native_calls"], c["leaves"]) == (10_000, 1, 0)
        assert r1.exit_counts == (0, 1, 9_999)
        state = _core._testing_state()
        assert not state["evaluator"]


# ---- observers ------------------------------------------------------------------------------------

@pytest.mark.parametrize("setter", [sys.settrace, sys.setprofile])
def test_settrace_and_setprofile_see_everything(setter: Any) -> None:
    events: list[Any] = []

    def on_event(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code in (bare.__code__, callee.__code__):
            events.append((event, frame.f_lineno))
        return on_event

    def run() -> list[Any]:
        events.clear()
        seen.clear()
        setter(on_event)
        try:
            bare(10, 4)
        finally:
            setter(None)
        return events[:]
    plain = run()
    with marked(bare, site_region(bare)):
        assert run() == plain
        assert _core.counters(bare.__code__)["site_calls"] == 0
        bare(10, 4)
        bare(10, 4)
        assert _core.counters(bare.__code__)["site_calls"] >= 1


def test_trace_that_begins_in_a_callee() -> None:
    events: list[Any] = []

    def on_event(frame: Any, event: str, arg: Any) -> Any:
        events.append(event)
        return on_event

    def begin(n: Any) -> Any:
        f = sys._getframe(1)
        sys.settrace(on_event)
        f.f_trace = on_event
        return n
    following = call_of(bare, "callee")[1]
    unit = call_of(bare, "callee")[0]
    r0 = region(exiting(0), ints(0, 1), call((src(0), src(1), const(11), NULL), (const(11),),
                                              (const(begin), NULL, src(1)), unit, following, "call"))
    r1 = region(exiting(0), ints(2), ret(const("native")))
    with marked(bare, (0, r0), (following, r1)):
        try:
            result = bare(10, 4)
        finally:
            sys.settrace(None)
        assert result == 4
        assert "line" in events


@pytest.mark.skipif(V < (3, 12), reason="sys.monitoring came with 3.12")
@pytest.mark.parametrize("local", [False, True])
def test_monitoring_sees_everything(local: bool) -> None:
    monitoring = sys.monitoring
    e = monitoring.events
    events: list[Any] = []
    monitoring.use_tool_id(3, "test")
    try:
        monitoring.register_callback(3, e.PY_START, lambda code, offset: events.append((code.co_name, "start")))
        monitoring.register_callback(3, e.LINE, lambda code, line: events.append((code.co_name, line)))

        def run() -> list[Any]:
            events.clear()
            seen.clear()
            if local:
                monitoring.set_local_events(3, bare.__code__, e.PY_START | e.LINE)
            else:
                monitoring.set_events(3, e.PY_START | e.LINE)
            try:
                bare(10, 4)
            finally:
                monitoring.set_local_events(3, bare.__code__, 0)
                monitoring.set_events(3, 0)
            return [x for x in events if x[0] == "bare"]
        plain = run()
        with marked(bare, site_region(bare)):
            assert run() == plain
            bare(10, 4)
            bare(10, 4)
            assert _core.counters(bare.__code__)["site_calls"] >= 1
            assert run() == plain
    finally:
        monitoring.free_tool_id(3)


def test_threads() -> None:
    following = call_of(bare, "callee")[1]
    n = n_slots(bare)
    r1 = region(adding(), ints(n + 1, 2), RESTART, ret(word(0)))
    results: list[Any] = []

    def slow(n: Any) -> Any:
        return n * 2
    unit = call_of(bare, "callee")[0]
    r0 = region(exiting(0), ints(0, 1), call((src(0), src(1), const(11), NULL), (const(11),),
                                              (const(slow), NULL, src(1)), unit, following, "call"))

    def work(k: int) -> None:
        results.append(all(bare(10, k + i % 7) == 2 * (k + i % 7) + 11 for i in range(1000)))
    interval = sys.getswitchinterval()
    with marked(bare, (0, r0), (following, r1)):
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        finally:
            sys.setswitchinterval(interval)
        assert results == [True] * 4
        assert _core.counters(bare.__code__)["native_calls"] == 4_000
    assert not _core._testing_state()["evaluator"]


def test_recursion_error_at_a_site() -> None:
    def deep(x: Any, n: Any) -> Any:
        t = x                               # noqa: F841
        return callee2(n)                   # noqa: F821

    def count(n: int) -> int:
        try:
            return count(n + 1)
        except RecursionError:
            return n
    unit, following = call_of(deep, "callee2")
    r = region(exiting(0), ints(0, 1), call((src(0), src(1), src(0)), (), (const(count), NULL, src(1)), unit, following,
                                             "call"))
    globals()["callee2"] = count
    plain = deep(1, 0)
    before = _core._testing_state()
    with marked(deep, (0, r)):
        assert abs(deep(1, 0) - plain) <= 1

        def at_the_edge(d: int) -> str:
            try:
                return at_the_edge(d + 1)
            except RecursionError:
                try:
                    deep(1, 0)
                    return "fine"
                except RecursionError:
                    return "recursion"
        assert at_the_edge(0) in ("fine", "recursion")
    assert _core._testing_state()["recursion"] == before["recursion"]
    assert _core._testing_state()["c_recursion"] == before["c_recursion"]
