"""Random programs of loops over all that a compiled loop goes over, plain and accelerated."""
from __future__ import annotations

import types

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import jitcore

from .compare import check

PLAIN = ["a", "b", "xs", "ks", "t", "s", "range(n)", "range(n, -3, -2)", "b[::2]", "a * 2", "m.flat", "m.T.flat"]
native_calls = [0, 0]


class Writer:
    def __init__(self, draw) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.bound: list[str] = ["n"]
        self.names = 0

    def pick(self, options):
        return self.draw(st.sampled_from(options))

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def iterable(self, deep: int) -> tuple[str, str, list[str]]:
        """Expression, target, and the names of numbers in the target."""
        kind = self.pick(["plain", "plain", "rows", "reversed", "enumerate", "zip"] if deep else ["plain"])
        if kind == "rows":
            x, y = self.name(), self.name()
            return "m", f"{x}, {y}", [x, y]
        if kind == "reversed":
            x = self.name()
            return f"reversed({self.pick(PLAIN[:-2])})", x, [x]
        if kind == "enumerate":
            over, target, found = self.iterable(deep - 1)
            i = self.name()
            start = self.pick(["", ", n", ", -5"])
            return f"enumerate({over}{start})", f"{i}, ({target})", [i, *found]
        if kind == "zip":
            parts = [self.iterable(deep - 1) for _ in range(self.pick([1, 2, 3]))]
            found = [name for part in parts for name in part[2]]
            strict = self.pick(["", "", ", strict=True"])
            target = "".join(f"({part[1]}), " for part in parts)
            return f"zip({', '.join(part[0] for part in parts)}{strict})", f"({target})", found
        x = self.name()
        return self.pick(PLAIN), x, [x]

    def number(self) -> str:
        return self.pick([*self.bound[-4:], "1", "2.5"])

    def statement(self, indent: str, in_loop: bool, depth: int) -> None:
        kind = self.pick(["add", "add", "mix", "store", "item", "if", "loop"] + (["jump", "jump"] if in_loop else []))
        if kind == "add":
            self.lines.append(f"{indent}total += {self.number()} * {self.number()}")
        elif kind == "mix":
            self.lines.append(f"{indent}total = total * 0.5 - {self.number()}")
        elif kind == "store":
            self.lines.append(f"{indent}{self.pick(['a', 'b'])}[{self.pick(['0', '1', '-1', 'n % 7'])}] = "
                              f"{self.pick([*self.bound[-2:], '3'])}")
        elif kind == "item":
            sequence, index = self.pick(["xs", "ks", "t", "s", "b"]), self.pick(["n", "1", "-2"])
            self.lines.append(f"{indent}total += {sequence}[{index}]")
        elif kind == "if":
            self.lines.append(f"{indent}if {self.number()} > {self.number()}:")
            self.body(indent + "    ", in_loop, depth, 1)
        elif kind == "jump":
            self.lines.append(f"{indent}if {self.number()} > 4:")
            self.lines.append(f"{indent}    {self.pick(['break', 'continue', 'return total, 1'])}")
        elif depth < 3:
            self.loop(indent, depth + 1)
        else:
            self.lines.append(f"{indent}total += 1")

    def body(self, indent: str, in_loop: bool, depth: int, most: int) -> None:
        for _ in range(self.pick(range(1, most + 1))):
            self.statement(indent, in_loop, depth)

    def loop(self, indent: str, depth: int) -> None:
        over, target, found = self.iterable(2)
        self.lines.append(f"{indent}for {target} in {over}:")
        before = len(self.bound)
        self.bound += found
        self.body(indent + "    ", True, depth, 3)
        del self.bound[before:]
        if self.pick([True, False, False]):
            self.lines.append(f"{indent}else:")
            self.lines.append(f"{indent}    total -= 7")

    def text(self) -> str:
        self.loop("    ", 1)
        if self.pick([True, False]):
            self.loop("    ", 1)
        last = self.pick(["n", f"v{self.names}", "v1"])
        head = ["def f(a, b, m, xs, ks, t, s, n):", "    total = 0.0"]
        return "\n".join([*head, *self.lines, f"    return total, {last}"])


@st.composite
def programs(draw):
    return Writer(draw).text()


def function(text: str) -> types.FunctionType:
    space: dict[str, object] = {}
    exec(compile(text, "random_loops.py", "exec"), space)
    found = space["f"]
    assert isinstance(found, types.FunctionType)
    return found


def arguments(length: int, n: int):
    return (np.arange(float(length)) - 1, np.arange(length + 1), np.arange(2.0 * length).reshape(length, 2),
            [0.5 * k for k in range(length)], list(range(length)), tuple(range(3, 3 + length)),
            bytes(range(2, 2 + length)), n)


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(0, 9), st.integers(-2, 7))
def test_random_loops(text, length, n):
    counts = check(function(text), lambda: arguments(length, n), calls=2, native=None)
    native_calls[0] += counts.native_calls > 0
    native_calls[1] += 1


def test_most_of_them_run_native():
    assert native_calls[1] == 0 or native_calls[0] > native_calls[1] // 2, native_calls
    assert jitcore.stats(jitcore.accelerate(function("def f(a):\n    return a"))).calls == 0
