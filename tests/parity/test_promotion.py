"""Arrays, NumPy scalars and Python numbers of all compiled dtypes under all operators: dtypes of results (NEP 50),
values, warnings and exceptions are NumPy's.

A part is tried; ``JITCORE_PROGRAMS`` sets of how many pairs, 1008 are all, and then each meets all operators.
"""
from __future__ import annotations

import itertools
import os
import random
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, same_call

DTYPES = "? b h i l B H I L e f d F D".split()
PYTHON = {bool: "?", int: "l", float: "d", complex: "D"}
OPERATORS = ("x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x << y", "x >> y", "x & y", "x | y", "x ^ y",
             "x < y", "x <= y", "x == y", "x != y", "x > y", "x >= y", "divmod(x, y)", "x ** y")
#: Python ints at and beyond the limits of all dtypes.
LIMITS = tuple(sorted({sign * 2**bits + off for bits in (0, 7, 8, 15, 16, 31, 32, 63, 64, 100) for sign in (-1, 1)
                       for off in (-1, 0, 1)} | {0}))
PAIRS = int(os.environ.get("JITCORE_PROGRAMS", "42"))


@dataclass(frozen=True)
class Kind:
    """A kind of operand: an ``array``, a NumPy ``scalar`` (``what`` is a dtype's character), or a ``python`` number."""

    name: str
    what: Any

    def calm(self, right: bool) -> list[Any]:
        """Operands that no operator warns of; small on the right, where they may be shifts and exponents."""
        char = PYTHON.get(self.what, self.what)
        numbers = [True, True, True] if char == "?" else [1, 2, 3] if right else [7, 5, 6]
        if char in "FD":
            numbers = [n + 0.5j for n in numbers]
        return self.of(numbers)

    def wild(self, rng: random.Random) -> list[Any]:
        """Operands at the limits of the dtype."""
        if self.what is int:
            return rng.sample(LIMITS, 6)
        dtype = np.dtype(PYTHON.get(self.what, self.what))
        if dtype.kind == "b":
            return self.of([False, True, True])
        if dtype.kind in "iu":
            most = np.iinfo(dtype)
            numbers = [0, 1, 3, dtype.itemsize * 8, most.max, most.max - 1, most.min, most.min + 1, most.max // 2]
        else:
            most = np.finfo(dtype)
            numbers = [0.0, -0.0, 1.5, -2.0, 3.0, most.max, -most.max, most.tiny, most.smallest_subnormal, np.inf,
                       np.nan]
        if dtype.kind == "c":
            numbers = [complex(a, b) for a, b in zip(rng.sample(numbers, 6), rng.sample(numbers, 6))]
        return self.of(rng.sample(numbers, 6))

    def of(self, numbers: list[Any]) -> list[Any]:
        if self.name == "python":
            return [self.what(n) for n in numbers]
        array = np.array(numbers, dtype=self.what)
        return [array, array[::-1][:1]] if self.name == "array" else list(array)


def pairs() -> Iterator[tuple[Kind, Kind]]:
    strong = [[Kind(name, char) for char in DTYPES] for name in ("array", "scalar")]
    weak = [Kind("python", what) for what in PYTHON]
    for a, b in itertools.product(strong, repeat=2):
        yield from itertools.product(a, b)
    for a in strong:
        yield from itertools.product(a, weak)
        yield from itertools.product(weak, a)


ALL = list(pairs())
CHOSEN = random.Random(50).sample(ALL, min(PAIRS, len(ALL)))


def function(*bodies: str) -> types.FunctionType:
    scope: dict[str, Any] = {}
    exec(compile(f"def f(x, y):\n    return {', '.join(bodies)},\n", "<operators>", "exec"), scope)
    return scope["f"]


def is_defined(body: str, a: Kind, b: Kind) -> bool:
    try:
        eval(body, {"x": a.calm(False)[0], "y": b.calm(True)[0]})
    except TypeError:
        return False
    return True


def compare(bodies: tuple[str, ...], operands: Iterator[tuple[Any, Any]]) -> jitcore.stats:
    """The powers of floats have NumPy's bits where its own loops are asked for."""
    func = function(*bodies)
    fast = jitcore.accelerate(precision="numpy" if "x ** y" in bodies else "default")(fresh_copy(func))
    for x, y in operands:
        same_call(func, fast, ((x, y), {}), ((x, y), {}), where=f"{bodies} of {x!r}, {y!r}")
    return jitcore.stats(fast)


@pytest.mark.parametrize("part", range(14))
def test_operators(part):
    for number, (a, b) in list(enumerate(CHOSEN))[part::14]:
        rng = random.Random(number)
        defined = tuple(body for body in OPERATORS if is_defined(body, a, b))
        for bodies in (tuple(body for body in defined if body != "x ** y"), ("x ** y",)):
            calm = [(x, y) for x in a.calm(False) for y in b.calm(True)]
            counts = compare(bodies, iter(calm * 2))
            # Native code has nothing to gain from one call of C's pow.
            assert counts.native_calls > 0 or "array" not in (a.name, b.name), (a, b, bodies, counts)
        for body in OPERATORS if PAIRS >= len(ALL) else rng.sample(OPERATORS, 3):
            if not (body == "x * y" and {a.name, b.name} == {"scalar", "python"} and complex in (a.what, b.what)):
                compare((body,), itertools.product(a.wild(rng), b.wild(rng)))


MOST, SMALL = float(np.finfo("d").max), np.finfo("f").max
BACKWARDS = (np.arange(1, 8) * (0.7 + 0.9j))[::-1]


@pytest.mark.parametrize("body, x, y", [
    *((body, x, y) for body in ("x < y", "x <= y", "x > y", "x >= y") for x, y in (
        (np.complex128(complex(3, np.nan)), np.uint64(7)), (np.float16(-2), np.complex64(complex(0, np.nan))),
        (np.complex64(1), complex(5e-324, np.nan)), (complex(1, np.nan), np.complex128(2)))),
    *((body, x, y) for body in ("x + y", "x == y", "x * y") for x, y in (
        (np.float32(3), complex(np.nan, MOST)), (np.array([1.0], "f"), complex(np.inf, MOST)),
        (complex(MOST, np.nan), np.array([1.0, 2.0], "e")))),
    ("x * y", np.array([complex(3, np.nan)] * 5, "F"), np.float32(-SMALL)),
    ("x * y", np.array([complex(SMALL, np.nan)] * 5, "F"), np.array([-2.0] * 5, "F")),
    ("x * y", complex(0, np.nan), np.array([complex(np.inf, -2)], "F")),
])
def test_complex_numbers_with_nan_in_one_part(body, x, y):
    assert compare((body,), itertools.repeat((x, y), 3)).compiles


@pytest.mark.parametrize("dtype", "FD")
def test_complex_arrays_that_run_backwards(dtype):
    """NumPy's products and absolute values of these come from other loops, with other bits."""
    def products(x, y, out):
        np.multiply(x, y, out=out)
        return x * y, np.square(x), abs(y), x * x[0] + y

    forward, back = np.array(BACKWARDS, dtype), np.array(BACKWARDS[::-1], dtype)[::-1]
    fast = jitcore.accelerate(fresh_copy(products))
    for x, y in ((forward, forward), (back, forward), (forward, back), (back, back), (back[:1], back[-1:])) * 2:
        for step in (1, -1):
            outs = [np.zeros_like(x, order="C")[::step] for _ in "12"]
            same_call(products, fast, ((x, y, outs[0]), {}), ((x, y, outs[1]), {}))
    assert jitcore.stats(fast).native_calls > 0


@pytest.mark.parametrize("dtype", "FD")
def test_complex_products_in_the_memory_of_an_operand(dtype):
    """One element on NumPy takes another loop."""
    def moved(x, y):
        x[:-1] *= x[1:]
        return x * y

    def at_its_place(x, y):
        x *= y
        return x * y

    for func, native in ((moved, False), (at_its_place, True)):
        check(func, lambda: (np.array(BACKWARDS[::-1], dtype), np.array(BACKWARDS[::-1], dtype)),
              native=native)


def test_numpys_own_loops_run_backwards_and_with_gaps_as_numpy_runs_them():
    def transcendental(x):
        return np.exp(x), np.arccos(x), np.log10(x), np.power(x, x), np.arctan2(x, x)

    for dtype in "efd":
        fast = jitcore.accelerate(precision="numpy")(fresh_copy(transcendental))
        base = np.linspace(0.01, 0.99, 96).astype(dtype)
        for x in (base, base[::-1], base[::3], base.reshape(8, 12)[:, ::-1], base.reshape(8, 12)[:, ::2], base[5]) * 2:
            same_call(transcendental, fast, ((x,), {}), ((x,), {}))
        assert jitcore.stats(fast).native_calls > 0


@pytest.mark.parametrize("value", [np.int64(32775), np.uint16(40000), np.uint64(2**63 + 5), np.uint32(7), np.int64(-5)])
@pytest.mark.parametrize("body", [
    "x[0] = y", "x[:] = y", "x[1:] = y", "x.fill(y)", "x[0] += y", "x[0] ^= y", "x = np.array([y, 1], dtype='h')",
    "x[x > 0] = y", "x.flat[1] = y", "x[...] = np.array(y)", "x = np.full(3, y, dtype='h')"])
def test_numpy_ints_that_become_elements_must_fit(body, value):
    scope: dict[str, Any] = {"np": np}
    exec(compile(f"def f(x, y):\n    {body}\n    return x * 2\n", "<elements>", "exec"), scope)
    fast = jitcore.accelerate(fresh_copy(scope["f"]))
    for y in (type(value)(4), value, type(value)(5)):
        same_call(scope["f"], fast, ((np.ones(3, "h"), y), {}), ((np.ones(3, "h"), y), {}))
    assert jitcore.stats(fast).compiles
