"""Every exact inline lowering of the op table, compiled, against NumPy: bits.

Enumerated from the table: adding an op adds its tests.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitcore.ops.builder import COMPLEX, DTYPES, FLOATS, INTS
from jitcore.ops.casts import cast_lowering, cast_reports, cast_warns, int_range, weak_lowering
from jitcore.ops.op import Op
from jitcore.ops.table import OPS
from tests.ops.harness import Program, mismatch, operands, specials

CASES = [(name, sig) for name, op in OPS.items() for sig in op.inline if op.exact_for(sig)]
CASTS = [(s, t) for s in DTYPES for t in DTYPES if cast_lowering(s, t) is not None]
WEAK = [(s, t) for s in "?ldD" for t in DTYPES
        if weak_lowering(s, t) is not None and "?ldD".index(s) <= (0 if t == "?" else 1 if t in INTS else
                                                                  2 if t in FLOATS else 3)]


@pytest.fixture(scope="module")
def program() -> Program:
    program = Program()
    for name, sig in CASES:
        inputs, _, output = sig.partition("->")
        program.add(f"{name} {sig}", inputs, output, OPS[name].inline[sig])
    for source, target in CASTS:
        program.add(f"cast {source}{target}", source, target, cast_lowering(source, target))
    for source, target in WEAK:
        program.add(f"weak {source}{target}", source, target, weak_lowering(source, target))
    return program.compile()


def reference(op: Op, args: list[np.ndarray], output: str) -> np.ndarray:
    if op.name == "where":
        return np.where(*args)
    if op.ufunc is None:
        return np.ascontiguousarray(getattr(args[0], op.name))
    return op.ufunc(*args).astype(output, copy=False)       # q for l


def at_most_one_nan(args: list[np.ndarray]) -> np.ndarray:
    """Where it is certain which NaN comes out."""
    return sum((np.isnan(a).astype(int) for a in args if a.dtype.kind in "fc"), np.zeros(len(args[0]), int)) < 2


@pytest.mark.parametrize("name, sig", CASES, ids=lambda v: v)
def test_inline(program: Program, name: str, sig: str) -> None:
    op, (inputs, _, output) = OPS[name], sig.partition("->")
    args = operands(inputs, np.random.default_rng(1))
    got, bails = program.run(f"{name} {sig}", *args)
    assert not bails.all()
    if bails.any():
        assert op.raises or op.int_reports, "bails without anything to report"
        args, got = [a[~bails] for a in args], got[~bails]
    with np.errstate(all="ignore"):
        want = reference(op, args, output)
    certain = at_most_one_nan(args)
    wrong = mismatch(got, want) | (mismatch(got, want, nan_bits=True) & certain)
    assert not wrong.any(), [(tuple(a[i] for a in args), got[i], want[i]) for i in np.flatnonzero(wrong)[:5]]


@pytest.mark.parametrize("name, sig", [c for c in CASES if OPS[c[0]].int_reports and c[1][0] in INTS],
                         ids=lambda v: v)
def test_int_reports_bail(program: Program, name: str, sig: str) -> None:
    """An int operation bails exactly where NumPy reports."""
    op, inputs = OPS[name], sig.partition("->")[0]
    args = [a[:600] for a in operands(inputs, np.random.default_rng(2))]
    _, bails = program.run(f"{name} {sig}", *args)
    for i in range(0, len(args[0]), 7):
        try:
            with np.errstate(all="raise"):
                op.ufunc(*(a[i:i + 1] for a in args))
            reported = False
        except FloatingPointError:
            reported = True
        assert reported == bails[i], tuple(a[i] for a in args)


@pytest.mark.parametrize("source, target", CASTS, ids=lambda v: v)
def test_cast(program: Program, source: str, target: str) -> None:
    (values,) = operands(source, np.random.default_rng(3))
    if (source, target) == ("d", "e"):      # every half and every tie between two
        halves = np.arange(65536, dtype=np.uint16).view("e").astype("d")
        with np.errstate(all="ignore"):
            ties = (halves[:-1] + halves[1:]) / 2
        values = np.concatenate([values, halves, ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)])
    got, bails = program.run(f"cast {source}{target}", values)
    with np.errstate(all="ignore"):
        want = values.astype(target)
    assert not (mismatch(got, want) & ~bails).any()
    if bails.any():
        assert cast_reports(np.dtype(source), np.dtype(target)) == {"invalid"}
        least, greatest = int_range(target)
        assert not any(np.isfinite(v) and least <= int(v) <= greatest for v in values[bails])


def test_casts_cover_everything() -> None:
    """Only conversions that warn have no lowering."""
    for source in DTYPES:
        for target in DTYPES:
            assert (cast_lowering(source, target) is None) == cast_warns(np.dtype(source), np.dtype(target))


@pytest.mark.parametrize("source, target", WEAK, ids=lambda v: v)
def test_weak(program: Program, source: str, target: str) -> None:
    """A Python scalar that takes an array's dtype, as in ``array + scalar``."""
    values = specials(source)
    got, bails = program.run(f"weak {source}{target}", values)
    for value, result, bailed in zip(values.tolist(), got, bails):
        with np.errstate(all="ignore"):
            try:
                want = np.array([value]).astype(target) if source == "?" else _weak_reference(value, target)
            except OverflowError:
                assert bailed, value
                continue
        assert not bailed, value
        assert not mismatch(np.array([result]), want).any(), (value, result, want)


def _weak_reference(value: Any, target: str) -> np.ndarray:
    """What a ufunc makes of the scalar beside an array of the target dtype; a complex product would mix the
    parts, so there it is what assignment makes of it."""
    if target in COMPLEX:
        array = np.zeros(1, target)
        array[0] = value
        return array
    return np.multiply(np.ones(1, target), value)


# -- operands that are scalars --------------------------------------------------------------------

UNIFORM = [(name, sig) for name, op in OPS.items() for sig in op.uniform]


@pytest.mark.parametrize("name, sig", UNIFORM, ids=lambda v: v)
@pytest.mark.parametrize("length", [1, 2, 5, 64, 133])
def test_uniform(name: str, sig: str, length: int) -> None:
    """Lowerings for scalar operands: every special value of the scalars, in every position of the array."""
    op, (inputs, _, output) = OPS[name], sig.partition("->")
    scalars, _ = op.uniform[sig]
    program = _uniform_program()
    rng = np.random.default_rng(length)
    for _ in range(60):
        args = [rng.choice(specials(c), length) for c in inputs]
        for position in scalars:
            few = [0.0, -0.0, 1.0, 2.0, 0.5, -1.0, np.nan, np.inf] if rng.integers(4) else specials(inputs[position])
            args[position] = np.full(length, rng.choice(few), inputs[position])
        got, _ = program.run(f"{name} {sig}", *args)
        given = [a[0] if i in scalars else a for i, a in enumerate(args)]
        with np.errstate(all="ignore"):
            want = op.ufunc(*given)
        if op.exact or args[1][0] in (0, 1, 2, 0.5, -1):
            assert not mismatch(got, want).any(), (args, got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=2e-6 if output == "f" else 1e-14)


_PROGRAM: list[Program] = []


def _uniform_program() -> Program:
    if not _PROGRAM:
        program = Program()
        for name, sig in UNIFORM:
            inputs, _, output = sig.partition("->")
            program.add(f"{name} {sig}", inputs, output, OPS[name].uniform[sig][1])
        _PROGRAM.append(program.compile())
    return _PROGRAM[0]


def test_the_core_is_inline() -> None:
    """What users write most must not fall back to blocks unnoticed."""
    for name in ("add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "square", "maximum",
                 "minimum", "floor", "ceil", "rint", "sign", "less", "equal", "isnan", "where"):
        sig = {1: "d->", 2: "dd->", 3: "?dd->"}[OPS[name].nin]
        assert any(s.startswith(sig) for s in OPS[name].inline), name
    assert OPS["clip"].lowering("ddd->d", (1, 2)) is not None
    assert OPS["clip"].lowering("ddd->d") is None
    assert not any(c in COMPLEX for c in "".join(OPS["multiply"].inline)), "NumPy's complex product is not ours"
