"""Vector math: NumPy, the C library's vector functions, and jitcore's own, on one core.

    taskset -c 1 python benchmarks/vector_math.py [--only exp]

Each function over 10,000 elements, which stay in the cache, and over a million, in float64 and float32.  NumPy comes
first, then ``libmvec``: jitcore with the C library's vector functions (``JITCORE_MATH=libm``), then jitcore as it is.
"""
from __future__ import annotations

import harness

PARSER = harness.arguments(__doc__.splitlines()[0])
PARSER.add_argument("--only", default="", help="only functions whose name contains this")
PARSER.add_argument("--sizes", default="10000,1000000", help="(default: %(default)s)")
OPTIONS = PARSER.parse_args()
harness.set_threads(OPTIONS.threads)

import numpy as np  # noqa: E402

import jitcore  # noqa: E402
from jitcore import config  # noqa: E402
from jitcore.backends.math import FUNCTIONS  # noqa: E402
from jitcore.ops.table import OPS  # noqa: E402

#: Where the arguments lie, if not between -10 and 10.
RANGES = {"arcsin": (-1, 1), "arccos": (-1, 1), "log": (0.01, 100), "log2": (0.01, 100), "log10": (0.01, 100),
          "log1p": (-0.9, 10), "power": (0.1, 10), "tanh": (-3, 3), "arccosh": (1, 10), "arctanh": (-0.99, 0.99)}


def written(name: str, arity: int):
    """A new function with code of its own, that calls NumPy's."""
    names = "x, y"[:3 * arity - 2]
    namespace = {"np": np}
    exec(f"def call({names}):\n    return np.{name}({names})\n", namespace)
    return namespace["call"]


def compiled(name: str, args: tuple[np.ndarray, ...], own: bool):
    """The same, accelerated, with jitcore's own vector functions or the C library's."""
    func = jitcore.accelerate(written(name, len(args)))
    config.own_math = own
    try:
        for _ in range(3):
            func(*args)
    finally:
        config.own_math = True
    if not jitcore.stats(func).native_calls:
        raise SystemExit(f"{name} is not compiled")
    return func


def main() -> None:
    rng = np.random.default_rng(0)
    results = []
    for op in OPS.values():
        if op.libm not in FUNCTIONS or OPTIONS.only not in op.name:
            continue
        for dtype in ("float64", "float32"):
            for size in map(int, OPTIONS.sizes.split(",")):
                args = tuple(rng.uniform(*RANGES.get(op.name, (-10, 10)), size).astype(dtype) for _ in range(op.nin))
                calls = [harness.Call("NumPy", written(op.name, op.nin), args),
                         harness.Call("libmvec", compiled(op.name, args, False), args),
                         harness.Call("jitcore", compiled(op.name, args, True), args)]
                results.append(harness.compare(f"{op.name} {dtype}, n = {size:,}", calls, OPTIONS.rounds))
    harness.print_table(results)
    print(harness.save("vector_math", results))


if __name__ == "__main__":
    main()
