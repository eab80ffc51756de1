"""cbrt and hypot.

cbrt: x = 8**q y with y from 0.35 to 2.83 and y = 2**rem (1 + f), |rem| <= 1.  A polynomial in f (``tables.py``:
"cbrt") times 2**(rem / 3) gives c with a relative error d below 2**-28 (float32: 2**-13); one step of Newton's method
from the exact residual c**3 - y leaves d**2, and the last sum is all that is rounded.

hypot: the sum of the squares as a sum of two numbers, which is rounded once before the square root: half of that
error, at most 0.36 units in the last place of the root, and 1/2 for the root.
"""
from __future__ import annotations

from jitcore.backends.math.kit import Flag, Kit, Num
from jitcore.backends.math.logarithm import decompose
from jitcore.backends.math.tables import CONSTANTS, POLYNOMIALS


def rare_cbrt(m: Kit, x: Num) -> Flag:
    """Whether x is 0, subnormal or no number."""
    size = abs(x)
    return ~((size >= m.format.tiny) & (size < float("inf")))


def usual_cbrt(m: Kit, x: Num) -> Num:
    return m.with_sign(_cbrt(m, abs(x), subnormal=False), x)


def _cbrt(m: Kit, size: Num, subnormal: bool) -> Num:
    """Of a positive number."""
    k, f, _ = decompose(m, size, subnormal)
    q, word = m.nearest(k, CONSTANTS["third"][m.dtype][0])
    rest = m.fma(q, -3.0, k)
    y = (f + 1.0) * (m.power_of_two((rest + m.format.magic).word()))
    up, down = CONSTANTS["cbrt_2"][m.dtype][0], CONSTANTS["cbrt_half"][m.dtype][0]
    c = m.polynomial(f, POLYNOMIALS["cbrt"][m.dtype]) * (rest > 0.5).pick(up, (rest < -0.5).pick(down, 1.0))
    square, square_low = m.two_product(c, c)
    cube, cube_low = m.two_product(square, c)
    residual = (cube - y) + m.fma(square_low, c, cube_low)
    return m.shifted(c - residual * c / (y * 3.0), word)


def cbrt(m: Kit, x: Num) -> Num:
    """The cube root, with the sign of x."""
    size = abs(x)
    number = (size > 0.0) & (size < float("inf"))
    root = m.with_sign(_cbrt(m, number.pick(size, 1.0), subnormal=True), x)
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
    a, b = abs(x), abs(y)
    low, high = _limits(m)
    return ~((a < high) & (b < high) & ((a > low) | (b > low)))


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
