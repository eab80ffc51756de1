"""A small neural network learns by gradient descent, its weights updated in place."""
from __future__ import annotations

import numpy as np

KIND = "array loop"
NUMBA = True
TOLERANCE = 1e-9        # `np.exp` and `np.tanh` may differ in the last place, and each step builds on the one before


def train(x, target, w1, b1, w2, b2, rate, epochs):
    losses = np.zeros(epochs)
    n = x.shape[0]
    for epoch in range(epochs):
        hidden = np.tanh(x @ w1 + b1)
        output = 1.0 / (1.0 + np.exp(-(hidden @ w2 + b2)))
        error = output - target
        losses[epoch] = np.mean(error**2)
        d_output = error * output * (1.0 - output) / n
        d_hidden = (d_output @ w2.T) * (1.0 - hidden**2)
        w2 -= rate * (hidden.T @ d_output)
        b2 -= rate * d_output.sum(axis=0)
        w1 -= rate * (x.T @ d_hidden)
        b1 -= rate * d_hidden.sum(axis=0)
    return losses


FUNCTION = train


def arguments(scale=1.0):
    rng = np.random.default_rng(14)
    n, inputs, hidden = max(8, int(400 * scale**0.5)), 4, 16
    x = rng.standard_normal((n, inputs))
    target = (x[:, :1] * x[:, 1:2] > 0).astype(np.float64)
    return (x, target, rng.standard_normal((inputs, hidden)) * 0.5, np.zeros(hidden),
            rng.standard_normal((hidden, 1)) * 0.5, np.zeros(1), 0.5, max(4, int(4000 * scale**0.5)))
