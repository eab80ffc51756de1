"""arcsinh, arccosh, arctanh.

Method: arcsinh |x| = log(|x| + sqrt(x**2 + 1)) and arccosh x = log(x + sqrt(x**2 - 1)), where square, root and sum are
kept with their errors (the sum of two numbers each), so that nothing is lost near 0 and near 1.  arctanh |x| is half
of log(n / d) with n = 1 + |x|, d = 1 - |x|: with the k for which n is nearest to 2**k d

    arctanh |x| = k ln 2 / 2 + arctanh s,  s = (n - 2**k d) / (n + 2**k d)

and a minimax polynomial (``tables.py``: "atanh").  The bits of n and d, taken as integers, are nearly their logarithms,
and their difference gives k; |s| is at most 0.2005, and x itself where k is 0.

Error in units of the last place: of the first two that of ``log``, 1/2 for the last sum and 3/8 below it; arctanh 1/2,
1/4 for the rest.  Special values and their flags come from a square root of a negative number, and a division by 0.
"""
from __future__ import annotations

from jitcore.backends.math.kit import Flag, Kit, Num, Word
from jitcore.backends.math.logarithm import log_of_sum
from jitcore.backends.math.tables import CONSTANTS, POLYNOMIALS


def _most(m: Kit) -> float:
    """Of a lesser number the square is one too; beyond it 1 is nothing beside that."""
    return m.by(2.0**500, 2.0**60)


def _root(m: Kit, x: Num, one: float) -> tuple[Num, Num]:
    """sqrt(x**2 + one) as a sum of two numbers, for ``one`` of 1 or -1 and a sum that is not negative."""
    square, low = m.two_product(x, x)
    whole, error = m.two_sum(square, m.num(one))
    root = m.sqrt(whole)
    # The least number is added for a root of 0.
    rest = m.exact_difference(whole, root, root) + (error + low)
    return root, rest * (0.5 / (root + m.format.tiny))


def rare_arcsinh(m: Kit, x: Num) -> Flag:
    return m.reaches(x, _most(m))


def usual_arcsinh(m: Kit, x: Num) -> Num:
    size = abs(x)
    root, low = _root(m, size, 1.0)
    u, lost = m.fast_two_sum(root, size)
    return m.with_sign(log_of_sum(m, u, lost + low), x)


def arcsinh(m: Kit, x: Num) -> Num:
    """The inverse of sinh; zeros and infinities for themselves."""
    size = abs(x)
    number, large = size < float("inf"), size >= _most(m)
    y = number.pick(size, 1.0)
    root, low = _root(m, large.pick(1.0, y), 1.0)
    u, lost = m.fast_two_sum(root, large.pick(1.0, y))
    return number.pick(m.with_sign(_beyond(m, y, large, u, lost + low), x), x)


def _beyond(m: Kit, x: Num, large: Flag, u: Num, lost: Num) -> Num:
    """log(u + lost), or where ``large`` holds log(2 x): as log(x / 4) + 3 ln 2, so that no number is too large."""
    return log_of_sum(m, large.pick(x * 0.25, u), large.pick(0.0, lost), large.pick(3.0, 0.0))


def rare_arccosh(m: Kit, x: Num) -> Flag:
    return m.outside(x, 1.0, _most(m))


def usual_arccosh(m: Kit, x: Num) -> Num:
    root, low = _root(m, x, -1.0)
    u, lost = m.fast_two_sum(x, root)
    return log_of_sum(m, u, lost + low)


def arccosh(m: Kit, x: Num) -> Num:
    """The inverse of cosh, of which infinity is its own; NaN and invalid below 1."""
    inside, large = (x >= 1.0) & (x < float("inf")), x >= _most(m)
    y = inside.pick(x, 1.0)
    root, low = _root(m, large.pick(1.0, y), -1.0)
    u, lost = m.fast_two_sum(large.pick(1.0, y), root)
    return inside.pick(_beyond(m, y, large, u, lost + low), m.sqrt(inside.pick(2.0, x) - 1.0))


def rare_arctanh(m: Kit, x: Num) -> Flag:
    return m.reaches(x, 1.0)


def usual_arctanh(m: Kit, x: Num) -> Num:
    size = abs(x)
    n, n_low = m.fast_two_sum(1.0, size)
    d, d_low = m.fast_two_sum(1.0, -size)
    k, word = _halvings(m, n, d)
    scale = m.power_of_two(word)
    d, d_low = d * scale, d_low * scale
    bottom, bottom_low = m.fast_two_sum(n, d)
    inverse = 1.0 / bottom
    top = n - d         # exact
    t = top * inverse
    low = m.exact_difference(top, t, bottom) + m.fma(-t, bottom_low + (n_low + d_low), n_low - d_low)
    near = k < 0.5
    s, s_low = near.pick(size, t), near.pick(0.0, low * inverse)
    z = s * s
    first, second = (0.5 * part for part in CONSTANTS["ln2"][m.dtype])
    whole, error = m.fast_two_sum(k * first, s)
    rest = m.fma(s * z, m.polynomial(z, POLYNOMIALS["atanh"][m.dtype]), m.fma(k, second, s_low))
    return m.with_sign(whole + (error + rest), x)


def _halvings(m: Kit, n: Num, d: Num) -> tuple[Num, Word]:
    """The k for which n is near to d 2**k, as a number and as a word that holds it in its low bits."""
    fraction, bias = m.format.precision - 1, m.format.bias
    # Moved by the bias, so that it is a positive number, and by a half, so that it is rounded.
    difference = (n.word() - d.word()) + ((bias << fraction) + (1 << (fraction - 1)))
    word = difference >> fraction
    above = 2.0**fraction
    return (word | m.num(above).word()).num() - (above + bias), word - bias


def arctanh(m: Kit, x: Num) -> Num:
    """The inverse of tanh; infinity and divide at 1, NaN and invalid beyond."""
    size = abs(x)
    inside = size < 1.0
    result = usual_arctanh(m, inside.pick(x, 0.5))
    return m.with_sign(abs(inside.pick(result, 2.0 / m.sqrt(inside.pick(0.5, 1.0 - size)))), x)
