"""Fused multiply-add of arrays, which NumPy lacks: one rounding."""
from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

_TEXT = """
define void @f(ptr %a, ptr %b, ptr %c, ptr %r, i64 %n) {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %pa = getelementptr T, ptr %a, i64 %i
  %pb = getelementptr T, ptr %b, i64 %i
  %pc = getelementptr T, ptr %c, i64 %i
  %pr = getelementptr T, ptr %r, i64 %i
  %x = load T, ptr %pa
  %y = load T, ptr %pb
  %z = load T, ptr %pc
  %s = call T @llvm.fma.S(T %x, T %y, T %z)
  store T %s, ptr %pr
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare T @llvm.fma.S(T, T, T)
"""


@cache
def _function(dtype: str) -> tuple[Any, Any]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    kind, suffix = ("float", "f32") if dtype == "f" else ("double", "f64")
    module = llvm.parse_assembly(_TEXT.replace("T", kind).replace("fma.S", f"fma.{suffix}"))
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2)
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(engine.get_function_address("f"))
    return call, engine


def fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """``x * y + z``, rounded once; by the processor, or by the C library where it has no such instruction."""
    x, y, z = (np.ascontiguousarray(a) for a in (x, y, z))
    result = np.empty_like(x)
    _function(x.dtype.char)[0](*(a.ctypes.data for a in (x, y, z, result)), len(x))
    return result
