"""A marked recursive function goes as deep as an ordinary one."""
from __future__ import annotations

import pytest

from .child import run_child

CHILD = """
    import sys, threading
    import jitcore

    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    if sys.argv[1] == "marked":
        jitcore.accelerate(down)
    down(5)
    depth = int(sys.argv[2])
    sys.setrecursionlimit(1_000_000 if depth > 1000 else 1000)
    try:
        print(down(depth))
    except RecursionError as error:
        print(type(error).__name__, error)
"""


def run(*args: str) -> str:
    return run_child(CHILD, *args).stdout


def test_fifty_thousand_deep():
    assert run("marked", "50000") == run("plain", "50000") == "50000\n"


@pytest.mark.parametrize("depth", [900, 1000])
def test_the_limit_is_the_same(depth):
    assert run("marked", str(depth)) == run("plain", str(depth))
