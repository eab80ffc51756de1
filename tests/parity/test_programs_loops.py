"""Whole programs full of loops and branches (``benchmarks/loop_programs``): equal to the bit, native to their end."""
from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitcore

from .compare import observe, same


def _load() -> dict[str, Any]:
    """The registry; the benchmarks are no package that could be imported."""
    folder = Path(__file__).resolve().parents[2] / "benchmarks" / "loop_programs"
    spec = importlib.util.spec_from_file_location("loop_programs", folder / "__init__.py",
                                                  submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    module = sys.modules["loop_programs"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PROGRAMS


PROGRAMS = _load()
CALLS = 3
SCALE, LARGER = 0.002, 0.006


def copied(func: types.FunctionType) -> types.FunctionType:
    """``func`` and the helpers of its module that it names, with code objects of their own: no mark meets another."""
    names = dict(func.__globals__)
    for name in func.__code__.co_names:
        helper = names.get(name)
        if isinstance(helper, types.FunctionType) and helper.__module__ == func.__module__:
            names[name] = copied(helper)
    copy = types.FunctionType(func.__code__.replace(), names, func.__name__, func.__defaults__)
    copy.__module__ = func.__module__
    return copy


def states(args: tuple[Any, ...]) -> list[Any]:
    return [value.bit_generator.state for value in args if isinstance(value, np.random.Generator)]


def compare(program: Any, fast: Any, scale: float = SCALE, calls: int = CALLS) -> jitcore.stats:
    plain = copied(program.func)
    for call in range(calls):
        args, args2 = program.arguments(scale), program.arguments(scale)
        a, b = observe(plain, args, {}), observe(fast, args2, {})
        where = f"{program.name}, call {call}"
        assert a.kind == b.kind == "return", f"{where}: {a.value!r} -> {b.value!r}"
        same(a.value, b.value, where=where)
        same(args, args2, where=f"{where}: arguments")
        assert states(args) == states(args2), f"{where}: state of the generator"
        assert a.warnings == b.warnings, where
    return jitcore.stats(fast)


def accelerated(program: Any) -> Any:
    """Where the default precision may differ from NumPy in the last place, bits are compared with NumPy's own loops."""
    return jitcore.accelerate(precision="numpy" if program.tolerance else "default")(copied(program.func))


def warmed(program: Any) -> Any:
    """Accelerated, and called ``CALLS`` times."""
    fast = accelerated(program)
    for _ in range(CALLS):
        fast(*program.arguments(SCALE))
    return fast


@pytest.mark.parametrize("name", PROGRAMS)
def test_equal(name):
    program = PROGRAMS[name]
    fast = accelerated(program)
    compare(program, fast)
    compare(program, fast, LARGER)


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.tolerance])
def test_within_tolerance_with_default_precision(name):
    program = PROGRAMS[name]
    plain, fast = copied(program.func), jitcore.accelerate(copied(program.func))
    args, args2 = program.arguments(SCALE), program.arguments(SCALE)
    results = (plain(*args), *args), (fast(*args2), *args2)
    for a, b in zip(*results):
        assert type(a) is type(b)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(b, a, rtol=program.tolerance, atol=program.tolerance * np.abs(a).max())


@pytest.mark.parametrize("name", PROGRAMS)
def test_native_to_its_end(name):
    """No hand-over to the interpreter; operations through Python only where the program calls something opaque."""
    program = PROGRAMS[name]
    counts = jitcore.stats(warmed(program))
    assert counts.native_calls == counts.calls == CALLS and counts.leaves == 0, counts
    assert program.calls or counts.site_calls == 0, counts


@pytest.mark.parametrize("name", PROGRAMS)
def test_compilation_stays_small(name):
    """A few regions; none more for further calls, nor for arguments of another length."""
    program = PROGRAMS[name]
    fast = warmed(program)
    counts = jitcore.stats(fast)
    assert counts.compiles <= 12 and counts.compile_seconds < 20, counts
    for scale in (SCALE, LARGER, SCALE):
        fast(*program.arguments(scale))
    assert jitcore.stats(fast).compiles == counts.compiles, counts
