"""Why no cached region fitted: the guard that failed, in words.

Job: text for the guard log.  Invariants: looks at the snapshot's objects only through the reference
evaluator of guards, which runs no user code.  Called by ``runtime.compiler``.
"""
from __future__ import annotations

from collections import Counter
from types import CodeType, FunctionType

from jitcore.frontend.snapshot import Snapshot
from jitcore.guards import explain, reference
from jitcore.guards.guard import FunctionIs, IsObject, ValueIs
from jitcore.guards.pack import fixes_type
from jitcore.guards.sources import Source
from jitcore.runtime.records import Entry


def describe(entries: list[Entry], snapshot: Snapshot) -> str:
    """What differed from the nearest of ``entries``: the one whose guards hold for longest."""
    best, text = -1, "no entry fits"
    for entry in entries:
        trace = entry.stages.trace if entry.stages is not None else entry.refusal
        if trace is None:
            continue
        values = snapshot.locals + snapshot.stack
        failed = reference.first_failure(trace.guards, snapshot.func, values, snapshot.unbound)
        if failed is not None and failed > best:
            best = failed
            text = explain.describe(trace.guards[failed], snapshot.func, values, snapshot.unbound)
    return text


def functions_made_anew(entries: list[Entry], snapshot: Snapshot) -> set[CodeType]:
    """Codes of functions that two of ``entries``, which fit up to there, met with other defaults: such a function is
    made by each call, and regions that know its defaults do not fit again."""
    values = reference.FrameValues(snapshot.func, snapshot.locals + snapshot.stack, snapshot.unbound)
    found: Counter[CodeType] = Counter()
    for entry in entries:
        trace = entry.stages.trace if entry.stages is not None else entry.refusal
        if trace is None or not any(isinstance(guard, FunctionIs) for guard in trace.guards):
            continue
        failed = reference.first_failure(trace.guards, snapshot.func, values.locals, snapshot.unbound)
        guard = trace.guards[failed] if failed is not None else None
        if isinstance(guard, FunctionIs):
            met = reference.read(guard.source, values, {g.source: g.type for g in trace.guards if fixes_type(g)})
            if isinstance(met, FunctionType) and met.__code__ is guard.code:
                found[guard.code] += 1
    return {code for code, n in found.items() if n > 1}


MANY_TEXTS = 4      # of one place at a function's entry: they may choose what is done
MANY_OBJECTS = 8    # of one place, each of which was met once


def sources_that_vary(entries: list[Entry], snapshot: Snapshot) -> set[Source]:
    """Where entries, which fit up to there, ask for another text or object than the one that is met.  Texts: behind a
    CALL site at once, at a function's entry where some were met before.  Objects: where each that was met came once, so
    that they are made anew from call to call."""
    values = snapshot.locals + snapshot.stack
    texts: Counter[Source] = Counter()
    objects: Counter[Source] = Counter()
    for entry in entries:
        trace = entry.stages.trace if entry.stages is not None else entry.refusal
        if trace is None:
            continue
        failed = reference.first_failure(trace.guards, snapshot.func, values, snapshot.unbound)
        guard = trace.guards[failed] if failed is not None else None
        if isinstance(guard, ValueIs) and type(guard.value) is str:
            texts[guard.source] += 1
        elif isinstance(guard, IsObject) and entry.region.runs <= 1:
            objects[guard.source] += 1
    few = 1 if snapshot.unit else MANY_TEXTS
    return {source for source, n in texts.items() if n >= few} | {
        source for source, n in objects.items() if n >= MANY_OBJECTS}
