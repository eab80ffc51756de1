"""Host steps: scalars, shapes, views, elements, calls; and where they leave."""
from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

from jitcore.backends.cpu import checks

from .harness import BOOL, COMPLEX, FLOAT, INT, Maker, array, strong


def test_python_numbers() -> None:
    m = Maker(2, 3.0, True, 1j)
    i, d, t, z = m.inputs
    f = m.finish(m.node("py", i, i, type=INT, fn="mul", exit=0), m.node("py", d, i, type=FLOAT, fn="truediv", exit=0),
                 t, z, m.node("py", i, d, type=BOOL, fn="lt"))
    exit, got = f(7, 3.5, False, 2 - 1j)
    assert exit == 1 and got == [49, 0.5, False, 2 - 1j, False]
    assert f(1 << 40, 1.0, True, 0j)[0] == 0        # the product does not fit
    assert f(0, 1.0, True, 0j)[0] == 0              # ZeroDivisionError
    assert f.lowered.n_out == 6                     # a complex number takes two words


def test_index_arithmetic() -> None:
    m = Maker(5, 3)
    a, b = m.inputs
    names = ["add", "sub", "mul", "max", "min", "satsub", "floordiv"]
    f = m.finish(*(m.node("idx", a, b, type=INT, fn=fn) for fn in names))
    for x, y in [(5, 3), (3, 5), (-7, 2), (7, 2), (-6, 3)]:
        assert f(x, y)[1] == [x + y, x - y, x * y, max(x, y), min(x, y), max(x - y, 0), x // y]


def test_checks() -> None:
    m = Maker(5, 3)
    a, b = m.inputs
    length = m.node("bcast", a, b, type=INT, exit=0)
    f = m.finish(length)
    assert f(5, 5)[1] == f(5, 1)[1] == f(1, 5)[1] == [5]
    assert f(1, 0)[1] == f(0, 1)[1] == [0]
    assert f(5, 3)[0] == 0
    m = Maker(5, 3)
    f = m.finish(m.node("wrap", *m.inputs, type=INT, exit=0))
    assert [f(k, 3) for k in (-4, -3, -1, 0, 2, 3)] == [(0, []), (1, [0]), (1, [2]), (1, [0]), (1, [2]), (0, [])]
    m = Maker(5, 3)
    m.node("same", *m.inputs, exit=0)
    f = m.finish(m.inputs[0])
    assert f(3, 3)[0] == 1 and f(3, 4)[0] == 0


@pytest.mark.parametrize("dtype", ["e", "f", "d", "F", "D"])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("fma", [checks.has_fma(), False])
def test_finite_numbers(dtype: str, number: int, fma: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "has_fma", lambda: fma)
    kind = np.dtype(dtype).type
    usual = [kind(x) for x in (0.0, -2.5, 1e-7, 3.0, -0.0, 1.0, 0.25)][:number]
    m = Maker(*usual)
    f = m.finish(m.node("finite", *m.inputs, type=BOOL))
    assert f(*usual) == (1, [True])
    largest = np.finfo(dtype).max
    for k in range(number):
        for x in (np.inf, -np.inf, np.nan, *([complex(1, np.inf), complex(np.nan, 0)] if dtype in "FD" else [])):
            assert f(*usual[:k], kind(x), *usual[k + 1:]) == (1, [False])
        assert f(*usual[:k], kind(largest / 8), *usual[k + 1:]) == (1, [True])
        assert f(*usual[:k], kind(np.finfo(dtype).smallest_subnormal), *usual[k + 1:]) == (1, [True])
    assert f(*[kind(largest)] * number) in [(1, [True])] + [(1, [False])] * (number > 1)    # together they overflow


def test_strong_scalars() -> None:
    m = Maker(np.float64(1), np.float32(2), np.int8(3), np.uint64(4))
    a, b, c, d = m.inputs
    f = m.finish(m.ew("divide", a, a), m.ew("add", b, b), m.ew("add", c, c), m.node("unbox", c, type=INT),
                 m.node("unbox", d, type=INT), m.ew("logaddexp", a, a))
    exit, got = f(np.float64(3), np.float32(0.1), np.int8(100), np.uint64(9))
    assert exit == 1
    assert got == [1.0, np.float32(0.1) + np.float32(0.1), np.int8(-56), 100, 9, np.logaddexp(3.0, 3.0)]
    assert f(np.float64(0), np.float32(0), np.int8(1), np.uint64(1))[0] == 0
    assert f(np.float64(1), np.float32(3e38), np.int8(1), np.uint64(1))[0] == 0
    assert f(np.float64(1), np.float32(1), np.int8(1), np.uint64(1 << 63))[0] == 0


def test_casts_of_weak_ints() -> None:
    m = Maker(1)
    f = m.finish(m.cast(m.inputs[0], "B"), m.cast(m.inputs[0], "d"))
    assert f(255)[1] == [255, 255.0]
    assert f(256)[0] == 0 and f(-1)[0] == 0


def test_views() -> None:
    x = np.arange(12.0).reshape(3, 4)
    m = Maker(x)
    a, = m.inputs
    rows, cols = a.shape
    step0, step1 = (m.node("stride", a, type=INT, axis=k) for k in (0, 1))
    turned = m.node("view", a, m.const(0, INT), step1, step0, type=array("d", 2, "F"), shape=(cols, rows),
                    kind="transpose", arg=None)
    back = m.node("view", turned, m.node("idx", step1, m.const(3, INT), type=INT, fn="mul"),
                  m.node("idx", m.const(0, INT), step1, type=INT, fn="sub"), type=array("d", 1, "A"), shape=(cols,),
                  kind="slice", arg=None)
    f = m.finish(turned, back, m.ew("add", back, back), m.ew("multiply", turned, turned), m.reduce("add", back))
    for shape in [(3, 4), (5, 4), (2, 4)]:
        x = np.random.default_rng(3).random(shape)
        exit, got = f(x)
        assert exit == 1
        want = x.T, x[0, ::-1], x[0, ::-1] * 2, x.T * x.T, x[0, ::-1].sum()
        for g, w in zip(got, want):
            np.testing.assert_array_equal(g, w)
        assert got[0].base is x and got[1].base is x and got[0].strides == x.T.strides
        assert got[3].flags.f_contiguous and not got[3].flags.c_contiguous
        assert not got[2].flags.owndata or got[2].base is None


def test_elements() -> None:
    x = np.arange(12.0).reshape(3, 4)[:, ::2]
    m = Maker(x, 1, 1)
    a, i, j = m.inputs
    wrapped = [m.node("wrap", k, n, type=INT, exit=0) for k, n in zip((i, j), a.shape)]
    fresh = m.node("copy", a, type=array("d", 2, "C"), shape=a.shape, order="C")
    picked = m.node("load", a, *wrapped, type=strong("d"))
    m.node("store", fresh, m.ew("add", picked, picked), *wrapped)
    f = m.finish(picked, fresh)
    exit, got = f(x, -1, 1)
    want = x.copy()
    want[-1, 1] *= 2
    assert exit == 1 and got[0] == x[-1, 1]
    np.testing.assert_array_equal(got[1], want)
    assert got[1].flags.c_contiguous and x[-1, 1] == 10.0
    assert f(x, 3, 0)[0] == 0


@pytest.mark.parametrize("order, layout", [("C", "C"), ("F", "F"), ("K", "A")])
def test_copies(order: str, layout: str) -> None:
    x = np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)
    m = Maker(x)
    f = m.finish(m.node("copy", m.inputs[0], type=array("d", 3, layout), shape=m.inputs[0].shape, order=order))
    exit, got = f(x)
    assert exit == 1 and f.kernels == 1
    np.testing.assert_array_equal(got[0], x)
    assert got[0].strides == x.copy(order).strides


def test_fill_and_range() -> None:
    x = np.arange(5.0)
    m = Maker(x, np.float64(3.0))
    a, c = m.inputs
    full = m.node("splat", c, type=array("d", 1, "C"), shape=a.shape)
    steps = m.node("iota", m.const(np.float64(1.5)), m.const(np.float64(0.25)), type=array("d", 1, "C"), shape=a.shape)
    whole = m.node("iota", m.const(np.int64(2)), m.const(np.int64(3)), type=array("l", 1, "C"), shape=a.shape)
    f = m.finish(full, steps, whole, m.ew("add", m.ew("multiply", a, full), steps))
    assert len(f.plan.kernels()) == 1
    for n in (0, 1, 5, 1200):
        x = np.random.default_rng(n).random(n)
        exit, got = f(x, np.float64(3.0))
        i = np.arange(n)
        assert exit == 1
        for g, w in zip(got, (np.full(n, 3.0), 1.5 + i * 0.25, 2 + 3 * i, x * 3.0 + (1.5 + i * 0.25))):
            np.testing.assert_array_equal(g, w)


def test_calls() -> None:
    x = np.array([3.0, 1.0, 2.0])
    m = Maker(x, 2, 0.5, True, 1j, np.float32(2))
    a = m.inputs[0]
    index = [m.graph.add_object(o) for o in (np.dot, len, float, np.array, complex)]

    def call(callee: int, template: tuple, *operands: object, type: object, kwnames: tuple = ()) -> object:
        return m.node("call", *operands, type=type, callee=index[callee], template=template, kwnames=kwnames, exit=0)

    twice = m.ew("add", a, a)
    dot = call(0, (("v", 0), ("v", 1)), a, twice, type=strong("d"))
    size = call(1, (("v", 0),), a, type=INT)
    number = call(2, (("v", 0),), m.inputs[1], type=FLOAT)
    z = call(4, (("v", 0),), m.inputs[2], type=COMPLEX)
    boxed = call(3, (("v", 0), ("c", np.dtype("d"))), m.inputs[5], type=array("d", 0, "C"), kwnames=("dtype",))
    f = m.finish(dot, size, number, z, boxed, m.ew("multiply", a, m.ew("add", dot, dot)))
    exit, got = f(x, 2, 0.5, True, 1j, np.float32(2))
    assert exit == 1 and f.calls == 5
    assert got[:4] == [28.0, 3, 2.0, 0.5 + 0j] and got[4].shape == () and got[4] == 2.0
    np.testing.assert_array_equal(got[5], x * 56)
    bad = Maker(x)
    index = [bad.graph.add_object(np.dot)]
    m = bad
    f = m.finish(m.node("call", m.inputs[0], type=strong("d"), callee=index[0], template=(("v", 0), ("c", "text")),
                        kwnames=(), exit=0))
    assert f(x)[0] == 0


def test_no_references_are_lost() -> None:
    x = np.arange(40.0).reshape(5, 8)
    m = Maker(x, 2.5)
    a, c = m.inputs
    t = m.ew("multiply", a, m.node("unbox", c, type=strong("d")))
    f = m.finish(t, m.reduce("add", t, (0,)), a)
    f(x, 2.5)
    before = sys.getrefcount(x)
    blocks = sys.getallocatedblocks()
    for _ in range(2000):
        f(x, 2.5)
    gc.collect()
    assert sys.getrefcount(x) == before
    assert sys.getallocatedblocks() - blocks < 200
