"""The stages of a compilation, in order: read this first.

Job: snapshot -> trace -> passes -> plan -> LLVM -> machine code -> a region that C can enter.
Invariants: each stage is a function of the previous one's output, so that every stage can be looked
at alone; nothing here decides policy (``runtime`` does).  Called by ``runtime`` and ``api``.
"""
from __future__ import annotations

import time
from dataclasses import dataclass

from jitcore import _core, config, guards, kernels, passes
from jitcore.backends import cpu, nvvm
from jitcore.backends.base import Compiled, Lowered
from jitcore.frontend.snapshot import Refusal, Snapshot, Trace
from jitcore.frontend.trace import trace_region
from jitcore.ir.text import print_graph
from jitcore.ir.verify import verify
from jitcore.kernels.ir import Plan
from jitcore.ops.table import OPS


@dataclass
class Stages:
    """What each stage gave, for one region.

    Holds neither the snapshot's objects nor the code object: what is remembered keeps nothing of the user's alive.
    """

    name: str
    unit: int
    line: int
    trace: Trace
    plan: Plan
    lowered: Lowered
    compiled: Compiled | None = None
    region: _core.Region | None = None
    seconds: float = 0.0


def trace(snapshot: Snapshot, leave_out: frozenset[str] = frozenset()) -> Trace | Refusal:
    """Symbolic execution, then the passes but those to ``leave_out``."""
    result = trace_region(snapshot)
    if isinstance(result, Refusal):
        return result
    if config.strict:
        verify(result.graph)
    passes.run(result.graph, verify=config.strict, leave_out=leave_out)
    passes.finish(result.graph, verify=config.strict)
    config.LOGGERS["graph"].debug("%s", _Late(lambda: print_graph(result.graph)))
    return result


def lower(snapshot: Snapshot, traced: Trace, options: config.Options) -> Stages:
    """Fusion and LLVM IR."""
    plan = kernels.plan(traced.graph, OPS)
    config.LOGGERS["kernels"].debug("%s", plan)
    lowered = cpu.lower(traced.graph, plan, OPS, region_name(snapshot), precision=options.precision)
    config.LOGGERS["llvm"].debug("%s", _Late(lambda: lowered.llvm))
    return Stages(region_name(snapshot), snapshot.unit, line_at(snapshot), traced, plan, lowered)


def lower_for_device(traced: Trace, options: config.Options, arch: str) -> nvvm.DeviceCode:
    """Fusion, and the kernels' code for a GPU of an architecture such as ``'sm_90'``."""
    return nvvm.lower(kernels.plan(traced.graph, OPS), OPS, arch, precision=options.precision)


def build(stages: Stages) -> _core.Region:
    """Machine code, and the object through which C enters it."""
    compiled = cpu.compile(stages.lowered)
    config.LOGGERS["asm"].debug("%s", _Late(compiled.asm))
    guard_spec, exit_spec, n_out = guards.pack(stages.trace)
    region = _core.Region(compiled.address, guard_spec, exit_spec, n_out, stages.lowered.n_own, stages.trace.work,
                          (compiled, tuple(stages.trace.graph.objects)), stages.name)
    stages.compiled, stages.region = compiled, region
    return region


def compile_region(snapshot: Snapshot, options: config.Options) -> Stages | Refusal:
    """All stages for one snapshot."""
    start = time.perf_counter()
    traced = trace(snapshot)
    if isinstance(traced, Refusal):
        return traced
    stages = lower(snapshot, traced, options)
    build(stages)
    stages.seconds = time.perf_counter() - start
    return stages


def negative_region(refusal: Refusal, label: str) -> _core.Region:
    """A region that says: for these guards the interpreter runs the function."""
    guard_spec = guards.pack_guards(refusal.guards, refusal.sources)
    return _core.Region(0, guard_spec, (), 0, 0, 0, None, label)


def region_name(snapshot: Snapshot) -> str:
    """A readable name: the function's, and the code unit unless it is the entry."""
    name = snapshot.code.co_qualname
    return name if snapshot.unit == 0 else f"{name}@{snapshot.unit}"


def line_at(snapshot: Snapshot) -> int:
    """The source line of the instruction in front of the snapshot's unit (the function's first at its entry)."""
    lines = [line for start, _, line in snapshot.code.co_lines() if line is not None and start < 2 * snapshot.unit]
    return lines[-1] if lines else snapshot.code.co_firstlineno


class _Late:
    """Text made only when a log record is printed."""

    def __init__(self, make: object) -> None:
        self.make = make

    def __str__(self) -> str:
        return str(self.make())  # type: ignore[operator]
