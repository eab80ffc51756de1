"""LLVM: from text to machine code.

Job: one target machine and one JIT linker a process, used for all regions.  Invariants: code is made for the host
CPU without fast-math and without contraction (no ``fmul`` and ``fadd`` become one instruction); code
that was made stays alive as long as its ``Compiled``.  Only ``backends.cpu`` uses it.
"""
from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from functools import lru_cache

import llvmlite.binding as llvm

from jitcore import _core
from jitcore.backends.base import Compiled, Lowered

_LOCK = threading.RLock()


@dataclass
class _Machine:
    """The process's LLVM state."""

    target: llvm.TargetMachine
    triple: str
    layout: str
    passes: llvm.PipelineTuningOptions
    known: set[str] = field(default_factory=set)


@lru_cache(maxsize=1)
def _machine() -> _Machine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_triple(triple).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, reloc="static", codemodel="jitdefault", jit=True)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
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


def compile(lowered: Lowered) -> Compiled:
    """Machine code for a region.  Any failure raises; nothing is left half done."""
    start = time.perf_counter()
    with _LOCK:
        machine = _machine()
        for name, address in lowered.symbols.items():
            llvm.add_symbol(name, address)
        module = optimise(lowered.llvm)
        engine = llvm.create_mcjit_compiler(module, _fresh_target())
        engine.finalize_object()
        address = engine.get_function_address(lowered.symbol)
    if not address:
        raise RuntimeError(f"no code for {lowered.symbol}")

    def asm() -> str:
        with _LOCK:
            return str(machine.target.emit_assembly(optimise(lowered.llvm)))

    return Compiled(address, lowered, asm, time.perf_counter() - start, (engine, lowered.keepalive))


def _fresh_target() -> llvm.TargetMachine:
    """MCJIT takes its target machine for itself."""
    machine = _machine()
    return llvm.Target.from_triple(machine.triple).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, reloc="static",
        codemodel="jitdefault", jit=True)
