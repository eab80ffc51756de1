"""Stores of a trip that are taken back where what they stored turns out to have been a report.

Job: ``Undo`` lets a block of a fast version store several elements before it looks at what may be reported: it keeps
what they replace, looks once at the end, and puts the old elements back, the last first, before the trip is done again
by the loop as it was.  Invariants: nothing else in such a block can fail behind its first store; nobody can see the
elements meanwhile; whatever shares memory, taking back in reverse order restores all of it.  Used by
``passes.fastloops`` alone.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable

from jitcore.ir.graph import Block, Graph, Node, Terminator, Value
from jitcore.ir.types import BOOL, ArrayType, ScalarType
from jitcore.passes.loops import Copy, jump


def worth(block: Block, told: Callable[[Node], bool], sure: Callable[[Node], bool]) -> bool:
    """Whether the stores of a block can wait for one look.  ``told``: the result of a node tells whether it reports;
    ``sure``: it cannot fail."""
    at = next((k for k, node in enumerate(block.nodes) if node.op == "store"), len(block.nodes))
    behind = block.nodes[at:]
    stores = [node for node in behind if node.op == "store"]
    types = [node.operands[0].type for node in stores]
    if len(stores) < 2 or not all(isinstance(type, ArrayType) and type.dtype.char in "fdlL" for type in types):
        return False
    looked_at = [node for node in block.nodes if told(node)]
    if not any(told(node) for node in behind) or any(
            not isinstance(node.result.type, ScalarType) or node.result.type.dtype.char not in "fd"
            for node in looked_at if node.result is not None):
        return False
    return all(node.exit is None or told(node) or sure(node) for node in behind)


class Undo:
    """Of one block of the copy.  ``head`` and ``params``: where the trip is done again, and with what."""

    def __init__(self, graph: Graph, head: Block, params: tuple[Value, ...]) -> None:
        self.graph, self.head, self.params = graph, head, params
        self._old: list[tuple[Value, tuple[Value, ...], Value]] = []

    def keep(self, copy: Copy, store: Node, into: Block) -> None:
        """Reads what ``store``, which comes next, replaces."""
        target, _, *indices = copy.all(store.operands)
        assert isinstance(target.type, ArrayType)
        old = self.graph.add(into, "load", (target, *indices), ScalarType(target.type.dtype, False),
                             line=store.line).result
        assert old is not None
        self._old.append((target, tuple(indices), old))

    def finish(self, into: Block, sinks: dict[Value, None], line: int) -> Block:
        """Ends ``into`` with a look at ``sinks``; returns the block for what follows."""
        fine = finite(self.graph, into, sinks, line)
        rest, back = self.graph.new_block(), self.graph.new_block()
        into.terminator = Terminator("branch", cond=fine, targets=[(rest, ()), (back, ())], line=line)
        for target, indices, old in reversed(self._old):
            self.graph.add(back, "store", (target, old, *indices), None, line=line, back=True)
        jump(back, self.head, self.params, line)
        return rest


def finite(graph: Graph, into: Block, sinks: Iterable[Value], line: int) -> Value:
    """Whether all of ``sinks`` are finite numbers."""
    found = graph.add(into, "finite", tuple(sinks), BOOL, line=line).result
    assert found is not None
    return found
