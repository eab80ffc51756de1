"""Device arrays and marked functions that get them, on a mock driver: the results are those of NumPy."""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jitcore
from jitcore.backends.cuda import driver
from tests.parity.compare import fresh_copy, same

from . import mock

RNG = np.random.default_rng(3)
MATRIX = RNG.normal(size=(5, 7))


@pytest.fixture(scope="module")
def started() -> mock.MockDriver:
    try:
        return mock.start()
    except mock.Unavailable as why:
        pytest.skip(str(why))       # a real driver is in its place, or what it is made with is not there


@pytest.fixture
def device(started: mock.MockDriver) -> Iterator[mock.MockDriver]:
    started.reset()
    yield started
    assert started.error is None, started.error


def on_host(value: Any) -> Any:
    if isinstance(value, jitcore.DeviceArray):
        return value.to_host()
    return type(value)(map(on_host, value)) if type(value) in (tuple, list) else value


def alike(want: Any, got: Any) -> None:
    """The same types, shapes, strides and bits, whether arrays are views or not."""
    if isinstance(want, np.ndarray):
        assert isinstance(got, jitcore.DeviceArray) and (want.shape, want.dtype) == (got.shape, got.dtype)
        assert want.strides == got.strides or want.size < 2 or 1 in want.shape, (want.strides, got.strides)
        same(want.copy("C"), got.to_host().copy("C"))
    elif isinstance(want, (tuple, list)):
        assert len(want) == len(got)
        for a, b in zip(want, got):
            alike(a, b)
    else:
        same(want, got)


LAYOUTS = [MATRIX, MATRIX.T, np.asfortranarray(MATRIX), MATRIX[::2, 1:], MATRIX[::-1, ::-2], np.float64(2) * MATRIX[:1],
           np.broadcast_to(MATRIX[0], (3, 7)), MATRIX[:0], np.zeros((3, 0)), MATRIX[2], np.array(3.5),
           np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)]


@pytest.mark.parametrize("x", LAYOUTS, ids=lambda x: f"{x.shape}{x.strides}")
def test_there_and_back(device, x):
    d = jitcore.to_device(x)
    back = d.to_host()
    want = x.copy("K")
    assert (d.shape, d.strides, d.dtype, d.ndim, d.size, d.nbytes) == (
        want.shape, want.strides, want.dtype, want.ndim, want.size, want.nbytes)
    same(want, back)
    same(want, np.asarray(d))
    with pytest.raises(ValueError):
        np.array(d, copy=False)


@pytest.mark.parametrize("dtype", "?bBhHiIlLefdFD")
def test_dtypes(device, dtype):
    x = np.arange(1, 12).astype(dtype)
    d = jitcore.to_device(x)
    same(x, d.to_host())
    same(x + x, (d + d).to_host())
    same(x == x[3], (d == d[3]).to_host())
    same(x.astype("d" if dtype not in "FD" else "D"), d.astype("d" if dtype not in "FD" else "D").to_host())


def test_dtypes_that_do_not_live_there(device):
    for x in (np.array(["a"]), np.array([object()]), np.zeros(2, "M8[s]"), np.zeros(2, ">f8")):
        with pytest.raises(TypeError):
            jitcore.to_device(x)


OPERATIONS = {
    "d + 1": lambda d: d + 1, "2 - d / 3": lambda d: 2 - d / 3, "-d": lambda d: -d, "abs": abs,
    "d * d[0]": lambda d: d * d[0], "d > 0": lambda d: d > 0, "d.T": lambda d: d.T, "d.T + d.T": lambda d: d.T + d.T,
    "slices": lambda d: (d[1:, ::-2], d[..., 0], d[None, 2], d[-1], d[:, None, 1:3] * 2),
    "item": lambda d: (d[1, 2], d[-1, -1]), "iteration": lambda d: list(d),
    "reshape": lambda d: (d.reshape(7, 5), d.T.reshape(-1), d.ravel("F"), d.reshape((35, 1)).squeeze()),
    "sums": lambda d: (d.sum(), d.sum(axis=0), d.sum(axis=1, keepdims=True), d.T.sum(axis=0)),
    "means": lambda d: (d.mean(), d.mean(axis=1), d.std(), d.var(axis=0)),
    "extremes": lambda d: (d.min(), d.max(axis=0), np.maximum(d, 0).max(), (d > 0).any(), (d > 0).all(axis=1)),
    "where": lambda d: np.where(d > 0, d, 0), "clip": lambda d: (d.clip(-1, 1), np.clip(d, None, 0.5)),
    "ufunc methods": lambda d: (np.add.reduce(d, axis=1), np.maximum.reduce(d)),
    "copies": lambda d: (d.copy(), d.T.copy(), d.T.copy("K"), np.square(d).astype("f4")),
    "functions": lambda d: (np.ravel(d), np.transpose(d), np.expand_dims(d, 0), np.sqrt(np.abs(d)), np.diff(d)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_one_by_one(device, name):
    alike(OPERATIONS[name](MATRIX.copy()), OPERATIONS[name](jitcore.to_device(MATRIX)))


def test_transcendental_functions_have_the_bits_of_the_cpu(device):
    def f(x):
        return np.exp(x) * np.sin(x), np.log(np.abs(x) + 1), np.tanh(x)
    same(jitcore.accelerate(fresh_copy(f))(MATRIX.copy()), on_host(f(jitcore.to_device(MATRIX))))


def stores(x):
    x[0] = 7
    x[:, 1] *= 2
    x += 1
    x[1:] = x[:-1]          # overlaps
    x[2, 3] = -1
    np.multiply(x, 3, out=x)
    return x


def test_stores(device):
    d = jitcore.to_device(MATRIX)
    assert stores(d) is d
    same(stores(MATRIX.copy()), d.to_host())


def fused(x, y, k=2.5):
    a = (x * y + k).sum(axis=1)
    b = np.where(x > 0, x, y)
    return a / 2.0, {"b": b[::2]}, [b.mean()], x


def test_marked_functions_run_as_few_kernels(device):
    x, y = jitcore.to_device(MATRIX), jitcore.to_device(np.arange(7.0))
    plain, fast = fresh_copy(fused), jitcore.accelerate(fresh_copy(fused))
    for _ in range(3):
        want, got = plain(MATRIX, np.arange(7.0)), fast(x, y)
        same(want[0], got[0].to_host())
        alike(want[1]["b"], got[1]["b"])
        same(want[2], got[2])
        assert got[3] is x
    same(plain(MATRIX[:3].copy(), np.arange(7.0), 3.5)[0], on_host(fast(jitcore.to_device(MATRIX[:3]), y, 3.5)[0]))
    counts = jitcore.stats(fast)
    assert counts.native_calls == 4 and counts.compiles == 1 and len(device.symbols) == 3 * 4
    same(plain(MATRIX, np.arange(7.0))[0], fast(MATRIX, np.arange(7.0))[0])       # the host's arrays stay there


def changes(x, y):
    z = x * 2 + y
    y[:] = z - x
    return z


def test_a_marked_function_that_stores(device):
    fast = jitcore.accelerate(fresh_copy(changes))
    x, y = jitcore.to_device(MATRIX), jitcore.to_device(MATRIX + 1)
    host = MATRIX + 1
    for _ in range(2):
        same(changes(MATRIX, host), fast(x, y).to_host())
        same(host, y.to_host())


def loops(x, n):
    total = x * 0
    for i in range(n):
        total = total + x * i
    return total


def test_loops_over_kernels(device):
    fast = jitcore.accelerate(fresh_copy(loops))
    same(loops(MATRIX, 5), fast(jitcore.to_device(MATRIX), 5).to_host())
    assert jitcore.stats(fast).native_calls == 1


def test_cuda_takes_arrays_of_the_host_there_and_back(device):
    fast = jitcore.accelerate(device="cuda")(fresh_copy(fused))
    got = fast(MATRIX, np.arange(7.0))
    same(fused(MATRIX, np.arange(7.0)), got)
    assert device.calls["launch"] >= 3


def test_cpu_means_that_operations_run_one_by_one(device):
    fast = jitcore.accelerate(device="cpu")(fresh_copy(fused))
    got = fast(jitcore.to_device(MATRIX), jitcore.to_device(np.arange(7.0)))
    same(fused(MATRIX, np.arange(7.0))[0], got[0].to_host())
    assert jitcore.stats(fast).native_calls == 0


def twice(x):
    pair = (x * 2, [x])
    return pair, pair, {"again": pair}


def test_one_object_stays_one(device):
    fast = jitcore.accelerate(fresh_copy(twice))
    a, b, c = fast(jitcore.to_device(MATRIX))
    assert a is b and c["again"] is a and jitcore.stats(fast).native_calls == 1


def listed(items, x):
    return items, items[0] * 2 + x


def test_arrays_in_lists(device):
    fast = jitcore.accelerate(fresh_copy(listed))
    items, y = [jitcore.to_device(MATRIX), 3], jitcore.to_device(MATRIX)
    same_list, z = fast(items, y)
    assert same_list is items and jitcore.stats(fast).native_calls == 1
    same(MATRIX * 2 + MATRIX, z.to_host())


def test_a_list_that_contains_itself():
    items = [MATRIX]
    items.append(items)
    fast = jitcore.accelerate(fresh_copy(listed))
    same(MATRIX * 2 + 1.0, fast(items, 1.0)[1])


def test_what_does_not_run_there_says_why(device):
    d = jitcore.to_device(np.eye(3))
    with pytest.raises(TypeError, match="inv does not run on a device"):
        np.linalg.inv(d)
    with pytest.raises(TypeError, match="to_host"):
        np.sort(d)


def test_reports_come_when_results_are_looked_at(device):
    d = jitcore.to_device(np.array([1.0, 0.0, -1.0]))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        e, f = 1 / d, np.sqrt(d)
        assert not seen
        same(np.array([1, np.inf, -1.0]), e.to_host())
        assert sorted(str(w.message) for w in seen) == [
            "divide by zero encountered on the device", "invalid value encountered on the device"]
        f.to_host()
        assert len(seen) == 2
        with np.errstate(all="ignore"):
            (1 / d).to_host()
        assert len(seen) == 2
    g = 1 / d
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        jitcore.synchronize()
    g.to_host()


def test_memory_comes_back(device):
    before = device.used
    d = jitcore.to_device(np.ones(1000))
    e = (d * 2 + d)[::2].sum()
    assert device.used >= before + 8000 and e == 1500
    del d
    assert device.used <= before + 64


def test_out_of_memory_names_sizes(device):
    with pytest.raises(MemoryError, match=r"80,000,000 bytes on mock: .* of 4,194,304 are free"):
        jitcore.to_device(np.ones(10**7))
    same(np.ones(3), jitcore.to_device(np.ones(3)).to_host())


class Other:
    """An array of another library."""

    def __init__(self, array: jitcore.DeviceArray, dlpack: bool) -> None:
        self.array = array
        if dlpack:
            self.__class__ = type("OtherPack", (Other,), {
                "__dlpack__": lambda self, **kwargs: self.array.__dlpack__(**kwargs),
                "__dlpack_device__": lambda self: self.array.__dlpack_device__()})
        else:
            self.__class__ = type("OtherInterface", (Other,), {
                "__cuda_array_interface__": property(lambda self: self.array.__cuda_array_interface__)})


@pytest.mark.parametrize("dlpack", [False, True])
@pytest.mark.parametrize("x", LAYOUTS, ids=lambda x: f"{x.shape}{x.strides}")
def test_memory_is_shared(device, x, dlpack):
    d = jitcore.to_device(x)
    other = Other(d, dlpack)
    taken = jitcore.to_device(other)
    alike(np.asarray(x.copy("K")), taken)
    assert (taken.shape, taken.dtype) == (d.shape, d.dtype)
    if x.size:
        taken += 1
        alike(np.asarray(x.copy("K") + 1), d)
    del d, other
    same(taken.to_host(), taken.to_host())
    before = device.used
    del taken
    assert device.used < before or x.size == 0


def test_arrays_of_others_as_arguments(device):
    fast = jitcore.accelerate(fresh_copy(fused))
    x, y = (Other(jitcore.to_device(a), False) for a in (MATRIX, np.arange(7.0)))
    got = fast(x, y)
    same(fused(MATRIX, np.arange(7.0))[0], got[0].to_host())
    assert jitcore.stats(fast).native_calls == 1


def test_a_capsule_that_nobody_takes(device):
    before = device.used
    d = jitcore.to_device(np.ones(100))
    capsule = d.__dlpack__()
    del d
    assert device.used == before + 800
    del capsule
    assert device.used == before


def test_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setattr(driver, "_driver", None)
    monkeypatch.setattr(driver, "_devices", {})
    monkeypatch.setattr(driver, "bindings", lambda: (_ for _ in ()).throw(jitcore.DeviceError("no driver: get one")))
    for ask in (lambda: jitcore.to_device(np.ones(3)), lambda: jitcore.accelerate(device="cuda")):
        with pytest.raises(jitcore.DeviceError, match="get one"):
            ask()
    fast = jitcore.accelerate(fresh_copy(fused))
    same(fused(MATRIX, np.arange(7.0)), fast(MATRIX, np.arange(7.0)))
    jitcore.synchronize()
