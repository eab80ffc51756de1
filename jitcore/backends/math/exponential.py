"""exp, exp2, expm1, and the reduction that they share with the hyperbolic functions and ``power``.

Method (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980): x = k ln 2 + r with |r| <= ln
2 / 2,
the constant split in two so that ``k`` times the first part is exact; e**x = 2**k e**r, with e**r = 1 + (r + r**2
p(r)) where ``p``
is a minimax polynomial (``tables.py``: "exp", "exp2").  2**k is multiplied in two steps, so that subnormal results are
rounded once and overflow is the last multiplication's.

Error of e**r, in units of the last place where the result is in [1/2, 1): the last sum 1/2, the sum ``r + r**2 p``
1/4 at most, what is below it less than 1/16.  What the rounding of ``r`` lost is added to r**2 p.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jitcore.backends.math.kit import Flag, Kit, Num, Word
from jitcore.backends.math.tables import CONSTANTS, POLYNOMIALS


class Reduced(NamedTuple):
    """x = k ln 2 + near - k second, of which all but the last product is exact; ``r`` is that rounded, and ``less``
    subtracts the product from a number."""

    k: Num
    word: Word
    near: Num
    r: Num
    less: Callable[[Num], Num]


def reduce(m: Kit, x: Num) -> Reduced:
    """For x of which k is below 2**11 (float32: 2**8)."""
    first, second = CONSTANTS["ln2"][m.dtype]
    k, word = m.nearest(x, CONSTANTS["log2e"][m.dtype][0])
    near = m.fma(k, -first, x)      # exact: k * first is, and it is close to x

    def less(y: Num) -> Num:
        return m.fma(k, -second, y)

    return Reduced(k, word, near, less(near), less)


def exp(m: Kit, x: Num) -> Num:
    """e**x.  Raises overflow where finite x has an infinite result."""
    top, bottom = m.by(711.0, 90.0), m.by(-746.0, -105.0)
    y = (x > top).pick(top, x)
    y = (y < bottom).pick(bottom, y)
    return _scaled(m, x, *exp_reduced(m, y))


def _scaled(m: Kit, x: Num, result: Num, k: Word) -> Num:
    """``result * 2**k``; inf and NaN for themselves."""
    return x.is_nan().pick(x, m.scale(result, k, (x.is_infinity(), float("inf"))))


def exp_reduced(m: Kit, x: Num) -> tuple[Num, Word]:
    """e**(x - k ln 2), and k."""
    _, word, near, r, less = reduce(m, x)
    z = r * r
    return 1.0 + (near + less(z * m.polynomial(r, POLYNOMIALS["exp"][m.dtype], z))), word


def rare_exp(m: Kit, x: Num) -> Flag:
    """Whether 2**k or the result may be no normal number, or x is none."""
    return m.reaches(x, m.by(708.0, 87.0))


def usual_exp(m: Kit, x: Num) -> Num:
    return m.shifted(*exp_reduced(m, x))


def exp2(m: Kit, x: Num) -> Num:
    """2**x, exact for integers."""
    top, bottom = m.by(1025.0, 129.0), m.by(-1076.0, -151.0)
    y = (x > top).pick(top, x)
    y = (y < bottom).pick(bottom, y)
    return _scaled(m, x, *_exp2_reduced(m, y))


def _exp2_reduced(m: Kit, x: Num) -> tuple[Num, Word]:
    """2**(x - k), and k."""
    k, word = m.nearest(x, 1.0)
    r = x - k
    first, second = CONSTANTS["ln2_full"][m.dtype]
    z = r * r
    p = m.polynomial(r, POLYNOMIALS["exp2"][m.dtype], z)
    if m.has_fma:
        return 1.0 + m.fma(r, first, m.fma(z, p, r * second)), word
    high, low = m.two_product(r, first)
    return 1.0 + (high + (z * p + (r * second + low))), word


def rare_exp2(m: Kit, x: Num) -> Flag:
    return m.reaches(x, m.by(1021.0, 125.0))


def usual_exp2(m: Kit, x: Num) -> Num:
    return m.shifted(*_exp2_reduced(m, x))


def beyond(m: Kit, r: Num) -> Num:
    """e**r - 1 - r = r**2 / 2 + r**3 p(r) for a reduced argument, with a polynomial (``tables.py``: "expm1") whose
    error is negligible."""
    z = r * r
    return m.fma(z * r, m.polynomial(r, POLYNOMIALS["expm1"][m.dtype], z), z * 0.5)


def expm1(m: Kit, x: Num) -> Num:
    """e**x - 1, zeros with their sign: s (near + rest) + (s - 1), s = 2**k, where the sum of the first and the last
    is kept with its error.  Half of it is computed, so that s is a number as long as the result is one."""
    top, bottom = m.by(710.0, 88.75), m.by(-40.0, -18.0)
    y = (x > top).pick(top, x)
    y = (y < bottom).pick(bottom, y)
    _, word, near, r, less = reduce(m, y)
    rest = less(beyond(m, r))
    s = m.power_of_two(word - 1)
    one = s - 0.5
    whole, error = m.fast_two_sum(one, s * near)
    result = (whole + m.fma(s, rest, error + ((s - one) - 0.5))) * x.is_infinity().pick(float("inf"), 2.0)
    return (abs(x) < m.format.epsilon).pick(x, result)


def rare_expm1(m: Kit, x: Num) -> Flag:
    """Whether s - 1 may not be exact, or x is no number."""
    return m.reaches(x, m.by(36.0, 16.0))


def usual_expm1(m: Kit, x: Num) -> Num:
    _, word, near, r, less = reduce(m, x)
    rest = less(beyond(m, r))
    s = m.power_of_two(word)
    whole, error = m.fast_two_sum(s - 1.0, s * near)
    return m.with_sign(whole + m.fma(s, rest, error), x)
