"""The notation that the vector math functions are written in.

Job: ``Num`` and ``Word``, a float and its bits in a register of LLVM IR with Python's operators, and ``Kit``, what a
function needs to know of its format: precision, constants, whether the machine has FMA.  A register holds one number
or a vector of them; functions are written as if it were one.

Invariants: code is branch-free, one rounding for each operator, nothing is contracted or reassociated.  Comparisons are
ordered (false for NaN).  ``fma`` rounds once where the machine has FMA, else twice: it is for polynomials, where either
will do; what has to be exact goes through ``two_product``.  Used by the functions of ``backends.math``.
"""
from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir


@dataclass(frozen=True)
class Format:
    """A binary floating-point format.  ``precision`` counts the implicit bit; ``bits`` is the size of a number."""

    dtype: str
    precision: int
    bits: int
    bias: int

    @property
    def magic(self) -> float:
        """1.5 * 2**(precision - 1): added to a small number, it leaves the nearest integer in the last bits."""
        return 1.5 * 2.0 ** (self.precision - 1)

    @property
    def tiny(self) -> float:
        """The least normal number."""
        return 2.0 ** (1 - self.bias)

    @property
    def epsilon(self) -> float:
        """Half a unit in the last place of 1."""
        return 2.0 ** -self.precision


FORMATS = {
    "d": Format("d", 53, 64, 1023),
    "f": Format("f", 24, 32, 127),
}


def register_type(dtype: str, lanes: int) -> ir.Type:
    """The LLVM type of one number or of a vector."""
    real = ir.DoubleType() if dtype == "d" else ir.FloatType()
    return real if lanes == 1 else ir.VectorType(real, lanes)


class Flag:
    """A condition in a register (``i1``)."""

    __slots__ = ("kit", "raw")

    def __init__(self, kit: Kit, raw: ir.Value) -> None:
        self.kit, self.raw = kit, raw

    def __and__(self, other: Flag) -> Flag:
        return Flag(self.kit, self.kit.ir.and_(self.raw, other.raw))

    def __or__(self, other: Flag) -> Flag:
        return Flag(self.kit, self.kit.ir.or_(self.raw, other.raw))

    def __invert__(self) -> Flag:
        return Flag(self.kit, self.kit.ir.not_(self.raw))

    def anywhere(self) -> ir.Value:
        """An ``i1``: whether the condition holds in any lane."""
        k = self.kit
        if k.lanes == 1:
            return self.raw
        lanes = ir.IntType(k.lanes)
        return k.ir.icmp_unsigned("!=", k.ir.bitcast(self.raw, lanes), ir.Constant(lanes, 0))

    def pick(self, yes: Num | float, no: Num | float) -> Num:
        """``yes`` where the condition holds, else ``no``."""
        k = self.kit
        return Num(k, k.ir.select(self.raw, k.num(yes).raw, k.num(no).raw))

    def pick_word(self, yes: Word | int, no: Word | int) -> Word:
        k = self.kit
        return Word(k, k.ir.select(self.raw, k.word(yes).raw, k.word(no).raw))


class Num:
    """A float in a register."""

    __slots__ = ("kit", "raw")

    def __init__(self, kit: Kit, raw: ir.Value) -> None:
        self.kit, self.raw = kit, raw

    def __add__(self, other: Num | float) -> Num:
        return Num(self.kit, self.kit.ir.fadd(self.raw, self.kit.num(other).raw))

    def __radd__(self, other: float) -> Num:
        return self.kit.num(other) + self

    def __sub__(self, other: Num | float) -> Num:
        return Num(self.kit, self.kit.ir.fsub(self.raw, self.kit.num(other).raw))

    def __rsub__(self, other: float) -> Num:
        return self.kit.num(other) - self

    def __mul__(self, other: Num | float) -> Num:
        return Num(self.kit, self.kit.ir.fmul(self.raw, self.kit.num(other).raw))

    def __rmul__(self, other: float) -> Num:
        return self.kit.num(other) * self

    def __truediv__(self, other: Num | float) -> Num:
        return Num(self.kit, self.kit.ir.fdiv(self.raw, self.kit.num(other).raw))

    def __rtruediv__(self, other: float) -> Num:
        return self.kit.num(other) / self

    def __neg__(self) -> Num:
        return Num(self.kit, self.kit.ir.fneg(self.raw))

    def _compare(self, how: str, other: Num | float) -> Flag:
        return Flag(self.kit, self.kit.ir.fcmp_ordered(how, self.raw, self.kit.num(other).raw))

    def __lt__(self, other: Num | float) -> Flag:
        return self._compare("<", other)

    def __le__(self, other: Num | float) -> Flag:
        return self._compare("<=", other)

    def __gt__(self, other: Num | float) -> Flag:
        return self._compare(">", other)

    def __ge__(self, other: Num | float) -> Flag:
        return self._compare(">=", other)

    def equals(self, other: Num | float) -> Flag:
        return self._compare("==", other)

    def is_infinity(self) -> Flag:
        """Whether it is +inf."""
        return self.equals(float("inf"))

    def is_nan(self) -> Flag:
        return Flag(self.kit, self.kit.ir.fcmp_unordered("uno", self.raw, self.raw))

    def __abs__(self) -> Num:
        return self.kit.call("fabs", self)

    def word(self) -> Word:
        """The bits."""
        return Word(self.kit, self.kit.ir.bitcast(self.raw, self.kit.word_type))


class Word:
    """The bits of a float, as an integer that wraps."""

    __slots__ = ("kit", "raw")

    def __init__(self, kit: Kit, raw: ir.Value) -> None:
        self.kit, self.raw = kit, raw

    def __add__(self, other: Word | int) -> Word:
        return Word(self.kit, self.kit.ir.add(self.raw, self.kit.word(other).raw))

    def __sub__(self, other: Word | int) -> Word:
        return Word(self.kit, self.kit.ir.sub(self.raw, self.kit.word(other).raw))

    def __and__(self, other: Word | int) -> Word:
        return Word(self.kit, self.kit.ir.and_(self.raw, self.kit.word(other).raw))

    def __or__(self, other: Word | int) -> Word:
        return Word(self.kit, self.kit.ir.or_(self.raw, self.kit.word(other).raw))

    def __xor__(self, other: Word | int) -> Word:
        return Word(self.kit, self.kit.ir.xor(self.raw, self.kit.word(other).raw))

    def __lshift__(self, count: int | Word) -> Word:
        return Word(self.kit, self.kit.ir.shl(self.raw, self.kit.word(count).raw))

    def __rshift__(self, count: int | Word) -> Word:
        """Logical: zeros come in from above."""
        return Word(self.kit, self.kit.ir.lshr(self.raw, self.kit.word(count).raw))

    def __lt__(self, other: Word | int) -> Flag:
        """As signed numbers."""
        return Flag(self.kit, self.kit.ir.icmp_signed("<", self.raw, self.kit.word(other).raw))

    def __gt__(self, other: Word | int) -> Flag:
        """As signed numbers."""
        return Flag(self.kit, self.kit.ir.icmp_signed(">", self.raw, self.kit.word(other).raw))

    def equals(self, other: Word | int) -> Flag:
        return Flag(self.kit, self.kit.ir.icmp_signed("==", self.raw, self.kit.word(other).raw))

    def num(self) -> Num:
        """The float with these bits."""
        return Num(self.kit, self.kit.ir.bitcast(self.raw, self.kit.real_type))


class Kit:
    """Emits at the position of ``builder``, in one format."""

    def __init__(self, builder: ir.IRBuilder, dtype: str, fma: bool, lanes: int = 1) -> None:
        self.ir, self.format, self.has_fma, self.lanes = builder, FORMATS[dtype], fma, lanes
        self.real_type: ir.Type = register_type(dtype, lanes)
        word = ir.IntType(self.format.bits)
        self.word_type: ir.Type = word if lanes == 1 else ir.VectorType(word, lanes)

    @property
    def dtype(self) -> str:
        return self.format.dtype

    def by(self, double: float, single: float) -> float:
        """What differs between float64 and float32."""
        return double if self.dtype == "d" else single

    # -- constants ------------------------------------------------------------------------------
    def num(self, value: Num | float) -> Num:
        """A number; a Python float must be one of the format or is rounded by the conversion."""
        return value if isinstance(value, Num) else Num(self, self._splat(self.real_type, float(value)))

    def word(self, value: Word | int) -> Word:
        if isinstance(value, Word):
            return value
        return Word(self, self._splat(self.word_type, value & ((1 << self.format.bits) - 1)))

    def _splat(self, kind: ir.Type, value: float) -> ir.Constant:
        return ir.Constant(kind, value if self.lanes == 1 else [value] * self.lanes)

    # -- operations -----------------------------------------------------------------------------
    def call(self, name: str, *args: Num) -> Num:
        """An intrinsic of one instruction: ``fabs``, ``sqrt``, ``fma``."""
        name = f"llvm.{name}.{'' if self.lanes == 1 else f'v{self.lanes}'}f{self.format.bits}"
        real = self.real_type
        function = self.ir.module.globals.get(name)
        if function is None:
            function = ir.Function(self.ir.module, ir.FunctionType(real, [real] * len(args)), name)
        return Num(self, self.ir.call(function, [a.raw for a in args]))

    def fma(self, x: Num, y: Num | float, z: Num | float) -> Num:
        """``x * y + z``, rounded once or twice."""
        if not self.has_fma:
            return x * y + z
        return self.call("fma", x, self.num(y), self.num(z))

    def sqrt(self, x: Num) -> Num:
        return self.call("sqrt", x)

    def ordered(self, x: Num, y: Num | float) -> tuple[Num, Num]:
        """The lesser and the greater of two numbers, of which none may be NaN: one instruction each, where for
        comparisons that stay quiet it would be a comparison and a selection."""
        other = self.num(y).raw
        less = self.ir.fcmp_ordered("<", x.raw, other, flags=["nnan"])
        above = self.ir.fcmp_ordered(">", x.raw, other, flags=["nnan"])
        return Num(self, self.ir.select(less, x.raw, other)), Num(self, self.ir.select(above, x.raw, other))

    def sign_bit(self, x: Num) -> Word:
        """The sign of ``x`` alone."""
        return x.word() & (1 << (self.format.bits - 1))

    def with_sign(self, x: Num, sign: Num) -> Num:
        """``x`` of which the sign is that of ``sign`` unless it is zero; then too."""
        return (x.word() | self.sign_bit(sign)).num()

    def flip(self, x: Num, sign: Word) -> Num:
        """``x`` negated where the word is the sign bit; the word is that or 0."""
        return (x.word() ^ sign).num()

    def polynomial(self, x: Num, coefficients: Sequence[float], square: Num | None = None) -> Num:
        """``c[0] + c[1] x + c[2] x**2 + ...``: neighbours are joined in pairs, these by Horner's rule in ``x**2``.

        That is one operation more than Horner's rule alone, and a chain of half the length.  Estrin's scheme (1960)
        has a chain that is shorter still, but its further operations cost more than that gains."""
        first, rest = self.num(coefficients[0]), [self.num(c) for c in coefficients[1:]]
        if len(rest) < 3:
            total = rest.pop()
            for c in reversed(rest):
                total = self.fma(total, x, c)
        else:
            square = x * x if square is None else square
            pairs = [self.fma(b, x, a) for a, b in zip(rest[::2], rest[1::2])] + rest[len(rest) - len(rest) % 2:]
            total = pairs.pop()
            for pair in reversed(pairs):
                total = self.fma(total, square, pair)
        # The first coefficient is added last: joined earlier it would be rounded at each step.
        return self.fma(total, x, first)

    # -- unevaluated sums of two numbers --------------------------------------------------------
    def fast_two_sum(self, x: Num | float, y: Num) -> tuple[Num, Num]:
        """The sum and its error, exactly, where ``|x| >= |y|`` or ``x == 0`` (Dekker 1971)."""
        total = self.num(x) + y
        return total, y - (total - x)

    def two_sum(self, x: Num, y: Num) -> tuple[Num, Num]:
        """The sum and its error, exactly, whichever is greater (Knuth, TAOCP 2, 4.2.2)."""
        total = x + y
        other = total - x
        return total, (x - (total - other)) + (y - other)

    def two_product(self, x: Num, y: Num | float) -> tuple[Num, Num]:
        """The product and its error, exactly unless something underflows: by one FMA, else by splitting each factor in
        halves (Dekker 1971), of which the upper is cut off by its bits and so never overflows."""
        y = self.num(y)
        high = x * y
        if self.has_fma:
            return high, self.call("fma", x, y, -high)
        (a, b), (c, d) = self.halves(x), self.halves(y)
        return high, ((a * c - high) + a * d + b * c) + b * d

    def halves(self, x: Num) -> tuple[Num, Num]:
        """``x`` as a sum of two numbers with half of its bits each."""
        drop = (self.format.precision + 1) // 2
        upper = (x.word() & -(1 << drop)).num()
        return upper, x - upper

    def exact_difference(self, z: Num, x: Num, y: Num | float) -> Num:
        """``z - x * y``, where that is a number of the format and ``x * y`` is close to ``z``: exact without FMA too.
         With z = -0 and a product of +0 it is -0."""
        y = self.num(y)
        if self.has_fma:
            return self.call("fma", x, -y, z)
        high, low = self.two_product(x, y)
        return (z - high) - low

    def reaches(self, x: Num, bound: float) -> Flag:
        """Whether |x| is at least ``bound`` or x is no number: by its bits, for which a vector needs fewer instructions
        than for comparisons that tell the numbers from NaN."""
        return abs(x).word() > (self._bits(bound) - 1)

    def outside(self, x: Num, low: float, high: float) -> Flag:
        """Whether x is not from ``low``, which is positive, up to but not ``high``: by its bits, moved so that all of
        those come first."""
        least, most, top = self._bits(low), self._bits(high), 1 << (self.format.bits - 1)
        return (x.word() + (top - least)) > (most - 1 - least - top)

    def _bits(self, x: float) -> int:
        return int.from_bytes(struct.pack(f"<{self.dtype}", x), "little")

    # -- exponents ------------------------------------------------------------------------------
    def nearest(self, x: Num, factor: Num | float) -> tuple[Num, Word]:
        """The integer nearest to ``x * factor`` (up to the rounding of the product), as a number and as a word that
        holds it, in two's complement, in its low bits; for magnitudes below 2**(precision - 2)."""
        shifted = self.fma(x, factor, self.format.magic)
        return shifted - self.format.magic, shifted.word()

    def power_of_two(self, k: Word) -> Num:
        """2**k for a word with ``k`` in its low bits, where that is a normal number."""
        f = self.format
        return ((k + f.bias) << (f.precision - 1)).num()

    def shifted(self, x: Num, k: Word) -> Num:
        """``x * 2**k`` for ``k`` from ``nearest``, where that and ``x`` are normal numbers."""
        return (x.word() + (k << (self.format.precision - 1))).num()

    def scale(self, x: Num, k: Word, last: tuple[Flag, float] | None = None) -> Num:
        """``x * 2**k`` for ``k`` from ``nearest``, rounded once: in two steps, so that 2**k may lie beyond the normal
        numbers.  ``last``: where the condition holds the second factor is this one."""
        f = self.format
        half = k >> 1           # low bits: floor(k / 2)
        first = (x.word() + (half << (f.precision - 1))).num()
        factor = self.power_of_two(k - half)
        if last is not None:
            factor = last[0].pick(last[1], factor)
        return first * factor
