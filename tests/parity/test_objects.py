"""Objects of classes written in Python: made inside a region, methods, operators, with, partial functions."""
from __future__ import annotations

import contextlib
import functools
import gc
import math
import operator
import threading
import weakref
from dataclasses import dataclass, field

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, observe, same

X = np.arange(1.0, 9.0)
FIRST = operator.itemgetter(0)      # does nothing, and is not known to: a CALL site
LOCK = threading.Lock()


@dataclass
class Point:
    a: float
    b: float = 2.0

    unit = 3.0

    def at(self, x):
        return x * self.a + self.b

    @property
    def total(self):
        return self.a + self.b

    @classmethod
    def doubled(cls, x):
        return x * cls.unit

    @staticmethod
    def tripled(x):
        return x * 3.0

    def __call__(self, x):
        return self.at(x) + 1.0


class Shifted(Point):
    def mixed(self, t, y):
        return t * self.a - y

    def at(self, x):
        return super().at(x) + 1.0


class Sub(Point):
    def __init__(self, a):
        super().__init__(a, 1.0)
        self.k = a * 2

    def at(self, x):
        return x * self.k + self.total


@dataclass(frozen=True)
class Frozen:
    a: float
    b: float = field(default=1.0, kw_only=True)

    def __post_init__(self):
        if self.a < 0:
            raise ValueError("negative")


@dataclass(slots=True)
class Slotted:
    a: float
    b: object = None


class Vector:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        if not isinstance(other, Vector):
            return NotImplemented
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, by):
        return Vector(self.x * by, self.y * by)

    __rmul__ = __mul__

    def __iadd__(self, other):
        self.x += other.x
        self.y += other.y
        return self

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __abs__(self):
        return math.sqrt(self.x * self.x + self.y * self.y)

    def __eq__(self, other):
        return isinstance(other, Vector) and self.x == other.x and self.y == other.y

    def __lt__(self, other):
        return abs(self) < abs(other)

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    __hash__ = None


class Accumulator:
    def __init__(self):
        self.total = 0.0
        self.n = 0

    def add(self, v):
        self.total += v
        self.n += 1

    @property
    def mean(self):
        return self.total / self.n

    @mean.setter
    def mean(self, value):
        self.total = value * self.n


class Timer:
    def __init__(self, log):
        self.log = log
        self.entered = 0

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, kind, value, traceback):
        self.entered -= 1
        if kind is not None and issubclass(kind, ValueError):
            return True
        return None


class Visible:
    def __init__(self):
        self.seen = []

    def __enter__(self):
        self.seen.append("in")
        return self.seen

    def __exit__(self, *info):
        self.seen.append(info[0])
        return info[0] is KeyError


def method(x, p):
    return p.at(x) + p.total


def of_the_class(x, p):
    return p.doubled(x) + p.tripled(x) + Point.doubled(x) + Point.tripled(x) + Point.at(p, x) + Point.unit


def called(x, p):
    return p(x) * 2.0


def made(x, n):
    p = Point(n, 3.0)
    return p.at(x) + Sub(n).at(x)


def returned(x, n):
    p, q = Sub(n), Slotted(n)
    q.b = p
    return x * p.k, [p.__dict__, q.a, q.b is p, type(p) is Sub, list(vars(p))]


def escapes(x, n):
    p = Point(n, x * 2.0)
    q = FIRST([p])
    p.a += 1.0
    return q is p, q.a, q.b, x + q.a


def vectors(x, n):
    v = Vector(n, 1.0) + Vector(2.0, n) * 2.0 - 0.5 * Vector(1.0, 1.0)
    v += -Vector(x[0], 0.0)
    return abs(v) * x, v[0], v[-1], v == Vector(1.0, 2.0), v != v, v < Vector(100.0, 1.0)


def vectors_in_loop(x, n):
    at, by = Vector(0.0, 0.0), Vector(1.0, 0.5)
    for i in range(n):
        at = at + by * x[i % 8]
        if abs(at) > 50.0:
            at = Vector(at.x / 2.0, at.y)
    return at.x, at.y


def updated_in_loop(x, n):
    a = Accumulator()
    for i in range(n):
        a.add(x[i % 8])
        a.mean = a.mean + 0.5
    return a.total, a.n, a.mean


def not_implemented(x, n):
    return x * 2.0, Vector(n, n) + n


def attributes(x, n):
    a = Accumulator()
    a.other = n
    del a.n
    return hasattr(a, "n"), hasattr(a, "other"), getattr(a, "n", 7), x * a.other, isinstance(a, Accumulator), type(a)


def absent_attribute(x, n):
    a = Accumulator()
    y = x * n
    return y, a.missing


def absent_slot(x, n):
    s = Slotted(n)
    y = x * n
    s.c = 1
    return y


def absent_attribute_caught(x, p):
    try:
        return x * p.missing
    except AttributeError:
        return x * p.a


def frozen(x, n):
    f = Frozen(n, b=2.0)
    return x * f.a + f.b


def frozen_changed(x, n):
    f = Frozen(n)
    y = x * f.a
    f.a = 3.0
    return y


def stored(x, p):
    p.a = 3.0
    y = x * p.a
    p.b += 1.0
    return y + p.b, p.a


def partial_made(x, n):
    f = functools.partial(lambda a, b, *, c: a * b + c, x, c=n)
    return f(2.0) + functools.partial(f, 3.0)(c=1.0)


PARTIAL = functools.partial(lambda a, b, *, c, d=0.0: a * b + c + d, c=2.0)


def partial_given(x, n):
    return PARTIAL(x, n) + PARTIAL(x, n, c=1.0, d=n)


def wrapper(f):
    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        return f(*args, **kwargs) * 2.0
    return wrapped


@wrapper
def decorated(x, n=2.0, /, *rest, k=1.0, **more):
    return x * n * k + len(rest) + sum(more.values())


def uses_decorated(x, n):
    return decorated(x, n) + decorated(x) + decorated(x, n, 1, 2, k=3, z=4)


def with_own(x, n):
    with Timer(None) as t:
        y = x * n + t.entered
    return y + t.entered


def with_given(x, v):
    with v as seen:
        y = x * 2.0
        seen = len(seen)
    return y + 1.0, v.seen


def with_raising(x, n):
    y = x
    with Timer(None), contextlib.nullcontext(3.0) as c:
        y = y + c
        if n < 0:
            raise ValueError(f"negative {n}")
        if n > 100:
            raise KeyError(n)
        y = y * n
    return y + 1.0


def with_suppress(x, n):
    y = x
    with contextlib.suppress(KeyError, IndexError):
        y = x * n
        if n < 0:
            raise KeyError
        y = x[int(n)] + y
    return y + 1.0


def with_return(x, n):
    with contextlib.nullcontext():
        if n > 2:
            return x * n
    return x


def with_lock(x, n):
    with LOCK:
        y = x * n
        held = LOCK.locked()
    return y + 1.0, held, LOCK.locked()


def with_in_loop(x, n):
    t = 0.0
    for i in range(int(n)):
        with contextlib.nullcontext(i) as k:
            t += x[k % 8]
    return t


#: Function, what makes its second argument, whether all of it is native.
CASES = [
    (method, lambda: Point(1.5), True), (method, lambda: Shifted(1.5), True), (method, lambda: Sub(1.5), True),
    (of_the_class, lambda: Point(1.5), True), (called, lambda: Point(1.5), True), (made, lambda: 2.5, True),
    (returned, lambda: 2.5, None), (escapes, lambda: 2.5, None), (vectors, lambda: 2.5, True),
    (vectors_in_loop, lambda: 100, True), (updated_in_loop, lambda: 100, True), (not_implemented, lambda: 2.5, None),
    (attributes, lambda: 2.5, True), (absent_attribute, lambda: 2.5, None), (absent_slot, lambda: 2.5, None),
    (absent_attribute_caught, lambda: Point(1.5), True), (frozen, lambda: 2.5, True), (frozen, lambda: -2.5, None),
    (frozen_changed, lambda: 2.5, None), (stored, lambda: Point(1.5), None), (partial_made, lambda: 2.5, True),
    (partial_given, lambda: 2.5, True), (uses_decorated, lambda: 2.5, True), (with_own, lambda: 2.5, True),
    (with_given, Visible, None), (with_raising, lambda: 2.0, True), (with_raising, lambda: -2.0, True),
    (with_raising, lambda: 200.0, None), (with_suppress, lambda: 2.0, True), (with_suppress, lambda: -2.0, True),
    (with_suppress, lambda: 20.0, None), (with_return, lambda: 3.0, True), (with_lock, lambda: 3.0, None),
    (with_in_loop, lambda: 20.0, True),
]


@pytest.mark.parametrize("func, second, native", CASES, ids=[f"{c[0].__name__}-{i}" for i, c in enumerate(CASES)])
def test_objects(func, second, native):
    check(func, lambda: (X.copy(), second()), native=native)


def test_a_class_that_changes():
    class Changing:
        def __init__(self, a):
            self.a = a

        def at(self, x):
            return x * self.a

    def f(x, n):
        return Changing(n).at(x)

    plain, fast = fresh_copy(f), jitcore.accelerate(fresh_copy(f))

    def both():
        for _ in range(3):
            first, second = observe(plain, (X, 2.0), {}), observe(fast, (X, 2.0), {})
            assert first.kind == second.kind
            same(first.value, second.value)

    both()
    assert jitcore.stats(fast).native_calls == 3
    Changing.at = lambda self, x: x + self.a
    both()
    Changing.__init__ = lambda self, a: setattr(self, "a", a + 1.0)
    both()
    made = []
    Changing.__setattr__ = lambda self, name, value: made.append(name) or object.__setattr__(self, name, value)
    both()
    assert made == ["a"] * 6
    Changing.__del__ = lambda self: made.append("dropped")
    both()
    assert made.count("dropped") == 6
    Changing.__new__ = staticmethod(lambda cls, *args: 1)
    both()


def test_an_object_that_only_an_exit_makes_is_alone():
    """Each call's object is a new one, and dies with its last reference."""
    def f(x, n):
        p = Point(n, x)
        return FIRST([p]), x * 2.0

    fast = jitcore.accelerate(f)
    found = [fast(X, 2.0)[0] for _ in range(4)]
    assert len({id(p) for p in found}) == 4
    gone = [weakref.ref(p) for p in found]
    del found
    gc.collect()
    assert all(ref() is None for ref in gone)


def test_a_class_is_not_kept_alive():
    class Short:
        def __init__(self, a):
            self.a = a

    def f(x, n):
        p = Short(n)        # noqa: F821
        q = FIRST([p])
        return x * q.a

    fast = jitcore.accelerate(fresh_copy(f))
    for _ in range(3):
        fast(X, 2.0)
    gone = weakref.ref(Short)
    del Short, f, fast
    gc.collect()
    assert gone() is None


def test_different_functions_are_different_regions():
    def step(f, t, y, h):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def solve(f, y, n):
        for i in range(n):
            y = step(f, y * 0 + i * 0.1, y, 0.1)
        return y

    def decay(t, y):
        return -y

    def forced(t, y, k=0.5):
        return k * t - y

    plain, fast = fresh_copy(solve), jitcore.accelerate(fresh_copy(solve))
    for _ in range(3):
        for f in (decay, forced, lambda t, y: y * t, Shifted(1.0).mixed, functools.partial(forced, k=0.25)):
            for y in (1.0, X):
                same(plain(f, y, 20), fast(f, y, 20))
    assert jitcore.stats(fast).native_calls == jitcore.stats(fast).calls == 30
    for k in range(200):
        same(plain(lambda t, y, k=k: y * k, 1.0, 3), fast(lambda t, y, k=k: y * k, 1.0, 3))
    assert jitcore.stats(fast).compiles < 150
