"""Floating-point flags against errstate, and the loops of ufuncs."""
from __future__ import annotations

import contextvars
import ctypes
import ctypes.util
import itertools

import numpy as np
import pytest
import scipy.special

from jitcore import _core

from . import native

clear = native.function("jc_reports_clear", None)
report = native.function("jc_reports_test", native.i32)
BITS = {"divide": 1, "over": 2, "under": 4, "invalid": 8}


def run(signature, ufunc, *values):
    """The ufunc's inner loop on one element each; nothing clears the flags that it raises."""
    function, data = _core.ufunc_loop(ufunc, signature)
    buffers = [np.array([v]) for v in values] + [np.empty(1)]
    call = ctypes.PYFUNCTYPE(None, native.ptr, native.ptr, native.ptr, native.ptr)(function)
    pointers = (native.ptr * len(buffers))(*[b.ctypes.data for b in buffers])
    steps, count = native.longs([8] * len(buffers)), native.longs([1])
    clear()
    call(pointers, count, steps, data)
    return buffers[-1][0]


def raising():
    return {
        "divide": lambda: run("dd->d", np.divide, 1.0, 0.0),
        "over": lambda: run("dd->d", np.multiply, 1e300, 1e300),
        "under": lambda: run("dd->d", np.multiply, 1e-300, 1e-300),
        "invalid": lambda: run("dd->d", np.subtract, np.inf, np.inf),
        None: lambda: run("dd->d", np.add, 1.0, 2.0),
    }


@pytest.mark.parametrize("kind", ["ignore", "warn", "raise", "call", "print", "log"])
@pytest.mark.parametrize("which", ["divide", "over", "under", "invalid"])
def test_a_flag_counts_unless_its_kind_is_ignored(which, kind):
    act = raising()[which]
    with np.errstate(**{which: kind}, call=print):
        act()
        assert report() & BITS[which] == (0 if kind == "ignore" else BITS[which])
    with np.errstate(all="ignore"):
        act()
        assert report() == 0


def test_the_default_state():
    for which, expected in (("divide", 1), ("over", 2), ("under", 0), ("invalid", 8), (None, 0)):
        raising()[which]()
        assert report() == expected
        assert report() == expected           # asking changes nothing
        clear()
        assert report() == 0


def test_every_combination_of_kinds():
    actions = raising()
    for kinds in itertools.product(["ignore", "warn"], repeat=4):
        with np.errstate(**dict(zip(BITS, kinds))):
            for which, kind in zip(BITS, kinds):
                actions[which]()
                assert report() == (BITS[which] if kind == "warn" else 0)


def test_the_state_is_that_of_the_context():
    def inside():
        np.seterr(divide="ignore")
        raising()["divide"]()
        return report()

    assert contextvars.copy_context().run(inside) == 0
    raising()["divide"]()
    assert report() == 1


def test_states_that_come_and_go():
    for _ in range(200):
        with np.errstate(divide="ignore"):
            raising()["divide"]()
            assert report() == 0
        with np.errstate(divide="raise"):
            raising()["divide"]()
            assert report() == 1
    old = np.seterr(all="ignore")
    try:
        raising()["invalid"]()
        assert report() == 0
    finally:
        np.seterr(**old)


def test_an_exception_in_flight_is_kept():
    """The test may run while an exception is being handled, and asks NumPy for a state that it has not seen."""
    with np.errstate(under="warn"):
        try:
            raise KeyError(1)
        except KeyError as error:
            raising()["under"]()
            assert report() == 4
            with pytest.raises(KeyError):
                raise error


@pytest.mark.parametrize("ufunc, signature, args", [
    (np.add, "dd->d", (1.5, 2.0)), (np.multiply, "ff->f", (1.5, 2.0)), (np.exp, "d->d", (0.5,)),
    (np.less, "dd->?", (1, 2)),
    (np.isnan, "d->?", (1.0,)), (np.add, "??->?", (True, False)), (np.logaddexp, "dd->d", (1.0, 2.0)),
    (np.divide, "DD->D", (1j, 2.0)), (np.ldexp, "dl->d", (1.5, 3)), (scipy.special.erf, "d->d", (0.5,)),
    (scipy.special.gamma, "d->d", (3.5,)), (scipy.special.jv, "dd->d", (1.0, 2.0)), (np.left_shift, "qq->q", (1, 3)),
])
def test_ufunc_loops_compute_what_the_ufunc_does(ufunc, signature, args):
    function, data = _core.ufunc_loop(ufunc, signature)
    ins, out = signature.split("->")
    n = 5
    buffers = [np.full(n, v, c) for v, c in zip(args, ins)] + [np.zeros(n, out)]
    call = ctypes.PYFUNCTYPE(None, native.ptr, native.ptr, native.ptr, native.ptr)(function)
    call((native.ptr * len(buffers))(*[b.ctypes.data for b in buffers]), native.longs([n]),
         native.longs([b.itemsize for b in buffers]), data)
    want = ufunc(*buffers[:-1])
    assert want.dtype == buffers[-1].dtype and want.tobytes() == buffers[-1].tobytes()


def test_every_listed_loop_is_found():
    ufuncs = [u for space in (np, scipy.special) for u in vars(space).values() if isinstance(u, np.ufunc)]
    assert len(ufuncs) > 200
    for ufunc in ufuncs:
        for signature in ufunc.types:
            try:
                function, _ = _core.ufunc_loop(ufunc, signature)
            except LookupError:
                assert ufunc.signature is None and set(signature) & set("mMOTSUV"), (ufunc, signature)
            else:
                assert function != 0


def test_loops_that_are_not_there():
    with pytest.raises(LookupError, match="add has no loop"):
        _core.ufunc_loop(np.add, "df->d")
    for bad in ("d->d", "dd>d", "", "ddd->d"):
        with pytest.raises(ValueError, match="does not fit"):
            _core.ufunc_loop(np.add, bad)
    with pytest.raises(TypeError):
        _core.ufunc_loop(len, "dd->d")
