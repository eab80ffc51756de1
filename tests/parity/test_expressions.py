"""Random programs of array expressions: mixed dtypes, lengths of 0 and 1, all kinds of strides, stores into views that
overlap; results, their memory, warnings, exceptions and changed arguments are plain NumPy's.

``JITCORE_PROGRAMS`` sets how many are tried.
"""
from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jitcore

from .compare import same, same_call
from .expression_source import Expressions

#: Units in the last place between jitcore's own functions and NumPy's, each within 4 of the truth.
ULP = 8


def function(source: str) -> Any:
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, "<expressions>", "exec"), scope)
    return scope["f"]


def shared(values: list[Any]) -> list[bool]:
    """Which of some values are one object, and which arrays have memory in common."""
    return [a is b or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.may_share_memory(a, b))
            for k, a in enumerate(values) for b in values[:k]]


def keeping(func: Any, found: dict[Any, Any]) -> Any:
    """``func``, whose results go into ``found`` too."""
    def call(*args: Any) -> Any:
        found[func] = func(*args)
        return found[func]
    return call


def run(seed: int) -> jitcore.stats:
    rng = random.Random(seed)
    exact = rng.random() < 0.5
    program = Expressions(rng, exact)
    plain = function(program.source)
    fast = jitcore.accelerate(precision="numpy" if exact else "default")(function(program.source))
    for n in (0, 0, 1, 2, 1):
        first, second = program.arguments(n), program.arguments(n)
        given = "".join(f"  {a!r} {getattr(a, 'strides', '')}\n" for a in first)
        where = f"seed {seed}, arguments {n}\n{given}{program.source}\n"
        found: dict[Any, Any] = {}
        same_call(keeping(plain, found), keeping(fast, found), (first, {}), (second, {}), ulp=0 if exact else ULP,
                  where=where)
        if isinstance(found.get(plain), tuple):
            same(shared([*first, *found[plain]]), shared([*second, *found[fast]]), where=where + "shared memory")
    return jitcore.stats(fast)


def test_random_expressions():
    counted = []

    @settings(max_examples=int(os.environ.get("JITCORE_PROGRAMS", "30")), deadline=None, derandomize=True,
              suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32))
    def property(seed):
        counted.append(run(seed))

    property()
    assert sum(counts.native_calls > 0 for counts in counted) > len(counted) // 3
