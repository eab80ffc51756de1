"""Signals: a handler's exception reaches the program wherever the call is."""
from __future__ import annotations

import signal
import time

import numpy as np
import pytest

import jitcore
from jitcore.runtime import compiler


class Stop(Exception):
    pass


def raise_stop(number, frame):
    raise Stop("now")


@pytest.fixture
def alarm():
    old = signal.signal(signal.SIGALRM, raise_stop)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


def test_an_endless_loop_ends(alarm):
    @jitcore.accelerate
    def spin(a):
        x = 0.0
        while True:
            x = x * 0.5 + a[0]

    for _ in range(3):
        alarm(0.2)
        start = time.perf_counter()
        with pytest.raises(Stop):
            spin(np.array([1.0]))
        assert time.perf_counter() - start < 5


def test_a_handler_that_raises_while_the_compiler_works(alarm, monkeypatch):
    def slow(*args):
        signal.raise_signal(signal.SIGALRM)

    monkeypatch.setattr(compiler.config, "strict", False)
    monkeypatch.setattr(compiler.pipeline, "compile_region", slow)

    @jitcore.accelerate
    def f(x):
        return x * 2 + 1

    with pytest.raises(Stop):
        f(np.ones(3))
    monkeypatch.undo()
    assert f(np.ones(3))[0] == 3.0
    assert jitcore.stats(f).native_calls == 1
