"""Random functions with nested loops, branches, numbers, arrays, slices and stores: the same as in the interpreter.

``JITCORE_PROGRAMS`` sets how many are tried.
"""
from __future__ import annotations

import math
import os
import random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jitcore

from .compare import observe, same
from .program_source import Program


def function(source: str) -> Any:
    scope: dict[str, Any] = {"np": np, "math": math}
    exec(compile(source, "<program>", "exec"), scope)
    return scope["f"]


def arguments(rng: random.Random) -> list[tuple[Any, ...]]:
    made = []
    for _ in range(2):
        n, m = rng.choice([1, 2, 5, 8]), rng.choice([0, 1, 3, 6, 9])
        a = np.array([rng.choice([0.0, 1.5, -2.0, 3.25, 1e200]) for _ in range(n)])
        if rng.random() < 0.2:
            a = np.repeat(a, 2)[::2]
        b = np.array([rng.choice([0, 1, -3, 7, 2**62]) for _ in range(n)])
        g = np.array([[rng.choice([0.0, 1.5, -3.0]) for _ in range(3)] for _ in range(2)])
        made.append((a, b, np.asfortranarray(g) if rng.random() < 0.2 else g, m, rng.choice([0.5, -1.0, 2.0])))
    return made


def run(seed: int, rich: bool = True) -> jitcore.stats:
    rng = random.Random(seed)
    source = Program(rng, rich).source
    plain, fast = function(source), jitcore.accelerate(function(source))
    for args in arguments(rng):
        for _ in range(2):
            first, second = (tuple(v.copy() if isinstance(v, np.ndarray) else v for v in args) for _ in "12")
            x, y = observe(plain, first, {}), observe(fast, second, {})
            where = f"seed {seed}, {args}\n{source}\n"
            assert x.kind == y.kind and type(x.value) is type(y.value), f"{where}{x.value!r} -> {y.value!r}"
            same(x.value, y.value, where=where)
            same(first, second, where=where + "arguments")
            assert x.warnings == y.warnings, f"{where}{x.warnings} -> {y.warnings}"
            assert x.printed == y.printed, f"{where}{x.printed} -> {y.printed}"
            if x.kind == "raise":
                assert lines(x.value) == lines(y.value), where
    return jitcore.stats(fast)


def lines(error: BaseException) -> list[int]:
    found, traceback = [], error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<program>":
            found.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def test_random_programs():
    """Most of them raise or hand over somewhere: that is what is looked for; but all in all native code runs."""
    counted = []

    @settings(max_examples=int(os.environ.get("JITCORE_PROGRAMS", "60")), deadline=None, derandomize=True,
              suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32), st.booleans())
    def property(seed, rich):
        counted.append(run(seed, rich))

    property()
    ran = sum(counts.native_calls + counts.leaves > 0 for counts in counted)
    assert ran > len(counted) // 2
