"""What the examples print: the check against the undecorated function, and the speed.

Used by the scripts beside it.  ``jitcore.disabled()`` makes a marked function the plain one that it was, so both sides
of each comparison are the same function object.
"""
from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jitcore


def ulps(a: Any, b: Any) -> float:
    """The largest distance of ``a`` and ``b`` in units in the last place; infinite where only one is NaN.

    ``a`` and ``b`` are of equal shape and dtype.  Floats are mapped to integers that keep their order, in which
    neighbours differ by one; other dtypes count as 0 apart where equal and infinitely far where not.
    """
    a, b = np.asarray(a), np.asarray(b)
    if a.size == 0:
        return 0.0
    if a.dtype.kind != "f" or a.dtype.itemsize not in (4, 8):
        return 0.0 if np.array_equal(a, b) else float("inf")
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    integer, natural = np.dtype(f"i{a.dtype.itemsize}"), np.dtype(f"u{a.dtype.itemsize}")
    lowest = np.iinfo(integer).min

    def ordered(x: Any) -> Any:
        bits = np.where(np.isnan(x), 0, x).astype(x.dtype).view(integer)
        return np.where(bits < 0, lowest - bits, bits)

    a, b = ordered(a), ordered(b)
    return float(np.max(np.maximum(a, b).view(natural) - np.minimum(a, b).view(natural)))


def medians(func: Callable[..., Any], args: tuple[Any, ...], pairs: int) -> tuple[float, float]:
    """Median seconds of a call without and with jitcore, measured in turn."""
    plain, fast = [], []
    for _ in range(pairs):
        with jitcore.disabled():
            start = time.perf_counter()
            func(*args)
            plain.append(time.perf_counter() - start)
        start = time.perf_counter()
        func(*args)
        fast.append(time.perf_counter() - start)
    return statistics.median(plain), statistics.median(fast)


def report(title: str, func: Callable[..., Any], *args: Any, bound: float = 4, pairs: int = 9) -> Any:
    """Run ``func`` both ways, print how they compare, and return the result.

    Exits with a message where type, dtype or shape differ, or values by more than ``bound`` ulp of the largest one.
    That is the measure for a whole computation: where two numbers nearly cancel, one ulp in either of them is many in
    the small rest.  The largest distance in ulps of the values themselves is printed.
    """
    with jitcore.disabled():
        expected = func(*args)
    before = jitcore.stats(func)
    start = time.perf_counter()
    result = func(*args)
    first = time.perf_counter() - start
    func(*args)
    after = jitcore.stats(func)
    if type(result) is not type(expected):
        raise SystemExit(f"{title}: the result is a {type(result).__name__}, not a {type(expected).__name__}")
    a, b = np.asarray(result), np.asarray(expected)
    if (a.dtype, a.shape, a.strides) != (b.dtype, b.shape, b.strides):
        raise SystemExit(f"{title}: {a.dtype}{a.shape} is not {b.dtype}{b.shape}")
    distance = ulps(a, b)
    largest = np.max(np.abs(b))
    difference = np.max(np.abs(a - b))
    if not difference <= bound * np.spacing(largest):
        raise SystemExit(f"{title}: off by {difference:g} where the largest value is {largest:g}")
    plain, fast = medians(func, args, pairs)
    print(f"{title}")
    print(f"  same type, dtype and shape; largest difference {distance:g} ulp, {difference:.1e} with values up to"
          f" {largest:.3g}")
    print(f"  {1e3 * plain:.2f} ms with NumPy, {1e3 * fast:.2f} ms with jitcore: {plain / fast:.1f} times as fast"
          f" (first call {1e3 * first:.0f} ms)")
    kernels = (after.kernels - before.kernels) / 2
    native = after.native_calls - before.native_calls
    print(f"  {native} of 2 calls native, {kernels:g} fused loop{'s' * (kernels != 1)} a call")
    return result
