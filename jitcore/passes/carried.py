"""Elements that a trip of a loop stores and the next one reads.

Job: ``carried`` finds the loads of an innermost loop that read what the only store of the trip before has written, and
``Carried`` lets a fast version hand the number on instead, so that a recurrence (``a[i] = a[i - 1] + x``) waits for an
addition and not for memory.  Invariants: the loads stand in front of the store, and nothing else is stored in the loop,
so that what is read is what was stored last, whatever shares memory.  Used by ``passes.fastloops`` alone.
"""
from __future__ import annotations

from jitcore.ir.dominance import dominators
from jitcore.ir.graph import Block, Graph, Node, Value
from jitcore.ir.types import ArrayType
from jitcore.passes.bounds import Bounds
from jitcore.passes.drift import Form, plus
from jitcore.passes.loops import Loop


class Carried:
    """``loads``: by node, the forms of its indices.  ``store``: what they read was stored by it (if there are any).
    ``nested``: there are loops inside, which is too much."""

    def __init__(self, graph: Graph, loop: Loop, bounds: Bounds, nested: bool) -> None:
        self.graph, self.loop, self.bounds = graph, loop, bounds
        self.loads: dict[Node, tuple[Form, ...]] = {}
        stores = [(block, node) for block in loop.blocks for node in block.nodes if node.op == "store"]
        if nested or len(stores) != 1:
            return
        above = dominators(graph)
        home, self.store = stores[0]
        target = self.store.operands[0]
        if target in loop.defined or not isinstance(target.type, ArrayType) or target.type.dtype.kind not in "iufc" \
                or not all(home in above[latch] for latch in loop.latches):
            return
        written = self._forms(self.store.operands[2:])
        for block in loop.blocks if written is not None else ():
            for node in block.nodes:
                if node is self.store:
                    break
                if node.op != "load" or node.operands[0] is not target or block not in above[home]:
                    continue
                read = self._forms(node.operands[1:])
                if read is not None and tuple(map(self._next, read)) == written:
                    self.loads[node] = read

    def _forms(self, indices: tuple[Value, ...]) -> tuple[Form, ...] | None:
        """Exact forms of indices that are known to be in range."""
        found = []
        for index in indices:
            node = index.node
            if node is not None and node.op == "wrap" and index in self.loop.defined:
                if self.bounds.settled(node) is None:
                    return None
                index = node.operands[0]
            whole = self.bounds.motion.of(index)
            if whole is None or whole.low != whole.high:
                return None
            found.append(whole)
        return tuple(found)

    def _next(self, whole: Form) -> Form | None:
        """The form one trip later; ``None`` if that is not known."""
        moved = 0
        for leaf, k in whole.terms:
            if leaf in self.loop.defined:
                low, high = self.bounds.motion.steady.get(leaf, (0, 1))
                if low != high:
                    return None
                moved += k * low
        return plus(whole, Form((), moved, moved))

    def parameters(self, front: Block) -> dict[Node, Value]:
        """A parameter of ``front`` for each load."""
        found = {}
        for node in self.loads:
            assert node.result is not None
            found[node] = self.graph.add_param(front, node.result.type)
        return found
