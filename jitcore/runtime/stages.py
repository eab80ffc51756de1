"""Looking at the stages one by one: ``jitcore.trace``.

Job: snapshots from a function and arguments, and small objects over ``pipeline``'s stages.  Invariants: nothing
here runs the user's function, except calling a ``Runnable`` on purpose.
"""
from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any, Literal, overload

from jitcore import _core, config, pipeline
from jitcore.backends.cpu.loops import Unsupported
from jitcore.backends.nvvm import DeviceCode
from jitcore.errors import NotCompilable
from jitcore.frontend.snapshot import Refusal, Snapshot, Trace
from jitcore.ir.graph import Graph
from jitcore.runtime.records import find_record


def function_of(target: Any) -> tuple[FunctionType, tuple[Any, ...]]:
    """The Python function in ``target``, and the arguments that ``target`` binds in front (a method's self)."""
    bound: tuple[Any, ...] = ()
    func = target
    while not isinstance(func, FunctionType):
        if inspect.ismethod(func):
            bound = (func.__self__, *bound)
        inner = getattr(func, "__func__", None)
        if inner is None:
            raise TypeError(f"expected a Python function, not {type(target).__name__}")
        func = inner
    return func, bound


def snapshot_of_call(func: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Snapshot:
    """The state of ``func``'s frame at its entry for a call with these arguments."""
    bound = inspect.Signature.from_callable(func, follow_wrapped=False).bind(*args, **kwargs)
    bound.apply_defaults()
    code = func.__code__
    own_cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    n_locals = len(code.co_varnames) + len(own_cells) + len(code.co_freevars)
    locals = [bound.arguments.get(name, _core.UNBOUND) for name in code.co_varnames]
    locals += [_core.UNBOUND] * (n_locals - len(locals))
    return Snapshot(func, code, 0, tuple(locals), (), _core.UNBOUND)


def options_of(func: FunctionType) -> config.Options:
    record = find_record(func.__code__)
    return record.options if record is not None else config.Options()


class Traced:
    """A traced region: its graph, its guards, the places it hands over at."""

    def __init__(self, snapshot: Snapshot, trace: Trace, options: config.Options) -> None:
        self._snapshot, self._trace, self._options = snapshot, trace, options

    @property
    def graph(self) -> Graph:
        """The graph after the passes; prints as typed SSA text, which ``jitcore.ir.text.parse_graph`` reads back."""
        return self._trace.graph

    @property
    def guards(self) -> list[Any]:
        return list(self._trace.guards)

    @overload
    def lower(self, *, device: Literal["cpu"] = "cpu", arch: str = "sm_90") -> LoweredRegion: ...
    @overload
    def lower(self, *, device: Literal["cuda"], arch: str = "sm_90") -> LoweredKernels: ...
    def lower(self, *, device: str = "cpu", arch: str = "sm_90") -> LoweredRegion | LoweredKernels:
        """Fused into kernels and lowered to LLVM IR, for the CPU or (``device='cuda'``) for a GPU.

        For a GPU that are the kernels alone, and ``arch`` is its architecture: ``'sm_75'``, ``'sm_80'``, ``'sm_90'``,
        ``'sm_100'`` or ``'sm_120'``.  No GPU is needed.  Raises ``ValueError`` for another device or architecture.
        """
        if device == "cuda":
            return LoweredKernels(pipeline.lower_for_device(self._trace, self._options, arch))
        if device != "cpu":
            raise ValueError(f"device must be 'cpu' or 'cuda', not {device!r}")
        return LoweredRegion(self._snapshot.func, pipeline.lower(self._snapshot, self._trace, self._options))


class LoweredRegion:
    """Kernels and LLVM IR of a region."""

    def __init__(self, func: FunctionType, stages: pipeline.Stages) -> None:
        self._func, self._stages = func, stages

    def as_text(self, stage: str) -> str:
        """The text of ``stage``: ``'kernels'`` or ``'llvm'``.  Raises ``ValueError`` for another."""
        if stage == "kernels":
            return str(self._stages.plan)
        if stage == "llvm":
            return self._stages.lowered.llvm
        raise ValueError(f"a lowered region has the stages 'kernels' and 'llvm', not {stage!r}")

    def compile(self) -> Runnable:
        """Machine code."""
        pipeline.build(self._stages)
        return Runnable(self._func, self._stages)


class LoweredKernels:
    """The kernels of a region for a GPU."""

    def __init__(self, code: DeviceCode) -> None:
        self._code = code

    def as_text(self, stage: str) -> str:
        """The text of ``stage``: ``'kernels'``, ``'llvm'`` or ``'ptx'``.  Raises ``ValueError`` for another.  What is
        no device code is named in the first and the last, with the reason; ``NotCompilable`` where llvmlite's LLVM
        cannot make PTX at all."""
        try:
            return self._code.as_text(stage)
        except KeyError:
            raise ValueError(f"kernels for a GPU have the stages 'kernels', 'llvm' and 'ptx', not {stage!r}") from None
        except Unsupported as error:
            raise NotCompilable(str(error)) from None


class Runnable:
    """A compiled region that can be called with arguments of the traced kinds."""

    def __init__(self, func: FunctionType, stages: pipeline.Stages) -> None:
        self._func, self._stages = func, stages

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments; where the guards do not hold or the region hands over, the function itself runs."""
        assert self._stages.region is not None
        state = snapshot_of_call(self._func, args, kwargs)
        done, result = self._stages.region.run(self._func, state.locals)
        return result if done else self._func(*args, **kwargs)

    def as_text(self, stage: str) -> str:
        """The text of ``stage``: ``'asm'``, ``'llvm'`` or ``'kernels'``.  Raises ``ValueError`` for another."""
        if stage == "asm":
            assert self._stages.compiled is not None
            return self._stages.compiled.asm()
        return LoweredRegion(self._func, self._stages).as_text(stage)


def trace(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """Trace ``target`` for a call with these arguments; ``NotCompilable`` with the reason if there is no region."""
    func, bound = function_of(target)
    snapshot = snapshot_of_call(func, bound + args, kwargs)
    result = pipeline.trace(snapshot)
    if isinstance(result, Refusal):
        raise NotCompilable(f"{func.__qualname__}: {result.reason} (line {result.line})")
    return Traced(snapshot, result, options_of(func))
