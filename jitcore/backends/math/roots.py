"""cbrt and hypot.

cbrt: from a guess of x**(-1/3) and e = 1 - x guess**3, which is below 0.1035, an inverse root with a relative error d
below 2**-30 (float32: 2**-16) by a polynomial (``tables.py``: "cbrt"), and c, x times its square; one step of Newton's
method from the exact residual x - c**3 leaves some d**2, and the last sum is all that is rounded.  No division.

hypot: the sum of the squares as a sum of two numbers, which is rounded once before the square root: half of that
error, at most 0.36 units in the last place of the root, and 1/2 for the root.
"""
from __future__ import annotations

from jitcore.backends.math.kit import Flag, Kit, Num
from jitcore.backends.math.tables import POLYNOMIALS


def _cube_limits(m: Kit) -> tuple[float, float]:
    """Between these a number, and the error of a product as large as it, are normal numbers with room to spare."""
    return m.by(2.0**-900, 2.0**-70), m.by(2.0**1000, 2.0**120)


def rare_cbrt(m: Kit, x: Num) -> Flag:
    """Whether x is 0, very small, very large or no number."""
    return m.outside(abs(x), *_cube_limits(m))


def usual_cbrt(m: Kit, x: Num) -> Num:
    return m.with_sign(_cbrt(m, abs(x)), x)


def _inverse_cube_root(m: Kit, x: Num) -> Num:
    """x**(-1/3), less than 3.6 % off: the bits of a number, taken as an integer, are nearly its logarithm, here those
    that remain of it as the last bits of a number."""
    form = m.format
    drop = 32 if m.dtype == "d" else 9
    above = 2.0 ** (form.precision - 1)
    units = 2.0 ** (form.precision - 1 - drop)      # of the remaining bits in a power of 2
    v = ((x.word() >> drop) | m.num(above).word()).num()
    # The logarithm of the result is 4/3 of the bias, moved so that it is as far off above as below, less a third.
    moved = round((form.bias * 4 / 3 - 0.068) * units) + above / 3 + above
    return (m.fma(v, -1 / 3, m.num(moved)).word() << drop).num()


def _cbrt(m: Kit, x: Num) -> Num:
    """Of a positive number within the limits."""
    guess = _inverse_cube_root(m, x)
    e = m.fma(x * guess, -(guess * guess), m.num(1.0))
    inverse = m.fma(guess * e, m.polynomial(e, POLYNOMIALS["cbrt"][m.dtype]), guess)
    square = inverse * inverse
    c = x * square
    c2, c2_low = m.two_product(c, c)
    residual = m.fma(c2_low, -c, m.exact_difference(x, c2, c))
    return m.fma(residual * square, 1 / 3, c)


def cbrt(m: Kit, x: Num) -> Num:
    """The cube root, with the sign of x."""
    size = abs(x)
    number = (size > 0.0) & (size < float("inf"))
    low, high = _cube_limits(m)
    shrink, grow = m.by(2.0**-240, 2.0**-30), m.by(2.0**240, 2.0**30)
    small, large = size < low, size > high / 2
    y = number.pick(size, 1.0) * small.pick(grow**3, large.pick(shrink**3, 1.0))
    root = m.with_sign(_cbrt(m, y) * small.pick(shrink, large.pick(grow, 1.0)), x)
    return number.pick(root, x)


def _root(m: Kit, a: Num, b: Num) -> Num:
    first, first_low = m.two_product(a, a)
    second, second_low = m.two_product(b, b)
    total, low = m.two_sum(first, second)
    return m.sqrt(total + (low + (first_low + second_low)))


def _limits(m: Kit) -> tuple[float, float]:
    """Between these the square of a number and its error are normal numbers."""
    return m.by(2.0**-400, 2.0**-35), m.by(2.0**500, 2.0**60)


def rare_hypot(m: Kit, x: Num, y: Num) -> Flag:
    """Whether a square may overflow, or both may lose bits by underflow."""
    low, high = _limits(m)
    return m.reaches(x, high) | m.reaches(y, high) | ~(m.reaches(x, low) | m.reaches(y, low))


def usual_hypot(m: Kit, x: Num, y: Num) -> Num:
    return _root(m, x, y)


def hypot(m: Kit, x: Num, y: Num) -> Num:
    """sqrt(x**2 + y**2) without overflow on the way; inf where either is, even beside NaN."""
    a, b = abs(x), abs(y)
    infinite = a.is_infinity() | b.is_infinity()
    broken = ~((a >= 0.0) & (b >= 0.0))
    left_out = infinite | broken            # beside these the other may be scaled the wrong way
    a, b = left_out.pick(0.0, a), left_out.pick(0.0, b)
    greater = (a > b).pick(a, b)
    low, high = _limits(m)
    shrink, grow = m.by(2.0**-600, 2.0**-80), m.by(2.0**600, 2.0**80)
    large, small = ~(greater < high), greater < low
    scale = large.pick(shrink, small.pick(grow, 1.0))
    back = large.pick(grow, small.pick(shrink, 1.0))
    return infinite.pick(float("inf"), broken.pick(float("nan"), _root(m, a * scale, b * scale) * back))
