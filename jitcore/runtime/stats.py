"""True counts of what ran where.

Job: ``jitcore.stats``.  Invariants: the counts are kept in C at the places where things happen; what
the interpreter did is never counted as native.
"""
from __future__ import annotations

from dataclasses import dataclass
from types import FunctionType

from jitcore import _core
from jitcore.runtime.records import all_records, find_record


@dataclass(frozen=True)
class Stats:
    """Counts since the process began, of one function's code or of all marked functions.

    calls: calls that came to jitcore's entry (a function that was left alone has none any more);
    native_calls: of these, the ones whose whole body ran in regions with at least one native operation;
    site_calls: operations done through CALL sites; kernels: fused loop nests run; compiles: regions
    compiled; compile_seconds: processor time spent on that; guard_misses: calls that found no fitting region;
    leaves: hand-overs to the interpreter, restarts included; found: functions that are marked because ``enable``
    found them.
    """

    calls: int
    native_calls: int
    site_calls: int
    kernels: int
    compiles: int
    compile_seconds: float
    guard_misses: int
    leaves: int
    found: int


def stats(func: object = None) -> Stats:
    """The counts of ``func`` (a marked function), or of the process.

    Raises ``TypeError`` for something that is not a Python function.
    """
    if func is None:
        counts = _core.totals()
        found = sum(1 for record in all_records() if record.found)
        seconds = sum(record.compile_seconds for record in all_records())
    else:
        func = getattr(func, "__func__", func)
        if not isinstance(func, FunctionType):
            raise TypeError(f"stats expects a Python function, not {type(func).__name__}")
        counts = _core.counters(func.__code__)
        record = find_record(func.__code__)
        seconds = record.compile_seconds if record is not None else 0.0
        found = int(record is not None and bool(record.found))
    names = ("calls", "native_calls", "site_calls", "kernels", "compiles", "guard_misses")
    return Stats(compile_seconds=seconds, leaves=counts["leaves"] + counts["restarts"], found=found,
                 **{name: counts[name] for name in names})
