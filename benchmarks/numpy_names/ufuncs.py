"""Samples of ufuncs: each loop that a ufunc has, in several layouts, with special values and with Python numbers."""
from __future__ import annotations

import numpy as np

from .worlds import COMPILED, Sample

#: Gufuncs by name: operands that fit their core dimensions.
_CORE = {
    "matmul": ("np.matmul(s, s)", "np.matmul(s, m)", "np.matmul(t, r)", "np.matmul(v3, s)"),
    "vecdot": ("np.vecdot(a, b)", "np.vecdot(m, n)"),
    "matvec": ("np.matvec(m, r)", "np.matvec(s, v3)"),
    "vecmat": ("np.vecmat(v3, m)", "np.vecmat(v3, s)"),
}
_CORE_WORLDS = ("float64", "float32 strided", "int64", "complex128", "bool", "uint8 Fortran", "float64 special")
#: Ufuncs whose second operand has to be small (shifts, powers of ints).
_SMALL = ("left_shift", "bitwise_left_shift", "right_shift", "bitwise_right_shift", "power", "pow", "ldexp")

#: Further layouts by the dtype of the first operand.
_LAYOUTS = {"d": ["broadcast", "scalar", "number", "special"], "l": ["broadcast", "number"], "f": ["broadcast"],
            "D": ["special", "scalar"]}


def samples(name: str) -> list[Sample]:
    """For each set of operand dtypes that ``np.NAME`` has a loop for."""
    ufunc = getattr(np, name)
    if name in _CORE:
        return [Sample("ufuncs", name, text, world) for text in _CORE[name] for world in _CORE_WORLDS]
    found: list[Sample] = []
    seen: set[str] = set()
    for loop in ufunc.types:
        chars = loop.partition("->")[0]
        if chars in seen or chars[0] in "hHiIqQ" or chars[-1] in "qQ":      # those in between are alike
            continue
        seen.add(chars)
        compiled = all(c in COMPILED for c in chars)
        layouts = ["small" if name in _SMALL else "plain"]
        if compiled and name not in _SMALL:
            layouts += _LAYOUTS.get(chars[0], [])
        elif compiled and chars[0] in "dD":
            layouts += ["special"]
        if ufunc.nin == 1 and "number" in layouts:
            layouts.remove("number")
        found += [_sample(name, chars, layout, compiled) for layout in layouts]
    return found


def _sample(name: str, chars: str, layout: str, ordinary: bool) -> Sample:
    names = [f"u_{'bool' if c == '?' else c}_{layout}_{k}" for k, c in enumerate(chars)]
    return Sample("ufuncs", name, f"np.{name}({', '.join(names)})", f"{chars} {layout}", ordinary)
