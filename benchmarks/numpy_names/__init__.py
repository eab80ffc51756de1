"""NumPy's names with sample arguments, for ``coverage.py`` and the tests.

Job: ``groups()`` gives every name that is walked, ``samples(group, name)`` the calls by which it is tried.  The names
come from the NumPy that is installed; the tables beside this module only say with which arguments a name is called,
never how it should run.  A name without a sample counts as missing.
"""
from __future__ import annotations

import types

import numpy as np

from . import methods, others, toplevel, ufuncs
from .worlds import Sample

#: Group -> what is in it, in the order of the page.
GROUPS = {
    "ufuncs": "ufunc names in `np`",
    "functions": "other functions in `np`",
    "linalg": "`np.linalg`",
    "fft": "`np.fft`",
    "random": "legacy functions of `np.random`",
    "Generator": "methods of `np.random.Generator`",
    "ndarray": "methods and attributes of `ndarray`",
    "ufunc methods": "methods and keywords of ufuncs",
}


def groups() -> dict[str, list[str]]:
    """Group -> names, as the installed NumPy has them."""
    public = [name for name in dir(np) if not name.startswith("_")]
    ufunc_names = [name for name in public if isinstance(getattr(np, name), np.ufunc)]
    return {
        "ufuncs": ufunc_names,
        "functions": [name for name in public if name not in ufunc_names and _is_function(getattr(np, name))],
        "linalg": [name for name in sorted(np.linalg.__all__) if _is_function(getattr(np.linalg, name))],
        "fft": sorted(np.fft.__all__),
        "random": [name for name in sorted(np.random.__all__) if _is_function(getattr(np.random, name))],
        "Generator": [name for name in dir(np.random.Generator) if not name.startswith("_")],
        "ndarray": [name for name in dir(np.ndarray) if not name.startswith("_")],
        "ufunc methods": list(methods.OF_UFUNCS),
    }


def _is_function(obj: object) -> bool:
    return callable(obj) and not isinstance(obj, (type, types.ModuleType))


def same_object(group: str, name: str, other: str) -> bool:
    """Whether two names are one ufunc or function of ``np``."""
    return group in ("ufuncs", "functions") and getattr(np, name) is getattr(np, other)


def samples(group: str, name: str) -> list[Sample]:
    """The calls by which ``name`` is tried; none if nobody has written down arguments for it."""
    if group == "ufuncs":
        return ufuncs.samples(name)
    table = {"functions": toplevel.CALLS, "linalg": others.LINALG, "fft": others.FFT, "random": others.RANDOM,
             "Generator": others.GENERATOR, "ndarray": methods.OF_ARRAYS, "ufunc methods": methods.OF_UFUNCS}[group]
    calls = table.get(name, ())
    return others.expand(group, name, calls)
