"""What can be seen of a graph's arrays from outside, and who reads memory.

Job: answer for rewrites whether two arrays may become one.  Invariants: answers err on the side of
"may be seen".  Read only; used by the passes alone.

Two arrays of equal elements are two objects: a caller who gets both may write into one.  So they
may share memory only while at most one of them can be seen outside, and nothing in the region
writes into arrays.
"""
from __future__ import annotations

from jitcore.ir.graph import Graph, Node, Value
from jitcore.ir.opcodes import WRITES
from jitcore.ir.types import ArrayType

#: Opcodes whose array result is new memory that nothing else knows.
_FRESH = frozenset(("ew", "cast", "splat", "pack", "iota", "reduce", "copy"))


def is_array(value: Value) -> bool:
    return isinstance(value.type, ArrayType)


def is_fresh(value: Value) -> bool:
    """True if the array is made by its node, and by it alone."""
    return value.node is not None and value.node.op in _FRESH


def reads_memory(node: Node) -> bool:
    """True if the result depends on the elements of an array, or the items of a list."""
    if node.op in ("count", "item"):
        return True
    return node.op not in ("dim", "stride", "view") and any(map(is_array, node.operands))


def has_stores(graph: Graph) -> bool:
    """True if the region itself writes into arrays."""
    return any(node.op in WRITES for node in graph.nodes())


def escaping(graph: Graph) -> set[Value]:
    """The arrays that can be seen outside, be kept by a callee, written to, or that flow between blocks;
    an array is seen where a view of it is."""
    found: set[Value] = set(graph.inputs)
    for exit in graph.exits:
        found.update(exit.values)
    for block in graph.blocks:
        found.update(block.params)
        if block.terminator is not None:
            for _, args in block.terminator.targets:
                found.update(args)
        for node in block.nodes:
            if node.op in ("call", "array"):
                found.update(node.operands)
                if node.result is not None:
                    found.add(node.result)
            elif node.op in WRITES:
                found.add(node.operands[0])
    views = [node for node in graph.nodes() if node.op == "view"]
    grown = True
    while grown:
        grown = False
        for node in reversed(views):
            if node.result in found and node.operands[0] not in found:
                found.add(node.operands[0])
                grown = True
    return {value for value in found if is_array(value)}
