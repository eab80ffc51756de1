"""NumPy's C functions inside regions: results, what they write, errors and reports as without compiling."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, same_call

READS = """
a[mask]
g[g > 1]
g[rows]
g[:, rows]
g[rows, rows]
g[rows, 1]
g[1, rows]
g[rows[:, None], rows]
g[..., rows]
g[None, rows]
a[[2, 0]]
a[[True, False] * 3]
a[rows][mask[:3]]
a.take(rows), np.take(g, rows, axis=1), np.take(a, rows, mode='wrap')
np.take_along_axis(g, np.argsort(g, axis=0), axis=0)
np.nonzero(a > 1)
np.nonzero(g > 1)
np.flatnonzero(mask)
np.where(g > 1)
np.compress(mask, a), np.extract(mask, a)
np.choose(rows, [rows, rows * 2, 7])
np.searchsorted(np.sort(a), a)
np.bincount(rows), np.bincount(rows, minlength=k), np.bincount(rows, weights=a[:3])
np.sort(g, axis=0), np.sort(a)[::-1], np.argpartition(a, 2)
np.median(a), np.partition(a, 2)[2]
np.concatenate((a, a[mask])), np.concatenate([g, g], axis=1)
np.repeat(a, 2), np.repeat(g, k, axis=0)
np.add.accumulate(a), np.maximum.accumulate(g, axis=1)
np.add.outer(a, rows), np.multiply.reduceat(a, [0, 2])
np.divmod(a, 2), np.modf(a), np.frexp(a)
np.interp(a, np.sort(a), a), np.convolve(a, rows), np.correlate(a, a, 'full')
np.einsum('ij,kj->ik', g, g), np.einsum('ij->j', g)
np.lexsort((a, mask)), np.ravel_multi_index((rows, rows), (3, 3)), np.packbits(mask)
np.digitize(a, np.sort(a)), np.trace(g)
len(a[mask]), a[mask].sum(), a[mask].shape
np.sqrt(a[mask]) * 2 + a[mask]
a[np.argsort(a)[:k]] * a[:k]
""".strip().splitlines()

WRITES = """
a[mask] = 0
a[mask] = a[mask] * 2
a[mask] += 1
a[rows] = 7
a[rows] += a[:3]
g[rows, rows] = 1
g[:, rows] = 2
g[rows] = g[rows[::-1]]
g[g > 1] *= 2
a.sort()
g.sort(axis=0)
g.T.sort(axis=-1)
a[::2].sort()
np.add.at(rows, [0, 0, 1], 5)
np.putmask(a, mask, a[::-1])
np.copyto(a, 1, where=mask)
np.place(a, mask, a)
np.copyto(src=a[::-1] * 1, dst=a)
a[[1, 1, 2]] = a[[0, 1, 2]]
a[rows[::-1]] = a[rows]
a[1:][rows] = 3
""".strip().splitlines()


def function(text: str, writes: bool) -> Any:
    body = f"    {text}\n    r = a.sum()" if writes else f"    r = {text}"
    scope: dict[str, Any] = {"np": np}
    exec(f"def f(a, g, mask, rows, k):\n    c = a * 2 + 1\n{body}\n    d = c * c - a\n    return c, r, d\n", scope)
    return scope["f"]


def arguments(kind: str, layout: str) -> tuple[Any, ...]:
    a = np.array([3, 0, 1, 2, 2, 1]).astype(kind)
    g = np.array([[3, 0, 1], [2, 2, 0], [1, 3, 5]]).astype(kind)
    if layout == "A":
        a, g = np.repeat(a, 2)[::2], np.repeat(g, 2, axis=1)[:, ::2]
    elif layout == "F":
        g = np.asfortranarray(g)
    return a, g, np.array([True, False, True, True, False, False]), np.array([2, 0, 1]), 2


@pytest.mark.parametrize("text", READS + WRITES)
def test_whole_functions(text):
    writes = text in WRITES
    for kind in ("d", "i"):
        for layout in "CFA":
            counts = check(function(text, writes), lambda: arguments(kind, layout), calls=2)  # noqa: B023
            assert writes or counts.site_calls == 0, f"{text} of {kind}, {layout}: {counts}"


@pytest.mark.parametrize("text, writes", [
    ("a[rows]", False), ("a.take(rows)", False), ("a[mask]", False), ("np.concatenate((a, g))", False),
    ("a[rows] = 1", True), ("a[rows] += 1", True), ("a[mask] = a[:3]", True), ("g[rows, rows] = 1", True),
    ("np.bincount(rows)", False), ("np.putmask(a=a, mask=mask, values=a)", True),
    ("np.choose(rows, [a, a])", False), ("np.add.at(rows, rows, 1)", True)])
def test_errors_are_numpys(text, writes):
    """What raises for some arguments raises at its line, with nothing done twice or half."""
    plain, fast = function(text, writes), jitcore.accelerate(function(text, writes))
    good = arguments("d", "C")
    bad = [(*good[:3], np.array([2, -9, 1]), 2), (*good[:2], np.ones(7, bool), np.array([0, 1, 99]), 2),
           (good[0], good[1][:2], np.ones(6, bool), good[3], 2)]
    for args in (good, *bad, good):
        first, second = (tuple(v.copy() if isinstance(v, np.ndarray) else v for v in args) for _ in "12")
        same_call(plain, fast, (first, {}), (second, {}))
    counts = jitcore.stats(fast)
    assert counts.native_calls + counts.leaves == 5, counts


@pytest.mark.parametrize("text", ["np.multiply.outer(a, a)", "np.add.accumulate(a)", "np.interp(a, a, a * a)",
                                  "np.frexp(a / a)", "np.divmod(a, a)", "np.einsum('i,i', a, a)"])
@pytest.mark.parametrize("how", ["warn", "raise", "ignore"])
def test_reports(text, how):
    def made():
        scope: dict[str, Any] = {"np": np}
        exec(f"def f(a):\n    c = a + 0\n    r = {text}\n    return c, r\n", scope)
        return scope["f"]

    plain, fast = made(), jitcore.accelerate(made())
    with np.errstate(all=how):
        for a in (np.ones(3), np.array([1e308, 1e308, 0.0]), np.array([1e-308, 1e-308, 1.0]), np.ones(3)):
            same_call(plain, fast, ((a,), {}), ((a,), {}))
    counts = jitcore.stats(fast)
    assert counts.native_calls >= 2 and counts.native_calls + counts.leaves == 4, counts


def test_lengths_may_be_others_than_the_examples_say():
    """A length that an operand has in the first call is no fact."""
    def f(a, rows):
        b = a[rows]
        return b * 2 + b, b + a[0]

    given = [[0, 1, 2], [0], [], [2, 2, 2, 2]]
    plain, fast = fresh_copy(f), jitcore.accelerate(f)
    for rows in given:
        same_call(plain, fast, ((np.arange(3.0), np.array(rows, int)), {}), ((np.arange(3.0), np.array(rows, int)), {}))
    assert jitcore.stats(fast).native_calls == len(given)


def test_in_a_loop():
    def f(a, n):
        total = 0.0
        for i in range(n):
            b = a[a > i]
            order = np.argsort(b)
            b[order] = b[::-1] * 2
            total += b[order[:2]].sum() + np.take(b, [0]).sum()
            a[a == i] = total
        return total, a

    plain, fast = fresh_copy(f), jitcore.accelerate(f)
    for n in (0, 1, 6, 12, 3):
        same_call(plain, fast, ((np.arange(10.0), n), {}), ((np.arange(10.0), n), {}))
    assert jitcore.stats(fast).native_calls >= 3


def test_a_result_that_is_kept_is_not_written_to():
    def f(a, rows):
        b = a[rows]
        c = b
        b += 1
        d = b.copy()
        d.sort()
        b[rows] = d
        return b is c, b, c, d, a

    check(f, lambda: (np.arange(5.0), np.array([1, 0, 2])))
