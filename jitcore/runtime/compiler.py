"""The callback from C on a miss, and the policy of compiling.

Job: decide whether a region is compiled for the state that C met, compile it, install it, log it.
Invariants: a failure inside the compiler never reaches the user's program (unless JITCORE_STRICT=1): the
call runs in the interpreter and the reason is logged once a code object.  One thread compiles at a
time; others go on in the interpreter.
"""
from __future__ import annotations

import logging
import os
import sys
import threading
import time
from types import CodeType, FrameType, FunctionType

import llvmlite
import numpy as np

from jitcore import _core, config, pipeline
from jitcore.errors import REASONS
from jitcore.frontend.snapshot import Refusal, Snapshot
from jitcore.pipeline import Stages
from jitcore.runtime import device, misses, signals
from jitcore.runtime.records import Entry, Record, codes_apart, find_record, marked_functions, record_of

_lock = threading.Lock()
#: What the compiler's own frames lie in: jitcore, the libraries that it uses, the standard library, frozen modules.
_OUR_FOLDERS = (*(os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep
                  for module in (config, llvmlite, np, os)), os.path.abspath("<frozen"))
_compile_log = config.LOGGERS["compile"]
_leave_log = config.LOGGERS["leave"]


def on_miss(func: FunctionType, code: CodeType, unit: int, locals: tuple[object, ...],
            stack: tuple[object, ...]) -> bool:
    """Called from C when no region at ``unit`` fits the frame.  True: one that fits was installed."""
    if not _lock.acquire(blocking=False):
        return False
    try:
        record = record_of(code)
        if record.left_alone or not (record.by_hand or record.found):     # a mark that went while the frame ran
            return False
        if len(record.entries) >= config.MAX_REGIONS_PER_CODE:
            return False
        if not _is_due(record, unit):
            return False
        # Beside the frame, the tuple and the argument of getrefcount have each object.
        shared = frozenset(k for k in range(len(stack)) if sys.getrefcount(stack[k]) > 3)
        snapshot = Snapshot(func, code, unit, locals, stack, _core.UNBOUND, shared=shared)
        known = record.at(unit)
        record.opaque |= misses.functions_made_anew(known, snapshot)
        snapshot.opaque = frozenset(record.opaque | codes_apart(record))
        varying = record.varying.setdefault(unit, set())
        varying |= misses.sources_that_vary(known, snapshot)
        snapshot.varying = frozenset(varying)
        on_device = device.wants(snapshot, record.options)
        try:
            with signals.put_off():
                return _compile(record, snapshot, known, on_device)
        except Exception as error:
            if config.strict or is_foreign(error):
                raise
            leave_alone(record, code, f"{REASONS['compiler']}: {type(error).__name__}: {error}")
            config.LOGGERS["compile"].exception("%s: failed to compile", record.name)
            return False
    finally:
        _lock.release()


def _is_due(record: Record, unit: int) -> bool:
    """Whether a miss at ``unit`` is worth a compilation: the first ones are; where states never repeat, ever fewer,
    each after twice as many misses as the one before; and so after each second that the code has taken already."""
    made = record.made.get(unit, 0)
    patience = int(record.compile_seconds / config.COMPILE_SECONDS)
    if made >= config.MAX_REGIONS_PER_ENTRY:
        patience += made - config.MAX_REGIONS_PER_ENTRY + 6
    if patience > 0:
        asked = record.asked[unit] = record.asked.get(unit, 0) + 1
        if asked < 2 ** min(patience, 62):
            return False
    record.made[unit] = made + 1
    return True


def is_foreign(error: BaseException) -> bool:
    """Whether ``error`` came out of the user's code.  The compiler runs none, so that is a signal handler that was
    called while it worked, and its exception belongs to the program."""
    trace = error.__traceback__
    while trace is not None:
        if not os.path.abspath(trace.tb_frame.f_code.co_filename).startswith(_OUR_FOLDERS):
            return True
        trace = trace.tb_next
    return False


def _compile(record: Record, snapshot: Snapshot, known: list[Entry], on_device: bool) -> bool:
    start = time.thread_time()
    wanted = config.LOGGERS["guards"].isEnabledFor(logging.INFO) or _leave_log.isEnabledFor(logging.INFO)
    miss = misses.describe(known, snapshot) if known and wanted else ""
    result = (device if on_device else pipeline).compile_region(snapshot, record.options)
    seconds = time.thread_time() - start
    record.compile_seconds += seconds
    if isinstance(result, Refusal):
        return _refuse(record, snapshot, result, miss)
    assert result.region is not None
    _install(record, Entry(snapshot.unit, result.region, result), snapshot.code, known)
    record.left.extend(left for left in result.trace.left if left not in record.left)
    _log_compiled(record, snapshot, result, seconds, miss, len(known) + 1)
    _replace_idle(record, snapshot.code)
    return True


def _install(record: Record, entry: Entry, code: CodeType, known: list[Entry]) -> None:
    if len(known) >= config.MAX_REGIONS_PER_ENTRY:
        oldest = known[0]
        record.entries.remove(oldest)
        _core.remove_region(code, oldest.region)
    record.entries.append(entry)
    _core.add_region(code, entry.unit, entry.region)
    if entry.stages is not None:
        _core.count(code, "compiles")


def _refuse(record: Record, snapshot: Snapshot, refusal: Refusal, miss: str) -> bool:
    place = f"{os.path.basename(record.file)}:{refusal.line}"
    if not refusal.guards and snapshot.unit == 0:
        leave_alone(record, snapshot.code, refusal.reason, refusal.line)
        return False
    region = pipeline.negative_region(refusal, pipeline.region_name(snapshot))
    _install(record, Entry(snapshot.unit, region, None, refusal), snapshot.code, record.at(snapshot.unit))
    _leave_log.info("%s: %sleft to the interpreter for these arguments: %s (%s)",
                    record.name, f"{miss}; " if miss else "", refusal.reason, place)
    _replace_idle(record, snapshot.code)
    return True


def _replace_idle(record: Record, code: CodeType) -> None:
    """Regions on paths that gain nothing are replaced by negative ones, each at its own unit: for these arguments,
    and behind these sites, the interpreter goes on."""
    idle = record.idle()
    for entry in idle:
        record.entries.remove(entry)
        _core.remove_region(code, entry.region)
        stages = entry.stages
        assert stages is not None
        refusal = Refusal(REASONS["no-work"], stages.line, stages.trace.guards, stages.trace.sources)
        _install(record, Entry(entry.unit, pipeline.negative_region(refusal, stages.name), None, refusal), code, [])
    if any(entry.unit == 0 for entry in idle):
        _leave_log.info("%s: left to the interpreter for these arguments: %s", record.name, REASONS["no-work"])


def leave_alone(record: Record, code: CodeType, reason: str, line: int = 0) -> None:
    """Take jitcore's entry out of every function of ``code``: its calls cost nothing from now on."""
    record.left_alone = reason
    _core.set_active(code, False)
    for func in marked_functions():
        if func.__code__ is code:
            _core.unmark(func)
    _leave_log.info("%s: left alone: %s (%s:%d)", record.name, reason,
                    os.path.basename(record.file), line or record.line)


def _log_compiled(record: Record, snapshot: Snapshot, stages: Stages, seconds: float, miss: str, entries: int) -> None:
    if miss:
        config.LOGGERS["guards"].info("%s: %s (called at %s); compiled in %.0f ms, %d entries",
                                      record.name, miss, _caller(snapshot.code), seconds * 1000, entries)
    _compile_log.info("%s: compiled in %.0f ms: %d kernels, %d guards", pipeline.region_name(snapshot), seconds * 1000,
                      len(stages.plan.kernels()), len(stages.trace.guards))
    for left in stages.trace.left:
        _leave_log.info("%s: %s:%d: %s", record.name, os.path.basename(left.file), left.line, left.reason)


def _caller(code: CodeType) -> str:
    """File and line of the call that missed: the innermost frame outside this package and ``code``."""
    package = os.path.dirname(os.path.dirname(__file__))
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(package) or frame.f_code is code):
        frame = frame.f_back
    return "?" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def negative_settled(code: CodeType) -> None:
    """Called from C when a code object has only met negative regions for long: it is left alone for good."""
    record = find_record(code)
    if record is not None and not record.left_alone:
        reasons = sorted({entry.refusal.reason for entry in record.entries if entry.refusal is not None})
        leave_alone(record, code, "; ".join(reasons) or REASONS["no-work"])
