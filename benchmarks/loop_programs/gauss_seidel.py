"""Laplace's equation by Gauss-Seidel sweeps until nothing changes any more."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def gauss_seidel(u, tolerance, most):
    rows, columns = u.shape
    for sweep in range(most):
        change = 0.0
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                new = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                change = max(change, abs(new - u[i, j]))
                u[i, j] = new
        if change < tolerance:
            return sweep + 1, change
    raise RuntimeError("no convergence")


FUNCTION = gauss_seidel


def arguments(scale=1.0):
    side = max(8, int(48 * scale**0.25))
    u = np.zeros((side, side))
    u[0] = 1.0
    u[:, -1] = 0.5
    return u, 1e-5, 100_000
