"""Loops of a graph, copies of them, and how a graph stays SSA when a value gets a second definition.

Job: ``loops_of``, ``innermost``, ``Copy`` and ``Repair`` for passes that make versions of loops.  Invariants: a loop
has one head that dominates it; nothing here decides what to change.  Used by the passes alone.

Source of the method of ``Repair``: M. Braun et al., "Simple and Efficient Construction of Static Single Assignment
Form", 2013, section 2.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from jitcore.ir.dominance import dominators, predecessors, reverse_postorder, successors
from jitcore.ir.graph import Block, Exit, Graph, Node, Terminator, Value


@dataclass(eq=False)
class Loop:
    """A natural loop: its blocks in reverse postorder, the head first, and those that jump back to it."""

    head: Block
    blocks: list[Block]
    latches: list[Block]

    def __post_init__(self) -> None:
        self.inside = set(self.blocks)
        self.defined = {value for block in self.blocks for value in values_of(block)}


def values_of(block: Block) -> Iterator[Value]:
    """What ``block`` defines."""
    yield from block.params
    for node in block.nodes:
        if node.result is not None:
            yield node.result


def loops_of(graph: Graph) -> list[Loop]:
    """All natural loops."""
    order, above = reverse_postorder(graph), dominators(graph)
    latches: dict[Block, list[Block]] = {}
    for block in order:
        for target in dict.fromkeys(successors(block)):
            if target in above[block]:
                latches.setdefault(target, []).append(block)
    sources = predecessors(graph.blocks)
    reached = set(order)
    loops = []
    for head, ends in latches.items():
        inside, work = {head}, list(ends)
        while work:
            block = work.pop()
            if block not in inside:
                inside.add(block)
                work += [source for source in sources[block] if source in reached]
        loops.append(Loop(head, [block for block in order if block in inside], ends))
    return loops


def innermost(loops: list[Loop]) -> list[Loop]:
    """Those of ``loops`` that contain no other one."""
    return [loop for loop in loops if not any(other.head in loop.inside for other in loops if other is not loop)]


class Copy:
    """A copy of a loop's blocks.  ``values`` maps what they define; what is not in it stands for itself."""

    def __init__(self, graph: Graph, loop: Loop) -> None:
        self.graph, self.loop = graph, loop
        self.values: dict[Value, Value] = {}
        self.blocks = {block: graph.new_block() for block in loop.blocks}
        for block in loop.blocks:
            for param in block.params:
                self.values[param] = graph.add_param(self.blocks[block], param.type, self.all(param.shape))
        self._exits: dict[int, int] = {}

    def all(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(self.values.get(value, value) for value in values)

    def node(self, node: Node, into: Block, exit: int | None) -> Node:
        """``node`` once more, at the end of ``into``, with another exit."""
        new = self.graph.add(into, node.op, self.all(node.operands), None, exit=exit, line=node.line, **node.attrs)
        if node.result is not None:
            new.result = self.graph.new_value(node.result.type, new, self.all(node.result.shape))
            self.values[node.result] = new.result
        return new

    def exit(self, index: int) -> int:
        """The exit ``index`` for copied values."""
        exit = self.graph.exits[index]
        values = self.all(exit.values)
        if values == exit.values:
            return index
        if index not in self._exits:
            self._exits[index] = self.graph.add_exit(replace(exit, values=values))
        return self._exits[index]


def redirect(block: Block, old: Block, new: Block) -> None:
    """Lets jumps of ``block`` to ``old`` go to ``new``, with the same arguments."""
    assert block.terminator is not None
    block.terminator.targets = [(new if target is old else target, args) for target, args in block.terminator.targets]


def is_constant(value: Value) -> bool:
    return value.node is not None and value.node.op == "const"


class Repair:
    """Gives uses outside of a loop the right definition of a value that has several.

    ``places``: blocks that have, at their start, a definition of their own for each value.
    """

    def __init__(self, graph: Graph, loop: Loop, places: dict[Block, dict[Value, Value]]) -> None:
        self.graph, self.loop, self.places = graph, loop, places
        self.sources = predecessors(graph.blocks)
        self.reached = set(reverse_postorder(graph))
        self.gotos = _gotos(graph, self.reached)
        self.at: dict[tuple[Value, Block], Value] = {}
        self.same: dict[Value, Value] = {}

    def run(self, changed: set[Value]) -> None:
        for block in self.graph.blocks:
            if block in self.loop.inside or block not in self.reached:
                continue
            now = self._reader(block, changed)
            for node in list(block.nodes):
                node.operands = tuple(map(now, node.operands))
                if node.result is not None:
                    node.result.shape = tuple(map(now, node.result.shape))
                node.exit = self._exit(node.exit, now)
            end = block.terminator
            assert end is not None
            end.cond = None if end.cond is None else now(end.cond)
            for value in [value for _, args in end.targets for value in args]:
                now(value)                  # may add parameters, also to the targets of this very block
            end.targets = [(target, tuple(map(now, args))) for target, args in end.targets]
            end.exit = self._exit(end.exit, now)
        if self.same:
            self._forget()

    def _reader(self, block: Block, changed: set[Value]) -> Callable[[Value], Value]:
        constants: dict[Value, Value] = {}

        def now(value: Value) -> Value:
            if value not in changed:
                return value
            if not is_constant(value):
                return self.read(value, block)
            if value not in constants:          # made anew: what asks for a known number would not take a parameter
                assert value.node is not None
                made = Node("const", (), dict(value.node.attrs), None, value.node.line)
                made.result = constants[value] = self.graph.new_value(value.type, made)
                block.nodes.insert(0, made)
            return constants[value]
        return now

    def _exit(self, index: int | None, now: Callable[[Value], Value]) -> int | None:
        """The exit with the values as they are here; another one where somebody else may take it elsewhere."""
        if index is None:
            return None
        exit = self.graph.exits[index]
        values = tuple(map(now, exit.values))
        return index if values == exit.values else self.graph.add_exit(replace(exit, values=values))

    def read(self, value: Value, block: Block) -> Value:
        """The definition of ``value`` that holds at the start of ``block``."""
        if block in self.loop.inside:
            return value
        if block in self.places and value in self.places[block]:
            return self.places[block][value]
        key = value, block
        if key in self.at:
            return self.resolve(self.at[key])
        sources = self.sources[block]
        if len(sources) == 1:
            self.at[key] = self.read(value, sources[0])
            return self.at[key]
        param = self.at[key] = self.graph.add_param(block, value.type, value.shape)
        found = {source: self.read(value, source) for source in sources}
        # Nothing that a fast version may go back from changes what was defined before it: one block speaks for all.
        back = {index: self.read(value, block) for index, block in self.gotos.get(block, {}).items()}
        several = {self.resolve(v) for v in (*found.values(), *back.values())} - {param}
        if len(several) == 1:               # no choice: the parameter is not needed
            block.params.remove(param)
            self.at[key] = self.same[param] = several.pop()
            return self.at[key]
        for source in sources:
            assert source.terminator is not None
            source.terminator.targets = [
                (target, (*args, found[source]) if target is block else args)
                for target, args in source.terminator.targets]
        for index, other in back.items():
            self.graph.exits[index].values += (other,)
        return param

    def resolve(self, value: Value) -> Value:
        while value in self.same:
            value = self.same[value]
        return value

    def _forget(self) -> None:
        for block in self.graph.blocks:
            end = block.terminator
            assert end is not None
            end.targets = [(target, tuple(map(self.resolve, args))) for target, args in end.targets]
            for node in block.nodes:
                node.operands = tuple(map(self.resolve, node.operands))
        for exit in self.graph.exits:
            exit.values = tuple(map(self.resolve, exit.values))


def _gotos(graph: Graph, reached: set[Block]) -> dict[Block, dict[int, Block]]:
    """The ``goto`` exits to each block, with a block that takes them."""
    found: dict[Block, dict[int, Block]] = {}
    for block in graph.blocks:
        for node in block.nodes if block in reached else ():
            target = None if node.exit is None else graph.exits[node.exit].target
            if node.exit is not None and target is not None:
                found.setdefault(target, {}).setdefault(node.exit, block)
    return found


def jump(block: Block, target: Block, args: tuple[Value, ...], line: int = 0) -> None:
    block.terminator = Terminator("jump", targets=[(target, args)], line=line)


def goto(graph: Graph, target: Block, args: tuple[Value, ...]) -> int:
    """An exit that goes on in ``target``."""
    return graph.add_exit(Exit("goto", args, target=target))
