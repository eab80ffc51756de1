"""Signals in native loops: served at once, at the line where the loop is."""
from __future__ import annotations

import signal
import time

import numpy as np
import pytest

import jitcore

from .compare import fresh_copy


class Stop(Exception):
    pass


def spin(a):
    x = 0.0
    n = 0
    while True:
        x = x * 0.5 + a[0]
        n = (n + 1) % 1000


def spin_range(a):
    for i in range(10**15):
        a[0] = i


def spin_sequences(a):
    ks, t = a.tolist() * 50, tuple(range(20))
    while True:
        for i, (x, k) in enumerate(zip(np.zeros(200), ks)):
            for v in reversed(t):
                for f in a.flat:
                    a[0] = i + x + k + v - f


@pytest.mark.parametrize("func", [spin, spin_range, spin_sequences])
def test_a_signal_ends_a_loop_at_its_line(func):
    def raise_stop(number, frame):
        raise Stop

    fast = jitcore.accelerate(fresh_copy(func))
    old = signal.signal(signal.SIGPROF, raise_stop)
    try:
        for call in range(4):
            compiled = jitcore.stats(fast).compiles
            # Processor time, here and in the timer: what other processes do meanwhile does not count.
            signal.setitimer(signal.ITIMER_PROF, 0.2 if call else 3.0)      # the first one has time to compile
            start = time.process_time()
            with pytest.raises(Stop) as info:
                fast(np.ones(1))
            spent = time.process_time() - start
            compiled = jitcore.stats(fast).compiles - compiled
            # A further way into the loop may be compiled in the next call too, and signals wait for the compiler.
            assert spent < (5 if compiled or not call else 0.3)
            line = info.traceback[1].lineno + 1 - func.__code__.co_firstlineno
            assert info.traceback[1].frame.code.name == func.__name__ and line in (1, 2, 3, 4, 5, 6)
        assert not compiled
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)
