"""The report of ``jitcore.explain``.

Job: words for a person who wonders what became of a function.  Invariants: reports what is, with true
counts; a region that has not run says so.
"""
from __future__ import annotations

import linecache
import os
from collections import Counter
from typing import Any

import numpy as np

from jitcore import pipeline
from jitcore.errors import REASONS
from jitcore.frontend.snapshot import Left, Refusal, Trace
from jitcore.guards import explain as guard_text
from jitcore.kernels.ir import COMPUTING, Kernel
from jitcore.pipeline import Stages
from jitcore.runtime import discovery
from jitcore.runtime.records import Entry, find_record
from jitcore.runtime.stages import function_of, options_of, snapshot_of_call
from jitcore.runtime.stats import stats


def explain(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The report for ``target``: for one call if there are arguments, else for all regions that exist."""
    func, bound = function_of(target)
    code = func.__code__
    record = find_record(code)
    lines = [f"{code.co_qualname} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"]
    if record is not None and record.found:
        lines.append(f"  found {record.found}")
    if record is None or not (record.by_hand or record.found):
        lines.append(f"  {discovery.describe(func)}")
    elif record.left_alone:
        lines.append(f"  left alone: {record.left_alone}")
    else:
        counts = stats(func)
        lines.append(f"  so far: {_count(counts.calls, 'call')}, {counts.native_calls} native, "
                     f"{counts.leaves} handed over, {_count(counts.site_calls, 'operation')} through Python, "
                     f"{_count(counts.kernels, 'kernel')} run")
    if args or kwargs or bound:
        snapshot = snapshot_of_call(func, bound + args, kwargs)
        traced = pipeline.trace(snapshot)
        if isinstance(traced, Refusal):
            lines.append(f"  for these arguments the interpreter runs it: {traced.reason} (line {traced.line})")
        else:
            lines.append("  for these arguments:")
            lines += _region(pipeline.lower(snapshot, traced, options_of(func)), None)
    shown = [] if record is None else [entry for entry in record.entries if not args or entry.unit != 0]
    for entry in shown:
        where = "at its entry" if entry.unit == 0 else f"behind the call in line {_line(entry)}"
        if entry.stages is None:
            reason = entry.refusal.reason if entry.refusal is not None else "?"
            lines.append(f"  {where}: left to the interpreter: {reason}")
        else:
            lines.append(f"  {where}:")
            lines += _region(entry.stages, entry)
    return "\n".join(lines)


def _line(entry: Entry) -> int:
    if entry.stages is not None:
        return entry.stages.line
    return entry.refusal.line if entry.refusal is not None else 0


def _region(stages: Stages, entry: Entry | None) -> list[str]:
    trace = stages.trace
    runs = "" if entry is None else ", run once" if entry.region.runs == 1 else f", run {entry.region.runs} times"
    lines = [f"    region {stages.name}: {_count(len(trace.graph.exits) - 1, 'exit')}, "
             f"{_count(len(stages.plan.kernels()), 'kernel')}{runs}"]
    for kernel in stages.plan.kernels():
        lines.append(f"      kernel {kernel.number}: {_summary(kernel)}")
        lines += [f"        line {number}: {_source(stages, number)}" for number in kernel.lines()]
    lines += [f"      loop in {_place(loop.file, loop.line)}: {loop.over or 'while'}" for loop in trace.loops]
    lines.append("      guards:")
    lines += [f"        {text}" for text in _guards(trace)]
    if trace.left:
        lines.append("      handed to the interpreter or done through Python:")
        for left in trace.left:
            place = _place(left.file, left.line)
            kind = REASONS.get(left.kind, left.kind)
            lines.append(f"        {place}: {left.reason}" + (f" ({kind})" if left.reason != kind else "")
                         + _times(trace, entry, left))
        if entry is None and any(exit.kind == "call" for exit in trace.graph.exits):
            lines.append("        (what comes behind that is compiled when it is first reached)")
    return lines


def _times(trace: Trace, entry: Entry | None, left: Left) -> str:
    """How often native code has come to a place that is not native; "" where that is not counted by itself."""
    if entry is None:
        return ""
    exits = trace.graph.exits
    alike = [k for k, exit in enumerate(exits) if exit.line == left.line and exit.reason == left.reason
             and (exit.kind == "call") == (left.kind == "call")]
    counts = entry.region.exit_counts
    return f", {_count(sum(counts[k] for k in alike), 'time')}" if alike else ""


def _place(file: str, line: int) -> str:
    return f"{os.path.basename(file)}:{line}"


def _summary(kernel: Kernel) -> str:
    """What one loop nest does: operations, inputs, what comes out."""
    names = Counter(instr.op or f"to {np.dtype(instr.dtype).name}" for instr in kernel.body if instr.kind in COMPUTING)
    work = ", ".join(name if n == 1 else f"{n} {name}" for name, n in names.items()) or "copy"
    parts = [work, f"over {_count(len(kernel.arrays()), 'array')} of {_count(len(kernel.shape), 'axis')}"]
    parts += [f"{r.op} over {'all axes' if len(r.axes) == len(kernel.shape) else f'axes {r.axes}'}"
              for r in kernel.reductions]
    if kernel.outputs:
        parts.append(f"{_count(len(kernel.outputs), 'result array')}")
    return "; ".join(parts)


def _guards(trace: Trace) -> list[str]:
    return [guard_text.expectation(guard) for guard in trace.guards]


def _source(stages: Stages, line: int) -> str:
    return linecache.getline(stages.trace.graph.file, line).strip()


def _count(n: int, noun: str) -> str:
    plural = "axes" if noun == "axis" else noun + "s"
    return f"{n} {noun}" if n == 1 else f"{n} {plural}"
