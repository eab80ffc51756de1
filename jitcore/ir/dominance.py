"""Which blocks every path to a block goes through.

Job: dominators of a graph's blocks, for ``ir.verify`` and for passes that reuse values.  Invariant:
works on any graph whose blocks have terminators, blocks that cannot be reached included (they
dominate nothing and are dominated by themselves alone).
"""
from __future__ import annotations

from collections.abc import Iterable

from jitcore.ir.graph import Block, Graph


def successors(block: Block) -> list[Block]:
    """The blocks that ``block`` may go on to."""
    return [] if block.terminator is None else [target for target, _ in block.terminator.targets]


def predecessors(blocks: Iterable[Block]) -> dict[Block, list[Block]]:
    """For each of ``blocks`` those that may go on to it, each once; all that they go on to must be among them."""
    found: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in found:
        for target in dict.fromkeys(successors(block)):
            found[target].append(block)
    return found


def reverse_postorder(graph: Graph) -> list[Block]:
    """The reachable blocks; a block comes behind its dominators."""
    order: list[Block] = []
    seen: set[Block] = set()
    if not graph.blocks:
        return order
    stack = [(graph.blocks[0], iter(successors(graph.blocks[0])))]
    seen.add(graph.blocks[0])
    while stack:
        block, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(successors(target))))
                break
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    return order


def in_order(graph: Graph) -> bool:
    """Whether no value is used in front of its definition, as the blocks are listed."""
    there = set(graph.inputs)
    for block in graph.blocks:
        there.update(block.params)
        for node in block.nodes:
            if not there.issuperset((*node.uses(), *graph.exit_uses(node.exit))):
                return False
            if node.result is not None:
                there.add(node.result)
        end = block.terminator
        if end is not None and not there.issuperset((*end.uses(), *graph.exit_uses(end.exit))):
            return False
    return True


def immediate_dominators(graph: Graph) -> dict[Block, Block | None]:
    """The immediate dominator of each reachable block, ``None`` for the entry.

    Source: K. Cooper, T. Harvey, K. Kennedy, "A Simple, Fast Dominance Algorithm", 2001.
    """
    order = reverse_postorder(graph)
    number = {block: index for index, block in enumerate(order)}
    sources = predecessors(order)
    parent: dict[Block, Block | None] = {}
    if not order:
        return parent
    known: dict[Block, Block] = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            best: Block | None = None
            for source in sources[block]:
                if source not in known:
                    continue
                if best is None:
                    best = source
                    continue
                a, b = best, source
                while a is not b:
                    while number[a] > number[b]:
                        a = known[a]
                    while number[b] > number[a]:
                        b = known[b]
                best = a
            assert best is not None
            if known.get(block) is not best:
                known[block] = best
                changed = True
    for block in order:
        parent[block] = None if block is order[0] else known[block]
    return parent


def dominators(graph: Graph) -> dict[Block, frozenset[Block]]:
    """For each block the blocks that dominate it, itself included."""
    parent = immediate_dominators(graph)
    found: dict[Block, frozenset[Block]] = {}
    for block in reverse_postorder(graph):
        up = parent[block]
        found[block] = frozenset((block,)) if up is None else found[up] | {block}
    for block in graph.blocks:
        found.setdefault(block, frozenset((block,)))
    return found


def repeated(graph: Graph) -> set[Block]:
    """The blocks that may come again: those between the target of a jump back and that jump."""
    order = reverse_postorder(graph)
    number = {block: index for index, block in enumerate(order)}
    sources = predecessors(order)
    found: set[Block] = set()
    for block in order:
        for head in successors(block):
            if number[head] > number[block]:
                continue
            inside, work = {head}, [block]
            while work:
                one = work.pop()
                if one not in inside:
                    inside.add(one)
                    work += sources[one]
            found |= inside
    return found
