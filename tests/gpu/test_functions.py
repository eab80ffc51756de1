"""Functions on the device: vector math with the CPU's bits, and remainders, which are exact."""
from __future__ import annotations

import math

import numpy as np
import pytest

from jitcore.backends.math import FUNCTIONS

from .check import Pair

RNG = np.random.default_rng(8)
_UFUNCS = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "pow": "power", "acosh": "arccosh",
           "asinh": "arcsinh", "atanh": "arctanh"}


def arguments(dtype: str, count: int) -> np.ndarray:
    """Any bits (no NaN), ordinary numbers, and those at the ends."""
    bits = RNG.integers(0, 2**64, count // 2, np.uint64).view(dtype)[:count // 2]
    usual = (RNG.standard_normal(count // 2) * RNG.choice([0.5, 1, 20, 300], count // 2)).astype(dtype)
    info = np.finfo(dtype)
    ends = np.array([0, -0.0, 1, -1, info.max, -info.max, info.tiny, info.smallest_subnormal, np.inf, -np.inf, np.nan,
                     0.5, 709.7, -745.1, 88.7, 1e5, 1e22], dtype)
    found = np.concatenate([bits, usual, ends])
    return np.where(np.isnan(found), np.nan, found).astype(dtype)


def _same(name: str, dtype: str, count: int) -> None:
    function = FUNCTIONS[name]
    ufunc = getattr(np, _UFUNCS.get(name, name))
    if name == "pow":
        pair = Pair(lambda x: (x ** 2.7, x ** -0.3, x ** 7.0), arguments(dtype, 4))
        pair.same_singly(arguments(dtype, count))
    elif function.arity == 1:
        Pair(lambda x: ufunc(x), arguments(dtype, 4)).same_singly(arguments(dtype, count))
    else:
        x, y = arguments(dtype, count), arguments(dtype, count)
        RNG.shuffle(y)
        Pair(lambda x, y: ufunc(x, y), x, y).same_singly(x, y)


@pytest.mark.parametrize("name", ["expm1", "log1p", "pow", "tan"])
def test_some(name):
    _same(name, "fd"[len(name) % 2], 600)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_all(name, dtype):
    _same(name, dtype, 4000)


@pytest.mark.parametrize("dtype", "fd")
def test_remainders_are_exact(dtype):
    """Where LLVM's own way, by a quotient, would be off: quotients beyond what the format holds."""
    x, y = arguments(dtype, 400), arguments(dtype, 400)
    RNG.shuffle(y)
    x, y = np.concatenate([x, np.full_like(x, 1e30), x]), np.concatenate([y, y, np.full_like(y, 3)])
    pair = Pair(lambda x, y: np.fmod(x, y), x, y, checked=False)
    with np.errstate(all="ignore"):
        got = pair.run(x, y)[0]
    for a, b, r in zip(x.tolist(), y.tolist(), got.tolist()):
        if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
            assert math.isnan(r)
        else:
            want = math.fmod(a, b)
            assert r == want and math.copysign(1, r) == math.copysign(1, want), (a, b)
