"""Attributes and methods of arrays and of NumPy scalars, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from jitcore.frontend import numpy_attrs, numpy_ops
from jitcore.frontend.protocol import Redirect, Unsupported
from jitcore.frontend.values import Array, Known, NativeMethod
from tests.frontend.numpy_fake import Traced, check, method, ramp

DTYPES = "?bBhHiIlLefdFD"


# -- attributes and methods -------------------------------------------------------------------------------
def attribute(name):
    return lambda m, a: numpy_attrs.get(m, a, name)


@pytest.mark.parametrize("name", ["shape", "ndim", "size", "dtype", "itemsize", "nbytes", "strides", "T", "real"])
def test_attributes(name) -> None:
    for x in (
        ramp((2, 3)),
        ramp((3, 2), "f").T,
        ramp((4,), "l")[::2],
        np.array(2.5),
        ramp((0, 3), "?"),
        ramp((2, 3, 4), "e"),
        np.float64(2.5),
        np.int8(3),
    ):
        check(attribute(name), lambda a: getattr(a, name), (x,))
    traced = Traced(attribute(name), (ramp((2, 3)),))
    if name == "T":
        assert traced.result.base.source is not None
    if name == "real":
        assert traced.result.source is not None


def test_attributes_left_to_numpy() -> None:
    for name in ("ctypes", "data", "base", "nothing", "__array_interface__"):
        with pytest.raises(Unsupported):
            Traced(attribute(name), (ramp((2, 3)),))
    for name in ("real", "imag"):
        for x in (ramp((2,), "D"), ramp((3, 2), "F").T, ramp((2, 3)), ramp((4,), "D")[::2]):
            assert check(attribute(name), lambda a, n=name: getattr(a, n), (x,)) is not None
    for x in (2, 2.5, True):
        for name in ("real", "imag", "numerator", "denominator"):
            check(
                attribute(name), lambda a, n=name: getattr(a, n), (x,), may_refuse=type(x) is bool or type(x) is float
            )


def test_forwarded_methods_are_numpys_python() -> None:
    from numpy._core import _methods

    def trace(m, a):
        found = numpy_attrs.call_method(m, NativeMethod(a, "mean"), [Known(0)], {"keepdims": Known(True)})
        assert (
            isinstance(found, Redirect)
            and found.func.obj is _methods._mean
            and len(found.args) == 2
            and "keepdims" in found.kwargs
        )
        return a

    Traced(trace, (ramp((3,)),))


@pytest.mark.parametrize(
    "name, args, kw",
    [
        ("astype", ("f",), {}),
        ("astype", (np.int64,), {}),
        ("astype", (bool,), {}),
        ("astype", ("d",), {"copy": False}),
        ("astype", ("d",), {}),
        ("astype", ("D",), {"casting": "safe"}),
        ("astype", ("e",), {"order": "C"}),
        ("copy", (), {}),
        ("copy", ("F",), {}),
        ("copy", ("K",), {}),
        ("conj", (), {}),
        ("reshape", (-1,), {}),
        ("reshape", (3, 4), {}),
        ("reshape", ((4, -1),), {}),
        ("reshape", (2, -1, 3), {}),
        ("reshape", (5, 5), {}),
        ("reshape", (1, 12), {}),
        ("reshape", (-1, 0), {}),
        ("ravel", (), {}),
        ("ravel", ("F",), {}),
        ("flatten", (), {}),
        ("flatten", ("K",), {}),
        ("transpose", (), {}),
        ("transpose", (1, 0), {}),
        ("transpose", ((0, 1),), {}),
        ("transpose", (None,), {}),
        ("swapaxes", (0, -1), {}),
        ("squeeze", (0,), {}),
        ("argmax", (), {}),
        ("argmin", (1,), {}),
        ("argmax", (0,), {"keepdims": True}),
        ("cumsum", (), {}),
        ("cumsum", (1,), {}),
        ("cumprod", (0,), {"dtype": "f"}),
        ("argsort", (), {}),
        ("argsort", (0,), {"kind": "stable"}),
        ("round", (), {}),
        ("round", (2,), {}),
        ("round", (-1,), {}),
        ("dot", (), {}),
        ("item", (), {}),
        ("tolist", (), {}),
        ("fill", (3,), {}),
    ],
)
def test_methods(name, args, kw) -> None:
    done = 0
    for x in (
        ramp((3, 4)),
        ramp((4, 3)).T,
        ramp((6, 4))[::2],
        ramp((12,)),
        ramp((3, 4), "l"),
        ramp((3, 4), "f") / 3,
        ramp((1, 4)),
        np.array(2.5),
        ramp((1,)),
        ramp((1, 1), "i"),
    ):
        done += (
            check(
                method(name, *args, **kw),
                lambda a: getattr(a, name)(*args, **kw),
                (x,),
                ((ramp((4, 3)),), (ramp((0, 3)),))
                if x.shape == (3, 4) and x.flags.c_contiguous and x.dtype == "d"
                else (),
                may_refuse=True,
            )
            is not None
        )
    assert done >= {"round": 3, "item": 3, "tolist": 1, "squeeze": 3, "fill": 0, "dot": 0}.get(name, 2) or args in (
        (5, 5),
        (-1, 0),
    )


def test_reshape_keeps_lengths() -> None:
    """Struck-out lengths keep their values, so that shapes stay comparable."""

    def trace(m, a):
        flat = numpy_attrs.call_method(m, NativeMethod(a, "reshape"), [Known(-1)], {})
        shape = numpy_attrs.get(m, a, "shape").items
        back = numpy_attrs.call_method(m, NativeMethod(flat, "reshape"), [shape[0], Known(-1)], {})
        wide = numpy_attrs.call_method(m, NativeMethod(a, "reshape"), [Known(1), Known(-1), shape[1]], {})
        assert wide.shape[1:] == a.forced.shape
        assert isinstance(back, Array) and back.shape[0] is a.forced.shape[0]
        return numpy_ops.binary(m, "add", wide, a)

    check(trace, lambda a: a.reshape(1, -1, a.shape[1]) + a, (ramp((2, 3)),), ((ramp((4, 1)),), (ramp((5, 2)),)))


def test_views_mark_their_arrays() -> None:
    def trace(m, a):
        own = numpy_ops.binary(m, "add", a, Known(1))
        view = numpy_attrs.get(m, own, "T")
        again = numpy_attrs.get(m, view, "T")
        assert own.shared and view.base is own and again.base is own
        before = own.value
        assert numpy_ops.binary(m, "add", own, Known(1), inplace=True) is own and own.value is before
        numpy_ops.binary(m, "mul", view, Known(2), inplace=True)
        assert m.stored == [True, True]
        return again

    check(trace, lambda a: ((a + 1) + 1) * 2, (ramp((2, 3)),))


def test_scalar_methods() -> None:
    for char in DTYPES:
        x = ramp((3,), char)[1]
        for name, args in (("item", ()), ("tolist", ()), ("conjugate", ()), ("astype", ("f",))):
            check(method(name, *args), lambda a, n=name, k=args: getattr(a, n)(*k), (x,), may_refuse=char in "LFD")
    for name in ("sum", "mean", "hex", "is_integer", "reshape"):
        with pytest.raises(Unsupported):
            Traced(method(name), (np.float64(2),))
