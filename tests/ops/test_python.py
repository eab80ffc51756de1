"""Python's scalar operations, compiled, against CPython: the same object, or an exit and a reason for it."""
from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, OBJECT, array, strong
from jitcore.ops.python import PY, can_exit, lower, result_type
from tests.ops.harness import Program, operands

KINDS = {"?": BOOL, "l": INT, "d": FLOAT, "D": COMPLEX}
CASES = [(name, "".join(types)) for name, op in PY.items() for arity in {len(k) for k in op.overloads}
         for types in itertools.product(KINDS, repeat=arity) if op.select("".join(types)) is not None]
LARGE = 2.0**53


@pytest.fixture(scope="module")
def program() -> Program:
    program = Program()
    for name, types in CASES:
        result = result_type(name, tuple(KINDS[t] for t in types))
        assert result is not None
        program.add(f"{name} {types}", types, result.dtype.char, lambda b, *a, name=name: lower(b, name, *a))
    return program.compile()


def same(a: Any, b: Any) -> bool:
    """The same type and bits (any NaN is any NaN)."""
    if type(a) is not type(b):
        return False
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return a == b


def too_large(name: str, args: tuple[Any, ...]) -> bool:
    """Operands for which CPython would compute astronomically large ints."""
    if name == "lshift":
        return args[1] > 1000 and args[0] != 0
    return name == "pow" and all(isinstance(a, int) for a in args) and abs(args[0]) > 1 and abs(args[1]) > 200


@pytest.mark.parametrize("name, types", CASES, ids=lambda v: v)
def test_operation(program: Program, name: str, types: str) -> None:
    rng = np.random.default_rng(5)
    args = operands(types, rng, 1000)
    chosen = rng.permutation(len(args[0]))[:2500]
    args = [a[chosen] for a in args]
    got, exits = program.run(f"{name} {types}", *args)
    kinds = tuple(KINDS[t] for t in types)
    assert can_exit(name, kinds) or not exits.any()
    needless = 0
    for values, result, exited in zip(zip(*(a.tolist() for a in args)), got.tolist(), exits):
        if too_large(name, values):
            assert exited
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                want = PY[name].function(*values)
        except (ArithmeticError, ValueError):
            assert exited, values
            continue
        if exited:
            needless += same(result, want) and not (name == "truediv" and max(map(abs, values)) > LARGE)
        else:
            assert same(result, want), (values, result, want)
    assert needless == 0, "exits though the result is right"


def test_int_true_division_is_not_rounded_twice(program: Program) -> None:
    """Beyond 53 bits the quotient of the doubles may be another; those operands exit."""
    x, y = np.array([2**53 + 1, 2**53, 7]), np.array([3, 3, 0])
    got, exits = program.run("truediv ll", x, y)
    assert exits.tolist() == [True, False, True]
    assert got[1] == 2**53 / 3


def test_mixed_comparisons_are_exact(program: Program) -> None:
    ints = np.array([2**53 + 1, 2**63 - 1, -2**63, 2**62 + 1, 0])
    floats = np.array([2.0**53, 2.0**63, -2.0**63, 2.0**62, -0.0])
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        for first, second, types in ((ints, floats, "ld"), (floats, ints, "dl")):
            a, b = (v.ravel() for v in np.meshgrid(first, second))
            got, _ = program.run(f"{name} {types}", a, b)
            assert got.tolist() == [PY[name].function(p, q) for p, q in zip(a.tolist(), b.tolist())]


def test_types() -> None:
    assert result_type("add", (INT, FLOAT)) == FLOAT
    assert result_type("add", (BOOL, BOOL)) == INT
    assert result_type("and", (BOOL, BOOL)) == BOOL
    assert result_type("and", (BOOL, INT)) == INT
    assert result_type("truediv", (INT, INT)) == FLOAT
    assert result_type("math.floor", (FLOAT,)) == INT
    assert result_type("abs", (COMPLEX,)) == FLOAT
    assert result_type("bool", (strong("f4"),)) == BOOL
    assert not can_exit("add", (FLOAT, FLOAT)) and can_exit("add", (INT, INT))


def test_left_to_the_interpreter() -> None:
    assert result_type("add", (strong("f8"), FLOAT)) is None, "a NumPy scalar is not Python's"
    assert result_type("bool", (array("f8", 1),)) is None
    assert result_type("not", (OBJECT,)) is None
    assert result_type("invert", (BOOL,)) is None, "~True warns"
    assert result_type("min", (INT, FLOAT)) is None, "the result's type depends on the values"
    assert result_type("lt", (COMPLEX, COMPLEX)) is None
    assert result_type("no such operation", (INT,)) is None
    with pytest.raises(LookupError):
        can_exit("lshift", (FLOAT, INT))
