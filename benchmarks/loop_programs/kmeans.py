"""Clusters after Lloyd: the nearest centre for each point, then the mean of each cluster."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def kmeans(points, k, most):
    n, dimensions = points.shape
    centres = points[:k].copy()
    labels = np.zeros(n, dtype=np.int64)
    for _ in range(most):
        moved = 0
        for i in range(n):
            nearest = 0
            smallest = np.inf
            for c in range(k):
                distance = 0.0
                for d in range(dimensions):
                    distance += (points[i, d] - centres[c, d]) ** 2
                if distance < smallest:
                    smallest = distance
                    nearest = c
            if labels[i] != nearest:
                labels[i] = nearest
                moved += 1
        if moved == 0:
            break
        sums = np.zeros((k, dimensions))
        counts = np.zeros(k)
        for i in range(n):
            sums[labels[i]] += points[i]
            counts[labels[i]] += 1
        for c in range(k):
            if counts[c] > 0:
                centres[c] = sums[c] / counts[c]
    return centres, labels


FUNCTION = kmeans


def arguments(scale=1.0):
    rng = np.random.default_rng(10)
    n = max(24, int(6000 * scale))
    return rng.standard_normal((n, 3)) + 4 * rng.integers(0, 3, (n, 1)), 5, 12
