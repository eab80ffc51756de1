"""``x ** 2`` of scalars: the product where that is certain, the C library's ``pow`` elsewhere; always Python's bits."""
from __future__ import annotations

import math
import random
import struct
from fractions import Fraction

import numpy as np
import pytest

import jitcore
from jitcore.backends import scalar_libm


@jitcore.accelerate
def squares(x, out):
    for i in range(len(x)):
        out[i] = x[i] ** 2


@jitcore.accelerate
def powers(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] ** y


@jitcore.accelerate
def python_squares(x, out):
    for i in range(len(x)):
        out[i] = float(x[i]) ** 2.0


def numbers() -> np.ndarray:
    """Of usual sizes, and of all sizes; products that overflow are left out, for the interpreter warns there."""
    draw = random.Random(5)
    usual = [draw.uniform(-4, 4) for _ in range(150_000)]
    wide = [math.ldexp(draw.uniform(-1, 1), draw.randrange(-1074, 510)) for _ in range(100_000)]
    edges = [0.0, -0.0, 5e-324, -5e-324, 1.0, 3.0, 2.0**-60, 2.0**60, -(2.0**-61), math.nextafter(2.0**60, 0),
             math.nextafter(2.0**-60, 0), 2.0**-511, 2.0**-537, 1.4916681462400413e-154, 2.0**511]
    return np.array(usual + wide + edges)


@pytest.mark.parametrize("function", [squares, python_squares, lambda x, out: powers(x, 2.0, out),
                                      lambda x, out: powers(x, 3.0, out), lambda x, out: powers(x, 0.5, out)])
def test_bits(function):
    x = numbers()
    x = x[np.abs(x) < 2.0**340] if "lambda" in repr(function) else x
    x = np.abs(x) if "lambda" in repr(function) else x
    found, wanted = np.empty_like(x), np.empty_like(x)
    with np.errstate(all="ignore"):
        function(x, found)
        with jitcore.disabled():
            function(x, wanted)
    assert found.tobytes() == wanted.tobytes()


def test_numbers_that_are_none():
    for value in (math.inf, -math.inf, math.nan, struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0]):
        x, found = np.array([value, 1.5]), np.empty(2)
        python_squares(x, found)
        assert struct.pack("<d", found[0]) == struct.pack("<d", value**2.0) and found[1] == 2.25


def test_overflow_raises():
    with pytest.raises(OverflowError):
        python_squares(np.array([1.0, 1e200]), np.empty(2))


@pytest.mark.skipif(not scalar_libm._squares(), reason="the library's error is not known, or there is no FMA")
def test_the_product_alone_would_not_do():
    """There are numbers whose product is not the power: what the test of the error is for."""
    x = numbers()
    x = x[np.abs(x) < 4]
    off = [value for value in x.tolist() if value * value != value**2.0]
    assert off
    found = np.empty(len(off))
    python_squares(np.array(off), found)
    assert found.tolist() == [value**2.0 for value in off]


@pytest.mark.skipif(not scalar_libm._squares(), reason="the library's error is not known, or there is no FMA")
def test_what_is_trusted_where_the_library_may_not_use_fma(monkeypatch):
    assert scalar_libm._squares.__wrapped__() == scalar_libm._squares()
    monkeypatch.setattr(scalar_libm, "_FMA_SQUARES", (("0x1p+0", "0x1.8p+0"),))
    assert scalar_libm._squares.__wrapped__() == (scalar_libm._ANY,)


@pytest.mark.parametrize("most, close", scalar_libm._squares())
def test_squares_that_are_trusted_least(most, close):
    """Products whose error is just below and just above what is trusted, from one end of the range to the other."""
    draw, found = random.Random(3), []
    while len(found) < 2000:
        x = math.ldexp(draw.uniform(1, 2), draw.randrange(-most // 2 - 1, most // 2 + 1))
        error = abs(Fraction(x) ** 2 - Fraction(x * x)) / Fraction(math.ulp(x * x))
        if close - 0.002 < error < close + 0.012:
            found.append(x)
    out = np.empty(len(found))
    python_squares(np.array(found), out)
    assert out.tolist() == [x**2.0 for x in found]
    assert any(x * x != x**2.0 for x in found) or close < 0.489


def test_native():
    x = np.array([1.0, 2.5, 3.5])
    squares(x, np.empty(3))
    before = jitcore.stats(squares).native_calls
    squares(x, np.empty(3))
    assert jitcore.stats(squares).native_calls == before + 1
