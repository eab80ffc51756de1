"""sin, cos, tan.

Method: x = k pi/2 + r with |r| <= pi/4 (``reduction``), r = high - excess; then minimax polynomials in z = high**2
(``tables.py``):

    sin r = high - (high z s(z) + excess),  cos r = 1 - (high**2 / 2 - (z**2 c(z) + high excess)),

    tan r = high / (1 - z t(z)),

and by the quadrant one of them, or its negative; of the tangent also -1 / tan r.  r cot r, which is what divides, needs
about half of the terms that the tangent would: its series converges up to pi, not pi/2.

Error in units of the last place: sine 1/2 for the last sum and 1/4 for what is subtracted; cosine 1/2, and 1/4 for what
is subtracted; tangent 1/2 for the last sum, which corrects the quotient, 1/4 each for z and the polynomial.
Subtracting the excess, of which a zero is +0, keeps the sign of zeros.
"""
from __future__ import annotations

from jitcore.backends.math.kit import Flag, Kit, Num, Word
from jitcore.backends.math.reduction import LIMIT, Angle, reduce, reduce_any
from jitcore.backends.math.tables import POLYNOMIALS


def rare(m: Kit, x: Num) -> Flag:
    """Whether x is large or no number."""
    return m.reaches(x, LIMIT[m.dtype])


def _sine(m: Kit, angle: Angle, z: Num) -> Num:
    p = m.polynomial(z, POLYNOMIALS["sin"][m.dtype])
    return angle.high - m.fma(angle.high * z, p, angle.excess)


def _cosine(m: Kit, angle: Angle, z: Num) -> Num:
    p = m.polynomial(z, POLYNOMIALS["cos"][m.dtype])
    rest = m.fma(z * z, p, angle.high * angle.excess)
    if m.has_fma:
        return 1.0 - m.fma(angle.high, angle.high * 0.5, -rest)
    # The square is rounded by itself, so that nothing else may be.
    near = 1.0 - z * 0.5
    return near + (((1.0 - near) - z * 0.5) + rest)


def _of_quadrant(m: Kit, angle: Angle, quadrant: Word) -> Num:
    """sin(r), cos(r), -sin(r), -cos(r) for quadrants 0 to 3."""
    z = angle.high * angle.high
    odd = (quadrant << (m.format.bits - 1)) < 0
    value = odd.pick(_cosine(m, angle, z), _sine(m, angle, z))
    return m.flip(value, (quadrant << (m.format.bits - 2)) & (1 << (m.format.bits - 1)))


def _finite(x: Num, result: Num) -> Num:
    """NaN for infinities, with the flag of an invalid operation."""
    return (abs(x) < float("inf")).pick(result, x - x)


def usual_sin(m: Kit, x: Num) -> Num:
    angle = reduce(m, x)
    return _of_quadrant(m, angle, angle.quadrant)


def sin(m: Kit, x: Num) -> Num:
    angle = reduce_any(m, x)
    return _finite(x, _of_quadrant(m, angle, angle.quadrant))


def usual_cos(m: Kit, x: Num) -> Num:
    angle = reduce(m, x)
    return _of_quadrant(m, angle, angle.quadrant + 1)


def cos(m: Kit, x: Num) -> Num:
    angle = reduce_any(m, x)
    return _finite(x, _of_quadrant(m, angle, angle.quadrant + 1))


def _tangent(m: Kit, angle: Angle) -> Num:
    """high / bottom, or by the quadrant -bottom / high: the quotient q = n / d is corrected by what remains of n - q d,
    which counts what n and d lack."""
    z = angle.high * angle.high
    p = m.polynomial(z, POLYNOMIALS["tan"][m.dtype])
    product, error = (z * p, None) if m.has_fma else m.two_product(z, p)
    bottom = m.fma(z, -p, m.num(1.0)) if error is None else 1.0 - product
    low = m.fma(z, -p, 1.0 - bottom) if error is None else ((1.0 - bottom) - product) - error
    low = m.fma(angle.high * p, angle.excess * 2.0, low)
    # Near multiples of pi/2 the excess is no small part of the angle: a quotient needs what remains of it.
    high, rest = m.fast_two_sum(angle.high, -angle.excess)
    excess = -rest
    odd = (angle.quadrant << (m.format.bits - 1)) < 0
    n, n_less = odd.pick(-bottom, high), odd.pick(low, excess)
    d, d_low = odd.pick(high, bottom), odd.pick(-excess, low)
    inverse = 1.0 / d
    q = n * inverse
    # Subtracted, as a zero of it is +0, so that zeros keep their sign.
    return m.fma(m.fma(q, d_low, n_less - m.exact_difference(n, q, d)), -inverse, q)


def usual_tan(m: Kit, x: Num) -> Num:
    return _tangent(m, reduce(m, x))


def tan(m: Kit, x: Num) -> Num:
    return _finite(x, _tangent(m, reduce_any(m, x)))
