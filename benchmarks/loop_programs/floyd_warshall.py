"""Shortest ways between all pairs of nodes, after Floyd and Warshall."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def floyd_warshall(weights):
    distances = weights.copy()
    n = distances.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = distances[i, k] + distances[k, j]
                if through < distances[i, j]:
                    distances[i, j] = through
    return distances


FUNCTION = floyd_warshall


def arguments(scale=1.0):
    rng = np.random.default_rng(7)
    n = max(6, int(180 * scale ** (1 / 3)))
    weights = rng.uniform(1, 100, (n, n))
    weights[rng.random((n, n)) < 0.7] = np.inf
    np.fill_diagonal(weights, 0.0)
    return (weights,)
