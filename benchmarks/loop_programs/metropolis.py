"""Metropolis sampling of a double well, with two random numbers a step."""
from __future__ import annotations

import math

import numpy as np

KIND = "scalar loop"
NUMBA = True
CALLS = "the generator's methods"


def metropolis(rng, n, width):
    samples = np.empty(n)
    accepted = 0
    x = 1.0
    energy = (x * x - 1.0) ** 2
    for i in range(n):
        proposal = x + width * rng.normal()
        proposed = (proposal * proposal - 1.0) ** 2
        if proposed <= energy or rng.random() < math.exp(energy - proposed):
            x = proposal
            energy = proposed
            accepted += 1
        samples[i] = x
    return samples, accepted / n


FUNCTION = metropolis


def arguments(scale=1.0):
    return np.random.default_rng(11), max(10, int(400_000 * scale)), 0.8
