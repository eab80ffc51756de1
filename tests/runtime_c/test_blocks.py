"""Axes joined for block loops: the same elements in the same order."""
from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from . import native

_join = native.function("jc_join_axes", None, native.i64, native.ptr, native.i64, native.ptr)


def join(dims, strides):
    """The axes after joining: lengths, and strides of every operand."""
    lengths = native.longs(dims)
    rows, kept = native.long_rows(strides)
    _join(len(dims), lengths, len(strides), rows)
    return tuple(lengths[:len(dims)]), [tuple(row[:len(dims)]) for row in kept]


def offsets(dims, strides):
    """Offsets of the elements in the order of the loop."""
    return [sum(i * s for i, s in zip(index, strides)) for index in itertools.product(*map(range, dims))]


@st.composite
def operands(draw):
    dims = draw(st.lists(st.sampled_from([1, 1, 2, 3, 4]), min_size=1, max_size=5))
    strides = []
    for _ in range(draw(st.integers(1, 3))):
        array = np.empty([2 * d for d in dims])[tuple(slice(0, d * s, s) for d, s in zip(
            dims, draw(st.lists(st.sampled_from([1, 1, 2]), min_size=len(dims), max_size=len(dims)))))]
        if draw(st.booleans()):
            array = np.empty(dims)
        row = list(array.strides)
        for axis in range(len(dims)):
            if draw(st.integers(0, 4)) == 0:
                row[axis] = draw(st.sampled_from([0, -row[axis]]))
        strides.append(row)
    return dims, strides


@settings(max_examples=400, deadline=None)
@given(operands())
def test_joined_axes_give_the_same_elements(case):
    dims, strides = case
    joined, rows = join(dims, strides)
    assert np.prod(joined) == np.prod(dims)
    for before, after in zip(strides, rows):
        assert offsets(joined, after) == offsets(dims, before)


def test_contiguous_axes_become_one():
    assert join((2, 3, 4), [(96, 32, 8)]) == ((1, 1, 24), [(0, 0, 8)])
    assert join((2, 3, 4), [(192, 32, 8)]) == ((1, 2, 12), [(0, 192, 8)])
    assert join((2, 1, 4), [(64, 5, 8), (0, 0, 8)])[0] == (1, 2, 4)
    assert join((5, 1, 1), [(8, 7, 3)]) == ((1, 1, 5), [(0, 0, 8)])
