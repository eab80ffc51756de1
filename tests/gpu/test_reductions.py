"""Reductions, from their PTX: NumPy's order of additions, by any axes, with what is fused in front."""
from __future__ import annotations

import numpy as np
import pytest

from jitcore.backends.nvvm.reports import MIXED_ZEROS

from .check import SIZES, Pair, equal_bits, reported
from .test_elementwise import sample


def total(x):
    return x.sum()


def chain(x):
    return (x * x + x).sum(), x.max()


@pytest.mark.parametrize("dtype", "fdl")
def test_full_sums(dtype):
    pair = Pair(total, sample(3, dtype))
    for n in (*SIZES, 7, 8, 129, 264):
        pair.same(sample(n, dtype), misaligned=8)


def test_sums_of_many_parts():
    """Several passes; the groups take several leaves each."""
    pair = Pair(chain, sample(3, "f"))
    for n, processors in ((100_003, 1), (40_000, 40)):
        pair.same(sample(n, "f"), processors=processors)
    assert {s.removesuffix("_checked") for s in pair.device.symbols} == {"k0_tree_flat", "k0_combine"}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", "fd")
def test_sums_of_all_lengths(dtype):
    pair = Pair(total, sample(3, dtype))
    for n in range(1200):
        pair.same(sample(n, dtype))


def all_of(x):
    return x.sum(), x.prod(), x.max(), x.min(), (x > 3).any(), (x > 3).all()


@pytest.mark.parametrize("dtype", "bL")
def test_ints(dtype):
    pair = Pair(all_of, sample(3, dtype))
    for n in (1, 33, 1000):
        pair.same(sample(n, dtype))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", "?bBhHiIlLfd")
def test_all_dtypes(dtype):
    functions = [lambda x: (x.sum(), x.max(), x.min(), (x > 3).any(), (x > 3).all())]
    if dtype not in "?fd":
        functions += [all_of, lambda x: (np.bitwise_xor.reduce(x), np.bitwise_and.reduce(x), np.bitwise_or.reduce(x))]
    for function in functions:
        pair = Pair(function, sample(3, dtype))
        for n in SIZES[1:]:
            pair.same(sample(n, dtype))


_AXES = {
    "first": lambda x: x.sum(axis=0), "middle": lambda x: x.sum(axis=1), "last": lambda x: x.sum(axis=2),
    "outer": lambda x: x.sum(axis=(0, 2)), "inner": lambda x: (x * 2).sum(axis=(1, 2), keepdims=True),
    "all": lambda x: x.sum(axis=(0, 1, 2)), "extremes": lambda x: (x.max(axis=2), x.min(axis=2), x.sum(axis=2)),
    "products": lambda x: x.prod(axis=1),
}


@pytest.mark.parametrize("name, order", [(name, order) for name in _AXES for order in "CF"
                                         if order == "C" or name in ("last", "outer")])
def test_axes(name, order):
    pair = Pair(_AXES[name], np.array(sample((2, 3, 4), "d"), order=order))
    for shape in ((1, 5, 300), (5, 1, 1), (4, 130, 2), (3, 0, 2)):
        x = np.array(sample(shape, "d"), order=order)
        if not (order == "F" and x.flags.c_contiguous) and (x.size or name != "extremes"):
            pair.same(x)


def test_axes_by_turns():
    pair = Pair(lambda x: x.sum(axis=(0, 2)), sample((2, 2, 2, 2), "d"))
    pair.same(sample((3, 5, 7, 4), "d"))
    pair = Pair(lambda x: x.sum(axis=(1, 3)), sample((2, 2, 2, 2), "f"))
    pair.same(sample((3, 5, 7, 140), "f"))


def test_what_is_fused_may_be_broadcast_and_stored():
    def rows(x, y):
        z = x * y
        return z, z.sum(axis=1), z.max(axis=1)

    pair = Pair(rows, sample((3, 4), "f"), sample(4, "f"))
    for shape in ((3, 4), (33, 40), (2, 1000)):
        pair.same(sample(shape, "f"), sample(shape[1], "f"))


def test_sums_that_convert_go_by_buffers():
    pair = Pair(lambda x: x.sum(dtype="d"), sample(3, "f"))
    for n in (1, 1000, 8192, 8193, 20_005):
        pair.same(sample(n, "f"))
    assert [s.removesuffix("_checked") for s in pair.device.symbols[:1]] == ["k0_tree_flat"]
    assert pair.device.symbols[-1].startswith("k0_gather")


def test_several_kernels():
    """Each reads what another has written."""
    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    pair = Pair(softmax, sample((3, 4), "f"))
    pair.same(sample((17, 200), "f"))
    deviation = Pair(lambda x: x.mean(), sample(3, "f"))
    deviation.same(sample(1000, "f"))


_ODD = {
    total: [([1e308, 1e308], {"over"}), ([np.inf, -np.inf], {"invalid"}), ([np.inf, 1.0], set()),
            ([np.nan, 1e308, 1.0], set()), ([np.inf, *[1.0] * 200, 1e308, 1e308], {"over"}),
            ([np.nan] + [1e308] * 20, {"over"})],
    (lambda x: x.max()): [([np.nan, 1.0], set())],
    (lambda x: x.sum(axis=0)): [([[1e308], [1e308]], {"over"})],
    (lambda x: x.prod(axis=0)): [([[1e308], [1e308]], {"over"}), ([[np.inf], [0.0]], {"invalid"})],
}


@pytest.mark.parametrize("function", _ODD)
def test_reports(function):
    pair = Pair(function, np.ones_like(_ODD[function][0][0]))
    for numbers, want in _ODD[function]:
        x = np.array(numbers)
        got = pair.run(x)[0]
        assert pair.device.kinds() == want == reported(function, [x])
        with np.errstate(all="ignore"):
            assert np.array_equal(got, function(x), equal_nan=True)


@pytest.mark.parametrize("numbers, mixed", [
    ([0.0, -0.0, -1.0], True), ([-0.0, *[-1.0] * 400, 0.0], True), ([0.0, *[-0.0] * 300], True), ([0.0, -1.0], False),
    ([-0.0, 3.0, 0.0], False), ([-0.0, -0.0], False), ([-0.0, np.nan, 0.0], False)])
@pytest.mark.parametrize("dtype", "fd")
def test_zeros_of_both_signs_are_told(numbers, mixed, dtype):
    """Which of them NumPy's maximum gives depends on its vectors."""
    x = np.array(numbers, dtype)
    for pair in (Pair(lambda x: x.max(), np.ones(3, dtype)), Pair(lambda x: -(-x).min(), np.ones(3, dtype))):
        got = pair.run(x)[0]
        assert bool(pair.device.flags & MIXED_ZEROS) is mixed
        equal_bits(x.max() if not mixed else abs(got), abs(got) if mixed else got)
    rows = Pair(lambda x: x.max(axis=(0, 2)), np.ones((2, 2, 2), dtype))
    rows.run(np.array([[numbers, numbers]] * 2, dtype))
    assert bool(rows.device.flags & MIXED_ZEROS) is mixed


@pytest.mark.parametrize("dtype, bits", [("f", 0x7FC5A5A5), ("d", 0x7FF8_5A5A_5A5A_5A5A)])
def test_the_nan_that_means_such_a_zero_is_a_nan_in_an_array(dtype, bits):
    pair = Pair(lambda x: x.max(), np.ones(3, dtype))
    x = np.array([bits, 0], f"u{np.dtype(dtype).itemsize}").view(dtype)
    assert np.isnan(pair.run(x)[0]) and not pair.device.flags
