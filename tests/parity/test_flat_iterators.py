"""Items of ``array.flat``: it takes other indices than the array does."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .compare import check

NATIVE = ["...", "(1,)", "(slice(1, 3),)", "[1, 2]", "np.array([1, 2])", "np.array([True] * 9)", "-1", "np.int64(3)",
          "slice(1, 9, 2)", "slice(5, 2)", "slice(None)", "np.zeros(0, int)"]
OTHERS = ["None", "()", "(...,)", "(1, 2)", "(None,)", "(..., 1)", "True", "np.array(1)", "np.array(True)", "1.0",
          "-10", "slice(None, None, -1)", "np.zeros((2, 2), int)", "([1, 2],)", "(np.array([1, 2]),)",
          "np.array([1.0])", "[]", "[True, False, True]", "'a'"]
VALUES = ["7", "np.arange(3)", "[1, 2]", "np.zeros(0)", "np.array(5)"]


def function(line: str) -> Any:
    scope: dict[str, Any] = {"np": np}
    exec(f"def f(a):\n    c = a * 2 + 1\n    r = None\n    {line}\n    return c, r, a\n", scope)
    return scope["f"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("index", NATIVE + OTHERS)
def test_items(index):
    for order in "CF":
        check(function(f"r = a.flat[{index}]"), lambda order=order: (np.arange(9).reshape(3, 3).copy(order),),
              native=True if index in NATIVE else None)
    for value in VALUES:
        check(function(f"a.flat[{index}] = {value}"), lambda: (np.arange(9.0).reshape(3, 3),), calls=2, native=None)
