"""One function on the CPU and on the simulated device: the same bits, and the same reports."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import jitcore
from jitcore.backends.nvvm.reports import FIRST_BAIL, MIXED_ZEROS
from jitcore.runtime.stages import snapshot_of_call

from .device import Device, code_of, inputs_of

_KINDS = {"divide by zero": "divide", "overflow": "over", "invalid value": "invalid"}
SIZES = (0, 1, 31, 32, 33, 1000, 4099)


class Pair:
    """``function`` compiled twice, for arguments of these types."""

    def __init__(self, function: Any, *args: Any, arch: str = "sm_90", checked: bool = True) -> None:
        self.function = function
        traced = jitcore.trace(function, *keep_layout(args))
        lowered = traced.lower()
        self.graph, self.trace = traced.graph, traced._trace
        self.code = code_of(lowered._stages.plan, arch)
        self.region = lowered.compile()._stages.region
        self.device = Device(self.code, checked=checked)

    def cpu(self, args: Sequence[Any]) -> tuple[bool, Any]:
        """Whether native code ran to its end, and the result."""
        state = snapshot_of_call(self.function, tuple(args), {})
        return self.region.run(self.function, state.locals)

    def run(self, *args: Any) -> list[Any]:
        """On the device alone: the values of the exit."""
        return self.device.run(self.graph, *inputs_of(self.trace, self.function, args))

    def same_singly(self, *args: np.ndarray) -> None:
        """The bits that the CPU gives for each element alone, whatever is reported.  (In a vector of its own making the
        CPU takes another way for all of it where one element is rare.)"""
        got = self.run(*keep_layout(args))
        with np.errstate(all="ignore"):
            for k in range(len(args[0])):
                done, want = self.cpu([x[k:k + 1].copy() for x in args])
                assert done or self.device.flags >> FIRST_BAIL
                for a, b in zip(want if isinstance(want, tuple) else [want], got):
                    equal_bits(a, b[k:k + 1])

    def same(self, *args: Any, misaligned: int | Sequence[int] = 0, processors: int = 1) -> set[str]:
        """Runs both; the device must report what NumPy reports, and else give the bits that the CPU gives.  Returns
        the kinds of reports."""
        here, there = keep_layout(args), keep_layout(args)
        done, want = self.cpu(here)
        self.device.misaligned, self.device.processors = misaligned, processors
        got = self.run(*there)
        kinds: set[str] = set()
        if not done:
            odd = self.device.flags >> FIRST_BAIL or self.device.flags & MIXED_ZEROS == MIXED_ZEROS
            if odd:
                return kinds
            kinds = reported(self.function, args)
            assert kinds, "these arguments are not of the kinds that were compiled for"
            if self.device.checked:
                assert self.device.kinds() == kinds, (self.device.kinds(), kinds)
            with np.errstate(all="ignore"):
                done, want = self.cpu(here)
            assert done
        else:
            assert not self.device.flags >> FIRST_BAIL and not self.device.kinds(), self.device.flags
        flat = list(want) if isinstance(want, tuple) else [] if want is None else [want]
        assert len(flat) == len(got), (flat, got)
        for a, b in zip(flat, got):
            equal_bits(a, b)
        for a, b in zip(here, there):
            if isinstance(a, np.ndarray):
                equal_bits(a, b)
        return kinds


def keep_layout(args: Sequence[Any]) -> list[Any]:
    """Copies of arrays that lie as they do, in memory of their own."""
    found = []
    for x in args:
        if isinstance(x, np.ndarray):
            low, high = np.lib.array_utils.byte_bounds(x)
            memory = np.zeros(high - low, np.uint8)
            view = np.ndarray(x.shape, x.dtype, memory, x.ctypes.data - low if x.size else 0, x.strides)
            view[...] = x
            x = view
        found.append(x)
    return found


def reported(function: Any, args: Sequence[Any]) -> set[str]:
    """The kinds that NumPy warns of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        function(*keep_layout(args))
    return {kind for w in seen for text, kind in _KINDS.items() if text in str(w.message)}


def equal_bits(want: Any, got: Any) -> None:
    """The same dtype, shape and bits; any NaN equals any other."""
    want, got = np.asarray(want), np.asarray(got)
    assert want.dtype == got.dtype and want.shape == got.shape, (want.dtype, got.dtype, want.shape, got.shape)
    if want.dtype.kind == "c":
        equal_bits(want.real, got.real)
        equal_bits(want.imag, got.imag)
        return
    word = np.dtype(f"u{want.dtype.itemsize}")
    a, b = (np.ascontiguousarray(x).view(word) for x in (want, got))
    differ = a != b
    if want.dtype.kind == "f":
        differ &= ~(np.isnan(want) & np.isnan(got))
    assert not differ.any(), (np.argwhere(differ)[:5], want[differ][:5], got[differ][:5])
