"""Dead code: what has no use, no effect and nothing to report goes.

Job: drop exits that no run can take, then nodes without a use, blocks that cannot be reached, and
the recipes of exits that nothing takes.  Invariants: a node whose exit can be taken stays, used or
not (NumPy would report or raise there); exits keep their numbers.
"""
from __future__ import annotations

from jitcore.ir.build import used_exits
from jitcore.ir.dominance import reverse_postorder
from jitcore.ir.graph import Exit, Graph, Value
from jitcore.ir.opcodes import OPCODES
from jitcore.passes.tables import can_take_exit


def run(graph: Graph) -> int:
    """Remove dead code in place; returns the number of nodes, blocks and exits dropped."""
    reachable = set(reverse_postorder(graph))
    count = len(graph.blocks) - len(reachable)
    graph.blocks = [block for block in graph.blocks if block in reachable]
    for node in graph.nodes():
        if node.exit is not None and OPCODES[node.op].exit == "may" and not can_take_exit(node):
            node.exit = None
            node.attrs.pop("reports", None)
            count += 1
    taken = used_exits(graph)
    for index, exit in enumerate(graph.exits):
        if index not in taken and index != 0 and exit.reason != "never taken":
            graph.exits[index] = Exit("restart", reason="never taken", line=exit.line)
            count += 1
    return count + _sweep(graph)


def _sweep(graph: Graph) -> int:
    """Keep the nodes that a root needs: terminators, exits, effects, checks."""
    live: set[Value] = set()
    work: list[Value] = []

    def need(values: tuple[Value, ...]) -> None:
        for value in values:
            if value not in live:
                live.add(value)
                work.append(value)

    for value in graph.inputs:
        need(value.shape)  # an input is read through its lengths
    for exit in graph.exits:
        need(exit.values)
    for block in graph.blocks:
        for param in block.params:
            need((param,))
        if block.terminator is not None:
            need(tuple(block.terminator.uses()))
        for node in block.nodes:
            if node.exit is not None or not OPCODES[node.op].pure or node.result is None:
                need(tuple(node.uses()))
    while work:
        value = work.pop()
        need(value.shape)
        if value.node is not None:
            need(value.node.operands)
    removed = 0
    for block in graph.blocks:
        kept = [node for node in block.nodes
                if node.exit is not None or not OPCODES[node.op].pure or node.result is None or node.result in live]
        removed += len(block.nodes) - len(kept)
        block.nodes = kept
    return removed
