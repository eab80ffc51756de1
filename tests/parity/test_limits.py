"""The programs of ``limits`` at every level of LLVM's optimisation."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .limits import compare_all

ROOT = Path(__file__).parents[2]


def test_limits():
    assert compare_all() > 500


@pytest.mark.parametrize("level", ["0", "1", "3"])
def test_limits_at_a_lower_level(level):
    done = subprocess.run([sys.executable, "-m", "tests.parity.limits"], cwd=ROOT, capture_output=True, text=True,
                          timeout=200, env={**os.environ, "JITCORE_OPTIMISE": level})
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) > 500
