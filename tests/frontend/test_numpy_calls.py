"""NumPy's C functions and reductions, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy._core import multiarray

from jitcore.frontend import numpy_attrs, numpy_calls, numpy_ops
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Known, NativeMethod, Sequence
from tests.frontend.numpy_fake import Traced, check, known, ramp

DTYPES = "?bBhHiIlLefdFD"


def call(function, *more, **kw):
    """Call ``function`` on the traced arguments and then ``more``."""
    return lambda m, *args: numpy_calls.call_known(
        m, function, [*args, *map(known, more)], {k: known(v) for k, v in kw.items()}
    )


# -- reductions -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name",
    [
        "add",
        "multiply",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "logical_and",
        "logical_or",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
    ],
)
def test_reduce_over_dtypes(name) -> None:
    function = getattr(np, name).reduce
    done = 0
    for char in DTYPES:
        x = ramp((5,), char)
        done += (
            check(call(function), function, (x,), ((ramp((1,), char),), (ramp((0,), char),)), may_refuse=True, ulps=2)
            is not None
        )
        y = ramp((3, 4), char)
        for kw in ({}, {"axis": None}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)}, {"axis": -1}):
            check(
                call(function, **kw),
                lambda a, k=kw: function(a, **k),
                (y,),
                ((ramp((0, 2), char),),),
                may_refuse=True,
                ulps=2,
            )
    assert done >= (9 if name.startswith("bitwise") else 12)


@pytest.mark.parametrize("layout", ["C", "F", "A"])
def test_reduce_shapes_and_layouts(layout) -> None:
    x = {"C": ramp((2, 3, 4)), "F": ramp((4, 3, 2)).T, "A": ramp((4, 3, 4))[::2]}[layout]
    axes = [None, 0, 1, 2, -1, (0, 1), (0, 2), (1, 2), (2, 0), (0, 1, 2)]
    for axis, keepdims, dtype in itertools.product(axes, (False, True), (None, np.float32)):
        kw = {"axis": axis, "keepdims": keepdims, "dtype": dtype}
        assert check(call(np.add.reduce, **kw), lambda a, k=kw: np.add.reduce(a, **k), (x,), ulps=2) is not None
    for kw in ({"initial": None}, {"axis": ()}, {"axis": 1, "where": True, "initial": 3.5}):
        assert check(call(np.maximum.reduce, **kw), lambda a, k=kw: np.maximum.reduce(a, **k), (x,)) is not None
    for bad in ({"axis": 3}, {"axis": (0, 0)}, {"where": False}, {"axis": 1.0}):
        with pytest.raises(Unsupported):
            Traced(call(np.maximum.reduce, **bad), (x,))


def test_reduce_initial_and_empty() -> None:
    for initial in (10, 2.5, np.float64(3)):
        check(
            call(np.add.reduce, initial=initial),
            lambda a, i=initial: np.add.reduce(a, initial=i),
            (ramp((4,)),),
            ((ramp((0,)),),),
        )
        check(
            call(np.maximum.reduce, initial=initial),
            lambda a, i=initial: np.maximum.reduce(a, initial=i),
            (ramp((4,)),),
            ((ramp((0,)),),),
        )
    traced = Traced(call(np.maximum.reduce), (ramp((4,)),))
    assert traced.run(ramp((0,))) == "restart"
    with pytest.raises(Unsupported):
        Traced(call(np.maximum.reduce), (ramp((0,)),))
    with pytest.raises(Unsupported):
        Traced(call(np.add.reduce), (np.float64(3),))


# -- creation ---------------------------------------------------------------------------------------------
def test_zeros_and_like() -> None:
    for args in ((3,), ((2, 3),), ([2, 3], "i"), ((), np.float32), ((2, 3), float, "F"), (np.int64(2),)):
        check(call(np.zeros, *args), lambda a=args: np.zeros(*a), ())

    def sized(m, n):
        return numpy_calls.call_known(m, np.zeros, [Sequence("tuple", [n, Known(2)])], {})

    check(sized, lambda n: np.zeros((n, 2)), (3,), ((0,), (5,), (-1,)))
    check(sized, lambda n: np.zeros((n, 2)), (np.int32(3),))
    for bad in ((-1,), (2.0,), (True,), ((2,), object)):
        with pytest.raises(Unsupported):
            Traced(call(np.zeros, *bad), ())
    for x in (ramp((2, 3)), ramp((3, 2)).T, ramp((3,), "f"), np.float32(2), np.array(2)):
        for kw in ({}, {"dtype": "i"}, {"order": "C"}, {"shape": (4,)}):

            def trace(m, a, k=kw):
                found = numpy_calls.call_known(m, np.empty_like, [a], {n: known(v) for n, v in k.items()})
                numpy_calls.call_known(m, np.copyto, [found, Known(0)], {})
                return found

            check(trace, lambda a, k=kw: np.zeros_like(a, **k), (x,), may_refuse=x.ndim == 2 and "shape" in kw)


def test_copyto_broadcasts() -> None:
    def trace(m, x, y, casting="same_kind"):
        own = numpy_ops.binary(m, "mul", x, Known(2))
        numpy_calls.call_known(m, np.copyto, [own, y], {"casting": Known(casting)})
        return own

    def function(x, y, casting="same_kind"):
        own = x * 2
        np.copyto(own, y, casting=casting)
        return own

    for x in (ramp((2, 3)), ramp((3, 2)).T, ramp((2, 3), "f"), ramp((2, 3), "l")):
        for y in (7, 1.5, np.float64(2.5), ramp((3,)), np.ones(1), ramp((2, 3)), ramp((3, 2)).T, np.array(4), True):
            check(trace, function, (x, y), may_refuse=np.ndim(y) == 1 and len(y) == 1)
            check(
                lambda m, a, b: trace(m, a, b, "unsafe"),
                lambda a, b: function(a, b, "unsafe"),
                (x, y),
                may_refuse=np.ndim(y) == 1 and len(y) == 1,
            )


def test_asarray() -> None:
    for x in (ramp((2, 3)), ramp((3, 2)).T, ramp((4,))[::2]):
        for function, kw in itertools.product(
            (np.asarray, np.asanyarray, np.array), ({}, {"dtype": "d"}, {"dtype": "f"}, {"order": "C"}, {"order": "F"})
        ):
            traced = check(
                call(function, **kw),
                lambda a, f=function, k=kw: f(a, **k),
                (x,),
                may_refuse=x.ndim == 1 or "dtype" in kw,
            )
            if traced is not None and function is not np.array:
                assert (traced.result.source is not None) == (function(x, **kw) is x), (function, kw, x.flags)
        check(call(np.ascontiguousarray), np.ascontiguousarray, (x,))
    for x in (2, 2.5, True, 1j, np.float32(3), np.array(2.0)):
        check(call(np.asarray), np.asarray, (x,))
        check(call(np.array), np.array, (x,))
        check(call(np.array, dtype="f"), lambda a: np.array(a, dtype="f"), (x,), may_refuse=x == 1j)
    check(call(np.array, dtype="B"), lambda a: np.array(a, dtype="B"), (200,), ((300,), (-1,)))
    check(call(np.array, dtype="b"), lambda a: np.array(a, dtype="b"), (20.7,), ((300.0,), (float("nan"),), (-128.5,)))


def test_arrays_of_numbers() -> None:
    def trace(m, *items):
        return numpy_calls.call_known(m, np.array, [Sequence("list", list(items))], {})

    for items in (
        (1.0, 2.0, 3.0),
        (1, 2),
        (1, 2.5),
        (True, 2),
        (np.float32(1), 2.0),
        (np.float32(1), np.float32(2)),
        (np.int8(1), np.uint8(2)),
        (float("nan"), -0.0, 1.0),
        (1j, 2),
    ):
        check(trace, lambda *a: np.array(list(a)), items)


def test_arange() -> None:
    for args in (
        (5,),
        (2, 7),
        (2, 20, 3),
        (0,),
        (-3,),
        (7, 2),
        (7, 2, -2),
        (3, 3),
        (0, 10, 4),
        (5.0,),
        (0.5, 3.0),
        (0.0, 1.0, 0.1),
        (1, 2.5, 0.25),
        (3.0, 0.0, -1.0),
        (3.0, 0.0, 1.0),
    ):
        check(call(np.arange, *args), lambda a=args: np.arange(*a), ())

        def trace(m, *a):
            return numpy_calls.call_known(m, np.arange, list(a), {})

        run_time = tuple(args[:2]) if len(args) < 3 or type(args[2]) is float else None
        if run_time:
            others = tuple(tuple(v + k for v in run_time) for k in (-5, 0, 3, 100))
            check(trace, np.arange, run_time, others)
        if len(args) == 3:
            step = Known(args[2])
            check(
                lambda m, a, b, s=step: numpy_calls.call_known(m, np.arange, [a, b, s], {}),
                lambda a, b, s=step: np.arange(a, b, s.obj),
                args[:2],
                ((args[0], args[1] + 5), (args[1], args[0])) if type(args[0]) is type(args[1]) else (),
            )
        check(call(np.arange, *args, dtype="d"), lambda a=args: np.arange(*a, dtype="d"), ())
    with pytest.raises(Unsupported):
        Traced(call(np.arange, 3, 4, 0), ())


def test_where() -> None:
    x, y = ramp((4,)), ramp((4,), "f")
    for c, a, b in itertools.product(
        (x > 2, x, True, np.array(0), np.float64(1), x[:1] > 0), (x, 2, np.float32(3), np.array(1)), (y, 1.5, np.True_)
    ):
        check(call(np.where), np.where, (c, a, b))
    assert check(call(np.where), np.where, (x,), ((x[:0],), (x - x,), (x[::2].copy(),))) is not None
    with pytest.raises(Unsupported):
        Traced(call(np.where), (x, y))


# -- scalar types, dtypes ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "cls", [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8, np.uint64, np.bool_, np.complex128]
)
def test_scalar_types(cls) -> None:
    for x in (
        2,
        0,
        -1,
        300,
        2.7,
        float("nan"),
        1e300,
        True,
        1j,
        np.float32(2.5),
        np.int64(-3),
        np.uint8(7),
        np.array(3),
        np.array(2.5),
    ):
        others = (
            ((2.0,), (-1.5,), (1e6,), (float("inf"),))
            if type(x) is float
            else ((5,), (-200,), (2**62,))
            if type(x) is int
            else ()
        )
        check(call(cls), cls, (x,), others, may_refuse=True)
    assert check(call(cls), cls, (1,)) is not None
    with pytest.raises(Unsupported):
        Traced(call(cls), (np.ones(2),))
    with pytest.raises(Unsupported):
        Traced(call(cls, "3"), ())


def test_pure_functions_are_folded() -> None:
    for function, args in (
        (np.dtype, ("f",)),
        (np.dtype, (float,)),
        (np.promote_types, ("f", "l")),
        (np.result_type, (np.float32, 1.0)),
        (np.can_cast, ("f", "d")),
        (multiarray.normalize_axis_index, (-1, 3)),
        (np.result_type, (np.dtype("B"), 300)),
    ):
        check(call(function, *args), lambda f=function, a=args: f(*a), ())
    check(call(np.result_type), np.result_type, (ramp((2,), "f"), 2.0))
    check(call(np.result_type), np.result_type, (ramp((2,), "f"), np.float64(2)))
    check(call(np.can_cast, "f"), lambda a: np.can_cast(a.dtype, "f"), (ramp((2,)),))
    for cls in (np.float32, np.float64):
        found = Traced(call(np.finfo, cls), ()).result
        assert isinstance(found, Known) and found.obj.eps == np.finfo(cls).eps
    with pytest.raises(Unsupported):
        Traced(call(np.iinfo, np.float64), ())
    with pytest.raises(Unsupported):
        Traced(call(multiarray.normalize_axis_index, 3, 3), ())


def test_unknown_functions_are_none() -> None:
    for function in (np.sort, print, np.linalg.norm, np.random.rand, np.frombuffer):
        assert numpy_calls.call_known(None, function, [], {}) is None


def test_products() -> None:
    for x, y in (
        (ramp((3,)), ramp((3,))),
        (ramp((2, 3)), ramp((3, 4))),
        (ramp((3, 2)).T, ramp((3,))),
        (ramp((2, 3), "l"), ramp((3, 2), "f")),
    ):
        check(call(np.dot), np.dot, (x, y))
        check(
            lambda m, a, b: numpy_attrs.call_method(m, NativeMethod(a, "dot"), [b], {}), lambda a, b: a.dot(b), (x, y)
        )
    for char in "?ldD":
        x = ramp((4, 3), char)
        check(call(multiarray.count_nonzero), multiarray.count_nonzero, (x,), ((ramp((0, 3), char),),))


def test_reduce_where() -> None:
    mask = np.array([[True, False, True], [False, False, True]])
    for name, char in itertools.product(("add", "multiply", "logical_and", "logical_or", "bitwise_xor"), "?bBld"):
        function = getattr(np, name).reduce
        for axis in (None, 1):

            def trace(m, a, w, f=function, axis=axis):
                return numpy_calls.call_known(m, f, [a], {"where": w, "axis": Known(axis)})

            def plainly(a, w, f=function, axis=axis):
                return f(a, where=w, axis=axis)

            refuses = char == "d" and not name.startswith("logical")
            check(trace, plainly, (ramp((2, 3), char), mask), ((ramp((2, 3), char), ~mask),), may_refuse=refuses)
            check(trace, plainly, (ramp((2, 3), char), mask[0]), (), may_refuse=refuses)


def test_inner_products() -> None:
    for x, y in ((ramp((3,)), ramp((3,))), (ramp((2, 3)), ramp((4, 3))), (ramp((2, 3)), ramp((3,)))):
        check(call(np.inner), np.inner, (x, y))
    check(call(np.vdot), np.vdot, (ramp((3,), "D"), ramp((3,))))
    assert check(call(np.vdot), np.vdot, (ramp((2, 3)), ramp((2, 3)))) is not None
    with pytest.raises(Unsupported):
        Traced(call(np.vdot), (ramp((2, 3)), ramp((2, 4))))


def test_reduce_without_axes() -> None:
    for name, value in itertools.product(("add", "multiply", "maximum", "logical_or"), (2.5, -0.0, np.int8(3), True)):
        function = getattr(np, name).reduce
        x = np.array(value)
        check(call(function, axis=None), lambda a, f=function: f(a, axis=None), (x,))
        check(call(function, axis=(), dtype=None), lambda a, f=function: f(a, axis=()), (x,))
    one = np.array(2.0)
    assert check(call(np.add.reduce, axis=None, initial=1), lambda a: np.add.reduce(a, axis=None, initial=1), (one,))
    with pytest.raises(Unsupported):
        Traced(call(np.add.reduce, axis=1), (one,))
