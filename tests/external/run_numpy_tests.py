"""NumPy's own tests, with every test function accelerated, against the same tests without jitcore.

    python tests/external/run_numpy_tests.py                      # ufuncs, umath, numeric, indexing, multiarray, ...
    python tests/external/run_numpy_tests.py --wide               # all of NumPy's tests that are about arrays
    python tests/external/run_numpy_tests.py --mode modules test_ufunc.py
    python tests/external/run_numpy_tests.py --only '_core/tests/test_ufunc.py::TestUfunc::test_sum'

Job: run each file of NumPy's installed tests twice, plain and accelerated, each in child processes; compare test by
test; print a table, write JSON.  Exit status: 0 where every test did the same, 1 where one did not, 2 for a run that
says nothing (no tests, or nothing was accelerated).

What is compared of each test: the outcome of its three phases (passed, failed, skipped, expected to fail), the reason
of a skip, the line and text of a failure, the warnings that reached pytest, and what was printed.  A process that dies,
or a test that takes far longer than allowed, counts as the outcome of the test it was in; the next process goes on
behind.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy

HERE = Path(__file__).resolve().parent
NUMPY = Path(numpy.__file__).resolve().parent

_CORE = """ufunc umath umath_accuracy umath_complex numeric indexing indexerrors multiarray scalarmath nep50_promotions
    errstate shape_base function_base item_selection numerictypes scalar_methods scalar_ctors scalarinherit half
    casting_unittests casting_floatingpoint_errors array_coercion arraymethod einsum mem_overlap nditer getlimits finfo
    longdouble dtype regression overrides protocols arrayobject array_interface""".split()
_MORE = """datetime memmap records strings stringdtype defchararray deprecations conversion_utils print arrayprint
    scalarprint scalarbuffer unicode abc dlpack hashtable extint128 argparse custom_dtypes multithreading""".split()
DEFAULT = [f"_core/tests/test_{name}.py" for name in _CORE]
WIDE = [f"_core/tests/test_{name}.py" for name in _CORE + _MORE]
WIDE_FOLDERS = ("lib", "linalg", "fft", "random", "ma", "polynomial", "matrixlib")
#: Seconds that a process may take outside tests, and how much longer than plain a test may take accelerated.
START_SECONDS = 300.0
NO_TESTS = 5        # pytest's exit status where all tests of a file were left out
SLOWER = 30
#: Tests that compare counts of references before and after.  Not promised are these, since compiled code refers to what
#: it was compiled for, but that nothing is lost with each call: each runs before the run that counts, in both ways,
#: until all of it is compiled.
COUNT_REFERENCES = (
    "_core/tests/test_multiarray.py::TestNewBufferProtocol::test_reference_leak",
    "_core/tests/test_numeric.py::TestCreationFuncs::test_for_reference_leak",
    "_core/tests/test_indexing.py::TestIndexing::test_small_regressions",
    "_core/tests/test_nditer.py::test_iter_refcount",
    "_core/tests/test_regression.py::TestRegression::test_field_access_by_title",
    "_core/tests/test_arrayobject.py::test_cleanup_with_refs_non_contig",
    "_core/tests/test_ufunc.py::test_ufunc_no_reference_leak",
    "_core/tests/test_ufunc.py::test_ufunc_out_casterrors",
    "_core/tests/test_ufunc.py::test_reduce_casterrors",
    "_core/tests/test_multiarray.py::TestFlat::test_refcount",
    "_core/tests/test_multiarray.py::TestArrayInterface::test_scalar_interface",
    "lib/tests/test_function_base.py::TestLeaks::test_frompyfunc_leaks",
)
MODES = {
    "tests": "each test function is accelerated",
    "modules": "and every other function that a test module defines",
    "enable": "and enable() looks for hot functions in NumPy and the test modules",
}


@dataclass
class Run:
    """What one way of running a file gave."""

    tests: dict[str, dict[str, Any]] = field(default_factory=dict)      # by node id
    processes: int = 0
    seconds: float = 0.0
    functions: dict[str, int] = field(default_factory=dict)
    stats: dict[str, int] = field(default_factory=dict)
    trouble: str = ""                                                   # why there are no tests

    def add(self, finish: dict[str, Any]) -> None:
        for name in ("functions", "stats"):
            mine = getattr(self, name)
            for key, value in finish.get(name, {}).items():
                mine[key] = mine.get(key, 0) + value


@dataclass
class Difference:
    test: str
    plain: str
    accelerated: str
    details: dict[str, Any] = field(default_factory=dict)


# ---- one file, one way -----------------------------------------------------------------------------------------------
def run_file(file: Path, mode: str | None, options: argparse.Namespace, limits: dict[str, float]) -> Run:
    """Run ``file`` until every test of it has an outcome.  ``limits``: seconds that a test may take, by node id."""
    run = Run()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        while run.processes <= options.deaths:
            run.processes += 1
            if _one_process(file, mode, options, limits, run, Path(folder)):
                break
        else:
            run.trouble = f"more than {options.deaths} processes died"
    run.seconds = round(time.perf_counter() - start, 2)
    return run


def _package_folder() -> str:
    """Where jitcore is: installed, or in this checkout, which holds no extension unless it was built in place."""
    found = importlib.util.find_spec("jitcore")
    origin = HERE.parent.parent / "jitcore" if found is None or found.origin is None else Path(found.origin).parent
    return str(origin.parent)


def _one_process(file: Path, mode: str | None, options: argparse.Namespace, limits: dict[str, float], run: Run,
                 folder: Path) -> bool:
    """Whether this process came to its end; else one test more has an outcome, or ``run.trouble`` says why not."""
    log = folder / f"log-{run.processes}"
    log.touch()
    settings = {"mode": mode, "log": str(log), "done": list(run.tests), "only": options.only, "repeat": options.repeat,
                "before": COUNT_REFERENCES,
                "precision": options.precision, "eager": options.eager, "threshold": options.threshold}
    env = {**os.environ, "NUMPY_TESTS": json.dumps(settings), "JITCORE_STRICT": "1", "PYTHONHASHSEED": "0",
           "NPY_AVAILABLE_MEM": options.memory, "PYTHONFAULTHANDLER": "1",
           "PYTHONPATH": os.pathsep.join([str(HERE), _package_folder(), os.environ.get("PYTHONPATH", "")])}
    empty = folder / "pytest.ini"
    empty.write_text("[pytest]\n", encoding="utf-8")
    root = options.root
    command = [sys.executable, "-m", "pytest", "-q", "-p", "numpy_plugin", "-p", "no:cacheprovider", "-p", "no:xdist",
               "-c", str(empty), f"--rootdir={root}", f"--confcutdir={root}", f"--basetemp={folder / 'temp'}",
               "--tb=short", *([] if options.slow else ["-m", "not slow"]),
               *(["-W", "error"] if options.errors else []), str(file)]
    output = folder / f"output-{run.processes}"
    with output.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=env, cwd=folder,
                                   start_new_session=True)
        hung = _watch(process, log, options, limits)
    return _read(log, run, hung, process.returncode, output)


def _watch(process: subprocess.Popen[bytes], log: Path, options: argparse.Namespace, limits: dict[str, float]) -> bool:
    """Wait for the process; end it and say so if one test, or what is no test, takes too long."""
    size, since, test = 0, time.monotonic(), None
    while True:
        try:
            process.wait(0.5)
            return False
        except subprocess.TimeoutExpired:
            pass
        if log.stat().st_size != size:
            size, since, test = log.stat().st_size, time.monotonic(), _running(log)
        limit = START_SECONDS if test is None else max(options.timeout, SLOWER * limits.get(test, 0.0))
        if time.monotonic() - since > limit:
            os.killpg(process.pid, signal.SIGABRT)      # faulthandler says where
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            return True


def _running(log: Path) -> str | None:
    """The test that has begun last and not ended."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        last = file.read().rstrip().rsplit(b"\n", 1)[-1]
    try:
        record = json.loads(last)
    except ValueError:                                  # it is just being written, or a long one
        return None
    return record["test"] if record["event"] == "start" else None


def _read(log: Path, run: Run, hung: bool, status: int | None, output: Path) -> bool:
    running, finish = None, None
    for line in log.read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            break                                       # the process died while it wrote
        event = record.pop("event")
        if event == "finish":
            finish = record
        elif event == "start":
            running = record["test"]
        else:
            running = None
            run.tests[record.pop("test")] = record
    tail = output.read_text(encoding="utf-8", errors="replace")[-8000:]
    if finish is not None and not hung and status is not None and status >= 0:
        run.add(finish)
        if not run.tests and status != NO_TESTS:
            run.trouble = f"no tests; pytest said {status}: {tail[-1500:]}"
        return True
    died = "hung" if hung else f"died ({signal.Signals(-status).name})" if status is not None and status < 0 \
        else f"died (status {status})"
    if running is None:
        run.trouble = f"{died} outside any test: {tail}"
        return True
    run.tests[running] = {"phases": {"call": {"outcome": died, "traceback": tail}}, "warnings": [], "output": {}}
    return False


# ---- comparing -------------------------------------------------------------------------------------------------------
def outcome(test: dict[str, Any] | None) -> str:
    """One word for what pytest says of a test, with the reason or the error behind it."""
    if test is None:
        return "not run"
    words = []
    for when, phase in test["phases"].items():
        word = phase["outcome"]
        if "xfail" in phase:
            word = "xfailed" if word == "skipped" else "xpassed"
        if when == "call" or word not in ("passed",):
            words.append((word if when == "call" else f"{word} in {when}") + _because(phase))
    return "; ".join(words)


def _because(phase: dict[str, str]) -> str:
    return "".join(f" ({phase[key]})" for key in ("xfail", "reason", "error") if phase.get(key))


def compare(plain: Run, fast: Run, traces: bool = True) -> list[Difference]:
    """Where the accelerated run did not do what the plain one did, in the order of the tests."""
    found = []
    for test in {**plain.tests, **fast.tests}:
        one, other = plain.tests.get(test), fast.tests.get(test)
        details = {}
        for name in ("warnings", "output"):
            if one is not None and other is not None and one[name] != other[name]:
                details[name] = [one[name], other[name]]
        if outcome(one) != outcome(other) or details:
            for side, record in (("plain", one), ("accelerated", other)):
                told = [phase["traceback"] for phase in (record or {"phases": {}})["phases"].values()
                        if phase.get("traceback")]
                if told and traces:
                    details[f"{side} traceback"] = told
            found.append(Difference(test, outcome(one), outcome(other), details))
    return found


def kind(test: dict[str, Any]) -> str:
    """The column of the table that a test counts in."""
    phases = test["phases"]
    for phase in phases.values():
        if phase["outcome"].startswith(("died", "hung")):
            return phase["outcome"].split()[0]
        if phase["outcome"] != "passed" or "xfail" in phase:
            return outcome({"phases": {"call": phase}}).split(" ")[0]
    return "passed"


def counted(run: Run) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for test in run.tests.values():
        kinds[kind(test)] = kinds.get(kind(test), 0) + 1
    return kinds


# ---- the whole -------------------------------------------------------------------------------------------------------
def chosen_files(options: argparse.Namespace) -> list[Path]:
    root = Path(options.root)
    names = [*options.files]
    if not names and options.only:
        names = list(dict.fromkeys(name.split("::")[0] for name in options.only))
    if not names and options.wide:
        names = [name for name in WIDE if (root / name).exists()]
        names += sorted(str(path.relative_to(root)) for folder in WIDE_FOLDERS
                        for path in (root / folder / "tests").glob("test_*.py"))
    elif not names:
        names = [name for name in DEFAULT if (root / name).exists()]
    files = []
    for name in names:
        path = next((p for p in (root / name, root / "_core" / "tests" / name, Path(name)) if p.exists()), None)
        if path is None:
            raise SystemExit(f"there is no {name} in {root}: this NumPy was installed without its tests")
        files.append(path.resolve())
    return files


def both_ways(file: Path, options: argparse.Namespace) -> tuple[Run, Run]:
    plain = run_file(file, None, options, {})
    limits = {test: record.get("seconds", 0.0) for test, record in plain.tests.items()}
    return plain, run_file(file, options.mode, options, limits)


_HEAD = ("file", "tests", "passed", "skipped", "xfailed", "failed", "differ", "functions", "native", "sites", "regions",
         "left", "interp.", "native calls", "site calls", "kernels", "s plain", "s jitcore")


def row(name: str, plain: Run, fast: Run, differences: list[Difference]) -> list[str]:
    kinds = counted(plain)
    rest = sum(n for key, n in kinds.items() if key not in ("passed", "skipped", "xfailed"))
    ways = fast.functions
    called = sum(n for key, n in ways.items() if key != "not called")
    return [name, *map(str, (
        len(plain.tests), kinds.get("passed", 0), kinds.get("skipped", 0), kinds.get("xfailed", 0), rest,
        len(differences), called, ways.get("native", 0), ways.get("sites", 0), ways.get("regions", 0),
        ways.get("left alone", 0), ways.get("interpreted", 0), fast.stats.get("native_calls", 0),
        fast.stats.get("site_calls", 0), fast.stats.get("kernels", 0), plain.seconds, fast.seconds))]


def totals(rows: list[list[str]]) -> list[str]:
    return ["all", *(f"{sum(float(line[k]) for line in rows):.10g}" for k in range(1, len(_HEAD)))]


def print_table(rows: list[list[str]]) -> None:
    lines = [list(_HEAD), *rows, totals(rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(_HEAD))]
    for line in lines:
        print("  ".join(cell.ljust(width) if k == 0 else cell.rjust(width)
                        for k, (cell, width) in enumerate(zip(line, widths))))


def _write_report(options: argparse.Namespace, told: dict[str, Any], rows: list[list[str]]) -> None:
    """What is known so far: a long run may be looked at, or end early."""
    if options.json:
        options.json.write_text(json.dumps({
            "python": sys.version.split()[0], "numpy": numpy.__version__, "options": vars(options), "files": told,
            "table": [list(_HEAD), *rows, totals(rows)]}, indent=1, default=str), encoding="utf-8")


def verdict(bad: int, native: int) -> int:
    """The exit status of so many differences; ``native``: functions that ran so."""
    if native == 0:
        print("nothing was shown: no function ran native")
        return 2
    return 1 if bad else 0


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("files", nargs="*", help="test files, relative to numpy/ or numpy/_core/tests")
    p.add_argument("--wide", action="store_true", help="more files: all of _core, lib, linalg, fft, random, ma, ...")
    p.add_argument("--only", nargs="+", default=[], metavar="NODE", help="only these tests, as pytest names them")
    p.add_argument("--mode", choices=MODES, default="tests", help="; ".join(f"{k}: {v}" for k, v in MODES.items()))
    p.add_argument("--eager", action="store_true", help="keep regions even where nothing is gained by them")
    p.add_argument("--precision", choices=("default", "numpy"), help="of accelerate; without it the default")
    p.add_argument("--threshold", type=int, default=1, help="of enable()")
    p.add_argument("--repeat", type=int, default=1, help="run each test function so often, in both runs")
    p.add_argument("--slow", action="store_true", help="with the tests that NumPy marks as slow")
    p.add_argument("--errors", action="store_true", help="warnings are errors, as in NumPy's own runs")
    p.add_argument("--timeout", type=float, default=120.0, help="seconds that one test may take at least")
    p.add_argument("--deaths", type=int, default=30, help="give a file up after so many processes that died")
    p.add_argument("--memory", default="4G", help="what tests are told of the machine's memory")
    p.add_argument("--jobs", type=int, default=1, help="files that are run at the same time")
    p.add_argument("--json", type=Path, help="write everything to this file")
    p.add_argument("--root", default=str(NUMPY), help="the folder that node ids begin from")
    return p


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    files = chosen_files(options)
    told: dict[str, Any] = {}
    rows, bad = [], 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for file, (plain, fast) in zip(files, pool.map(lambda file: both_ways(file, options), files)):
            name = os.path.relpath(file, options.root)
            differences = compare(plain, fast)
            trouble = [f"{way}: {run.trouble}" for way, run in (("plain", plain), ("accelerated", fast)) if run.trouble]
            bad += len(differences) + len(trouble)
            rows.append(row(name, plain, fast, differences))
            told[name] = {"plain": counted(plain), "accelerated": counted(fast), "functions": fast.functions,
                          "stats": fast.stats, "trouble": trouble, "processes": fast.processes,
                          "seconds": [plain.seconds, fast.seconds], "differences": [asdict(d) for d in differences]}
            print(f"{name}: {len(plain.tests)} tests, {len(differences)} differ", flush=True)
            for line in trouble:
                print(f"  {line}", flush=True)
            for d in differences:
                print(f"  {d.test}\n    plain:       {d.plain[:400]}\n    accelerated: {d.accelerated[:400]}")
                for what in ("warnings", "output"):
                    if what in d.details:
                        print(f"    {what}: {str(d.details[what])[:600]}")
            _write_report(options, told, rows)
    print_table(rows)
    native = sum(entry["functions"].get("native", 0) for entry in told.values())
    print(f"Python {sys.version.split()[0]}, NumPy {numpy.__version__}, mode {options.mode}"
          f"{', eager' if options.eager else ''}, each test {options.repeat} times: "
          f"{'every test did the same' if not bad else f'{bad} differences'}")
    return verdict(bad, native)


if __name__ == "__main__":
    sys.exit(main())
