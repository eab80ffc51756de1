"""What a region gains: the native operations that count as work.

Job: ``work_of`` counts them in a traced graph.  Invariants: only operations whose result something needs are counted,
which leaves out what was computed for an answer that then was not used; 0 says that the interpreter would be as
fast.  Used by ``trace``; the rule and its reason are in ``docs/decisions.md``.
"""
from __future__ import annotations

from jitcore.ir.dominance import reverse_postorder
from jitcore.ir.graph import Graph, Node, Value
from jitcore.ir.opcodes import EFFECTS, OPCODES
from jitcore.ir.types import ArrayType

#: Less scalar work than this does not pay for checking guards, and for handing a frame over.
FEW, FEW_WITH_FRAME = 4, 8

#: An operation on NumPy scalars, in operations on Python numbers.
NUMPY_SCALAR = 4

_ARITHMETIC = {"py", "ew", "cast", "splat", "pack", "iota", "reduce", "copy", "load", "byte", "number", "call",
               *EFFECTS, *(op for op in OPCODES if op.startswith("list_"))}


def work_of(graph: Graph, entry: bool) -> int:
    """How much counts, in operations.  ``entry``: the region begins where its function does.

    Operations on whole arrays always count, and all scalar ones of a region with a loop.  In other regions scalar
    operations count from ``FEW`` on where a call may need them and return without ever having a frame; where a
    frame is made, from ``FEW_WITH_FRAME`` on.
    """
    every = _needed(graph, [v for exit in graph.exits for v in exit.values])
    amount = sum(map(_weight, every))
    if any(map(_on_arrays, every)) or amount >= FEW_WITH_FRAME or _has_loop(graph):
        return amount
    if not entry or all(exit.kind != "return" for exit in graph.exits):
        return 0
    returned = [v for exit in graph.exits if exit.kind == "return" for v in exit.values]
    amount = sum(map(_weight, _needed(graph, returned)))
    return amount if amount >= FEW else 0


def _weight(node: Node) -> int:
    return 1 if node.op == "py" else NUMPY_SCALAR


def _needed(graph: Graph, values: list[Value]) -> list[Node]:
    """The arithmetic behind ``values``, branches and stores."""
    for block in graph.blocks:
        if block.terminator is not None:
            values.extend(block.terminator.uses())
        for node in block.nodes:
            if _stores(node):
                values.extend(node.uses())
    live: set[Value] = set()
    while values:
        value = values.pop()
        if value not in live:
            live.add(value)
            if value.node is not None:
                values.extend(value.node.uses())
    return [node for node in graph.nodes()
            if node.op in _ARITHMETIC and (_stores(node) or node.result in live)]


def _stores(node: Node) -> bool:
    """Whether a node is there for what it does.  A list may be changed in vain; it counts all the same."""
    return node.op in EFFECTS or (node.op.startswith("list_") and node.result is None)


def _on_arrays(node: Node) -> bool:
    """Whether a node goes over a whole array."""
    if node.op in ("load", "store", "draw"):
        return False
    if node.op == "list_call":
        return True
    found = [*node.operands, *([node.result] if node.result is not None else [])]
    return any(isinstance(value.type, ArrayType) for value in found)


def _has_loop(graph: Graph) -> bool:
    """Whether some block can be reached from itself."""
    order = {block: i for i, block in enumerate(reverse_postorder(graph))}
    return any(order[target] <= order[block] for block in order if block.terminator is not None
               for target, _ in block.terminator.targets)
