"""match: patterns on numbers, strings, sequences, mappings and classes."""
from __future__ import annotations

import collections.abc
from dataclasses import dataclass

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, same

X = np.arange(1.0, 9.0)


@dataclass
class Point:
    a: float
    b: float = 2.0


class Plain:
    __match_args__ = ("p", "q")

    def __init__(self, p):
        self.p = p


class Slotted:
    __slots__ = ("p", "q")

    def __init__(self, p):
        self.p = p


class Computed:
    @property
    def p(self):
        print("p is asked")
        return 2.0


def numbers(x, n):
    match n:
        case 0:
            return x + 0.5
        case 1 | 2:
            return x * 2.0
        case -3 | 2.5:
            return x * 2.5
        case int() if n > 10:
            return x * 3.0
        case float(f):
            return x * f
        case bool():
            return x - 1.0
        case _:
            return x * 4.0


def strings(x, n):
    match n:
        case "a":
            return x + 1.0
        case "b" | "c":
            return x * 2.0
        case str() as text:
            return x * len(text)
        case None:
            return x / 2.0


def sequences(x, n):
    match n:
        case [a]:
            return x + a
        case (a, b):
            return x * a + b
        case (1.0, *_, 9.0):
            return x - 1.0
        case (a, *rest, c):
            return x * a + c + len(rest)
        case []:
            return x * 0.0
        case _:
            return x * 4.0


def nested(x, n):
    match n:
        case ("scale", float(by)):
            return x * by
        case ("affine", (a, b)) if a != b:
            return x * a + b
        case ("affine", [a, _]):
            return x * a
        case ("point", Point(a, b)):
            return x * a - b
    return x + 1.0


def mapping(x, n):
    match {"op": "add", "v": n, "w": 2}:
        case {"op": "mul", "v": v}:
            return x * v
        case {"op": "add", "v": v, **rest}:
            return x + v + rest["w"]
    return x


def given_mapping(x, n):
    match n:
        case {"op": "mul", "v": v}:
            return x * v
        case {"op": "add", "v": v}:
            return x + v
        case {}:
            return x - 1.0
    return x + 0.5


def classes(x, n):
    match n:
        case Point(a=1.0):
            return x + 1.0
        case Point(a, b):
            return x * a + b
        case Plain(p, q):
            return x * p + q
        case Plain(p):
            return x * p
        case Slotted(p=p):
            return x - p
        case np.ndarray(shape=(k,)):
            return x * k
        case _:
            return x - 2.0


CASES = [
    (numbers, [0, 1, 2, -3, 2.5, 3.5, 11, 5, True]), (strings, ["a", "b", "c", "word", None]),
    (sequences, [(1.0,), [2.0], (1.0, 2.0), [1.0, 2.0], (1.0, 5.0, 9.0), (3.0, 1.0, 1.0, 2.0), (), 3.0, "text"]),
    (nested, [("scale", 2.0), ("affine", (1.0, 2.0)), ("affine", (2.0, 2.0)), ("point", Point(3.0)), ("other", 1)]),
    (mapping, [2.0]), (given_mapping, [{"op": "mul", "v": 2.0}, {"op": "add", "v": 3.0}, {"v": 1}, {}, 3.0]),
    (classes, [Point(1.0), Point(2.0), Slotted(3.0), X, Plain(2.0), 4]),
]


@pytest.mark.parametrize("func, values", CASES, ids=[case[0].__name__ for case in CASES])
def test_match(func, values):
    for value in values:
        check(func, lambda value=value: (X.copy(), value))


def test_a_property_in_a_pattern_runs_once():
    def f(x, n):
        match n:
            case Computed(p=2.0):
                return x * 2.0
        return x
    check(f, lambda: (X.copy(), Computed()), native=None)


def test_many_positional_patterns():
    def f(x, n):
        match n:
            case Point(1.0, 2.0, 3.0):
                return x
        return x + 1.0
    check(f, lambda: (X.copy(), Point(1.0)), native=None)


@pytest.mark.parametrize("abstract, pattern", [(collections.abc.Sequence, 1), (collections.abc.Mapping, 2)])
def test_a_class_that_is_registered_later(abstract, pattern):
    class Later:
        def __len__(self):
            return 0

        def keys(self):
            return ()

    def f(x, n):
        match n:
            case []:
                return x * 1.0
            case {}:
                return x * 2.0
        return x * 3.0

    fast = jitcore.accelerate(fresh_copy(f))
    for _ in range(3):
        same(fast(X, Later()), X * 3.0)
    assert jitcore.stats(fast).native_calls == 3
    abstract.register(Later)
    for _ in range(3):
        same(fast(X, Later()), X * pattern)


def test_match_args_that_change():
    class Changing:
        __match_args__ = ("a",)

        def __init__(self):
            self.a, self.b = 1.0, 2.0

    def f(x, n):
        match n:
            case Changing(v):
                return x * v
        return x

    fast = jitcore.accelerate(f)
    for _ in range(3):
        same(fast(X, Changing()), X * 1.0)
    Changing.__match_args__ = ("b",)
    for _ in range(3):
        same(fast(X, Changing()), X * 2.0)
    assert jitcore.stats(fast).native_calls == 6
