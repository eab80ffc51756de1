"""Lengths: the canonical form of every array length in a region.

Job: give arrays of equal shape the same ``Value`` for each axis, so that later stages see which loops
agree.  Invariants: a broadcast length is known by the set of input lengths it comes from (constant 1 left
out), so ``bcast(bcast(a, b), a)`` is ``bcast(a, b)`` whatever the order; index arithmetic is folded and
shared; a value handed out dominates the block that the builder appends to at present.  Hints are the
snapshot's lengths: they choose what is worth a guard and are never believed.  Used by ``frontend.numpy_*``.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, ref

from jitcore.frontend.builder import Builder
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Array
from jitcore.ir.graph import Value
from jitcore.ir.types import INT

MOST_ELEMENTS = 1 << 36     # of an array that is made

_FOLD: dict[str, Callable[[int, int], int | None]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "max": max, "min": min,
    "satsub": lambda a, b: max(a - b, 0), "floordiv": lambda a, b: a // b if b > 0 else None,
}


class Lengths:
    """The lengths and index values of one region."""

    def __init__(self, builder: Builder) -> None:
        self._builder = ref(builder)
        self._made: dict[tuple[Any, ...], dict[int, Value]] = {}
        self._leaves: dict[Value, frozenset[Value]] = {}
        self._numbers: dict[Value, int] = {}
        self._idx: dict[Value, tuple[str, Value, Value]] = {}
        self._hints: dict[Value, int] = {}

    @property
    def builder(self) -> Builder:
        builder = self._builder()
        assert builder is not None
        return builder

    # -- sharing --------------------------------------------------------------------------------
    def _find(self, key: tuple[Any, ...]) -> Value | None:
        """A value made for ``key`` in this block, or in the entry block, which dominates all."""
        made = self._made.get(key, {})
        found = made.get(self.builder.block.id)
        return found if found is not None else made.get(self.builder.entry.id)

    def _keep(self, key: tuple[Any, ...], value: Value) -> Value:
        self._made.setdefault(key, {})[self.builder.block.id] = value
        return value

    # -- numbers --------------------------------------------------------------------------------
    def const(self, number: int) -> Value:
        """The constant ``number``; ``Unsupported`` beyond 64 bits."""
        if not -2**63 <= number < 2**63:
            raise Unsupported("an index beyond 64 bits")
        found = self._find(("const", number))
        if found is not None:
            return found
        value = self._keep(("const", number), self.builder.index(number))
        self._numbers[value] = self._hints[value] = number
        return value

    def number(self, value: Value) -> int | None:
        """The number that ``value`` always is, if it is a constant."""
        known = self._numbers.get(value)
        if known is None and value.node is not None and value.node.op == "const" and value.type == INT:
            known = self._numbers[value] = value.node.attrs["value"]
        return known

    def hint(self, value: Value) -> int | None:
        """The snapshot's number for ``value``, where it has one."""
        known = self.number(value)
        return known if known is not None else self._hints.get(value)

    def note(self, value: Value, hint: int | None) -> Value:
        """Remember the snapshot's number for ``value``."""
        if hint is not None:
            self._hints.setdefault(value, hint)
        return value

    def canonical(self, value: Value) -> Value:
        """The value that stands for this length."""
        value = self.builder.canonical(value)
        leaves = self._leaves.get(value)
        if leaves is not None:
            self._leaves[value] = leaves = frozenset(self.builder.canonical(leaf) for leaf in leaves)
            if len(leaves) == 1:
                return next(iter(leaves))
            return self._find(("bcast", leaves)) or self._keep(("bcast", leaves), value)
        number = self.number(value)
        return value if number is None else self.const(number)

    def shape(self, array: Array) -> tuple[Value, ...]:
        """The canonical lengths of ``array``; its hints are remembered."""
        for length, hint in zip(array.shape, array.hint):
            self.note(length, hint)
        return tuple(self.canonical(length) for length in array.shape)

    def hints(self, shape: Sequence[Value]) -> tuple[int | None, ...]:
        return tuple(self.hint(length) for length in shape)

    # -- arithmetic -----------------------------------------------------------------------------
    def idx(self, fn: str, a: Value, b: Value) -> Value:
        """``a fn b`` for lengths, strides and offsets (never overflows); constants are folded."""
        x, y = self.number(a), self.number(b)
        if x is not None and y is not None:
            folded = _FOLD[fn](x, y)
            if folded is not None:
                return self.const(folded)
        if fn in ("add", "mul", "max", "min") and x is not None:
            a, b, x, y = b, a, y, x
        if y == 0 and fn in ("add", "sub"):
            return a
        if fn == "satsub":
            simpler = self._difference(a, b)
            if simpler is not None:
                return simpler
        if y == 0 and fn == "mul":
            return self.const(0)
        if y == 1 and fn in ("mul", "floordiv"):
            return a
        if a is b and fn in ("max", "min"):
            return a
        if a is b and fn in ("sub", "satsub"):
            return self.const(0)
        inner = self._idx.get(a)
        if fn == "satsub" and y is not None:
            if y <= 0 and self.is_length(a):
                return a if y == 0 else self.idx("add", a, self.const(-y))
            if inner is not None and inner[0] == "satsub":      # max(max(n-i, 0) - k, 0) is max(n - (i+k), 0)
                first = self.number(inner[2])
                if first is not None and first >= 0:
                    return self.idx("satsub", inner[1], self.const(first + y))
        if fn in ("min", "max") and self.is_length(a) and y is not None and y <= 0:
            return a if fn == "max" else b
        found = self._find((fn, a, b))
        if found is not None:
            return found
        value = self._keep((fn, a, b), self.builder.emit("idx", (a, b), INT, fn=fn))
        self._idx[value] = (fn, a, b)
        if (p := self.hint(a)) is not None and (q := self.hint(b)) is not None:
            self.note(value, _FOLD[fn](p, q))
        return value

    def _difference(self, a: Value, b: Value) -> Value | None:
        """Forms of ``max(a - b, 0)`` that slices of one axis have in common."""
        inner = self._idx.get(b)
        if inner is None:
            return None
        fn, p, q = inner
        k = self.number(q)
        if fn == "min" and k is not None and k >= 0 and self._at_most(a, p):
            return self.idx("satsub", a, q)                     # max(a - min(n, k), 0) for a <= n
        if fn == "satsub" and k is not None and k >= 0 and self.is_length(p):
            if a is p:
                return self.idx("min", a, q)                    # n - max(n - k, 0)
            outer = self._idx.get(a)
            if outer is not None and outer[0] == "satsub" and outer[1] is p:
                j = self.number(outer[2])
                if j is not None and 0 <= j <= k:               # max(n - j, 0) - max(n - k, 0)
                    return self.idx("satsub", self.idx("min", p, q), outer[2])
        return None

    def _at_most(self, a: Value, n: Value) -> bool:
        """Whether ``a <= n`` for certain."""
        if a is n:
            return True
        inner = self._idx.get(a)
        if inner is None:
            return False
        fn, p, q = inner
        if fn == "min":
            return self._at_most(p, n) or self._at_most(q, n)
        return fn == "satsub" and self.is_length(q) and self.is_length(n) and self._at_most(p, n)

    def is_length(self, value: Value) -> bool:
        """Whether ``value`` is certainly not negative."""
        number = self.number(value)
        if number is not None:
            return number >= 0
        node = value.node
        if self._find(("length", value)) is not None:
            return True
        if node is None:
            return False
        if node.op in ("dim", "bcast", "wrap", "extent"):
            return True
        if node.op != "idx":
            return False
        fn, (a, b) = node.attrs["fn"], node.operands
        if fn == "satsub" or (fn == "max" and (self.is_length(a) or self.is_length(b))):
            return True
        return fn in ("add", "mul", "min", "floordiv") and self.is_length(a) and self.is_length(b)

    def assume_length(self, value: Value) -> None:
        """``value`` was checked at run time not to be negative."""
        self._keep(("length", value), value)

    def product(self, lengths: Sequence[Value]) -> Value:
        """The product of lengths."""
        total = self.const(1)
        for length in lengths:
            total = self.idx("mul", total, length)
        return total

    def dim(self, array: Value, axis: int) -> Value:
        """The run-time length of ``axis`` of a new array that says nothing about its lengths."""
        return self.builder.emit("dim", (array,), INT, axis=axis)

    def stride(self, array: Value, axis: int) -> Value:
        """The stride in bytes of ``axis`` of ``array``."""
        found = self._find(("stride", array, axis))
        if found is None:
            found = self._keep(("stride", array, axis), self.builder.emit("stride", (array,), INT, axis=axis))
        return found

    def wrap(self, index: Value, length: Value) -> Value:
        """An index counted from the front; exits at run time where it is out of range."""
        found = self._find(("wrap", index, length))
        return found if found is not None else self._keep(
            ("wrap", index, length), self.builder.emit("wrap", (index, length), INT, exit=0))

    # -- broadcasting ---------------------------------------------------------------------------
    def _leaves_of(self, value: Value) -> frozenset[Value]:
        return self._leaves.get(value) or frozenset((value,))

    def bcast(self, a: Value, b: Value) -> Value:
        """The broadcast length of ``a`` and ``b``; exits at run time where they do not fit."""
        a, b = self.canonical(a), self.canonical(b)
        if a is b or self.number(b) == 1:
            return a
        if self.number(a) == 1:
            return b
        if self.number(a) is not None and self.number(b) is not None:
            raise Unsupported("operands could not be broadcast together")
        if self._leaves_of(b) <= self._leaves_of(a):
            return a
        if self._leaves_of(a) <= self._leaves_of(b):
            return b
        for x in self._leaves_of(a):
            for y in self._leaves_of(b):
                self.builder.unify(self.builder.canonical(x), self.builder.canonical(y), self.hint(x), self.hint(y))
        a, b = self.canonical(a), self.canonical(b)
        if a is b:
            return a
        leaves = frozenset(self.builder.canonical(leaf) for leaf in self._leaves_of(a) | self._leaves_of(b))
        for one in (a, b):
            if leaves <= self._leaves_of(one):
                return one
        found = self._find(("bcast", leaves))
        if found is not None:
            return found
        p, q = self.hint(a), self.hint(b)
        if p is not None and q is not None and p != q and p != 1 and q != 1:
            raise Unsupported("operands could not be broadcast together")
        value = self.builder.emit("bcast", (a, b), INT, exit=0)
        for one in (a, b):
            if self.number(one) is not None:    # not 1: whatever fits gives this length
                return self._keep(("bcast", leaves), one)
        self._keep(("bcast", leaves), value)
        self._leaves[value] = leaves
        self.note(value, q if p == 1 else p)
        return value

    def broadcast(self, shapes: Sequence[tuple[Value, ...]]) -> tuple[Value, ...]:
        """NumPy's broadcast shape; ``Unsupported`` where it cannot fit."""
        ndim = max((len(shape) for shape in shapes), default=0)
        result: list[Value] = []
        for axis in range(-ndim, 0):
            length: Value | None = None
            for shape in shapes:
                if -axis <= len(shape):
                    length = shape[axis] if length is None else self.bcast(length, shape[axis])
            assert length is not None
            result.append(self.canonical(length))
        # A later axis may have unified lengths of an earlier one.
        return tuple(self.canonical(length) for length in result)

    def require_equal(self, a: Value, b: Value) -> None:
        """Exits at run time unless ``a == b``; ``Unsupported`` where they differ for certain."""
        a, b = self.canonical(a), self.canonical(b)
        if a is b:
            return
        p, q = self.hint(a), self.hint(b)
        if p is not None and q is not None and p != q:
            raise Unsupported("shapes differ")
        if self.builder.unify(a, b, p, q) is None:
            key = ("same", a, b)
            if self._find(key) is None:
                self.builder.emit_check("same", (a, b))
                self._keep(key, a)


_TABLES: WeakKeyDictionary[Builder, Lengths] = WeakKeyDictionary()


def lengths_of(m: Any) -> Lengths:
    """The ``Lengths`` of the region that machine ``m`` builds."""
    table = _TABLES.get(m.builder)
    if table is None:
        table = _TABLES[m.builder] = Lengths(m.builder)
    return table


def all_equal(a: Sequence[Value], b: Sequence[Value]) -> bool:
    """Whether two shapes are the same values."""
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


def new_array(m: Any, value: Value, base: Array | None = None) -> Array:
    """The abstract array of a graph value, with hints.

    One that no memory holds is left to NumPy, which says so even where nothing needs the array.
    """
    hints = lengths_of(m).hints(value.shape)
    if base is None and math.prod(n for n in hints if n is not None) > MOST_ELEMENTS:
        raise Unsupported("an array that no memory holds")
    return Array(value, None, hints, base)
