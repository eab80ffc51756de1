"""Ordinary Python programs, for ``overhead.py``: what jitcore must not slow down.

Each takes some ten milliseconds, uses no NumPy, and returns something that depends on all it did.
"""
from __future__ import annotations

import heapq
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import reduce


def fibonacci() -> int:
    """Recursion."""
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)
    return fib(24)


def ackermann() -> int:
    """Deeper recursion with two arguments."""
    def ack(m, n):
        if m == 0:
            return n + 1
        return ack(m - 1, 1) if n == 0 else ack(m - 1, ack(m, n - 1))
    return ack(2, 200)


class Account:
    """A class with small methods and a property."""

    def __init__(self, owner, balance=0):
        self.owner, self._balance = owner, balance

    @property
    def balance(self):
        return self._balance

    def deposit(self, amount):
        self._balance += amount
        return self

    def pay(self, other, amount):
        if amount <= self.balance:
            self._balance -= amount
            other.deposit(amount)
        return self.balance


class Savings(Account):
    """Overrides and ``super``."""

    def deposit(self, amount):
        return super().deposit(amount + 1)


def methods() -> int:
    """Method calls, attributes, properties."""
    accounts = [Account("a", 100), Savings("b", 100), Account("c", 100)]
    total = 0
    for i in range(15_000):
        total += accounts[i % 3].pay(accounts[(i + 1) % 3], i % 7)
    return total


def generators() -> int:
    """Generators feeding generators."""
    def numbers(n):
        yield from range(n)

    def squares(values):
        for value in values:
            yield value * value

    def kept(values, divisor):
        for value in values:
            if value % divisor:
                yield value
    return sum(kept(squares(numbers(80_000)), 3))


def closures() -> int:
    """Functions that make functions."""
    def adder(n):
        return lambda x: x + n
    adders = [adder(i) for i in range(50)]
    total = 0
    for _ in range(2000):
        for add in adders:
            total = add(total) & 0xFFFF
    return total


def words() -> int:
    """Strings, dicts, sorting with a key."""
    text = "the quick brown fox jumps over the lazy dog and runs away from the angry bear " * 150
    counts: dict[str, int] = defaultdict(int)
    for word in text.split():
        counts[word.capitalize()] += len(word)
    lines = [f"{word:>10}: {count:5d}" for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    for _ in range(1200):
        lines = sorted(lines, key=lambda line: line[::-1])
    return len("\n".join(lines)) + sum(counts.values())


def exceptions() -> int:
    """try, raise, finally."""
    def check(n):
        if n % 3 == 0:
            raise ValueError(n)
        return n
    caught = done = 0
    for i in range(20_000):
        try:
            check(i)
        except ValueError as error:
            caught += error.args[0] & 1
        finally:
            done += 1
    return caught + done


def queens() -> int:
    """Backtracking over sets."""
    def place(row, columns, rising, falling, n):
        if row == n:
            return 1
        count = 0
        for column in range(n):
            if column not in columns and row + column not in rising and row - column not in falling:
                count += place(row + 1, columns | {column}, rising | {row + column}, falling | {row - column}, n)
        return count
    return place(0, frozenset(), frozenset(), frozenset(), 8)


def floats() -> float:
    """Planets: float arithmetic in attribute-free loops."""
    bodies = [[0.0, 0.0, 0.0, 0.0, 39.5], [4.84, -1.16, 0.6, 2.8, 0.038], [8.34, 4.12, -1.01, 1.8, 0.011]]
    for _ in range(4500):
        for i, a in enumerate(bodies):
            for b in bodies[i + 1:]:
                dx, dy = a[0] - b[0], a[1] - b[1]
                force = 0.01 / (dx * dx + dy * dy) ** 1.5
                a[2] -= dx * b[4] * force
                a[3] -= dy * b[4] * force
                b[2] += dx * a[4] * force
                b[3] += dy * a[4] * force
        for body in bodies:
            body[0] += 0.01 * body[2]
            body[1] += 0.01 * body[3]
    return sum(sum(body) for body in bodies)


def sieve() -> int:
    """Integers and slices of a bytearray."""
    n = 100_000
    flags = bytearray([1]) * n
    for i in range(2, int(n**0.5) + 1):
        if flags[i]:
            for j in range(i * i, n, i):
                flags[j] = 0
    return sum(flags)


@dataclass(order=True)
class Task:
    """An entry of a queue."""

    priority: int
    name: str


def queue() -> int:
    """Dataclasses compared in a heap."""
    heap: list[Task] = []
    for i in range(3000):
        heapq.heappush(heap, Task(i * 7919 % 1009, f"task {i}"))
    total = 0
    while heap:
        total = total * 31 + heapq.heappop(heap).priority & 0xFFFFFF
    return total


def documents() -> int:
    """json and re: C code that calls back into Python."""
    data = {"items": [{"id": i, "tags": ["a", "b"], "price": i / 7} for i in range(400)]}
    text = json.dumps(data, default=str, indent=1)
    loaded = json.loads(text, object_hook=lambda d: {**d, "seen": True})
    found = re.sub(r"\d+", lambda match: str(int(match[0]) + 1), text)
    return len(found) + len(loaded["items"])


def functional() -> int:
    """map, filter, reduce, comprehensions, star arguments."""
    def combine(*values, scale=1, **rest):
        return sum(values) * scale + len(rest)
    rows = [combine(*range(i % 5), scale=i % 3, extra=i) for i in range(8_000)]
    table = {i: row for i, row in enumerate(rows) if row}
    found = map(table.get, filter(lambda i: i % 2, range(8_000)))
    return reduce(lambda a, b: (a * 31 + (b or 0)) & 0xFFFFFF, found, 0)


PROGRAMS = {func.__name__: func for func in (
    fibonacci, ackermann, methods, generators, closures, words, exceptions, queens, floats, sieve, queue, documents,
    functional)}
