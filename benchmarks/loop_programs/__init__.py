"""Whole functions full of loops and branches, as people write them, for ``loops.py`` and the parity tests.

Job: the registry.  Every module here has one function to compile (``FUNCTION``), ``arguments(scale)``, which makes new
arguments (at 1.0 plain Python takes some tenths of a second to some seconds), ``KIND`` and ``NUMBA``.  Nothing
in them is written for a compiler.
"""
from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_MODULES = ("mandelbrot", "nbody", "newton", "tax", "collatz", "sieve", "searching", "prefix", "matrix_product",
            "floyd_warshall", "edit_distance", "gauss_seidel", "heat", "wave", "life", "kmeans", "metropolis",
            "runge_kutta", "histogram", "levenshtein", "network")


@dataclass(frozen=True)
class Program:
    """One program.

    ``kind``: ``'scalar loop'`` or ``'array loop'``; ``numba``: whether Numba's ``njit`` compiles it, with ``reason``
    where it does not; ``calls``: what it calls that cannot be native, or ''; ``tolerance``: by how much results may
    differ (relative) where transcendental functions are not NumPy's own, 0 where every bit is the same.
    """

    name: str
    func: types.FunctionType
    arguments: Callable[..., tuple[Any, ...]]
    kind: str
    numba: bool
    reason: str
    calls: str
    tolerance: float


def _program(name: str) -> Program:
    module = importlib.import_module(f"{__name__}.{name}")
    reason = getattr(module, "NUMBA_REASON", "")
    if module.KIND not in ("scalar loop", "array loop") or module.NUMBA == bool(reason):
        raise ValueError(f"{name}: KIND or NUMBA")
    return Program(name, module.FUNCTION, module.arguments, module.KIND, module.NUMBA, reason,
                   getattr(module, "CALLS", ""), getattr(module, "TOLERANCE", 0.0))


PROGRAMS = {name: _program(name) for name in _MODULES}
