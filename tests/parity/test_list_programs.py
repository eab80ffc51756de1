"""Random functions that grow, change, share and walk lists in loops: the same as in the interpreter.

``JITCORE_PROGRAMS`` sets how many are tried.
"""
from __future__ import annotations

import os
import random

import jitcore

from .compare import observe, same

PROGRAMS = int(os.environ.get("JITCORE_PROGRAMS", "40"))


class Program:
    """The source of one function ``f(n, k, x)``: two ints and a float."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines = ["def put(l, v):", "    l.append(v)", "    return len(l)", "", "def f(n, k, x):", "    i = j = 0",
                      "    s, t = 0, 0.5"]
        self.ints, self.floats, self.rows = ["p", "q"], ["u", "v"], ["r"]
        for name in self.ints:
            self.put(1, f"{name} = {self.new(['[]', '[0] * n', '[k]', 'list(range(n))', '[e * k for e in range(n)]'])}")
        for name in self.floats:
            self.put(1, f"{name} = {self.new(['[]', '[x] * n', '[x, 0.5]', '[e * x for e in range(n)]', '[1.0] * k'])}")
        self.put(1, f"r = {self.new(['[]', '[[0] * k for e in range(n)]', '[p] * 2', '[[e] for e in range(n)]'])}")
        self.block(1, 0)
        self.loop(1, 0)
        self.block(1, 0)
        self.put(1, "return i, j, s, t, p, q, u, v, r, p is q, u is v")

    @property
    def source(self) -> str:
        return "\n".join(self.lines)

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def new(self, options: list[str]) -> str:
        return self.rng.choice(options)

    def value(self) -> str:
        a = self.rng.choice(self.ints)
        return self.new(["i", "j", "s", "k", "i + j", "i * k - 1", f"{a}[i % len({a})]", f"{a}[-1]", f"len({a})",
                         "7 // (i - k)", "3", f"sum({a})", f"max({a})"])

    def number(self) -> str:
        a = self.rng.choice(self.floats)
        return self.new(["t", "x", "i * 0.5", f"{a}[j % len({a})]", f"{a}[-1] * x", "x / (k - i)", f"min({a})", "t - x",
                         f"sum({a}, 0.0)"])

    def statement(self, depth: int, loops: int) -> None:
        a, b = self.rng.choice(self.ints), self.rng.choice(self.ints)
        u, w = self.rng.choice(self.floats), self.rng.choice(self.floats)
        options = [
            f"{a}.append({self.value()})", f"{u}.append({self.number()})", f"{a}[{self.new(['i', '-1', 'j', '0'])}] = "
            f"{self.value()}", f"{u}[{self.new(['i', '-1', 'i % 3'])}] = {self.number()}", f"s += {self.value()}",
            f"t = {self.number()}", f"{a}, {b} = {b}, {a}", f"{u}, {w} = {w}, {u}", f"{a} = {b}[:]",
            f"{a} = {b}[{self.new(['1:', ':k', '::2', '::-1', 'i:k'])}]", f"{u}.reverse()", f"{a}.sort()",
            f"{u} = {w} + [x]", f"{a} = {b}", f"s += put({a}, i)", f"r.append({a})", "r.append([i, k])",
            f"r[i % len(r)] = {a}", f"{a} = r[-1]", "r[0].append(i)", "r[i % len(r)][0] += 1",
            f"{a}.insert(1, {self.value()})",
            f"s += {a}.pop()", f"t += {u}.pop(0)", f"del {a}[0]", f"{a} = [e + i for e in {b}]",
            f"s += sum(e * e for e in {a})", f"j = {a}.count(i)", f"{a} = [i] * k", f"{u} = [t] * k", "s = s % 1000",
            f"{a} = {a} * 2 if len({a}) < 50 else [1]", f"{a}.clear()", f"{a}.append(k)", f"{u}.append(x)",
        ]
        r = self.rng.random()
        if r < 0.7 or depth > 4:
            self.put(depth, self.rng.choice(options))
        elif r < 0.85:
            self.put(depth, f"if {self.condition()}:")
            self.block(depth + 1, loops)
        elif loops < 2:
            self.loop(depth, loops)

    def condition(self) -> str:
        a = self.rng.choice([*self.ints, *self.floats, "r"])
        return self.new([f"len({a}) > 2", f"{a}", "i % 2 == 0", "s > 3", "x < t", "i in p", f"not {a}", "p == q",
                         "any(e > 2 for e in q)"])

    def block(self, depth: int, loops: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth, loops)
        self.put(depth, "s += 1")

    def loop(self, depth: int, loops: int) -> None:
        a = self.rng.choice([*self.ints, *self.floats])
        name = "ij"[loops]
        head = self.new([f"for {name} in range(n):", f"for {name} in range(k):",
                         f"for {name}, e in enumerate({a}[:9]):",
                         f"for {name} in range(len({a}) % 7):", "for e in q[:5]:", "for row in r[:5]:"])
        self.put(depth, head)
        self.block(depth + 1, loops + 1)


def compile_function(source: str):
    space: dict[str, object] = {}
    exec(compile(source, f"<program {abs(hash(source))}>", "exec"), space)
    return space["f"]


def shared(value: object, seen: dict[int, int]) -> object:
    """Which lists are one."""
    if isinstance(value, (list, tuple)):
        known = seen.setdefault(id(value), len(seen))
        return known, [shared(item, seen) for item in value if isinstance(item, (list, tuple))]
    return None


def run(seed: int) -> jitcore.stats:
    source = Program(random.Random(seed)).source
    plain, fast = compile_function(source), jitcore.accelerate(compile_function(source))
    for args in ((5, 3, 0.5), (5, 3, 0.5), (0, 2, 1.5), (9, 4, -2.0), (12, 20, 0.25)):
        a, b = observe(plain, args, {}), observe(fast, args, {})
        try:
            assert a.kind == b.kind, (a, b)
            same(a.value, b.value)
            assert shared(a.value, {}) == shared(b.value, {})
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {args}\n{source}\n{error}") from None
    return jitcore.stats(fast)


def test_programs_on_lists():
    native = sum(run(seed).native_calls > 0 for seed in range(PROGRAMS))
    assert native > 0.1 * PROGRAMS
