"""Measuring and reporting, for the benchmark scripts beside it.

Job: time variants of one computation in turn, so that what disturbs the machine disturbs all of them, and print,
keep and plot the result.  Import it before NumPy: ``set_threads`` works through environment variables.
"""
from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

# Numba asks whether the package ``coverage`` is there, and would find ``coverage.py`` of this folder in its place.
sys.modules.setdefault("coverage", None)  # type: ignore[arg-type]

RESULTS = Path(__file__).resolve().parent / "results"

#: Seconds that one sample takes at least: short calls are repeated within it.
SAMPLE = 0.0005


def set_threads(count: int) -> None:
    """Let NumPy's BLAS and every peer use ``count`` threads.  Works until they are imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
                 "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS"):
        os.environ[name] = str(count)
    if count == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


@dataclass
class Variant:
    """One way to do it: ``seconds`` a call (median), ``ratio`` to the first variant, and ``ours``, the ratio of the
    variant called jitcore to this one (medians of the rounds' ratios)."""

    name: str
    seconds: float = math.nan
    ratio: float = math.nan
    note: str = ""
    ours: float = math.nan


@dataclass
class Result:
    """One computation, all its variants; the first is what the others are compared with."""

    title: str
    variants: list[Variant] = field(default_factory=list)


@dataclass(frozen=True)
class Call:
    """What a variant runs: ``func(*args)``, and a note for the table."""

    name: str
    func: Callable[..., Any]
    args: tuple[Any, ...]
    note: str = ""


@cache
def _loop(n_args: int) -> Callable[..., float]:
    """A timed loop around a call with ``n_args`` arguments: unpacking a tuple would cost as much as a short call."""
    names = ", ".join(f"a{index}" for index in range(n_args))
    namespace: dict[str, Any] = {"clock": time.perf_counter}
    exec(f"def loop(func, rounds{', ' * bool(names)}{names}):\n"
         f"    start = clock()\n"
         f"    for _ in rounds:\n"
         f"        func({names})\n"
         f"    return clock() - start\n", namespace)
    return namespace["loop"]


def sample(call: Call, number: int) -> float:
    """Seconds a call, over ``number`` calls."""
    return _loop(len(call.args))(call.func, range(number), *call.args) / number


def repeats(call: Call) -> int:
    """How many calls make up a sample."""
    sample(call, 1)
    return max(1, math.ceil(SAMPLE / max(sample(call, 1), 1e-8)))


def compare(title: str, calls: Sequence[Call], rounds: int) -> Result:
    """Time ``calls`` in turn, ``rounds`` times each, with the order reversed every other time."""
    numbers = [repeats(call) for call in calls]
    times: list[list[float]] = [[] for _ in calls]
    order = list(range(len(calls)))
    for _ in range(rounds):
        for index in order:
            times[index].append(sample(calls[index], numbers[index]))
        order.reverse()
    variants = [Variant(call.name, statistics.median(own), ratio(own, times[0]), call.note)
                for call, own in zip(calls, times)]
    for call, ours in zip(calls, times):
        if call.name == "jitcore":
            for variant, own in zip(variants, times):
                variant.ours = ratio(ours, own)
    return Result(title, variants)


def ratio(times: Sequence[float], base: Sequence[float]) -> float:
    """The median of the pairs' ratios."""
    return statistics.median(a / b for a, b in zip(times, base))


def geometric_mean(values: Sequence[float]) -> float:
    """The mean of ratios."""
    return math.exp(sum(map(math.log, values)) / len(values))


def readable(seconds: float) -> str:
    """``seconds`` with a fitting unit."""
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def print_table(results: Sequence[Result]) -> None:
    """One line a variant: time, ratio to the first, and how long jitcore takes in comparison with it."""
    width = max(len(variant.name) for result in results for variant in result.variants)
    for result in results:
        print(f"\n{result.title}")
        for variant in result.variants:
            ours = "" if math.isnan(variant.ours) else f"jitcore {variant.ours:6.3f}x of it  "
            print(f"  {variant.name:<{width}}  {readable(variant.seconds):>9}  {variant.ratio:7.3f}x "
                  f" {ours}{variant.note}".rstrip())
    sys.stdout.flush()


def save(name: str, results: Sequence[Result], **extra: Any) -> Path:
    """Write ``results/<name>-<python>.json``."""
    import numpy

    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{sys.version_info[0]}.{sys.version_info[1]}.json"
    machine = {"python": platform.python_version(), "numpy": numpy.__version__, "machine": platform.machine(),
               "cores": os.cpu_count(), "time": time.strftime("%Y-%m-%d %H:%M:%S")}
    rows = [asdict(result) for result in results]
    for row in rows:
        for variant in row["variants"]:
            variant.update({key: None for key, value in variant.items() if value != value})     # JSON has no NaN
    path.write_text(json.dumps({"machine": machine, "results": rows, **extra}, indent=1, allow_nan=False) + "\n")
    return path


def plot(name: str, results: Sequence[Result]) -> Path:
    """Write ``results/<name>.png``: bars from 1 to the ratio, logarithmic.  Needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.28 * sum(len(r.variants) + 1 for r in results)))
    ticks, labels, position = [], [], 0.0
    colours: dict[str, Any] = {}
    for result in results:
        for variant in result.variants:
            kind = variant.name.split()[0]
            colour = colours.setdefault(kind, f"C{len(colours) % 10}")
            axes.barh(position, variant.ratio - 1, left=1, color=colour)
            axes.annotate(f" {variant.ratio:.2f} ", (variant.ratio, position), va="center", fontsize=7,
                          ha="left" if variant.ratio >= 1 else "right")
            ticks.append(position)
            labels.append(f"{result.title}: {variant.name}" if variant is result.variants[0] else variant.name)
            position += 1
        position += 1
    axes.set_yticks(ticks, labels, fontsize=7)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.margins(x=0.1)
    marks = [mark for mark in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
             if any(v.ratio <= mark * 2 for r in results for v in r.variants)
             and any(v.ratio >= mark / 2 for r in results for v in r.variants)]
    axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(f"time, {results[0].variants[0].name} = 1")
    figure.tight_layout()
    path = RESULTS / f"{name}.png"
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    return path


def arguments(description: str, rounds: int = 31) -> argparse.ArgumentParser:
    """The options that every script has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help="samples of each variant (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="threads for every library (default: %(default)s)")
    parser.add_argument("--plot", action="store_true", help="also draw results/*.png")
    return parser
