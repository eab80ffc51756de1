"""Compiles one lowering into a loop over arrays and runs it, for the tests of the op table."""
from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from jitcore.backends.math.link import link
from jitcore.backends.scalar import LLVMBuilder
from jitcore.backends.scalar_libm import LibmHook, has_fma
from jitcore.backends.scalar_quiet import quiet_compares
from jitcore.ops.builder import ITEMSIZE, PART, Scalar

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

_LIBM = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
#: x86's bits of the exceptions, by the names of NumPy's reports.
_FLAGS = {"invalid": 1, "divide": 4, "over": 8, "under": 16}
_ALL = 61

_ENGINES: list[Any] = []        # an engine owns the code: kept for the life of the process


def machine() -> Any:
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3)


class Program:
    """Loops gathered into one module, so that a whole family is compiled at once."""

    def __init__(self, vector: bool = True, width: int = 0, own: bool = True, fma: bool | None = None) -> None:
        self.width, self.fma = width, has_fma() if fma is None else fma
        self.module = ir.Module()
        self.module.triple = llvm.get_default_triple()
        self.hook = LibmHook(self.module, vector, own)
        self.shapes: dict[str, tuple[str, str]] = {}
        self.engine: Any = None
        self.flags: frozenset[str] = frozenset()
        self.text = ""

    def add(self, name: str, inputs: str, output: str, lower: Callable[..., Any]) -> None:
        """A function ``name(n, in..., out, flags)``; ``flags`` gets where the lowering bails.  ``lower(b, *args)``
        gives a Scalar, or (Scalar, ok or None)."""
        pointer, i64 = ir.PointerType(), ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [i64] + [pointer] * (len(inputs) + 2))
        function = ir.Function(self.module, kind, name)
        if self.width:
            set.add(function.attributes, f'"prefer-vector-width"="{self.width}"')
        for argument in function.args[1:]:
            argument.attributes.add("noalias")
        entry, loop, done = (function.append_basic_block(n) for n in ("entry", "loop", "done"))
        b = ir.IRBuilder(entry)
        b.cbranch(b.icmp_signed(">", function.args[0], ir.Constant(i64, 0)), loop, done)
        b.position_at_end(loop)
        index = b.phi(i64)
        index.add_incoming(ir.Constant(i64, 0), entry)
        emit = LLVMBuilder(b, self.hook)

        def place(base: ir.Value, dtype: str) -> ir.Value:
            offset = b.mul(index, ir.Constant(i64, ITEMSIZE[dtype]))
            return b.gep(base, [offset], source_etype=ir.IntType(8))

        args = [emit.load(c, place(p, c)) for c, p in zip(inputs, function.args[1:])]
        result = lower(emit, *args)
        ok = None
        if isinstance(result, tuple):
            result, ok = result
        assert result.dtype == output, (name, result.dtype, output)
        emit.store(result, place(function.args[-2], output))
        bad: ir.Value = ir.Constant(ir.IntType(1), 0)
        for condition in emit.bails:
            bad = b.or_(bad, condition)
        if ok is not None:
            bad = b.or_(bad, b.not_(ok.raw))
        emit.store(Scalar("?", bad), place(function.args[-1], "?"))
        following = b.add(index, ir.Constant(i64, 1))
        index.add_incoming(following, loop)
        b.cbranch(b.icmp_signed("<", following, function.args[0]), loop, done)
        b.position_at_end(done)
        b.ret_void()
        self.shapes[name] = inputs, output

    def compile(self, vectorise: bool = True) -> Program:
        """As the CPU back end does: optimise, make comparisons quiet, generate code."""
        self.hook.finish()
        module = llvm.parse_assembly(str(self.module))
        module.verify()
        target = machine()
        options = llvm.create_pipeline_tuning_options(speed_level=2 if vectorise else 1)
        options.loop_vectorization = vectorise
        options.loop_interleaving = options.loop_unrolling = False      # half the time, the same operations
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
        module = link(llvm.parse_assembly(quiet_compares(str(module))), target, self.fma)
        module.verify()
        self.text = str(module)
        self.engine = llvm.create_mcjit_compiler(module, target)
        self.engine.finalize_object()
        _ENGINES.append(self.engine)
        return self

    def run(self, name: str, *arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The results, and where the lowering bailed; ``flags`` then holds what the hardware noticed."""
        inputs, output = self.shapes[name]
        count = len(arrays[0])
        held = [np.ascontiguousarray(a, dtype=np.dtype(c)) for a, c in zip(arrays, inputs)]
        out, flags = np.empty(count, output), np.empty(count, bool)
        address = self.engine.get_function_address(name)
        call = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (len(held) + 2))(address)
        pointers = [a.ctypes.data for a in (*held, out, flags)]
        _LIBM.feclearexcept(_ALL)
        call(count, *pointers)
        self.flags = frozenset(name for name, bit in _FLAGS.items() if _LIBM.fetestexcept(bit))
        return out, flags


# -- operands -----------------------------------------------------------------------------------

def specials(dtype: str) -> np.ndarray:
    """Values where operations go wrong."""
    kind = np.dtype(dtype)
    if dtype == "?":
        return np.array([False, True])
    if kind.kind in "iu":
        info, bits = np.iinfo(kind), 8 * kind.itemsize
        values = {info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 10, 100, bits - 1, bits, bits + 1,
                  info.max // 2, info.max // 2 + 1, *((-1, -2, -3, -7, -100, info.min // 2) if info.min else ())}
        return np.array(sorted(v for v in values if info.min <= v <= info.max), kind)
    if kind.kind == "f":
        info = np.finfo(kind)
        plain = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 10.0, 0.1, 1 / 3, 127.0, 128.0, 255.0, 256.0, 1e4, 32767.5,
                 float(info.max), float(info.tiny), float(info.smallest_subnormal), float(info.eps),
                 float(info.max) / 2, 1.0 + float(info.eps), 1.0 - float(info.eps) / 2,
                 float(info.tiny) - float(info.smallest_subnormal), np.inf, np.nan]
        if dtype != "e":
            plain += [2.0**31, 2.0**31 - 128, 2.0**32, 2.0**63, 2.0**64, 2.0**24 + 1, 88.7, 1e5, 1e10, 1e30]
        if dtype == "d":
            plain += [2.0**53, 2.0**53 - 1, 2.0**31 - 0.5, 709.78, 745.2, 1e300]
        with np.errstate(all="ignore"):
            half = np.array(plain, kind)
            return np.concatenate([half, -half])
    part = specials(PART[dtype])
    few = part[np.linspace(0, len(part) - 1, 17).astype(int)]
    few = np.concatenate([few, np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], part.dtype)])
    re, im = (a.ravel() for a in np.meshgrid(few, few))
    out = np.empty(re.size, kind)
    out.real, out.imag = re, im
    return out


def random_values(dtype: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Half of any bits, half ordinary numbers."""
    kind = np.dtype(dtype)
    if dtype == "?":
        return rng.integers(0, 2, count).astype(bool)
    raw = rng.integers(0, 256, count * kind.itemsize, np.uint8).view(kind)
    if kind.kind in "fc":
        part = np.dtype(PART.get(dtype, dtype))
        usual = (rng.standard_normal(count * kind.itemsize // part.itemsize) * 10).astype(part).view(kind)
    else:
        usual = rng.integers(-50 if kind.kind == "i" else 0, 50, count).astype(kind)
    return np.where(rng.integers(0, 2, count).astype(bool), raw, usual)


def operands(inputs: str, rng: np.random.Generator, count: int = 2000) -> list[np.ndarray]:
    """All pairs (triples: a sample) of special values, then random ones."""
    values = [specials(c) for c in inputs]
    if len(inputs) == 1:
        first = values
    elif len(inputs) == 2 and len(values[0]) * len(values[1]) < 20000:
        first = [a.ravel() for a in np.meshgrid(*values)]
    else:
        first = [rng.choice(v, 4000) for v in values]
    return [np.concatenate([f, random_values(c, count, rng)]) for f, c in zip(first, inputs)]


def mismatch(got: np.ndarray, want: np.ndarray, nan_bits: bool = False) -> np.ndarray:
    """Where the bits differ; any NaN equals any other unless ``nan_bits``."""
    assert got.dtype == want.dtype, (got.dtype, want.dtype)
    part = np.dtype(PART.get(got.dtype.char, got.dtype))
    p, q = got.view(part).reshape(len(got), -1), want.view(part).reshape(len(got), -1)
    word = np.dtype(f"u{part.itemsize}")
    differ = p.view(word) != q.view(word)
    if part.kind == "f" and not nan_bits:
        differ &= ~(np.isnan(p) & np.isnan(q))
    return differ.any(axis=1)
