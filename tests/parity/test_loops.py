"""Loops and branches on run-time values: native to their end, and exactly what the interpreter does."""
from __future__ import annotations

import numpy as np
import pytest

from .compare import check

RNG = np.random.default_rng(5)


def total(n):
    s = 0
    for i in range(n):
        s += i * i
    return s


def sum_of(a):
    t = 0
    for i in range(len(a)):
        t += a[i]
    return t


def collatz(n):
    count = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count


def escape(cr, ci, most):
    x = y = 0.0
    for k in range(most):
        x, y = x * x - y * y + cr, 2 * x * y + ci
        if x * x + y * y > 4:
            return k
    return most


def complex_escape(c, most):
    z = 0j
    k = 0
    while abs(z) <= 2.0 and k < most:
        z = z * z + c
        k += 1
    return k, z


def newton(x, tolerance):
    guess = x
    while abs(guess * guess - x) > tolerance:
        guess = 0.5 * (guess + x / guess)
    return guess


def tax(income):
    due = 0.0
    for k in range(len(income)):
        if income[k] <= 10000:
            due += 0.1 * income[k]
        elif income[k] <= 40000:
            due += 1000 + 0.2 * (income[k] - 10000)
        else:
            due += 7000 + 0.4 * (income[k] - 40000)
    return due


def matmul(a, b):
    n, m, p = a.shape[0], a.shape[1], b.shape[1]
    c = np.zeros((n, p))
    for i in range(n):
        for j in range(p):
            s = 0.0
            for k in range(m):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


def sieve(n):
    flags = np.ones(n + 1, dtype=np.bool_)
    flags[0] = False
    flags[1] = False
    i = 2
    while i * i <= n:
        if flags[i]:
            for j in range(i * i, n + 1, i):
                flags[j] = False
        i += 1
    return flags


def insertion(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def search(a, x):
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if a[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def prefix(a):
    out = np.zeros(len(a))
    s = 0.0
    for i in range(len(a)):
        s += a[i]
        out[i] = s
    return out


def floyd(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]


def edit(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best = d[i - 1, j - 1] + (0 if a[i - 1] == b[j - 1] else 1)
            if d[i - 1, j] + 1 < best:
                best = d[i - 1, j] + 1
            if d[i, j - 1] + 1 < best:
                best = d[i, j - 1] + 1
            d[i, j] = best
    return d[n, m]


def seidel(u, tolerance, most):
    sweeps = 0
    while sweeps < most:
        change = 0.0
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                new = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                off = abs(new - u[i, j])
                if off > change:
                    change = off
                u[i, j] = new
        sweeps += 1
        if change < tolerance:
            break
    return sweeps, change


def histogram(a, bins):
    counts = np.zeros(bins, dtype=np.int64)
    for k in range(len(a)):
        b = int(a[k] * bins)
        if b == bins:
            b -= 1
        counts[b] += 1
    return counts


def life(g):
    n, m = g.shape
    new = np.zeros((n, m), dtype=np.int8)
    for i in range(n):
        for j in range(m):
            alive = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di != 0 or dj != 0:
                        alive += g[(i + di) % n, (j + dj) % m]
            if alive == 3 or (alive == 2 and g[i, j] == 1):
                new[i, j] = 1
    return new


def grid(*shape):
    return RNG.random(shape)


LOOPS = [
    (total, lambda: (1000,)), (total, lambda: (0,)), (total, lambda: (1,)), (total, lambda: (-5,)),
    (sum_of, lambda: (np.arange(50.0),)), (sum_of, lambda: (np.arange(50.0)[::-2],)),
    (sum_of, lambda: (np.arange(9, dtype="f4"),)), (sum_of, lambda: (np.arange(9, dtype="i8"),)),
    (collatz, lambda: (27,)), (collatz, lambda: (1,)),
    (escape, lambda: (0.3, 0.5, 200)), (escape, lambda: (1.0, 1.0, 200)), (escape, lambda: (0.0, 0.0, 0)),
    (complex_escape, lambda: (0.3 + 0.5j, 100)), (complex_escape, lambda: (2 + 2j, 100)),
    (newton, lambda: (2.0, 1e-12)), (newton, lambda: (1.0, 1e-12)),
    (tax, lambda: (np.array([5000.0, 20000.0, 90000.0, 40000.0]),)), (tax, lambda: (np.zeros(0),)),
    (sieve, lambda: (500,)), (sieve, lambda: (1,)), (search, lambda: (np.arange(0, 100, 3), 50)),
    (prefix, lambda: (np.arange(20.0),)), (prefix, lambda: (np.zeros(0),)),
    (insertion, lambda: (np.array([5, 2, 9, 1, 1, 7]),)), (insertion, lambda: (np.array([2.0]),)),
    (matmul, lambda: (np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3).T)),
    (matmul, lambda: (np.zeros((0, 3)), np.zeros((3, 2)))),
    (edit, lambda: (np.array([1, 2, 3, 4, 2]), np.array([2, 3, 3, 4]))),
    (edit, lambda: (np.zeros(0, int), np.ones(3, int))),
    (histogram, lambda: (np.linspace(0, 1, 40), 7)),
    (life, lambda: ((np.arange(30).reshape(5, 6) % 3 == 0).astype("i1"),)),
]


@pytest.mark.parametrize("case", range(len(LOOPS)))
def test_loops_run_native(case):
    func, make = LOOPS[case]
    check(func, make)


def test_loops_over_matrices_in_place():
    start = grid(7, 7)
    check(floyd, lambda: (start.copy(),))
    check(seidel, lambda: (start.copy(), 1e-3, 50))
    check(seidel, lambda: (start.copy().T, 1e-3, 50))
    check(seidel, lambda: (start.copy(), 1e-3, 0), native=None)      # `change` is unbound


# -- the edges of loops ---------------------------------------------------------------------------------
def first_square_beyond(n, limit):
    for i in range(n):
        if i * i > limit:
            break
        last = i
    else:
        return -1, n
    return i, last


def down(n, step):
    seen = 0
    for i in range(n, 0, step):
        seen = seen * 3 % 1000003 + i
    return seen


def skips(n):
    s = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        if i % 5 == 0:
            s -= i
            continue
        s += i
    else:
        s += 0.5
    return s, i


def becomes_float(n):
    x = 1
    for i in range(n):
        if i == 3:
            x = x * 0.5
        x = x + 1
    return x


def chained(a, low, high):
    inside = 0
    k = 0
    while 0 <= k < len(a):
        if low <= a[k] < high:
            inside += 1
        k += 1
    return inside


def two_loops(n, m):
    s = 0
    for i in range(n):
        for j in range(i, m):
            if j > 2 * i:
                break
            s += i * j
        else:
            s += 1000
    t = 0
    while t * t < s:
        t += 1
    return s, t


def helper(x, y):
    if x > y:
        return x - y
    return y - x


def calls_helper(a):
    s = 0.0
    for k in range(1, len(a)):
        s += helper(a[k], a[k - 1])
    return s


@pytest.mark.parametrize("args", [(0, 5), (1, 5), (3, 5), (100, 50), (100, -1)])
def test_break_else_and_unbound_locals(args):
    check(first_square_beyond, lambda: args, native=None)


@pytest.mark.parametrize("args", [(10, -1), (10, -3), (0, -1), (10, 3), (10, 0)])
def test_steps(args):
    check(down, lambda: args, native=None)
    if args[1] < 0:
        check(down, lambda: args)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 40])
def test_types_and_continue(n):
    check(skips, lambda: (n,), native=n > 0)
    check(becomes_float, lambda: (n,))
    check(two_loops, lambda: (n, 9))


def test_branches_meet_in_helpers():
    check(chained, lambda: (np.array([3.0, 9.0, 4.0, -1.0]), 0.0, 5.0))
    check(calls_helper, lambda: (np.array([3.0, 9.0, 4.0, -1.0]),))


# -- what fails in a loop -------------------------------------------------------------------------------
def powers(n):
    x = 1
    for _ in range(n):
        x *= 3
    return x


def overflow_first(x):
    y = 0
    for _ in range(5):
        y = y + x * x
    return y


def reads(a, n):
    s = 0
    for i in range(n):
        s += a[i]
    return s


def reads_from(a, first):
    s = 0
    for i in range(first, 3):
        s += a[i]
    return s


def writes(a, n):
    for i in range(n):
        a[i] = i * 2
    return a


def divides(a, n):
    s = 0.0
    for i in range(n):
        a[i] += 1
        s += 1.0 / (n - 3 - i)
    return s


def divides_ints(a, d):
    for i in range(len(a)):
        a[i] = 7 // (d - i)


def caught(a, n):
    try:
        for i in range(n):
            a[i] = i
    except IndexError:
        return "caught", i
    return "fine", n


def raises(a):
    for i in range(len(a)):
        if a[i] < 0:
            raise ValueError(f"element {i}")
        a[i] = 0


@pytest.mark.parametrize("n", [0, 1, 39, 40, 41, 100])
def test_ints_beyond_64_bits(n):
    check(powers, lambda: (n,), native=None)
    check(overflow_first, lambda: (2**31 + n,), native=None)
    check(overflow_first, lambda: (2**40,), native=None)
    check(overflow_first, lambda: (2**70,), native=None)


@pytest.mark.parametrize("n", [0, 1, 4, 5, 6, 9])
def test_indices_out_of_range(n):
    check(reads, lambda: (np.arange(5), n), native=None)
    check(reads_from, lambda: (np.arange(5.0), -n), native=None)
    for dtype in ("f8", "i8", "i1", "u1", "?", "c16", "f4"):
        check(writes, lambda dtype=dtype: (np.zeros(5, dtype), n), native=None)
    check(writes, lambda: (np.zeros(50, "i1"), 10 * n + 1), native=None)
    check(caught, lambda: (np.zeros(5), n), native=None)
    check(divides, lambda: (np.zeros(9), n), native=None)
    check(divides_ints, lambda: (np.zeros(9, int), n), native=None)


def read_only(n):
    a = np.zeros(5)
    a.flags.writeable = False
    return a, n


def test_stores_that_fail():
    for n in (0, 3):
        check(writes, lambda n=n: read_only(n), native=None)
    check(writes, lambda: (np.broadcast_to(np.zeros(1), 5), 3), native=None)
    check(raises, lambda: (np.array([1.0, 2.0, -3.0, 4.0]),), native=None)
    check(writes, lambda: (np.zeros(10)[::2], 5))


def shifts(a, b):
    for i in range(len(a) - 1):
        b[i + 1] = a[i] + 1


def shares(n):
    a = np.arange(float(n))
    return a, a


def overlapping(n):
    a = np.arange(float(n))
    return a[1:], a[:-1]


def test_aliased_arrays():
    check(shifts, lambda: shares(6))
    check(shifts, lambda: overlapping(7))


def scale(a, factor):
    s = np.float32(1)
    for i in range(len(a)):
        s = s * factor
        a[i] = s
    return s


def test_reports_of_numpy_scalars():
    check(scale, lambda: (np.zeros(50, "f4"), np.float32(1e10)), native=None)
    check(scale, lambda: (np.zeros(50, "f4"), np.float32(1e-10)), native=None)
    with np.errstate(under="raise"):
        check(scale, lambda: (np.zeros(50, "f4"), np.float32(1e-10)), native=None)
    with np.errstate(over="raise"):
        check(scale, lambda: (np.zeros(50, "f4"), np.float32(1e10)), native=None)
