"""Mandelbrot: how many steps each pixel takes to escape."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def mandelbrot(width, height, most):
    counts = np.zeros((height, width), dtype=np.int64)
    for row in range(height):
        for column in range(width):
            c = complex(-2.0 + 3.0 * column / width, -1.25 + 2.5 * row / height)
            z = 0j
            n = 0
            while n < most and abs(z) <= 2.0:
                z = z * z + c
                n += 1
            counts[row, column] = n
    return counts


FUNCTION = mandelbrot


def arguments(scale=1.0):
    side = max(6, int(240 * scale**0.5))
    return side, side, 200
