"""Whole functions full of loops and branches (``loop_programs/``): plain Python, jitcore and Numba, one source.

Each program runs in a process of its own, its variants in turn.  Compilation is timed in fresh processes: the first
call less what a later one takes, once as the process's very first compilation (cold) and once after that of a trivial
function (warm), so that what a compiler sets up once is not counted.  The verdict asks for: no slower than Numba in the
geometric mean and at most 1.5 times as long in any program, a quarter of Numba's time to compile, 20 times plain
Python on scalar loops, every call native to its end.  What did not run native is left out of the means of
compilation: refusing is quick.
"""
from __future__ import annotations

import argparse
import importlib.util
import io
import json
import math
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import harness

harness.set_threads(1)

import numpy as np  # noqa: E402
import peers  # noqa: E402
from loop_programs import PROGRAMS, Program  # noqa: E402

#: Seconds that the samples of one variant take in a round at least, and how many there are at most.
ROUND, MOST = 0.02, 9

#: The part of full size at which compilation is timed.
SMALL = 0.005


# -- variants ---------------------------------------------------------------------------------------
def copied(func: types.FunctionType) -> types.FunctionType:
    """``func`` and its helpers with code objects of their own."""
    def own(helper: types.FunctionType) -> types.FunctionType:
        helper.__code__ = helper.__code__.replace()
        return helper
    return own(peers.rebuilt(func, own))


def variants() -> dict[str, Callable[[types.FunctionType], Any]]:
    """What there is here: name, and what makes it of a function.  Imports what they need."""
    import jitcore

    made: dict[str, Callable[[types.FunctionType], Any]] = {
        "python": copied, "jitcore": lambda func: jitcore.accelerate(copied(func))}
    if importlib.util.find_spec("numba") is not None:
        import numba

        made["numba"] = lambda func: numba.njit(peers.rebuilt(func, numba.njit))
    return made


class Made:
    """One variant of a program: the function and how its arguments are made."""

    def __init__(self, program: Program, name: str, make: Callable[[types.FunctionType], Any]) -> None:
        self.program = program
        self.func = make(program.func)
        # A function that is an argument stays a plain one for jitcore, as the caller has it; Numba wants its own.
        self.inner = make if name == "numba" else copied
        self.functions: dict[types.FunctionType, Any] = {}

    def arguments(self, scale: float = 1.0) -> tuple[Any, ...]:
        """New ones; functions among them are made once, as a program has them."""
        return tuple(self._own(a) if isinstance(a, types.FunctionType) else a for a in self.program.arguments(scale))

    def _own(self, func: types.FunctionType) -> Any:
        if func not in self.functions:
            self.functions[func] = self.inner(func)
        return self.functions[func]

    def call(self, scale: float = 1.0) -> tuple[float, Any]:
        """Seconds of one call with new arguments; its result and the arguments as they are then."""
        args = self.arguments(scale)
        start = time.perf_counter()
        result = self.func(*args)
        return time.perf_counter() - start, (result, args)

    def time(self, scale: float = 1.0) -> float:
        """The seconds alone."""
        return self.call(scale)[0]


# -- are they equal? --------------------------------------------------------------------------------
def distance(a: Any, b: Any) -> float:
    """0.0 for the same bits, else the difference relative to the largest value; infinity for other kinds or shapes."""
    if isinstance(a, (tuple, list)):
        return max(map(distance, a, b), default=0.0) if len(a) == len(b) else math.inf
    if isinstance(a, np.random.Generator):
        return 0.0 if a.bit_generator.state == b.bit_generator.state else math.inf
    if isinstance(a, (types.FunctionType, bytes)) or callable(a):
        return 0.0
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or x.dtype.kind != y.dtype.kind:
        return math.inf
    same = (x == y) & (np.signbit(x) == np.signbit(y)) if x.dtype.kind == "f" else x == y
    if np.all(same | ((x != x) & (y != y))):
        return 0.0
    if x.dtype.kind != "f":
        return math.inf
    with np.errstate(all="ignore"):
        off = float(np.max(np.abs(x - y))) / (float(np.max(np.abs(x))) or 1.0)
    return off if off == off else math.inf


def alike(a: Any, b: Any) -> bool:
    """Of the same types, arrays of the same dtypes: what jitcore promises beside the values."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    return not isinstance(a, np.ndarray) or a.dtype == b.dtype


# -- one program in this process --------------------------------------------------------------------
def run(name: str, repeat: int) -> dict[str, Any]:
    """Times, results compared, and what jitcore's counts say about one call."""
    import jitcore

    program = PROGRAMS[name]
    made = {key: Made(program, key, make) for key, make in variants().items() if key != "numba" or program.numba}
    expected: Any = None
    off = dict.fromkeys(made, 0.0)

    def timed(key: str) -> float:
        seconds, seen = made[key].call()
        off[key] = max(off[key], distance(expected, seen))
        if key == "jitcore" and not alike(expected[0], seen[0]):
            off[key] = math.inf
        return seconds

    for one in made.values():                   # two sizes: regions behind sites, other states
        one.call(SMALL)
    expected = made["python"].call()[1]
    for key in made:
        if key != "python":
            timed(key)
    numbers = {key: max(1, min(MOST, math.ceil(ROUND / max(timed(key), 1e-6)))) for key in made}
    times: dict[str, list[float]] = {key: [] for key in made}
    order = list(made)
    for _ in range(repeat):
        for key in order:
            times[key].append(statistics.median(timed(key) for _ in range(numbers[key])))
        order.reverse()
    fast = made["jitcore"].func
    before = jitcore.stats(fast)
    timed("jitcore")
    after = jitcore.stats(fast)
    # JSON has no infinity.
    out: dict[str, Any] = {"seconds": times, "off": {key: v if math.isfinite(v) else "other" for key, v in off.items()}}
    out["sites"] = after.site_calls - before.site_calls
    out["leaves"] = after.leaves - before.leaves
    # A helper called through Python may do all the work there: only what is opaque by nature may be such a call.
    out["native"] = (after.native_calls - before.native_calls == 1 and out["leaves"] == 0
                     and (out["sites"] == 0 or bool(program.calls)))
    out["regions"] = after.compiles
    out["why"] = [] if out["native"] else reasons(fast)
    return out


def reasons(func: Any) -> list[str]:
    """What ``jitcore.explain`` says about the places that are not native."""
    import jitcore

    text = io.StringIO()
    with redirect_stdout(text):
        jitcore.explain(func)
    found, inside = [], False
    for line in text.getvalue().splitlines():
        if "left alone:" in line or "left to the interpreter:" in line:
            found.append(line.strip())
        elif line.strip() == "handed to the interpreter or done through Python:":
            inside = True
        elif inside and line.startswith("        "):
            found.append(line.strip())
        else:
            inside = False
    return list(dict.fromkeys(found))


def trivial(a):
    """What is compiled first where the compiler's own setting up is not to be counted."""
    total = 0.0
    for i in range(len(a)):
        total += a[i]
    return total


def first_call(name: str, variant: str, warm: bool) -> float:
    """Seconds of the first call in this process, less those of a later call."""
    make = variants()[variant]
    if warm:
        make(trivial)(np.ones(10))
    one = Made(PROGRAMS[name], variant, make)
    first = one.time(SMALL)
    return max(first - statistics.median(one.time(SMALL) for _ in range(5)), 1e-6)


# -- all of them, from outside -----------------------------------------------------------------------
def child(*args: str) -> Any:
    """What this script prints in another process, or in words how it ended."""
    try:
        done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--child", *args], text=True,
                              capture_output=True, timeout=600)
    except subprocess.TimeoutExpired:
        return "no end in 600 s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"])[-1]
    return json.loads(done.stdout)


def measure(name: str, repeat: int, compile_rounds: int) -> dict[str, Any]:
    """Everything about one program."""
    program = PROGRAMS[name]
    out = child("run", name, str(repeat))
    if isinstance(out, str):
        return {"name": name, "kind": program.kind, "failed": out}
    out.update(name=name, kind=program.kind, numba_reason=program.reason, medians={
        key: statistics.median(times) for key, times in out["seconds"].items()})
    out["wrong"] = out["off"]["jitcore"] == "other" or out["off"]["jitcore"] > program.tolerance
    out["gain"] = harness.ratio(out["seconds"]["python"], out["seconds"]["jitcore"])
    if "numba" in out["seconds"]:
        out["ratio"] = harness.ratio(out["seconds"]["jitcore"], out["seconds"]["numba"])
    for state in ("cold", "warm"):
        out[state] = {}
        for variant in ("jitcore", "numba"):
            if variant in out["seconds"]:
                rounds = [child("compile", name, variant, state) for _ in range(compile_rounds)]
                failed = [r for r in rounds if isinstance(r, str)]
                if failed:
                    return {"name": name, "kind": program.kind, "failed": failed[0]}
                out[state][variant] = statistics.median(rounds)
    return out


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    if "failed" in row:
        return f"{row['name']:<15} FAILED: {row['failed']}"
    def times(seconds: dict[str, float], *names: str) -> list[str]:
        return [f"{harness.readable(seconds[key]) if key in seconds else '-':>8}" for key in names]

    columns = [f"{row['name']:<15}", *times(row["medians"], "python", "jitcore", "numba")]
    columns.append(f"{row['gain']:8.1f}x")
    columns.append(f"{row['ratio']:7.2f}x" if "ratio" in row else f"{'-':>8}")
    for state in ("cold", "warm"):
        columns += times(row[state], "jitcore", "numba")
    columns.append(f"{'yes' if row['native'] else 'NO':>6} {row['sites']:>8} {row['leaves']:>4}")
    other = row["off"].get("numba")
    note = f"  numba differs: {other if isinstance(other, str) else format(other, '.1e')}" if other else ""
    return " ".join(columns) + ("  WRONG RESULT" if row["wrong"] else "") + note


HEADER = (f"{'':<15} {'python':>8} {'jitcore':>8} {'numba':>8} {'py/jc':>9} {'jc/numba':>8} "
          f"{'cold':>8} {'numba':>8} {'warm':>8} {'numba':>8} {'native':>6} {'sites':>8} {'left':>4}")


def mean(values: list[float]) -> float | None:
    """The geometric mean, or None of nothing."""
    return harness.geometric_mean(values) if values else None


def verdict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of all programs together, and what was asked of them: name -> (holds, words)."""
    good = [row for row in rows if "failed" not in row]
    ratios = {row["name"]: row["ratio"] for row in good if "ratio" in row}
    scalar = {row["name"]: row["gain"] for row in good if row["kind"] == "scalar loop"}
    compiled = [row for row in good if row["native"] and "numba" in row["warm"]]
    compiles = {state: {row["name"]: row[state]["jitcore"] / row[state]["numba"] for row in compiled}
                for state in ("cold", "warm")}
    asked: dict[str, tuple[bool | None, str]] = {}

    def ask(title: str, value: float | None, holds: Callable[[float], bool]) -> None:
        asked[title] = (None, "not measured") if value is None else (holds(value), f"{value:.3f}")

    def each(title: str, values: dict[str, float], holds: Callable[[float], bool]) -> None:
        outside = {name: value for name, value in values.items() if not holds(value)}
        words = ", ".join(f"{name} {value:.2f}" for name, value in outside.items())
        asked[title] = (not outside, words or "all") if values else (None, "not measured")

    ask("jitcore / numba, geometric mean <= 1.0", mean(list(ratios.values())), lambda v: v <= 1.0)
    each("jitcore / numba <= 1.5 in each", ratios, lambda v: v <= 1.5)
    for state in ("cold", "warm"):
        ask(f"compilation ({state}), jitcore / numba, geometric mean <= 0.25", mean(list(compiles[state].values())),
            lambda v: v <= 0.25)
        each(f"compilation ({state}) <= 0.25 in each", compiles[state], lambda v: v <= 0.25)
    ask("scalar loops: python / jitcore, geometric mean >= 20", mean(list(scalar.values())), lambda v: v >= 20)
    each("scalar loops: python / jitcore >= 20 in each", scalar, lambda v: v >= 20)
    bad = [row["name"] for row in rows if "failed" in row or row["wrong"]]
    asked["results of every timed call equal to plain Python's"] = (not bad, ", ".join(bad) or "all")
    left = [row["name"] for row in rows if not row.get("native")]
    asked["native to the end"] = (not left, ", ".join(left) or "all")
    return {"asked": asked, "ratio_mean": mean(list(ratios.values())), "gain_mean": mean([row["gain"] for row in good]),
            "scalar_gain_mean": mean(list(scalar.values())),
            "native_ratio_mean": mean([row["ratio"] for row in compiled if "ratio" in row])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="names, separated by commas (default: all)")
    parser.add_argument("--repeat", type=int, default=5, help="samples of each variant (default: %(default)s)")
    parser.add_argument("--compiles", type=int, default=3, help="processes for each time of compilation (default: "
                                                                "%(default)s)")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        job, name, *rest = options.child
        print(json.dumps(run(name, int(rest[0])) if job == "run" else first_call(name, rest[0], rest[1] == "warm")))
        return
    names = options.programs.split(",")
    unknown = set(names) - set(PROGRAMS)
    if unknown:
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    rows = []
    if not options.json:
        print(HEADER, flush=True)
    for name in names:
        rows.append(measure(name, options.repeat, options.compiles))
        if not options.json:
            print(line(rows[-1]), flush=True)
    total = verdict(rows)
    if options.json:
        print(json.dumps({"programs": rows, **total}, indent=1))
        return
    print(f"\ngeometric means: python / jitcore {total['gain_mean'] or math.nan:.1f}x, jitcore / numba "
          f"{total['ratio_mean'] or math.nan:.3f}x, of native programs only "
          f"{total['native_ratio_mean'] or math.nan:.3f}x\n")
    for title, (holds, words) in total["asked"].items():
        print(f"  {'?' if holds is None else 'yes' if holds else 'NO':<4}{title}: {words}")
    for row in rows:
        if row.get("why"):
            print(f"\n{row['name']}:")
            for reason in row["why"]:
                print(f"  {reason}")
    results = [harness.Result(row["name"], [harness.Variant(key, seconds) for key, seconds in row["medians"].items()])
               for row in rows if "failed" not in row]
    print("\nwritten:", harness.save("loops", results, programs=rows, **total))


if __name__ == "__main__":
    main()
