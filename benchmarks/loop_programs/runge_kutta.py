"""The classical Runge-Kutta step for any right-hand side."""
from __future__ import annotations

import numpy as np

KIND = "array loop"
NUMBA = True


def van_der_pol(t, y):
    return np.array([y[1], 2.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])


def runge_kutta(f, y, t, h, steps):
    path = np.empty((steps + 1, len(y)))
    path[0] = y
    for n in range(steps):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
        path[n + 1] = y
    return path


FUNCTION = runge_kutta


def arguments(scale=1.0):
    return van_der_pol, np.array([2.0, 0.0]), 0.0, 1e-3, max(5, int(60_000 * scale))
