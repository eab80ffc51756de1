"""Loops over lists, tuples and bytes, enumerate, zip and reversed: native to their end, and as the interpreter does."""
from __future__ import annotations

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, same


def fold(xs):
    s = 0
    for x in xs:
        s = s * 3 % 1009 + x
    return s, x


def poly(xs, x):
    s = 0.0
    for c in reversed(xs):
        s = s * x + c
    return s


def numbered(xs, start):
    s = 0.0
    for i, x in enumerate(xs, start):
        if i % 4 == 1:
            continue
        s += i * x
    else:
        s -= 1
    return s, i


def pairs(xs, ys):
    s = 0.0
    for x, y in zip(xs, ys):
        if x > 6:
            break
        s += x * y
    else:
        return "all", s
    return x, y, s


def strict(xs, ys):
    s = 0.0
    for x, y in zip(xs, ys, strict=True):
        s += x * y
    return s


def triples(xs, ys, n):
    s = 0.0
    for i, (x, y, k) in enumerate(zip(xs, ys, range(n, 0, -1))):
        s += (i - k) * x - y
    return s


def tuples(xs, ys):
    s, last = 0.0, None
    for pair in zip(xs, ys):
        s += pair[0] - pair[1]
        last = pair
    return s, last


def by_index(xs, n):
    s = 0
    for i in range(n):
        s += xs[i] - xs[-i]
    return s, len(xs), bool(xs)


def distance(s, t):
    n = 0
    for a, b in zip(s, t):
        if a != b:
            n += 1
    return n + abs(len(s) - len(t))


def points(xs):
    s = 0.0
    for x, y in xs:
        s += x * y
    return s


def nested(xs, ys):
    s = 0
    for x in xs:
        for i, y in enumerate(ys):
            if y == x:
                break
            s += i * y - x
        else:
            s += 1000
    return s


def explicit(xs):
    it = iter(xs)
    first = next(it)
    s = 0
    for x in it:
        s += x * first
    return s, first


def held(xs):
    e = enumerate(xs)
    s = 0
    for i, x in e:
        if x > 4:
            break
        s += i * x
    return s, next(e), list(e)


def largest(xs):
    for x in xs:
        if x > 2.4:
            return x
    return None


INTS, FLOATS = list(range(1, 12)), [0.5 * k for k in range(11)]
SEQUENCES = [INTS, FLOATS, tuple(INTS), tuple(FLOATS), b"0123456789", np.arange(11.0), np.arange(22)[::2],
             [True, False] * 6, [np.float64(x) for x in FLOATS], [np.int16(x) for x in INTS], [7], [2.5, 3.5],
             [1j * k for k in range(12)], range(40, 7, -2), list(range(100))]
REAL = [xs for xs in SEQUENCES if type(xs[0]) is not complex]


@pytest.mark.parametrize("k", range(len(SEQUENCES)))
def test_one(k):
    xs = SEQUENCES[k]
    number = None if type(xs[0]) is complex else True
    check(fold, lambda: (xs,), native=number)
    check(poly, lambda: (xs, 0.5))
    check(numbered, lambda: (xs, 3))
    check(numbered, lambda: (xs, -2**40), native=None if type(xs[0]) is np.int16 else True)    # which overflows
    check(points, lambda: (np.array([list(xs), list(xs)]).T,), native=number)


@pytest.mark.parametrize("k", range(len(REAL)))
def test_two(k):
    xs = REAL[k]
    for ys in (FLOATS, tuple(INTS), np.arange(3.0), xs):
        check(pairs, lambda ys=ys: (xs, ys))
        check(tuples, lambda ys=ys: (xs, ys))
        check(triples, lambda ys=ys: (xs, ys, 5))
        check(strict, lambda ys=ys: (xs, ys), native=True if len(xs) == len(ys) else None)
        check(nested, lambda ys=ys: (xs, ys))


def test_strict_raises_where_the_interpreter_does():
    for n in range(4):
        check(strict, lambda n=n: (np.arange(3.0), FLOATS[:n]), native=None)
        check(strict, lambda n=n: (FLOATS[:n], INTS[:2]), native=None)


def test_by_index():
    for xs in (INTS, FLOATS, tuple(INTS), b"0123456789"):
        check(by_index, lambda xs=xs: (xs, 10))
        check(by_index, lambda xs=xs: (xs, 0))
        check(by_index, lambda xs=xs: (xs, 12), native=None)
    check(distance, lambda: (b"kitten", b"sitting"))
    check(distance, lambda: (b"", b"sitting"))


def test_iterators_in_locals():
    for xs in (INTS, tuple(INTS), np.arange(9), b"some"):
        check(explicit, lambda xs=xs: (xs,))
        check(held, lambda xs=xs: (xs,), native=None)
    check(explicit, lambda: (np.arange(0),), native=None)       # StopIteration
    check(explicit, lambda: ([],), native=None)


def test_an_item_keeps_its_identity():
    fast = jitcore.accelerate(fresh_copy(largest))
    for xs in (FLOATS, tuple(FLOATS), [np.float64(x) for x in FLOATS]):
        assert fast(xs) is xs[5]
    assert fast([0.0]) is None
    assert jitcore.stats(fast).native_calls == 4


@pytest.mark.parametrize("at", [0, 1, 5, 9])
def test_items_of_another_type(at):
    for item in (2, 2.0, True, "x", None, np.float64(2), 2**70, 1j, np.arange(2)):
        for xs in (INTS[:10], FLOATS[:10], tuple(FLOATS[:10])):
            plain, fast = fresh_copy(fold), jitcore.accelerate(fresh_copy(fold))
            fast(xs)
            mixed = (*xs[:at], item, *xs[at:])
            mixed = mixed if type(xs) is tuple else list(mixed)
            for _ in range(2):
                try:
                    expected = plain(mixed)
                except Exception as error:
                    with pytest.raises(type(error)):
                        fast(mixed)
                else:
                    same(expected, fast(mixed))


def test_lengths_do_not_make_new_regions():
    fast = jitcore.accelerate(fresh_copy(fold))
    for n in (1, 2, 3, 50, 1000, 7):
        assert fast(list(range(n))) == fold(list(range(n)))
    counts = jitcore.stats(fast)
    assert counts.compiles == 1 and counts.native_calls == 6, counts


def test_a_long_list_compiles_as_fast_as_a_short_one():
    seconds = []
    for n in (3, 2_000_000):
        fast = jitcore.accelerate(fresh_copy(fold))
        xs = [1] * n
        assert fast(xs) == fold(xs)
        seconds.append(jitcore.stats(fast).compile_seconds)
    assert seconds[1] < 3 * seconds[0] + 0.1


def raises_in(xs, ys):
    s = 0.0
    for i, (x, y) in enumerate(zip(xs, ys), 1):  # noqa: B007
        s += x // y
    return s, i


@pytest.mark.parametrize("at", [0, 3, 8])
def test_what_fails_in_a_loop(at):
    ys = [1.5] * 9
    ys[at] = 0.0
    check(raises_in, lambda: (FLOATS, ys), native=None)
    check(raises_in, lambda: (np.arange(9.0), np.array(ys)), native=None)
    check(raises_in, lambda: (tuple(INTS), [2**40 * (k != at) for k in range(9)]), native=None)
