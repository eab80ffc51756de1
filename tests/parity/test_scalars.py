"""Arithmetic of numbers in compiled loops: values, exact types and bits are Python's and NumPy's; what is rare leaves
in front of its very instruction."""
from __future__ import annotations

import cmath
import itertools
import math
import operator
import types
from typing import Any

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, observe, same

FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.7, 1e-310, -5e-324, 1e300, 1.7976931348623157e308, 2.0**53, 2.0**63,
          -2.0**63, math.inf, -math.inf, math.nan)
INTS = (0, 1, -1, 2, 3, -7, 62, 63, 64, 1000, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -2**63, -2**63 + 1)
COMPLEX = (0j, 1 + 2j, -0.0 - 1j, 3 - 0j, complex(math.inf, 1), complex(math.nan, -0.0), 1e200 + 1e200j, 1e-320j)


def made(name: str, body: str, **names: Any) -> types.FunctionType:
    """A function of ``xs`` and ``ys`` that gives a list of what ``body`` is for each pair, tried one by one."""
    source = f"""def {name}(n, x, y):
    r = None
    for i in range(n):
        r = {body}
    return r"""
    space: dict[str, Any] = {"math": math, "np": np, **names}
    exec(compile(source, f"<{name}>", "exec"), space)
    return space[name]


def agree(func: types.FunctionType, pairs: Any, native: int = 1) -> None:
    """The same outcome for every pair of operands, natively for at least ``native`` of them."""
    plain, fast = fresh_copy(func), jitcore.accelerate(precision="numpy")(fresh_copy(func))
    for x, y in pairs:
        a, b = observe(plain, (3, x, y), {}), observe(fast, (3, x, y), {})
        where = f"{func.__name__} of {x!r}, {y!r}"
        assert a.kind == b.kind, f"{where}: {a.value!r} -> {b.value!r}"
        same(a.value, b.value, where=where)
        assert a.warnings == b.warnings, where
        if a.kind == "raise":
            lines = [error.__traceback__.tb_next.tb_lineno for error in (a.value, b.value)]
            assert lines[0] == lines[1], where
    assert jitcore.stats(fast).native_calls >= native, (func.__name__, jitcore.stats(fast))


BINARY = ("x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x == y", "x != y", "x < y", "x <= y", "x > y",
          "x >= y", "divmod(x, y)", "min(x, y)", "max(x, y)", "max(y, x, i)")
BITS = ("x & y", "x | y", "x ^ y", "x << y", "x >> y")
SMALL = (0, 1, 2, 5, 31, 62, 63, -1, -2)


@pytest.mark.parametrize("body", BINARY)
@pytest.mark.parametrize("kinds", ["ii", "if", "fi", "ff"])
def test_real_operators(body, kinds):
    xs, ys = ({"i": INTS, "f": FLOATS}[kind] for kind in kinds)
    agree(made("f", body), itertools.product(xs, ys), 20)


@pytest.mark.parametrize("body", BITS)
def test_bits(body):
    agree(made("f", body), itertools.product(INTS, SMALL if "<<" in body else INTS), 20)
    agree(made("f", body), itertools.product((True, False), (True, False)))


@pytest.mark.parametrize("body", ["x ** y", "pow(x, y)"])
def test_powers(body):
    agree(made("f", body), itertools.product(INTS, SMALL), 20)
    agree(made("f", body), itertools.product(FLOATS, FLOATS), 20)
    agree(made("f", body), itertools.product(INTS, FLOATS), 20)
    agree(made("f", body), itertools.product(FLOATS, INTS), 20)


@pytest.mark.parametrize("body", [
    "x + y", "x - y", "x * y", "x / y", "x == y", "x != y", "x ** 2", "x ** y", "x + 2", "2.5 * y",
    "x.real * y.imag", "x.conjugate()", "abs(x)", "complex(x.real, y.real)", "-x", "+x", "bool(x)", "not y"])
def test_complex_operators(body):
    agree(made("f", body), itertools.product(COMPLEX, COMPLEX), 5)


UNARY = ("-x", "+x", "abs(x)", "not x", "bool(x)", "int(x)", "float(x)", "complex(x)", "round(x)", "round(x, 2)",
         "round(x, -1)", "x.real", "x.imag", "x.conjugate()", "math.floor(x)", "math.ceil(x)", "math.trunc(x)")
OF_INT = ("~x", "x.bit_length()", "x.bit_count()", "math.isqrt(x)", "math.gcd(x, y)", "math.lcm(x, 6)", "pow(x, y, 7)",
          "x.numerator", "x.denominator", "x ** -2", "2 ** -i")
OF_FLOAT = ("x.is_integer()", "math.modf(x)")


@pytest.mark.parametrize("body", UNARY)
def test_unary(body):
    agree(made("f", body), ((x, 0) for x in INTS), 3)
    agree(made("f", body), ((x, 0) for x in FLOATS), 3)


@pytest.mark.parametrize("body", OF_INT)
def test_of_ints(body):
    agree(made("f", body), itertools.product(INTS, (0, 1, 12, -4)), 3)


@pytest.mark.parametrize("body", OF_FLOAT)
def test_of_floats(body):
    agree(made("f", body), ((x, 0.0) for x in FLOATS), 3)


MATH = sorted(name for name in vars(math) if not name.startswith("_") and callable(getattr(math, name)))
ARGUMENTS = {"hypot": "x, y", "atan2": "x, y", "copysign": "x, y", "fmod": "x, y", "pow": "x, y", "remainder": "x, y",
             "nextafter": "x, y", "isclose": "x, y, rel_tol=0.1", "ldexp": "x, 3", "fma": "x, y, 0.5", "log": "x, 3.0"}
NOT_NUMBERS = {"dist", "fsum", "prod", "sumprod", "frexp"}      # of sequences, or to pairs
OF_INTS = {"comb": "i + 3, 2", "perm": "i + 3, 2", "factorial": "i + 3", "gcd": "x, y", "lcm": "x, 3", "isqrt": "x"}


@pytest.mark.parametrize("name", [name for name in MATH if name not in NOT_NUMBERS])
def test_math(name):
    if name in OF_INTS:
        agree(made("f", f"math.{name}({OF_INTS[name]})"), itertools.product(INTS, (0, 1, 12, -4)), 3)
        return
    body = f"math.{name}({ARGUMENTS.get(name, 'x')})"
    two = "y" in ARGUMENTS.get(name, "x")
    pairs = itertools.product(FLOATS, FLOATS) if two else [(x, 0.0) for x in (*FLOATS, 0.1, 2.2, 30.0, 171.5)]
    agree(made("f", body), pairs, 3)
    agree(made("f", body), ((x, 2) for x in INTS))


# -- NumPy's scalars ------------------------------------------------------------------------------------------
DTYPES = "?bBhHiIlLefdFD"


def values(char: str) -> list[Any]:
    kind = np.dtype(char)
    if char == "?":
        return [np.True_, np.False_]
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return [kind.type(v) for v in (0, 1, 3, 7, info.max, info.max - 1, info.min, info.min + 1)]
    with np.errstate(all="ignore"):
        some = [0.0, -0.0, 1.0, -2.5, 3.25, 1e-6, float(np.finfo(char).max), math.inf, math.nan]
        if kind.kind == "c":
            return [kind.type(complex(a, b)) for a, b in itertools.product(some[:6] + some[-2:], (0.0, -1.5, math.inf))]
        return [kind.type(v) for v in some]


NUMPY_BINARY = ("x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x ** y", "x < y", "x == y", "min(x, y)",
                "max(x, y, x)")
OTHERS = (2, 2.5, True, 1j, np.float64(1.5), np.int8(3), np.float32(0.1))


@pytest.mark.parametrize("body", NUMPY_BINARY)
@pytest.mark.parametrize("char", DTYPES)
def test_numpy_scalars(body, char):
    func = made("f", body)
    xs = values(char)
    agree(func, itertools.product(xs, xs), 0)
    other = OTHERS[(DTYPES.index(char) + sum(map(ord, body))) % len(OTHERS)]
    agree(func, ((x, other) for x in xs), 0)
    agree(func, ((other, x) for x in xs), 0)


@pytest.mark.slow
@pytest.mark.parametrize("body", NUMPY_BINARY)
@pytest.mark.parametrize("char", DTYPES)
def test_numpy_scalars_with_all_others(body, char):
    """``test_numpy_scalars`` has a part of it."""
    for other in OTHERS:
        func = made("f", body)
        agree(func, ((x, other) for x in values(char)), 0)
        agree(func, ((other, x) for x in values(char)), 0)


@pytest.mark.parametrize("body", [
    "-x", "+x", "~x", "abs(x)", "not x", "bool(x)", "int(x)", "float(x)", "complex(x)", "round(x)", "round(x, 1)",
    "x.item()", "x.real", "x.imag", "x.conjugate()", "x.astype(np.float32)", "np.sqrt(x)", "np.abs(x)",
    "np.isnan(x)", "np.floor(x)", "np.int64(x)", "np.float32(x)", "np.maximum(x, 1)", "np.sign(x)", "np.square(x)",
    "math.sqrt(x)", "math.floor(x)", "x.dtype", "x.size", "x in (1, 2, 3)", "x.T", "str(x)"])
@pytest.mark.parametrize("char", DTYPES)
def test_of_numpy_scalars(body, char):
    agree(made("f", body), ((x, None) for x in values(char)), 0)


# -- types that depend on values ------------------------------------------------------------------------------
def running_extremes(a):
    low, high, change = 1e9, -1, 0.0
    for i in range(len(a)):
        low = min(low, a[i])
        high = max(high, a[i], i)
        change = max(change, abs(a[i] - 3))
    return low, high, change


def test_extremes_of_two_types():
    check(running_extremes, lambda: (np.array([5.0, 2.0, -3.0, 9.0, 2.0]),))
    check(running_extremes, lambda: (np.array([2e9, 2e9]),))
    check(running_extremes, lambda: (np.array([math.nan, 1.0, math.nan]),))


def escape(n, cs):
    total = 0
    for i in range(len(cs)):
        z, c = 0j, cs[i]
        k = 0
        while k < n and abs(z) <= 2:
            z = z * z + c
            k += 1
        total += k
    return total, z


def test_complex_elements():
    check(escape, lambda: (30, np.array([0.1 + 0.2j, -1 + 0.1j, 1 + 1j, 0.3])))
    check(escape, lambda: (30, np.array([0.1 + 0.2j, -1 + 0.1j, 1 + 1j, 0.3], np.complex64)))


def overflows(n, out):
    x = 1
    for i in range(n):
        x = x * 3 + i
        out[i % 4] = x % 1000
    return x


def test_ints_beyond_64_bits_go_on_in_python():
    check(overflows, lambda: (60, np.zeros(4)), native=None)
    check(overflows, lambda: (30, np.zeros(4)))


def digits(xs, n):
    total = 0.0
    for i in range(len(xs)):
        total += round(float(xs[i]), n)
    return total


def test_rounding_to_digits_is_correct():
    for n in (0, 1, 2, 3, -1, 15, 17, 300):
        check(digits, lambda n=n: (np.array([2.675, 1.005, 0.5, 1.5, 2.5, 1e22, 123456.789, -0.045, 5e-324]), n))


@pytest.mark.parametrize("body", [
    "x in (1, 2.5, True, 0)", "x not in (3, 2**60, -7)", "x in {0.5, 1, 2}", "x in ()", "x in (1j, 3)",
    "x in (math.nan, 1)", "hash(x)", "operator.add(x, 1)", "operator.lt(x, 2)"])
def test_membership_and_functions_of_operators(body):
    for xs in (INTS, FLOATS, [np.float64(x) for x in FLOATS], [np.uint8(3)]):
        agree(made("f", body, operator=operator), ((x, 0) for x in xs), 0)


@pytest.mark.parametrize("name", ["acos", "asin", "atan", "cos", "exp", "log", "sin", "sqrt", "tanh", "phase", "isnan"])
def test_cmath(name):
    agree(made("f", f"cmath.{name}(x)", cmath=cmath), ((x, 0) for x in COMPLEX), 3)


def with_floats(n, x, a):
    r = a
    for i in range(n):
        r = a + (x + i)
    return r


def test_ints_beside_narrow_floats_are_rounded_through_a_double():
    for x in (2**53 + 1, 2**54 + 2**30 + 1, 2**62 + 2**38 + 1, 2**24 + 1, 2049):
        for a in (np.float32(1), np.complex64(1j), np.float16(0)):
            check(with_floats, lambda x=x, a=a: (2, x, a), native=None)


def test_constants_beyond_64_bits():
    """An int that no machine word holds meets run-time numbers in builtins."""
    def func(a, n):
        i = min(2 - 2**63 - 64, int(a[0]) ^ -5)
        for k in range(n):
            i = max(i, k - 2**64)
        return i

    check(func, lambda: (np.arange(4), 3), native=None)
