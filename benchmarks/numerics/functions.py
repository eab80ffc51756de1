"""What is approximated: each polynomial's function, range and weight; each constant's value and split."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp

Function = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Polynomial:
    """``counts``: coefficients for float64 and float32.  ``exact``: leading coefficients that are given."""

    function: Function
    weight: Function
    low: mp.mpf
    high: mp.mpf
    counts: tuple[int, int]
    exact: tuple[mp.mpf, ...] = ()


mp.mp.prec = 240
_HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.0005")
_QUARTER = (mp.pi / 4) ** 2 * mp.mpf("1.001")
_S = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0005")

POLYNOMIALS = {
    # e**r = 1 + r + r**2 p(r)
    "exp": Polynomial(lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.exp(r), -_HALF_LN2, _HALF_LN2, (10, 5),
                      (mp.mpf(0.5),)),
    # e**r = 1 + r + r**2 / 2 + r**3 p(r), where more of it is kept than one number
    "expm1": Polynomial(lambda r: (mp.expm1(r) - r - r**2 / 2) / r**3, lambda r: r**3 / mp.exp(r), -_HALF_LN2,
                        _HALF_LN2, (10, 5)),
    # 2**r = 1 + r ln 2 + r**2 p(r)
    "exp2": Polynomial(lambda r: (mp.expm1(r * mp.log(2)) - r * mp.log(2)) / r**2, lambda r: r**2 / 2**r,
                       mp.mpf(-0.5), mp.mpf(0.5), (10, 5)),
    # log((1 + s) / (1 - s)) = 2 s + s z p(z), z = s**2
    "log": Polynomial(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, lambda z: z / 2, mp.mpf(0), _S,
                      (7, 3)),
    # atanh s = s + s z / 3 + s z**2 p(z), z = s**2
    "pow": Polynomial(lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1 - z / 3) / z**2, lambda z: z**2, mp.mpf(0), _S,
                      (8, 4)),
    # (1 - e)**(-1/3) = 1 + e p(e), where half of the bits are enough
    "cbrt": Polynomial(lambda e: ((1 - e) ** (-mp.mpf(1) / 3) - 1) / e, lambda e: e, mp.mpf("-0.1035"),
                       mp.mpf("0.1035"), (6, 3)),
    # sin r = r - r z p(z), z = r**2
    "sin": Polynomial(lambda z: (1 - mp.sin(mp.sqrt(z)) / mp.sqrt(z)) / z, lambda z: z, mp.mpf(0), _QUARTER, (6, 4)),
    # cos r = 1 - z / 2 + z**2 p(z)
    "cos": Polynomial(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, lambda z: z**2, mp.mpf(0), _QUARTER, (6, 3)),
    # tan r = r / (1 - z p(z))
    "tan": Polynomial(lambda z: (1 - mp.sqrt(z) * mp.cot(mp.sqrt(z))) / z, lambda z: z / (1 - z / 3), mp.mpf(0),
                      _QUARTER, (10, 5)),
    # cosh r = 1 + z p(z), sinh r = r + r z p(z), z = r**2
    "cosh": Polynomial(lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, lambda z: z, mp.mpf(0), _HALF_LN2**2, (5, 3)),
    "sinh": Polynomial(lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z, mp.mpf(0), _HALF_LN2**2,
                       (6, 4)),
    # tanh v = v + v z p(z), z = v**2
    "tanh": Polynomial(lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z, mp.mpf(0),
                       mp.mpf("0.1955") ** 2, (7, 3)),
    # arctanh s = s + s z p(z), z = s**2
    "atanh": Polynomial(lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z, mp.mpf(0),
                        mp.mpf("0.2005") ** 2, (8, 3)),
    # arctan t = t - t z p(z), arcsin s = s + s z p(z), z the square
    "atan": Polynomial(lambda z: (1 - mp.atan(mp.sqrt(z)) / mp.sqrt(z)) / z, lambda z: z, mp.mpf(0),
                       mp.mpf("0.3601"), (14, 6)),
    "asin": Polynomial(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z, mp.mpf(0),
                       mp.mpf("0.2501"), (12, 5)),
}

#: Value, and the bits of its parts for each format.  A first part with fewer bits leaves room for an exact product with
#: an integer.
CONSTANTS: dict[str, tuple[Callable[[], mp.mpf], dict[str, tuple[int, ...]]]] = {
    "ln2": (lambda: mp.log(2), {"d": (42, 53), "f": (16, 24)}),
    "ln2_full": (lambda: mp.log(2), {"d": (53, 53), "f": (24, 24)}),
    "log2e": (lambda: 1 / mp.log(2), {"d": (53, 53), "f": (24, 24)}),
    "log10e": (lambda: 1 / mp.log(10), {"d": (53, 53), "f": (24, 24)}),
    # The second part leaves room for the multiples that the usual range of the trigonometric functions has.
    "half_pi": (lambda: mp.pi / 2, {"d": (53, 33, 53), "f": (24, 13, 24)}),
    "half_pi_full": (lambda: mp.pi / 2, {"d": (53, 53), "f": (24, 24)}),
    "third": (lambda: mp.mpf(1) / 3, {"d": (53, 53), "f": (24, 24)}),
    "quarter_pi": (lambda: mp.pi / 4, {"d": (50, 53), "f": (21, 24)}),
    "two_over_pi": (lambda: 2 / mp.pi, {"d": (53,), "f": (24,)}),
    "log10_2": (lambda: mp.log10(2), {"d": (42, 53), "f": (16, 24)}),
}


def two_over_pi() -> list[int]:
    """2/pi in words of 32 bits, enough for the greatest float64."""
    count = (1024 + 53 + 3 * 64) // 32 + 1
    with mp.workprec(32 * count + 64):
        whole = int(mp.floor(mp.ldexp(2 / mp.pi, 32 * count)))
    return [(whole >> (32 * (count - 1 - i))) & 0xFFFFFFFF for i in range(count)]
