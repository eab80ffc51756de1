"""A wave on a membrane: three time levels and slices."""
from __future__ import annotations

import numpy as np

KIND = "array loop"
NUMBA = True


def wave(u, courant, steps):
    before = u.copy()
    now = u.copy()
    after = np.zeros_like(u)
    c2 = courant**2
    for _ in range(steps):
        laplacian = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        after[1:-1, 1:-1] = 2 * now[1:-1, 1:-1] - before[1:-1, 1:-1] + c2 * laplacian
        before, now, after = now, after, before
    return now


FUNCTION = wave


def arguments(scale=1.0):
    side = max(8, int(200 * scale**0.5))
    x = np.linspace(-1, 1, side)
    return np.exp(-20 * (x[:, None] ** 2 + x**2)), 0.5, max(5, int(1500 * scale**0.5))
