"""Helpers for code that rewrites a graph.

Job: replace uses, erase nodes, insert nodes, compare graphs.  Invariant: a helper leaves every
use pointing at a value that is defined; order within blocks is kept.  Used by ``passes`` and tests.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jitcore.ir.graph import Block, Exit, Graph, Node, Terminator, Value
from jitcore.ir.literal import same_value
from jitcore.ir.recipe import Build, Const, FromSource, FromValue, Null, Recipe
from jitcore.ir.types import ArrayType, ListType, ScalarType, Type


def all_values(graph: Graph) -> Iterable[Value]:
    """Every value that the graph defines."""
    yield from graph.inputs
    for block in graph.blocks:
        yield from block.params
        for node in block.nodes:
            if node.result is not None:
                yield node.result


def replace_uses(graph: Graph, mapping: Mapping[Value, Value]) -> int:
    """Replace every use of each key by its value (chains followed); returns the number of uses changed.

    Uses are operands, shapes, exits' values, conditions and arguments of jumps.
    """
    if not mapping:
        return 0
    final: dict[Value, Value] = {}
    for key in mapping:
        value = mapping[key]
        seen = {key}
        while value in mapping and value not in seen:
            seen.add(value)
            value = mapping[value]
        final[key] = value
    changed = 0

    def new(values: tuple[Value, ...]) -> tuple[Value, ...]:
        nonlocal changed
        hits = sum(value in final for value in values)
        if not hits:
            return values
        changed += hits
        return tuple(final.get(value, value) for value in values)

    for value in all_values(graph):
        value.shape = new(value.shape)
    for block in graph.blocks:
        for node in block.nodes:
            node.operands = new(node.operands)
        end = block.terminator
        if end is not None:
            if end.cond is not None and end.cond in final:
                end.cond = final[end.cond]
                changed += 1
            end.targets = [(target, new(args)) for target, args in end.targets]
    for exit in graph.exits:
        exit.values = new(exit.values)
    return changed


def erase(graph: Graph, nodes: Iterable[Node]) -> int:
    """Remove nodes whose results have no use left; returns how many."""
    gone = set(map(id, nodes))
    removed = 0
    for block in graph.blocks:
        kept = [node for node in block.nodes if id(node) not in gone]
        removed += len(block.nodes) - len(kept)
        block.nodes = kept
    return removed


def insert_before(graph: Graph, block: Block, anchor: Node, op: str, operands: tuple[Value, ...], type: Type | None,
                  /, *, shape: tuple[Value, ...] = (), exit: int | None = None, **attrs: Any) -> Node:
    """A new node in front of ``anchor``, with its source line."""
    node = graph.add(block, op, operands, type, shape=shape, exit=exit, line=anchor.line, **attrs)
    block.nodes.pop()
    position = next(k for k, other in enumerate(block.nodes) if other is anchor)
    block.nodes.insert(position, node)
    return node


def count_uses(graph: Graph) -> dict[Value, int]:
    """How often each value is used: operands, shapes, exits, conditions and arguments of jumps."""
    count: dict[Value, int] = {}

    def use(values: Iterable[Value]) -> None:
        for value in values:
            count[value] = count.get(value, 0) + 1

    for value in all_values(graph):
        use(value.shape)
    for block in graph.blocks:
        for node in block.nodes:
            use(node.operands)
        if block.terminator is not None:
            use(block.terminator.uses())
    for exit in graph.exits:
        use(exit.values)
    return count


def used_exits(graph: Graph) -> set[int]:
    """The exits that a node or terminator of the graph names."""
    found: set[int] = set()
    for block in graph.blocks:
        found.update(node.exit for node in block.nodes if node.exit is not None)
        if block.terminator is not None and block.terminator.exit is not None:
            found.add(block.terminator.exit)
    return found


def type_key(type_: Type) -> tuple[object, ...]:
    """A key that is equal for exactly the same types ('l' and 'q' are equal dtypes of two C types)."""
    if isinstance(type_, ScalarType):
        return ("scalar", type_.dtype.char, type_.weak)
    if isinstance(type_, ArrayType):
        return ("array", type_.dtype.char, type_.ndim, type_.layout)
    if isinstance(type_, ListType):
        return ("list", *type_key(type_.item))
    return ("object",)


class _Matcher:
    """Walks two graphs at once and pairs their values."""

    def __init__(self) -> None:
        self.pairs: dict[Value, Value] = {}
        self.back: dict[Value, Value] = {}
        self.blocks: dict[Block, Block] = {}

    def define(self, a: Value, b: Value) -> bool:
        if self.pairs.setdefault(a, b) is not b or self.back.setdefault(b, a) is not a:
            return False
        return type_key(a.type) == type_key(b.type) and len(a.shape) == len(b.shape)

    def same(self, a: tuple[Value, ...], b: tuple[Value, ...]) -> bool:
        return len(a) == len(b) and all(self.pairs.get(x) is y for x, y in zip(a, b))

    def node(self, a: Node, b: Node) -> bool:
        return (a.op == b.op and a.exit == b.exit and a.line == b.line and self.same(a.operands, b.operands)
                and a.attrs.keys() == b.attrs.keys() and all(same_value(a.attrs[k], b.attrs[k]) for k in a.attrs)
                and (a.result is None) == (b.result is None))

    def end(self, a: Terminator | None, b: Terminator | None) -> bool:
        if a is None or b is None:
            return a is b
        return (a.kind == b.kind and a.exit == b.exit and a.line == b.line and len(a.targets) == len(b.targets)
                and self.same((a.cond,) if a.cond else (), (b.cond,) if b.cond else ())
                and all(self.blocks.get(x) is y and self.same(p, q)
                        for (x, p), (y, q) in zip(a.targets, b.targets)))

    def exit(self, a: Exit, b: Exit) -> bool:
        recipes: dict[Recipe, Recipe] = {}

        def same(x: Recipe, y: Recipe) -> bool:
            if type(x) is not type(y):
                return False
            if isinstance(x, (FromValue, Build)) and recipes.setdefault(x, y) is not y:
                return False
            if isinstance(x, FromValue) and isinstance(y, FromValue):
                return x.index == y.index
            if isinstance(x, FromSource) and isinstance(y, FromSource):
                return x.source == y.source
            if isinstance(x, Const) and isinstance(y, Const):
                return same_value(x.obj, y.obj)
            if isinstance(x, Build) and isinstance(y, Build):
                return x.kind == y.kind and alike(x.items, y.items)
            return isinstance(x, Null)

        def alike(xs: tuple[Recipe, ...], ys: tuple[Recipe, ...]) -> bool:
            return len(xs) == len(ys) and all(same(x, y) for x, y in zip(xs, ys))

        def rest(e: Exit) -> tuple[object, ...]:
            return e.kind, e.unit, e.next_unit, e.site, e.reason, e.line

        if self.blocks.get(a.target) is not b.target if a.target is not None else b.target is not None:
            return False
        return (rest(a) == rest(b) and same_value(a.site_arg, b.site_arg) and self.same(a.values, b.values)
                and alike(a.locals, b.locals) and alike(a.stack, b.stack) and alike(a.operands, b.operands)
                and alike((a.result,) if a.result else (), (b.result,) if b.result else ()))


def structurally_equal(a: Graph, b: Graph) -> bool:
    """True if the graphs are the same but for the numbers of their values and blocks."""
    match = _Matcher()
    if (a.name, a.file) != (b.name, b.file) or [len(x) for x in (a.inputs, a.blocks, a.exits, a.objects)] != [
            len(x) for x in (b.inputs, b.blocks, b.exits, b.objects)]:
        return False
    if not all(same_value(x, y) for x, y in zip(a.objects, b.objects)):
        return False
    match.blocks = dict(zip(a.blocks, b.blocks))
    firsts, seconds = list(all_values(a)), list(all_values(b))
    if len(firsts) != len(seconds) or not all(match.define(x, y) for x, y in zip(firsts, seconds)):
        return False
    return (all(match.same(x.shape, y.shape) for x, y in zip(firsts, seconds))
            and all(len(x.nodes) == len(y.nodes) and len(x.params) == len(y.params)
                    and all(match.node(m, n) for m, n in zip(x.nodes, y.nodes))
                    and match.end(x.terminator, y.terminator) for x, y in zip(a.blocks, b.blocks))
            and all(match.exit(x, y) for x, y in zip(a.exits, b.exits)))
