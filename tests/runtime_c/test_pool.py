"""Recycled memory: arrays stay ordinary, blocks come back, limits hold, threads and forks are safe."""
from __future__ import annotations

import contextvars
import ctypes
import os
import sys
import threading
import tracemalloc

import numpy as np
import pytest

from jitcore import _core

from . import native

MEGA = 1 << 20


@pytest.fixture(autouse=True)
def clean():
    _core.pool_trim()
    before = _core.pool_limit(256 * MEGA)
    yield
    _core.pool_limit(before)
    _core.pool_trim()


def address(a):
    return a.__array_interface__["data"][0]


def handler(a):
    return np._core.multiarray.get_handler_name(a)


def big(n=MEGA):
    return native.empty("d", (n,))


def test_large_arrays_are_ordinary_ones():
    a = big()
    assert a.base is None and a.flags.owndata and a.flags.writeable and a.flags.c_contiguous
    assert handler(a) == "jitcore_pool" and address(a) % 4096 == 0
    assert handler(native.empty("d", (10,))) == handler(np.empty(10))
    assert handler(np.empty(MEGA)) == handler(np.empty(10))            # nobody else's arrays
    a[:] = 1
    assert a.sum() == MEGA
    assert handler(native.empty_strided("d", (1024, 1024), (8, 8192))) == "jitcore_pool"


def test_memory_comes_back():
    a = big()
    where = address(a)
    before = _core.pool_stats()
    del a
    between = _core.pool_stats()
    assert between["retained"] - before["retained"] == before["in_use"] - between["in_use"] >= 8 * MEGA
    assert (between["free"], between["live"]) == (before["free"] + 1, before["live"] - 1)
    b = native.empty("d", (MEGA - 100,))            # of the same class
    assert address(b) == where
    assert _core.pool_stats()["hits"] == before["hits"] + 1
    c = big()
    assert address(c) != where


def test_a_view_keeps_the_memory():
    a = big()
    a[:] = 7
    view = a[10:20]
    del a
    for _ in range(5):
        big()[:] = 0
    assert (view == 7).all()


def test_the_limit_holds_and_the_oldest_go_first():
    _core.pool_limit(40 * MEGA)
    arrays = [native.empty("B", (8 * MEGA + i * MEGA,)) for i in range(8)]
    places = [address(a) for a in arrays]
    for i in range(8):
        arrays[i] = None
        assert _core.pool_stats()["retained"] <= 40 * MEGA
    assert _core.pool_stats()["free"] == 2                              # 15 and 14 MiB; with 13 it would be too much
    assert address(native.empty("B", (15 * MEGA,))) == places[7]
    huge = native.empty("B", (50 * MEGA,))
    del huge
    assert _core.pool_stats()["retained"] <= 40 * MEGA                  # larger than the limit: not kept


def test_trimming():
    arrays = [big() for _ in range(4)]
    arrays.clear()
    kept = _core.pool_stats()["retained"]
    assert kept >= 32 * MEGA
    assert _core.pool_trim(kept // 2) == kept // 2
    assert _core.pool_trim() == kept - kept // 2
    assert _core.pool_stats()["retained"] == 0 == _core.pool_stats()["free"]
    with pytest.raises(ValueError):
        _core.pool_limit(-1)


def test_off():
    _core.pool_limit(0)
    assert handler(big()) == handler(np.empty(3))


@pytest.mark.parametrize("n", [10, 1000, MEGA - 10, MEGA + 10, 3 * MEGA])
def test_resize(n):
    a = big()
    a[:] = np.arange(MEGA)
    a.resize(n, refcheck=False)
    m = min(n, MEGA)
    assert np.array_equal(a[:m], np.arange(m, dtype="d")) and (a[m:] == 0).all() and handler(a) == "jitcore_pool"


def test_a_users_own_handler_is_put_back():
    before = np._core.multiarray.get_handler_name()
    kept = [big() for _ in range(3)]
    assert np._core.multiarray.get_handler_name() == before and kept


def test_a_handler_that_the_user_has_set_is_used():
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    table = ctypes.cast(pointer(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[304])
    default = ctypes.cast(table[306], ctypes.POINTER(ctypes.py_object))[0]

    def with_own_handler():
        name = b"mem_handler"           # kept alive by this frame, and so by the arrays' use of the capsule
        own = new(pointer(default, name), name, None)
        set_handler(own)
        arrays = [big(), big()]
        assert [handler(a) for a in arrays] == ["default_allocator"] * 2
        arrays.clear()
        set_handler(default)

    contextvars.copy_context().run(with_own_handler)
    assert handler(big()) == "jitcore_pool"


def test_references():
    watched = [np.dtype("d"), np.ndarray, None]

    def counts():
        for _ in range(200):
            big()
        return [sys.getrefcount(o) for o in watched]

    first = counts()
    assert all(abs(a - b) < 50 for a, b in zip(first, counts()))


def test_tracemalloc_sees_it():
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        a = big()
        assert tracemalloc.get_traced_memory()[0] - before >= 8 * MEGA
        del a
        assert tracemalloc.get_traced_memory()[0] - before < MEGA
    finally:
        tracemalloc.stop()


def test_threads():
    wrong = []

    def work(k):
        rng = np.random.default_rng(k)
        kept = []
        for i in range(150):
            a = native.empty("q", (int(rng.integers(MEGA // 16, MEGA // 4)),))
            a[:] = k * 1000 + i
            kept.append((a, k * 1000 + i))
            if len(kept) > 4:
                old, value = kept.pop(int(rng.integers(0, 4)))
                if not (old == value).all():
                    wrong.append(value)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and _core.pool_stats()["live"] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork():
    a, freed = big(), big()
    a[:] = 5
    del freed
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            native.empty("d", (MEGA // 8,))

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                good = False
                try:
                    b = big()
                    b[:] = 6
                    good = bool((a == 5).all() and (b == 6).all())
                    del b
                    _core.pool_trim()
                    big()[:] = 1
                finally:
                    os._exit(0 if good else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()
    assert (a == 5).all()


def test_sizes_around_the_classes():
    for bits in range(18, 25):
        for size in (2**bits - 1, 2**bits, 2**bits + 1, 2**bits + 2**(bits - 3), 2**bits + 2**(bits - 3) + 1):
            if size < 2**18:
                continue
            a = native.empty("B", (size,))
            a[-1] = a[0] = 3
            stats = _core.pool_stats()
            assert size <= stats["in_use"] <= size * 9 / 8 + 4096
            del a
