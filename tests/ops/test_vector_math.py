"""jitcore's own vector math: accuracy, exact cases, special values, flags; with FMA and without, in vectors and
alone."""
from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from jitcore.backends.math import FUNCTIONS
from jitcore.backends.math.tables import CONSTANTS, POLYNOMIALS, TWO_OVER_PI
from jitcore.ops.table import OPS
from tests.ops.harness import Program, specials
from tests.ops.test_math import values

UFUNCS = {op.libm: op.ufunc for op in OPS.values() if op.libm in FUNCTIONS}
CASES = [(name, dtype) for name in FUNCTIONS for dtype in "df"]
REPORTS = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}
#: Arguments of which the results are known exactly: positions, values.
EXACT = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (-np.inf, 0.0), (np.inf, np.inf)],
    "exp2": [(float(n), 2.0**n) for n in range(-126, 128)] + [(-np.inf, 0.0)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (-np.inf, -1.0), (-100.0, -1.0)],
    "log": [(1.0, 0.0), (0.0, -np.inf), (np.inf, np.inf)],
    "log2": [(2.0**n, float(n)) for n in range(-149, 128)],
    "log10": [(10.0**n, float(n)) for n in range(11)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -np.inf)],
    "sin": [(0.0, 0.0), (-0.0, -0.0)], "cos": [(0.0, 1.0), (-0.0, 1.0)], "tan": [(0.0, 0.0), (-0.0, -0.0)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (-np.inf, -np.inf)], "cosh": [(0.0, 1.0), (-np.inf, np.inf)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (np.inf, 1.0), (-np.inf, -1.0), (30.0, 1.0)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (np.inf, np.inf), (-np.inf, -np.inf), (1e-30, 1e-30), (-1e-30, -1e-30)],
    "acosh": [(1.0, 0.0), (np.inf, np.inf)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, np.inf), (-1.0, -np.inf), (1e-30, 1e-30), (-1e-30, -1e-30)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (np.inf, np.pi / 2), (1.0, np.pi / 4), (-1.0, -np.pi / 4)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.0, np.pi / 2), (-1.0, -np.pi / 2)],
    "acos": [(1.0, 0.0), (0.0, np.pi / 2), (-1.0, np.pi)],
    "atan2": [(0.0, 1.0, 0.0), (-0.0, 1.0, -0.0), (0.0, -0.0, np.pi), (-0.0, -0.0, -np.pi), (1.0, 0.0, np.pi / 2),
              (np.inf, np.inf, np.pi / 4), (-np.inf, -np.inf, -0.75 * np.pi), (1.0, -np.inf, np.pi), (3.0, 3.0, np.pi
              / 4)],
    "cbrt": [(8.0, 2.0), (-27.0, -3.0), (0.0, 0.0), (-0.0, -0.0), (np.inf, np.inf), (1.0, 1.0), (0.125, 0.5)],
    "hypot": [(3.0, 4.0, 5.0), (0.0, -0.0, 0.0), (np.inf, np.nan, np.inf), (np.nan, -np.inf, np.inf), (-5.0, 12.0,
    13.0)],
    "pow": [(3.0, 1.0, 3.0), (-3.0, 3.0, -27.0), (2.0, 10.0, 1024.0), (0.0, -1.0, np.inf), (-0.0, -3.0, -np.inf),
            (-0.0, -2.0, np.inf), (-0.0, 3.0, -0.0), (np.nan, 0.0, 1.0), (1.0, np.nan, 1.0), (-1.0, np.inf, 1.0),
            (0.5, np.inf, 0.0), (0.5, -np.inf, np.inf), (-np.inf, 3.0, -np.inf), (-np.inf, -3.0, -0.0), (np.inf, -2.0,
            0.0), (7.0, 0.0, 1.0), (-2.0, 9.0, -512.0), (1.25, 1.0, 1.25), (2.0, -126.0, 2.0**-126)],
}


@pytest.fixture(scope="module", params=[(True, 256), (False, 256), (True, 0)], ids=["fma", "no fma", "scalar"])
def program(request: pytest.FixtureRequest) -> Program:
    fma, width = request.param
    program = Program(width=width, vector=width > 0, fma=fma)
    for name, dtype in CASES:
        program.add(f"{name} {dtype}", dtype * FUNCTIONS[name].arity, dtype,
                    lambda b, *args, name=name: b.call_math(name, *args))
    return program.compile(vectorise=width > 0)


def error_in_ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Of finite results, in units in the last place of the correctly rounded result."""
    want = exact.astype(got.dtype)
    return np.abs(got.astype(exact.dtype) - exact) / np.spacing(np.abs(want)).astype(exact.dtype)


@pytest.mark.parametrize("name, dtype", CASES, ids=lambda v: v)
def test_accuracy(program: Program, name: str, dtype: str) -> None:
    args = values(dtype, FUNCTIONS[name].arity, np.random.default_rng(21), 3000)
    got, _ = program.run(f"{name} {dtype}", *args)
    with np.errstate(all="ignore"):
        exact = UFUNCS[name](*(a.astype("g" if dtype == "d" else "d") for a in args))
        finite = np.isfinite(got) & np.isfinite(exact.astype(dtype))
        errors = error_in_ulps(got[finite], exact[finite])
    assert errors.max() <= 1.0, [a[finite][errors.argmax()] for a in args]


@pytest.mark.parametrize("name, dtype", CASES, ids=lambda v: v)
def test_flags(program: Program, name: str, dtype: str) -> None:
    """Invalid, divide and overflow are raised where NumPy reports them, and nowhere else."""
    known = specials(dtype)
    rows = [(v,) for v in known] if FUNCTIONS[name].arity == 1 else [
        # Libraries differ in what they report for infinite exponents, which are left to NumPy.
        (x, y) for x in known for y in known if name != "pow" or not np.isinf(y)]
    for row in rows:
        found: list[str] = []
        args = [np.full(5, v, dtype) for v in row]
        with np.errstate(all="call", call=lambda text, _: found.append(REPORTS[text])):    # noqa: B023
            UFUNCS[name](*args)
        program.run(f"{name} {dtype}", *args)
        assert program.flags - {"under"} == set(found) - {"under"}, row


@pytest.mark.parametrize("dtype", "df")
@pytest.mark.parametrize("name", EXACT)
def test_exact(program: Program, name: str, dtype: str) -> None:
    *arguments, results = (np.array(column, dtype) for column in zip(*EXACT[name]))
    got, _ = program.run(f"{name} {dtype}", *arguments)
    assert (got == results).all() and (np.signbit(got) == np.signbit(results)).all()


@pytest.mark.parametrize("name, dtype", CASES, ids=lambda v: v)
def test_nan(program: Program, name: str, dtype: str) -> None:
    """Any bits of a NaN give a NaN, without a flag; also beside ordinary numbers.  (Of ``pow`` both arguments are.)"""
    size = np.dtype(dtype).itemsize
    bits = np.random.default_rng(3).integers(0, 256, 64 * size, np.uint8).view(f"u{size}")
    quiet = np.array(np.nan, dtype).view(f"u{size}")
    args = [(bits | quiet).view(dtype) for _ in range(FUNCTIONS[name].arity)]
    got, _ = program.run(f"{name} {dtype}", *args)
    assert np.isnan(got).all() and not program.flags
    args[0][::2] = 1.5 if name == "acosh" else 0.5
    got, _ = program.run(f"{name} {dtype}", *args)
    assert np.isnan(got[1::2]).all() and not program.flags


def test_a_rare_lane_changes_no_other(program: Program) -> None:
    """What beside ordinary numbers takes the long way gives the others the results that they have alone."""
    for name, dtype in CASES:
        if FUNCTIONS[name].usual is None:
            continue
        rng = np.random.default_rng(5)
        args = [(rng.uniform(0.1, 0.9, 256) + (name == "acosh")).astype(dtype) for _ in range(FUNCTIONS[name].arity)]
        alone, _ = program.run(f"{name} {dtype}", *args)
        args[0][::3] = np.nan
        beside, _ = program.run(f"{name} {dtype}", *args)
        left = ~np.isnan(args[0])
        np.testing.assert_allclose(beside[left], alone[left], rtol=2 * np.finfo(dtype).eps)


def mp_values(name: str) -> object:
    mpmath = pytest.importorskip("mpmath")
    one = mpmath.mpf(1)
    special = {"exp2": lambda x: mpmath.mpf(2)**x, "log2": lambda x: mpmath.log(x, 2), "pow": mpmath.power,
               "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x))}
    return special.get(name) or getattr(mpmath, name), one


def exact_error(name: str, args: list[np.ndarray], got: np.ndarray) -> float:
    """The greatest error in ulps against mpmath, with 120 bits."""
    mpmath = pytest.importorskip("mpmath")
    function, _ = mp_values(name)
    greatest = 0.0
    with mpmath.workprec(1200 if name in ("sin", "cos", "tan") else 160):
        for *x, y in zip(*(a.tolist() for a in args), got.tolist()):
            want = function(*(mpmath.mpf(v) for v in x))
            if abs(want) < 2.0**-1020 or abs(want) > 1e308:
                continue
            error = float(abs(mpmath.mpf(y) - want) / mpmath.mpf(float(np.spacing(got.dtype.type(abs(want))))))
            greatest = max(greatest, error)
    return greatest


DOMAINS = {"asin": (1e-8, 1.0), "acos": (1e-8, 1.0), "tanh": (1e-8, 30.0), "atan": (1e-8, 1e300),
           "asinh": (1e-300, 1e300), "acosh": (1.0, 1e300), "atanh": (1e-300, 1.0),
           "cbrt": (1e-300, 1e300), "log": (1e-300, 1e300), "log2": (1e-300, 1e300), "log10": (1e-300, 1e300),
           "log1p": (1e-300, 1e300), "sin": (1e-5, 1e300), "cos": (1e-5, 1e300), "tan": (1e-5, 1e300)}


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if FUNCTIONS[n].arity == 1])
def test_against_mpmath(name: str) -> None:
    """Float64 over the whole range, half of the numbers where the function bends."""
    rng = np.random.default_rng(17)
    low, high = DOMAINS.get(name, (1e-8, 700.0))
    spread = np.exp(rng.uniform(np.log(low), np.log(high), 1500))
    near = rng.uniform(0.5, 2.0, 1500)
    if name == "acosh":
        near = 1.0 + np.exp(rng.uniform(np.log(2.0**-52), 0.0, 1500))
    elif name not in ("log", "log2", "log10", "log1p"):
        spread, near = (a * rng.choice([-1.0, 1.0], 1500) for a in (spread, near))
    x = np.concatenate([spread, near])
    if name in ("asin", "acos", "atanh"):
        top = 1.0 - 2.0**-53 if name == "atanh" else 1.0
        x = np.clip(x, -top, top)
    program = Program(width=256)
    program.add("f", "d", "d", lambda b, v: b.call_math(name, v))
    got, _ = program.compile().run("f", x)
    assert exact_error(name, [x], got) <= 1.0


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if FUNCTIONS[n].arity == 2])
def test_two_arguments_against_mpmath(name: str) -> None:
    rng = np.random.default_rng(18)
    x = np.exp(rng.uniform(-30, 30, 2000))
    y = np.exp(rng.uniform(-20, 20, 2000)) * rng.choice([-1.0, 1.0], 2000)
    if name == "pow":       # the whole range of results
        y = rng.uniform(-708, 708, 2000) / np.log(x)
    program = Program(width=256)
    program.add("f", "dd", "d", lambda b, *args: b.call_math(name, *args))
    got, _ = program.compile().run("f", x, y)
    assert exact_error(name, [x, y], got) <= 1.0


@pytest.mark.parametrize("name, dtype, low, high", [
    ("cosh", "d", 18.3, 18.5), ("cosh", "f", 8.6, 8.8), ("tan", "d", 0.75, 0.7854), ("tan", "f", 0.75, 0.7854),
    ("atan", "d", 0.6, 0.72), ("atan", "f", 0.5, 0.6), ("acosh", "d", 1.0, 1.1), ("asinh", "d", 0.1, 0.45),
    ("tanh", "d", 0.17, 0.2), ("tanh", "f", 0.17, 0.2), ("log2", "f", 0.7, 1.42), ("expm1", "f", 0.1, 1.0)])
def test_where_errors_are_greatest(program: Program, name: str, dtype: str, low: float, high: float) -> None:
    """Many numbers where the roundings of all steps add up, or where a step is at its limit."""
    x = np.random.default_rng(23).uniform(low, high, 200_000).astype(dtype)
    got, _ = program.run(f"{name} {dtype}", x)
    assert error_in_ulps(got, UFUNCS[name](x.astype("g" if dtype == "d" else "d"))).max() <= 1.0


@pytest.mark.parametrize("dtype", "df")
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_near_multiples_of_half_pi(name: str, dtype: str) -> None:
    """Where next to nothing is left of the argument: the numbers nearest to multiples of pi/2, up to the usual range's
    end and beyond."""
    mpmath = pytest.importorskip("mpmath")
    k = np.arange(1, 2500) if dtype == "f" else np.random.default_rng(19).integers(1, 700_000, 2500)
    with mpmath.workprec(200):
        x = np.array([float(mpmath.pi / 2 * int(n)) for n in k]).astype(dtype)
    program = Program(width=256)
    program.add("f", dtype, dtype, lambda b, v: b.call_math(name, v))
    got, _ = program.compile().run("f", x)
    assert exact_error(name, [x], got) <= 1.0


def test_tables_are_what_they_say() -> None:
    """Constants are what they are named after to all bits, the bits of 2/pi too; each polynomial has its range and
    error."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workprec(1400):
        whole = 0
        for word in TWO_OVER_PI:
            whole = whole << 32 | word
        assert whole == int(mpmath.floor(2 / mpmath.pi * 2**(32 * len(TWO_OVER_PI))))
        values = {"ln2": mpmath.log(2), "log2e": 1 / mpmath.log(2), "half_pi": mpmath.pi / 2}
        for name, value in values.items():
            for dtype, bits in (("d", 53), ("f", 24)):
                parts = CONSTANTS[name][dtype]
                assert abs(sum(mpmath.mpf(p) for p in parts) - value) < value * 2.0**-(bits + bits // 2)
    text = (Path(__file__).parents[2] / "jitcore/backends/math/tables.py").read_text(encoding="utf-8")
    assert len(re.findall(r"# \[.*\]: error 2\*\*-\d+\.\d", text)) == 2 * len(POLYNOMIALS)
