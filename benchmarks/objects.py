"""Thirty functions that are nothing but calls and objects, for ``overhead.py``: there is nothing to compile in them."""
from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any


class Point:
    """What they work on."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, dx, dy):
        return Point(self.x + dx, self.y + dy)

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __eq__(self, other):
        return isinstance(other, Point) and (self.x, self.y) == (other.x, other.y)

    def __hash__(self):
        return hash((self.x, self.y))

    def __repr__(self):
        return f"Point({self.x}, {self.y})"


#: One expression a function, in ``p`` (a Point), ``d`` (a dict), ``items`` (a list) and ``s`` (a str).
EXPRESSIONS = (
    "p.moved(1, 2)", "p.moved(1, 2).moved(3, 4)", "Point(p.y, p.x)", "p + p", "repr(p)", "p == Point(1, 2)", "hash(p)",
    "d.get(s)", "d.setdefault(s, p)", "list(d.items())", "sorted(d, key=len)", "dict(d, extra=p)", "len(d), len(items)",
    "s.upper()", "s.split('a')", "'-'.join([s, s])", "s.replace('a', 'b').strip()", "f'{s}: {p}'", "s.encode()",
    "items.index(2)", "items.count(1)", "sorted(items, reverse=True)", "list(map(str, items))", "sum(items)",
    "list(zip(items, items))", "isinstance(p, Point)", "getattr(p, 'x', None)", "operator.attrgetter('x')(p)",
    "math.gcd(*items[:2])", "Point(*items[:2]).moved(*items[:2])",
)


def make() -> list[Callable[..., Any]]:
    """Thirty new function objects."""
    functions = []
    for number, expression in enumerate(EXPRESSIONS):
        namespace: dict[str, Any] = {"Point": Point, "operator": operator, "math": math}
        source = f"def object{number}(p, d, items, s):\n    return {expression}\n"
        exec(compile(source, f"<object {number}>", "exec"), namespace)
        functions.append(namespace[f"object{number}"])
    return functions


def arguments() -> tuple[Any, ...]:
    """What each of them is called with."""
    return Point(1, 2), {"banana": Point(0, 0), "fig": 1}, [3, 1, 2], "banana"
