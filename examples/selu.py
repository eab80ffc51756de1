"""SELU, an activation function of neural networks, over a million numbers.

Klambauer, Unterthiner, Mayr, Hochreiter: Self-Normalizing Neural Networks (2017), eq. 2 and 14.
"""
from __future__ import annotations

import numpy as np
from report import report

import jitcore


@jitcore.accelerate
def selu(x, alpha=1.6732632423543772, scale=1.0507009873554805):
    """``scale * x`` for positive x, ``scale * alpha * (exp(x) - 1)`` otherwise."""
    return scale * np.where(x > 0, x, alpha * (np.exp(x) - 1))


def main() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(1_000_000)
    # Close to 0, exp(x) - 1 cancels: what is an ulp of exp there is many of the result.
    y = report("SELU, 1,000,000 float64", selu, x)
    report("SELU, 1,000,000 float32", selu, x.astype(np.float32))
    # What the constants are for: outputs of standard normal inputs have mean 0 and variance 1 again.
    print(f"  mean {y.mean():+.4f}, variance {y.var():.4f}")


if __name__ == "__main__":
    main()
