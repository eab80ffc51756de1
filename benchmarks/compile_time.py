"""How long the first call takes, in a fresh process, and the first calls of further similar functions.

Each round is a process of its own.  Printed are medians and the worst.
"""
from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

import harness

#: Functions alike in size and kind, none equal to another; a function's first call compiles it.
SOURCES = (
    "np.sqrt(x * x + y * y) * np.exp(-x) + 1.5",
    "np.where(x > y, x * 2 - y, np.exp(y) / (1 + x * x))",
    "np.log(1 + x * x) * y - np.sqrt(np.abs(x - y))",
    "(x - y) / (x + y + 3) + np.exp(-0.5 * y * y)",
    "np.maximum(x, 0.25) * np.exp(y) - np.minimum(x, y) * 2",
    "np.sqrt(np.abs(x)) * (1 - y) + np.log(2 + y * y)",
    "x * (1 - x) * (2 - y) + np.exp(-np.abs(x * y))",
    "np.where(y > 0.5, np.log(1 + y), x * y) + np.sqrt(1 + x * x)",
    "np.exp(x - y) / (1 + np.exp(x - y)) * 0.5 + x",
    "(x * 3 + y) * np.sqrt(1 + y * y) - np.log(1 + x * x)",
)


def child(n: int) -> None:
    """One process: import, then each function's first call and a later one, in seconds, as JSON."""
    start = time.perf_counter()
    import numpy as np
    numpy_import = time.perf_counter() - start
    start = time.perf_counter()
    import jitcore
    own_import = time.perf_counter() - start
    x, y = np.random.default_rng(0).random((2, n))
    firsts, laters, compiles, native = [], [], 0, 0
    for number, source in enumerate(SOURCES):
        namespace = {"np": np}
        exec(compile(f"def f{number}(x, y):\n    return {source}\n", f"<function {number}>", "exec"), namespace)
        func = jitcore.accelerate(namespace[f"f{number}"])
        start = time.perf_counter()
        func(x, y)
        firsts.append(time.perf_counter() - start)
        start = time.perf_counter()
        func(x, y)
        laters.append(time.perf_counter() - start)
        counts = jitcore.stats(func)
        compiles += counts.compiles
        native += counts.native_calls
    print(json.dumps({"numpy_import": numpy_import, "jitcore_import": own_import, "firsts": firsts, "laters": laters,
                      "compiles": compiles, "native": native}))


def main() -> None:
    parser = harness.arguments(__doc__.splitlines()[0], rounds=5)
    parser.add_argument("--n", type=int, default=1000, help="array length (default: %(default)s)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.n)
        return
    rounds = []
    for _ in range(options.rounds):
        out = subprocess.run([sys.executable, __file__, "--child", "--n", str(options.n)], check=True, text=True,
                             capture_output=True).stdout
        rounds.append(json.loads(out))
    further = [seconds for r in rounds for seconds in r["firsts"][1:]]
    lines = (
        ("import numpy", [r["numpy_import"] for r in rounds]),
        ("import jitcore", [r["jitcore_import"] for r in rounds]),
        ("first call in a fresh process", [r["firsts"][0] for r in rounds]),
        ("first call of a further similar function", further),
        ("a later call", [seconds for r in rounds for seconds in r["laters"]]),
    )
    results = []
    for title, seconds in lines:
        print(f"{title:<42} median {harness.readable(statistics.median(seconds)):>8}"
              f"   worst {harness.readable(max(seconds)):>8}")
        results.append(harness.Result(title, [harness.Variant("jitcore", statistics.median(seconds))]))
    print(f"{len(SOURCES)} functions: {rounds[0]['compiles']} compiles, {rounds[0]['native']} of {2 * len(SOURCES)}"
          " calls native")
    print("written:", harness.save("compile_time", results, rounds=rounds))


if __name__ == "__main__":
    main()
