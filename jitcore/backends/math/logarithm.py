"""log, log2, log10, log1p, and the decomposition that they share with the inverse hyperbolic functions.

Method: x = 2**k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and with s = f / (2 + f)

    log(1 + f) = 2 atanh(s) = f - (f**2 / 2 - s (f**2 / 2 + z p(z))),  z = s**2,

where 2 atanh(s) / s = 2 + z p(z) with a minimax polynomial ``p`` (``tables.py``: "log").  This arrangement is that of
K. C. Ng
(Sun Microsystems, 1993): ``f`` is exact, and all that is rounded is smaller than it by a factor of at least 4.

Error in units of 2**-precision of a result in [1/2, 1): the last sum 1/2, the terms below it 3/8 together at most.
Zero and negative numbers get their -inf and NaN from the division, which raises divide and invalid.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jitcore.backends.math.kit import Flag, Kit, Num, Word
from jitcore.backends.math.tables import CONSTANTS, POLYNOMIALS

_ROOT_HALF = {"d": 0x3FE6A09E667F3BCD, "f": 0x3F3504F3}


class Decomposed(NamedTuple):
    """x = 2**k (1 + f); ``field`` is the exponent field of 2**k."""

    k: Num
    f: Num
    field: Word


def decompose(m: Kit, x: Num, subnormal: bool = True) -> Decomposed:
    """For positive finite x; ``subnormal``: whether it may be less than the normal numbers.

    Adding the distance from sqrt(1/2) to 1 makes the exponent field that of the wanted k.
    """
    form = m.format
    offset = 2.0 ** (form.precision - 1) + form.bias
    shift: Num | float = offset
    if subnormal:
        small = abs(x) < form.tiny
        x = x * small.pick(2.0**form.precision, 1.0)
        shift = small.pick(offset + form.precision, offset)
    fraction = form.precision - 1
    word = x.word() + ((form.bias << fraction) - _ROOT_HALF[m.dtype])
    # An integer in the last bits of 2**fraction is that many units.
    field = word & -(1 << fraction)
    exponent = (word >> fraction) | ((form.bias + fraction) << fraction)
    mantissa = ((word & ((1 << fraction) - 1)) + _ROOT_HALF[m.dtype]).num()
    return Decomposed(exponent.num() - shift, mantissa - 1.0, field)


def quotient(m: Kit, x: Num, f: Num) -> Num:
    """s = f / (2 + f); -inf where x is zero and NaN where it is negative, with the flags of these."""
    zero = m.num(0.0)
    above = x.equals(0.0).pick(-1.0, (x < 0.0).pick(zero, f))
    return above / (x <= 0.0).pick(zero, f + 2.0)


def tail(m: Kit, f: Num, s: Num) -> tuple[Num, Num]:
    """(f**2 / 2, s (f**2 / 2 + z p(z))), of which log(1 + f) = f - first + second."""
    z = s * s
    half = f * f * 0.5
    return half, s * m.fma(z, m.polynomial(z, POLYNOMIALS["log"][m.dtype]), half)


def rare(m: Kit, x: Num) -> Flag:
    """Whether x is anything but a normal positive number."""
    return m.outside(x, m.format.tiny, float("inf"))


def passed_on(x: Num, result: Num) -> Num:
    """inf and NaN for themselves."""
    return (x < float("inf")).pick(result, x)


def log(m: Kit, x: Num) -> Num:
    """The natural logarithm.  log(1) is exactly 0."""
    first, second = CONSTANTS["ln2"][m.dtype]
    k, f, _ = decompose(m, x)
    half, rest = tail(m, f, quotient(m, x, f))
    return passed_on(x, m.fma(k, first, f - (half - m.fma(k, second, rest))))


def usual_log(m: Kit, x: Num) -> Num:
    first, second = CONSTANTS["ln2"][m.dtype]
    k, f, _ = decompose(m, x, subnormal=False)
    half, rest = tail(m, f, f / (f + 2.0))
    return m.fma(k, first, f - (half - m.fma(k, second, rest)))


def _converted(m: Kit, k: Num, f: Num, s: Num, factor: str, unit: Num) -> tuple[Num, Num]:
    """``unit`` + log(1 + f) times a constant of two parts, as a sum of two numbers, where ``unit`` is 0 or greater
    than the rest: the product with ``f``, and its sum with ``unit``, are kept with their errors."""
    first, second = CONSTANTS[factor][m.dtype]
    _, rest = tail(m, f, s)
    product, error = m.two_product(f, first)
    near, low = m.exact_difference(rest, f * 0.5, f), m.fma(f, second, error)
    total, error = m.fast_two_sum(unit, product)
    if m.has_fma:
        return total, error + m.fma(near, first, low)
    # The product is rounded by itself, and it and the sum after it would be too much.
    product, lost = m.two_product(near, first)
    total, rounding = m.fast_two_sum(total, product)
    return total, (error + rounding) + (lost + low)


def _log2(m: Kit, k: Num, f: Num, s: Num) -> Num:
    high, low = _converted(m, k, f, s, "log2e", k)
    return high + low


def _log10(m: Kit, k: Num, f: Num, s: Num) -> Num:
    first, second = CONSTANTS["log10_2"][m.dtype]
    high, low = _converted(m, k, f, s, "log10e", k * first)
    return high + m.fma(k, second, low)


def _any_base(m: Kit, x: Num, base: Callable[[Kit, Num, Num, Num], Num]) -> Num:
    k, f, _ = decompose(m, x)
    s, above = quotient(m, x, f), x > 0.0
    # What the division gave for numbers that have no logarithm is the result, and no operand of anything else.
    return passed_on(x, above.pick(base(m, k, f, above.pick(s, 0.0)), s))


def _usual_base(m: Kit, x: Num, base: Callable[[Kit, Num, Num, Num], Num]) -> Num:
    k, f, _ = decompose(m, x, subnormal=False)
    return base(m, k, f, f / (f + 2.0))


def log2(m: Kit, x: Num) -> Num:
    """The logarithm to base 2, exact for powers of 2."""
    return _any_base(m, x, _log2)


def usual_log2(m: Kit, x: Num) -> Num:
    return _usual_base(m, x, _log2)


def log10(m: Kit, x: Num) -> Num:
    """The logarithm to base 10."""
    return _any_base(m, x, _log10)


def usual_log10(m: Kit, x: Num) -> Num:
    return _usual_base(m, x, _log10)


def log_of_sum(m: Kit, u: Num, lost: Num, more: Num | None = None) -> Num:
    """log(u + lost) + more ln 2, for a positive u of which 1 / u is a normal number, and a ``lost`` of at most some
    units in its last place: u is decomposed, and ``lost`` added to ``f``."""
    first, second = CONSTANTS["ln2"][m.dtype]
    k, near, field = decompose(m, u, subnormal=False)
    f, low = _added(m, near, lost, _inverse(m, field))
    half, rest = tail(m, f, f / (f + 2.0))
    low = m.fma(-f, low, low)       # low / (1 + f)
    if more is not None:
        k = k + more
    return m.fma(k, first, f - (half - (m.fma(k, second, low) + rest)))


def log1p(m: Kit, x: Num) -> Num:
    """log(1 + x); x itself where x is tiny, zeros with their sign."""
    first, second = CONSTANTS["ln2"][m.dtype]
    number = x < float("inf")
    u, lost = m.two_sum(m.num(1.0), number.pick(x, 0.0))
    k, near, field = decompose(m, u, subnormal=False)
    # Beside a large x the error counts no longer, and 2**-k need not be a number.
    scale = (u < 1 / m.format.epsilon).pick(_inverse(m, field), 0.0)
    f, low = _added(m, near, lost, scale)
    half, rest = tail(m, f, quotient(m, u, f))
    low = m.fma(-f, low, low)       # low / (1 + f)
    result = m.fma(k, first, f - (half - (m.fma(k, second, low) + rest)))
    return (abs(x) < m.format.epsilon).pick(x, number.pick(result, x))


def _inverse(m: Kit, field: Word) -> Num:
    """2**-k for the exponent field of 2**k."""
    return (m.word(2 * m.format.bias << (m.format.precision - 1)) - field).num()


def _added(m: Kit, near: Num, lost: Num, scale: Num) -> tuple[Num, Num]:
    """near + lost * scale, where ``scale`` is a power of 2, and what that lacks."""
    f = m.fma(lost, scale, near)
    return f, m.fma(lost, scale, near - f)


def rare_log1p(m: Kit, x: Num) -> Flag:
    """Whether x is large or not above -1, which the bits of 1 + x tell."""
    return m.outside(x + 1.0, m.format.tiny, 0.5 / m.format.epsilon)


def usual_log1p(m: Kit, x: Num) -> Num:
    return m.with_sign(log_of_sum(m, *m.two_sum(x, m.num(1.0))), x)
