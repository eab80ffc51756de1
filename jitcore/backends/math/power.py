"""power: x**y = e**(y log x), with the logarithm as a sum of two numbers.

Method: x = 2**k (1 + f) as for log; with s = f / (2 + f) and z = s**2

    log(1 + f) = 2 (s + s z / 3 + s z**2 p(z))

where the quotient, the cube and its third are kept with their errors and ``p`` is a minimax polynomial
(``tables.py``: "pow").
The relative error of the logarithm is less than 2**-64 (float32: 2**-34), which times the greatest |y log x| with a
finite
result is less than 1/5 of a unit in the last place.  The product with ``y`` and its error go into the exponential:
1/2 for its last sum and 1/4 for the sum below it.
"""
from __future__ import annotations

from jitcore.backends.math.kit import Flag, Kit, Num
from jitcore.backends.math.logarithm import Decomposed, decompose
from jitcore.backends.math.tables import CONSTANTS, POLYNOMIALS


def _logarithm(m: Kit, parts: Decomposed) -> tuple[Num, Num]:
    """log x as a sum of two numbers."""
    k, f, _ = parts
    d = f + 2.0
    d_low = f - (d - 2.0)
    inverse = 1.0 / d
    s = f * inverse
    s_low = m.fma(-s, d_low, m.exact_difference(f, s, d)) * inverse
    z, z_low = m.two_product(s, s)
    z_low = m.fma(s + s, s_low, z_low)
    cube, cube_low = m.two_product(s, z)
    cube_low = m.fma(z, s_low, m.fma(s, z_low, cube_low))
    third, third_low = CONSTANTS["third"][m.dtype]
    u, u_low = m.two_product(cube, third)
    u_low = m.fma(cube, third_low, m.fma(cube_low, third, u_low))
    rest = cube * z * m.polynomial(z, POLYNOMIALS["pow"][m.dtype])
    high, low = m.fast_two_sum(s, u)
    low = low + (s_low + (u_low + rest))
    first, second = CONSTANTS["ln2"][m.dtype]
    whole, error = m.fast_two_sum(k * first, high + high)
    return m.fast_two_sum(whole, m.fma(k, second, error + (low + low)))


def _power(m: Kit, parts: Decomposed, y: Num) -> Num:
    """x**y for positive finite x and |y| below ``_most``."""
    high, low = _logarithm(m, parts)
    p, p_low = m.two_product(y, high)
    p_low = m.fma(y, low, p_low)
    # Beyond, the result is 0 or inf for any argument.
    bound = m.by(750.0, 106.0)
    inside = abs(p) < bound
    p = inside.pick(p, m.with_sign(m.num(bound), p))
    p_low = inside.pick(p_low, 0.0)
    first, second = CONSTANTS["ln2"][m.dtype]
    k, word = m.nearest(p, CONSTANTS["log2e"][m.dtype][0])
    near, near_low = m.fast_two_sum(m.fma(k, -first, p), p_low)
    near_low = m.fma(k, -second, near_low)
    r = near + near_low
    z = r * r
    return m.scale(1.0 + (near + m.fma(z, m.polynomial(r, POLYNOMIALS["exp"][m.dtype], z), near_low)), word)


def _most(m: Kit) -> float:
    """No y beyond has a finite result other than 0 and 1."""
    return m.by(2.0**65, 2.0**33)


def rare_power(m: Kit, x: Num, y: Num) -> Flag:
    """Whether x is no normal positive number, or y very large or none."""
    return m.outside(x, m.format.tiny, float("inf")) | m.reaches(y, _most(m))


def usual_power(m: Kit, x: Num, y: Num) -> Num:
    return _power(m, decompose(m, x, subnormal=False), y)


def power(m: Kit, x: Num, y: Num) -> Num:
    """x**y, as C's Annex F has it: NaN and invalid for a negative x and a y that is no integer, divide for 0 and a
    negative y."""
    infinity, most = float("inf"), _most(m)
    size = abs(x)
    zero, infinite = size.equals(0.0), size.is_infinity()
    number = (size > 0.0) & (size < infinity)
    whole = m.call("floor", y).equals(y)
    odd = whole & ~(m.call("floor", y * 0.5) * 2.0).equals(y)
    undefined = number & (x < 0.0) & ~whole & (abs(y) < infinity)
    clamped = (y > most).pick(most, (y < -most).pick(-most, y))
    base = (number & ~undefined).pick(size, 1.0)
    endless = abs(y).is_infinity()
    result = _power(m, decompose(m, base), (y.is_nan() | endless).pick(0.0, clamped))
    growing = ((base > 1.0) & (y > 0.0)) | ((base < 1.0) & (y < 0.0))
    result = (endless & ~base.equals(1.0)).pick(growing.pick(infinity, 0.0), result)
    # Zero and infinity: inf or 0, the inf of zero from a division.
    negative = y < 0.0
    up = (zero & negative) | (infinite & (y > 0.0))
    # Of the numbers themselves, so that the compiler cannot do it beforehand, without the flags.  The other divisor is
    # not 1: LLVM takes operations with their neutral element out of a choice, and divides in every lane.
    pole = 1.0 / (zero & negative & (y > -infinity)).pick(size, 2.0)
    result = number.pick(result, up.pick(infinity, 0.0) * pole)
    sign = m.sign_bit(x)
    result = odd.pick(m.flip(result, sign), result)
    result = m.sqrt(undefined.pick(x, 1.0)) * undefined.pick(1.0, result)
    result = x.is_nan().pick(x, y.is_nan().pick(y, result))
    return (y.equals(0.0) | x.equals(1.0)).pick(1.0, result)
