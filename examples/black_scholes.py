"""Prices of a million European options by the formula of Black and Scholes (1973).

The normal distribution's function is formula 26.2.17 of Abramowitz and Stegun, Handbook of Mathematical Functions,
right to 7.5e-8.
"""
from __future__ import annotations

import math

import numpy as np
from report import report

import jitcore


def normal_cdf(x):
    """Probability that a standard normal number is below ``x``."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi)) * series
    return np.where(x > 0, 1 - tail, tail)


@jitcore.accelerate
def call_price(spot, strike, years, rate, volatility):
    """What the right to buy at ``strike`` in ``years`` is worth."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    return spot * normal_cdf(d1) - strike * np.exp(-rate * years) * normal_cdf(d2)


def exact_price(spot: float, strike: float, years: float, rate: float, volatility: float) -> float:
    """The same from the error function, for the check."""
    spread = volatility * math.sqrt(years)
    d1 = (math.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread

    def cdf(x: float) -> float:
        return 0.5 * math.erfc(-x / math.sqrt(2))

    return spot * cdf(d1) - strike * math.exp(-rate * years) * cdf(d1 - spread)


def main() -> None:
    rng = np.random.default_rng(2)
    n = 1_000_000
    spot, strike = rng.uniform(10, 50, n), rng.uniform(10, 50, n)
    years = rng.uniform(0.25, 2, n)
    # A price is a difference of two numbers that can nearly cancel: an ulp in one of them is many in a small price.
    prices = report("Black-Scholes, 1,000,000 float64", call_price, spot, strike, years, 0.03, 0.3)
    worst = max(abs(exact_price(spot[i], strike[i], years[i], 0.03, 0.3) - prices[i]) for i in range(0, n, 997))
    print(f"  largest difference from the exact formula {worst:.1e} dollars (the approximation's own)")
    if worst > 1e-5:
        raise SystemExit("the formula is wrong")


if __name__ == "__main__":
    main()
