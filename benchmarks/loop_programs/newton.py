"""Square roots by Newton's iteration, each to a tolerance."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def newton_sqrt(values, tolerance):
    roots = np.empty(len(values))
    for k, x in enumerate(values):
        guess = x if x > 1.0 else 1.0
        while abs(guess * guess - x) > tolerance * x:
            guess = 0.5 * (guess + x / guess)
        roots[k] = guess
    return roots


FUNCTION = newton_sqrt


def arguments(scale=1.0):
    return np.random.default_rng(2).uniform(0.01, 1e4, max(8, int(120_000 * scale))), 1e-12
