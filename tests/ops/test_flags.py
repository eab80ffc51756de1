"""Hardware flags are a filter: where NumPy would report they are set, and ordinary data leaves them clean."""
from __future__ import annotations

import numpy as np
import pytest

from jitcore.backends.scalar_quiet import quiet_compares
from jitcore.ops.builder import DTYPES, canonical
from jitcore.ops.op import INVALID, UNDER
from jitcore.ops.table import OPS
from tests.ops.harness import Program, specials

CASES = [(name, sig) for name, op in OPS.items() for sig in op.inline
         if op.ufunc is not None and any(c in "efdFD" for c in sig.partition("->")[0])]
NAMES = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}
LENGTH = 67


@pytest.fixture(scope="module")
def program() -> Program:
    program = Program(width=256)
    for name, sig in CASES:
        inputs, _, output = sig.partition("->")
        program.add(f"{name} {sig}", inputs, output, OPS[name].inline[sig])
    return program.compile()


def ordinary(name: str, dtype: str, position: int) -> complex:
    """An operand that no op has anything to report about."""
    return 1.5 if name == "arccosh" else 0.5 if position == 0 else 0.75


def numpy_reports(ufunc: np.ufunc, args: list[np.ndarray]) -> set[str]:
    found: list[str] = []
    with np.errstate(all="call", call=lambda text, _: found.append(text)):
        ufunc(*args)
    return {NAMES[text] for text in found} - {UNDER}


@pytest.mark.parametrize("name, sig", CASES, ids=lambda v: v)
def test_reports(program: Program, name: str, sig: str) -> None:
    """One special operand (or pair) among ordinary ones, in vector lanes and in the remainder."""
    op, (inputs, _, _) = OPS[name], sig.partition("->")
    plain = [np.full(LENGTH, ordinary(name, c, i), c) for i, c in enumerate(inputs)]
    program.run(f"{name} {sig}", *plain)
    assert not program.flags - {UNDER}, "ordinary data"
    rng = np.random.default_rng(4)
    values = [specials(c) for c in inputs]
    if len(inputs) == 1:
        tries = [(v,) for v in values[0]]
    else:
        tries = [(rng.choice(values[0]), rng.choice(values[1])) for _ in range(250)]
        tries += [(0.0, -1.0), (0.0, 0.0), (np.inf, -np.inf), (1.0, 0.0), (np.inf, np.inf)]
    for number, special in enumerate(tries):
        args = [a.copy() for a in plain]
        position = (0, 3, 31, LENGTH - 1)[number % 4]
        for argument, value in zip(args, special):
            argument[position] = value
        reports = numpy_reports(op.ufunc, args)
        _, bails = program.run(f"{name} {sig}", *args)
        assert reports <= op.reports_for(sig), special
        if reports:
            assert program.flags - {UNDER} or bails.any(), (special, reports)


LOOPS = [(name, sig) for name, op in OPS.items() if op.ufunc is not None and op.nin < 3 and name != "power"
         for sig in dict.fromkeys(map(canonical, op.ufunc.types)) if set(sig) <= set(DTYPES + "->")]


@pytest.mark.parametrize("name, sig", LOOPS, ids=lambda v: v)
def test_declared_reports(name: str, sig: str) -> None:
    """NumPy reports nothing that the table does not know of, whichever way the op runs."""
    op, inputs = OPS[name], sig.partition("->")[0]
    grids = [g.ravel() for g in np.meshgrid(*(_few(c) for c in inputs))]
    assert numpy_reports(op.ufunc, grids) <= op.reports_for(sig)


def _few(dtype: str) -> np.ndarray:
    values = specials(dtype)
    return values if len(values) < 100 else values[::7]


#: What computes with quiet instructions alone, so that NaN in the data is not slow.
QUIET = [(n, s) for n, s in CASES if OPS[n].exact and INVALID not in OPS[n].reports_for(s) and "e" not in s] + [
    (n, f"{c * OPS[n].nin}->{c}") for c in "fd" for n in ("add", "multiply", "divide", "sqrt", "sign", "exp", "log")]


@pytest.mark.parametrize("name, sig", QUIET, ids=lambda v: v)
def test_nan_is_quiet(program: Program, name: str, sig: str) -> None:
    inputs = sig.partition("->")[0]
    args = [np.full(LENGTH, ordinary(name, c, i), c) for i, c in enumerate(inputs)]
    for argument in args:
        argument[3::5] = np.nan
    program.run(f"{name} {sig}", *args)
    assert INVALID not in program.flags


def test_rewritten_compares() -> None:
    text = """define <4 x i1> @f(<4 x double> %a, <4 x double> %b, float %c) {
  %x = fcmp olt <4 x double> %a, %b
  %y = fcmp oge <4 x double> %a, <double 1.0, double 2.0, double 3.0, double 4.0>
  %z = fcmp ugt float %c, 1.0, !dbg !1
  %w = fcmp oeq <4 x double> %a, splat (double 1.0)
"""
    quiet = quiet_compares(text)
    assert quiet.count("call <4 x i1> @llvm.experimental.constrained.fcmp.v4f64(") == 2
    assert ('call i1 @llvm.experimental.constrained.fcmp.f32(float %c, float 1.0, metadata !"ugt", '
            'metadata !"fpexcept.strict"), !dbg !1') in quiet
    assert "%w = fcmp oeq <4 x double> %a, splat (double 1.0)" in quiet
    assert quiet.count("declare") == 2
    for left in ("  %w = fcmp une double %a, %b\n", "  %w = fcmp olt double %a, %b, !jc.signals !3\n"):
        assert quiet_compares(left) == left
