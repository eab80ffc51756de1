"""LLVM: from text to machine code.

Job: one target machine and one JIT linker a process, used for all regions.  Invariants: code is made for the host
CPU without fast-math and without contraction (no ``fmul`` and ``fadd`` become one instruction); code
that was made stays alive as long as its ``Compiled``.  Only ``backends.cpu`` uses it.
"""
from __future__ import annotations

import ctypes
import threading
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from jitcore import _core
from jitcore.backends.base import Compiled, Lowered
from jitcore.backends.math.link import MARK, link
from jitcore.backends.scalar_libm import has_fma
from jitcore.backends.scalar_quiet import quiet_compares
from jitcore.config import LOGGERS, optimise_level

_LOCK = threading.RLock()
_HOOK = ctypes.PYFUNCTYPE(None, ctypes.c_int64)


@dataclass
class _Machine:
    """The process's LLVM state."""

    target: llvm.TargetMachine
    triple: str
    layout: str
    passes: llvm.PipelineTuningOptions


def _target() -> llvm.TargetMachine:
    """A target machine for the host; each JIT linker takes one for itself."""
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=min(optimise_level, 2),
        reloc="static", codemodel="jitdefault", jit=True)


@lru_cache(maxsize=1)
def _machine() -> _Machine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    target = _target()
    options = llvm.create_pipeline_tuning_options(speed_level=optimise_level)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    for name, address in _core.symbols().items():
        llvm.add_symbol(name, address)
    return _Machine(target, triple, str(target.target_data), options)


def optimise(text: str) -> llvm.ModuleRef:
    """The module of ``text``, verified and optimised for the host; ``RuntimeError`` if it is no valid IR."""
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = machine.layout
    module.verify()
    builder = llvm.create_pass_builder(machine.target, machine.passes)
    builder.getModulePassManager().run(module, builder)
    return module


def _made(text: str) -> llvm.ModuleRef:
    """The optimised module, with the vector math that it calls.  Where the flags of floating-point arithmetic are read,
    comparisons do not raise INVALID for NaN (``backends.scalar_quiet``)."""
    module = optimise(text)
    if "fcmp" in text and "jc_reports_test" in text:
        module = llvm.parse_assembly(quiet_compares(str(module)))
    return link(module, _machine().target, has_fma()) if MARK in text else module


def _link(text: str, symbols: dict[str, int]) -> llvm.ExecutionEngine:
    """Machine code in memory."""
    for name, address in symbols.items():
        llvm.add_symbol(name, address)
    engine = llvm.create_mcjit_compiler(_made(text), _target())
    engine.finalize_object()
    return engine


class _Checked:
    """Compiles the checked variants of a region's kernels when native code asks for them."""

    def __init__(self, lowered: Lowered, engine: llvm.ExecutionEngine) -> None:
        self.lowered, self.engine = lowered, engine
        self.kept: dict[int, tuple[Any, ...]] = {}
        self.hook = _HOOK(self._compile)
        self._set(f"{lowered.symbol}.hook", ctypes.cast(self.hook, ctypes.c_void_p).value or 0)

    def _set(self, name: str, address: int) -> None:
        ctypes.c_void_p.from_address(self.engine.get_global_value_address(name)).value = address

    def _compile(self, number: int) -> None:
        """Never raises: without a checked variant the region goes on to leave at every report."""
        try:
            with _LOCK:
                if number not in self.kept:
                    part = self.lowered.checked[number]()
                    engine = _link(part.llvm, part.symbols)
                    self.kept[number] = (engine, part.keepalive)
                    self._set(f"{self.lowered.symbol}.checked{number}", engine.get_function_address(part.symbol))
        except Exception:
            LOGGERS["compile"].exception("%s: no checked variant of kernel %d", self.lowered.symbol, number)


def compile(lowered: Lowered) -> Compiled:
    """Machine code for a region.  Any failure raises; nothing is left half done."""
    start = time.perf_counter()
    with _LOCK:
        engine = _link(lowered.llvm, lowered.symbols)
        address = engine.get_function_address(lowered.symbol)
        checked = _Checked(lowered, engine) if lowered.checked else None
    if not address:
        raise RuntimeError(f"no code for {lowered.symbol}")

    def asm() -> str:
        with _LOCK:
            return str(_machine().target.emit_assembly(_made(lowered.llvm)))

    return Compiled(address, lowered, asm, time.perf_counter() - start, (engine, lowered.keepalive, checked))
