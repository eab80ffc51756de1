"""Measures the vector math functions and writes ``docs/numerics.md``.

    python benchmarks/numerics/accuracy.py [--points N] [--exhaustive] [name...]

float32: with ``--exhaustive`` all 2**32 numbers for functions of one argument (about a minute each), against the C
library's vector functions in float64, whose error is 2**-26 of a unit here at most; otherwise, and for two arguments,
random ones, against its scalar functions.  float64: random numbers of every
magnitude, of ordinary size, and with any bits, against the C library in 80 bits, whose error is 2**-11 of a unit.
What was measured is kept in ``measured.json``, so that functions can be done one by one.
"""
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_ROOT))
from jitcore.backends.math import FUNCTIONS  # noqa: E402
from jitcore.ops.builder import Scalar, ScalarBuilder  # noqa: E402
from jitcore.ops.table import OPS  # noqa: E402
from tests.ops.harness import Program, specials  # noqa: E402

_KEPT = Path(__file__).resolve().parent / "measured.json"
_PAGE = _ROOT / "docs" / "numerics.md"
_UFUNCS = {op.libm: op for op in OPS.values() if op.libm in FUNCTIONS}
_WIDE = {"d": "g", "f": "d"}
_CHUNK = 1 << 20
#: Of numbers that are gone through one after the other: small enough for the cache.
_STEP = 1 << 13


def exact(name: str, args: list[np.ndarray]) -> np.ndarray:
    """The results by the C library, with more bits."""
    with np.errstate(all="ignore"):
        return _UFUNCS[name].ufunc(*(a.astype(_WIDE[a.dtype.char]) for a in args))


def errors(name: str, got: np.ndarray, wide: np.ndarray, args: list[np.ndarray]) -> tuple[float, float, int]:
    """Greatest error, sum of errors, and how many, in ulps of the correctly rounded result; special results must
    agree."""
    with np.errstate(all="ignore"):
        want = wide.astype(got.dtype)
        if name == "pow":       # the C library's 80-bit function is wrong for -inf to an even power below -2**62
            want = np.where((args[0] == -np.inf) & (args[1] < -2.0**62), 0, want)
        assert (np.isnan(got) == np.isnan(want)).all(), name
        finite = np.isfinite(got) & np.isfinite(want)
        top = np.finfo(got.dtype).max
        edge = np.abs(wide) > float(top) * (1 - 1e-6) if got.dtype == np.float32 else np.abs(want) >= top
        assert ((got == want) | finite | edge | np.isnan(want)).all(), name
        error = np.abs(got[finite].astype(wide.dtype) - wide[finite])
        error /= np.spacing(np.abs(want[finite])).astype(wide.dtype)
    return float(error.max(initial=0)), float(error.sum()), len(error)


def random_arguments(arity: int, dtype: str, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    top = 700 if dtype == "d" else 88
    columns = []
    for _ in range(arity):
        signs = rng.choice([-1.0, 1.0], count)
        kinds = [np.exp(rng.uniform(-top, top, count)) * signs, np.exp(rng.uniform(-20, 20, count)) * signs,
                 rng.uniform(-1, 1, count), 1 + rng.standard_normal(count) * 0.1, rng.standard_normal(count) * 20]
        plain = np.choose(rng.integers(0, 5, count), kinds).astype(dtype)
        bits = rng.integers(0, 256, count // 8 * np.dtype(dtype).itemsize, np.uint8).view(dtype)
        plain[rng.permutation(count)[:len(bits)]] = bits
        known = specials(dtype)
        plain[:len(known)] = rng.permutation(known)
        columns.append(plain)
    return columns


def random_errors(program: Program, name: str, dtype: str, points: int) -> Iterator[tuple[float, float, int]]:
    rng = np.random.default_rng(2026)
    for _ in range(0, points, _CHUNK):
        args = random_arguments(FUNCTIONS[name].arity, dtype, _CHUNK, rng)
        got, _ = program.run(f"{name} {dtype}", *args)
        yield errors(name, got, exact(name, args), args)


def error(b: ScalarBuilder, name: str, x: Scalar, wide: Scalar) -> Scalar:
    """The error of a float32 function in ulps, where ``wide`` is the result in float64; -1 where both are the same
    infinity or NaN, inf where only one is."""
    got, want = (b.cast(v, "d") for v in (b.call_math(name, x), b.cast(wide, "f")))
    top, infinity = b.const("d", float(np.finfo("f").max) * (1 - 1e-6)), b.const("d", np.inf)
    power = b.bits(b.and_(b.bits(b.fabs(want), "L"), b.const("L", 0x7FF << 52)), "d")
    least = b.const("d", 2.0**-126)
    ulp = b.mul(b.select(b.cmp("<", power, least), least, power), b.const("d", 2.0**-23))
    ulps = b.div(b.fabs(b.sub(got, wide)), ulp)
    finite = b.and_(b.cmp("<", b.fabs(got), infinity), b.cmp("<", b.fabs(want), infinity))
    alike = b.or_(b.or_(b.cmp("==", got, want), b.and_(b.isnan(got), b.isnan(want))), b.cmp(">", b.fabs(wide), top))
    return b.select(finite, ulps, b.select(alike, b.const("d", -1.0), infinity))


def all_errors(name: str) -> Iterator[tuple[float, float, int]]:
    """Of a float32 function of one argument."""
    reference, own = Program(width=256, own=False), Program(width=256)
    reference.add("exact", "f", "d", lambda b, x: b.call_math(name, b.cast(x, "d")))
    own.add("error", "fd", "d", lambda b, x, wide: error(b, name, x, wide))
    reference.compile()
    own.compile()
    first = np.arange(_STEP, dtype=np.uint32)
    for step in range(0, 1 << 32, _STEP):
        x = (first + np.uint32(step)).view(np.float32)
        ulps, _ = own.run("error", x, reference.run("exact", x)[0])
        finite = ulps >= 0
        yield float(ulps.max()), float(np.vdot(ulps, finite)), int(np.count_nonzero(finite))


def measure(program: Program, name: str, dtype: str, points: int, exhaustive: bool) -> dict[str, object]:
    everything = exhaustive and dtype == "f" and FUNCTIONS[name].arity == 1
    found = all_errors(name) if everything else random_errors(program, name, dtype, points)
    worst, sums, counts = zip(*found)
    assert max(worst) < np.inf, f"{name} {dtype}: an infinity or NaN where there should be none, or the other way round"
    tried = "all" if everything else f"{-(-points // _CHUNK) * _CHUNK:,} random"
    return {"max": max(worst), "mean": sum(sums) / max(sum(counts), 1), "range": tried}


def page(kept: dict[str, dict[str, object]]) -> str:
    rows = []
    for name in FUNCTIONS:
        for dtype, title in (("d", "float64"), ("f", "float32")):
            found = kept.get(f"{name} {dtype}")
            if found:
                rows.append(f"| {_UFUNCS[name].ufunc.__name__} | {title} | {found['max']:.3f} | {found['mean']:.3f} | "
                            f"{found['range']} |")
    return _PROSE + "\n".join(rows) + "\n"


_PROSE = """# Accuracy of functions

Written by `benchmarks/numerics/accuracy.py`. Arithmetic, comparisons, square roots, rounding, sums, minima and casts
have NumPy's bits. The functions below are jitcore's own (`jitcore/backends/math`): at most 1 unit in the last place
(ulp) from the exact value, with the same code for numbers and for vectors of any width. What is not in the table, such
as functions of complex numbers, `logaddexp`, powers with an array of exponents and SciPy's ufuncs, is done by NumPy's
or SciPy's own loops, with their bits. `accelerate(precision="numpy")` calls NumPy's loops for all of them; Python's
`math` functions always are the C library's.

Errors are in ulps of the correctly rounded result, measured with FMA. Range: all float32 numbers, or random ones over
every magnitude, of ordinary size and with any bits; sine, cosine and tangent over all of it. Infinities, NaN, zeros and
their signs are as in C's Annex F, and invalid, divide and overflow are reported exactly where NumPy reports them.

| function | dtype | greatest error (ulp) | mean error (ulp) | range |
|---|---|---|---|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--points", type=int, default=2_000_000)
    parser.add_argument("--exhaustive", action="store_true")
    options = parser.parse_args()
    names = options.names or list(FUNCTIONS)
    program = Program(width=256)
    for name in names:
        for dtype in "df":
            program.add(f"{name} {dtype}", dtype * FUNCTIONS[name].arity, dtype,
                        lambda b, *args, name=name: b.call_math(name, *args))
    program.compile()
    for name in names:
        for dtype in "fd":
            found = measure(program, name, dtype, options.points, options.exhaustive)
            print(name, dtype, found, flush=True)
            kept = json.loads(_KEPT.read_text(encoding="utf-8")) if _KEPT.exists() else {}
            kept[f"{name} {dtype}"] = found
            _KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            _PAGE.write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
