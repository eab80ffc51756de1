"""Common subexpressions: what was computed on every path here is not computed again.

Job: dominance-based value numbering.  Invariants: a node replaced by an equal, dominating one could
not have taken its exit, since that one did not; two arrays become one only if that cannot be seen
(``effects``); calls stay.

Source of the method: P. Briggs, K. Cooper, L. Simpson, "Value Numbering", 1997, section 4.
"""
from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from jitcore.ir.build import erase, replace_uses, type_key
from jitcore.ir.dominance import dominators, reverse_postorder
from jitcore.ir.graph import Block, Graph, Node, Value
from jitcore.ir.literal import scalar_bits
from jitcore.ir.opcodes import OPCODES
from jitcore.passes.effects import escaping, has_stores, is_array, reads_memory

_COMMUTATIVE_INDEX = ("add", "mul", "max", "min")


def run(graph: Graph) -> int:
    """Merge equal nodes in place; returns how many are gone."""
    above = dominators(graph)
    stores = has_stores(graph)
    seen_outside = escaping(graph)
    known: dict[Hashable, list[tuple[Block, Node]]] = {}
    replaced: dict[Value, Value] = {}
    dead: list[Node] = []

    def now(value: Value) -> Value:
        while value in replaced:
            value = replaced[value]
        return value

    for block in reverse_postorder(graph):
        for node in block.nodes:
            if not OPCODES[node.op].pure or node.op == "call" or (stores and reads_memory(node)):
                continue
            operands = [now(value) for value in node.operands]
            shape = tuple(now(value).id for value in node.result.shape) if node.result is not None else ()
            key = _key(node, operands, shape)
            for home, other in known.setdefault(key, []):
                if home in above[block] and _may_replace(other, node, stores, seen_outside):
                    if node.result is not None and other.result is not None:
                        replaced[node.result] = other.result
                        if node.result in seen_outside:
                            seen_outside.add(other.result)
                    dead.append(node)
                    break
            else:
                known[key].append((block, node))
    replace_uses(graph, replaced)
    erase(graph, dead)
    return len(dead)


def _may_replace(other: Node, node: Node, stores: bool, seen_outside: set[Value]) -> bool:
    """True if ``node``, equal to ``other`` and behind it, can go."""
    if node.exit is not None and other.exit is None:
        return False  # the other one does not look for what this one would report
    if node.result is not None and is_array(node.result):
        assert other.result is not None
        return not stores and not (node.result in seen_outside and other.result in seen_outside)
    return True


def _key(node: Node, operands: list[Value], shape: tuple[int, ...]) -> Hashable:
    ids = [value.id for value in operands]
    if node.op in ("bcast", "same") or (node.op == "idx" and node.attrs["fn"] in _COMMUTATIVE_INDEX):
        ids.sort()
    type_ = type_key(node.result.type) if node.result is not None else None
    return node.op, tuple(ids), tuple(sorted((k, _freeze(v)) for k, v in node.attrs.items())), type_, shape


def _freeze(value: Any) -> Hashable:
    """A key of an attribute's value that tells apart whatever may matter."""
    if isinstance(value, (tuple, list)):
        return ("items", type(value).__name__, *map(_freeze, value))
    if isinstance(value, (bool, int, float, complex, np.generic)):
        kind, bits = scalar_bits(value)
        return ("scalar", kind.__module__, kind.__name__, repr(bits))
    if isinstance(value, str) or value is None:
        return ("text", repr(value))
    return ("object", id(value))
