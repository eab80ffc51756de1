"""What jitcore costs code that it does nothing for.

1. Ordinary Python programs (``programs.py``) in a process with marked functions in use, against the same in a process
   without jitcore: pairs of runs in turn, in several pairs of processes since one process differs from the next by
   some per cent (``--noise`` compares plain processes with each other and shows how much).  The same with
   ``jitcore.enable()`` in force.
2. What ``enable()`` adds to an operation of NumPy in code that it only counts.
3. Thirty marked functions that are nothing but calls and objects, against unmarked copies.
4. How deep a marked function recurses.
"""
from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time

import harness
import objects
from programs import PROGRAMS


# -- the worker process --------------------------------------------------------------------------
def worker(kind: str) -> None:
    """Read program names from standard input, answer each with the seconds that it took.

    With jitcore, marked functions run before every program; ``enabled``: functions that enable() has found.
    """
    import numpy as np

    marked = []
    x = np.random.default_rng(0).random(1000)
    if kind != "plain":
        import jitcore

        mark = jitcore.accelerate if kind == "jitcore" else lambda func: func
        if kind == "enabled":
            jitcore.enable()

        sources = ("x * y + x", "np.exp(-x) * y", "np.sqrt(x * x + y * y)", "np.where(x > y, x, y) * 2",
                   "(x - y).sum()")
        for source in sources:
            marked.append(mark(eval(f"lambda x, y: {source}", {"np": np})))
        for func in marked * 100:
            func(x, x[::-1])
        assert all(jitcore.stats(func).native_calls for func in marked)
    for line in sys.stdin:
        for func in marked:
            for _ in range(3):
                func(x, x[::-1])
        program = PROGRAMS[line.strip()]
        start = time.perf_counter()
        result = program()
        elapsed = time.perf_counter() - start
        print(json.dumps([elapsed, repr(result)]), flush=True)


class Worker:
    """A worker process, seen from outside."""

    def __init__(self, kind: str) -> None:
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", kind], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run(self, name: str) -> tuple[float, str]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        seconds, result = json.loads(self.process.stdout.readline())
        return seconds, result

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def ordinary_programs(rounds: int, processes: int, kind: str) -> tuple[list[harness.Result], float]:
    """A result a program, and the geometric mean of the ratios."""
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in PROGRAMS}
    for group in range(processes):
        workers = Worker("plain"), Worker(kind)
        for name in PROGRAMS:                   # warm: specialised code, memory
            answers = [w.run(name)[1] for w in workers]
            if answers[0] != answers[1]:
                raise SystemExit(f"{name}: another result with jitcore")
        for round_number in range(group, rounds, processes):
            for name, (plain, other) in times.items():
                if round_number % 2:
                    other.append(workers[1].run(name)[0])
                    plain.append(workers[0].run(name)[0])
                else:
                    plain.append(workers[0].run(name)[0])
                    other.append(workers[1].run(name)[0])
        for w in workers:
            w.close()
    results = []
    for name, (plain, other) in times.items():
        results.append(harness.Result(name, [
            harness.Variant("without jitcore", statistics.median(plain), 1.0),
            harness.Variant(_KINDS[kind], statistics.median(other), harness.ratio(other, plain))]))
    return results, harness.geometric_mean([r.variants[1].ratio for r in results])


#: What the second process of a pair is.
_KINDS = {"plain": "plain again", "jitcore": "marked functions in use", "enabled": "enable() in force"}


# -- in this process -------------------------------------------------------------------------------
def marked_objects(rounds: int) -> tuple[list[harness.Result], float, int]:
    """Thirty functions: results, geometric mean, and how many jitcore has left alone."""
    import jitcore

    args = objects.arguments()
    plain, marked = objects.make(), [jitcore.accelerate(func) for func in objects.make()]
    results, left_alone = [], 0
    for expression, plain_func, func in zip(objects.EXPRESSIONS, plain, marked):
        for _ in range(200):
            plain_func(*args), func(*args)
        before = jitcore.stats(func).calls
        func(*args)
        left_alone += jitcore.stats(func).calls == before
        results.append(harness.compare(expression, [harness.Call("plain", plain_func, args),
                                                    harness.Call("marked", func, args)], rounds))
    return results, harness.geometric_mean([r.variants[1].ratio for r in results]), left_alone


_OPERATIONS = ("x + y", "np.add(x, y)", "x < y", "x[1]", "x[1:]", "x[1] = 2.0", "x.sum()", "np.mean(x)", "x @ y",
               "pass")


def counted_operations(rounds: int) -> list[harness.Result]:
    """Operations on short arrays, in loops of functions that are counted and never become hot."""
    import numpy as np

    import jitcore

    results, number = [], 2_000             # short runs: most are not interrupted
    for operation in _OPERATIONS:
        namespace = {"np": np, "x": np.ones(3), "y": np.ones(3), "clock": time.perf_counter}
        exec(f"def run():\n    start = clock()\n    for _ in range({number}):\n        {operation}\n"
             f"    return clock() - start\n", namespace)
        run = namespace["run"]
        plain, counted = [], []
        for _ in range(10 * rounds):
            plain.append(run() / number)
            jitcore.enable(threshold=10**15)
            run()
            counted.append(run() / number)
            jitcore.disable()
        added = statistics.median(b - a for a, b in zip(plain, counted))
        results.append(harness.Result(operation, [
            harness.Variant("plain", statistics.median(plain), 1.0),
            harness.Variant("counted", statistics.median(counted), harness.ratio(counted, plain),
                            f"{added * 1e9:+.1f} ns")]))
    return results


def depth(marked: bool) -> int:
    """The depth that a recursive function reaches under a limit of a million, on a thread with 512 MB of stack."""
    import jitcore

    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    if marked:
        jitcore.accelerate(down)
    sys.setrecursionlimit(1_000_000)
    threading.stack_size(512 << 20)
    reached: list[int] = []

    def run() -> None:
        for target in (1_000, 10_000, 50_000):
            try:
                reached.append(down(target))
            except RecursionError:
                break

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return reached[-1]


def main() -> None:
    parser = harness.arguments(__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=6, help="pairs of processes (default: %(default)s)")
    parser.add_argument("--noise", action="store_true", help="compare plain processes with each other")
    parser.add_argument("--worker", choices=_KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--depth", choices=("plain", "marked"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker)
        return
    if options.depth:
        print(depth(options.depth == "marked"))
        return

    programs, means = [], {}
    for kind in ("plain",) if options.noise else ("jitcore", "enabled"):
        some, means[kind] = ordinary_programs(options.rounds, options.processes, kind)
        print(f"Ordinary programs, {_KINDS[kind]}")
        for result in some:
            plain, other = result.variants
            print(f"  {result.title:<14} {harness.readable(plain.seconds):>9} {other.ratio:7.3f}x")
        print(f"  geometric mean {means[kind]:.4f}x\n", flush=True)
        programs += some
    if options.noise:
        return

    operations = counted_operations(options.rounds)
    print("Operations of NumPy that enable() counts")
    for result in operations:
        plain, other = result.variants
        print(f"  {result.title:<14} {harness.readable(plain.seconds):>9} {other.ratio:7.3f}x {other.note:>10}")
    print(flush=True)

    functions, objects_mean, left_alone = marked_objects(options.rounds)
    print("Marked functions that are nothing but calls and objects")
    for result in functions:
        plain, marked = result.variants
        print(f"  {result.title:<40} {harness.readable(plain.seconds):>9} {marked.ratio:7.3f}x")
    print(f"  geometric mean {objects_mean:.4f}x, {left_alone} of {len(functions)} left alone\n", flush=True)

    depths = {}
    for kind in ("plain", "marked"):
        run = subprocess.run([sys.executable, __file__, "--depth", kind], text=True, capture_output=True)
        depths[kind] = run.stdout.strip() or f"ended with status {run.returncode}"
    print(f"Depth of recursion: plain {depths['plain']}, marked {depths['marked']}")
    print("written:", harness.save("overhead", programs + operations + functions, programs_means=means,
                                   objects_mean=objects_mean, left_alone=left_alone, depths=depths))
    if options.plot:
        print("drawn:", harness.plot("overhead", programs))


if __name__ == "__main__":
    main()
