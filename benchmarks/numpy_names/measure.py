"""Run a sample plain and accelerated, compare everything, and read from jitcore's records how it ran.

Job: ``measure``.  Invariants: nothing here knows how a name should run; that is read from the regions that were made,
from the counts of their exits and from the kernels in their plans.
"""

from __future__ import annotations

import contextlib
import io
import traceback
import types
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import jitcore
from jitcore.errors import REASONS
from jitcore.kernels.ir import Instr, Kernel
from jitcore.ops.table import OPS
from jitcore.pipeline import Stages
from jitcore.runtime.records import find_record

from .worlds import Sample

#: Calls of each function; the first compiles.
CALLS = 3

#: The line of the call that is measured in the function around it.
LINE = 3

#: How something ran, from within the region to outside of it.
INLINE, BLOCK, FUNCTION, PYTHON, CALL, LEFT = "inline", "block", "function", "inlined Python", "call", "left"
IN_REGION = (INLINE, BLOCK, FUNCTION, PYTHON)

#: How far results may be from NumPy's where a transcendental function of jitcore's own took part, by bytes of a part.
_CLOSE = {2: 4e-3, 4: 2e-6, 8: 1e-14, 16: 1e-14}


@dataclass(frozen=True)
class Outcome:
    """What a sample gave.  ``how``: one of the ways above, '' where it warned or raised, which always ends a region.
    ``wrong``: the first difference from plain NumPy, '' for none.  ``why``: what a region was left for."""

    how: str
    wrong: str = ""
    why: str = ""


@dataclass
class _Seen:
    kind: str
    value: Any
    warnings: list[tuple[str, str, str, int]]
    printed: str
    args: tuple[Any, ...]
    state: Any


def function_for(sample: Sample) -> types.FunctionType:
    """A new function that makes the call between two operations on arrays."""
    source = (
        f"def sample({', '.join(['x', *sample.arguments])}):\n"
        f"    before = x + 1.0\n"
        f"    result = {sample.text}\n"
        f"    return result, before * x\n"
    )
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, f"<{sample.group} {sample.name}>", "exec"), scope)
    return scope["sample"]


def measure(sample: Sample) -> Outcome:
    """Compare ``CALLS`` calls with plain NumPy's, and say how the accelerated ones ran."""
    plain = [_observe(function_for(sample), sample) for _ in range(CALLS)]
    fast = jitcore.accelerate(function_for(sample))
    wrong = _difference(sample, plain, fast)
    if wrong and _inexact(fast):
        wrong = _difference(sample, plain, jitcore.accelerate(precision="numpy")(function_for(sample)))
        fast = jitcore.accelerate(function_for(sample))
        wrong = wrong or _difference(sample, plain, fast, True)
    if (record := find_record(fast.__code__)) is not None and record.left_alone.startswith(REASONS["compiler"]):
        wrong = wrong or record.left_alone
    if any(seen.kind == "raise" or seen.warnings for seen in plain):
        return Outcome("", wrong)
    how, why = _how(fast, sample)
    return Outcome(how, wrong, why)


# -- what a caller sees ----------------------------------------------------------------------------------------
def _observe(func: types.FunctionType, sample: Sample) -> _Seen:
    args = (np.arange(5.0), *sample.make())
    out = io.StringIO()
    np.random.seed(11)
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        try:
            kind, value = "return", func(*args)
        except Exception as error:
            kind, value = "raise", error
    state = None
    if sample.state:
        names = dict(zip(sample.arguments, args[1:]))
        state = eval(sample.state, {"np": np, **names}) if "rng" not in sample.state or "rng" in names else None
    seen = [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in caught]
    return _Seen(kind, value, seen, out.getvalue(), args, state)


def _difference(sample: Sample, plain: list[_Seen], fast: types.FunctionType, close: bool = False) -> str:
    """The first difference between the plain calls and as many of ``fast``."""
    for k, expected in enumerate(plain):
        found = _observe(fast, sample)
        if found.kind != expected.kind:
            return f"call {k}: {expected.kind} {expected.value!r} -> {found.kind} {found.value!r}"
        for part in ("value", "warnings", "printed", "args", "state"):
            with warnings.catch_warnings(action="ignore"):  # the flags of some arrays warn who asks
                text = unlike(getattr(expected, part), getattr(found, part), close)
            if text:
                return f"call {k}: {part}: {text}"
    return ""


def unlike(x: Any, y: Any, close: bool = False) -> str:
    """How two objects differ in what a user can see: '' for not at all.  ``close``: floats in the last places."""
    if type(x) is not type(y):
        return f"type {type(x)} -> {type(y)}"
    if isinstance(x, np.ndarray):
        return _unlike_arrays(x, y, close)
    if isinstance(x, np.generic):
        if x.dtype != y.dtype:
            return f"dtype {x.dtype} -> {y.dtype}"
        return _unlike_values(np.array([x], x.dtype), np.array([y], y.dtype), close)
    if isinstance(x, (float, complex)):
        return _unlike_values(np.array([x]), np.array([y]), close)
    if isinstance(x, (list, tuple)):
        if len(x) != len(y):
            return f"length {len(x)} -> {len(y)}"
        return next((f"[{k}]: {text}" for k, (v, w) in enumerate(zip(x, y)) if (text := unlike(v, w, close))), "")
    if isinstance(x, dict):
        if list(x) != list(y):
            return f"keys {list(x)} -> {list(y)}"
        return unlike(list(x.values()), list(y.values()), close)
    if isinstance(x, BaseException):
        before, after = ((str(e), repr(e.args), _lines(e), repr(e.__cause__), repr(e.__context__)) for e in (x, y))
        return "" if before == after else f"{before} -> {after}"
    if isinstance(x, np.random.Generator):
        return unlike(x.bit_generator.state, y.bit_generator.state)
    if isinstance(x, (io.BytesIO, io.StringIO)):
        return (
            ""
            if x.closed == y.closed and (x.closed or (x.getvalue(), x.tell()) == (y.getvalue(), y.tell()))
            else "file"
        )
    if isinstance(x, memoryview):
        return unlike(np.asarray(x), np.asarray(y), close)
    if " at 0x" in repr(x) or callable(x):
        return ""
    return "" if repr(x) == repr(y) else f"{x!r} -> {y!r}"


def _lines(error: BaseException) -> list[tuple[str, str, int]]:
    found = [
        (frame.f_code.co_filename, frame.f_code.co_name, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    return [entry for entry in found if entry[0] != __file__]


def _unlike_arrays(x: np.ndarray, y: np.ndarray, close: bool) -> str:
    for name in ("dtype", "shape", "strides"):
        if getattr(x, name) != getattr(y, name) and (name != "strides" or x.size):
            return f"{name} {getattr(x, name)} -> {getattr(y, name)}"
    for name in ("c_contiguous", "f_contiguous", "writeable", "aligned", "owndata"):
        if getattr(x.flags, name) != getattr(y.flags, name):
            return f"{name} {getattr(x.flags, name)} -> {getattr(y.flags, name)}"
    if (x.base is None) != (y.base is None) or type(x.base) is not type(y.base):
        return f"base {type(x.base)} -> {type(y.base)}"
    return _unlike_values(x, y, close)


def _unlike_values(x: np.ndarray, y: np.ndarray, close: bool) -> str:
    if x.dtype.hasobject:
        return unlike(x.tolist(), y.tolist(), close)
    if x.dtype.kind not in "fc":
        return "" if x.tobytes() == y.tobytes() else f"{x!r} -> {y!r}"
    x, y = (np.ascontiguousarray(v).reshape(-1) for v in (x, y))
    if x.dtype.kind == "c":
        x, y = x.view(x.real.dtype), y.view(y.real.dtype)
    alike = (np.isnan(x) & np.isnan(y)) | ((x == y) & (np.signbit(x) == np.signbit(y)))
    if close:
        with np.errstate(all="ignore"):
            alike |= np.abs(x - y) <= _CLOSE[x.dtype.itemsize] * max(
                1.0, float(np.max(np.abs(x[np.isfinite(x)]), initial=0))
            )
    if alike.all():
        return ""
    k = int(np.flatnonzero(~alike)[0])
    return f"element {k}: {x[k]!r} -> {y[k]!r}"


# -- how it ran ------------------------------------------------------------------------------------------------
def _stages(func: types.FunctionType) -> list[Stages]:
    record = find_record(func.__code__)
    return [] if record is None else [entry.stages for entry in record.entries if entry.stages is not None]


def _inexact(func: types.FunctionType) -> bool:
    """Whether a function of jitcore's own that may differ from NumPy's in the last place took part."""
    instrs = [i for stages in _stages(func) for kernel in stages.plan.kernels() for i in kernel.body if i.kind == "ew"]
    nodes = [node for stages in _stages(func) for node in stages.trace.graph.nodes() if node.op == "ew"]
    return any(not OPS[i.op].exact_for(i.sig) for i in instrs) or any(
        not OPS[str(node.attrs["op"])].exact_for(str(node.attrs["sig"])) for node in nodes
    )


def _how(func: types.FunctionType, sample: Sample) -> tuple[str, str]:
    """The way that the call in ``LINE`` was done, and why it was not done in the region.  One more call shows whether
    it runs native to its end by now."""
    before, record = jitcore.stats(func), find_record(func.__code__)
    assert record is not None
    _observe(func, sample)
    counts = jitcore.stats(func)
    why = "; ".join(dict.fromkeys(left.reason for left in record.left))
    if counts.native_calls == before.native_calls or counts.leaves > before.leaves:
        refused = [entry.refusal.reason for entry in record.entries if entry.refusal is not None]
        return LEFT, "; ".join(filter(None, [why, *refused, record.left_alone]))
    ran = [entry for entry in record.entries if entry.stages is not None and entry.region.runs]
    for entry in ran:
        assert entry.stages is not None
        if any(
            count and exit.kind == "call"
            for count, exit in zip(entry.region.exit_counts, entry.stages.trace.graph.exits)
        ):
            return CALL, why
    stages = [entry.stages for entry in ran if entry.stages is not None]
    if any(one.trace.inlined for one in stages):
        return PYTHON, ""
    steps = [step for one in stages for steps in one.plan.steps.values() for step in steps]
    if any(not isinstance(step, Kernel) and step.line == LINE and step.op in ("call", "reduce") for step in steps):
        return FUNCTION, ""
    blocks = any(
        _is_block(instr, step)
        for step in steps
        if isinstance(step, Kernel)
        for instr in step.body
        if instr.kind == "ew" and instr.line == LINE
    )
    return BLOCK if blocks else INLINE, ""


def _is_block(instr: Instr, kernel: Kernel) -> bool:
    """Whether an instruction runs as NumPy's own inner loop."""
    scalars = [k for k, arg in enumerate(instr.args) if kernel.body[arg].kind == "scalar"]
    return OPS[instr.op].lowering(instr.sig, scalars) is None
