"""How integers move in a loop: linear forms, and by how much a trip changes what the loop carries.

Job: ``Motion`` of one loop.  Invariants: a form is the exact value of every trip (within its interval);
nothing here depends on how many trips there are.  Read only; used by ``passes.fastloops`` alone.

A *form* is a sum of integer multiples of *leaves*, which are the loop's own parameters, values from outside and what
inner loops count, and of something within an interval.  A parameter *drifts* if every way back adds something within a
small interval to it.
"""
from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from jitcore.ir.graph import Block, Node, Value
from jitcore.ir.types import BOOL, INT, ScalarType
from jitcore.passes.loops import Loop

#: No coefficient or interval of a form is larger.
MOST = 1 << 40


@dataclass(frozen=True)
class Form:
    """``sum(k * leaf) + something in [low, high]``.  ``terms`` are in order of the leaves' numbers."""

    terms: tuple[tuple[Value, int], ...]
    low: int
    high: int

    def leaves(self) -> tuple[Value, ...]:
        return tuple(leaf for leaf, _ in self.terms)


def form(terms: dict[Value, int], low: int, high: int) -> Form | None:
    """The form, unless its numbers are large."""
    if max(-low, high, *map(abs, terms.values()), 0) > MOST:
        return None
    return Form(tuple(sorted(((v, k) for v, k in terms.items() if k), key=lambda term: term[0].id)), low, high)


def plus(a: Form | None, b: Form | None, k: int = 1) -> Form | None:
    """``a + k * b``."""
    if a is None or b is None or abs(k) > MOST:
        return None
    terms = dict(a.terms)
    for leaf, factor in b.terms:
        terms[leaf] = terms.get(leaf, 0) + k * factor
    ends = (k * b.low, k * b.high)
    return form(terms, a.low + min(ends), a.high + max(ends))


def constant(n: int) -> Form | None:
    return form({}, n, n)


ZERO = Form((), 0, 0)


class Motion:
    """``forms`` of the ints in ``loop``; ``steady``: parameters and the interval that a trip adds to them;
    ``gathering``: the same for parameters to which a trip adds a form of leaves.  ``counters``: what inner loops
    count."""

    def __init__(self, loop: Loop, counters: Container[Value] = ()) -> None:
        self.loop = loop
        self.forms: dict[Value, Form | None] = {}
        for block in loop.blocks:
            for k, param in enumerate(block.params):
                if param.type == INT:
                    self.forms[param] = Form(((param, 1),), 0, 0) if block is loop.head or param in counters \
                        else self._joined(block, k)
            for node in block.nodes:
                if node.result is not None and node.result.type == INT:
                    self.forms[node.result] = self._node(node)
        self.steady: dict[Value, tuple[int, int]] = {}
        self.gathering: dict[Value, tuple[Form, ...]] = {}
        self._drifts()

    # -- forms --------------------------------------------------------------------------------------
    def of(self, value: Value) -> Form | None:
        """The form of a value that is used in the loop."""
        if value in self.forms:
            return self.forms[value]
        node = value.node
        if node is not None and node.op == "const" and value.type in (INT, BOOL):
            return constant(int(node.attrs["value"]))
        if value.type == BOOL:
            return Form((), 0, 1)
        if value.type == INT and value not in self.loop.defined:
            return Form(((value, 1),), 0, 0)
        return None

    def _joined(self, block: Block, position: int) -> Form | None:
        """Where paths meet: their common terms, and the hull of the rest."""
        found: Form | None = None
        for source in self.loop.blocks:
            assert source.terminator is not None
            for target, args in source.terminator.targets:
                if target is not block:
                    continue
                other = self.of(args[position])
                if other is None or (found is not None and other.terms != found.terms):
                    return None
                found = other if found is None else Form(
                    found.terms, min(found.low, other.low), max(found.high, other.high))
        return found

    def _node(self, node: Node) -> Form | None:
        if node.op == "const":
            return constant(node.attrs["value"])
        if node.op == "unbox":
            return _of_dtype(node.operands[0].type)
        if node.op == "byte":
            return Form((), 0, 255)
        if node.op not in ("py", "idx"):
            return None
        fn, args = node.attrs["fn"], [self.of(value) for value in node.operands]
        if fn in ("add", "sub"):
            return plus(args[0], args[1], 1 if fn == "add" else -1)
        if fn == "neg":
            return plus(ZERO, args[0], -1)
        if fn in ("pos", "int"):
            return args[0] if node.operands[0].type in (INT, BOOL) else None
        if fn == "mul":
            for x, y in (args, args[::-1]):
                if x is not None and not x.terms and x.low == x.high:
                    return plus(ZERO, y, x.low)
        if fn in ("mod", "and") and args[1] is not None and not args[1].terms and args[1].low == args[1].high:
            n = args[1].low
            if fn == "and":
                return form({}, 0, n) if n >= 0 else None
            return form({}, 0, n - 1) if n > 0 else None
        if fn in ("min", "max") and all(a is not None and not a.terms for a in args):
            choose: Callable[..., int] = min if fn == "min" else max
            return form({}, choose(a.low for a in args if a), choose(a.high for a in args if a))
        return None

    # -- what a trip adds -----------------------------------------------------------------------------
    def _drifts(self) -> None:
        head = self.loop.head
        for k, param in enumerate(head.params):
            if param.type != INT:
                continue
            rests = []
            for latch in self.loop.latches:
                assert latch.terminator is not None
                for target, args in latch.terminator.targets:
                    if target is head:
                        rests.append(plus(self.of(args[k]), Form(((param, 1),), 0, 0), -1))
            if any(rest is None or param in rest.leaves() for rest in rests):
                continue
            found = [rest for rest in rests if rest is not None]
            if all(not rest.terms for rest in found):
                self.steady[param] = min(r.low for r in found), max(r.high for r in found)
            else:
                self.gathering[param] = tuple(dict.fromkeys(found))


def _of_dtype(type_: object) -> Form | None:
    """What an integer of at most 32 bits can be."""
    assert isinstance(type_, ScalarType)
    kind, bits = type_.dtype.kind, 8 * type_.dtype.itemsize
    if kind == "b":
        return form({}, 0, 1)
    if kind not in "iu" or bits > 32:
        return None
    return form({}, 0, (1 << bits) - 1) if kind == "u" else form({}, -(1 << bits - 1), (1 << bits - 1) - 1)


def never_negative(values: set[Value], args: dict[Value, list[Value]]) -> set[Value]:
    """The ints among ``values`` that are at least 0 in every run.  ``args``: what block parameters may stand for.

    The largest set that explains itself: what is wrongly in it at first goes with what it rests on.
    """
    found = {value for value in values if value.type == INT}
    changed = True
    while changed:
        changed = False
        for value in list(found):
            if not _stays_positive(value, found, args):
                found.discard(value)
                changed = True
    return found


def _stays_positive(value: Value, found: set[Value], args: dict[Value, list[Value]]) -> bool:
    node = value.node
    if node is None:
        return value in args and all(arg in found for arg in args[value])
    if node.op == "const":
        return bool(node.attrs["value"] >= 0)
    if node.op in ("dim", "wrap", "bcast", "count", "byte", "extent"):
        return True
    if node.op == "unbox":
        type_ = node.operands[0].type
        return isinstance(type_, ScalarType) and type_.dtype.kind in "ub"
    if node.op not in ("py", "idx"):
        return False
    fn = node.attrs["fn"]
    good = [operand in found or operand.type == BOOL for operand in node.operands]
    if fn in ("add", "mul", "floordiv", "min", "int", "pos", "rshift"):
        return all(good) and all(operand.type in (INT, BOOL) for operand in node.operands)
    if fn in ("max", "and"):
        return any(good) and all(operand.type in (INT, BOOL) for operand in node.operands)
    if fn == "mod":
        return good[1] and node.operands[1].type == INT
    return fn in ("satsub", "abs")
