"""The op table: what is in it, the type rule, powers, and the probe."""
from __future__ import annotations

import itertools
import logging
from dataclasses import replace

import numpy as np
import pytest

from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, OBJECT, array, strong
from jitcore.ops import probe
from jitcore.ops.builder import DTYPES, canonical
from jitcore.ops.dtypes import resolve
from jitcore.ops.op import Op, loop_signature
from jitcore.ops.power import power_fast_path
from jitcore.ops.table import OPS, op_for

UFUNCS = {u.__name__: u for u in vars(np).values() if isinstance(u, np.ufunc)}


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_every_ufunc_has_an_op(name: str) -> None:
    """By name, so that a ufunc that NumPy adds is noticed; generalised ones have none."""
    ufunc = UFUNCS[name]
    if ufunc.signature is not None:
        assert op_for(ufunc) is None
    elif any(set(t) <= set(DTYPES + "qQ->") for t in ufunc.types):
        assert OPS[name].ufunc is ufunc and op_for(ufunc) is OPS[name]
        assert (OPS[name].nin, OPS[name].nout) == (ufunc.nin, ufunc.nout)


def test_signatures_are_loops() -> None:
    for op in OPS.values():
        for sig in (*op.inline, *op.uniform):
            assert sig == canonical(sig)
            assert op.ufunc is None or loop_signature(op.ufunc, sig) is not None, (op.name, sig)


def test_unknown_ufuncs() -> None:
    special = pytest.importorskip("scipy.special")
    op = op_for(special.erf)
    assert op is not None and op is op_for(special.erf) and OPS[op.name] is op
    assert op.lowering("d->d") is None and op.can_block("d->d") and op.reports_for("d->d")
    # scipy's own log1p is not NumPy's.
    other = op_for(special.log1p)
    assert other is not None and other is not OPS["log1p"] and other.name != "log1p"
    assert OPS["log1p"].ufunc is np.log1p


def test_blocks() -> None:
    assert OPS["less"].can_block("lL->?") and loop_signature(np.less, "lL->?") == "qQ->?"
    assert not OPS["divmod"].can_block("dd->dd"), "two outputs"
    assert not OPS["power"].can_block("ll->l"), "the loop raises"
    assert OPS["power"].can_block("dd->d")
    assert not OPS["where"].can_block("?dd->d")
    assert not OPS["add"].can_block("UU->U")


# -- dtypes ---------------------------------------------------------------------------------------

WEAK = {BOOL: True, INT: 1, FLOAT: 1.0, COMPLEX: 1j}
STRONG = ["?", "b", "B", "h", "i", "I", "l", "L", "e", "f", "d", "F", "D"]


@pytest.mark.parametrize("name", ["add", "divide", "floor_divide", "power", "less", "equal", "maximum", "bitwise_and",
                                  "left_shift", "logical_or", "hypot", "copysign", "arctan2"])
def test_resolve(name: str) -> None:
    """Against what NumPy makes of arrays, NumPy scalars and Python scalars."""
    op = OPS[name]
    kinds = [(array(c, 1), np.ones(1, c)) for c in STRONG] + list(WEAK.items()) + [
        (strong(c), np.ones((), c)[()]) for c in STRONG]
    for (t1, v1), (t2, v2) in itertools.product(kinds, kinds):
        found = resolve(op, (t1, t2))
        try:
            with np.errstate(all="ignore"):
                want = np.asarray(op.ufunc(v1, v2))
        except TypeError:
            assert found is None
            continue
        if found is None:       # Python ints are compared as objects
            assert t1 in WEAK and t2 in WEAK
            continue
        assert found.outputs == (want.dtype,), (t1, t2)
        assert found.sig in op.ufunc.types
        with np.errstate(all="ignore"):
            cast = [np.asarray(v, d) for v, d in zip((v1, v2), found.inputs)]
            assert op.ufunc(*cast, dtype=None if name in ("less", "equal", "logical_or") else want.dtype) == want


def test_resolve_refuses() -> None:
    assert resolve(OPS["add"], (OBJECT, FLOAT)) is None
    assert resolve(OPS["add"], (FLOAT,)) is None
    assert resolve(OPS["bitwise_and"], (array("d", 1), array("d", 1))) is None
    assert resolve(OPS["add"], (array("M8[s]", 1), array("m8[s]", 1))) is None
    assert resolve(OPS["subtract"], (array("?", 1), array("?", 1))) is None


def test_resolve_dtype_argument() -> None:
    found = resolve(OPS["add"], (array("f", 1), array("f", 1)), np.dtype("d"))
    assert found is not None and found.sig == "dd->d"
    assert resolve(OPS["sin"], (array("f", 1),), np.dtype("i")) is None


@pytest.mark.parametrize("first, second", list(itertools.product([*STRONG, *WEAK], repeat=2)), ids=str)
def test_where(first: object, second: object) -> None:
    types, values = [], []
    for kind in (first, second):
        types.append(array(kind, 1) if isinstance(kind, str) else kind)
        values.append(np.ones(1, kind) if isinstance(kind, str) else WEAK[kind])  # type: ignore[index]
    found = resolve(OPS["where"], (array("?", 1), *types))
    assert found is not None and found.outputs[0] == np.where([True], *values).dtype


# -- powers ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", "bBhHiIlLefdFD")
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 2.0, 1.0, -1.0, -0.5])
@pytest.mark.parametrize("operator", [True, False], ids=["operator", "function"])
def test_power_fast_path(dtype: str, exponent: float, operator: bool) -> None:
    """The op that is named has the bits of the power."""
    rng = np.random.default_rng(3)
    x = (rng.standard_normal(3000) * 50).astype("d").astype(dtype) if dtype not in "FD" else (
        rng.standard_normal(3000) + 1j * rng.standard_normal(3000)).astype(dtype)
    if dtype in "efd":
        x[:5] = [0.0, -0.0, np.inf, -np.inf, np.nan]
    if dtype not in "efdFD" and (isinstance(exponent, float) or exponent < 0):
        return                  # another loop, or an error
    name = power_fast_path(dtype, exponent, operator)
    with np.errstate(all="ignore"):
        got = x**exponent if operator else np.power(x, exponent)
        if name is not None:
            want = OPS[name].ufunc(x)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
            assert (np.signbit(got.real) == np.signbit(want.real))[~np.isnan(got)].all()
        elif dtype in "fd":
            assert exponent not in (2, 0.5, -1, 1), "a path was missed"


# -- the probe ------------------------------------------------------------------------------------

def test_the_probe_drops_what_numpy_contradicts(caplog: pytest.LogCaptureFixture) -> None:
    right = OPS["maximum"]
    wrong = replace(right, inline={**right.inline, "dd->d": lambda b, x, y: b.select(b.cmp(">", x, y), x, y)})
    with caplog.at_level(logging.WARNING, "jitcore.compile"):
        checked = probe.verified(wrong)
    assert set(wrong.inline) - set(checked.inline) == {"dd->d"}
    assert checked.can_block("dd->d") and "maximum, dd->d" in caplog.text


def test_the_probe_sees_scalar_operands() -> None:
    op = OPS["clip"]
    array_rule = op.inline["lll->l"]
    wrong = replace(op, uniform={"ddd->d": (frozenset({1, 2}), array_rule)})
    assert probe.verified(op) is op
    assert not probe.verified(wrong).uniform


def test_on_an_unknown_numpy_everything_is_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "TESTED", ("0.0.",))
    assert all(probe.verified(op) is op for op in OPS.values())
    wrong = Op("add", np.add, {"dd->d": lambda b, x, y: b.sub(x, y)})
    assert not probe.verified(wrong).inline
