"""The inexact lowerings: within the bound, with the right special values, in vector and in scalar code."""
from __future__ import annotations

import numpy as np
import pytest

from jitcore.backends.math import FUNCTIONS
from jitcore.backends.scalar_libm import VECTOR_NAMES, vector_variants
from jitcore.ops.builder import Lowering
from jitcore.ops.table import OPS
from tests.ops.harness import Program, specials

BOUND = 1.0
CASES = [(name, sig) for name, op in OPS.items() for sig in (*op.inline, *op.uniform)
         if not op.exact_for(sig) and sig[0] in "fd" and sig not in op.uniform]
CASES += [("power", "dd->d"), ("power", "ff->f")]
WIDTHS = [0, 256, 512]      # none: scalar calls


def lowering(name: str, sig: str) -> Lowering:
    op = OPS[name]
    return op.inline[sig] if sig in op.inline else lambda b, x, y: b.call_math("pow", x, y)


@pytest.fixture(scope="module", params=WIDTHS)
def program(request: pytest.FixtureRequest) -> Program:
    program = Program(vector=request.param != 0, width=request.param)
    for name, sig in CASES:
        inputs, _, output = sig.partition("->")
        program.add(f"{name} {sig}", inputs, output, lowering(name, sig))
    return program.compile()


def wide(name: str, args: list[np.ndarray]) -> np.ndarray:
    """The value with at least 11 bits more."""
    return OPS[name].ufunc(*(a.astype("g" if a.dtype == np.float64 else "d") for a in args))


def values(dtype: str, arity: int, rng: np.random.Generator, count: int = 6000) -> list[np.ndarray]:
    """Magnitudes over the whole range, ordinary ones, any bits; special values and small integers in all pairs."""
    columns = []
    for _ in range(arity):
        spread = np.exp(rng.uniform(-30, 30, count)) * rng.choice([-1.0, 1.0], count)
        bits = rng.integers(0, 256, count * np.dtype(dtype).itemsize, dtype=np.uint8).view(dtype)
        columns.append(np.concatenate([spread.astype(dtype), rng.uniform(-1, 1, count).astype(dtype),
                                       (rng.standard_normal(count) * 20).astype(dtype), bits]))
    known = specials(dtype)
    if arity == 1:
        return [np.concatenate([columns[0], known])]
    small = np.concatenate([np.arange(-9, 10), [0.5, -0.5]]).astype(dtype)
    pairs = [np.concatenate([g.ravel() for g in grid]) for grid in zip(np.meshgrid(known, known),
                                                                       np.meshgrid(small, small))]
    return [np.concatenate([c, p]) for c, p in zip(columns, pairs)]


@pytest.mark.parametrize("name, sig", CASES, ids=lambda v: v)
def test_bound(program: Program, name: str, sig: str) -> None:
    inputs, _, output = sig.partition("->")
    args = values(output, len(inputs), np.random.default_rng(8))
    got, _ = program.run(f"{name} {sig}", *args)
    with np.errstate(all="ignore"):
        exact = wide(name, args)
        want = exact.astype(output)
        # Class and sign of special results must be right; a rounding at the edge of the range may differ.
        assert (np.isnan(got) == np.isnan(want)).all()
        edge = np.abs(exact) > float(np.finfo(output).max) * (1 - 1e-6)
        infinite = (np.isinf(got) | np.isinf(want)) & ~(edge & np.isfinite(exact))
        if name == "power":     # powl of glibc 2.36 is wrong for -inf to an even power below -2**62
            infinite &= ~((args[0] == -np.inf) & (args[1] < -2.0**62))
        assert (got[infinite] == want[infinite]).all()
        zero = exact == 0
        assert ((got[zero] == 0) & (np.signbit(got[zero]) == np.signbit(exact[zero]))).all()
        finite = np.isfinite(got) & np.isfinite(want)
        error = np.abs(got[finite].astype("g") - exact[finite].astype("g")) / np.spacing(np.abs(want[finite]))
    assert OPS[name].libm in FUNCTIONS and error.max() <= BOUND, [a[finite][error.argmax()] for a in args]


def test_vector_variants_are_used() -> None:
    """Where the machine has libmvec, and it is asked for, a loop calls it; otherwise the scalar function stays."""
    program = Program(width=256, own=False)
    program.add("f", "d", "d", lambda b, x: b.call_math("exp", x))
    program.compile()
    variants = vector_variants("exp", "d")
    assert ("_ZGV" in program.text.split("llvm.compiler.used")[-1].replace("declare", "")) == bool(variants)
    if variants:
        assert "call <4 x double> @_ZGVdN4v_exp" in program.text


def test_names_are_known() -> None:
    """Each inexact op names a function that the vector library may have."""
    for op in OPS.values():
        if not op.exact and op.libm:
            assert VECTOR_NAMES[op.libm] == op.nin
