"""Heat in a plate: explicit steps written with slices."""
from __future__ import annotations

import numpy as np

KIND = "array loop"
NUMBA = True


def heat(u, diffusivity, steps):
    for _ in range(steps):
        old = u.copy()
        u[1:-1, 1:-1] = old[1:-1, 1:-1] + diffusivity * (
            old[2:, 1:-1] + old[:-2, 1:-1] + old[1:-1, 2:] + old[1:-1, :-2] - 4 * old[1:-1, 1:-1])
    return u


FUNCTION = heat


def arguments(scale=1.0):
    side = max(8, int(200 * scale**0.5))
    u = np.zeros((side, side))
    u[side // 4:side // 2, side // 4:side // 2] = 100.0
    return u, 0.2, max(5, int(1500 * scale**0.5))
