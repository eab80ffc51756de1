"""Arguments of trigonometric functions, reduced by multiples of pi/2.

Method: up to ``LIMIT`` x - k pi/2 by Cody and Waite, with pi/2 in three parts; everything in it is exact but the last
product.  Beyond, as M. Payne and R. Hanek (1983): x = m 2**e with an integer m, and of the bits of 2/pi only those are
multiplied whose product with ``x`` is neither a multiple of 4 nor too small to count: 192 of them, in integers.  That
leaves an error of 2**-137, where no float64 is closer than 2**-61 to a multiple of pi/2.
"""
from __future__ import annotations

from typing import NamedTuple

from llvmlite import ir

from jitcore.backends.math.kit import Kit, Num, Word
from jitcore.backends.math.tables import CONSTANTS, TWO_OVER_PI

#: Arguments with a greater magnitude take the long way.
LIMIT = {"d": 1e6, "f": 3000.0}

_I64, _WIDE, _LOAD = ir.IntType(64), ir.IntType(192), ir.IntType(256)
#: Bits of 2/pi in the table, and zeros in front of them.
_BITS, _ZEROS = 32 * len(TWO_OVER_PI), 256
#: The least exponent field that the long way is taken with.
_LEAST = 1023 + 11


class Angle(NamedTuple):
    """x = k pi/2 + high - excess; the low bits of ``quadrant`` are those of k."""

    quadrant: Word
    high: Num
    excess: Num


def reduce(m: Kit, x: Num) -> Angle:
    """For |x| up to ``LIMIT``.  ``excess`` of zero is +0.

    k * first needs no more bits than precision + 1 beside x and is nearly as large, so that the difference is exact;
    k * second is exact, and its difference a multiple of a number so small that nothing is lost either.
    """
    first, second, third = CONSTANTS["half_pi"][m.dtype]
    k, quadrant = m.nearest(x, CONSTANTS["two_over_pi"][m.dtype][0])
    near = m.exact_difference(x, k, first)
    high = m.fma(k, -second, near)
    return Angle(quadrant, high, m.fma(k, third, m.fma(k, second, high - near)))


def reduce_any(m: Kit, x: Num) -> Angle:
    """For any finite x; lane by lane."""
    small = abs(x) <= LIMIT[m.dtype]
    angle = reduce(m, small.pick(x, 0.0))
    function = _large(m.ir.module)
    single = m.dtype == "f"
    columns: list[ir.Value] = [ir.Constant(m.real_type, ir.Undefined), ir.Constant(m.real_type, ir.Undefined),
                               ir.Constant(m.word_type, ir.Undefined)]
    b, double, real = m.ir, ir.DoubleType(), ir.FloatType()
    for lane in range(m.lanes):
        at = ir.Constant(ir.IntType(32), lane)
        value = x.raw if m.lanes == 1 else b.extract_element(x.raw, at)
        found = b.call(function, [b.fpext(value, double) if single else value])
        high, excess, k = (b.extract_value(found, i) for i in range(3))
        if single:
            narrow = b.fptrunc(high, real)
            excess = b.fptrunc(b.fadd(b.fsub(b.fpext(narrow, double), high), excess), real)
            high, k = narrow, b.trunc(k, ir.IntType(32))
        parts = (high, excess, k)
        columns = list(parts) if m.lanes == 1 else [b.insert_element(c, p, at) for c, p in zip(columns, parts)]
    return Angle(small.pick_word(angle.quadrant, Word(m, columns[2])), small.pick(angle.high, Num(m, columns[0])),
                 small.pick(angle.excess, Num(m, columns[1])))


def _table(module: ir.Module) -> ir.GlobalVariable:
    """The bits of 2/pi, lowest first, as words of 64 bits, with zeros above them."""
    known = module.globals.get("jc.math.two_over_pi")
    if known is not None:
        return known
    whole = 0
    for word in TWO_OVER_PI:
        whole = whole << 32 | word
    count = (_BITS + _ZEROS + 63) // 64
    kind = ir.ArrayType(_I64, count)
    table = ir.GlobalVariable(module, kind, "jc.math.two_over_pi")
    table.linkage, table.global_constant = "internal", True
    table.initializer = ir.Constant(kind, [(whole >> (64 * i)) & (2**64 - 1) for i in range(count)])
    return table


def _large(module: ir.Module) -> ir.Function:
    """``{high, excess, k} (double x)`` for finite x with at least the least exponent."""
    known = module.globals.get("jc.math.large")
    if known is not None:
        return known
    double = ir.DoubleType()
    result = ir.LiteralStructType([double, double, _I64])
    function = ir.Function(module, ir.FunctionType(result, [double]), "jc.math.large")
    function.linkage = "internal"
    for attribute in ("noinline", "nounwind"):
        function.attributes.add(attribute)
    b = ir.IRBuilder(function.append_basic_block("entry"))
    m = Kit(b, "d", False)
    x = Num(m, function.args[0])

    def i64(value: int) -> ir.Constant:
        return ir.Constant(_I64, value)

    def wide(value: int) -> ir.Constant:
        return ir.Constant(_WIDE, value)

    bits = x.word()
    field = b.and_(b.lshr(bits.raw, i64(52)), i64(0x7FF))
    field = b.select(b.icmp_unsigned("<", field, i64(_LEAST)), i64(_LEAST), field)
    mantissa = b.or_(b.and_(bits.raw, i64((1 << 52) - 1)), i64(1 << 52))
    # x = mantissa 2**(field - 1075): bits of 2/pi from this one on upwards give multiples of 4.
    lowest = b.sub(i64(_BITS + 1077 - 192), field)
    address = b.gep(_table(module), [b.lshr(lowest, i64(3))], source_etype=ir.IntType(8))
    loaded = b.load(address, align=1, typ=_LOAD)
    window = b.trunc(b.lshr(loaded, b.zext(b.and_(lowest, i64(7)), _LOAD)), _WIDE)
    product = b.mul(window, b.zext(mantissa, _WIDE))        # of 4, in units of 2**-190
    k = b.trunc(b.lshr(product, wide(190)), _I64)
    k = b.add(k, b.trunc(b.and_(b.lshr(product, wide(189)), wide(1)), _I64))
    fraction = b.shl(product, wide(2))                      # signed: of a quadrant, from -1/2 to 1/2
    below = b.icmp_signed("<", fraction, wide(0))
    size = b.select(below, b.neg(fraction), fraction)
    name = "llvm.ctlz.i192"
    ctlz = ir.Function(module, ir.FunctionType(_WIDE, [_WIDE, ir.IntType(1)]), name)
    zeros = b.call(ctlz, [size, ir.Constant(ir.IntType(1), 0)])
    size = b.shl(size, zeros)
    first = b.uitofp(b.trunc(b.lshr(size, wide(192 - 53)), _I64), double)
    second = b.uitofp(b.and_(b.trunc(b.lshr(size, wide(192 - 106)), _I64), i64((1 << 53) - 1)), double)
    # 2**(-53 - zeros)
    scale = Word(m, b.shl(b.sub(i64(1023 - 53), b.trunc(zeros, _I64)), i64(52))).num()
    high, low = Num(m, first) * scale, Num(m, second) * scale * 2.0**-53
    pi_high, pi_low = CONSTANTS["half_pi_full"]["d"]
    angle, error = m.two_product(high, pi_high)
    angle, rest = m.fast_two_sum(angle, error + (high * pi_low + low * pi_high))
    # The sign of x, and that of the fraction.
    sign = m.sign_bit(x)
    turned = sign ^ Word(m, b.shl(b.zext(below, _I64), i64(63)))
    k = b.select(b.icmp_signed("<", bits.raw, i64(0)), b.neg(k), k)
    packed = b.insert_value(ir.Constant(result, ir.Undefined), m.flip(angle, turned).raw, 0)
    packed = b.insert_value(packed, m.flip(-rest, turned).raw, 1)
    b.ret(b.insert_value(packed, k, 2))
    return function
