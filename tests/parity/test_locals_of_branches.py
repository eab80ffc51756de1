"""Locals that nothing reads any more, as callees, debuggers and post-mortem looks see them."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitcore

from .compare import fresh_copy, same


class Stop(Exception):
    """Raised by what is called."""


class Watch:
    """Notes all locals of its caller; raises at its ``last`` call."""

    def __init__(self, last: int) -> None:
        self.last, self.notes = last, list[dict[str, Any]]()

    def __call__(self, *args: Any) -> None:
        self.notes.append(seen(sys._getframe(1)))
        if len(self.notes) == self.last:
            raise Stop


def seen(frame: Any) -> dict[str, Any]:
    """The locals of a frame but those that the two runs have of their own."""
    return {name: value for name, value in frame.f_locals.items() if name != "see"}


def one_branch(n, see):
    total = 0.0
    for i in range(n):
        x = i * 0.5 + total * 0.25
        if i % 2:
            odd = x * 3.0 - i  # noqa: F841
        total = total * 0.5 + x * 0.125 - x + i * 3 - 1.5 * x
        see(i, total)
    return total


def inner_loop(n, see):
    total = 0.0
    for i in range(n):
        for j in range(i % 4):
            t = i * 0.5 + j * total
            total = total * 0.5 + t * 0.125 - t + i * 3 - 1.5 * t
        see(i, total)
    return total


def breaks_and_continues(n, see):
    total = 0.0
    for i in range(n):
        if i % 5 == 3:
            skipped = i  # noqa: F841
            continue
        for j in range(6):
            t = i * 0.5 + j * total
            if t * t + j > 40.0:
                broken = t - j  # noqa: F841
                break
            if j % 2:
                odd = j  # noqa: F841
                continue
            even = t  # noqa: F841
            total = total * 0.5 + t * 0.125 - t + i * 0.3
        else:
            whole = i  # noqa: F841
        see(i, total)
    return total


def other_types(n, see):
    total = 0.0
    for i in range(n):
        if i % 4 == 1:
            last = i
        elif i % 4 == 2:
            last = total * 2.0
        elif i % 4 == 3:
            last = total > 1.0
        elif i > 8:
            last = None
        if i % 3 == 0:
            name = "three"
        elif i % 3 == 1:
            name = n  # noqa: F841
        total = total * 0.5 + i * 0.125 - 3.0 * i + i * total
        see(i, total)
        last = -0.0  # noqa: F841
    return total


def many_types(n, see):
    total = 0.0
    for i in range(n):
        k = i % 7
        if k == 0:
            last = i
        elif k == 1:
            last = total
        elif k == 2:
            last = i > 5
        elif k == 3:
            last = complex(total, i)
        elif k == 4:
            last = see
        elif k == 5:
            last = "five"  # noqa: F841
        total = total * 0.5 + i * 0.125 - 3.0 * i + i * total
        see(i, total)
    return total


def numpy_scalars(n, see):
    a = np.arange(40.0)
    total = 0.0
    for i in range(n):
        for j in range(i % 3):
            item = a[i + j]
            total = total * 0.5 + item * 0.25 - total * item
            if j:
                second = np.float32(item)  # noqa: F841
        see(i, total)
    return total


def deleted(n, see):
    total = 0.0
    for i in range(n):
        t = total * 0.5 + i * 0.25 - 3.0
        if i % 3:
            gone = t * 2.0
            if i % 3 == 2:
                del gone
        total = t * 0.5 + i * 0.125 - 3.0 * t
        see(i, total)
    return total


def while_loops(n, see):
    i, total = 0, 1.0
    while i < n:
        k = 0
        while True:
            t = total * 0.5 + k * 0.25 - i
            if k > i % 3:
                stopped = k  # noqa: F841
                break
            k += 1
            total = t * 0.5 - k
        i += 1
        see(i, total)
    return total


def comprehension(n, see):
    total = 0.0
    for i in range(n):
        if i % 2:
            x = total * 0.5  # noqa: F841
        both = sum([x * 0.5 for x in range(i % 4)])
        total = total * 0.5 + both * 0.125 - 3.0 * i + i * total
        see(i, total)
    return total


def helper(x, k):
    for m in range(k):
        if m % 2:
            half = x * 0.5
            x = x * 0.25 + half - m
        else:
            x = x * 0.5 + m
    return x


def inlined(n, see):
    total = 0.0
    for i in range(n):
        if i % 2:
            odd = total * 3.0 - i  # noqa: F841
        total = helper(total * 0.5 + i, i % 4) - 1.5 * i
        see(i, total)
    return total


def swapped(n, see):
    a, b, total = 1.0, 2.0, 0.0
    for i in range(n):
        for _ in range(2):
            total = total * 0.5 + i * 0.125 - 3.0 * i
        a, b = b, a
        if i % 3 == 1:
            a, b = 0.5 * i, i
        see(i, total)
        a = total
    return total


PROGRAMS: list[Callable[..., Any]] = [
    one_branch, inner_loop, breaks_and_continues, other_types, many_types, numpy_scalars, deleted, while_loops,
    comprehension, inlined, swapped]


def names(function: Callable[..., Any]) -> str:
    return function.__name__


def kinds(notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The notes with the types of what is in them, which equal numbers may not share."""
    return [{name: (type(value), None if isinstance(value, Watch) else value) for name, value in note.items()}
            for note in notes]


@pytest.mark.parametrize("function", PROGRAMS, ids=names)
def test_callees(function):
    a, b = Watch(-1), Watch(-1)
    plain, fast = fresh_copy(function), jitcore.accelerate(fresh_copy(function))
    for n in (1, 2, 14, 3, 14):     # short runs first: what is made for them meets other states later
        a.notes.clear()
        b.notes.clear()
        same(plain(n, a), fast(n, b))
        assert list(map(list, a.notes)) == list(map(list, b.notes))
        same(kinds(a.notes), kinds(b.notes))


def frame_after(run: Callable[..., Any], last: int) -> Any:
    """The frame of ``run`` that the traceback of its last call of the watch has."""
    with pytest.raises(Stop) as caught:
        run(14, Watch(last))
    assert caught.value.__traceback__ is not None and caught.value.__traceback__.tb_next is not None
    return caught.value.__traceback__.tb_next.tb_frame


@pytest.mark.parametrize("last", [1, 2, 7, 9])
@pytest.mark.parametrize("function", PROGRAMS, ids=names)
def test_tracebacks(function, last):
    plain, fast = fresh_copy(function), jitcore.accelerate(fresh_copy(function))
    same(plain(14, Watch(-1)), fast(14, Watch(-1)))
    a, b = (seen(frame_after(run, last)) for run in (plain, fast))
    same(kinds([a]), kinds([b]))


def fails_late(n, a):
    total = 0.0
    for i in range(n):
        for j in range(i % 4):
            t = i * 0.5 + j * total
            if (i + j) % 3 == 2:
                odd = t * 2.0  # noqa: F841
            total = total * 0.5 + t * 0.125 - t + i * 3 - 1.5 * t
        total += a[i]
    return total


@pytest.mark.parametrize("size", [0, 1, 5, 9])
def test_what_fails_in_a_loop(size):
    """The traceback of an error that the interpreter raises where native code has left."""
    def run(f: Callable[..., Any]) -> dict[str, Any]:
        with pytest.raises(IndexError) as caught:
            f(14, np.arange(float(size)))
        assert caught.value.__traceback__ is not None and caught.value.__traceback__.tb_next is not None
        return dict(caught.value.__traceback__.tb_next.tb_frame.f_locals)

    plain, fast = fresh_copy(fails_late), jitcore.accelerate(fresh_copy(fails_late))
    same(plain(5, np.arange(14.0)), fast(5, np.arange(14.0)))
    same(kinds([run(plain)]), kinds([run(fast)]))


def test_ways_are_native():
    """The programs here are compiled with their loops, and all they call are sites."""
    run = jitcore.accelerate(fresh_copy(breaks_and_continues))
    run(40, Watch(-1))
    before = jitcore.stats()
    run(40, Watch(-1))
    after = jitcore.stats()
    assert after.native_calls == before.native_calls + 1 and after.leaves == before.leaves
    assert after.compiles == before.compiles


def test_dead_locals_make_no_regions():
    """Behind a site the frame may have any of its dead locals: one region serves all such states."""
    run = jitcore.accelerate(fresh_copy(breaks_and_continues))
    before = jitcore.stats()
    run(40, Watch(-1))
    assert jitcore.stats().compiles - before.compiles <= 2      # from the entry on, and from behind the site on
