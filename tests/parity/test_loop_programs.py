"""Random functions with nested loops, branches, numbers and arrays: the same as in the interpreter.

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

from .compare import observe, same


class Program:
    """The source of one function ``f(a, b, n, x)``: two arrays (one axis), an int and a float."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines = ["def f(a, b, n, x):", "    i = j = 0", "    s = 0", "    t = 1.5"]
        self.ints, self.floats = ["i", "j", "s", "n"], ["t", "x"]
        self.fresh = 0
        if rng.random() < 0.5:
            self.lines.append("    c = np.zeros(len(a))")
            self.arrays = ["a", "b", "c"]
        else:
            self.arrays = ["a", "b"]
        self.block(1, 0)
        if rng.random() < 0.3:
            self.lines.append("    w = 0")
            self.block(1, 0)
        self.lines.append(f"    return {', '.join([*self.ints, *self.floats, *self.arrays])}")

    @property
    def source(self) -> str:
        return "\n".join(self.lines)

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def index(self, array: str) -> str:
        r = self.rng.random()
        if r < 0.6:
            return f"{self.rng.choice(self.ints)} % len({array})"
        if r < 0.9:
            return self.rng.choice(["i", "j", "i - 1", "j + 1", "-1", "0"])
        return self.rng.choice(["-i", "i + j", "s", "n"])

    def int_value(self, depth: int = 0) -> str:
        r = self.rng.random()
        if depth > 2 or r < 0.35:
            return self.rng.choice([*self.ints, *map(str, (0, 1, 2, 3, 7, -1, -5, 2**40))])
        if r < 0.45:
            return f"int(b[{self.index('b')}])"
        if r < 0.5:
            return f"abs({self.int_value(depth + 1)})"
        op = self.rng.choice(["+", "-", "*", "+", "-", "//", "%", "&", "|", "^"])
        return f"({self.int_value(depth + 1)} {op} {self.int_value(depth + 1)})"

    def float_value(self, depth: int = 0) -> str:
        r = self.rng.random()
        if depth > 2 or r < 0.35:
            return self.rng.choice([*self.floats, "0.5", "2.0", "-1.25", "1e3"])
        if r < 0.6:
            array = self.rng.choice(self.arrays)
            return f"{array}[{self.index(array)}]"
        if r < 0.7:
            return self.int_value(depth + 1)
        if r < 0.75:
            return f"-{self.float_value(depth + 1)}"
        op = self.rng.choice(["+", "-", "*", "+", "-", "*", "/"])
        return f"({self.float_value(depth + 1)} {op} {self.float_value(depth + 1)})"

    def condition(self) -> str:
        op = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        r = self.rng.random()
        if r < 0.4:
            return f"{self.int_value(1)} {op} {self.int_value(1)}"
        if r < 0.7:
            return f"{self.float_value(1)} {op} {self.float_value(1)}"
        if r < 0.8:
            return f"0 <= {self.rng.choice(self.ints)} < {self.int_value(1)}"
        joint = self.rng.choice(["and", "or"])
        return f"{self.int_value(2)} {op} {self.int_value(2)} {joint} not {self.float_value(2)} < {self.float_value(2)}"

    def block(self, depth: int, loops: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth, loops)

    def statement(self, depth: int, loops: int) -> None:
        r = self.rng.random()
        if r < 0.2:
            self.put(depth, f"{self.rng.choice(self.ints[:3])} {self.rng.choice(['=', '+=', '-='])} {self.int_value()}")
        elif r < 0.35:
            self.put(depth, f"{self.rng.choice(self.floats)} {self.rng.choice(['=', '+=', '*='])} {self.float_value()}")
        elif r < 0.5:
            array = self.rng.choice(self.arrays)
            value = self.int_value() if array == "b" else self.float_value()
            self.put(depth, f"{array}[{self.index(array)}] {self.rng.choice(['=', '+='])} {value}")
        elif r < 0.7 and depth < 5:
            self.put(depth, f"if {self.condition()}:")
            self.block(depth + 1, loops)
            if self.rng.random() < 0.5:
                self.put(depth, "else:")
                self.block(depth + 1, loops)
        elif r < 0.9 and loops < 3 and depth < 5:
            self.loop(depth, loops)
        elif r < 0.97 and loops:
            self.put(depth, f"if {self.condition()}:")
            self.put(depth + 1, self.rng.choice(["break", "continue"]))
        else:
            self.put(depth, f"s += {self.int_value()}")

    def loop(self, depth: int, loops: int) -> None:
        if self.rng.random() < 0.7:
            bounds = self.rng.choice(["n", "len(a)", "1, n", "n, -1, -1", "0, len(b), 2", "n - 2, n", "i % 5", "3"])
            self.put(depth, f"for {self.rng.choice('ij')} in range({bounds}):")
            self.block(depth + 1, loops + 1)
        else:
            self.fresh += 1
            counter = f"k{self.fresh}"
            self.put(depth, f"{counter} = {self.rng.choice(['0', 'n - 4', '1'])}")
            self.put(depth, f"while {counter} < {self.rng.choice(['n', '5', 'n + 2'])}:")
            self.put(depth + 1, f"{counter} += {self.rng.choice(['1', '1', '2'])}")
            self.block(depth + 1, loops + 1)
        if self.rng.random() < 0.2:
            self.put(depth, "else:")
            self.put(depth + 1, f"t = {self.float_value()}")


def function(source: str) -> Any:
    scope: dict[str, Any] = {"np": np}
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
        made.append((a, b, m, rng.choice([0.5, -1.0, 2.0])))
    return made


def run(seed: int) -> None:
    rng = random.Random(seed)
    source = Program(rng).source
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
            if x.kind == "raise":
                assert lines(x.value) == lines(y.value), where


def lines(error: BaseException) -> list[int]:
    found, traceback = [], error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<program>":
            found.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


@settings(max_examples=int(os.environ.get("JITCORE_PROGRAMS", "60")), deadline=None, derandomize=True,
          suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_random_programs(seed):
    run(seed)
