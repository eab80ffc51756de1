"""New arrays, views, memory order and loop driving, compared with NumPy."""
from __future__ import annotations

import ctypes
import itertools
import sys

import numpy as np
import pytest

from . import native

DTYPES = "?bBhHiIlLqQefdFD"


@pytest.mark.parametrize("char", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (3, 4), (3, 0, 2), (2, 3, 4), (1, 7, 1)])
@pytest.mark.parametrize("order", [0, 1])
def test_empty_is_numpys(char, shape, order):
    got, want = native.empty(char, shape, order), np.empty(shape, char, "CF"[order])
    assert type(got) is np.ndarray and got.dtype is want.dtype
    assert (got.shape, got.strides, got.base) == (want.shape, want.strides, None)
    assert str(got.flags) == str(want.flags)
    got[...] = 1
    assert (got == 1).all()


def test_empty_counts_references():
    dtype = np.dtype("d")
    before = sys.getrefcount(dtype)
    kept = [native.empty("d", (3,)) for _ in range(10)]
    assert sys.getrefcount(dtype) <= before + 10
    del kept
    assert sys.getrefcount(dtype) <= before


def test_what_cannot_be_allocated_is_null_without_an_exception():
    raw = native.function("jc_empty", native.ptr, native.i32, native.i32, native.ptr, native.i32)
    for shape in ((2**62,), (2**40, 2**40), (-1,), (2**59,)):
        assert raw(np.dtype("d").num, len(shape), native.longs(shape), 0) is None
    assert raw(9999, 1, native.longs([3]), 0) is None
    assert raw(12, 65, native.longs([1] * 65), 0) is None


def random_operand(rng, shape):
    """An array that broadcasts to `shape`, of any memory order, with steps and reversed and broadcast axes."""
    drop = int(rng.integers(0, len(shape) + 1)) if rng.random() < 0.2 else 0
    own = [n if rng.random() < 0.8 else 1 for n in shape[drop:]]
    steps = [int(rng.choice([1, 1, 1, 2, -1, -3])) for _ in own]
    big = np.zeros([n * abs(k) for n, k in zip(own, steps)], order=str(rng.choice(["C", "F"])))
    axes = rng.permutation(len(own)) if rng.random() < 0.5 else np.arange(len(own))
    big = np.zeros([big.shape[i] for i in axes], order=str(rng.choice(["C", "F"])))
    back = big.transpose(np.argsort(axes)) if own else big
    a = back[tuple(slice(None, None, k) for k in steps)]
    assert a.shape == tuple(own)
    return np.broadcast_to(a, shape) if rng.random() < 0.1 else a


def strides_over(a, shape):
    """The strides of `a` over the axes of a result of that shape."""
    lead = len(shape) - a.ndim
    return [0] * lead + [0 if n == 1 else stride for n, stride in zip(a.shape, a.strides)]


@pytest.mark.parametrize("seed", range(8))
def test_memory_order_is_that_of_ufunc_results(seed):
    rng = np.random.default_rng(seed)
    tried = 0
    while tried < 500:
        shape = tuple(int(n) for n in rng.choice([1, 2, 3, 4], rng.integers(2, 6)))
        operands = [random_operand(rng, shape) for _ in range(rng.integers(1, 4))]
        if np.broadcast_shapes(*(a.shape for a in operands)) != shape:
            continue
        if all(a.flags.c_contiguous or a.flags.f_contiguous for a in operands):
            continue                        # these orders are decided without asking for strides
        want = {1: np.negative, 2: np.add}.get(len(operands))
        result = want(*operands) if want else np.where(operands[0] != 0, operands[1], operands[2])
        if want is None:                    # where is no ufunc: nditer is what decides
            result = np.nditer([*operands, None], ["external_loop"], [["readonly"]] * 3 + [["writeonly", "allocate"]],
                               op_dtypes=["d"] * 4).operands[3]
        got = native.korder(shape, [strides_over(a, shape) for a in operands], 8)
        assert got == result.strides, (shape, [(a.shape, a.strides) for a in operands])
        tried += 1


def test_memory_order_of_every_permutation():
    for axes in itertools.permutations(range(4)):
        a = np.zeros((2, 3, 4, 5)).transpose(axes)
        assert native.korder(a.shape, [a.strides], 8) == np.negative(a).strides
        assert native.korder(a.shape, [a.strides], 4) == np.negative(a, dtype="f").strides


def test_empty_strided():
    for axes in itertools.permutations(range(3)):
        like = np.negative(np.zeros((2, 3, 4)).transpose(axes))
        got = native.empty_strided("d", like.shape, like.strides)
        assert (got.shape, got.strides, got.base) == (like.shape, like.strides, None)
        assert str(got.flags) == str(like.flags)
        got[...] = 3.5
        assert (got == 3.5).all()


def address(a):
    return a.__array_interface__["data"][0]


def views():
    base = np.arange(60.0).reshape(3, 4, 5)
    yield from ((base, base[1:, ::2, ::-1]), (base, base[1]), (base, base.T), (base, base[0, 0, 0:0]),
                (base, base.reshape(12, 5)), (base, np.broadcast_to(base, (2, 3, 4, 5))), (base[1:], base[1:][0]),
                (base.T, base.T[2]), (base, base[0, ..., None]))
    frozen = np.arange(4.0)
    frozen.flags.writeable = False
    yield frozen, frozen[::2]
    buffer = np.frombuffer(bytearray(80))
    yield buffer, buffer[2:]
    whole = np.frombuffer(bytes(80))
    yield whole, whole[1:]
    tagged = np.zeros(4, np.dtype("d", metadata={"unit": "m"}))
    yield tagged, tagged[1:]
    complex_ = np.arange(4) + 1j
    yield complex_, complex_.real


@pytest.mark.parametrize("base, want", list(views()))
def test_views_are_numpys(base, want):
    got = native.view(base, want.dtype, want.shape, want.strides, address(want))
    assert type(got) is np.ndarray and got.base is want.base and got.dtype is want.dtype
    assert (got.shape, got.strides, address(got)) == (want.shape, want.strides, address(want))
    if want.ndim < 4:                               # broadcast_to makes its result read-only on top
        assert str(got.flags) == str(want.flags)
    assert np.array_equal(got, want)


def test_views_keep_their_base_alive():
    base = np.arange(5.0)
    before = sys.getrefcount(base)
    got = native.view(base, "d", (2,), (8,), address(base))
    assert sys.getrefcount(base) == before + 1
    del got
    assert sys.getrefcount(base) == before


def test_is_array():
    check = native.function("jc_is_array", native.i32, native.obj, native.i32, native.i32, native.i32)
    a = np.zeros((2, 3))
    cases = [(a, "CA"), (a.T, "FA"), (a[:, ::2], "A"), (np.zeros(3), "CFA"), (np.zeros(6)[::2], "A"),
             (np.zeros((1, 3)).T, "CFA")]
    for array, layouts in cases:
        layout = layouts[0]
        for other in "CFA":
            assert check(array, 12, array.ndim, ord(other)) == (other in layouts)
        assert not check(array, 11, array.ndim, ord(layout))
        assert not check(array, 12, array.ndim + 1, ord(layout))
    for other in (1.0, [1], np.float64(1), np.ma.zeros(3), np.zeros(3, ">f8"), np.zeros(25, "B")[1:].view("d")):
        assert not check(other, 12, 1, ord("C"))


def test_boxes_and_tuples():
    obj, i64, f64 = native.obj, native.i64, ctypes.c_double
    assert native.function("jc_box_int", obj, i64)(-2**63) == -2**63
    assert native.function("jc_box_float", obj, f64)(2.5) == 2.5
    assert native.function("jc_box_bool", obj, native.i32)(1) is True
    assert native.function("jc_box_complex", obj, f64, f64)(1, -2) == 1 - 2j
    box = native.function("jc_box_np", obj, native.i32, native.ptr)
    for char in DTYPES:
        want = np.dtype(char).type(1)
        data = ctypes.create_string_buffer(want.tobytes(), 16)
        got = box(np.dtype(char).num, data)
        assert type(got) is type(want) and got == want
    items = [object(), 1]
    before = sys.getrefcount(items[0])
    made = native.function("jc_tuple", obj, i64, native.ptr)(2, (native.ptr * 2)(*map(id, items)))
    after = sys.getrefcount(items[0])       # outside the assertion, which holds what it looks at
    assert after == before + 1
    assert made == (items[0], 1)


class Context(ctypes.Structure):
    _fields_ = [("in_", native.ptr), ("out", native.ptr), ("own", native.ptr), ("kernels", native.i64),
                ("calls", native.i64)]


def test_calls():
    call = native.function("jc_call", native.obj, native.ptr, native.obj, native.ptr, native.i64, native.ptr)
    raw = native.function("jc_call", native.ptr, native.ptr, native.obj, native.ptr, native.i64, native.ptr)
    context = Context()
    names = ("end",)
    args = ["x", 2, 3]
    packed = (native.ptr * 3)(*map(id, args))

    def f(*args, **kwargs):
        return args, kwargs

    assert call(ctypes.addressof(context), f, packed, 3, None) == (("x", 2, 3), {})
    assert call(ctypes.addressof(context), f, packed, 2, id(names)) == (("x", 2), {"end": 3})
    assert raw(ctypes.addressof(context), len, packed, 3, None) is None      # the TypeError is cleared
    assert context.calls == 3
