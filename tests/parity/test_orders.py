"""Orders: in memory, where ufuncs, copies and conversions each have NumPy's own rule, and of additions."""
from __future__ import annotations

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, same, same_call

B = np.arange(24.0).reshape(4, 6)
CUBE = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
INPUTS = [
    B, B.T, np.asfortranarray(B), B[::-1, ::-2], B[1:3, ::3], np.broadcast_to(np.arange(1.0, 4), (4, 3)),
    np.broadcast_to(np.arange(1.0, 4)[:, None], (3, 4)), CUBE, CUBE[:, ::-1], B[:, 2:3], B[1:-1, 1:-1],
    np.broadcast_to(np.float64(1), (3, 4)),
]


def of_shape(shape):
    """Arrays of all memory orders; C and F arrays share the regions of one function, as do strided ones."""
    n, twice = int(np.prod(shape)), tuple(2 * length for length in shape)
    a = np.arange(1.0, n + 1).reshape(shape)
    b = np.arange(1.0, n * 2 ** len(shape) + 1).reshape(twice)
    every, backward = tuple(slice(None, None, 2) for _ in shape), tuple(slice(None, None, -2) for _ in shape)
    f = np.asfortranarray(b)
    yield from (a, np.array(a, order="F"), b[every], f[every], f[backward], f[..., :shape[-1]][:shape[0], :shape[1]],
                np.broadcast_to(a[..., :1], shape), np.broadcast_to(a[:1], shape))
    if len(shape) == 3:
        yield a.reshape(shape[1], shape[0], shape[2]).transpose(1, 0, 2)


#: Axes of one element or none: their strides say nothing, and NumPy's rules differ in what they give them.
ONES = [a for shape in ((3, 4), (3, 1), (1, 3), (1, 1), (0, 3), (3, 0), (3, 4, 1), (3, 1, 4), (1, 3, 4), (2, 0, 1))
        for a in of_shape(shape)]


def elementwise(a):
    return a + 1, a * a.T.T, np.where(a > 0, a, 0), np.clip(a, 0, 3)


def copies(a):
    return np.array(a), a.copy("K"), a.copy(), a.ravel("K") * 1


def conversions(a):
    return a.astype("f4"), (a * 1).astype("i4"), np.array(a, dtype="f4") + 1, np.asarray(a, dtype="i4")


def mixed(a):
    return np.array(a) + a, a.astype("f4") * a


def like(a):
    return np.zeros_like(a), np.full_like(a, 2), np.ones_like(a) + a


def transposed(a):
    return a.T + 1, a.T.copy("K"), a.T.astype("f4"), np.array(a.T, order="A"), np.zeros_like(a.T), -a.T[:1]


def unlike_dtypes(a):
    return a.astype("f4") + a, a.astype("f4") + a.astype("f4"), a + 1j, (a > 1) & (a < 5), np.divmod(a, 2.0)


def spread(a):
    c = np.broadcast_to(a[:1], a.shape)
    d = (a[:, :1] > 1).astype("f4")
    return ((c >= a.astype("f4")) == 0.5, a.astype("f4") + d, a + a[:1], a[:1] + a[:, :1], a[0] + a,
            (a * 2).T[:, :1] + 1, (a + 1).T[::2] * 2 + 1)


def kept_axes(a):
    return (a.sum(axis=0, keepdims=True), a.sum(-1, keepdims=True), a.sum(0), a.astype("i4").prod(1),
            a.max(axis=0, keepdims=True, initial=0) * 2, a.T.min(axis=-1, keepdims=True, initial=9) + a.T,
            a.sum(keepdims=True), (a > 1).any(axis=0, keepdims=True))


def statistics(a):
    return a.var(axis=1, keepdims=True), a.std(axis=0, keepdims=True), a - a.mean(axis=-1, keepdims=True)


def in_place(a):
    t, u, v = (a * 2).T, np.where(a > 0, a, 1), np.zeros(a.shape, order="F")
    t = t * 1
    t -= 1
    u *= 2
    np.add(u, 1, out=u)
    v[...] = a * 2
    v += 1
    w = a.astype("f4")
    w += np.float32(1)
    means = a.mean(axis=0)
    means += a[0]
    return t, u, v, w, means


def rounded(a):
    return a.T.round(1), a.round()


def unchanged(a):
    """What is contiguous already is no copy; the lengths decide."""
    return (np.asarray(a.T, order="C"), np.asarray(a, order="F"), np.ascontiguousarray(a.T), a.T.ravel(),
            (a + 1).reshape(a.shape), a[:1].reshape(a[:1].shape), a[:1].ravel(), a[:1, 0].reshape(-1),
            a.T.astype("f8", copy=False))


@pytest.mark.parametrize("func", [elementwise, copies, conversions, mixed, like, transposed, unlike_dtypes, spread,
                                  kept_axes, statistics, in_place, rounded, unchanged])
def test_orders(func):
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for a in (*INPUTS, *ONES):
        for _ in range(2):
            same_call(plain, fast, ((a,), {}), ((a,), {}), where=f"{a.shape} {a.strides}")
    assert jitcore.stats(fast).native_calls > len(INPUTS)


def small_arrays(x, y):
    a = np.array([[x], [y]]).T
    b = np.array([[x, y]]).T
    return a + 1, b * 2, a.copy("K"), (a + 1).T


def test_small_arrays_with_axes_of_one_element():
    check(small_arrays, lambda: (1.5, 2.5))


def converted(x):
    return x.sum(dtype=np.float32), np.add.reduce(x * 3.0, dtype=np.float32)


def test_buffers_of_other_sizes():
    """Where NumPy converts elements in buffers, ``np.setbufsize`` decides in which order they are added."""
    plain, fast = fresh_copy(converted), jitcore.accelerate(fresh_copy(converted))
    x = np.random.default_rng(0).integers(-10**9, 10**9, 40_001)
    before, seen = np.getbufsize(), set()
    try:
        for size in (before, 16, 160, 20_000, before):
            np.setbufsize(size)
            want, have = plain(x), fast(x)
            same(want, have)
            seen.add(want)
    finally:
        np.setbufsize(before)
    assert len(seen) > 2 and jitcore.stats(fast).native_calls == 5
