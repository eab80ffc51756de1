"""Forms of an index: a list, a range and an array choose items, a tuple names axes; empty ones choose none."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .compare import check

READ = ["a[[]]", "a[[],]", "a[[], []]", "b[[]]", "b[:, []]", "b[[], 1]", "b[(),]", "a[()]", "a[[[]]]", "a[[]] + 0",
        "a.take([])", "np.take(a, [], axis=0)", "a[np.array([], int)]", "a[[True, False, True]]", "b[[0]]", "b[[[0]]]",
        "a[[], None]", "a[..., []]", "b[[0, 1], []]", "b[[0], []]", "a[range(2)]", "b[range(2)]", "b[:, range(2)]",
        "a[range(0)]", "np.take(a, range(2))", "np.array(range(n))", "np.concatenate([a, range(n)])", "b[[n - 2]]",
        "b[[[n - 2]]]", "b[(n - 2,)]", "b[[n - 2, 0]]", "a[[n - 1, n - 2]]", "a[[n]]", "b[np.ix_([0, 1], [n - 1])]"]
STORED = ["a[[]] = 1", "a[[]] = []", "b[[]] = 2", "b[:, []] = 3", "a[()] = 4", "b[[], 1] = 5", "a[[],] = 3",
          "a[[]] += 1", "a[range(2)] = 7", "b[range(2)] = [1, 2, 3]", "b[[0, 1]] = 9", "b[[[0]]] = 1",
          "b[[[0, 1]], [0, 1]] = 3", "a[[n - 1]] = 8", "b[[[n - 2]]] = 1", "a[[n]] = 1"]


def function(line: str) -> Any:
    scope: dict[str, Any] = {"np": np}
    exec(f"def f(a, b, n):\n    c = a * 2 + 1\n    r = None\n    {line}\n    return c, r, a, b\n", scope)
    return scope["f"]


@pytest.mark.parametrize("line", [f"r = {text}" for text in READ] + STORED)
def test_forms(line):
    check(function(line), lambda: (np.arange(1.0, 4), np.arange(6.0).reshape(2, 3), 3), native=None)
