"""The main job: marked NumPy functions give the same and run native."""
from __future__ import annotations

import numpy as np
import pytest

from .compare import check

RNG = np.random.default_rng(0)
SHAPES = [(0,), (1,), (2,), (7,), (1000,), (3, 4), (0, 4), (1, 1), (2, 3, 4)]


def axpy(x, y):
    return x * y + x


def selu(x, alpha=1.6732632423543772, scale=1.0507009873554805):
    return scale * np.where(x > 0, x, alpha * np.exp(x))


def helper(x):
    return x + 1


def calls_helper(x):
    return helper(x) * 2


def norm(x):
    return np.sqrt(np.sum(x * x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def mean_var(x):
    return x.mean(), x.var(), np.mean(x), x.std()


def branch(x, flag):
    if flag:
        return x * 2.0 + 1.0
    return x - 1.0


def attributes(x):
    return x.shape, x.ndim, x.size, x.dtype, (x * 2).T


def diff(x):
    return x[1:] - x[:-1]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1"])
def test_axpy(shape, dtype):
    x, y = (RNG.integers(0, 9, shape).astype(dtype) for _ in range(2))
    check(axpy, lambda: (x.copy(), y.copy()), kernels=1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_selu(shape, dtype):
    x = RNG.standard_normal(shape).astype(dtype)
    check(selu, lambda: (x.copy(),), ulp=8, kernels=1)


def test_inlined_helper():
    check(calls_helper, lambda: (np.arange(5.0),), kernels=1)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 127, 128, 129, 1000, 4099])
def test_norm_is_one_kernel(n):
    x = RNG.standard_normal(n)
    check(norm, lambda: (x.copy(),), kernels=1)


@pytest.mark.parametrize("shape", [(5,), (4, 7), (2, 3, 4)])
def test_softmax(shape):
    x = RNG.integers(-400, 400, shape) / 64
    check(softmax, lambda: (x.copy(),), ulp=8)


def test_mean_and_variance():
    x = RNG.standard_normal((31, 17))
    check(mean_var, lambda: (x.copy(),))


@pytest.mark.parametrize("flag", [True, False])
def test_branch_on_a_flag(flag):
    check(branch, lambda: (np.arange(4.0), flag))


def test_attributes():
    check(attributes, lambda: (np.arange(6.0).reshape(2, 3),))


def test_slices_fuse():
    check(diff, lambda: (np.arange(10.0) ** 2,), kernels=1)


def test_layouts():
    base = RNG.standard_normal((6, 8))
    for x in (base, np.asfortranarray(base), base.T, base[::2, ::3], base[::-1], np.broadcast_to(base[0], (6, 8))):
        check(axpy, lambda x=x: (x, x))
        check(axpy, lambda x=x: (x, base[0, 0]))


def test_broadcasting():
    a, b = RNG.standard_normal((4, 1)), RNG.standard_normal(5)
    check(axpy, lambda: (a, b))
    check(axpy, lambda: (np.ones((3, 4)), np.ones((3, 5))), native=False)


def in_place(x):
    y = x[1:, 1:] * 2.0
    np.multiply(y, y, out=y)
    y += 1
    y -= x[:-1, :-1].T
    return y, y.std()


def test_in_place_on_arrays_of_a_run_time_order():
    base = RNG.standard_normal((7, 7))
    for x in (base, base.T, np.asfortranarray(base), base[::-1]):
        check(in_place, lambda x=x: (x.copy(order="K"),), native=None)
