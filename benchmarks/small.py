"""A few computations, NumPy against jitcore and every installed peer.

``x*y + x`` at 10 and at 10 million; SELU, Black-Scholes and the equation of state of sea water at a million, which are
those of ``examples/``.  Peers compile the same source.
"""
from __future__ import annotations

import sys
from pathlib import Path

import harness

PARSER = harness.arguments(__doc__.splitlines()[0])
PARSER.add_argument("--only", default="", help="only the cases whose title contains this")
PARSER.add_argument("--peers", default="numba,numexpr,jax,torch", help="(default: %(default)s)")
OPTIONS = PARSER.parse_args()
harness.set_threads(OPTIONS.threads)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

import black_scholes  # noqa: E402
import equation_of_state  # noqa: E402
import numpy as np  # noqa: E402
import peers  # noqa: E402
import selu  # noqa: E402

import jitcore  # noqa: E402


def axpy(x, y):
    """One multiplication and one addition an element."""
    return x * y + x


def cases():
    """(title, function, arguments)."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    yield "x*y + x, n = 10", axpy, (rng.random(10), rng.random(10))
    yield "x*y + x, n = 10,000,000", axpy, (rng.random(10 * n), rng.random(10 * n))
    x = rng.standard_normal(n)
    yield "SELU float64, n = 1,000,000", selu.selu, (x, 1.6732632423543772, 1.0507009873554805)
    yield "SELU float32, n = 1,000,000", selu.selu, (x.astype(np.float32), 1.6732632423543772, 1.0507009873554805)
    yield "Black-Scholes float64, n = 1,000,000", black_scholes.call_price, (
        rng.uniform(10, 50, n), rng.uniform(10, 50, n), rng.uniform(0.25, 2, n), 0.03, 0.3)
    yield "Equation of state float64, n = 1,000,000", equation_of_state.density, (
        rng.uniform(30, 40, n), rng.uniform(-2, 30, n), rng.uniform(0, 1000, n))


def main() -> None:
    jitcore.accelerate(axpy)
    results = []
    for title, func, args in cases():
        if OPTIONS.only not in title:
            continue
        plain = peers.plain_copy(func)
        func(*args)
        before = jitcore.stats(func).kernels
        note = peers.difference(func(*args), plain(*args))
        kernels = jitcore.stats(func).kernels - before
        calls = [harness.Call("numpy", plain, args),
                 harness.Call("jitcore", func, args, f"{note}, fused loops: {kernels}")]
        calls += peers.variants(func, args, tuple(OPTIONS.peers.split(",")))
        results.append(harness.compare(title, calls, OPTIONS.rounds))
        harness.print_table(results[-1:])
    print("\nwritten:", harness.save("small", results, threads=OPTIONS.threads))
    if OPTIONS.plot:
        print("drawn:", harness.plot("small", results))


if __name__ == "__main__":
    main()
