"""Programs at the limits of what native code does: large ints, divisions by zero, shifts, the first and the last trip.

``python -m tests.parity.limits`` compares all of them; the tests run that at each level of optimisation.
"""
from __future__ import annotations

from typing import Any

import numpy as np

import jitcore

from .compare import fresh_copy, observe, same

MIN, MAX = -2**63, 2**63 - 1
X = np.arange(1.0, 9.0)
K = np.arange(8)


def floor_division(a, b):
    return a // b + b // 3 - (a // 7) * 1 - b


def remainder(a, b):
    return (a % b) * 2 - (a % b) + b % 5 - a % 3


def division(a, b):
    return a / b + b / 3 - a / 7 + 1.0


def both(a, b):
    q, r = divmod(a, b)
    return q * b + r, q - r


def power(a, b):
    return a ** b + 0 - b * 2 + b - 1


def shifts(a, b):
    return (a << b) + 0, (a >> b) + 1 - 1, (b << 2) - b


def arithmetic(a, b):
    return a * b + a - b, -a, abs(a), ~a, a & b, a | b, a ^ b


def compared(a, b):
    return a < b, a <= b, a == b, a != b, a > b, a >= b, min(a, b), max(a, b)


def loop(a, n):
    t = 1
    for i in range(n):
        t = t * a + i
    return t


def loop_division(a, n):
    t, k = 0.0, 0
    for i in range(n):
        t += a / (n - 2 - i)
        k += i
    return t, k


def loop_floor(a, n):
    t = 0
    for i in range(n):
        t += a // (i - 3)
    return t


def loop_caught(a, n):
    t = bad = 0
    for i in range(n):
        try:
            t += a % (i - 3)
        except ZeroDivisionError as error:
            bad += 1
            print(i, t, error)
    return t, bad


def loop_shift(a, n):
    t = 0
    for i in range(n):
        t ^= a << i
        t ^= a >> i
    return t


def first_trip(x, n):
    t = 0.0
    for i in range(4):
        t += x[i + n]
    return t


def last_trip(x, n):
    t = 0.0
    for i in range(n):
        t += x[i]
    return t


def negative_index(x, n):
    t = 0.0
    for i in range(n):
        t += x[-i]
    return t


def store_halfway(x, n):
    for i in range(n):
        x[i] = x[i] + i
    return x


def store_division_halfway(x, n):
    for i in range(len(x)):
        x[i] = 1.0 / float(n - i)
    return x


def store_int_halfway(k, n):
    for i in range(len(k)):
        k[i] = n * (i + 1)
    return k


def prints_halfway(x, n):
    t = 0.0
    for i in range(n):
        print(i)
        t += x[i]
    return t


def unbound(x, n):
    for i in range(n):
        t = x[i % 8] + 1.0
    return t, i


def unbound_deleted(x, n):
    t = 0.0
    for i in range(8):
        t = x[i] * n + t    # CPython 3.11 may name the line before where a line begins with the name that is unbound
        if i == n:
            del t
    return t


def caught_outside(x, n):
    i = t = 0
    try:
        for i in range(n):
            t += x[i]
    except IndexError as error:
        return t, i, str(error)
    return t, i


def numpy_division(x, n):
    y = x / n
    return y, x // n, x % n


def numpy_scalar_division(x, n):
    t = 0.0
    for i in range(7):
        t += x[i] / (x[n] - x[i])
    return t


INTS = [0, 1, -1, 2, -3, 7, 63, 64, 65, 2**31, 2**32 + 1, 2**53 + 1, 2**62, MIN, MIN + 1, MAX, 2**63, 2**64, -2**64,
        2**70, -2**70 + 3]
FLOATS = [0.0, -0.0, 1.5, -2.5, 1e308, 5e-324, float("inf"), float("nan")]
FEW = [0, 1, 2, 3, 4, 5, 8, 9, 20, 40, 64, 70]

#: Functions with what their two arguments are taken from.
PROGRAMS: list[tuple[Any, list[Any], list[Any]]] = [
    *((f, INTS, INTS) for f in (floor_division, remainder, both, arithmetic, compared)),
    *((f, [*INTS, *FLOATS], [*INTS[:5], MIN, 2**70, *FLOATS]) for f in (floor_division, remainder, division, compared)),
    (power, [0, 2, -3, 10, MIN, 2**70, 0.0, -2.5], [0, 1, 2, -1, -2, 62, 63, 64, 0.5]),
    (shifts, [0, 1, -1, 5, MIN, MAX, 2**70], [0, 1, 31, 62, 63, 64, 65, 100, -1]),
    *((f, [0, 1, 2, -3, 7, MIN, MAX, 2**70], FEW) for f in (loop, loop_division, loop_floor, loop_caught, loop_shift)),
    *((f, [X], [*FEW, -1, -8, -9]) for f in (first_trip, last_trip, negative_index, store_halfway, prints_halfway,
                                            unbound, unbound_deleted, caught_outside)),
    (store_division_halfway, [X], [0, 3, 7, 8]), (store_int_halfway, [K], [1, 2**60, MAX, 2**70]),
    (numpy_division, [X, K], [0, 1, 2.5, 0.0]), (numpy_scalar_division, [X], [0, 6, 7]),
]


def compare_all() -> int:
    """Compares every program on every pair of arguments; gives how many calls were native."""
    native = 0
    for function, firsts, seconds in PROGRAMS:
        plain, fast = fresh_copy(function), jitcore.accelerate(fresh_copy(function))
        for a in firsts:
            for b in seconds:
                mine, other = (a.copy(), a.copy()) if isinstance(a, np.ndarray) else (a, a)
                first, second = observe(plain, (mine, b), {}), observe(fast, (other, b), {})
                where = f"{function.__name__}({a!r}, {b!r})"
                assert first.kind == second.kind, f"{where}: {first} -> {second}"
                same(first.value, second.value, where=where)
                same(mine, other, where=where)
                assert first.printed == second.printed and first.warnings == second.warnings, where
        ran = jitcore.stats(fast).native_calls
        assert ran or function is prints_halfway, f"{function.__name__} never ran native"
        native += ran
    return native


if __name__ == "__main__":
    print(compare_all())
