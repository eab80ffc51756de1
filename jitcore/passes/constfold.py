"""Constant folding: what is known before the run is computed before the run.

Job: replace nodes on constant scalars by constants (with ``ir.interp``, so by NumPy's and Python's
own results), lengths and strides by the values they are known to equal, and branches on constants by jumps.
Invariants: nothing is folded that would take its exit; no array is computed.
"""
from __future__ import annotations

from typing import Any

from jitcore.ir.build import erase, replace_uses
from jitcore.ir.dominance import dominators, reverse_postorder
from jitcore.ir.graph import Block, Graph, Node, Value
from jitcore.ir.interp import TakesExit, WrongRun, evaluate, type_matches
from jitcore.ir.types import ScalarType
from jitcore.passes.tables import context, evaluable

_FOLDED = frozenset(("py", "idx", "unbox", "ew", "cast", "wrap", "bcast"))


def run(graph: Graph) -> int:
    """Fold in place; returns the number of rewrites."""
    return _Folder(graph).run()


class _Folder:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.context = context(graph)
        self.constants: dict[Value, Any] = {}
        self.replaced: dict[Value, Value] = {}
        self.dead: list[Node] = []
        self.count = 0
        self.dominators = dominators(graph)
        self.home: dict[Value, tuple[Block, int]] = {}
        for block in graph.blocks:
            for position, node in enumerate(block.nodes):
                if node.result is not None:
                    self.home[node.result] = (block, position)

    def run(self) -> int:
        for block in reverse_postorder(self.graph):
            for position, node in enumerate(block.nodes):
                node.operands = tuple(self.now(value) for value in node.operands)
                self.node(node, block, position)
            self.branch(block)
        replace_uses(self.graph, self.replaced)
        erase(self.graph, self.dead)
        return self.count

    def now(self, value: Value) -> Value:
        while value in self.replaced:
            value = self.replaced[value]
        return value

    def node(self, node: Node, block: Block, position: int) -> None:
        if node.op == "const" and node.result is not None:
            self.constants[node.result] = node.attrs["value"]
            return
        if node.op in ("same", "check"):
            if self.holds(node):
                self.dead.append(node)
                self.count += 1
            return
        if node.result is None:
            return
        if self.fold(node):
            return
        other = self.equal(node, block, position)
        if other is not None and other is not node.result:
            self.replaced[node.result] = other
            self.dead.append(node)
            self.count += 1

    def holds(self, node: Node) -> bool:
        """True if a check is known to pass."""
        if node.op == "same" and node.operands[0] is node.operands[1]:
            return True
        known = [self.constants.get(value) for value in node.operands]
        if None in known:
            return False
        return bool(known[0]) if node.op == "check" else known[0] == known[1]

    def fold(self, node: Node) -> bool:
        """Turn a scalar node on constants into a constant."""
        assert node.result is not None
        if node.op not in _FOLDED or not isinstance(node.result.type, ScalarType) or not evaluable(node):
            return False
        if not all(value in self.constants for value in node.operands):
            return False
        try:
            value = evaluate(node, [self.constants[value] for value in node.operands], (), self.context)
        except (TakesExit, WrongRun):
            return False
        if not type_matches(value, node.result.type):
            return False
        node.op, node.operands, node.attrs, node.exit = "const", (), {"value": value}, None
        self.constants[node.result] = value
        self.count += 1
        return True

    # -- values known to be equal -------------------------------------------------------------
    def equal(self, node: Node, block: Block, position: int) -> Value | None:
        """A value that is at hand and always equal to the node's result."""
        if node.op == "idx":
            return self.index(node)
        if node.op == "bcast":
            a, b = node.operands
            if self.constants.get(a) == 1 or _leaves(a) <= _leaves(b):
                return b
            if self.constants.get(b) == 1 or _leaves(b) <= _leaves(a):
                return a
        if node.op == "dim":
            length = self.now(node.operands[0].shape[node.attrs["axis"]])
            if self.at_hand(length, block, position):
                return length
        if node.op == "stride":
            inner = node.operands[0].node
            if inner is not None and inner.op == "view":
                return self.now(inner.operands[2 + node.attrs["axis"]])
        if node.op == "unbox":
            inner = node.operands[0].node
            if inner is not None and inner.op == "unbox" and node.result is not None:
                source = self.now(inner.operands[0])
                if source.type == node.result.type:
                    return source
        return None

    def index(self, node: Node) -> Value | None:
        a, b = node.operands
        left, right = self.constants.get(a), self.constants.get(b)
        fn = node.attrs["fn"]
        if (right == 0 and fn in ("add", "sub")) or (right == 1 and fn in ("mul", "floordiv")):
            return a
        if (left == 0 and fn == "add") or (left == 1 and fn == "mul"):
            return b
        if fn == "mul" and 0 in (left, right):
            return a if left == 0 else b
        if a is b and fn in ("max", "min"):
            return a
        if right == 0 and self.is_length(a):
            return {"satsub": a, "max": a, "min": b}.get(fn)
        if left == 0 and self.is_length(b):
            return {"satsub": a, "max": b, "min": a}.get(fn)
        return None

    def is_length(self, value: Value) -> bool:
        """True if the int is known not to be negative."""
        if value in self.constants:
            return self.constants[value] >= 0
        node = value.node
        if node is None:
            return False
        if node.op in ("dim", "wrap"):
            return True
        return (node.op == "idx" and node.attrs["fn"] == "satsub") or (
            node.op == "bcast" and all(map(self.is_length, node.operands)))

    def at_hand(self, value: Value, block: Block, position: int) -> bool:
        """True if ``value`` is defined before ``position`` of ``block``."""
        home = self.home.get(value)
        if home is None:  # an input or a parameter: a parameter's length may be one of another block
            return value in self.graph.inputs or any(value in b.params for b in self.dominators[block])
        return home[1] < position if home[0] is block else home[0] in self.dominators[block]

    def branch(self, block: Block) -> None:
        end = block.terminator
        if end is not None and end.kind == "branch" and end.cond is not None:
            known = self.constants.get(self.now(end.cond))
            if known is not None:
                end.kind, end.cond, end.targets = "jump", None, [end.targets[0 if known else 1]]
                self.count += 1


def _leaves(value: Value) -> frozenset[Value]:
    """The lengths that ``value`` is the broadcast of.  Each is 1 or equal to it, checked on the way."""
    if value.node is not None and value.node.op == "bcast":
        return _leaves(value.node.operands[0]) | _leaves(value.node.operands[1])
    return frozenset((value,))
