"""Checks that a graph is one.

Job: ``verify(graph)`` raises ``InvalidGraph`` at the first broken invariant.  Anyone may call it;
``passes.run`` does so after every pass in tests.  It never changes the graph.

The invariants:

* I1 every value is defined once, by an input, a block's parameter or a node, and knows its node.
* I2 a use is dominated by its definition (in blocks that can be reached; elsewhere it has one); an
  exit's values must be at hand wherever it is taken.
* I3 blocks end in one terminator, whose targets are blocks of the graph; the entry has no
  parameters and no block goes back to it.
* I4 opcodes are known, have their required attributes, and take an exit exactly where they may.
* I5 operands have the number and the types that the opcode asks for.
* I6 the result's type follows from the opcode, its attributes and operands, the layout included.
* I7 an array has one length an axis, a weak ``int`` each; other values have no shape.
* I8 exits are in range; exit 0 is ``restart``.
* I9 an exit's recipes fit its kind, and read values that the exit has.
* I10 a branch's condition is a weak ``bool``; arguments match the target's parameters.
* I11 a ``goto`` exit leads to a block that terminators lead to, and is taken where that block's dominators are behind.
"""
from __future__ import annotations

from math import prod

from jitcore.ir.dominance import dominators, reverse_postorder
from jitcore.ir.graph import Block, Exit, Graph, Node, Terminator, Value
from jitcore.ir.opcodes import OPCODES
from jitcore.ir.recipe import Build, Const, FromSource, FromValue, Recipe
from jitcore.ir.rules import BrokenRule, check_node
from jitcore.ir.text import definition, exit_recipes, node_text, terminator_text
from jitcore.ir.types import BOOL, INT, ArrayType, strong

_EXIT_KINDS = ("return", "call", "leave", "restart", "goto")
_BUILD_ITEMS = {"slice": 3, "cell": 1, "method": 2, "range": 3, "iter": 1, "free": 2, "last": 2,
                "iter_at": 2, "reversed_at": 2, "flat_at": 2, "enumerate": 2}
_BUILD_KINDS = ("tuple", "list", "dict", "set", "function", "instance", "zip", "array", "either", *_BUILD_ITEMS)


class InvalidGraph(AssertionError):
    """A graph breaks invariant ``invariant`` (``'I1'``...)."""

    def __init__(self, invariant: str, message: str, where: str = "") -> None:
        self.invariant = invariant
        super().__init__(f"{invariant}: {message}" + (f"\n{where}" if where else ""))


def verify(graph: Graph) -> None:
    """Raise ``InvalidGraph`` unless all invariants hold."""
    _Verifier(graph).run()


class _Verifier:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.home: dict[Value, tuple[Block | None, int]] = {}  # block and position; None: an input
        self.where: str | tuple[Block, int] = ""  # what is looked at: words, or a node's place

    def fail(self, invariant: str, message: str) -> InvalidGraph:
        where = self.where if isinstance(self.where, str) else self.neighbours(*self.where)
        return InvalidGraph(invariant, message, where)

    def run(self) -> None:
        graph = self.graph
        if not graph.blocks:
            raise self.fail("I3", "the graph has no block")
        self.exits()
        self.structure()
        self.definitions()
        self.dominators = dominators(graph)
        self.reachable = set(reverse_postorder(graph))
        for value in graph.inputs:
            self.where = f"  input {definition(value)}"
            for length in value.shape:
                if self.home.get(length, (None, 0))[0] is not graph.blocks[0]:
                    raise self.fail("I2", f"length {length!r} of an input is not defined in the entry block")
        for block in graph.blocks:
            self.block(block)

    def structure(self) -> None:
        blocks = self.graph.blocks
        if len(set(blocks)) != len(blocks):
            raise self.fail("I3", "a block is listed twice")
        for block in blocks:
            self.where = f"  in {block!r}"
            end = block.terminator
            if end is None:
                raise self.fail("I3", f"{block!r} has no terminator")
            counts = {"exit": 0, "jump": 1, "branch": 2}
            if end.kind not in counts or len(end.targets) != counts[end.kind]:
                raise self.fail("I3", f"{terminator_text(end)!r} is not a terminator")
            if (end.exit is not None) != (end.kind == "exit") or (end.cond is not None) != (end.kind == "branch"):
                raise self.fail("I3", f"{terminator_text(end)!r} has the wrong fields")
            for target, _ in end.targets:
                if target not in blocks:
                    raise self.fail("I3", f"{target!r} is not in the graph")
                if target is blocks[0]:
                    raise self.fail("I3", "a block goes back to the entry")
        if blocks[0].params:
            raise self.fail("I3", "the entry block has parameters")

    def definitions(self) -> None:
        def define(value: Value, block: Block | None, position: int, node: Node | None) -> None:
            if value in self.home:
                raise self.fail("I1", f"{value!r} is defined twice")
            if value.node is not node:
                raise self.fail("I1", f"{value!r} does not know the node that defines it")
            self.home[value] = (block, position)
            is_array = isinstance(value.type, ArrayType)
            axes = value.type.ndim if isinstance(value.type, ArrayType) else 0
            if len(value.shape) != axes:
                raise self.fail("I7", f"{value!r} has {len(value.shape)} lengths for "
                                      f"{f'{axes} axes' if is_array else 'no axes'}")
            for length in value.shape:
                if length.type != INT:
                    raise self.fail("I7", f"length {length!r} of {value!r} is {length.type}, not int")

        for value in self.graph.inputs:
            self.where = f"  input {definition(value)}"
            define(value, None, 0, None)
        for block in self.graph.blocks:
            for value in block.params:
                self.where = f"  in {block!r}"
                define(value, block, -1, None)
            for position, node in enumerate(block.nodes):
                self.where = (block, position)
                if node.result is not None:
                    define(node.result, block, position, node)

    def neighbours(self, block: Block, position: int) -> str:
        """The text of the node at ``position`` between its neighbours."""
        lines = []
        for k in range(max(0, position - 2), min(len(block.nodes), position + 3)):
            lines.append(("> " if k == position else "  ") + node_text(block.nodes[k], self.graph))
        if position >= len(block.nodes) - 2 and block.terminator is not None:
            lines.append(("> " if position == len(block.nodes) else "  ") + terminator_text(block.terminator))
        return f"in {block!r}:\n" + "\n".join(lines)

    def use(self, value: Value, block: Block, position: int, role: str) -> None:
        if value not in self.home:
            raise self.fail("I2", f"{role} {value!r} is not defined in the graph")
        home, defined = self.home[value]
        if home is None or (home is block and defined < position):
            return
        if block in self.reachable and (home is block or home not in self.dominators[block]):
            raise self.fail("I2", f"{role} {value!r} is used where it may not be defined yet")

    def exit_use(self, index: int | None, block: Block, position: int) -> None:
        if index is None:
            return
        if not (isinstance(index, int) and 0 <= index < len(self.graph.exits)):
            raise self.fail("I8", f"there is no exit {index}")
        exit = self.graph.exits[index]
        for value in exit.values:
            self.use(value, block, position, f"value of exit {index}")
        if exit.target is not None and block in self.reachable:
            if exit.target not in self.reachable or not (
                    self.dominators[exit.target] - {exit.target} <= self.dominators[block]):
                raise self.fail("I11", f"exit {index} goes to {exit.target!r} past a block that dominates it")
            self.arguments(exit.target, exit.values, block, position)

    def block(self, block: Block) -> None:
        self.where = f"  parameters of {block!r}"
        for param in block.params:
            for length in param.shape:
                if length not in block.params:
                    self.use(length, block, -1, "length")
        for position, node in enumerate(block.nodes):
            self.where = (block, position)
            self.node(node, block, position)
        assert block.terminator is not None
        self.where = (block, len(block.nodes))
        self.end(block.terminator, block)

    def node(self, node: Node, block: Block, position: int) -> None:
        opcode = OPCODES.get(node.op)
        if opcode is None:
            raise self.fail("I4", f"unknown opcode {node.op!r}")
        for name in opcode.attrs:
            if name not in node.attrs:
                raise self.fail("I4", f"attribute {name!r} is missing")
        if node.exit is None and opcode.exit == "must":
            raise self.fail("I4", f"{node.op} must have an exit")
        if node.exit is not None and opcode.exit == "no":
            raise self.fail("I4", f"{node.op} takes no exit")
        for value in node.operands:
            self.use(value, block, position, "operand")
        for value in node.result.shape if node.result is not None else ():
            self.use(value, block, position, "length")
        self.exit_use(node.exit, block, position)
        try:
            check_node(node, self.graph)
        except BrokenRule as error:
            raise self.fail(error.invariant, str(error)) from None

    def end(self, end: Terminator, block: Block) -> None:
        position = len(block.nodes)
        self.exit_use(end.exit, block, position)
        if end.cond is not None:
            self.use(end.cond, block, position, "condition")
            if end.cond.type != BOOL:
                raise self.fail("I10", f"condition {end.cond!r} is {end.cond.type}, not a weak bool")
        for target, args in end.targets:
            self.arguments(target, args, block, position)

    def arguments(self, target: Block, args: tuple[Value, ...], block: Block, position: int) -> None:
        if len(args) != len(target.params):
            raise self.fail("I10", f"{target!r} takes {len(target.params)} arguments, not {len(args)}")
        mapping = dict(zip(target.params, args))
        for param, arg in zip(target.params, args):
            self.use(arg, block, position, "argument")
            if param.type != arg.type:
                raise self.fail("I10", f"argument {arg!r} is {arg.type}, parameter {param!r} {param.type}")
            if tuple(mapping.get(length, length) for length in param.shape) != arg.shape:
                raise self.fail("I10", f"argument {arg!r} and parameter {param!r} have different lengths")

    # -- exits --------------------------------------------------------------------------------
    def exits(self) -> None:
        if not self.graph.exits or self.graph.exits[0].kind != "restart":
            raise self.fail("I8", "exit 0 is not restart")
        for index, exit in enumerate(self.graph.exits):
            self.where = f"  exit {index}: {exit.kind}"
            self.exit(exit)

    def exit(self, exit: Exit) -> None:
        if exit.kind not in _EXIT_KINDS:
            raise self.fail("I9", f"unknown kind {exit.kind!r}")
        if (exit.result is not None) != (exit.kind == "return"):
            raise self.fail("I9", f"{exit.kind} has {'a' if exit.result is not None else 'no'} result")
        if (exit.site != "") != (exit.kind == "call") or (exit.operands and exit.kind != "call"):
            raise self.fail("I9", "a site and its operands belong to a call, and a call has a site")
        if (exit.target is not None) != (exit.kind == "goto") or (
                exit.target is not None and exit.target not in self.graph.blocks):
            raise self.fail("I9", f"{exit.kind} leads to {exit.target!r}")
        if exit.kind == "restart" and (exit.values or exit.locals or exit.stack):
            raise self.fail("I9", "restart needs no values or recipes")
        if exit.frames and exit.kind != "leave":
            raise self.fail("I9", "only a leave has inner frames")
        if len(exit.inner) != sum(1 + n_locals + n_stack for n_locals, n_stack, _, _ in exit.frames):
            raise self.fail("I9", f"{len(exit.inner)} recipes for {len(exit.frames)} inner frames")
        for recipe in exit_recipes(exit):
            self.recipe(recipe, exit, frozenset())
            if isinstance(recipe, Build) and recipe.kind == "either":
                self.either(recipe, exit)

    def either(self, recipe: Build, exit: Exit) -> None:
        if not recipe.items or len(recipe.items) % 2 or not all(
                isinstance(flag, FromValue) and exit.values[flag.index].type == BOOL for flag in recipe.items[::2]):
            raise self.fail("I9", "a choice is made of bools, each with what it stands for")

    def array(self, recipe: Build, exit: Exit) -> None:
        head = [item.obj for item in recipe.items[:3] if isinstance(item, Const)]
        if len(head) != 3 or type(head[2]) is not tuple or head[1] not in ("C", "F") or len(head[2]) == 0 or (
                not all(type(length) is int and length > 0 for length in head[2])
                or prod(head[2]) != len(recipe.items) - 3):
            raise self.fail("I9", "an array is a dtype, a memory order and lengths, then its elements")
        for item in recipe.items[3:]:
            if not isinstance(item, FromValue) or not 0 <= item.index < len(exit.values) or str(
                    exit.values[item.index].type) != str(strong(str(head[0]))):
                raise self.fail("I9", f"an array of {head[0]!r} is made of something else")

    def recipe(self, recipe: Recipe, exit: Exit, above: frozenset[int]) -> None:
        if isinstance(recipe, FromValue) and not 0 <= recipe.index < len(exit.values):
            raise self.fail("I9", f"recipe reads value {recipe.index} of {len(exit.values)}")
        if isinstance(recipe, FromSource) and recipe.source < 0:
            raise self.fail("I9", f"recipe reads source {recipe.source}")
        if isinstance(recipe, Build):
            if recipe.kind not in _BUILD_KINDS:
                raise self.fail("I9", f"recipe builds an unknown {recipe.kind!r}")
            if len(recipe.items) != _BUILD_ITEMS.get(recipe.kind, len(recipe.items)):
                raise self.fail("I9", f"recipe builds a {recipe.kind} of {len(recipe.items)} items")
            if recipe.kind == "instance" and len(recipe.items) % 2 != 1:
                raise self.fail("I9", "an object is a class, then names and values")
            if recipe.kind == "zip" and not recipe.items:
                raise self.fail("I9", "recipe builds a zip that does not say whether it is strict")
            if recipe.kind == "function" and len(recipe.items) < 6:
                raise self.fail("I9", f"recipe builds a function of {len(recipe.items)} items")
            if recipe.kind == "array":
                self.array(recipe, exit)
            if recipe.kind == "dict" and len(recipe.items) % 2:
                raise self.fail("I9", "recipe builds a dict of an odd number of keys and values")
            if any(isinstance(item, Build) and item.kind == "either" for item in recipe.items):
                raise self.fail("I9", "a choice that may be nothing inside an object")
            for item in recipe.items:
                self.recipe(item, exit, above)
