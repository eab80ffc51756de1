"""Functions whose canonical text is kept in ``golden/``.  They are decoded, never run."""
# ruff: noqa
# mypy: ignore-errors
import numpy as np


def straight(x, y):
    return x * y + x


def branches(x, flag):
    if flag is None:
        return -x
    if not flag and x < 3:
        return ~x
    return +x if flag != 1 else x


def loop(values, limit):
    total = 0.0
    for value in values:
        if value > limit:
            break
        if value in (1, 2):
            continue
        total += value
    else:
        total -= 1
    while total:
        total //= 2
    return total


def calls(f, a, *args, **kwargs):
    f(a)
    f(a, key=1, other=a)
    f.method(a).other(*args)
    f(a, *args, key=2, **kwargs)
    return f.method(a, key=3)


def containers(a, b):
    first = (a, b)
    second = [*first, a]
    third = {"a": a, "b": b, **first}
    fourth = {a, *second}
    head, *middle, tail = second
    x, y = first
    return [first, third, fourth, head, middle, tail, {1: x}, f(*first, y)]


def subscripts(x, i):
    x[i] = x[1:] + x[:i] - x[::2]
    x[1:i] = 0
    del x[i]
    x.attr = x[..., None]
    del x.attr
    return x[i, 0]


def comprehensions(values, scale):
    squares = [v * scale for v in values if v]
    table = {v: w for v, w in zip(values, squares)}
    return squares, table, {v for v in values}, (v for v in values)


def closures(a):
    total = 0

    def add(b, c=1, *, d: int = 2):
        nonlocal total
        total += a + b + c + d
        return total

    return add, lambda: total


def strings(x, name):
    return f"{name!r:>{x}} = {x:.3f} {x}", f"{name!s}", "%s" % name


def errors(x):
    try:
        x.go()
    except (ValueError, KeyError) as error:
        raise RuntimeError("no") from error
    finally:
        x.stop()
    assert x, "empty"
    return x


def managed(x, lock):
    with lock as held, np.errstate(divide="ignore"):
        return x / held


def matching(x):
    match x:
        case [a, b, *rest]:
            return a
        case {"key": value, **others}:
            return value
        case np.ndarray(shape=shape):
            return shape
        case int() | None:
            return 0


def local_names(x):
    import math
    from os import path as p
    global counter
    counter = x
    del x
    return math.pi, p, __name__


class Base:
    def method(self, x):
        return super().method(x) + super().attr


def method_with_super():
    return Base.method


def generator(values):
    for value in values:
        got = yield value
    yield from values


async def coroutine(x):
    async with x as y:
        await y
    return [z async for z in x]


def long_jump(x):
    while x:
        x = (x.a0, x.a1, x.a2, x.a3, x.a4, x.a5, x.a6, x.a7, x.a8, x.a9, x.b0, x.b1, x.b2, x.b3, x.b4, x.b5,
             x.a0, x.a1, x.a2, x.a3, x.a4, x.a5, x.a6, x.a7, x.a8, x.a9, x.b0, x.b1, x.b2, x.b3, x.b4, x.b5)
        if x is None:
            continue
        x = (x.a0, x.a1, x.a2, x.a3, x.a4, x.a5, x.a6, x.a7, x.a8, x.a9, x.b0, x.b1, x.b2, x.b3, x.b4, x.b5,
             x.a0, x.a1, x.a2, x.a3, x.a4, x.a5, x.a6, x.a7, x.a8, x.a9, x.b0, x.b1, x.b2, x.b3, x.b4, x.b5)
    return x


GOLDEN = {
    "straight": straight, "branches": branches, "loop": loop, "calls": calls, "containers": containers,
    "subscripts": subscripts, "comprehensions": comprehensions, "closures": closures, "strings": strings,
    "errors": errors, "managed": managed, "matching": matching, "local_names": local_names, "super": Base.method,
    "generator": generator, "coroutine": coroutine, "long_jump": long_jump,
}
