"""sinh, cosh, tanh.

Method: x = k ln 2 + r as for exp; with s = 2**k, cosh r = 1 + c and sinh r (minimax polynomials, ``tables.py``:
"cosh", "sinh")

    sinh x = A + A c + B sinh r,  cosh x = B + B c + A sinh r,  A = (s - 1/s) / 2,  B = (s + 1/s) / 2,

which needs no division, and is sinh r alone where k is 0.  Of sinh the sum A + B r is kept with its error.  Where 1/s
no
longer counts they are e**x / 2.  tanh |x| = -m / (2 + m), m = e**(-2 |x|) - 1, numerator, denominator and quotient with
their errors (the sum of two numbers each).
"""
from __future__ import annotations

from jitcore.backends.math.exponential import beyond, exp_reduced, reduce
from jitcore.backends.math.kit import Flag, Kit, Num, Word
from jitcore.backends.math.tables import POLYNOMIALS


def rare_large(m: Kit, x: Num) -> Flag:
    """Whether 2**(k - 1) may be no number."""
    return m.reaches(x, m.by(708.0, 87.0))


def _halves(m: Kit, k: Word) -> tuple[Num, Num]:
    """2**k / 2 and 2**-k / 2, for k of at least 0."""
    form = m.format
    bits = ((k + (form.bias - 1)) << (form.precision - 1))
    return bits.num(), (m.word((2 * form.bias - 2) << (form.precision - 1)) - bits).num()


def _even(m: Kit, z: Num) -> Num:
    """cosh r - 1."""
    return z * m.polynomial(z, POLYNOMIALS["cosh"][m.dtype])


def _sinh(m: Kit, size: Num) -> Num:
    _, word, near, r, less = reduce(m, size)
    up, down = _halves(m, word)
    a, b = up - down, up + down
    z = r * r
    rest = less(r * z * m.polynomial(z, POLYNOMIALS["sinh"][m.dtype]))
    product, first = m.two_product(near, b)
    whole, second = m.fast_two_sum(a, product)
    lost = (up - a) - down
    return whole + (m.fma(a, _even(m, z), b * rest) + (first + (second + lost)))


def _cosh(m: Kit, size: Num) -> Num:
    _, word, near, r, less = reduce(m, size)
    up, down = _halves(m, word)
    a, b = up - down, up + down
    z = r * r
    rest = less(r * z * m.polynomial(z, POLYNOMIALS["sinh"][m.dtype]))
    lost = down - (b - up)
    if m.has_fma:
        return b + m.fma(a, near, m.fma(b, _even(m, z), m.fma(a, rest, lost)))
    # The product is rounded by itself, which would be too much.
    product, first = m.two_product(near, a)
    whole, second = m.fast_two_sum(b, product)
    return whole + (b * _even(m, z) + (a * rest + (lost + (first + second))))


def _large(m: Kit, x: Num, size: Num, result: Num, bound: float) -> Num:
    """``result`` up to ``bound``, beyond e**|x| / 2."""
    top = m.by(712.0, 91.0)
    y = (size > top).pick(top, size)
    value, word = exp_reduced(m, y)
    large = m.scale(value, word - 1, (size.is_infinity(), float("inf")))
    return (size <= bound).pick(result, x.is_nan().pick(x, large))


def usual_sinh(m: Kit, x: Num) -> Num:
    return m.with_sign(_sinh(m, abs(x)), x)


def sinh(m: Kit, x: Num) -> Num:
    size, bound = abs(x), m.by(40.0, 20.0)
    small = (size <= bound).pick(size, 0.0)
    return m.with_sign(_large(m, size, size, _sinh(m, small), bound), x)


def usual_cosh(m: Kit, x: Num) -> Num:
    return _cosh(m, abs(x))


def cosh(m: Kit, x: Num) -> Num:
    size, bound = abs(x), m.by(40.0, 20.0)
    small = (size <= bound).pick(size, 0.0)
    return _large(m, size, size, _cosh(m, small), bound)


def rare_tanh(m: Kit, x: Num) -> Flag:
    """Whether e**(-2 |x|) may be no normal number."""
    return m.reaches(x, m.by(350.0, 43.0))


def usual_tanh(m: Kit, x: Num) -> Num:
    y = abs(x) * -2.0
    _, word, near, r, less = reduce(m, y)
    s = m.power_of_two(word)
    one, lost = m.fast_two_sum(-1.0, s)
    whole, error = m.fast_two_sum(one, s * near)
    high, low = m.fast_two_sum(whole, m.fma(s, less(beyond(m, r)), error + lost))
    below, lost = m.fast_two_sum(2.0, high)
    inverse = 1.0 / below
    q = high * inverse
    left = m.exact_difference(high, q, below) + m.fma(-q, lost + low, low)
    return m.with_sign(abs(m.fma(left, inverse, q)), x)


def tanh(m: Kit, x: Num) -> Num:
    y = (abs(x) < 30.0).pick(x, 30.0)
    result = usual_tanh(m, y)
    return x.is_nan().pick(x, m.with_sign(abs(result), x))
