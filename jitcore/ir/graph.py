"""The graph: SSA values in basic blocks, with exits that hand over to CPython.

Job: the data structure between the front end and the back ends.  Invariants (checked by
``ir.verify``): every value is defined once, before its uses; every block ends in one terminator;
every index in an ``exit`` attribute names an entry of ``Graph.exits``.  Built by ``frontend``,
rewritten by ``passes``, read by ``kernels`` and ``backends``.

What an opcode means, its operands and attributes are declared in ``ir.opcodes``; ``ir.interp``
runs a graph in NumPy and so defines it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from jitcore.ir.recipe import Recipe
from jitcore.ir.types import Type


class Value:
    """One SSA value: a node's result or a block's parameter.

    ``shape`` holds, for an array, one ``int`` value an axis (its length at run time).
    """

    __slots__ = ("id", "type", "node", "shape")

    def __init__(self, id: int, type: Type, node: Node | None = None, shape: tuple[Value, ...] = ()) -> None:
        self.id, self.type, self.node, self.shape = id, type, node, shape

    def __repr__(self) -> str:
        return f"%{self.id}"


class Node:
    """One operation.  ``result`` is ``None`` for a pure check; ``exit`` is taken when it fails.

    ``shape`` (an array result's lengths) and ``operands`` are uses alike.  ``line`` is the source
    line that the operation came from and ``file`` the function's source file.
    """

    __slots__ = ("op", "operands", "attrs", "result", "exit", "line")

    def __init__(self, op: str, operands: tuple[Value, ...], attrs: dict[str, Any],
                 exit: int | None = None, line: int = 0) -> None:
        self.op, self.operands, self.attrs = op, operands, attrs
        self.result: Value | None = None
        self.exit, self.line = exit, line

    def uses(self) -> Iterator[Value]:
        """The values that the node itself reads: its operands and its result's shape."""
        yield from self.operands
        if self.result is not None:
            yield from self.result.shape


@dataclass
class Terminator:
    """A block's end: ``exit k``, ``jump B(args)`` or ``branch cond B1(args) B2(args)``."""

    kind: str
    exit: int | None = None
    cond: Value | None = None
    targets: list[tuple[Block, tuple[Value, ...]]] = field(default_factory=list)
    line: int = 0

    def uses(self) -> Iterator[Value]:
        if self.cond is not None:
            yield self.cond
        for _, args in self.targets:
            yield from args


class Block:
    """Nodes in order, behind parameters, before a terminator."""

    __slots__ = ("id", "params", "nodes", "terminator")

    def __init__(self, id: int) -> None:
        self.id = id
        self.params: list[Value] = []
        self.nodes: list[Node] = []
        self.terminator: Terminator | None = None

    def __repr__(self) -> str:
        return f"b{self.id}"


@dataclass
class Exit:
    """A way out of a region: the state of the frame at one instruction, as recipes.

    ``kind`` is ``'return'``, ``'call'``, ``'leave'`` or ``'restart'``, or ``'goto'``, which stays
    inside: the run goes on in block ``target`` with ``values`` as its arguments.  Terminators lead
    to that block, too, and what dominates it by them is behind wherever the exit is taken.
    ``restart`` goes back to the state at the region's entry and needs no recipes; it is right only
    while the region has had no effect.  ``unit`` is the index of the code unit (two bytes) of the
    instruction: the one to go on at for ``leave``, the one being performed for ``call``; ``next_unit`` is where a
    ``call`` goes on.  ``values`` are what the recipes' ``FromValue(k)`` read, in order.

    A ``leave`` inside inlined calls has ``frames``, outermost first, each the number of locals, that of operands on the
    stack, the unit and the unit behind it: the region's own frame stands in the call at ``unit``, each further one but
    the last in a call of its own.  ``inner`` holds the recipes of their functions, locals and stacks.
    """

    kind: str
    values: tuple[Value, ...] = ()
    unit: int = 0
    next_unit: int = 0
    locals: tuple[Recipe, ...] = ()
    stack: tuple[Recipe, ...] = ()
    result: Recipe | None = None
    site: str = ""
    operands: tuple[Recipe, ...] = ()
    site_arg: Any = None
    reason: str = ""
    line: int = 0
    target: Block | None = None
    frames: tuple[tuple[int, int, int, int], ...] = ()
    inner: tuple[Recipe, ...] = ()


class Graph:
    """A region's code.  ``inputs`` are filled by the guard program, in order, before entry."""

    #: What ``str`` gives; ``ir.text`` sets it (a graph does not know its own text form).
    printer: ClassVar[Callable[[Graph], str]] = object.__repr__

    def __str__(self) -> str:
        return type(self).printer(self)

    def __init__(self, name: str = "region", file: str = "") -> None:
        self.name, self.file = name, file
        self.blocks: list[Block] = []
        self.inputs: list[Value] = []
        self.exits: list[Exit] = []
        self.objects: list[object] = []
        self._next_value = 0
        self._next_block = 0

    # -- building ---------------------------------------------------------------------------
    def new_block(self) -> Block:
        block = Block(self._next_block)
        self._next_block += 1
        self.blocks.append(block)
        return block

    def new_value(self, type: Type, node: Node | None = None, shape: tuple[Value, ...] = ()) -> Value:
        value = Value(self._next_value, type, node, shape)
        self._next_value += 1
        return value

    def add_input(self, type: Type) -> Value:
        """A new input.  An array's ``shape`` is set by the caller from ``dim`` nodes."""
        value = self.new_value(type)
        self.inputs.append(value)
        return value

    def add_param(self, block: Block, type: Type, shape: tuple[Value, ...] = ()) -> Value:
        value = self.new_value(type, None, shape)
        block.params.append(value)
        return value

    def add(self, block: Block, op: str, /, operands: tuple[Value, ...] = (), type: Type | None = None, *,
            shape: tuple[Value, ...] = (), exit: int | None = None, line: int = 0, **attrs: Any) -> Node:
        """Append a node to ``block``; its result has ``type`` (``None``: no result)."""
        node = Node(op, operands, attrs, exit, line)
        if type is not None:
            node.result = self.new_value(type, node, shape)
        block.nodes.append(node)
        return node

    def add_exit(self, exit: Exit) -> int:
        self.exits.append(exit)
        return len(self.exits) - 1

    def add_object(self, obj: object) -> int:
        """The index of ``obj`` among the objects that the region keeps alive."""
        for index, known in enumerate(self.objects):
            if known is obj:
                return index
        self.objects.append(obj)
        return len(self.objects) - 1

    # -- reading ----------------------------------------------------------------------------
    def nodes(self) -> Iterator[Node]:
        for block in self.blocks:
            yield from block.nodes

    def exit_uses(self, exit: int | None) -> tuple[Value, ...]:
        """The values that must be at hand where ``exit`` can be taken."""
        return () if exit is None else self.exits[exit].values
