"""arctan, arctan2, arcsin, arccos.

Method: arctan of a quotient a / b of positive numbers by the addition theorem: as itself up to 0.6, as pi/4 +
arctan((a - b) / (a + b)) up to 2, as pi/2 - arctan(b / a) beyond, so that the argument t of the polynomial
(``tables.py``: "atan") is from -1/2 to 0.6, and from -1/4 where the result is below 1; a quotient of which neither
number is 1 with its error.  arcsin up to 1/2 by a polynomial ("asin"); beyond as pi/2 - 2 arcsin(s),
s = sqrt((1 - |x|) / 2) with its error, and arccos likewise.  The sums with pi/4, pi/2 or pi come last, and these are
sums of two numbers.

Error in units of the last place: the last sum 1/2; of arctan up to 0.6 the polynomial's terms 0.3; from there to 2 the
sum before the last 1/8, t 1/8, and a + b, whose error is left out, 0.17, as |t| is at most 1/4 or the result above 1;
of arcsin and arccos the rest is less than 1/4.
"""
from __future__ import annotations

from collections.abc import Callable

from jitcore.backends.math.kit import Flag, Kit, Num
from jitcore.backends.math.tables import CONSTANTS, POLYNOMIALS


def _turned(m: Kit, a: Num, b: Num) -> tuple[Num, Num, Num]:
    """The angle of (b, a), for magnitudes, as units pi/4 + arctan(n / d): n, d, units.  ``n`` is exact."""
    small, large = a < b * 0.6, a > b * 2.0
    # small: a / b, large: -b / a, else (a - b) / (a + b).
    n = large.pick(0.0, a) - small.pick(0.0, b)
    d = small.pick(0.0, a) + large.pick(0.0, b)
    return n, d, small.pick(0.0, 1.0) + large.pick(1.0, 0.0)


def _angle(m: Kit, units: Num, t: Num, low: Num) -> Num:
    """units pi/4 + arctan(t + low); the derivative of the arctangent is nearly 1 - z."""
    z = t * t
    first, second = CONSTANTS["quarter_pi"][m.dtype]
    rest = m.fma(m.fma(t, m.polynomial(z, POLYNOMIALS["atan"][m.dtype]), low), -z, low)
    return m.fma(units, first, t + m.fma(units, second, rest))


def usual_arctan(m: Kit, x: Num) -> Num:
    n, d, units = _turned(m, abs(x), m.num(1.0))
    return m.with_sign(_angle(m, units, n / d, m.num(0.0)), x)


def arctan(m: Kit, x: Num) -> Num:
    """The arctangent, for any x; of infinities +-pi/2."""
    most = m.by(1e300, 1e37)
    size = abs(x)
    result = usual_arctan(m, x.is_nan().pick(1.0, (size > most).pick(most, size)))
    return x.is_nan().pick(x, m.with_sign(result, x))


def rare_arctan(m: Kit, x: Num) -> Flag:
    """Whether 1/x may be no normal number."""
    return m.reaches(x, m.by(1e300, 1e37))


def _arctan2(m: Kit, a: Num, b: Num, y: Num, x: Num) -> Num:
    """For magnitudes a of y and b of x, of which sum and quotient are normal numbers (or a is 0)."""
    n, d, units = _turned(m, a, b)
    inverse = 1.0 / d
    t = n * inverse
    low = m.exact_difference(n, t, d) * inverse
    # On the left it is pi minus the angle on the right: the magnitude of the difference.
    units = (x.word() < 0).pick(units - 4.0, units)
    return m.with_sign(abs(_angle(m, units, t, low)), y)


def _span(m: Kit) -> float:
    return m.by(2.0**500, 2.0**60)


def rare_arctan2(m: Kit, y: Num, x: Num) -> Flag:
    """Whether one of the numbers is 0, very small or very large."""
    low, high = 1 / _span(m), _span(m)
    return m.outside(abs(y), low, high) | m.outside(abs(x), low, high)


def usual_arctan2(m: Kit, y: Num, x: Num) -> Num:
    return _arctan2(m, abs(y), abs(x), y, x)


def arctan2(m: Kit, y: Num, x: Num) -> Num:
    """The angle of (x, y), as C's Annex F has it for zeros and infinities."""
    a, b = abs(y), abs(x)
    infinite_a, infinite_b = a.is_infinity(), b.is_infinity()
    some = infinite_a | infinite_b
    a = some.pick(infinite_a.pick(1.0, 0.0), a)
    b = some.pick(infinite_b.pick(1.0, 0.0), b)
    # (0, 0) is the angle of (1, 0).
    b = (a.equals(0.0) & b.equals(0.0)).pick(1.0, b)
    greater = (a > b).pick(a, b)
    # Scaled so that the remainder of the quotient is a number too, unless the result is none.
    scale = (greater > _span(m)).pick(m.by(2.0**-100, 2.0**-20), (greater < m.by(2.0**-500, 2.0**-20)).pick(
        m.by(2.0**600, 2.0**120), m.by(2.0**400, 2.0**60)))
    numbers = x.equals(x) & y.equals(y)
    result = _arctan2(m, numbers.pick(a, 1.0) * scale, numbers.pick(b, 1.0) * scale, y, x)
    return numbers.pick(result, x.is_nan().pick(x, y))


def _by_root(m: Kit, size: Num, small: Flag) -> tuple[Num, Num]:
    """arcsin of |x|, or where that is above 1/2 of s: the argument itself, and what comes to it."""
    z = small.pick(size * size, m.fma(size, -0.5, m.num(0.5)))
    root = m.sqrt(z)
    low = m.exact_difference(z, root, root) * (0.5 / (root + m.format.tiny))
    base = small.pick(size, root)
    p = m.polynomial(z, POLYNOMIALS["asin"][m.dtype])
    return base, m.fma(base * z, p, small.pick(0.0, low))


def rare_arcsin(m: Kit, x: Num) -> Flag:
    return m.reaches(x, 1.0 + 2.0 * m.format.epsilon)


def usual_arcsin(m: Kit, x: Num) -> Num:
    size = abs(x)
    small = size < 0.5
    base, rest = _by_root(m, size, small)
    first, second = CONSTANTS["half_pi_full"][m.dtype]
    whole, error = m.fast_two_sum(first, base * -2.0)
    large = whole + m.fma(rest, -2.0, error + second)
    return m.with_sign(small.pick(base + rest, large), x)


def usual_arccos(m: Kit, x: Num) -> Num:
    size = abs(x)
    small, below = size < 0.5, x.word() < 0
    base, rest = _by_root(m, size, small)
    first, second = CONSTANTS["half_pi_full"][m.dtype]
    # small: pi/2 - (base + rest), its sign that of x; else 2 (base + rest), or pi minus that.
    units = small.pick(1.0, below.pick(2.0, 0.0))
    factor = m.flip(small.pick(-1.0, 2.0), m.sign_bit(x))
    whole, error = m.fast_two_sum(units * first, base * factor)
    return whole + m.fma(rest, factor, m.fma(units, second, error))


def _in_domain(m: Kit, x: Num, function: Callable[[Kit, Num], Num]) -> Num:
    """NaN outside of [-1, 1], with the flag of an invalid operation, from a square root."""
    size = abs(x)
    inside = size <= 1.0
    return inside.pick(function(m, inside.pick(x, 0.5)), m.sqrt(1.0 - size))


def arcsin(m: Kit, x: Num) -> Num:
    """The arcsine."""
    return _in_domain(m, x, usual_arcsin)


def arccos(m: Kit, x: Num) -> Num:
    """The arccosine."""
    return _in_domain(m, x, usual_arccos)
