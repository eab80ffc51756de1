"""arctan, arctan2, arcsin, arccos.

Method: arctan of a quotient n / d of positive numbers by the addition theorem: as itself up to 1/2, as pi/4 +
arctan((n - d) / (n + d))
up to 2, as pi/2 - arctan(d / n) beyond, so that the argument t of the polynomial (``tables.py``: "atan") is at most
1/2; t and n + d with their errors.  arcsin up to 1/2 by a polynomial ("asin"); beyond as pi/2 - 2 arcsin(s),
s = sqrt((1 - |x|) / 2) with its error, and arccos likewise.  The sums with pi/4, pi/2 or pi come last, and these are
sums of two numbers.

Error in units of the last place: the last sum 1/2; of arctan between 1/2 and 2 the sum before it 1/4; the rest less
than 1/8. """
from __future__ import annotations

from collections.abc import Callable

from jitcore.backends.math.kit import Flag, Kit, Num, Word
from jitcore.backends.math.tables import CONSTANTS, POLYNOMIALS


def _arctan(m: Kit, n: Num, d: Num, lost: Num, middle: Flag, eighths: Num, turned: Word) -> Num:
    """eighths * pi/4 + arctan(n / (d + lost)), the second with the sign that ``turned`` gives it.  ``lost`` counts
    where ``middle`` holds."""
    inverse = 1.0 / d
    t = n * inverse
    left = m.exact_difference(n, t, d)
    low = m.fma(middle.pick(lost, 0.0), -t, left) * inverse
    z = t * t
    p = m.polynomial(z, POLYNOMIALS["atan"][m.dtype])
    first, second = CONSTANTS["quarter_pi"][m.dtype]
    low = m.flip(m.fma(t * z, -p, low), turned)
    t = m.flip(t, turned)
    return m.fma(eighths, first, t + m.fma(eighths, second, low))


def arctan(m: Kit, x: Num) -> Num:
    """The arctangent, for any x; of infinities +-pi/2."""
    size = abs(x)
    size = (size < m.by(1e300, 1e37)).pick(size, x.is_nan().pick(x, m.by(1e300, 1e37)))
    small, large = size < 0.5, size > 2.0
    total = size + 1.0
    n = small.pick(size, large.pick(-1.0, size - 1.0))
    d = small.pick(1.0, large.pick(size, total))
    eighths = small.pick(0.0, large.pick(2.0, 1.0))
    result = _arctan(m, n, d, size - (total - 1.0), ~(small | large), eighths, m.word(0))
    return m.with_sign(result, x)


def usual_arctan(m: Kit, x: Num) -> Num:
    size = abs(x)
    small, large = size < 0.5, size > 2.0
    total = size + 1.0
    n = small.pick(size, large.pick(-1.0, size - 1.0))
    d = small.pick(1.0, large.pick(size, total))
    eighths = small.pick(0.0, large.pick(2.0, 1.0))
    first, second = CONSTANTS["quarter_pi"][m.dtype]
    inverse = 1.0 / d
    t = n * inverse
    left = m.exact_difference(n, t, d)
    # Where the sum is not d, either t is small beside pi/2 or d is exact.
    lost = (d - 1.0) - size
    low = m.fma(t, small.pick(0.0, lost), left) * inverse
    z = t * t
    p = m.polynomial(z, POLYNOMIALS["atan"][m.dtype])
    low = m.fma(t * z, -p, m.fma(eighths, second, large.pick(0.0, low)))
    return m.with_sign(m.fma(eighths, first, t + low), x)


def rare_arctan(m: Kit, x: Num) -> Flag:
    """Whether 1/x may be no normal number."""
    return ~(abs(x) < m.by(1e300, 1e37))


def _arctan2(m: Kit, a: Num, b: Num, y: Num, x: Num) -> Num:
    """For magnitudes a of y and b of x, of which sum and quotient are normal numbers (or a is 0)."""
    small, large = a < b * 0.5, a > b * 2.0
    total, lost = m.two_sum(a, b)
    n = small.pick(a, large.pick(-b, a - b))
    d = small.pick(b, large.pick(a, total))
    eighths = small.pick(0.0, large.pick(2.0, 1.0))
    sign = m.sign_bit(x)
    eighths = (x.word() < 0).pick(4.0 - eighths, eighths)
    result = _arctan(m, n, d, lost, ~(small | large), eighths, sign)
    return m.with_sign(abs(result), y)


def _span(m: Kit) -> float:
    return m.by(2.0**500, 2.0**60)


def rare_arctan2(m: Kit, y: Num, x: Num) -> Flag:
    """Whether one of the numbers is 0, very small or very large."""
    a, b = abs(y), abs(x)
    low, high = 1 / _span(m), _span(m)
    return ~((a > low) & (a < high) & (b > low) & (b < high))


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
    z = small.pick(size, 0.5) * small.pick(size, 1.0 - size)
    root = m.sqrt(small.pick(0.25, z))
    low = m.exact_difference(z, root, root) * (0.5 / (root + m.format.tiny))
    base = small.pick(size, root)
    p = m.polynomial(z, POLYNOMIALS["asin"][m.dtype])
    return base, m.fma(base * z, p, small.pick(0.0, low))


def rare_arcsin(m: Kit, x: Num) -> Flag:
    return ~(abs(x) <= 1.0)


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
