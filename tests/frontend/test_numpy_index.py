"""Subscripts against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from jitcore.frontend import numpy_index, numpy_ops
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Known, Lazy, Sequence, Slice
from tests.frontend.numpy_fake import Traced, check, plain


def abstract(item, run=None):
    """An index item as the machine makes it; ints found in ``run`` are run-time values."""
    if isinstance(item, slice):
        return Slice(*(abstract(x, run) for x in (item.start, item.stop, item.step)))
    if isinstance(item, tuple):
        return Sequence("tuple", [abstract(x, run) for x in item])
    return item if isinstance(item, Lazy) else Known(item)


def get(index):
    return lambda m, a: numpy_index.getitem(m, a, abstract(index))


BOUNDS = [None, 0, 1, 2, 5, 9, -1, -2, -5, -9]
LENGTHS = [0, 1, 2, 3, 5, 8]


@pytest.mark.parametrize("step", [None, 1, 2, 3, -1, -2, -7])
def test_known_slices_clamp_as_python_does(step) -> None:
    for start, stop in itertools.product(BOUNDS, BOUNDS):
        at = slice(start, stop, step)
        others = tuple((np.arange(float(n)),) for n in LENGTHS)
        traced = check(get(at), lambda a, at=at: a[at], (np.arange(5.0),), others)
        assert traced is not None


@pytest.mark.parametrize("step", [1, 2])
def test_run_time_slices(step) -> None:
    def trace(m, a, i, j):
        return numpy_index.getitem(m, a, Slice(i, j, Known(step)))

    far = [-(2**63), -9, -4, -3, -1, 0, 1, 3, 4, 9, 2**63 - 1]
    for first in ((1, 3), (-1, 3), (2, -1), (0, 0)):
        others = tuple((np.arange(n), i, j) for n in (0, 1, 4) for i in far for j in far)
        assert check(trace, lambda a, i, j: a[i:j:step], (np.arange(4), *first), others) is not None


def test_equal_lengths_are_the_same_value() -> None:
    def lengths(*slices):
        def trace(m, a):
            views = [numpy_index.getitem(m, a, abstract(s)) for s in slices]
            assert len({v.shape for v in views}) == 1, slices
            return numpy_ops.binary(m, "sub", views[0], views[-1])

        traced = check(
            trace,
            lambda a: a[slices[0]] - a[slices[-1]],
            (np.arange(5.0),),
            tuple((np.arange(float(n)),) for n in LENGTHS),
        )
        assert traced is not None and traced.count("bcast") == 0

    lengths(np.s_[1:], np.s_[:-1])
    lengths(np.s_[2:], np.s_[1:-1], np.s_[:-2])
    lengths(np.s_[:3], np.s_[-3:])
    lengths(np.s_[3:], np.s_[:-3])
    lengths(np.s_[-3:-1], np.s_[-3:-1])
    lengths(np.s_[:], np.s_[::-1], np.s_[0:], np.s_[...])
    lengths(np.s_[::2], np.s_[::2])


INDICES = [
    np.s_[0],
    np.s_[-1],
    np.s_[1, 2],
    np.s_[:, 1],
    np.s_[1:],
    np.s_[:, 1:],
    np.s_[1:, 0],
    np.s_[..., 0],
    np.s_[...],
    np.s_[None],
    np.s_[:, None],
    np.s_[..., None],
    np.s_[None, 1, ..., 2],
    np.s_[::2],
    np.s_[:, ::-1],
    np.s_[1, ...],
    np.s_[1, 2, ...],
    np.s_[0:1],
    np.s_[-2:, -2:],
    (),
    np.s_[:, :],
    np.s_[1:2, :, None],
    np.s_[1, None, 1:],
    np.s_[np.int64(1)],
    np.s_[np.int8(-1), np.uint16(2)],
]


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("kind", ["C", "F", "strided", "transposed 3"])
def test_indices_over_layouts(index, kind) -> None:
    base = np.arange(24.0)
    x = {
        "C": base.reshape(4, 6),
        "F": base.reshape(6, 4).T,
        "strided": np.arange(96.0).reshape(8, 12)[::2, ::2],
        "transposed 3": base.reshape(2, 3, 4).transpose(2, 0, 1),
    }[kind]

    def trace(m, a):
        return numpy_index.getitem(m, a, abstract(index))

    traced = check(trace, lambda a: a[index], (x,), ((x[:3],),) if kind == "C" else ())
    if traced is None:
        assert kind == "transposed 3" and isinstance(plain(lambda a: a[index], (x,))[0], IndexError)
        return
    result = traced.result
    if hasattr(result, "base"):
        assert result.base is not None and result.base.source is not None
        want = x[index]
        if result.type.layout == "C":
            assert want.flags.c_contiguous
        if result.type.layout == "F":
            assert want.flags.f_contiguous
        if want.ndim == 1 and want.flags.c_contiguous and kind in "CF" and want.size > 2:
            assert result.type.layout == "C"


def test_integers_at_run_time() -> None:
    def trace(m, a, i, j):
        return numpy_index.getitem(m, a, Sequence("tuple", [i, j]))

    x = np.arange(12).reshape(3, 4)
    others = tuple((x, i, j) for i in range(-5, 5) for j in range(-6, 6))
    check(trace, lambda a, i, j: a[i, j], (x, 1, 2), others)
    check(trace, lambda a, i, j: a[i, j], (x, np.int64(1), np.int32(-2)))
    with pytest.raises(Unsupported):
        Traced(trace, (x, 3, 0))

    def row(m, a, i):
        return numpy_index.getitem(m, numpy_index.getitem(m, a, i), i)

    check(row, lambda a, i: a[i][i], (x, 1), tuple((x, i) for i in range(-5, 5)))


def test_zero_dimensional() -> None:
    x = np.array(2.5)
    check(get(()), lambda a: a[()], (x,))
    check(get(...), lambda a: a[...], (x,))
    check(get(None), lambda a: a[None], (x,))


@pytest.mark.parametrize(
    "index", [True, np.array([1, 0]), [0, 1], 1.0, np.s_[0, 0, 0], np.s_[..., ...], np.s_[::0], "a", np.True_]
)
def test_other_indices_are_numpys(index) -> None:
    x = np.arange(6).reshape(2, 3)
    with pytest.raises(Unsupported):
        Traced(lambda m, a: numpy_index.getitem(m, a, Known(index)), (x,))


def test_stores_into_all_of_an_own_array() -> None:
    for index in (np.s_[:], np.s_[...], np.s_[0:], ()):
        if index == ():
            continue

        def trace(m, x, y, index=index):
            own = numpy_ops.binary(m, "mul", x, Known(2))
            numpy_index.setitem(m, own, abstract(index), y)
            return own

        def function(x, y, index=index):
            own = x * 2
            own[index] = y
            return own

        check(trace, function, (np.arange(3.0), 7), ((np.ones(2), 3),))
        check(trace, function, (np.arange(3.0), np.float32(1.5)))
        check(trace, function, (np.arange(3.0), np.arange(3)))
        check(trace, function, (np.arange(3.0), np.ones(3)))
        check(trace, function, (np.arange(3), 2.5), ((np.arange(3), float("nan")), (np.arange(3), -1e300)))
        check(trace, function, (np.ones((2, 3)), np.ones((2, 3))))

    # A part of an own array, and an own array that has a view, are written to in memory.
    def partly(m, x):
        own = numpy_ops.binary(m, "mul", x, Known(2))
        numpy_index.setitem(m, own, abstract(np.s_[1:]), Known(1))
        return own

    def plain_partly(x):
        own = x * 2
        own[1:] = 1
        return own

    check(partly, plain_partly, (np.arange(3.0),), ((np.ones(1),),))

    def viewed(m, x):
        own = numpy_ops.binary(m, "mul", x, Known(2))
        view = numpy_index.getitem(m, own, abstract(np.s_[1:]))
        numpy_index.setitem(m, own, abstract(np.s_[:]), Known(1))
        return view

    def plain_viewed(x):
        own = x * 2
        view = own[1:]
        own[:] = 1
        return view

    check(viewed, plain_viewed, (np.arange(3.0),), ((np.ones(1),),))
    assert Traced(viewed, (np.arange(3.0),)).m.stored == [True]


def test_stores_into_visible_arrays() -> None:
    def trace(m, x):
        numpy_index.setitem(m, x, abstract(np.s_[1:]), Known(1))
        return x

    traced = Traced(trace, (np.arange(3.0),))
    assert traced.m.stored == [False] and traced.count("writable") == 1 and traced.count("assign") == 1
    x = np.arange(5.0)
    assert traced.run(x) is x and x.tolist() == [0, 1, 1, 1, 1]
    x.flags.writeable = False
    assert traced.run(x) == "restart"
