"""Stores of whole arrays: targets, values, casts, and what NumPy reports, refuses or has half done by then."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, observe, same

RNG = np.random.default_rng(5)


def grid(char: str = "d", order: Any = "C") -> np.ndarray:
    return np.asarray((np.arange(42).reshape(6, 7) % 11).astype(char), order=order)


# -- targets ------------------------------------------------------------------------------------------
def whole(a: Any, v: Any) -> Any:
    a[:] = v
    return a


def dots(a: Any, v: Any) -> Any:
    a[...] = v
    return a


def inner(a: Any, v: Any) -> Any:
    a[1:-1, 1:-1] = v
    return a


def row(a: Any, v: Any) -> Any:
    a[2] = v
    return a


def column(a: Any, v: Any) -> Any:
    a[:, -1] = v
    return a


def strided(a: Any, v: Any) -> Any:
    a[::2, ::-3] = v
    return a


def newaxis(a: Any, v: Any) -> Any:
    a[None, 1, ..., None] = v
    return a


def empty(a: Any, v: Any) -> Any:
    a[3:3] = v
    return a


def transposed(a: Any, v: Any) -> Any:
    a.T[1:, 2:4] = v
    return a


TARGETS = (whole, dots, inner, row, column, strided, newaxis, empty, transposed)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("func", TARGETS)
def test_numbers(func: Any, order: str) -> None:
    for value in (3, 2.5, True, np.float32(1.5), np.int64(4)):
        check(func, lambda v=value: (grid("d", order), v))
    check(func, lambda: (grid("B", order), 7))
    check(func, lambda: (grid("d", order)[::-1], 3.0))


@pytest.mark.parametrize("func, shape", [
    (whole, (6, 7)), (whole, (7,)), (whole, (6, 1)), (dots, (1, 7)), (inner, (4, 5)), (inner, (5,)), (row, (7,)),
    (column, (6,)), (strided, (3, 3)), (strided, (3, 1)), (transposed, (6, 2)), (newaxis, (7, 1)), (empty, (7,))])
def test_arrays(func: Any, shape: tuple[int, ...]) -> None:
    for char in "dlf?":
        check(func, lambda c=char: (grid(c), RNG_ARRAY(shape, c)))
    check(func, lambda: (grid("d"), RNG_ARRAY(shape, "f")))
    check(func, lambda: (grid("d", "F"), np.asfortranarray(RNG_ARRAY(shape, "d"))))


def RNG_ARRAY(shape: tuple[int, ...], char: str) -> np.ndarray:
    return (np.arange(int(np.prod(shape))).reshape(shape) * 5 % 13).astype(char)


def test_one_region_serves_other_lengths() -> None:
    fast = jitcore.accelerate(fresh_copy(inner))
    for n, m in ((6, 7), (3, 3), (2, 5), (4, 1)):
        for value in (1.5, np.ones((max(n - 2, 0), 1))):
            a, b = np.zeros((n, m)), np.zeros((n, m))
            same(inner(a, value), fast(b, value))
    assert jitcore.stats(fast).compiles <= 6


# -- in place ------------------------------------------------------------------------------------------
def operators(a: Any, b: Any) -> Any:
    a += b
    a *= 2.0
    a[1:] -= b[:-1]
    a[0] += 1.5
    a[:, 2] *= a[:, 3]
    return a


def with_out(a: Any, b: Any) -> Any:
    found = np.add(a, b, out=a)
    np.multiply(a[1:], 2.0, out=b[:-1])
    np.maximum(a, 3.0, out=a)
    return found, b


def functions(a: Any, b: Any) -> None:
    np.copyto(a, b)
    a[1:].fill(4)
    np.copyto(b[0], a[2])


def masks(a: Any, b: Any) -> Any:
    a[a > 5] = 0
    a[(b > 2) & (b < 9)] = -1.5
    return a


@pytest.mark.parametrize("func", [operators, with_out, functions, masks])
def test_in_place(func: Any) -> None:
    check(func, lambda: (grid(), grid()[::-1].copy()))
    check(func, lambda: (grid("d", "F"), grid()))
    check(func, lambda: (grid("f"), grid("f")))
    check(func, lambda: (grid()[:, ::-1], grid()))

    def on_itself() -> tuple[Any, ...]:
        a = grid()
        return a, a

    check(func, on_itself)


def zero_axes(a: Any) -> Any:
    a += 2
    a[...] = a * 3
    a[()] = a - 1
    return a


def test_arrays_without_axes() -> None:
    check(zero_axes, lambda: (np.array(4.0),))
    check(zero_axes, lambda: (np.array(4),))


def own_arrays(x: Any) -> Any:
    a = np.zeros(x.shape)
    a[1:-1] = x[2:] - x[:-2]
    view = a[::2]
    view += 1
    a[0] = a[-1] = 7
    b = a * 2
    a[...] = 0
    return a, view, b


def test_own_arrays_and_their_views() -> None:
    check(own_arrays, lambda: (np.arange(9.0),))


def ordered(a: Any, b: Any) -> Any:
    before = a * 2.0
    total = a.sum()
    a[...] = b
    after = a * 2.0
    b[0] = a[1] + total
    return before, after, a.sum(), b


def test_what_was_read_before_a_store_stays() -> None:
    check(ordered, lambda: (np.arange(6.0), np.arange(6.0) * 3))

    def aliases() -> tuple[Any, ...]:
        a = np.arange(7.0)
        return a[1:], a[:-1]

    check(ordered, aliases)


# -- reports and refusals -------------------------------------------------------------------------------
def quotient(a: Any, b: Any) -> Any:
    a[...] = 1.0
    a[...] = a / b
    return a


def quotient_in_place(a: Any, b: Any) -> Any:
    a += 1.0
    a /= b
    a *= 2.0
    return a


def chain(a: Any, b: Any) -> Any:
    a[0] = 5.0
    t = b * 2.0
    a += t * 1e200 / (b - 1.0)
    return a, t


def outcome(func: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> tuple[Any, tuple[Any, ...]]:
    args = make()
    seen = observe(func, args, {})      # type: ignore[arg-type]
    return seen, args


@pytest.mark.parametrize("mode", ["warn", "raise", "ignore", "error"])
@pytest.mark.parametrize("func", [quotient, quotient_in_place, chain])
def test_reports_find_the_heap_as_numpy_leaves_it(func: Any, mode: str) -> None:
    fast = jitcore.accelerate(fresh_copy(func))
    usual = lambda: (np.arange(5.0), np.array([2.0, 3.0, 4.0, 5.0, 6.0]))       # noqa: E731
    odd = [lambda z=z: (np.arange(5.0), np.array([2.0, 3.0, z, 5.0, 6.0])) for z in (0.0, 1.0, np.nan, np.inf, 1e300)]

    def under(run: Any) -> Any:
        def go(*args: Any) -> Any:
            if mode == "error":
                with warnings.catch_warnings(action="error"):
                    return run(*args)
            with np.errstate(all=mode, under="ignore"):     # type: ignore[call-overload]
                return run(*args)
        return go

    for make in (usual, usual, *odd, *odd, usual):
        (a, args_a), (b, args_b) = outcome(under(func), make), outcome(under(fast), make)
        assert (a.kind, a.warnings) == (b.kind, b.warnings)
        same(a.value, b.value)
        same(args_a, args_b)
    assert jitcore.stats(fast).native_calls >= 3


@pytest.mark.parametrize("func, make", [
    (whole, lambda: (grid("l"), np.nan)), (whole, lambda: (grid("l"), np.array([np.nan] * 7))),
    (whole, lambda: (grid("B"), 300)), (whole, lambda: (grid("f"), 1e300)), (whole, lambda: (grid("d"), 1j)),
    (whole, lambda: (grid("d"), np.ones(7, "D"))), (whole, lambda: (grid("f"), np.full(7, 1e300))),
    (whole, lambda: (grid("d"), np.ones(6))), (row, lambda: (grid("d"), np.ones((2, 7)))),
    (row, lambda: (grid("d"), np.ones((1, 7)))), (whole, lambda: (grid("d"), [1] * 7)),
    (whole, lambda: (grid("d"), "3")),
    (row, lambda: (np.zeros((2, 2)), 1)), (operators, lambda: (grid("l"), grid("l"))),
    (operators, lambda: (grid("l"), grid("d"))), (operators, lambda: (np.ones(7), grid("d"))),
    (operators, lambda: (grid("d"), np.ones((2, 6, 7)))), (masks, lambda: (grid("d"), np.ones((6, 1))))])
def test_what_numpy_refuses_or_warns_of(func: Any, make: Any) -> None:
    check(func, make, native=None)


def test_read_only_targets() -> None:
    def make(char: str) -> Any:
        def args() -> tuple[Any, ...]:
            a = grid(char)
            a.flags.writeable = False
            return a, 1.0
        return args

    for func in TARGETS:
        check(func, make("d"), native=None)

    def through_a_view(a: Any) -> Any:
        view = a[1:]
        view *= 2
        return a

    def locked() -> tuple[Any, ...]:
        a = grid()
        a.flags.writeable = False
        return (a,)

    check(through_a_view, locked, native=None)
    check(lambda a: whole(np.broadcast_to(a, (3, 7)), 1), lambda: (np.ones(7),), native=None)


def test_a_read_only_array_after_a_writable_one() -> None:
    fast = jitcore.accelerate(fresh_copy(inner))
    for _ in range(3):
        fast(grid(), 1.0)
    a = grid()
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        fast(a, 1.0)
    same(a.copy(), grid())


def failing_later(a: Any, b: Any, i: Any) -> Any:
    a[...] = 2.0
    a += 1.0
    x = b * 3.0
    return a, x, b[i]


def test_a_check_behind_a_store_leaves_precisely() -> None:
    for i in (0, -1, 9, -9, 2):
        check(failing_later, lambda k=i: (np.zeros(4), np.arange(4.0), k), native=None)
    fast = jitcore.accelerate(fresh_copy(failing_later))
    for i in (0, 9, 0):
        a = np.zeros(4)
        seen = observe(fast, (a, np.arange(4.0), i), {})
        assert seen.kind == ("raise" if i == 9 else "return") and a.tolist() == [3.0] * 4


def helper(a: Any, b: Any) -> Any:
    a[1:] += b[:-1]
    return a


def through_calls(a: Any, b: Any) -> Any:
    helper(a, b)
    helper(b, a)
    return a + b, helper(a[1:], b[1:]).sum()


def test_stores_in_inlined_calls() -> None:
    check(through_calls, lambda: (np.arange(6.0), np.ones(6)))
    check(through_calls, lambda: (np.array([1e308] * 6), np.array([1e308] * 6)), native=None)


def scaled(a: Any, b: Any, s: Any) -> Any:
    a *= s
    b[:] = a + s
    a[1:] -= b[:-1] * s
    return a, b


@pytest.mark.parametrize("mode", ["warn", "raise"])
@pytest.mark.parametrize("stride", [1, 2])
def test_large_arrays(stride: int, mode: Any) -> None:
    """Enough elements that few operations are done twice and not through memory of their own."""
    for last in (1.0, 1e308, np.nan, np.inf):
        def make(last: float = last) -> tuple[Any, ...]:
            a = np.linspace(1, 2, 200_000 * stride)[::stride]
            a[-1] = last
            return a, np.zeros_like(a), 3.0

        with np.errstate(all=mode, under="ignore"):
            check(scaled, make, native=None)
            if last == 1.0:
                check(scaled, make)
