"""Conway's game of life on a torus."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def life(grid, generations):
    rows, columns = grid.shape
    for _ in range(generations):
        new = np.zeros_like(grid)
        for i in range(rows):
            for j in range(columns):
                neighbours = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di != 0 or dj != 0:
                            neighbours += grid[(i + di) % rows, (j + dj) % columns]
                if neighbours == 3 or (neighbours == 2 and grid[i, j] == 1):
                    new[i, j] = 1
        grid = new
    return grid


FUNCTION = life


def arguments(scale=1.0):
    side = max(8, int(110 * scale**0.5))
    return (np.random.default_rng(9).random((side, side)) < 0.3).astype(np.int64), max(3, int(30 * scale**0.5))
