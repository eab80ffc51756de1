"""Why no cached region fitted: the guard that failed, in words.

Job: text for the guard log.  Invariants: looks at the snapshot's objects only through the reference
evaluator of guards, which runs no user code.  Called by ``runtime.compiler``.
"""
from __future__ import annotations

from jitcore.frontend.snapshot import Snapshot
from jitcore.guards import explain, reference
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
