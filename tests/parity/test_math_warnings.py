"""Functions of jitcore's own through the public interface: results, and warnings where NumPy warns, nowhere else."""
from __future__ import annotations

import numpy as np
import pytest

import jitcore
from jitcore.backends.math import FUNCTIONS
from jitcore.ops.table import OPS
from tests.ops.harness import specials

from .compare import check, fresh_copy, observe, same_call

NAMES = [op.name for op in OPS.values() if op.libm in FUNCTIONS and op.name != "power"]
#: An argument of which no function has anything to say.
USUAL = {"arccosh": 1.5}


def function(name: str):
    """``np.<name>`` of one or two arguments, in an expression."""
    names = "x, y"[:3 * OPS[name].nin - 2]
    namespace = {"np": np}
    exec(f"def call({names}):\n    return np.{name}({names}) * 1.0\n", namespace)
    return namespace["call"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str, dtype: str) -> None:
    """One at a time among usual numbers, in the vectors and in what is left behind them."""
    plain, quiet, noisy = function(name), jitcore.accelerate(function(name)), jitcore.accelerate(function(name))
    known = specials(np.dtype(dtype).char)
    arity = OPS[name].nin
    rows = [(v,) for v in known] if arity == 1 else [(a, b) for a in known for b in known[::7]] + [
        (a, b) for a in known[::7] for b in known]
    silent = 0
    for number, row in enumerate(rows):
        args = tuple(np.full(71, USUAL.get(name, 0.5), dtype) for _ in range(arity))
        for argument, value in zip(args, row):
            argument[(3, 70)[number % 2]] = value
        warns = bool(observe(plain, args, {}).warnings)
        silent += not warns
        same_call(plain, noisy if warns else quiet, (args, {}), (args, {}), ulp=2, where=f"{name}{row}")
    assert silent and jitcore.stats(quiet).native_calls == silent


def powered(x, exponent):
    return x ** exponent + 1.0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("exponent", [np.inf, -np.inf])
def test_infinite_exponents(exponent: float, dtype: str) -> None:
    """What NumPy reports for them depends on the machine."""
    top = np.finfo(dtype).max
    check(powered, lambda: (np.array([0.0, -0.0, 0.5, 1.0, 2.0, top, -top, np.inf, np.nan] * 3, dtype), exponent),
          native=False)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_special_exponents_stay_native(dtype: str) -> None:
    fast = jitcore.accelerate(fresh_copy(powered))
    x = np.linspace(0.1, 9.0, 40).astype(dtype)
    for exponent in (2.5, -0.3, 0.0, np.nan, 7.0):
        same_call(powered, fast, ((x, exponent), {}), ((x, exponent), {}), ulp=2)
    assert jitcore.stats(fast).native_calls == 5
