"""The programs of ``limits`` at every level of LLVM's optimisation."""
from __future__ import annotations

import pytest

from tests.child import run_child

from .limits import compare_all


def test_limits():
    assert compare_all() > 500


@pytest.mark.parametrize("level", ["0", "1", "3"])
def test_limits_at_another_level(level):
    done = run_child("from tests.parity.limits import compare_all; print(compare_all())", JITCORE_OPTIMISE=level)
    assert int(done.stdout) > 500
