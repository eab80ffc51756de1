"""Income tax by brackets: what each income owes."""
from __future__ import annotations

import numpy as np

KIND = "scalar loop"
NUMBA = True


def taxes(incomes, limits, rates):
    due = np.zeros(len(incomes))
    for i, income in enumerate(incomes):
        tax = 0.0
        lower = 0.0
        for limit, rate in zip(limits, rates):
            if income <= limit:
                tax += (income - lower) * rate
                break
            tax += (limit - lower) * rate
            lower = limit
        else:
            tax += (income - lower) * 0.45
        due[i] = tax
    return due


FUNCTION = taxes


def arguments(scale=1.0):
    rng = np.random.default_rng(3)
    limits = np.array([11_000.0, 44_725.0, 95_375.0, 182_100.0, 231_250.0])
    rates = np.array([0.10, 0.12, 0.22, 0.24, 0.32])
    return rng.lognormal(11.0, 0.8, max(20, int(400_000 * scale))), limits, rates
