"""Reductions: NumPy's bits, over shapes, memory orders, axes and dtypes; one kernel with its chain."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

from .harness import Maker, strong

RNG = np.random.default_rng(7)

SHAPES_1D = [(n,) for n in (1, 2, 7, 8, 9, 15, 16, 17, 127, 128, 129, 130, 136, 255, 256, 257, 1000, 4099, 8192, 8193,
                            20000)]
SHAPES_2D = [(1, 1), (1, 7), (7, 1), (3, 5), (5, 3), (2, 300), (300, 2), (130, 129), (17, 1000), (1000, 17), (3, 9000),
             (9000, 3), (600, 700)]
SHAPES_3D = [(1, 1, 1), (2, 3, 4), (1, 5, 300), (5, 1, 300), (300, 5, 1), (4, 1, 1), (9, 130, 8), (8, 9, 130),
             (2, 64, 128), (33, 3, 33)]


def same(got: object, want: object) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == want.tobytes()
    if got.size > 1:
        assert all(g == w for g, w, n in zip(got.strides, want.strides, got.shape) if n > 1)


def values(shape: tuple[int, ...], dtype: str, order: str) -> np.ndarray:
    if dtype in "fd":
        x = RNG.standard_normal(shape) * 10.0 ** RNG.integers(-3, 4, shape)
    elif dtype == "?":
        x = RNG.random(shape) < 0.5
    else:
        x = RNG.integers(0, 100, shape)
    return np.asarray(x.astype(dtype), order=order)


def strided(x: np.ndarray, step: int) -> np.ndarray:
    """The same elements with gaps between them."""
    wide = np.zeros(x.size * step, x.dtype)
    view = wide[::step]
    view[...] = x
    return view


@pytest.mark.parametrize("op, dtype", [("add", "d"), ("add", "f"), ("add", "l"), ("multiply", "d"), ("maximum", "d"),
                                       ("minimum", "f"), ("maximum", "i"), ("logical_or", "?"), ("add", "i"),
                                       ("add", "?"), ("bitwise_xor", "l")])
def test_one_axis(op: str, dtype: str) -> None:
    ufunc = getattr(np, op)
    for step in (1, 3):
        def make(shape: tuple[int, ...], step: int = step) -> np.ndarray:
            x = values(shape, dtype, "C")
            return x if step == 1 else strided(x, step)

        m = Maker(make((5,)))
        f = m.finish(m.reduce(op, m.inputs[0]))
        assert [len(k.reductions) for k in f.plan.kernels()] == [1]
        for shape in SHAPES_1D[1:]:
            x = make(shape)
            with np.errstate(all="ignore"):
                exit, got = f(x)
                want = ufunc.reduce(x)
            if exit == 0:
                assert op == "multiply" and not np.isfinite(want)
                continue
            same(got[0], want)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("op, dtype", [("add", "d"), ("add", "f"), ("maximum", "d"), ("add", "h")])
@pytest.mark.parametrize("ndim", [2, 3])
def test_axes(op: str, dtype: str, order: str, ndim: int) -> None:
    ufunc = getattr(np, op)
    shapes = SHAPES_2D if ndim == 2 else SHAPES_3D
    for count in range(1, ndim + 1):
        for axes in itertools.combinations(range(ndim), count):
            for keepdims in (False, True):
                first = values(tuple(range(2, 2 + ndim)), dtype, order)
                m = Maker(first)
                f = m.finish(m.reduce(op, m.inputs[0], axes, keepdims))
                for shape in shapes:
                    x = values(shape, dtype, order)
                    exit, got = f(x)
                    assert exit == 1 and f.kernels == 1 and f.calls == 0
                    same(got[0], ufunc.reduce(x, axis=axes, keepdims=keepdims))


def test_chain_is_one_kernel() -> None:
    x, w = values((40, 300), "d", "C"), values((300,), "d", "C")
    m = Maker(x, w)
    a, b = m.inputs
    t = m.ew("multiply", m.ew("subtract", a, b), m.ew("subtract", a, b))
    f = m.finish(m.reduce("add", t, (0,)), m.reduce("add", t, (0,)), m.reduce("maximum", t, (0,)))
    assert len(f.plan.kernels()) == 1
    for shape in [(40, 300), (1, 3), (7, 1), (700, 5), (3, 9000)]:
        x, w = values(shape, "d", "C"), values(shape[1:], "d", "C")
        exit, got = f(x, w)
        want = (x - w) * (x - w)
        assert exit == 1 and f.kernels == 1
        same(got[0], want.sum(axis=0))
        same(got[2], want.max(axis=0))
    f_all = Maker(x, w)
    a, b = f_all.inputs
    t = f_all.ew("multiply", a, b)
    native = f_all.finish(f_all.reduce("add", t), t)
    assert len(native.plan.kernels()) == 1
    for shape in [(40, 300), (1, 3), (7, 1), (700, 5), (3, 9000)]:
        x, w = values(shape, "d", "C"), values(shape[1:], "d", "C")
        exit, got = native(x, w)
        same(got[0], (x * w).sum())
        same(got[1], x * w)


def test_two_steps() -> None:
    """A result of a reduction goes into the next kernel; what is dear is stored, what is cheap done again."""
    x = values((1000,), "d", "C")
    m = Maker(x)
    a, = m.inputs
    top = m.reduce("maximum", a)
    e = m.ew("exp", m.ew("subtract", a, top))
    f = m.finish(m.ew("divide", e, m.reduce("add", e)))
    kernels = f.plan.kernels()
    assert [(len(k.outputs), len(k.reductions)) for k in kernels] == [(0, 1), (1, 1), (1, 0)]
    exit, got = f(x)
    want = np.exp(x - x.max())
    assert exit == 1 and f.kernels == 3
    np.testing.assert_allclose(got[0], want / want.sum(), rtol=1e-14)
    m = Maker(x)
    a, = m.inputs
    d = m.ew("subtract", a, m.reduce("add", a))
    f = m.finish(m.ew("multiply", d, m.reduce("add", m.ew("multiply", d, d))))
    assert [(len(k.outputs), len(k.reductions)) for k in f.plan.kernels()] == [(0, 1), (0, 1), (1, 0)]
    want = x - x.sum()
    same(f(x)[1][0], want * (want * want).sum())


def test_empty() -> None:
    m = Maker(values((2, 3), "d", "C"))
    a, = m.inputs
    f = m.finish(m.reduce("add", a), m.reduce("add", a, (0,)))
    for shape in [(0, 3), (3, 0), (0, 0)]:
        x = np.zeros(shape)
        exit, got = f(x)
        assert exit == 1
        same(got[0], x.sum())
        same(got[1], x.sum(axis=0))
    f = m = Maker(values((2, 3), "d", "C"))
    f = m.finish(m.reduce("maximum", m.inputs[0], (0,)))
    assert f(np.zeros((0, 3)))[0] == 0
    exit, got = f(np.zeros((3, 0)))
    assert exit == 1 and got[0].shape == (0,)


def test_start_and_zero_signs() -> None:
    m = Maker(np.ones(5), 2.5)
    a, start = m.inputs
    start = m.node("unbox", start, type=strong("d"))
    f = m.finish(m.reduce("add", a, initial=start))
    for n in (0, 1, 5, 300):
        x = values((n,), "d", "C")
        same(f(x, 2.5)[1][0], np.add.reduce(x, initial=2.5))
    m = Maker(np.ones(5))
    f = m.finish(m.reduce("add", m.inputs[0]))
    for x in (np.array([-0.0]), np.full(20, -0.0)):
        same(f(x)[1][0], x.sum())
    m = Maker(np.ones(5))
    f = m.finish(m.reduce("maximum", m.inputs[0]))
    assert f(np.array([0.0, -0.0, -1.0]))[0] == 0          # NumPy's choice of zero is left to NumPy
    same(f(np.array([-0.0, -0.0, -1.0]))[1][0], np.float64(-0.0))
    same(f(np.array([0.0, -0.0, 1.0]))[1][0], np.float64(1.0))


def test_nan_and_inf() -> None:
    m = Maker(np.ones(5))
    f = m.finish(m.reduce("add", m.inputs[0]), m.reduce("maximum", m.inputs[0]))
    x = np.arange(40.0)
    x[17] = np.nan
    exit, got = f(x)
    assert exit == 1 and np.isnan(got[0]) and np.isnan(got[1])
    x[17] = 1e308
    x[18] = 1e308
    assert f(x)[0] == 0                                     # an overflow that NumPy reports
    x[17] = np.inf
    exit, got = f(x)
    assert exit == 1 and got == [np.inf, np.inf]
    x[18] = -np.inf
    assert f(x)[0] == 0


def test_left_to_numpy() -> None:
    """What has no certain order: NumPy adds, on the array that the chain gives."""
    x = values((30, 40), "d", "C")[::2, ::3]
    m = Maker(x)
    f = m.finish(m.reduce("add", m.ew("multiply", m.inputs[0], m.inputs[0])))
    exit, got = f(x)
    assert exit == 1 and f.calls == 1
    same(got[0], (x * x).sum())
    m = Maker(values((30, 5), "f", "C"))
    f = m.finish(m.reduce("add", m.inputs[0], (0,), sig="dd->d"))
    y = values((9000, 5), "f", "C")
    exit, got = f(y)
    assert exit == 1 and f.calls == 1
    same(got[0], np.add.reduce(y, axis=0, dtype="d"))
    z = values((30,), "d", "C") + 1j
    m = Maker(z)
    f = m.finish(m.reduce("add", m.inputs[0]))
    exit, got = f(z)
    assert exit == 1 and f.calls == 1
    same(got[0], z.sum())


@pytest.mark.parametrize("source, target", [("f", "d"), ("l", "d"), ("B", "f"), ("?", "d"), ("e", "f"), ("d", "f")])
def test_sums_of_converted_elements(source: str, target: str) -> None:
    """NumPy converts in buffers of 8192 elements and adds the sums of these one by one."""
    for ndim, order in ((1, "C"), (2, "C"), (2, "F")):
        m = Maker(values((2, 3)[:ndim], source if source != "e" else "f", order).astype(source))
        f = m.finish(m.reduce("add", m.inputs[0], sig=f"{target}{target}->{target}"))
        assert len(f.plan.kernels()) == 1
        for shape in [(1, 1), (7, 3), (8192, 2), (8193, 1), (3, 9001), (50001, 1)]:
            shape = (shape[0] * shape[1],) if ndim == 1 else shape
            x = np.asarray((values(shape, "d", "C") % 100).astype(source), order=order)
            if ndim == 2 and x.flags.c_contiguous != (order == "C"):
                continue
            exit, got = f(x)
            assert exit == 1 and f.calls == 0
            same(got[0], np.add.reduce(x, axis=None, dtype=target))
