"""Scalar code over LLVM IR: the ``ScalarBuilder`` of both back ends.

Job: emit each operation of ``ops.builder.ScalarBuilder`` with an ``llvmlite.ir.IRBuilder``.
Invariants: no fast-math flag, no contraction; ``?`` is ``i1`` in registers and ``i8`` in memory;
``e`` is ``half``, computed in ``float`` and rounded once after each operation, as NumPy does; a complex
number is two registers and two neighbours in memory.  Nothing here knows the machine: functions that
differ (vector math, the C library) come through ``MathHook``.  Used by the CPU and CUDA back ends
and by the tests of ``ops``.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, Protocol

from llvmlite import ir

from jitcore.backends.scalar_quiet import MARK
from jitcore.ops.builder import FLOATS, ITEMSIZE, PART, SIGNED, Scalar
from jitcore.ops.casts import double_to_half

_I1 = ir.IntType(1)
_TYPES: dict[str, ir.Type] = {
    "?": _I1, "e": ir.HalfType(), "f": ir.FloatType(), "d": ir.DoubleType(),
    **{c: ir.IntType(8 * ITEMSIZE[c]) for c in "bBhHiIlL"},
}
_MEMORY: dict[str, ir.Type] = {**_TYPES, "?": ir.IntType(8)}
_SUFFIX = {"f": "f32", "d": "f64"}


def register_type(dtype: str) -> ir.Type:
    """The LLVM type of a non-complex ``dtype`` in a register."""
    return _TYPES[dtype]


def memory_type(dtype: str) -> ir.Type:
    """The LLVM type of one part of an element of ``dtype`` in memory (complex: of a part)."""
    return _MEMORY[PART.get(dtype, dtype)]


class MathHook(Protocol):
    """The functions that a machine provides.  ``args`` are LLVM values of ``dtype`` (``f`` or ``d``)."""

    def vector(self, b: ir.IRBuilder, name: str, dtype: str, args: list[ir.Value]) -> ir.Value:
        """A function that may be replaced by its vector variant."""

    def libm(self, b: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
        """The C library's function of doubles."""

    def fmod(self, b: ir.IRBuilder, dtype: str, args: list[ir.Value]) -> ir.Value:
        """C's ``fmod``, exact."""


class LLVMBuilder:
    """Emits at the position of ``ir_builder``.

    ``bails`` gathers the conditions of ``bail`` (``i1`` values that dominate the position): whoever
    drives the builder turns them into one exit.
    """

    def __init__(self, ir_builder: ir.IRBuilder, math_hook: MathHook, flags: bool = True) -> None:
        self.ir = ir_builder
        self.hook = math_hook
        #: Whether the flags are read behind this code.
        self.flags = flags
        self.bails: list[ir.Value] = []

    # -- constants and memory -------------------------------------------------------------------
    def const(self, dtype: str, value: complex) -> Scalar:
        if dtype in PART:
            value = complex(value)
            part = PART[dtype]
            return Scalar(dtype, self._number(part, value.real), self._number(part, value.imag))
        return Scalar(dtype, self._number(dtype, value))

    def _number(self, dtype: str, value: Any) -> ir.Value:
        if dtype == "?":
            return ir.Constant(_I1, int(bool(value)))
        if dtype in FLOATS:
            if math.isnan(value):       # keeps the sign
                sign = math.copysign(1.0, value) < 0
                size = {"e": (0x7E00, 15), "f": (0x7FC00000, 31), "d": (0x7FF8 << 48, 63)}[dtype]
                whole = ir.Constant(ir.IntType(size[1] + 1), size[0] | (sign << size[1]))
                return whole.bitcast(_TYPES[dtype])
            if dtype == "e":
                whole = ir.Constant(ir.IntType(16), struct.unpack("<H", struct.pack("<e", value))[0])
                return whole.bitcast(_TYPES[dtype])
            return ir.Constant(_TYPES[dtype], float(value))
        return ir.Constant(_TYPES[dtype], int(value))

    def load(self, dtype: str, pointer: ir.Value) -> Scalar:
        """The element at an address (an opaque pointer), aligned to its item size."""
        kind = memory_type(dtype)
        size = ITEMSIZE[PART.get(dtype, dtype)]
        raw = self.ir.load(pointer, align=size, typ=kind)
        if dtype in PART:
            next_part = self.ir.gep(pointer, [ir.Constant(ir.IntType(32), 1)], source_etype=kind)
            return Scalar(dtype, raw, self.ir.load(next_part, align=size, typ=kind))
        if dtype == "?":
            raw = self.ir.icmp_unsigned("!=", raw, ir.Constant(kind, 0))
        return Scalar(dtype, raw)

    def store(self, x: Scalar, pointer: ir.Value) -> None:
        """Writes an element to an address (an opaque pointer), aligned to its item size."""
        kind = memory_type(x.dtype)
        size = ITEMSIZE[PART.get(x.dtype, x.dtype)]
        raw = self.ir.zext(x.raw, kind) if x.dtype == "?" else x.raw
        self.ir.store(raw, pointer, align=size)
        if x.dtype in PART:
            next_part = self.ir.gep(pointer, [ir.Constant(ir.IntType(32), 1)], source_etype=kind)
            self.ir.store(x.imag, next_part, align=size)

    # -- helpers --------------------------------------------------------------------------------
    def _intrinsic(self, name: str, result: ir.Type, args: list[ir.Value]) -> ir.Value:
        function = self.ir.module.globals.get(name)
        if function is None:
            function = ir.Function(self.ir.module, ir.FunctionType(result, [a.type for a in args]), name)
        return self.ir.call(function, args)

    def _freeze(self, raw: ir.Value) -> ir.Value:
        """Some fixed value where LLVM would have poison, so that a bail elsewhere is all that is needed."""
        frozen = ir.instructions.Instruction(self.ir.block, raw.type, "freeze", [raw])
        self.ir._insert(frozen)
        return frozen

    def _float(self, x: Scalar, emit: Callable[..., ir.Value], *more: Scalar) -> Scalar:
        """``emit`` on float registers; ``e`` is widened to ``f`` before and rounded after."""
        raws = [v.raw for v in (x, *more)]
        if x.dtype == "e":
            wide = emit("f", *map(self._widened, raws))
            return Scalar("e", self.ir.fptrunc(wide, _TYPES["e"]))
        return Scalar(x.dtype, emit(x.dtype, *raws))

    def _widened(self, raw: ir.Value) -> ir.Value:
        """A half as float, exactly, by its bits: shifted into place it lacks 112 in its exponent.

        The processor's own instruction takes four or more; what lies beside a single half in the register is
        converted with it, and may raise flags.
        """
        b, word, single = self.ir, ir.IntType(32), _TYPES["f"]

        def bits(n: int) -> ir.Value:
            return ir.Constant(word, n)

        half = b.zext(b.bitcast(raw, ir.IntType(16)), word)
        size = b.and_(half, bits(0x7FFF))
        shifted = b.shl(size, bits(13))
        finite = b.bitcast(b.fmul(b.bitcast(shifted, single), ir.Constant(single, 2.0**112)), word)
        quiet = b.select(b.icmp_unsigned(">", size, bits(0x7C00)), bits(0x7FC00000), bits(0x7F800000))
        known = b.select(b.icmp_unsigned("<", size, bits(0x7C00)), finite, b.or_(shifted, quiet))
        return b.bitcast(b.or_(known, b.shl(b.and_(half, bits(0x8000)), bits(16))), single)

    def _unary(self, name: str, x: Scalar) -> Scalar:
        return self._float(x, lambda t, r: self._intrinsic(f"llvm.{name}.{_SUFFIX[t]}", r.type, [r]))

    def _arith(self, x: Scalar, y: Scalar, ints: str, floats: str) -> Scalar:
        if x.dtype in FLOATS:
            return self._float(x, lambda _, p, q: getattr(self.ir, floats)(p, q), y)
        return Scalar(x.dtype, getattr(self.ir, ints)(x.raw, y.raw))

    # -- arithmetic -----------------------------------------------------------------------------
    def add(self, x: Scalar, y: Scalar) -> Scalar:
        return self._arith(x, y, "add", "fadd")

    def sub(self, x: Scalar, y: Scalar) -> Scalar:
        return self._arith(x, y, "sub", "fsub")

    def mul(self, x: Scalar, y: Scalar) -> Scalar:
        return self._arith(x, y, "mul", "fmul")

    def div(self, x: Scalar, y: Scalar) -> Scalar:
        return self._arith(x, y, "sdiv" if x.dtype in SIGNED else "udiv", "fdiv")

    def rem(self, x: Scalar, y: Scalar) -> Scalar:
        if x.dtype in FLOATS:
            return self._float(x, lambda t, p, q: self.hook.fmod(self.ir, t, [p, q]), y)
        return Scalar(x.dtype, (self.ir.srem if x.dtype in SIGNED else self.ir.urem)(x.raw, y.raw))

    def neg(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, self.ir.fneg(x.raw) if x.dtype in FLOATS else self.ir.neg(x.raw))

    def fabs(self, x: Scalar) -> Scalar:
        if x.dtype == "e":      # by bits: a conversion would change signalling NaNs
            return self.bits(self.and_(self.bits(x, "H"), self.const("H", 0x7FFF)), "e")
        return self._unary("fabs", x)

    def copysign(self, x: Scalar, y: Scalar) -> Scalar:
        kind, sign = {"e": ("H", 1 << 15), "f": ("I", 1 << 31), "d": ("L", 1 << 63)}[x.dtype]
        mask = self.const(kind, sign)
        magnitude = self.and_(self.bits(x, kind), self.not_(mask))
        return self.bits(self.or_(magnitude, self.and_(self.bits(y, kind), mask)), x.dtype)

    def sqrt(self, x: Scalar) -> Scalar:
        return self._unary("sqrt", x)

    def floor(self, x: Scalar) -> Scalar:
        return self._unary("floor", x)

    def ceil(self, x: Scalar) -> Scalar:
        return self._unary("ceil", x)

    def trunc(self, x: Scalar) -> Scalar:
        return self._unary("trunc", x)

    def rint(self, x: Scalar) -> Scalar:
        return self._unary("rint", x)

    def overflowing(self, op: str, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
        kind = x.raw.type
        pair = ir.LiteralStructType([kind, _I1])
        name = f"llvm.{'s' if x.dtype in SIGNED else 'u'}{op}.with.overflow.{kind}"
        both = self._intrinsic(name, pair, [x.raw, y.raw])
        return Scalar(x.dtype, self.ir.extract_value(both, 0)), Scalar("?", self.ir.extract_value(both, 1))

    # -- comparing and choosing -----------------------------------------------------------------
    def cmp(self, pred: str, x: Scalar, y: Scalar) -> Scalar:
        if x.dtype in FLOATS:
            p, q = x.raw, y.raw
            if x.dtype == "e":
                p, q = self._widened(p), self._widened(q)
            found = self.ir.fcmp_unordered("!=", p, q) if pred == "!=" else self.ir.fcmp_ordered(pred, p, q)
            if not self.flags:
                found.set_metadata(MARK, self.ir.module.add_metadata([]))
            return Scalar("?", found)
        compare = self.ir.icmp_signed if x.dtype in SIGNED else self.ir.icmp_unsigned
        return Scalar("?", compare(pred, x.raw, y.raw))

    def isnan(self, x: Scalar) -> Scalar:
        raw = self._widened(x.raw) if x.dtype == "e" else x.raw
        return Scalar("?", self.ir.fcmp_unordered("uno", raw, raw))

    def select(self, cond: Scalar, x: Scalar, y: Scalar) -> Scalar:
        imag = None if x.imag is None else self.ir.select(cond.raw, x.imag, y.imag)
        return Scalar(x.dtype, self.ir.select(cond.raw, x.raw, y.raw), imag)

    # -- bits -----------------------------------------------------------------------------------
    def and_(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, self.ir.and_(x.raw, y.raw))

    def or_(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, self.ir.or_(x.raw, y.raw))

    def xor(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, self.ir.xor(x.raw, y.raw))

    def not_(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, self.ir.not_(x.raw))

    def shl(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, self.ir.shl(x.raw, y.raw))

    def shr(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, (self.ir.ashr if x.dtype in SIGNED else self.ir.lshr)(x.raw, y.raw))

    def popcount(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, self._intrinsic(f"llvm.ctpop.{x.raw.type}", x.raw.type, [x.raw]))

    def bits(self, x: Scalar, dtype: str) -> Scalar:
        raw = x.raw if x.raw.type == _TYPES[dtype] else self.ir.bitcast(x.raw, _TYPES[dtype])
        return Scalar(dtype, raw)

    # -- dtypes ---------------------------------------------------------------------------------
    def cast(self, x: Scalar, dtype: str) -> Scalar:
        if dtype == x.dtype:
            return x
        if dtype == "?":
            return self._truth(x)
        if dtype in PART:
            part = PART[dtype]
            re = self.cast(self.real(x), part)
            return Scalar(dtype, re.raw, self.cast(self.imag(x), part).raw)
        if x.dtype in PART:
            return self.cast(self.real(x), dtype)
        if x.dtype == "d" and dtype == "e":     # LLVM would call a function that need not exist
            return double_to_half(self, x)
        return Scalar(dtype, self._convert(x, dtype))

    def _truth(self, x: Scalar) -> Scalar:
        if x.dtype in PART:
            return self.or_(self._truth(self.real(x)), self._truth(self.imag(x)))
        return self.cmp("!=", x, self.const(x.dtype, 0))

    def _convert(self, x: Scalar, dtype: str) -> ir.Value:
        target, b = _TYPES[dtype], self.ir
        if x.dtype in FLOATS:
            if dtype in FLOATS:
                if x.dtype == "e":
                    single = self._widened(x.raw)
                    return single if dtype == "f" else b.fpext(single, target)
                return (b.fpext if ITEMSIZE[dtype] > ITEMSIZE[x.dtype] else b.fptrunc)(x.raw, target)
            if x.dtype == "e":
                x = Scalar("f", self._widened(x.raw))
            return self._freeze(b.fptosi(x.raw, target) if dtype in SIGNED else b.fptoui(x.raw, target))
        signed = x.dtype in SIGNED
        if dtype in FLOATS:
            wide = _TYPES["f"] if dtype == "e" else target
            raw = b.sitofp(x.raw, wide) if signed else b.uitofp(x.raw, wide)
            return b.fptrunc(raw, target) if dtype == "e" else raw
        if target.width == x.raw.type.width:
            return x.raw
        if target.width < x.raw.type.width:
            return b.trunc(x.raw, target)
        return (b.sext if signed else b.zext)(x.raw, target)

    def make_complex(self, re: Scalar, im: Scalar) -> Scalar:
        return Scalar({"f": "F", "d": "D"}[re.dtype], re.raw, im.raw)

    def real(self, x: Scalar) -> Scalar:
        return Scalar(PART[x.dtype], x.raw) if x.dtype in PART else x

    def imag(self, x: Scalar) -> Scalar:
        return Scalar(PART[x.dtype], x.imag) if x.dtype in PART else self.const(x.dtype, 0)

    # -- functions ------------------------------------------------------------------------------
    def call_math(self, name: str, *args: Scalar) -> Scalar:
        dtype = args[0].dtype
        return Scalar(dtype, self.hook.vector(self.ir, name, dtype, [a.raw for a in args]))

    def call_libm(self, name: str, *args: Scalar) -> Scalar:
        return Scalar("d", self.hook.libm(self.ir, name, [a.raw for a in args]))

    def bail(self, cond: Scalar) -> None:
        self.bails.append(cond.raw)
