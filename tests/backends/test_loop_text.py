"""What the LLVM IR of loops asks for."""
from __future__ import annotations

import re
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from jitcore import pipeline
from jitcore.backends.cpu import jit
from jitcore.config import Options
from jitcore.frontend.snapshot import Trace
from jitcore.runtime.stages import snapshot_of_call


def text(func: FunctionType, *args: Any) -> str:
    """The LLVM IR of a call of ``func``."""
    snapshot = snapshot_of_call(func, args, {})
    traced = pipeline.trace(snapshot)
    assert isinstance(traced, Trace)
    return pipeline.lower(snapshot, traced, Options()).lowered.llvm


def checked(a: Any) -> Any:
    total = 0.0
    for x in a:
        total += x
    return total


def searched(a: Any) -> Any:
    for i in range(len(a)):
        if a[i] > 0.5:
            a[i] = a[i] * 2.0
    return a


def unchecked(a: Any) -> Any:
    for i in range(len(a)):
        a[i] = 1.0


def long(a: Any) -> Any:
    x = 0.0
    for i in range(len(a)):
        x = x * 0.5 + a[i]
        x = x * 0.25 + a[i] * 0.5
        x = x * 0.125 + a[i] * 0.25
        x = x * 0.0625 + a[i] * 0.125
        x = x * 0.03125 + a[i] * 0.0625
    return x


@pytest.mark.parametrize("func, times", [(checked, 1), (searched, 1), (unchecked, 0), (long, 0)])
def test_small_loops_with_checks_are_unrolled(func: FunctionType, times: int) -> None:
    llvm = text(func, np.ones(9))
    (asked,) = re.findall(r"(!\d+) = !{ !\"llvm.loop.unroll.count\", i32 4 }", llvm) or [None]
    loops = re.findall(r"(!\d+) = !{ \1, " + str(asked), llvm)
    assert len(loops) == times
    for loop in loops:
        assert llvm.count(f"!llvm.loop {loop}") == 1


def pulled(v: Any, w: Any) -> None:
    for i in range(len(v)):
        v[0, 0] -= w[i]
        v[0, 1] -= w[i]
        v[i, 0] += w[i]
        v[i, 1] += w[i]


def test_what_is_taken_back_is_no_wide_store() -> None:
    """Else the numbers are read as a wide one, which waits for the narrow stores of the trip before."""
    llvm = text(pulled, np.ones((9, 2)), np.ones(9))
    assert llvm.count("store volatile double") == 4
    assert "<2 x double>" not in str(jit.optimise(llvm))
