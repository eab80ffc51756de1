"""Functions that the definition of the canonical instructions is tested with, and their arguments.

They are here and not in the test since pytest rewrites a test's ``assert``.
"""
# ruff: noqa
# mypy: ignore-errors
import contextlib
from dataclasses import dataclass

from . import executor

COUNTER = 0


@dataclass
class Point:
    x: int
    y: int

    def moved(self, dx, dy=0, *rest, scale=1):
        return Point(self.x + scale * dx, self.y + scale * dy + len(rest))


class Child(Point):
    kind = "child"

    def moved(self, dx, dy=0, *rest, scale=1):
        return super().moved(dx + 100, dy, *rest, scale=scale)

    def kinds(self):
        return super().__class__, super().x


Point.kind = "point"


def operators(a, b):
    c = a
    c += b
    c *= 2
    c -= 1
    c //= 2
    return (a + b, a - b, a * b, a / b, a // b, a % b, a ** b, a << b, a >> b, a & b, a | b, a ^ b, -a, +a, ~a, not a,
            a < b, a <= b, a == b, a != b, a > b, a >= b, c)


def logic(a, b):
    if (a and not b) or (b is None):
        return "first", a or b
    if a is not None and a not in (1, 2) and (b if a < 10 else a):
        return "second", a and b
    return ("third", a is b, a is not b, 0 < a <= 5, a in {1, 2, 3}, "x" if a else "y")


def none_tests(a, b):
    while a is None:
        a = b
    return a if b is not None else "none"


def loops(n):
    out = []
    for i in range(n):
        if i == 7:
            break
        if i % 2:
            continue
        for j, k in enumerate("ab"):
            out.append((i, j, k))
    else:
        out.append("else")
    while n:
        n -= 1
        if n == 2:
            break
    return out, n


def comprehensions(values, scale):
    scale2 = 2
    a = [v * scale for v in values if v]
    b = {v: w for v, w in zip(values, a)}
    c = {v % 2 for v in values}
    d = [[i * j * scale2 for j in range(i)] for i in range(3)]
    return a, b, c, d, [f() for f in [lambda v=v: v + scale for v in values]]


def containers(a, b):
    first = (a, b)
    second = [*first, a, *range(3)]
    third = {"a": a, "b": b, **{"c": 1}}
    fourth = {a, *second}
    head, *middle, tail = second
    (x, y), z = first, 3
    return second, third, fourth, head, middle, tail, {1: x, y: z}, (*first, *second), [1, 2, 3, 4], {1, 2, 3, 4}


def subscripts(values):
    values = list(values)
    values[0] = values[1]
    values[1:3] = [9, 9, 9]
    values[::2] = values[::2][::-1]
    values[-1] += 5
    del values[0]
    return values, values[1:], values[:-1], values[:], values[1:2], values[None:None]


def attributes(x):
    p = Point(x, 2)
    p.x = p.y + p.x
    p.y += 3
    p.extra = 1
    del p.extra
    return p, hasattr(p, "extra"), p.kind


def calls(x):
    p = Point(x, 1)
    f = p.moved
    args, kwargs = (1, 2), {"scale": 3}
    return (p.moved(1), p.moved(1, 2, 3), p.moved(1, scale=2), f(1), f(dx=1, dy=2), p.moved(*args), p.moved(*args, **kwargs),
            f(*args, 5, **kwargs), max(1, x), max(x, 2, key=lambda v: -v), dict(a=1, **kwargs), "a".join(["x", "y"]),
            "{}{b}".format(1, b=2), (lambda *a, **k: (a, k))(1, *args, z=1, **kwargs))


def supers(x):
    p = Child(x, 1)
    return p.moved(1), executor.run(Child.moved, p, 1, 2, 3, scale=2), executor.run(Child.kinds, p)


def closures(a):
    total = 0

    def add(b, c=1, *, d: int = 2):
        nonlocal total
        total += a + b + c + d
        return total

    return add(1), add(1, 2, d=3), executor.run(add, 5), total, add.__annotations__


def strings(x, name):
    return f"{name!r:>{x}}|{x:.3f}|{x}|{name!s:<5}|{name!a}", "%s %d" % (name, x), f"{name}", f""


def caught(x):
    log = []
    try:
        try:
            log.append(1 // x)
        except ZeroDivisionError as error:
            log.append(type(error).__name__)
            raise KeyError("again") from error
        finally:
            log.append("finally")
    except (KeyError, ValueError) as error:
        log.append((error.args, type(error.__cause__).__name__))
    else:
        log.append("else")
    return log


def reraised(x):
    try:
        return 1 // x
    except ZeroDivisionError:
        raise
    finally:
        x += 1


def asserted(x):
    assert x, "empty"
    return x


def managed(x):
    log = []

    @contextlib.contextmanager
    def manager(name):
        log.append(name)
        try:
            yield name
        finally:
            log.append("end " + name)

    with manager("a") as a, contextlib.suppress(ZeroDivisionError):
        with manager("b"):
            log.append(a)
            1 // x
            log.append("not by zero")
    return log


def matching(x):
    match x:
        case [a, b, *rest]:
            return "sequence", a, b, rest
        case {"key": value, **others}:
            return "mapping", value, others
        case Point(0, y=y):
            return "point", y
        case 1 | 2:
            return "number"
        case None:
            return "none"
        case _:
            return "other"


def unbound(x):
    if x:
        y = 1
    return y


def deleted(x):
    y = x
    del y
    return y


def free_unbound(x):
    def inner():
        return z
    if x:
        z = 1
    return z, inner()


def imports(x):
    import os.path
    from math import floor, pi as circle
    return os.path.join("a", "b"), floor(circle), x


def globals_(x):
    global COUNTER
    COUNTER = x
    return COUNTER + len(__name__)


def classes(x):
    class Local(Point):
        z = x

        def get(self):
            return self.z + self.x
    return Local(1, 2).get()


def shadowed(x):
    result = [x for x in range(3)], [lambda: x for x in range(2)][0]()
    return result, x


CASES = [
    (operators, (7, 2)), (operators, (-7, 3)), (operators, (1, 0)),
    *((logic, (a, b)) for a in (0, 1, 3, 20) for b in (None, 0, 5)),
    (none_tests, (None, 1)), (none_tests, (2, None)), (loops, (3,)), (loops, (9,)), (loops, (0,)),
    (comprehensions, ([1, 2, 0, 3], 2)), (containers, (1, 2)), (subscripts, ((1, 2, 3, 4, 5),)), (attributes, (3,)),
    (calls, (5,)), (supers, (1,)), (closures, (1,)), (strings, (9, "n\xe9")), (caught, (0,)), (caught, (1,)),
    (reraised, (0,)), (reraised, (2,)), (asserted, (0,)), (asserted, (1,)), (managed, (0,)), (managed, (1,)),
    *((matching, (x,)) for x in ([1, 2, 3], (1, 2), [1], {"key": 1, "b": 2}, {}, Point(0, 5), Point(1, 5), 2, None, "s")),
    (unbound, (1,)), (unbound, (0,)), (deleted, (1,)), (free_unbound, (1,)), (free_unbound, (0,)), (imports, (1,)),
    (globals_, (4,)), (classes, (5,)), (shadowed, (7,)),
]
