"""Sources of random functions: nested loops, branches, ints, floats, arrays, slices, stores, lists, handlers.

Job: ``Program(rng).source`` is one module with ``f(a, b, g, n, x)`` and a helper that ``f`` may call: ``a`` float64 and
``b`` int64 with one axis, ``g`` float64 with two, ``n`` an int, ``x`` a float.  Invariants: it ends (loops are bounded
by what they are given), numbers stay small enough to be printed, and the source depends on ``rng`` alone.
"""
from __future__ import annotations

import random

_INTS = (0, 1, 2, 3, 7, -1, -5, 63, 64, 2**40, 2**62, -2**63)
_FLOATS = ("0.5", "2.0", "-1.25", "1e3", "0.0", "-0.0", "1e300", "float('inf')", "float('nan')")


class Program:
    """One random module; ``rich`` adds what goes beyond numbers, elements and loops over ranges."""

    def __init__(self, rng: random.Random, rich: bool = True) -> None:
        self.rng, self.rich = rng, rich
        self.lines: list[str] = []
        self.lists: list[str] = []
        self.fresh = 0
        self.handlers = 0
        self.helper = rich and rng.random() < 0.4
        if self.helper:
            self._helper()
        self.lines += ["def f(a, b, g, n, x):", "    i = j = 0", "    s = 0", "    t = 1.5"]
        self.ints, self.floats, self.arrays = ["i", "j", "s", "n"], ["t", "x"], ["a", "b"]
        self.lists = []
        if rng.random() < 0.5:
            self.lines.append("    c = np.zeros(len(a))")
            self.arrays.append("c")
        if rich and rng.random() < 0.35:
            self.lines.append(f"    q = {rng.choice(['[]', '[0] * n', 'list(range(n))', '[1, 2, 3]'])}")
            self.lists.append("q")
        self.block(1, 0)
        if rng.random() < 0.3:
            self.lines.append("    w = 0")
            self.block(1, 0)
        result = [*self.ints, *self.floats, *self.arrays, "g", *self.lists]
        self.lines.append(f"    return {', '.join(result)}")

    @property
    def source(self) -> str:
        return "\n".join(self.lines)

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def _helper(self) -> None:
        self.lines.append("def h(a, k, y):")
        self.helper, self.lists = False, []
        self.lines += ["    i = j = k", "    s = 1", "    t = y", "    b = np.arange(4)"]
        self.ints, self.floats, self.arrays = ["i", "j", "s", "k"], ["t", "y"], ["a", "b"]
        rich, self.rich = self.rich, False
        self.block(1, 1)
        self.lines.append(f"    return {self.pick('s', 't', 't + s', 'a[0]')}")
        self.rich, self.helper = rich, True

    # -- values -----------------------------------------------------------------------------------
    def index(self, array: str) -> str:
        r = self.rng.random()
        if r < 0.6:
            return f"{self.rng.choice(self.ints)} % len({array})"
        if r < 0.9:
            return self.pick("i", "j", "i - 1", "j + 1", "-1", "0")
        return self.pick("-i", "i + j", "s", self.ints[-1])

    def int_value(self, depth: int = 0) -> str:
        r = self.rng.random()
        if depth > 2 or r < 0.35:
            return self.rng.choice([*self.ints, *map(str, _INTS[:8 if r < 0.25 else None])])
        if r < 0.45:
            return f"int(b[{self.index('b')}])"
        if r < 0.5:
            return f"abs({self.int_value(depth + 1)})"
        if r < 0.58 and self.rich:
            return self.rich_int(depth)
        op = self.pick("+", "-", "*", "+", "-", "//", "%", "&", "|", "^")
        right = self.int_value(depth + 1)
        return f"({self.int_value(depth + 1)} {op} {f'({right} % 1009)' if op == '*' else right})"

    def rich_int(self, depth: int) -> str:
        a, b = self.int_value(depth + 1), self.int_value(depth + 1)
        if self.lists and self.rng.random() < 0.4:
            q = self.rng.choice(self.lists)
            return self.pick(f"len({q})", f"{q}[{self.index(q)}]", f"sum({q})", f"{q}[-1]")
        return self.pick(f"min({a}, {b})", f"max({a}, {b}, 1)", f"({a} << ({b} & 31))", f"({a} >> ({b} & 63))",
                         f"(~{a})",
                         f"divmod({a}, 7)[1]", f"round({self.floats[0]})", f"({a} if {self.condition()} else {b})",
                         "math.floor(x)", "len(b)")

    def float_value(self, depth: int = 0) -> str:
        r = self.rng.random()
        if depth > 2 or r < 0.35:
            return self.rng.choice([*self.floats, *_FLOATS[:4 if r < 0.25 else None]])
        if r < 0.6:
            array = self.rng.choice(self.arrays)
            return f"{array}[{self.index(array)}]"
        if r < 0.7:
            return self.int_value(depth + 1)
        if r < 0.75:
            return f"-{self.float_value(depth + 1)}"
        if r < 0.83 and self.rich:
            return self.rich_float(depth)
        op = self.pick("+", "-", "*", "+", "-", "*", "/")
        return f"({self.float_value(depth + 1)} {op} {self.float_value(depth + 1)})"

    def rich_float(self, depth: int) -> str:
        y, array = self.float_value(depth + 1), self.rng.choice(self.arrays)
        calls = [f"abs({y})", f"math.sqrt(abs({y}))", f"min({y}, 2.5)", f"max({y}, t)", f"np.sqrt({y})", f"float({y})",
                 f"g[{self.pick('i', 'j', '0', '-1')} % 2, {self.pick('i', 'j', '-1')}]", f"({y} % 3.0)",
                 f"({y} // 0.5)", f"{array}.sum()", f"{array}[{self.slice()}].sum()", f"({y})**2",
                 f"({self.float_value(2)} if {self.condition()} else {y})"]
        if self.helper:
            calls += [f"h(a, {self.int_value(2)}, {y})"] * 3
        return self.rng.choice(calls)

    def condition(self) -> str:
        op = self.pick("<", "<=", ">", ">=", "==", "!=")
        r = self.rng.random()
        if r < 0.4:
            return f"{self.int_value(1)} {op} {self.int_value(1)}"
        if r < 0.7:
            return f"{self.float_value(1)} {op} {self.float_value(1)}"
        if r < 0.8:
            return f"0 <= {self.rng.choice(self.ints)} < {self.int_value(1)}"
        if r < 0.85 and self.rich:
            return self.pick("i in (1, 3)", "not i & 1", "n", "t == t", "s is not None")
        joint = self.pick("and", "or")
        return f"{self.int_value(2)} {op} {self.int_value(2)} {joint} not {self.float_value(2)} < {self.float_value(2)}"

    def slice(self) -> str:
        return self.pick("1:", ":-1", "::2", "::-1", "1:-1", "i:", ":j", "i:j", "-3:", ":", "2:5")

    # -- statements -------------------------------------------------------------------------------
    def block(self, depth: int, loops: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth, loops)

    def statement(self, depth: int, loops: int) -> None:
        r = self.rng.random()
        if self.rich and self.rng.random() < 0.25:
            self.rich_statement(depth, loops)
        elif r < 0.2:
            self.put(depth, f"{self.rng.choice(self.ints[:3])} {self.pick('=', '+=', '-=')} {self.int_value()}")
        elif r < 0.35:
            self.put(depth, f"{self.rng.choice(self.floats)} {self.pick('=', '+=', '*=')} {self.float_value()}")
        elif r < 0.5:
            array = self.rng.choice(self.arrays)
            value = self.int_value() if array == "b" else self.float_value()
            self.put(depth, f"{array}[{self.index(array)}] {self.pick('=', '+=')} {value}")
        elif r < 0.7 and depth < 5:
            self.put(depth, f"if {self.condition()}:")
            self.block(depth + 1, loops)
            if self.rng.random() < 0.5:
                self.put(depth, "else:")
                self.block(depth + 1, loops)
        elif r < 0.9 and loops < 3 and depth < 5:
            self.loop(depth, loops)
        elif r < 0.97 and loops and not self.handlers and depth > 1 and self.in_loop(depth):
            self.put(depth, f"if {self.condition()}:")
            self.put(depth + 1, self.pick("break", "continue"))
        else:
            self.put(depth, f"s += {self.int_value()}")

    def in_loop(self, depth: int) -> bool:
        """Whether the statement to come at ``depth`` is inside a loop of the function being written."""
        for line in reversed(self.lines):
            indent = (len(line) - len(line.lstrip())) // 4
            if indent < depth:
                depth = indent
                if line.lstrip().startswith(("for ", "while ")):
                    return True
                if line.startswith("def "):
                    return False
        return False

    def rich_statement(self, depth: int, loops: int) -> None:
        array, other = self.rng.choice(self.arrays[:1] + self.arrays[2:]), self.rng.choice(self.arrays)
        r = self.rng.random()
        if r < 0.35:
            y = self.float_value(1)
            self.put(depth, self.pick(
                f"{array}[{self.slice()}] = {y}", f"{array}[{self.slice()}] += {y}", f"{array} *= {y}",
                f"{array} += {other}", f"{array}[1:] = {other}[:-1]", f"{array}[:-1] += {array}[1:]",
                f"{array}[:] = {array} * {y} + {other}", f"{array}[::-1] = {array}",
                f"u = {array} * {y} - {other}; t = u.sum()", f"g[{self.pick('0', '1', 'i % 2')}] = {y}",
                f"g[:, {self.pick('0', 'j % 3')}] += {y}", "g[1:, 1:] = g[:-1, :-1] + 1", f"g *= {y}",
                f"{array} = {array} + {y}", f"np.add({array}, {y}, out={array})", f"{array}.fill({y})"))
        elif r < 0.5 and self.lists:
            q = self.rng.choice(self.lists)
            # Bounded, or a loop over the very list would never end.
            append = f"if len({q}) < 40: {q}.append({self.int_value(1)})"
            self.put(depth, self.pick(append, f"{q}[{self.index(q)}] = {self.int_value(1)}",
                                      f"{q} = [v + 1 for v in {q}]", f"s += {q}.pop()", f"{q} = {q}[1:]"))
        elif r < 0.65 and not self.handlers and depth < 5:
            self.handlers += 1
            self.put(depth, "try:")
            self.block(depth + 1, loops)
            self.handlers -= 1
            caught = self.pick("IndexError", "ZeroDivisionError", "(IndexError, ZeroDivisionError)")
            self.put(depth, f"except {caught}:")
            self.put(depth + 1, f"s += {self.rng.choice([1, 10])}")
            if self.rng.random() < 0.3:
                self.put(depth, "finally:")
                self.put(depth + 1, "j += 1")
        elif r < 0.75:
            self.put(depth, f"print({self.pick('s', 't', 'i', 's, t')})")
        elif r < 0.8:
            self.put(depth, f"if {self.condition()}:")
            self.put(depth + 1, self.pick(f"return s, {self.float_value(2)}", "raise ValueError(s)", "assert t > 0, t"))
        else:
            self.put(depth, f"t += {self.rich_float(1)}")

    def loop(self, depth: int, loops: int) -> None:
        r = self.rng.random()
        if r < 0.25 and self.rich:
            array = self.rng.choice(self.arrays + self.lists)
            self.put(depth, "for " + self.pick(
                f"t in {array}", f"i, t in enumerate({array})", f"t, x in zip({array}, b)",
                f"j, t in enumerate({array}, 1)", f"i in reversed(range({self.ints[-1]}))", "i, j in ((0, 1), (1, 0))",
                f"t in {array}[::-1]") + ":")
            self.block(depth + 1, loops + 1)
        elif r < 0.7:
            n = self.ints[-1] if self.ints[-1] == "n" else "4"
            bounds = self.pick(n, "len(a)", f"1, {n}", f"{n}, -1, -1", "0, len(b), 2", f"{n} - 2, {n}", "i % 5", "3")
            self.put(depth, f"for {self.pick('i', 'j')} in range({bounds}):")
            self.block(depth + 1, loops + 1)
        else:
            self.fresh += 1
            counter, n = f"k{self.fresh}", self.ints[-1] if self.ints[-1] == "n" else "4"
            self.put(depth, f"{counter} = {self.pick('0', f'{n} - 4', '1')}")
            self.put(depth, f"while {counter} < {self.pick(n, '5', f'{n} + 2')}:")
            self.put(depth + 1, f"{counter} += {self.pick('1', '1', '2')}")
            self.block(depth + 1, loops + 1)
        if self.rng.random() < 0.2:
            self.put(depth, "else:")
            self.put(depth + 1, f"t = {self.float_value()}")
