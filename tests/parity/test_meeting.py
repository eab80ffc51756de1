"""Many branches: paths meet again, so that regions stay small, and loops inside unrolled ones are loops."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitcore

from .compare import check


def branching(count: int, loop: bool) -> Any:
    """A function with ``count`` branches in a row, in a loop or not."""
    lines = ["def f(a, n, x):", "    t = 0.0", *(["    for i in range(n):", "        x = a[i]"] if loop else [])]
    for k in range(count):
        indent = "        " if loop else "    "
        lines += [f"{indent}if x > {k}.5:", f"{indent}    t += {k}"]
    scope: dict[str, Any] = {}
    exec("\n".join([*lines, "    return t, x"]), scope)
    return scope["f"]


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("count", [6, 20, 60])
def test_branches_in_a_row(count, loop):
    func = branching(count, loop)
    values = np.random.default_rng(3).random(40) * count
    check(func, lambda: (values, 40, values[3]))
    graph = jitcore.trace(func, values, 40, values[3]).graph
    assert len(graph.blocks) < 100 + 12 * count


def test_loops_inside_unrolled_loops():
    def over_arrays(a, b, c):
        t = 0.0
        for array in (a, b, c):
            for i in range(len(array)):
                t += array[i]
        return t

    def repeated(a):
        t = 0.0
        for k in range(3):
            for i in range(len(a)):
                t += a[i] * k
        return t

    check(over_arrays, lambda: (np.arange(5.0), np.arange(4.0), np.ones(3)))
    check(repeated, lambda: (np.arange(5.0),))


def test_states_of_a_loop_are_bounded():
    """A function whose numbers change their types in many ways is left alone soon, not compiled without end."""
    def changing(a, n):
        x, y, z = 1, 1, 1
        for i in range(n):
            for _ in range(n):
                for _ in range(n):
                    if x > 3:
                        x = a[i]
                    elif y > x:
                        y = x * 0.5
                    else:
                        z, x = y, z
                    if z:
                        z = -z
                    y, z = z, y
        return x, y, z

    counts = check(changing, lambda: (np.arange(4.0), 4), native=None)
    assert counts.compile_seconds < 20
