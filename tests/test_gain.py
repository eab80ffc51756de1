"""Code that nothing is gained for is left alone, and code that gains is not."""
from __future__ import annotations

import operator
import types

import numpy as np
import pytest

import jitcore
from jitcore.config import MAX_REGIONS_PER_ENTRY
from jitcore.runtime.records import find_record


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, dx):
        return Point(self.x + dx, self.y)

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)


_ARGS = (Point(1, 2), {"banana": 1}, [3, 1, 2], "banana")

_OBJECTS = {
    "method": lambda p, d, items, s: p.moved(1).x,
    "operator": lambda p, d, items, s: (p + p).y,
    "index": lambda p, d, items, s: items.index(2),
    "count": lambda p, d, items, s: items.count(1),
    "sum": lambda p, d, items, s: sum(items),
    "text": lambda p, d, items, s: f"{s}: {len(items)}",
    "lookup": lambda p, d, items, s: d.get(s),
}


def _left_alone(func, args, calls=200):
    """Whether ``func`` is an ordinary function after some calls, and why."""
    for _ in range(calls):
        func(*args)
    before = jitcore.stats(func).calls
    func(*args)
    reason = find_record(func.__code__).left_alone
    assert (jitcore.stats(func).calls == before) == bool(reason)
    return reason


@pytest.mark.parametrize("name", _OBJECTS)
def test_calls_and_objects_are_left_alone(name):
    func = jitcore.accelerate(_OBJECTS[name])
    assert "nothing but calls and objects" in _left_alone(func, _ARGS)
    assert jitcore.stats(func).native_calls == 0


def test_scalar_arithmetic_that_returns_at_once_stays():
    @jitcore.accelerate
    def polynomial(x):
        return ((0.5 * x + 1.5) * x - 2.0) * x + 1.0

    assert not _left_alone(polynomial, (2.0,))
    assert jitcore.stats(polynomial).native_calls == 201


def test_numpy_scalars_stay():
    @jitcore.accelerate
    def entry(x, i):
        return x[i] * 2.0

    assert not _left_alone(entry, (np.arange(3.0), 1))


def test_arrays_between_calls_stay():
    @jitcore.accelerate
    def between(x, f):
        return f(x * 2.0) + 1.0

    assert not _left_alone(between, (np.arange(3.0), np.linalg.norm))


def test_a_helper_that_always_raises_is_called():
    """Tracing through it would leave nothing but a restart of each call."""
    def fail(y):
        raise KeyError("no")

    @jitcore.accelerate
    def guarded(x):
        y = x * 2.0
        try:
            fail(y)
        except KeyError as error:
            return y + 1.0, error.__traceback__.tb_next.tb_lineno

    for _ in range(3):
        result, line = guarded(np.arange(3.0))
        assert result.tolist() == [1.0, 3.0, 5.0] and line == fail.__code__.co_firstlineno + 1
    counts = jitcore.stats(guarded)
    assert (counts.calls, counts.site_calls, counts.kernels, counts.compiles) == (3, 3, 3, 1)


def test_a_helper_that_may_raise_is_inlined():
    def positive(y, n):
        if n < 0:
            raise ValueError(n)
        return y

    @jitcore.accelerate
    def guarded(x, n):
        return positive(x * 2.0, n) + 1.0

    for _ in range(3):
        assert guarded(np.arange(3.0), 1).tolist() == [1.0, 3.0, 5.0]
    assert jitcore.stats(guarded).native_calls == 3
    with pytest.raises(ValueError, match="-1"):
        guarded(np.arange(3.0), -1)


class Meters:
    """A number whose operations are all calls."""

    def __init__(self, value):
        self.value = value

    def __mul__(self, other):
        return Meters(self.value * other)

    def __add__(self, other):
        return Meters(self.value + other)


_BOUNDED = {
    "behind a site": lambda x, first: first([x]) * 2.0 + 1.0,
    "in front of a site": lambda x, first: first([x * 2.0 + 1.0]),
    "on both sides": lambda x, first: first([x * 2.0]) + 1.0,
    "nowhere": lambda x, first: first([first([x])]),
}
_ARRAY, _METERS = np.arange(3.0), Meters(1.0)
_TURNS = {
    "arrays": [_ARRAY] * 200,
    "objects": [_METERS] * 200,
    "arrays and objects": [_ARRAY, _METERS] * 100,
    "many types": [_ARRAY, _METERS, _ARRAY.astype("f4"), 2.5, np.float32(3.0)] * 40,
    "objects after arrays": [_ARRAY] * 50 + [_METERS] * 150,
}


@pytest.mark.parametrize("name", _BOUNDED)
@pytest.mark.parametrize("turn", _TURNS)
def test_compilations_are_bounded(name, turn):
    """No site asks for its continuation each time, and paths without work end in the interpreter."""
    func = jitcore.accelerate(types.FunctionType(_BOUNDED[name].__code__.replace(), globals()))
    first = operator.itemgetter(0)
    for x in _TURNS[turn]:
        result, expected = func(x, first), _BOUNDED[name](x, first)
        assert type(result) is type(expected)
        assert np.array_equal(getattr(result, "value", result), getattr(expected, "value", expected))
    counts, record = jitcore.stats(func), find_record(func.__code__)
    assert counts.compiles <= 12
    if name == "nowhere" or turn == "objects":
        assert record.left_alone
    else:
        assert counts.native_calls >= 50 and not record.left_alone
    if turn == "objects after arrays":
        entries = [entry for entry in record.entries if entry.unit == 0]
        assert name == "nowhere" or any(entry.stages is None or entry.region.thrashing for entry in entries)


def test_states_that_never_repeat_are_compiled_ever_more_rarely():
    @jitcore.accelerate
    def scaled(x, name):
        return x * (2.0 if name == "double" else 1.0)

    for i in range(200):
        assert scaled(_ARRAY, f"name {i}").tolist() == [0.0, 1.0, 2.0]
    assert 0 < jitcore.stats(scaled).compiles <= MAX_REGIONS_PER_ENTRY + 2
    assert scaled(_ARRAY, "double").tolist() == [0.0, 2.0, 4.0]
