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
    old = signal.signal(signal.SIGALRM, raise_stop)
    try:
        delays = []
        for call in range(6):
            signal.setitimer(signal.ITIMER_REAL, 0.2 if call else 3.0)      # the first one has time to compile
            start = time.perf_counter()
            with pytest.raises(Stop) as info:
                fast(np.ones(1))
            delays.append(time.perf_counter() - start - 0.2)
            line = info.traceback[1].lineno + 1 - func.__code__.co_firstlineno
            assert info.traceback[1].frame.code.name == func.__name__ and line in (1, 2, 3, 4, 5, 6)
        assert min(delays[1:]) < 0.1          # one of five: on a busy machine any may wait for its turn to run
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
