"""Density of sea water from its salinity, temperature and pressure: the equation of state EOS-80.

N. P. Fofonoff, R. C. Millard Jr.: Algorithms for computation of fundamental properties of seawater, UNESCO technical
papers in marine science 44 (1983).  The check values are the paper's.
"""
from __future__ import annotations

import numpy as np
from report import report

import jitcore


def density_at_surface(s, t):
    """kg/m3 at one atmosphere; practical salinity ``s``, ``t`` in degrees Celsius (IPTS-68)."""
    water = 999.842594 + (6.793952e-2 + (-9.095290e-3 + (1.001685e-4
                                                         + (-1.120083e-6 + 6.536332e-9 * t) * t) * t) * t) * t
    b = 8.24493e-1 + (-4.0899e-3 + (7.6438e-5 + (-8.2467e-7 + 5.3875e-9 * t) * t) * t) * t
    c = -5.72466e-3 + (1.0227e-4 - 1.6546e-6 * t) * t
    return water + (b + c * np.sqrt(s) + 4.8314e-4 * s) * s


def secant_bulk_modulus(s, t, p):
    """Bars; ``p`` is the pressure above the atmosphere's, in bars."""
    root = np.sqrt(s)
    kw = 19652.21 + (148.4206 + (-2.327105 + (1.360477e-2 - 5.155288e-5 * t) * t) * t) * t
    aw = 3.239908 + (1.43713e-3 + (1.16092e-4 - 5.77905e-7 * t) * t) * t
    bw = 8.50935e-5 + (-6.12293e-6 + 5.2787e-8 * t) * t
    k0 = kw + (54.6746 + (-0.603459 + (1.09987e-2 - 6.1670e-5 * t) * t) * t
               + (7.944e-2 + (1.6483e-2 - 5.3009e-4 * t) * t) * root) * s
    a = aw + (2.2838e-3 + (-1.0981e-5 - 1.6078e-6 * t) * t + 1.91075e-4 * root) * s
    b = bw + (-9.9348e-7 + (2.0816e-8 + 9.1697e-10 * t) * t) * s
    return k0 + (a + b * p) * p


@jitcore.accelerate
def density(s, t, p):
    """kg/m3 of sea water at ``p`` bars below the surface's pressure."""
    return density_at_surface(s, t) / (1 - p / secant_bulk_modulus(s, t, p))


#: Salinity, temperature, pressure in bars, density: UNESCO 44.
CHECK_VALUES = (
    (0, 5, 0, 999.96675), (0, 5, 1000, 1044.12802), (0, 25, 0, 997.04796), (0, 25, 1000, 1037.90204),
    (35, 5, 0, 1027.67547), (35, 5, 1000, 1069.48914), (35, 25, 0, 1023.34306), (35, 25, 1000, 1062.53817),
)


def main() -> None:
    s, t, p, published = (np.array(column, dtype=np.float64) for column in zip(*CHECK_VALUES))
    worst = np.max(np.abs(density(s, t, p) - published))
    print(f"The paper's {len(CHECK_VALUES)} check values: largest difference {worst:.1e} kg/m3")
    if worst > 5.1e-6:
        raise SystemExit("the formula is wrong")
    rng = np.random.default_rng(3)
    n = 1_000_000
    report("Equation of state, 1,000,000 float64", density, rng.uniform(30, 40, n), rng.uniform(-2, 30, n),
           rng.uniform(0, 1000, n))
    # Profiles: 500 depths below 2,000 places, the pressure one column that broadcasts.
    report("Equation of state, 500 x 2,000 profiles", density, rng.uniform(30, 40, (500, 2000)),
           rng.uniform(-2, 30, (500, 2000)), np.linspace(0, 1000, 500)[:, None])


if __name__ == "__main__":
    main()
