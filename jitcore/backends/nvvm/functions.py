"""Functions for device code: jitcore's own vector math, and an exact ``fmod``.

Job: ``DeviceHook``, the ``MathHook`` of device code, and ``link``, which defines what a module calls.  The math is that
of the CPU back end (``backends.math``), for one number and with FMA, which every GPU has: the bits are those of a CPU
with FMA.  The C library does not exist here: ``Unsupported`` names what would need it.

``fmod``: LLVM's ``frem`` is ``x - y * trunc(x / y)`` on a GPU, which is wrong where the quotient is large.  Here it is
long division of the mantissas, as integers: exact.
"""
from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm
from llvmlite import ir

from jitcore.backends.cpu.loops import Unsupported
from jitcore.backends.math import FUNCTIONS
from jitcore.backends.math.link import called, definition, symbol
from jitcore.backends.scalar import LLVMBuilder, register_type
from jitcore.ops.builder import ITEMSIZE, Scalar

_FMOD = "jc.fmod."
#: Of a format: bits of a number and of its mantissa (the implicit one too), and how many bits of a quotient fit into
#: 64.
_FORMATS = {"f": (32, 24, 40), "d": (64, 53, 11)}


class DeviceHook:
    """Declares what a module calls; ``link`` defines it."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module

    def vector(self, b: ir.IRBuilder, name: str, dtype: str, args: list[ir.Value]) -> ir.Value:
        if name not in FUNCTIONS:
            raise Unsupported(f"{name} comes from the C library")
        return b.call(self._declared(symbol(name, dtype), dtype, len(args)), args)

    def libm(self, b: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
        raise Unsupported(f"{name} comes from the C library")

    def fmod(self, b: ir.IRBuilder, dtype: str, args: list[ir.Value]) -> ir.Value:
        return b.call(self._declared(_FMOD + dtype, dtype, 2), args)

    def _declared(self, name: str, dtype: str, arity: int) -> ir.Function:
        function = self.module.globals.get(name)
        if function is None:
            kind = register_type(dtype)
            function = ir.Function(self.module, ir.FunctionType(kind, [kind] * arity), name)
        return function


class DeviceBuilder(LLVMBuilder):
    """The scalar builder for device code.

    Shifts: LLVM's NVPTX back end takes ``y < 64 ? x << y : 0`` for one instruction, which it gives the lower half of a
    64-bit ``y`` alone.  A mask, which changes no amount that is allowed, keeps it from that.
    """

    def __init__(self, b: ir.IRBuilder) -> None:
        super().__init__(b, DeviceHook(b.module))

    def shl(self, x: Scalar, y: Scalar) -> Scalar:
        return super().shl(x, self._masked(y))

    def shr(self, x: Scalar, y: Scalar) -> Scalar:
        return super().shr(x, self._masked(y))

    def _masked(self, y: Scalar) -> Scalar:
        return self.and_(y, self.const(y.dtype, 63)) if ITEMSIZE[y.dtype] == 8 else y


def link(module: llvm.ModuleRef, text: str) -> None:
    """Defines the functions that the module, of which this is the text as LLVM prints it, calls."""
    for whole, name, dtype, lanes, parts in called(text):
        made = definition(name, dtype, int(lanes or 1), int(parts or 1), True, quiet=False)
        module.link_in(llvm.parse_assembly(made))
        module.get_function(whole).linkage = "internal"
    for dtype in _FORMATS:
        if f"@{_FMOD}{dtype}(" in text:
            module.link_in(llvm.parse_assembly(_fmod(dtype)))
            module.get_function(_FMOD + dtype).linkage = "internal"


@cache
def _fmod(dtype: str) -> str:
    """The text of a module that defines ``jc.fmod``."""
    bits, precision, at_once = _FORMATS[dtype]
    module, real, word = ir.Module(), register_type(dtype), ir.IntType(bits)
    function = ir.Function(module, ir.FunctionType(real, [real, real]), _FMOD + dtype)
    function.attributes.add("nounwind")
    function.attributes.add("noinline")
    entry, plain, divide, loop, back, odd = (
        function.append_basic_block(n) for n in ("entry", "plain", "divide", "loop", "back", "odd"))
    b = ir.IRBuilder(entry)
    x, y = function.args
    wide = ir.IntType(64)

    def const(n: int, kind: ir.Type = word) -> ir.Constant:
        return ir.Constant(kind, n)

    fraction, magnitude = (1 << (precision - 1)) - 1, (1 << (bits - 1)) - 1
    infinity = magnitude - fraction
    raw = b.bitcast(x, word)
    sign = b.and_(raw, const(1 << (bits - 1)))
    u, v = b.and_(raw, const(magnitude)), b.and_(b.bitcast(y, word), const(magnitude))
    unusual = b.or_(b.icmp_unsigned(">=", u, const(infinity)),
                    b.or_(b.icmp_unsigned(">", v, const(infinity)), b.icmp_unsigned("==", v, const(0))))
    b.cbranch(unusual, odd, plain)
    b.position_at_end(odd)                  # infinite or NaN x, zero or NaN y: NaN
    b.ret(b.fdiv(b.fmul(x, y), b.fmul(x, y)))
    b.position_at_end(plain)
    small = function.append_basic_block("small")
    b.cbranch(b.icmp_unsigned("<", u, v), small, divide)
    b.position_at_end(small)
    b.ret(x)
    b.position_at_end(divide)

    def parts(w: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Exponent and mantissa; subnormal numbers have the least exponent, and no implicit bit."""
        field = b.lshr(w, const(precision - 1))
        low = b.and_(w, const(fraction))
        normal = b.icmp_unsigned("!=", field, const(0))
        mantissa = b.select(normal, b.or_(low, const(fraction + 1)), low)
        exponent = b.select(normal, field, const(1))
        return (b.trunc(exponent, ir.IntType(32)) if bits == 64 else exponent,
                mantissa if bits == 64 else b.zext(mantissa, wide))

    (ex, m), (ey, d) = parts(u), parts(v)
    first, count = b.urem(m, d), b.sub(ex, ey)
    b.branch(loop)
    b.position_at_end(loop)
    rest, left = b.phi(wide), b.phi(ir.IntType(32))
    step = function.append_basic_block("step")
    rest.add_incoming(first, divide)
    left.add_incoming(count, divide)
    b.cbranch(b.icmp_signed(">", left, const(0, ir.IntType(32))), step, back)
    b.position_at_end(step)
    now = b.select(b.icmp_signed("<", left, const(at_once, ir.IntType(32))), left, const(at_once, ir.IntType(32)))
    rest.add_incoming(b.urem(b.shl(rest, b.zext(now, wide)), d), step)
    left.add_incoming(b.sub(left, now), step)
    b.branch(loop)
    b.position_at_end(back)
    # rest * 2**(ey - ...): the number is shifted until the implicit bit is set or the exponent is the least.
    zeros = b.call(ir.Function(module, ir.FunctionType(wide, [wide, ir.IntType(1)]), "llvm.ctlz.i64"),
                   [rest, const(0, ir.IntType(1))])
    shift = b.sub(b.trunc(zeros, ir.IntType(32)), const(64 - precision, ir.IntType(32)))
    room = b.sub(ey, const(1, ir.IntType(32)))
    fits = b.icmp_signed("<=", shift, room)
    by = b.select(fits, shift, room)
    moved = b.shl(rest, b.and_(b.zext(by, wide), const(63, wide)))
    narrow = moved if bits == 64 else b.trunc(moved, word)
    exponent = b.sub(ey, by)
    placed = exponent if bits == 32 else b.zext(exponent, word)
    normal = b.or_(b.and_(narrow, const(fraction)), b.shl(placed, const(precision - 1)))
    found = b.select(b.icmp_unsigned(">", narrow, const(fraction)), normal, narrow)
    found = b.select(b.icmp_unsigned("==", rest, const(0, wide)), const(0), found)
    b.ret(b.bitcast(b.or_(found, sign), real))
    return str(module)
