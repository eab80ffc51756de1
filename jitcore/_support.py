"""Whether this interpreter and this NumPy can be served, and the inert package where they cannot.

Job: decide once, at import, before anything else of jitcore is imported.  Invariants: importing jitcore works
everywhere; where it cannot serve, ``accelerate`` is the identity and one warning says why (none for JITCORE=0).
"""
from __future__ import annotations

import sys
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from jitcore import config
from jitcore.errors import DeviceError

#: Reviewed CPython versions (see csrc/frame_compat.h), first and last NumPy release tested.
PYTHONS = ((3, 11), (3, 12), (3, 13))
NUMPY_FIRST, NUMPY_LAST = (2, 1), (2, 6)


def _obstacle() -> str:
    """Why jitcore cannot serve here; empty if it can."""
    if sys.implementation.name != "cpython":
        return f"jitcore serves CPython only, this is {sys.implementation.name}"
    if sys.version_info[:2] not in PYTHONS:
        known = ", ".join(f"{major}.{minor}" for major, minor in PYTHONS)
        return f"CPython {sys.version_info[0]}.{sys.version_info[1]} has not been reviewed (known: {known})"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "free-threaded builds of CPython are not served yet"
    version = tuple(int(part) for part in np.__version__.split(".")[:2])
    if not NUMPY_FIRST <= version <= NUMPY_LAST:
        return (f"NumPy {np.__version__} is outside the tested range {NUMPY_FIRST[0]}.{NUMPY_FIRST[1]} to "
                f"{NUMPY_LAST[0]}.{NUMPY_LAST[1]}")
    try:
        import jitcore._core  # noqa: F401
    except ModuleNotFoundError:
        return ("this is the source folder, where the extension module was not built: start Python in another folder, "
                "or install with pip install -e .")
    except ImportError as error:
        return f"the extension module cannot be used here: {error}"
    return ""


OBSTACLE = "JITCORE=0" if config.inert else _obstacle()
USABLE = not OBSTACLE

if not USABLE and not config.inert:
    warnings.warn(f"jitcore is inert: {OBSTACLE}; functions run as they are", RuntimeWarning, stacklevel=3)


class DeviceArray:
    """There are none: jitcore is inert here."""


def to_device(x: Any) -> Any:
    """Not to be had: jitcore is inert here.  Raises ``DeviceError``."""
    raise DeviceError(f"jitcore is inert: {OBSTACLE}")


def synchronize() -> None:
    """Nothing to do: jitcore is inert here."""


def accelerate(func: Any = None, /, *, precision: str = "default", device: str = "auto") -> Any:
    """The identity: jitcore is inert here."""
    options = config.Options(precision=precision, device=device)
    return (lambda f: f) if func is None and options else func


def never(func: Any) -> Any:
    """The identity: jitcore is inert here."""
    return func


def disable() -> None:
    """Nothing to do: jitcore is inert here."""


def enable(modules: Any = None, *, precision: str = "default", threshold: int | None = None) -> None:
    """Nothing to do: jitcore is inert here."""


@contextmanager
def disabled() -> Iterator[None]:
    """Nothing to do: jitcore is inert here."""
    yield


def stats(func: object = None) -> Any:
    """All counts are zero: jitcore is inert here."""
    return SimpleNamespace(calls=0, native_calls=0, site_calls=0, kernels=0, compiles=0, compile_seconds=0.0,
                           guard_misses=0, leaves=0, found=0)


def explain(func: Any, *args: Any, **kwargs: Any) -> None:
    """Print why jitcore is inert here."""
    print(f"jitcore is inert: {OBSTACLE}")


def trace(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Not to be had: jitcore is inert here.  Raises ``RuntimeError``."""
    raise RuntimeError(f"jitcore is inert: {OBSTACLE}")
