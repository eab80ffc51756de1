"""Parameters that always get one value are that value.

Job: where all jumps to a block hand one parameter the same value, or the parameter itself, uses of the parameter become
uses of the value.  Invariant: the value is at hand there, since it is on every way to the block.  Lengths that a loop
does not change become known in it so.
"""
from __future__ import annotations

from jitcore.ir.build import replace_uses
from jitcore.ir.dominance import reverse_postorder
from jitcore.ir.graph import Graph, Value


def run(graph: Graph) -> int:
    """Remove such parameters in place; returns how many."""
    replaced: dict[Value, Value] = {}

    def now(value: Value) -> Value:
        while value in replaced:
            value = replaced[value]
        return value

    reached = reverse_postorder(graph)
    handed: dict[Value, list[Value]] = {}
    for block in reached:
        for target, given in block.terminator.targets if block.terminator is not None else ():
            for param, arg in zip(target.params, given):
                handed.setdefault(param, []).append(arg)
    kept = {param for exit in graph.exits if exit.target is not None for param in exit.target.params}
    changed = True
    while changed:
        changed = False
        for param, args in handed.items():
            if param in replaced or param in kept:
                continue
            found = {now(arg) for arg in args} - {param}
            if len(found) == 1:
                replaced[param], = found
                changed = True
    if not replaced:
        return 0
    for block in graph.blocks:
        if block.terminator is not None:
            block.terminator.targets = [
                (target, tuple(arg for param, arg in zip(target.params, args) if param not in replaced))
                for target, args in block.terminator.targets]
    for block in graph.blocks:
        block.params = [param for param in block.params if param not in replaced]
    return replace_uses(graph, replaced) + len(replaced)
