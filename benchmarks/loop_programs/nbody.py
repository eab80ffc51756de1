"""Gravity between bodies, pair by pair, with the leapfrog step."""
from __future__ import annotations

import math

import numpy as np

KIND = "scalar loop"
NUMBA = True


def nbody(positions, velocities, masses, dt, steps):
    n = len(masses)
    for _ in range(steps):
        for i in range(n):
            for j in range(i + 1, n):
                dx = positions[i, 0] - positions[j, 0]
                dy = positions[i, 1] - positions[j, 1]
                dz = positions[i, 2] - positions[j, 2]
                distance = math.sqrt(dx * dx + dy * dy + dz * dz)
                force = dt / (distance * distance * distance)
                velocities[i, 0] -= dx * masses[j] * force
                velocities[i, 1] -= dy * masses[j] * force
                velocities[i, 2] -= dz * masses[j] * force
                velocities[j, 0] += dx * masses[i] * force
                velocities[j, 1] += dy * masses[i] * force
                velocities[j, 2] += dz * masses[i] * force
        for i in range(n):
            for axis in range(3):
                positions[i, axis] += dt * velocities[i, axis]
    energy = 0.0
    for i in range(n):
        vx, vy, vz = velocities[i]
        energy += 0.5 * masses[i] * (vx**2 + vy**2 + vz**2)
        for j in range(i + 1, n):
            dx, dy, dz = positions[i] - positions[j]
            energy -= masses[i] * masses[j] / math.sqrt(dx**2 + dy**2 + dz**2)
    return energy


FUNCTION = nbody


def arguments(scale=1.0):
    rng = np.random.default_rng(1)
    n = 8
    return (rng.standard_normal((n, 3)), rng.standard_normal((n, 3)) * 0.1, rng.random(n) + 0.1, 1e-3,
            max(3, int(6000 * scale)))
