"""Stores between views of one buffer: the value is complete before its target changes, byte for byte."""
from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import jitcore

from .compare import fresh_copy


def copy(a: Any, b: Any) -> None:
    a[...] = b


def combine(a: Any, b: Any) -> None:
    a[...] = b * 2 - a


def add(a: Any, b: Any) -> None:
    a += b


def out(a: Any, b: Any) -> None:
    np.subtract(b, a, out=a)


def twice(a: Any, b: Any) -> None:
    a[...] = b + b[::-1]
    b[...] = a * a


def masked(a: Any, b: Any) -> None:
    a[b > 3] = 1


def in_a_loop(a: Any, b: Any) -> None:
    for i in range(b.shape[0] * 0 + 40):
        a[...] = b + i
        b += a


FUNCTIONS: tuple[Callable[..., None], ...] = (copy, combine, add, out, twice, masked, in_a_loop)
_FAST = {func: jitcore.accelerate(fresh_copy(func)) for func in FUNCTIONS if isinstance(func, types.FunctionType)}

#: Slices of one axis that give ``count`` elements: first and step.
_steps = st.sampled_from([1, 1, 2, 3, -1, -2])


@st.composite
def _pairs(draw: Any) -> tuple[Any, ...]:
    """The shape of a buffer, a dtype, and two indices that give views of one shape."""
    ndim = draw(st.integers(1, 3))
    counts = [draw(st.integers(0, 4)) for _ in range(ndim)]
    shape, indices = [], ([], [])
    for count in counts:
        steps = [draw(_steps) for _ in range(2)]
        spans = [abs(step) * max(count - 1, 0) + 1 for step in steps]
        length = max(spans) + draw(st.integers(0, 3))
        shape.append(length)
        for side in range(2):
            low = draw(st.integers(0, length - spans[side]))
            first, step = low if steps[side] > 0 else low + spans[side] - 1, steps[side]
            stop = first + step * count
            stop = (stop if stop >= 0 else None) if count else first
            indices[side].append(slice(first, stop, step))
    order = draw(st.permutations(range(ndim)))
    return tuple(shape), draw(st.sampled_from("ldBfF?")), tuple(indices[0]), tuple(indices[1]), tuple(order)


def _views(case: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shape, char, first, second, order = case
    buffer = (np.arange(int(np.prod(shape))) % 7).reshape(shape).astype(char)
    return buffer, buffer[first].transpose(order), buffer[second].transpose(order)


@example(((8,), "B", (slice(1, 5, 1),), (slice(0, 8, 2),), (0,)), copy)     # not a copy of what was there, in NumPy
@settings(max_examples=150, deadline=None)
@given(_pairs(), st.sampled_from(FUNCTIONS))
def test_views_of_one_buffer(case: tuple[Any, ...], func: Callable[..., None]) -> None:
    plain, fast = _views(case), _views(case)
    outcomes = []
    for (_, a, b), run in ((plain, func), (fast, _FAST[func])):      # type: ignore[index]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                run(a, b)
                error = ""
            except Exception as raised:
                error = f"{type(raised).__name__}: {raised}"
        outcomes.append((error, [str(w.message) for w in caught]))
    assert outcomes[0] == outcomes[1]
    assert plain[0].tobytes() == fast[0].tobytes(), case


def test_they_ran_native() -> None:
    """What the test above compares is compiled code, unless nothing of it ran before."""
    for func in FUNCTIONS:
        fast = jitcore.accelerate(fresh_copy(func))      # type: ignore[arg-type]
        for _ in range(2):
            buffer = np.arange(12.0)
            fast(buffer[1:], buffer[:-1])
        counts = jitcore.stats(fast)
        assert counts.native_calls == 2 and counts.kernels >= 2, f"{func.__name__}: {counts}"


def test_broadcast_targets_are_numpys() -> None:
    """Elements that share memory: NumPy writes in its own order."""
    def fill(a: Any, b: Any) -> None:
        a[...] = b

    fast = jitcore.accelerate(fill)
    for _ in range(3):
        base, other = np.zeros(3), np.zeros(3)
        view = np.lib.stride_tricks.as_strided(base, (2, 3), (0, 8))
        fast(view, np.arange(6.0).reshape(2, 3))
        fill_plain = np.lib.stride_tricks.as_strided(other, (2, 3), (0, 8))
        fill_plain[...] = np.arange(6.0).reshape(2, 3)
        assert base.tobytes() == other.tobytes()
