"""sinh, cosh, tanh.

Method: x = k ln 2 + r as for exp; with s = 2**k, cosh r = 1 + c and sinh r (minimax polynomials, ``tables.py``:
"cosh", "sinh")

    sinh x = A + A c + B sinh r,  cosh x = B + B c + A sinh r,  A = (s - 1/s) / 2,  B = (s + 1/s) / 2,

which needs no division, and is sinh r alone where k is 0.  Of sinh the sum A + B r is kept with its error.  Where 1/s
no
longer counts they are e**x / 2.

tanh: |x| = k ln 2 / 2 + v, and by the addition theorem, with s = 2**-k and the polynomial "tanh" for t = tanh v

    tanh |x| = ((1 - s) + (1 + s) t) / ((1 + s) + (1 - s) t),

numerator, denominator and quotient with their errors (the sum of two numbers each).
"""
from __future__ import annotations

from jitcore.backends.math.exponential import exp_reduced, reduce
from jitcore.backends.math.kit import Flag, Kit, Num, Word
from jitcore.backends.math.tables import CONSTANTS, POLYNOMIALS


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


def _parts(m: Kit, size: Num) -> tuple[Num, Num, Num, Num, Num]:
    """2**k / 2 and 2**-k / 2, what is near r, cosh r - 1, and sinh r less the former."""
    _, word, near, r, less = reduce(m, size)
    up, down = _halves(m, word)
    z = r * r
    return up, down, near, _even(m, z), less(r * z * m.polynomial(z, POLYNOMIALS["sinh"][m.dtype]))


def _sinh(m: Kit, size: Num) -> Num:
    up, down, near, even, rest = _parts(m, size)
    a, b = up - down, up + down
    product, first = m.two_product(near, b)
    whole, second = m.fast_two_sum(a, product)
    lost = (up - a) - down
    return whole + (m.fma(a, even, b * rest) + (first + (second + lost)))


def _cosh(m: Kit, size: Num) -> Num:
    up, down, near, even, rest = _parts(m, size)
    a, b = up - down, up + down
    lost = down - (b - up)
    # Not a times near: what a lacks counts where 1/s is just about to vanish beside s.
    if m.has_fma:
        return b + m.fma(up, near, m.fma(down, -near, m.fma(b, even, m.fma(a, rest, lost))))
    # The product is rounded by itself, which would be too much.
    whole, error = m.fast_two_sum(b, up * near)
    return whole + (b * even + (a * rest + (lost + (error - down * near))))


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
    """Whether s may be no normal number."""
    return m.reaches(x, m.by(350.0, 43.0))


def usual_tanh(m: Kit, x: Num) -> Num:
    size = abs(x)
    # Not quite the nearest k, so that where it is 1 the numerator is more than 1/4 and its error exact.
    k, word = m.nearest(size - 0.02, 2.0 * CONSTANTS["log2e"][m.dtype][0])
    first, second = (0.5 * part for part in CONSTANTS["ln2"][m.dtype])
    near = m.fma(k, -first, size)       # exact
    v = m.fma(k, -second, near)
    z = v * v
    rest = m.fma(k, -second, v * z * m.polynomial(z, POLYNOMIALS["tanh"][m.dtype]))
    s = m.power_of_two(m.word(0) - word)
    a, b = 1.0 - s, 1.0 + s
    above, error = _sum(m, a, b, near)
    above_low = m.fma(b, rest, error + ((1.0 - a) - s))
    t = near + rest
    below = m.fma(a, t, b)
    below_low = m.fma(a, t, (1.0 - below) + s)
    inverse = 1.0 / below
    q = above * inverse
    left = m.fma(-q, below_low, m.exact_difference(above, q, below) + above_low)
    return m.with_sign(m.fma(left, inverse, q), x)


def _sum(m: Kit, a: Num, b: Num, x: Num) -> tuple[Num, Num]:
    """a + b x for a greater a, or a of 0, and what that lacks."""
    if m.has_fma:
        total = m.fma(b, x, a)
        return total, m.fma(b, x, a - total)
    product, first = m.two_product(b, x)
    total, second = m.fast_two_sum(a, product)
    return total, first + second


def tanh(m: Kit, x: Num) -> Num:
    y = (abs(x) < 30.0).pick(x, 30.0)
    result = usual_tanh(m, y)
    return x.is_nan().pick(x, m.with_sign(abs(result), x))
