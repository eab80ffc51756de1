"""Guard failures in words."""
from __future__ import annotations

import types

import numpy as np
import pytest

from jitcore.guards import guard as g
from jitcore.guards import sources as s
from jitcore.guards.explain import brief, describe, expectation
from jitcore.guards.reference import first_failure

UNBOUND = object()
X = s.Local(0, "x")
flat, square = np.zeros(3), np.zeros((2, 3))


class Model:
    def __init__(self):
        self.rate = 1.0

    def __repr__(self):
        raise AssertionError("no code of the user's may run")


class Other(Model):
    pass


def f(a=1, *, b=2):
    return a


def other(a=1, *, b=2):
    return b


F = g.FunctionIs(X, f.__code__, f.__defaults__, f.__kwdefaults__)
FLAT, INT = g.LoadArray(X, "d", 1, "C"), g.Load(X, "int")
RATE = s.Attr(X, "rate")
HERE = f"{__name__}."


@pytest.mark.parametrize("guard, obj, text", [
    (FLAT, flat.astype("f"), "argument `x`: dtype float64 -> float32"),
    (FLAT, square, "argument `x`: axes 1 -> 2"),
    (FLAT, square.astype("i"), "argument `x`: dtype float64 -> int32, axes 1 -> 2"),
    (FLAT, np.zeros(6)[::2], "argument `x`: memory order C -> strided"),
    (g.LoadArray(X, "d", 2, "C"), square.T, "argument `x`: memory order C -> Fortran"),
    (FLAT, flat.astype(">f8"), "argument `x`: byte order native -> swapped"),
    (FLAT, np.zeros(25, "B")[1:].view("d"), "argument `x`: aligned -> not aligned"),
    (FLAT, [1.0], "argument `x`: array float64[1C] -> a list"),
    (FLAT, np.ma.zeros(3), "argument `x`: array float64[1C] -> a numpy.ma.MaskedArray"),
    (FLAT, UNBOUND, "argument `x`: array float64[1C] -> nothing"),
    (INT, 1.5, "argument `x`: int -> float"),
    (INT, True, "argument `x`: int -> bool"),
    (INT, 2**70, "argument `x`: int -> int beyond 64 bits"),
    (INT, flat, "argument `x`: int -> array float64[1C]"),
    (g.Load(X, "float64"), 1.5, "argument `x`: numpy.float64 -> float"),
    (g.Load(X, "float"), np.float64(1), "argument `x`: float -> numpy.float64"),
    (g.TypeIs(X, Model), Other(), f"argument `x`: type {HERE}Model -> {HERE}Other"),
    (g.TypeVersion(X, Model), Other(), f"argument `x`: type {HERE}Model -> {HERE}Other"),
    (g.TypeVersion(X, Model), Model(), f"argument `x`: class {HERE}Model was changed"),
    (g.IsObject(X, np.exp), np.log, "argument `x`: ufunc exp -> ufunc log"),
    (g.IsObject(X, Model), Other, f"argument `x`: class {HERE}Model -> class {HERE}Other"),
    (g.IsObject(X, None), 3, "argument `x`: None -> 3"),
    (g.IsObject(X, flat), flat.copy(), "argument `x`: array float64[1C] -> another object of that kind"),
    (g.IsObject(X, types), np, "argument `x`: module types -> module numpy"),
    (g.ValueIs(X, 1), 2, "argument `x`: value 1 -> 2"),
    (g.ValueIs(X, 1), True, "argument `x`: value 1 -> True"),
    (g.ValueIs(X, "C"), "F", "argument `x`: value 'C' -> 'F'"),
    (g.LengthIs(X, 2), (1, 2, 3), "argument `x`: length 2 -> 3"),
    (g.LengthIs(X, 2), Model(), f"argument `x`: length 2 -> a {HERE}Model"),
    (g.Absent(X), 1, "argument `x`: nothing -> 1"),
    (F, other, "argument `x`: function f -> function other with other code"),
    (F, len, "argument `x`: a function -> function len"),
    (g.LoadObject(X), UNBOUND, "argument `x`: any object -> nothing"),
    (g.DimsEqual(X, 0, X, 1), square, "argument `x`: axis 0 as long as axis 1 of argument `x` -> 2 and 3"),
    (g.DimsEqual(X, 0, X, 1), 1, "argument `x`: arrays -> 1 and 1"),
    (g.Load(s.Item(X, 1), "int"), (1, 2.5), "argument `x`[1]: int -> float"),
    (g.Load(s.Item(X, 1), "int"), 3, "argument `x`[1]: cannot be read from 3"),
    (g.Load(s.Key(X, "k"), "int"), {}, "argument `x`['k']: int -> nothing"),
    (g.Load(s.Global("flat"), "float"), 0, "global `flat`: float -> array float64[1C]"),
    (g.Load(s.Item(s.Item(X, 0), 1), "int"), 7, "argument `x`[0]: cannot be read from 7"),
    (INT, 5, "argument `x`: as expected"),
], ids=lambda v: None)
def test_texts(guard, obj, text):
    assert describe(guard, f, (obj,), UNBOUND) == text


def test_instance_attributes():
    model = Model()
    assert describe(g.Load(RATE, "int"), f, (model,), UNBOUND) == "argument `x`.rate: int -> float"
    del model.rate
    assert describe(g.Load(RATE, "int"), f, (model,), UNBOUND) == "argument `x`.rate: int -> nothing"


def test_replaced_defaults():
    changed = types.FunctionType(f.__code__, globals(), "f", (5,))
    assert describe(F, f, (changed,), UNBOUND) == "argument `x`: the defaults of function f were replaced"


@pytest.mark.parametrize("guard, text", [
    (FLAT, "array float64[1C]"), (INT, "int"), (g.Load(X, "?"), "numpy.bool"),
    (g.TypeIs(X, Model), f"type {HERE}Model"),
    (g.IsObject(X, np.exp), "ufunc exp"), (g.ValueIs(X, "C"), "value 'C'"), (g.LengthIs(X, 2), "length 2"),
    (g.Absent(X), "nothing"), (F, "function f"), (g.LoadObject(X), "any object"),
    (g.DimsEqual(X, 0, s.Local(1, "y"), 1), "axis 0 as long as axis 1 of argument `y`"),
])
def test_expectations(guard, text):
    assert expectation(guard) == f"argument `x`: {text}"


def test_brief_is_brief():
    assert len(brief("x" * 1000)) <= 40 and len(brief(10**1000)) <= 40
    assert brief(np.float32(1.5)) == "float32(1.5)"
    assert brief(Model()) == f"a {HERE}Model"


def test_first_failure():
    guards = [INT, g.ValueIs(X, 3), g.Load(s.Global("nothing_here"), "int")]
    assert first_failure(guards[:2], f, (3,), UNBOUND) is None
    assert first_failure(guards, f, (3,), UNBOUND) == 2
    assert first_failure(guards, f, (4,), UNBOUND) == 1
    assert first_failure(guards, f, ("a",), UNBOUND) == 0
