"""jitcore's own vector math: at most 1 unit in the last place, the same code at every vector width.

Job: ``FUNCTIONS``, the functions by their C names.  Each is written once over ``kit.Num``, as code without branches,
for one number or a vector of any length, in the format of its argument.  ``link`` puts them into modules.
``docs/numerics.md`` states what was measured.

Invariants: special values as C's Annex F has them; no spurious invalid, divide or overflow flag, the genuine ones are
raised.  Numbers come from ``tables.py``, which ``benchmarks/numerics`` derives.  Used by the math hooks of the back
ends.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jitcore.backends.math import (
    exponential,
    hyperbolic,
    inverse,
    inverse_hyperbolic,
    logarithm,
    power,
    roots,
    trigonometric,
)
from jitcore.backends.math.kit import Flag, Num


@dataclass(frozen=True)
class Function:
    """``full(kit, *args)`` gives the result for any arguments.

    ``usual(kit, *args)`` gives it where ``rare(kit, *args)`` does not hold, with fewer operations and without raising
    what ``full`` would not.  A vector takes ``full`` if any of its lanes is rare.  ``together``: how many
    vectors at a time are fastest, 1, 2 or 4: the more, the longer the function, but those of which much is alive at
    the same time run out of registers.
    """

    arity: int
    full: Callable[..., Num]
    usual: Callable[..., Num] | None = None
    rare: Callable[..., Flag] | None = None
    together: int = 4


FUNCTIONS = {
    "exp": Function(1, exponential.exp, exponential.usual_exp, exponential.rare_exp),
    "exp2": Function(1, exponential.exp2, exponential.usual_exp2, exponential.rare_exp2),
    "expm1": Function(1, exponential.expm1, exponential.usual_expm1, exponential.rare_expm1),
    "log": Function(1, logarithm.log, logarithm.usual_log, logarithm.rare),
    "log2": Function(1, logarithm.log2, logarithm.usual_log2, logarithm.rare),
    "log10": Function(1, logarithm.log10, logarithm.usual_log10, logarithm.rare),
    "log1p": Function(1, logarithm.log1p, logarithm.usual_log1p, logarithm.rare_log1p),
    "sin": Function(1, trigonometric.sin, trigonometric.usual_sin, trigonometric.rare),
    "cos": Function(1, trigonometric.cos, trigonometric.usual_cos, trigonometric.rare),
    "tan": Function(1, trigonometric.tan, trigonometric.usual_tan, trigonometric.rare, together=2),
    "sinh": Function(1, hyperbolic.sinh, hyperbolic.usual_sinh, hyperbolic.rare_large, together=2),
    "cosh": Function(1, hyperbolic.cosh, hyperbolic.usual_cosh, hyperbolic.rare_large, together=2),
    "tanh": Function(1, hyperbolic.tanh, hyperbolic.usual_tanh, hyperbolic.rare_tanh),
    "asinh": Function(1, inverse_hyperbolic.arcsinh, inverse_hyperbolic.usual_arcsinh, inverse_hyperbolic.rare_arcsinh),
    "acosh": Function(1, inverse_hyperbolic.arccosh, inverse_hyperbolic.usual_arccosh, inverse_hyperbolic.rare_arccosh),
    "atanh": Function(1, inverse_hyperbolic.arctanh, inverse_hyperbolic.usual_arctanh, inverse_hyperbolic.rare_arctanh),
    "atan": Function(1, inverse.arctan, inverse.usual_arctan, inverse.rare_arctan),
    "atan2": Function(2, inverse.arctan2, inverse.usual_arctan2, inverse.rare_arctan2, together=2),
    "asin": Function(1, inverse.arcsin, inverse.usual_arcsin, inverse.rare_arcsin, together=2),
    "acos": Function(1, inverse.arccos, inverse.usual_arccos, inverse.rare_arcsin, together=2),
    "pow": Function(2, power.power, power.usual_power, power.rare_power),
    "cbrt": Function(1, roots.cbrt, roots.usual_cbrt, roots.rare_cbrt),
    "hypot": Function(2, roots.hypot, roots.usual_hypot, roots.rare_hypot, together=1),
}
