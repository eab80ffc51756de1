"""A million calls, hand-overs and exceptions included, leave nothing behind."""
from __future__ import annotations

import gc
import os

import numpy as np

import jitcore


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@jitcore.accelerate
def hits(x, k):
    return x * k + 1, (x, k), [x[1:]]


@jitcore.accelerate
def restarts(x, i):
    return x[i] * 2.0


@jitcore.accelerate
def leaves(x, n):
    y = x * 2.0 + n
    for _ in map(abs, x[:n]):
        y = y
    return y


@jitcore.accelerate
def calls(x, log):
    y = x + 1.0
    log(y)
    return y * 2.0


@jitcore.accelerate
def raises(x, log):
    y = x * 2.0
    try:
        log(y)
    except KeyError:
        return y + 1.0


def fail(y):
    raise KeyError("no")


def one_round(x):
    hits(x, 2.0)
    hits(x, 3)
    leaves(x, 2)
    calls(x, id)
    raises(x, fail)
    try:
        restarts(x, 100)
    except IndexError:
        pass
    restarts(x, 1)
    restarts(x, 2)
    try:
        calls(x, fail)
    except KeyError:
        pass
    try:
        hits(x)
    except TypeError:
        pass


def test_a_million_calls():
    x = np.arange(6.0)
    for _ in range(3000):
        one_round(x)
    gc.collect()
    before = resident_bytes()
    for _ in range(100_000):
        one_round(x)
    gc.collect()
    assert resident_bytes() - before < 1_000_000
    counts = jitcore.stats(hits)
    assert counts.native_calls > 200_000
    assert jitcore.stats(leaves).leaves > 100_000
    assert jitcore.stats(calls).site_calls > 100_000
    assert jitcore.stats(raises).native_calls > 100_000
