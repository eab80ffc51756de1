"""Minimax polynomials by Remez' exchange algorithm, with coefficients that are numbers of a format.

Method: E. Ya. Remez, 1934; as told by N. Higham and others, and J.-M. Muller, "Elementary Functions", chapter 3.  The
coefficients are rounded one after the other, lowest first, and the rest is fitted anew to what the rounded ones
leave, so that the
higher ones make up for the rounding of the lower ones (the idea of S. Chevillard's and N. Brisebarre's work on
constrained approximation, in its simplest form).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mpmath as mp

mp.mp.prec = 240
Function = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Fit:
    """A polynomial, the range it is for, and log2 of its greatest weighted error there."""

    coefficients: tuple[float, ...]
    low: float
    high: float
    error: float


def round_to(x: mp.mpf, precision: int) -> mp.mpf:
    """The nearest number with so many bits, halves to even; exponents are not bounded."""
    if x == 0:
        return mp.mpf(0)
    exponent = int(mp.floor(mp.log(abs(x), 2))) + 1 - precision
    return mp.ldexp(mp.nint(mp.ldexp(x, -exponent)), exponent)


def _grid(low: mp.mpf, high: mp.mpf, count: int) -> list[mp.mpf]:
    """Extrema of a Chebyshev polynomial, moved to the range."""
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle - half * mp.cos(mp.pi * k / (count - 1)) for k in range(count)]


def _value(coefficients: Sequence[mp.mpf], x: mp.mpf) -> mp.mpf:
    total = mp.mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def _exchange(points: list[mp.mpf], values: list[mp.mpf], weights: list[mp.mpf], count: int) -> list[mp.mpf]:
    """The coefficients that minimise the greatest ``weight * |value - p|`` on a dense grid."""
    # Where the weight vanishes there is nothing to level out, and the equations would be singular.
    floor = max(weights) * mp.mpf(2) ** -40
    kept = [i for i, w in enumerate(weights) if w > floor]
    points, values, weights = ([column[i] for i in kept] for column in (points, values, weights))
    total = len(points)
    reference = [round((total - 1) * k / count) for k in range(count + 1)]
    coefficients: list[mp.mpf] = []
    for _ in range(40):
        rows, right = mp.matrix(count + 1, count + 1), mp.matrix(count + 1, 1)
        for row, i in enumerate(reference):
            power = mp.mpf(1)
            for column in range(count):
                rows[row, column] = power * weights[i]
                power *= points[i]
            rows[row, count] = (-1) ** row
            right[row] = values[i] * weights[i]
        solution = mp.lu_solve(rows, right)
        coefficients, level = list(solution)[:count], abs(solution[count])
        errors = [(v - _value(coefficients, x)) * w for x, v, w in zip(points, values, weights)]
        runs: list[int] = []        # the greatest error of each run of one sign
        for i, error in enumerate(errors):
            if runs and (errors[runs[-1]] >= 0) == (error >= 0):
                if abs(error) > abs(errors[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > count + 1:        # keep the alternation and the greatest errors
            sizes = [abs(errors[i]) for i in runs]
            at = sizes.index(min(sizes))
            if at in (0, len(runs) - 1):
                del runs[at]
            elif len(runs) == count + 2:
                del runs[0 if sizes[0] < sizes[-1] else -1]
            else:
                neighbour = at - 1 if sizes[at - 1] < sizes[at + 1] else at
                del runs[neighbour:neighbour + 2]
        worst = max(abs(e) for e in errors)
        if len(runs) < count + 1 or worst <= level * mp.mpf("1.001") or runs == reference:
            break
        reference = runs
    return coefficients


def minimax(f: Function, weight: Function, low: mp.mpf, high: mp.mpf, count: int, precision: int,
            exact: Sequence[mp.mpf] = ()) -> Fit:
    """``count`` coefficients of the polynomial ``p`` with the least greatest ``|weight * (f - p)|`` in [low, high].

    ``exact``: leading coefficients that are given.  ``f`` and ``weight`` are not asked at 0.
    """
    points = [x if x != 0 else (high - low) / 10**6 for x in _grid(mp.mpf(low), mp.mpf(high), 30 * count + 101)]
    values, weights = [f(x) for x in points], [weight(x) for x in points]
    done: list[mp.mpf] = []
    for i in range(count):
        if i < len(exact):
            done.append(exact[i])
            continue
        left = [(v - _value(done, x)) / x**i for v, x in zip(values, points)]
        found = _exchange(points, left, [abs(w * x**i) for w, x in zip(weights, points)], count - i)
        done.append(round_to(found[0], precision))
    error = max(abs(w * (v - _value(done, x))) for x, v, w in zip(points, values, weights))
    return Fit(tuple(float(c) for c in done), float(low), float(high), float(mp.log(error, 2)))
