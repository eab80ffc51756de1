"""LLVM: from device code as LLVM IR to PTX.

Job: ``optimise`` and ``assemble``.  Invariants: no fast-math, no contraction, IEEE division and square roots,
subnormal numbers kept; only intrinsics that LLVM's NVPTX back end turns into exact instructions pass (``WHOLE``,
``EXACT``): of others some abort the process (``llvm.exp``), some are approximations (``llvm.exp2``).  Works on any
machine: neither CUDA nor a driver is needed.  Only ``backends.nvvm`` uses it.
"""
from __future__ import annotations

import re
import threading
from functools import cache

import llvmlite.binding as llvm

from jitcore.backends.cpu.loops import Unsupported
from jitcore.backends.nvvm.emit import TRIPLE
from jitcore.backends.nvvm.functions import link

#: Architectures that code is made for.
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")

#: Names of intrinsics that may be there, without the type at their end: floats.
EXACT = frozenset({"fabs", "sqrt", "floor", "ceil", "trunc", "rint", "fma", "copysign", "is.fpclass"})
#: Ints, and what is no arithmetic.
WHOLE = frozenset({"smax", "smin", "umax", "umin", "abs", "ctpop", "ctlz", "cttz", "fshl", "fshr", "bswap",
"bitreverse",
                   "assume", "lifetime.start", "lifetime.end", "uadd.with.overflow", "usub.with.overflow",
                   "umul.with.overflow", "sadd.with.overflow", "ssub.with.overflow", "smul.with.overflow",
                   "uadd.sat", "usub.sat", "sadd.sat", "ssub.sat", "scmp", "ucmp",
                   "experimental.noalias.scope.decl"})
#: CUDA's own, in full.
_CUDA = frozenset({"llvm.nvvm.read.ptx.sreg.tid.x", "llvm.nvvm.read.ptx.sreg.ctaid.x",
                   "llvm.nvvm.read.ptx.sreg.nctaid.x", "llvm.nvvm.shfl.sync.bfly.i32",
                   "llvm.nvvm.shfl.sync.idx.i32"})
_CALLED = re.compile(r"@\"?(llvm\.[\w.]+)\"?\(")
_TYPES = re.compile(r"(\.(v\d+)?(i\d+|f16|f32|f64|p\d*))+$")

_LOCK = threading.RLock()


def refuse_inexact(text: str) -> None:
    """``Unsupported``, which names it, if the LLVM IR holds an intrinsic or instruction that is not known to be
    exact."""
    for name in set(_CALLED.findall(text)):
        short = _TYPES.sub("", name).removeprefix("llvm.")
        if name not in _CUDA and short not in EXACT | WHOLE:
            raise Unsupported(f"{name} is not known to be exact on a GPU")
    if re.search(r"= frem ", text):
        raise Unsupported("frem is not exact on a GPU")
    if re.search(r"\b(fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) (float|double|half|<)", text):
        raise Unsupported("fast-math flags are not exact")


@cache
def _available() -> str:
    """Why there is no device code on this machine, empty if there is."""
    try:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        llvm.Target.from_triple(TRIPLE)
    except RuntimeError as error:
        return f"this build of llvmlite cannot make PTX ({error})"
    return ""


def architecture_for(capability: tuple[int, int]) -> str:
    """The newest architecture whose code a device of this compute capability runs: PTX serves all newer ones.  Raises
    ``Unsupported`` for a device that is older than any."""
    version = 10 * capability[0] + capability[1]
    fitting = [arch for arch in ARCHITECTURES if int(arch.removeprefix("sm_")) <= version]
    if not fitting:
        raise Unsupported(f"compute capability {capability[0]}.{capability[1]} is older than {ARCHITECTURES[0]}")
    return fitting[-1]


def _machine(arch: str) -> llvm.TargetMachine:
    if arch not in ARCHITECTURES:
        raise ValueError(f"arch must be one of {ARCHITECTURES}, not {arch!r}")
    if _available():
        raise Unsupported(_available())
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, opt=2)


def optimise(text: str, arch: str) -> llvm.ModuleRef:
    """The module, with what it calls, optimised and looked through."""
    with _LOCK:
        target = _machine(arch)
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = TRIPLE, str(target.target_data)
        link(module, str(module))
        module.verify()
        refuse_inexact(str(module))
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
        refuse_inexact(str(module))
        return module


def assemble(module: llvm.ModuleRef, arch: str) -> str:
    """The PTX of an optimised module."""
    with _LOCK:
        return str(_machine(arch).emit_assembly(module))
