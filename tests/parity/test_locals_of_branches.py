"""Locals that only one of the paths that meet has bound, as callees see them."""
from __future__ import annotations

import pytest

import jitcore

from .compare import fresh_copy, same
from .test_sites_in_loops import Look


def branched(n, see):
    total = 0.0
    for i in range(n):
        x = i * 0.5 + total * 0.25
        if i % 2:
            odd = x * 3.0 - i  # noqa: F841
        total = total * 0.5 + x * 0.125 - x + i * 3 - 1.5 * x
        see(i, total)
    return total


@pytest.mark.xfail(reason="a number bound on one of the paths that meet, and read on none, is unbound", strict=True)
def test_locals_of_one_path():
    plain, fast = fresh_copy(branched), jitcore.accelerate(fresh_copy(branched))
    a, b = Look(), Look()
    same(plain(30, a), fast(30, b))
    same(a.notes, b.notes)
