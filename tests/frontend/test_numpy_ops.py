"""Operators and ufunc calls on arrays and NumPy scalars, against NumPy."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

from jitcore.frontend import numpy_ops
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Known
from tests.frontend.numpy_fake import Traced, check, plain

DTYPES = "?bBhHiIlLefdFD"
BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "divmod": divmod,
}
COMPARE = {name: getattr(operator, name) for name in ("lt", "le", "eq", "ne", "gt", "ge")}
UNARY = {"neg": operator.neg, "pos": operator.pos, "invert": operator.invert, "abs": abs}
WEAK = [True, 0, 2, -1, 3, 300, 2**40, 0.0, 1.5, 0.5, 2.0, float("inf"), float("nan"), 1e300, 2j]


def values(char: str) -> np.ndarray:
    if char == "?":
        return np.array([True, False, True])
    if char in "bhil":
        info = np.iinfo(char)
        return np.array([0, 1, -1, 3, -7, info.max, info.min], char)
    if char in "BHIL":
        return np.array([0, 1, 3, 200, np.iinfo(char).max], char)
    if char in "efd":
        return np.array([0.0, -0.0, 1.5, -2.25, 2.0, 0.5, np.inf, -np.inf, np.nan, 1e4, 3.1], char)
    return np.array([0, 1.5 + 2j, -1j, 2, complex(np.inf, 1), complex(np.nan, 0)], char)


def plainly(char: str) -> np.ndarray:
    """Values that report nothing in most operations."""
    return values(char)[1:3] if char == "?" else np.array([3, 1, 2, 5], char)


def binary(name: str):
    return lambda m, a, b: numpy_ops.binary(m, name, a, b)


@pytest.mark.parametrize("name", [*BINARY, *COMPARE])
def test_array_operators_over_all_dtypes(name: str) -> None:
    function = (BINARY | COMPARE)[name]
    trace = binary(name) if name in BINARY else (lambda m, a, b: numpy_ops.compare(m, name, a, b))
    done = 0
    for a, b in itertools.product(DTYPES, DTYPES):
        x, y = plainly(a), plainly(b)
        n = min(len(x), len(y))
        others = ((values(a)[:3], values(b)[:3]), (values(a)[-3:], values(b)[-3:]), (x[:0], y[:0]))
        done += check(trace, function, (x[:n], y[:n]), others, may_refuse=True, ulps=4) is not None
    assert done >= {
        "and": 60,
        "or": 60,
        "xor": 60,
        "lshift": 50,
        "rshift": 50,
        "divmod": 90,
        "floordiv": 90,
        "mod": 90,
        "pow": 30,
        "mul": 120,
        "truediv": 120,
    }.get(name, 140)


@pytest.mark.parametrize("name", [*BINARY, *COMPARE])
def test_array_with_python_number(name: str) -> None:
    function = (BINARY | COMPARE)[name]
    trace = binary(name)
    done = 0
    for char, number in itertools.product(DTYPES, WEAK):
        x = plainly(char)
        if char == "e" and number == 2**40:
            continue  # NumPy makes inf of it silently, a region restarts
        done += check(trace, function, (x, number), ((values(char), number),), may_refuse=True, ulps=4) is not None
        check(trace, function, (number, x), ((number, values(char)),), may_refuse=True, ulps=4)
        known = Known(number)
        check(
            lambda m, a, k=known: numpy_ops.binary(m, name, a, k),
            lambda a, k=number: function(a, k),
            (x,),
            ((values(char),),),
            may_refuse=True,
            ulps=4,
        )
    assert done > 20


@pytest.mark.parametrize("name", [*BINARY, *COMPARE])
def test_numpy_scalars(name: str) -> None:
    """NumPy scalars have arithmetic of their own: types, bits and warnings."""
    function = (BINARY | COMPARE)[name]
    trace = binary(name)
    done = 0
    for a, b in itertools.product("?bBilLefdFD", "?bBilLefdFD"):
        if name == "pow" and a + b not in ("dd", "df", "ll", "ii", "bh", "ff"):
            continue
        pairs = [(x, y) for x in values(a) for y in values(b) if name != "pow" or abs(y) < 100 or y.dtype.kind == "f"][
            ::5
        ]
        ready = (plainly(a)[-1], plainly(b)[1])
        done += check(trace, function, ready, tuple(pairs), may_refuse=True) is not None
    for a, number in itertools.product(DTYPES, WEAK):
        if name == "pow" and number in (300, 2**40):
            continue  # NumPy wraps silently, a region restarts
        if name in ("lt", "le", "gt", "ge") and a in "FD" and number != number:
            continue  # a ufunc would report, the scalar's operator does not
        others = tuple((x, number) for x in values(a))
        done += check(trace, function, (plainly(a)[0], number), others, may_refuse=True) is not None
        some = [x for x in values(a) if name != "pow" or a in "efdFD" or abs(int(x)) < 100]
        check(trace, function, (number, plainly(a)[0]), tuple((number, x) for x in some), may_refuse=True)
    assert done > 15 if name == "pow" else done > 60


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    done = 0
    for char in DTYPES:

        def trace(m, a):
            return numpy_ops.unary(m, name, a)

        done += check(trace, UNARY[name], (plainly(char),), ((values(char),),), may_refuse=True) is not None
        check(trace, UNARY[name], (plainly(char)[0],), tuple((v,) for v in values(char)), may_refuse=True)
        check(trace, UNARY[name], (np.array(plainly(char)[0]),), (), may_refuse=True)
    assert done >= (9 if name == "invert" else 12)


def test_power_takes_numpys_short_cuts() -> None:
    x = np.array([-0.0, 4.0, 2.25])
    for exponent, op in ((2, "square"), (-1, "reciprocal"), (0.5, "sqrt"), (2.0, "square"), (3, "power")):
        known = Known(exponent)
        y = x[1:] if exponent == -1 else x
        traced = check(lambda m, a, k=known: numpy_ops.binary(m, "pow", a, k), lambda a, e=exponent: a**e, (y,), ulps=1)
        assert traced is not None
        assert [n.attrs["op"] for n in traced.graph.nodes() if n.op == "ew"] == [op]
    check(binary("pow"), operator.pow, (x, 0.5), ((x, 3.0),), ulps=1)  # an exponent at run time
    half = x[1:].astype("e")
    check(binary("pow"), operator.pow, (half, 0.5), ((half, 3.0),))
    assert Traced(binary("pow"), (half, 3.0)).run(half, 0.5) == "restart"
    ints = np.arange(4)
    check(binary("pow"), operator.pow, (ints, 2))
    with pytest.raises(Unsupported):
        Traced(binary("pow"), (ints, -1))


SHAPES = [
    ((3,), (3,)),
    ((3,), (1,)),
    ((1,), (3,)),
    ((2, 3), (3,)),
    ((2, 3), (2, 1)),
    ((4, 1, 3), (2, 1)),
    ((0,), (1,)),
    ((0, 3), (3,)),
    ((1, 1), (1,)),
    ((), (3,)),
    ((), ()),
    ((2, 3), ()),
]


@pytest.mark.parametrize("shapes", SHAPES)
def test_broadcasting(shapes) -> None:
    a, b = (np.arange(1.0, int(np.prod(s)) + 1).reshape(s) for s in shapes)
    ones = [np.ones((5,) * len(s)) for s in shapes]
    check(binary("add"), operator.add, (a, b), (tuple(ones), (ones[0], ones[1][..., :1].copy() if b.ndim else ones[1])))


def test_broadcast_lengths_are_canonical() -> None:
    """The same lengths in any order are the same values; equal inputs are guarded equal."""

    def trace(m, x, y, z):
        one = numpy_ops.binary(m, "add", numpy_ops.binary(m, "add", x, y), z)
        two = numpy_ops.binary(m, "mul", numpy_ops.binary(m, "mul", z, x), y)
        three = numpy_ops.binary(m, "mul", one, x)
        assert m.force(one).shape == m.force(two).shape == m.force(three).shape
        return numpy_ops.binary(m, "sub", one, two)

    x, y, z = np.ones((2, 3)), np.ones((1, 3)), np.ones((2, 1))
    traced = check(
        trace,
        lambda x, y, z: (x + y + z) - (z * x * y),
        (x, y, z),
        ((np.ones((7, 1)), np.ones((7, 1)), np.ones((1, 1))),),
    )
    assert traced is not None and traced.count("bcast") == 2
    traced = check(trace, lambda x, y, z: (x + y + z) - (z * x * y), (x, x, x), ((z, y, z), (z, z, z)))
    assert traced is not None and traced.count("bcast") == 0


@pytest.mark.parametrize("orders", list(itertools.product("CFS", repeat=2)))
def test_memory_order(orders) -> None:
    made = {"C": np.ones((3, 4)), "F": np.ones((4, 3)).T, "S": np.ones((6, 8))[::2, ::2]}
    x, y = (made[o] for o in orders)
    traced = Traced(binary("add"), (x, y))
    got, want = traced.run(x, y), x + y
    result = traced.result.type.layout
    if result != "A":
        assert getattr(want.flags, f"{result.lower()}_contiguous")
    assert got.flags.c_contiguous == want.flags.c_contiguous


def test_mismatched_lengths_restart() -> None:
    traced = Traced(binary("add"), (np.ones(3), np.ones(1)))
    assert traced.run(np.ones(3), np.ones(2)) == "restart"


def ufunc(function, **known):
    return lambda m, *args: numpy_ops.call_ufunc(m, function, list(args), {k: Known(v) for k, v in known.items()})


@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "sqrt",
        "sin",
        "log1p",
        "floor",
        "isnan",
        "sign",
        "logical_not",
        "square",
        "maximum",
        "arctan2",
        "hypot",
        "logaddexp",
        "fmin",
        "logical_and",
        "copysign",
        "nextafter",
        "equal",
        "true_divide",
        "gcd",
        "ldexp",
        "modf",
        "frexp",
        "divmod",
    ],
)
def test_ufuncs(name: str) -> None:
    function = getattr(np, name)
    done = 0
    for chars in itertools.product(DTYPES, repeat=function.nin):
        args = tuple(plainly(c)[:2] for c in chars)
        others = (tuple(values(c)[:3] for c in chars), tuple(plainly(c)[0] for c in chars))
        done += check(ufunc(function), function, args, others[:1], may_refuse=True, ulps=4) is not None
        check(ufunc(function), function, others[1], (), may_refuse=True, ulps=4)
    for args in itertools.product([2, 1.5, np.float32(3)], repeat=function.nin):
        check(ufunc(function), function, args, (), may_refuse=True, ulps=4)
    assert done >= 3 or name in ("modf", "frexp", "divmod")


def test_ufunc_keywords() -> None:
    x, y = np.arange(4.0), np.arange(4, dtype="f")
    for dtype in (None, np.float32, "d", np.dtype("F"), float):
        check(ufunc(np.add, dtype=dtype), lambda a, b, d=dtype: np.add(a, b, dtype=d), (x, y))
    check(ufunc(np.add, where=True, casting="same_kind", order="K", subok=True, out=None), np.add, (x, y))
    for bad in (
        {"where": False},
        {"casting": "no"},
        {"order": "F"},
        {"signature": "dd->d"},
        {"dtype": object},
        {"dtype": np.floating},
        {"dtype": "nonsense"},
    ):
        with pytest.raises(Unsupported):
            Traced(ufunc(np.add, **bad), (x, y))
    traced = Traced(lambda m, a, b: numpy_ops.call_ufunc(m, np.add, [a, b], {"out": a}), (x, y))
    assert traced.run(x, y) is x and x.tolist() == [0, 2, 4, 6] and traced.m.stored == [False]
    with pytest.raises(Unsupported):        # float32 does not hold the result
        Traced(lambda m, a, b: numpy_ops.call_ufunc(m, np.add, [a, b], {"out": b, "casting": Known("safe")}), (x, y))


def test_out_and_in_place_on_own_arrays() -> None:
    def trace(m, x, y):
        own = numpy_ops.binary(m, "mul", x, Known(2.0))
        again = numpy_ops.binary(m, "add", own, y, inplace=True)
        assert again is own
        out = numpy_ops.call_ufunc(m, np.exp, [own], {"out": own})
        assert out is own
        return own

    def function(x, y):
        own = x * 2.0
        own += y
        return np.exp(own, out=own)

    check(trace, function, (np.arange(4.0), np.ones(4)), ((np.ones(4), np.ones(4)),), ulps=4)
    check(trace, function, (np.ones(4, "f"), np.ones(4, "f")), (), ulps=4)
    check(trace, function, (np.ones((4, 2)), np.ones(2)), ((np.ones((4, 1)), np.ones(2)),), ulps=4, may_refuse=True)
    check(trace, function, (np.ones(4, "l"), np.ones(4)), (), ulps=4)
    traced = Traced(lambda m, x: numpy_ops.binary(m, "add", x, Known(1), inplace=True), (np.ones(3),))
    x = np.arange(4.0)
    assert traced.run(x) is x and x.tolist() == [1, 2, 3, 4]
    with pytest.raises(Unsupported):  # ints do not hold the result
        Traced(lambda m, x: numpy_ops.binary(m, "add", x, Known(1.5), inplace=True), (np.ones(3, int),))
    with pytest.raises(Unsupported):  # the result is longer than its place
        Traced(
            lambda m, x, y: numpy_ops.binary(m, "add", numpy_ops.unary(m, "neg", x), y, inplace=True),
            (np.ones(1), np.ones(4)),
        )


@pytest.mark.parametrize("other", [None, "text", (1, 2), np.longlong(3), 2**70])
def test_other_operands_are_numpys(other) -> None:
    for name in ("eq", "add"):
        with pytest.raises(Unsupported):
            Traced(binary(name), (np.ones(2), other))


def test_matmul() -> None:
    for a, b in itertools.product(["d", "f", "l", "?", "D"], repeat=2):
        for shapes in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4))]:
            x, y = np.ones(shapes[0], a), np.ones(shapes[1], b)
            check(binary("matmul"), operator.matmul, (x, y))
    check(
        binary("matmul"),
        operator.matmul,
        (np.ones((2, 3)).T, np.ones((4, 2)).T),
        ((np.ones((0, 3)).T, np.ones((4, 0)).T),),
    )
    with pytest.raises(Unsupported):
        Traced(binary("matmul"), (np.ones((2, 3)), np.ones((2, 3))))
    with pytest.raises(Unsupported):
        Traced(binary("matmul"), (np.ones((2, 3)), 2.0))


def test_products_that_report_restart() -> None:
    x = np.array([1e200, np.inf])
    traced = Traced(binary("matmul"), (np.ones(2), np.ones(2)))
    assert traced.run(x, np.array([1e200, 1.0])) == "restart" and plain(operator.matmul, (x, np.array([1e200, 1.0])))[1]


def test_truth() -> None:
    def trace(m, a):
        return numpy_ops.truth(m, a)

    for char in DTYPES:
        check(trace, bool, (plainly(char)[0],), tuple((v,) for v in values(char)))
        check(trace, bool, (np.array(plainly(char)[0]),), tuple((np.array(v),) for v in values(char)))
    with pytest.raises(Unsupported):
        Traced(trace, (np.ones(2),))


def test_plain_reports_warnings() -> None:
    assert plain(operator.truediv, (np.ones(1), np.zeros(1)))[1]
