"""Loops that contain loops, as one thing to make a fast version of.

Job: ``Nest`` tells ``passes.fastloops`` what it has to know of the loops inside a loop: which numbers they count, whose
polls can go, and which of their floats stay infinite or NaN once they are.  ``nests`` finds the loops in question.
Invariants: nothing is stored on a way around an inner loop, so that a trip of the outer one can be done again as long
as it has not stored; every way around keeps a poll, but for innermost loops of few trips.  Used by
``passes.fastloops``.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from jitcore.ir.dominance import predecessors, successors
from jitcore.ir.graph import Block, Graph, Node, Value
from jitcore.ir.types import INT
from jitcore.passes.bounds import Counter, counter_of, fixed, number
from jitcore.passes.loops import Loop, innermost


class Nest:
    """``loop`` and the ``inner`` loops in it, all that there are; for an innermost loop there are none."""

    def __init__(self, graph: Graph, loop: Loop, inner: list[Loop]) -> None:
        self.loop, self.inner = loop, inner
        self.sources = predecessors(graph.blocks)
        #: What inner loops count, up to something that does not change meanwhile.
        self.counters: dict[Value, Counter] = {}
        for one in inner:
            counter = counter_of(one)
            if counter is not None and counter.up and (number(counter.step) or 0) > 0:
                self.counters[counter.param] = counter

    @cached_property
    def around(self) -> set[Block]:
        """The blocks that a trip may come to more than once."""
        found: set[Block] = set()
        for start in self.loop.blocks:
            work, seen = [start], set[Block]()
            while work:
                for target in successors(work.pop()):
                    if target in self.loop.inside and target is not self.loop.head and target not in seen:
                        seen.add(target)
                        work.append(target)
            if start in seen:
                found.add(start)
        return found

    def stores(self) -> bool:
        """Whether something may be stored on a way around an inner loop."""
        return any(node.op == "store" for block in self.around for node in block.nodes)

    def polls(self, short: Callable[[Loop, Counter], bool]) -> set[Block]:
        """The blocks that have to look at pending events; ``short``: whether a loop with a counter has so few trips
        that it need not."""
        if not self.inner:
            return set()
        quick: set[tuple[Block, Block]] = set()
        for one in self.inner:
            counter = next((self.counters[param] for param in one.head.params if param in self.counters), None)
            if counter is not None and one in innermost(self.inner) and short(one, counter):
                quick.update((latch, one.head) for latch in one.latches)
        place = {block: k for k, block in enumerate(self.loop.blocks)}
        kept = {block for block in self.loop.blocks for target in successors(block)
                if place.get(target, len(place)) <= place[block] and (block, target) not in quick}
        having = {block for block in self.loop.blocks if any(node.op == "poll" for node in block.nodes)}
        return kept if kept <= having else having

    def decided(self, above: Mapping[Block, frozenset[Block]]) -> dict[Block, int]:
        """The side that is taken by branches inside on whether a loop has trips at all, where that is known in front of
        the outer loop: the longer one.  ``above``: the dominators of each block."""
        sizes: dict[Value, list[int]] = {}
        asking: list[tuple[Block, Value]] = []
        for block in self.loop.blocks if self.inner else ():
            end = block.terminator
            cond = end.cond if end is not None else None
            if end is None or cond is None or not self._is_settled(cond) or not all(
                    target in self.loop.inside for target, _ in end.targets):
                continue
            asking.append((block, cond))
            both = sizes.setdefault(cond, [0, 0])       # one answer for all branches that ask the same
            for side, (target, _) in enumerate(end.targets):
                if len(self.sources[target]) == 1:
                    both[side] += sum(len(other.nodes) for other in self.loop.blocks if target in above[other])
        return {block: int(sizes[cond][1] > sizes[cond][0]) for block, cond in asking
                if sizes[cond][0] != sizes[cond][1]}

    def _is_settled(self, cond: Value) -> bool:
        """Whether a condition compares ints that are the same on all trips."""
        test = cond.node
        return test is not None and test.op == "py" and test.attrs["fn"] in ("lt", "gt") and all(
            value.type == INT and fixed(self.loop, value) for value in test.operands)

    def lasting(self, head: Block, spreads: Callable[[Node], tuple[int, ...]]) -> list[Value]:
        """The parameters of an inner loop's head that are infinite or NaN on all later trips once they are;
        ``spreads``: the positions at which a node's operand makes its result so."""
        found: list[Value] = []
        loop = next((one for one in self.inner if one.head is head), None)
        if loop is None:
            return found
        for k, param in enumerate(head.params):
            odd = {param}
            for block in loop.blocks:
                if block is not head:
                    odd.update(p for j, p in enumerate(block.params) if all(
                        args[j] in odd for source in self.sources[block] for target, args in _targets(source)
                        if target is block))
                for node in block.nodes:
                    if node.result is not None and any(node.operands[j] in odd for j in spreads(node)):
                        odd.add(node.result)
            back = [args[k] for latch in loop.latches for target, args in _targets(latch) if target is head]
            if all(value in odd for value in back) and any(value is not param for value in back):
                found.append(param)
        return found


def _targets(block: Block) -> list[tuple[Block, tuple[Value, ...]]]:
    return [] if block.terminator is None else block.terminator.targets


def nests(graph: Graph, loops: list[Loop], fits: Callable[[Loop], bool]) -> list[Nest]:
    """The largest of ``loops`` that contain others, fit, and store nothing on ways around these."""
    found: list[Nest] = []
    for loop in sorted(loops, key=lambda one: -len(one.blocks)):
        inner = [one for one in loops if one is not loop and one.head in loop.inside]
        if not inner or any(loop.head in nest.loop.inside for nest in found) or not fits(loop):
            continue
        nest = Nest(graph, loop, inner)
        if nest.counters and not nest.stores():
            found.append(nest)
    return found
