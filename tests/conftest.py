"""Tests run strictly: a failure inside the compiler raises, and graphs are verified after every pass.

They test the package that is installed.  ``python -m pytest`` puts the current folder, the repository, in front of it;
that is undone here where an installed package is found without it.
"""
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("JITCORE_STRICT", "1")


def _prefer_installed() -> None:
    root = Path(__file__).resolve().parent.parent
    if any((root / "jitcore" / f"_core{suffix}").exists() for suffix in importlib.machinery.EXTENSION_SUFFIXES):
        return                                  # built in place: that is the one to test
    before = sys.path[:]
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != root]
    if importlib.util.find_spec("jitcore") is None:
        sys.path[:] = before


_prefer_installed()


def pytest_sessionstart() -> None:
    """Functions that run as they are equal themselves: nothing would be tested where jitcore is inert."""
    import jitcore._support as support

    if not support.USABLE:
        pytest.exit(f"jitcore is inert: {support.OBSTACLE}", returncode=1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sweeps take minutes each: they run when they are asked for, and a quicker test beside each has a part of it."""
    if "slow" not in config.option.markexpr:
        for item in items:
            if item.get_closest_marker("slow") is not None:
                # For the time that it takes, and for nothing else: `-m slow` runs it.
                item.add_marker(pytest.mark.skip(reason="a sweep of minutes, run by -m slow"))


def pytest_report_header() -> str:
    """Says which package is under test."""
    import jitcore

    return f"jitcore {jitcore.__version__} from {Path(jitcore.__file__).parent}"
