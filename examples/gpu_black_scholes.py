"""The prices of ``black_scholes.py`` on an NVIDIA GPU, by the same function; without a GPU, on the CPU.

Says which device it used, and compares the prices with those of the CPU, bit by bit.
"""
from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from black_scholes import call_price
from report import report

import jitcore


def seconds(call: Any) -> float:
    """Of one call, the median of some, until the device is done."""
    samples = []
    for _ in range(7):
        start = time.perf_counter()
        call()
        jitcore.synchronize()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


def main() -> None:
    rng = np.random.default_rng(2)
    n = 1_000_000
    spot, strike, years = rng.uniform(10, 50, n), rng.uniform(10, 50, n), rng.uniform(0.25, 2, n)
    try:
        there = [jitcore.to_device(x) for x in (spot, strike, years)]
    except jitcore.DeviceError as why:
        print(f"on the CPU ({why})")
        report("Black-Scholes, 1,000,000 float64", call_price, spot, strike, years, 0.03, 0.3)
        return
    print(f"on GPU {there[0].device}")
    prices = call_price(*there, 0.03, 0.3)
    here = call_price(spot, strike, years, 0.03, 0.3)
    if prices.to_host().tobytes() != here.tobytes():
        raise SystemExit("the prices differ from those of the CPU")
    ratio = seconds(lambda: call_price(*there, 0.03, 0.3)) / seconds(lambda: call_price(spot, strike, years, 0.03, 0.3))
    print(f"  the same bits as on the CPU; {ratio:.2f} times the CPU's time")


if __name__ == "__main__":
    main()
