"""A running loop is taken over at its back edge."""
from __future__ import annotations

import itertools
import signal
import sys
import threading
import time
from typing import Any

import pytest

from jitcore import _core
from tests.frames.support import V, instructions, rss, slot


def while_loop(n: Any) -> Any:
    s = 0
    i = 0
    while i < n:
        i += 1
        s += i
    return s


def for_loop(n: Any) -> Any:
    s = 0
    for i in range(n):
        s += i
    return s


def last_load(f: Any) -> int:
    """The unit of the load in front of the last return."""
    found = instructions(f)
    k = [k for k, i in enumerate(found) if i.opname == "RETURN_VALUE"][-1]
    return found[k - 1].offset // 2


def watch_later(f: Any, watcher: Any, seconds: float = 0.03) -> None:
    """Arms the watch from a signal handler, while the loop runs."""
    def on_alarm(number: Any, frame: Any) -> None:
        _core._testing_watch(f.__code__, watcher)
    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)


@pytest.mark.parametrize("f, drop", [(while_loop, 0), (for_loop, 1)])
def test_move_a_loop_that_runs(f: Any, drop: int) -> None:
    units: list[int] = []
    states: list[Any] = []

    def watcher(unit: int, slots: Any) -> Any:
        units.append(unit)
        states.append(slots)
        return None if len(units) < 5 else (last_load(f), {slot(f, "s"): -7}, drop)
    watch_later(f, watcher)
    begin = time.perf_counter()
    assert f(10 ** 12) == -7
    assert time.perf_counter() - begin < 20
    assert len(units) == 5 and len(set(units)) == 1
    i = slot(f, "i")
    steps = [b[i] - a[i] for a, b in itertools.pairwise(states)]
    assert steps == [1] * 4
    starts = {x.offset // 2 for x in instructions(f) if x.is_jump_target}
    assert units[0] in starts or V < (3, 12)
    assert f(1000) in (500500, 499500)          # nothing is watched any more
    assert len(units) == 5


def test_watching_without_moving_changes_nothing() -> None:
    count = [0]

    def watcher(unit: int, slots: Any) -> Any:
        count[0] += 1
        return None if count[0] < 100 else (-1, {}, 0)
    watch_later(while_loop, watcher)
    n = 3_000_000
    assert while_loop(n) == n * (n + 1) // 2
    assert count[0] == 100
    assert not _core._testing_observed(while_loop.__code__)


def test_exception_of_a_watcher_is_raised_in_the_loop() -> None:
    def watcher(unit: int, slots: Any) -> Any:
        raise ValueError("from the watcher")
    watch_later(while_loop, watcher)
    with pytest.raises(ValueError, match="from the watcher"):
        while_loop(10 ** 12)
    assert while_loop(10) == 55


def test_unwatch() -> None:
    _core._testing_watch(while_loop.__code__, lambda *a: pytest.fail("called"))
    _core._testing_watch(while_loop.__code__, None)
    assert while_loop(10) == 55
    _core._testing_watch(while_loop.__code__, None)


@pytest.mark.skipif(V < (3, 12), reason="pending calls are served in the main thread only")
def test_loop_of_another_thread() -> None:
    out: list[Any] = []
    t = threading.Thread(target=lambda: out.append(while_loop(10 ** 12)))
    t.start()
    time.sleep(0.02)
    _core._testing_watch(while_loop.__code__, lambda unit, slots: (last_load(while_loop), {1: -3}, 0))
    t.join(20)
    assert out == [-3]


@pytest.mark.skipif(V < (3, 12), reason="the watch of 3.11 needs a loop that runs already")
def test_no_leak() -> None:
    def once() -> None:
        _core._testing_watch(for_loop.__code__, lambda unit, slots: (last_load(for_loop), {1: -3}, 1))
        assert for_loop(10) == -3
    for _ in range(1000):
        once()
    before = rss()
    for _ in range(5_000):
        once()
    assert rss() - before < 400


def test_a_tracer_is_not_disturbed() -> None:
    lines: list[int] = []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code is for_loop.__code__:
            lines.append(frame.f_lineno)
        return trace

    def run() -> list[int]:
        lines.clear()
        sys.settrace(trace)
        try:
            for_loop(5)
        finally:
            sys.settrace(None)
        return lines[:]
    plain = run()
    _core._testing_watch(for_loop.__code__, lambda *a: None)
    try:
        assert run() == plain
    finally:
        _core._testing_watch(for_loop.__code__, None)
