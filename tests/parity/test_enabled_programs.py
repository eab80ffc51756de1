"""Random programs of several functions under ``enable()``: all that can be seen is the same as without.

``JITCORE_PROGRAMS`` sets how many are tried, ``JITCORE_SEED`` the first one.
"""
from __future__ import annotations

import linecache
import os
import random
import traceback
import types
from typing import Any

import pytest

import jitcore
from jitcore.runtime import discovery

from .compare import observe, same

STEPS = 14


class Program:
    """The source of a module: a class, helpers that call the ones before them, and ``step(k)``."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines = ["import numpy as np", "G = 2.0", "LOG = []", "class Model:", "    def __init__(self, w):",
                      "        self.w = w", "        self.calls = 0", "    def apply(self, x):",
                      "        self.calls += 1", f"        return x * self.w {rng.choice('+-*/')} G", "    @property",
                      "    def norm(self):", "        return np.sqrt((self.w * self.w).sum())",
                      "    def __call__(self, x, *, k=0.5):", "        return self.apply(x) * k",
                      "def values(x):", "    for v in x:", "        yield v * G"]
        self.helpers: list[str] = []
        for number in range(rng.randint(2, 4)):
            self.function(f"h{number}")
        self.lines += ["def step(k):", "    n = (3, 5, 5, 0, 4, 1)[k % 6] if k > 8 else 5",
                       "    r = np.random.default_rng(k)", "    a, b = r.standard_normal(n), r.random(n)",
                       f"    if k % 7 == 6: a = a.astype(np.{rng.choice(['float32', 'int64', 'complex128'])})",
                       "    m = Model(b)", "    out = []"]
        for name in self.helpers:
            self.lines.append(f"    out.append({name}(a, b, k, m))")
        self.lines.append("    return out, a, b, m.calls, G, list(LOG)")

    @property
    def source(self) -> str:
        return "\n".join(self.lines) + "\n"

    def function(self, name: str) -> None:
        self.fresh, self.numbers, self.arrays, self.changed = 0, ["i", "t", "0.5", "2", "G"], ["a", "b"], False
        at = len(self.lines)
        self.put(0, f"def {name}(a, b, k, m, i=1, t=1.5):")
        if self.rng.random() < 0.3:
            self.put(1, "global G")
            self.changed = True
        self.block(1, self.rng.randint(2, 6))
        self.put(1, f"return {', '.join([*self.arrays, 't', 'i'])}")
        compile("\n".join(self.lines[at:]), name, "exec")
        self.helpers.append(name)

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def array(self) -> str:
        return self.rng.choice(self.arrays)

    def number(self) -> str:
        return self.rng.choice(self.numbers)

    def elementwise(self, depth: int = 0) -> str:
        if depth > 2 or self.rng.random() < 0.3:
            return self.array()
        x, y = self.elementwise(depth + 1), self.elementwise(depth + 1)
        plus, times = self.rng.choice("+-*"), self.rng.choice("+-*/")
        return self.rng.choice([f"({x} {plus} {y})", f"({x} {times} {self.number()})",
                                f"np.where({x} > {y}, {x}, {self.number()})", f"np.maximum({x}, {y})", f"abs({x})",
                                f"({x} / {y})", f"np.sqrt({x})", f"m.apply({x})", f"m({x}, k=t)", f"-{x}", f"{x}[::-1]",
                                f"np.exp({x})", f"({x} - {x}.mean())", f"np.array([v * t for v in {x}])"])

    def scalar(self) -> str:
        x = self.array()
        return self.rng.choice([f"{self.elementwise(1)}.sum()", f"np.mean({x})", f"{x}[i % len({x})]", f"{x}[i]",
                                f"({self.number()} + {self.number()}) * {self.number()}", f"float({x}.max())",
                                f"sum({x}[q] for q in range(len({x})))", "m.norm", f"sum(values({x}))",
                                f"(lambda z: z * t + G)({self.number()})", f"len([v for v in {x} if v > t])"])

    def block(self, depth: int, size: int) -> None:
        for _ in range(size):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        r, x = self.rng.random(), self.array()
        if r < 0.25:
            if depth == 1 and self.rng.random() < 0.5:
                self.fresh += 1
                name = f"c{self.fresh}"
                self.put(depth, f"{name} = {self.elementwise()}")
                self.arrays.append(name)
            else:
                self.put(depth, f"{x} = {self.elementwise()}")
        elif r < 0.4:
            self.put(depth, f"t = {self.scalar()}")
        elif r < 0.5:
            self.put(depth, self.rng.choice([f"{x}[i % len({x})] = {self.number()}", f"{x}[1:] = {self.number()}",
                                             f"{x} *= {self.number()}", f"{x}[i] += t",
                                             f"{x}[:] = {self.elementwise()}"]))
        elif r < 0.7 and depth < 3:
            self.put(depth, self.rng.choice([f"for i in range({self.rng.choice([3, f'len({x})', '1, 9, 2'])}):",
                                             f"for i, t in enumerate({x}):", f"for t in {x}:", f"while w{depth} < 6:"]))
            if "while" in self.lines[-1]:
                self.lines.insert(-1, "    " * depth + f"w{depth} = 0")
                self.put(depth + 1, f"w{depth} += 1")
            self.block(depth + 1, self.rng.randint(1, 3))
        elif r < 0.8 and depth < 4:
            self.put(depth, f"if {self.scalar()} {self.rng.choice(['>', '<', '=='])} {self.number()}:")
            self.block(depth + 1, self.rng.randint(1, 2))
            if self.rng.random() < 0.5:
                self.put(depth, "else:")
                self.block(depth + 1, 1)
        elif r < 0.85 and depth < 3:
            self.put(depth, "try:")
            self.block(depth + 1, self.rng.randint(1, 2))
            kind = self.rng.choice(["IndexError", "Exception", "(ValueError, TypeError)"])
            self.put(depth, f"except {kind} as error:")
            self.put(depth + 1, "LOG.append(str(error))")
        elif r < 0.9 and self.helpers:
            self.put(depth, f"t = {self.rng.choice(self.helpers)}({x}, b, k, m, t=t)[-2]")
        else:
            number = "G = G + 0.25" if self.changed else "i = -i"
            self.put(depth, self.rng.choice(["LOG.append(t)", "print(t, i)", "i += 1", number,
                                             f"if k == 11: raise KeyError({self.number()})"]))


def run(source: str, name: str) -> list[Any]:
    """What each step of the program shows."""
    module = types.ModuleType(name)
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), module.__dict__)
    seen = []
    for k in range(STEPS):
        result = observe(module.step, (k,), {})
        if isinstance(result.value, Exception):
            frames = traceback.extract_tb(result.value.__traceback__)
            result.printed += str([(f.name, f.lineno) for f in frames if f.filename == file])
        seen.append(result)
    return seen


def check(seed: int) -> int:
    """Compare one program; how many of its functions were found."""
    rng = random.Random(seed)
    source, threshold = Program(rng).source, rng.choice([1, 2, 5, 10, 40])
    jitcore.enable(modules=[])
    expected = run(source, "random_program")
    jitcore.enable(modules=["random_program"], precision="numpy", threshold=threshold)
    try:
        got = run(source, "random_program")
        found = jitcore.stats().found
    finally:
        jitcore.enable(modules=[])
    for k, (a, b) in enumerate(zip(expected, got)):
        where = f"seed {seed}, threshold {threshold}, step {k}"
        assert a.kind == b.kind, f"{where}: {a.value!r} -> {b.value!r}\n{source}"
        try:
            same(a.value, b.value, 0, where)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{source}") from None
        assert a.warnings == b.warnings, f"{where}: warnings {a.warnings} -> {b.warnings}\n{source}"
        assert a.printed == b.printed, f"{where}: printed {a.printed} -> {b.printed}\n{source}"
    return found


def test_random_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery.config, "FOUND_SECONDS", 1e9)
    first, number = int(os.environ.get("JITCORE_SEED", "0")), int(os.environ.get("JITCORE_PROGRAMS", "6"))
    found = [check(seed) for seed in range(first, first + number)]
    assert sum(found) > number
