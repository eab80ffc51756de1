"""Which launches make a kernel, for lengths that no simulated device holds."""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import jitcore
from jitcore.backends.cpu.loops import Unsupported
from jitcore.backends.nvvm import schedule
from jitcore.backends.nvvm.access import divider
from jitcore.backends.nvvm.emit import BLOCK
from jitcore.backends.nvvm.lower import DeviceKernel

from .device import code_of

RNG = np.random.default_rng(3)


def kernel_of(function: Callable[..., Any], *args: Any) -> DeviceKernel:
    return code_of(jitcore.trace(function, *args).lower()._stages.plan).kernels[0]


def test_divisions_by_a_reciprocal():
    most = 2**31 - 1
    numbers = np.unique(np.concatenate([RNG.integers(0, most, 2000), [0, 1, 2, most - 1, most]])).astype(np.uint64)
    for length in [1, 2, 3, 5, 7, 10, 255, 256, 257, 65535, 10**9, most, *RNG.integers(1, most, 300).tolist()]:
        factor, shift = divider(length)
        assert 0 <= factor < 2**32
        near = np.array([k * length + d for k in (1, 2, 1000) for d in (-1, 0, 1)], np.int64)
        for n in (numbers, near[(near >= 0) & (near <= most)].astype(np.uint64)):
            high = n * np.uint64(factor) >> np.uint64(32)
            assert (high + n < 2**32).all()
            assert (high + n >> np.uint64(shift) == n // np.uint64(length)).all()


@cache
def leaves(length: int) -> int:
    """The depth of NumPy's halvings, by halving."""
    if length <= 128:
        return 0
    half = length // 2 // 8 * 8
    return 1 + max(leaves(half), leaves(length - half))


def test_levels():
    for length in [*range(3000), *RNG.integers(1, 2**31, 50).tolist()]:
        assert schedule.levels_of(length) == leaves(length)


def _place(*strides: int) -> schedule.Place:
    return schedule.Place(1 << 40, strides)


def test_axes_are_joined():
    lengths, places = schedule.joined([2, 1, 3, 4], [_place(96, 0, 32, 8), _place(0, 8, 0, 8)])
    assert lengths == [6, 4] and [p.strides for p in places] == [(32, 8), (0, 8)]
    lengths, places = schedule.joined([2, 3, 4], [_place(96, 32, 8)])
    assert lengths == [24] and places[0].strides == (8,)
    assert schedule.joined([1, 1], [_place(5, 7)])[0] == []


def test_more_elements_than_32_bits_count_are_split():
    kernel = kernel_of(lambda n: np.arange(n) * 2.0, 3)
    n = 5 * 2**31 + 3
    made = schedule.launches(kernel, schedule.Call((n,), [], [1 << 50], scalars=[0, 1, 2.0]))
    assert sum(launch.values["n"] for launch in made) == n
    assert all(launch.values["n"] < 2**31 for launch in made)
    at = 0
    for launch in made:
        assert launch.values["off"] == at and launch.values["out0"] == (1 << 50) + 8 * at
        at += launch.values["n"]


def test_rows_that_are_broadcast_are_split():
    kernel = kernel_of(lambda x, y: x + y, np.ones((3, 4)), np.ones((3, 1)))
    shape = (70000, 100000)
    made = schedule.launches(kernel, schedule.Call(shape, [_place(800000, 8), _place(8, 0)], [1 << 50]))
    assert {launch.symbol for launch in made} == {"k0_map_strided_checked"}
    assert sum(launch.values["n"] for launch in made) == 70000 * 100000
    second = made[1].values
    rows = made[0].values["n"] // 100000
    assert second["in1"] == (1 << 40) + 8 * rows and second["out0"] == (1 << 50) + 800000 * rows


def test_a_launch_has_as_many_blocks_as_are_needed():
    kernel = kernel_of(lambda x: x + 1, np.ones(3))
    for n, blocks in ((1, 1), (256, 1), (257, 2), (10**9, 132 * 8)):
        made = schedule.launches(kernel, schedule.Call((n,), [_place(8)], [1 << 50], scalars=[1.0]))
        assert [launch.blocks for launch in made] == [blocks]
    assert schedule.launches(kernel, schedule.Call((0,), [_place(8)], [1 << 50], scalars=[1.0])) == []


def _sum(shape: tuple[int, ...], strides: tuple[int, ...], function: Callable[..., Any] = lambda x: x.sum()
         ) -> list[schedule.Launch]:
    kernel = kernel_of(function, np.ones((2,) * len(shape)))
    given: list[int] = []

    def allocate(size: int) -> int:
        given.append(size)
        return len(given) << 32

    return schedule.launches(kernel, schedule.Call(shape, [_place(*strides)], results=[7], allocate=allocate))


def test_passes_of_a_sum():
    """Each reads what the one before has written, the last writes the result."""
    made = _sum((10**8,), (8,))
    assert [launch.symbol for launch in made] == ["k0_tree_flat_checked", *["k0_combine_checked"] * (len(made) - 1)]
    levels = schedule.levels_of(10**8)
    for before, after in pairwise(made):
        assert after.values["src0"] == before.values["dest0"] and not before.values["begins"]
        levels -= before.values["each"] + (2 if before is made[0] else 5)
        assert after.values["levels"] == levels
    assert made[-1].values["begins"] == 1 and made[-1].values["dest0"] == 7
    assert made[0].blocks * BLOCK >= (1 << schedule.levels_of(10**8)) * 8 >> made[0].values["each"]


def test_one_launch_for_many_short_rows():
    made = _sum((10**6, 100), (800, 8), lambda x: x.sum(axis=1))
    assert len(made) == 1 and made[0].values["rows"] == 10**6 and made[0].blocks == 10**6 * 8 // BLOCK


def test_axes_by_turns_have_a_limit():
    strides = (8 * 48, 8 * 24, 8 * 12, 8 * 6, 8 * 3, 8)
    with pytest.raises(Unsupported, match="by turns"):
        _sum((2, 2, 2, 2, 2, 3), strides, lambda x: x.sum(axis=(1, 3, 5)))
    assert len(_sum((2, 2, 2, 2, 2, 3), strides, lambda x: x.sum(axis=(0, 1, 4)))) == 1


def test_a_reduction_of_too_much_is_refused():
    with pytest.raises(Unsupported, match=r"2\*\*31"):
        _sum((2**31,), (8,))
