"""Elementwise kernels, from their PTX: the CPU's bits, over dtypes, sizes, alignments, strides and stores."""
from __future__ import annotations

import numpy as np
import pytest

from jitcore.ops.table import OPS
from tests.ops.harness import operands

from .check import SIZES, Pair

RNG = np.random.default_rng(5)


def sample(shape: int | tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype == "?":
        return RNG.random(shape) < 0.5
    if dtype in "FD":
        return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)
    if dtype in "efd":
        return RNG.standard_normal(shape).astype(dtype)
    return RNG.integers(1, 100, shape).astype(dtype)


def several(x, y):
    return x + y, x != y, np.where(x == y, x, y)


def _sizes(function: object, dtypes: str, *scalars: object) -> None:
    pair = Pair(function, *(sample(3, d) for d in dtypes), *scalars)
    size = max(np.dtype(d).itemsize for d in dtypes)
    for n in SIZES:
        for misaligned in (0, size, (size, 0), (3 * size, 5 * size, size)) if n else (0,):
            pair.same(*(sample(n, d) for d in dtypes), *scalars, misaligned=misaligned)
    assert {symbol.partition("_checked")[0] for symbol in pair.device.symbols} == {"k0_map_flat"}


@pytest.mark.parametrize("dtype", "?fD")
def test_sizes_and_alignment(dtype):
    _sizes(several, dtype * 2)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", "bBhHiIlLedF")
def test_sizes_and_alignment_of_other_dtypes(dtype):
    _sizes(several, dtype * 2)


def test_operands_of_unlike_sizes():
    _sizes(lambda x, y, k: np.where(x > 50, y * k, y), "bd", 2.5)


def test_many_vectors_a_thread():
    """All loops run: several vectors at a time, single ones, what is left over, and the same one by one."""
    pair = Pair(lambda x, y: x * y + x, sample(3, "f"), sample(3, "f"))
    for misaligned in (0, 8, (0, 4, 8)):
        pair.same(sample(40001, "f"), sample(40001, "f"), misaligned=misaligned, processors=1)


_NAMES = sorted(name for name, op in OPS.items() if op.inline and op.ufunc is not None
                and name != "clip" and not op.libm)


def _each_dtype(name: str, dtypes: str, count: int) -> int:
    op = OPS[name]
    done = 0
    for sig in op.inline:
        ins = sig.partition("->")[0]
        if set(ins) - set(dtypes) or len(set(ins)) != 1 or len(ins) > 2:
            continue
        ufunc = op.ufunc
        function = (lambda x: ufunc(x)) if len(ins) == 1 else (lambda x, y: ufunc(x, y))    # noqa: B023
        arrays = [x[::max(1, len(x) // count)].copy() for x in operands(ins, RNG, count // 2)]
        for x in arrays:        # which reports signalling NaNs make is the processor's affair
            if x.dtype.kind in "fc":
                parts = x.view(x.real.dtype)
                parts[np.isnan(parts)] = np.nan
        pair = Pair(function, *(x[:2].copy() for x in arrays))
        pair.same(*arrays)
        usual = [sample(50, c) for c in ins]
        pair.same(*usual)
        done += 1
    return done


@pytest.mark.parametrize("name", ["bitwise_count", "divide", "equal", "floor_divide", "heaviside", "isinf",
                                  "left_shift", "maximum", "multiply", "remainder", "rint", "sign", "sqrt"])
def test_operations(name):
    """Special values, of which most make reports, which must be NumPy's."""
    assert _each_dtype(name, "ld" if name in _BOTH else "l" if name in ("bitwise_count", "left_shift") else "d", 150)


_BOTH = {"equal", "floor_divide", "maximum", "remainder"}


@pytest.mark.slow
@pytest.mark.parametrize("name", _NAMES)
def test_operations_in_all_dtypes(name):
    assert _each_dtype(name, "?bBhHiIlLefdFD", 1200)


@pytest.mark.parametrize("dtype", "lL")
def test_shifts_by_more_than_32_bits_hold(dtype):
    """The amount is a number of 64 bits."""
    amounts = np.array([0, 1, 63, 64, 2**32, 2**32 + 1, 2**40 + 63], dtype)
    x = np.arange(-3, 4).astype(dtype)
    for function in (lambda x, y: x << y, lambda x, y: x >> y):
        Pair(function, x, amounts).same(x, amounts)


@pytest.mark.parametrize("source", "?hLed")
@pytest.mark.parametrize("target", "?blefD")
def test_casts(source, target):
    pair = Pair(lambda x: x.astype(target), sample(3, source))
    pair.same(np.abs(sample(100, source)))


@pytest.mark.slow
@pytest.mark.parametrize("source", "?bBhHiIlLefd")
@pytest.mark.parametrize("target", "?bBhHiIlLefdFD")
def test_casts_of_special_values(source, target):
    pair = Pair(lambda x: x.astype(target), sample(3, source))
    x = operands(source, RNG, 200)[0]
    if x.dtype.kind == "f":
        x[np.isnan(x)] = np.nan
    for value in x[::max(1, len(x) // 25)]:
        pair.same(np.array([value]))


@pytest.mark.parametrize("value, target", [(np.nan, "l"), (1e19, "l"), (-1.0, "L"), (300.0, "B"), (2.0**31, "i")])
def test_casts_that_c_does_not_define_are_told(value, target):
    pair = Pair(lambda x: x.astype(target), sample(3, "d"))
    pair.run(np.array([1.0, value, 2.0]))
    assert pair.device.flags == 1 << 16


def test_each_instruction_without_a_result_has_its_bit():
    """The first division, and the power; not the second division."""
    pair = Pair(lambda x, y, z: (x // y, x % z, x ** z), *(np.ones(3, "l"),) * 3)
    x, zero, one = np.array([7, 8]), np.array([1, 0]), np.array([1, 70])
    pair.run(x, zero, one)
    assert pair.device.flags == 1 << 16 | 1 << 18
    bails = pair.code.kernels[0].bails
    assert [pair.code.kernels[0].kernel.body[index].op for index in bails] == ["floor_divide", "remainder", "power"]


_SHAPES = [((3, 4), (4,)), ((3, 4), (3, 1)), ((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((2, 1, 4), (3, 1)), ((3, 4), ())]


_ORDERS = [*((shapes, "C") for shapes in _SHAPES), (_SHAPES[0], "F"), (_SHAPES[3], "F")]


@pytest.mark.parametrize("shapes, order", _ORDERS)
def test_broadcasting(shapes, order):
    pair = Pair(lambda x, y: (x * y, x < y), *(np.array(sample(s, "d"), order=order) for s in shapes))
    for factor in (1, 9, 20):
        grown = [tuple(n * factor if n > 1 else 1 for n in s) for s in shapes]
        pair.same(*(np.array(sample(s, "d"), order=order) for s in grown), misaligned=8)
    if order == "C":        # without elements all orders are one
        pair.same(*(sample(tuple(0 if n == 4 else n for n in s), "d") for s in shapes))


@pytest.mark.parametrize("dtype", "?fD")
def test_strides(dtype):
    """Reversed, with gaps, transposed; the order of the result is NumPy's."""
    def make(*shape: int) -> list[np.ndarray]:
        base = sample(tuple(2 * n for n in shape), dtype)
        return [base[::-2, 1::2], sample(shape[::-1], dtype).T]

    pair = Pair(lambda x, y: x == y, *make(3, 4))
    for shape in ((3, 4), (2, 7), (70, 30)):
        pair.same(*make(*shape))
    assert pair.device.symbols == ["k0_map_strided"]


def test_what_lies_flat_after_all():
    """Axes that lie one behind the other are joined, also where that is not known beforehand."""
    pair = Pair(lambda x, y, n: x[:, :n] + y[:, :n], sample((4, 6), "d"), sample((4, 6), "d"), 4)
    assert set(pair.code.kernels[0].functions) >= {"k0_map_flat", "k0_map_strided"}
    pair.same(sample((4, 6), "d"), sample((4, 6), "d"), 5)
    assert pair.device.symbols == ["k0_map_strided_checked"]
    pair.same(sample((4, 6), "d"), sample((4, 6), "d"), 6)
    assert pair.device.symbols == ["k0_map_flat_checked"]


def _double(x):
    x *= 2


def _assign(x, y):
    x[1:-1] = y[:-2] + y[2:]


def _shifted(x, y):
    x[:, ::2] = y


def test_stores():
    double, assign = Pair(_double, sample(3, "f")), Pair(_assign, sample(9, "f"), sample(9, "f"))
    shifted = Pair(_shifted, sample((3, 4), "f"), sample((3, 2), "f"))
    for misaligned in (0, 4):
        for n in (0, 1, 33, 1000):
            double.same(sample(n, "f"), misaligned=misaligned)
        assign.same(sample(300, "f"), sample(300, "f"), misaligned=(misaligned, 0))
        shifted.same(sample((30, 40), "f"), sample((30, 20), "f"), misaligned=misaligned)


def test_stores_do_not_read_through_the_cache_that_is_read_only():
    """The target of a store may be read as well, and memory that it shares with others."""
    pair = Pair(_shifted, sample((3, 4), "f"), sample((3, 2), "f"))
    assert "ld.global.nc" not in pair.code.ptx and "ld.global" in pair.code.ptx
    assert "ld.global.nc" in Pair(several, sample(3, "f"), sample(3, "f")).code.ptx


def test_counting():
    for n in (0, 1, 1000):
        Pair(lambda x, n: (np.arange(n), np.arange(n) * 0.5 + x), 1.5, 5).same(1.5, n)


_REPORTS = [
    (lambda x, y: x / y, [1.0, 2.0], [0.0, 1.0], {"divide"}),
    (lambda x, y: x / y, [0.0, 2.0], [0.0, 1.0], {"invalid"}),
    (lambda x, y: x / y, [1e300, 2.0], [1e-300, 1.0], {"over"}),
    (lambda x, y: x / y, [np.nan, np.inf], [0.0, 2.0], set()),
    (lambda x, y: x * y, [1e300, np.inf], [1e300, 0.0], {"over", "invalid"}),
    (lambda x, y: np.log(x) - y, [0.0, 1.0], [np.inf, 2.0], {"divide"}),
    (lambda x, y: np.log(x) + y, [-1.0, 1.0], [np.inf, 2.0], {"invalid"}),
    (lambda x, y: np.exp(x) * (y > 0), [1000.0, 1.0], [1.0, 2.0], {"over"}),
    (lambda x, y: x ** 2.5 + y, [0.0, 1e300], [1.0, 2.0], {"over"}),
    (lambda x, y: x ** -2.5 + y, [0.0, 1.0], [1.0, 2.0], {"divide"}),
    (lambda x, y: x // y, [1.0, 2.0], [0.0, 3.0], {"divide"}),
    (lambda x, y: (x < y, np.maximum(x, y)), [np.nan, 1.0], [1.0, np.nan], set()),
    (lambda x, y: (x * 1e30).astype("f") + y.astype("f"), [1e20, 1.0], [1.0, 1.0], {"over"}),
    (lambda x, y: np.where(x > 5, np.sqrt(x), y), [-1.0, 1.0], [1.0, 1.0], {"invalid"}),
]


@pytest.mark.parametrize("index", range(len(_REPORTS)))
def test_reports(index):
    function, x, y, want = _REPORTS[index]
    pair = Pair(function, np.ones(2), np.ones(2))
    assert pair.same(np.array(x), np.array(y)) == want
    assert pair.same(np.ones(2), np.ones(2)) == set()


@pytest.mark.parametrize("number, want", [(complex(np.nan, 1e300), {"over"}), (complex(np.inf, 1e300), {"over"}),
                                          (complex(np.nan, 1.0), set())])
def test_parts_of_complex_numbers_report_for_themselves(number, want):
    pair = Pair(lambda x: x.astype("F"), np.ones(2, "D"))
    assert pair.same(np.array([number, 1])) == want


def test_reports_are_left_out_where_they_are_ignored():
    def some(x, y):
        with np.errstate(divide="ignore"):
            return x / y

    def none(x, y):
        with np.errstate(all="ignore"):
            return x / y

    pair = Pair(some, np.ones(2), np.ones(2))
    assert pair.same(np.array([1.0]), np.array([0.0])) == set()
    assert pair.same(np.array([0.0]), np.array([0.0])) == {"invalid"}
    pair = Pair(none, np.ones(2), np.ones(2))
    assert pair.same(np.array([1.0, 0.0]), np.array([0.0, 0.0])) == set() and "atom" not in pair.code.ptx
    plain = Pair(lambda x, y: x / y, np.ones(2), np.ones(2), checked=False)
    plain.run(np.array([1.0]), np.array([0.0]))
    assert plain.device.symbols == ["k0_map_flat"] and not plain.device.flags
