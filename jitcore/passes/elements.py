"""Scalar replacement: small arrays as their elements.

Job: an operation that makes a small array (``passes.small`` says which) becomes one on numbers for each element, with
the array operation's own meaning: the loop's dtypes, the same reports, the same exit.  Elements that are read are those
numbers; storing a small array is storing each of them.  What must be in memory all the same is made from its elements
by ``pack``; an array that only exits hand back is made there, by a recipe.

Invariants: elements of other arrays are read where the operation stands, so that they are those of that moment; values,
reports and exits are as before.  Code grows by the number of elements, so that graphs with much to replace keep their
larger arrays.
"""
from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from jitcore.ir.build import replace_uses
from jitcore.ir.dominance import reverse_postorder
from jitcore.ir.graph import Block, Exit, Graph, Node, Value
from jitcore.ir.recipe import Build, Const, FromValue, Recipe
from jitcore.ir.types import BOOL, INT, ArrayType, Type, strong
from jitcore.passes import dce
from jitcore.passes.small import Small, coordinates, number, steps

#: Elements of a small array, tried in turn until the graph has at most so many nodes.
SIZES, MOST_NODES = (9, 4, 2), 1500


def run(graph: Graph) -> int:
    """Replace small arrays in place; returns the number of rewrites."""
    if len(reverse_postorder(graph)) < len(graph.blocks):
        return dce.run(graph)
    nodes = sum(len(block.nodes) for block in graph.blocks)
    for most in SIZES:
        small = Small(graph, most)
        made = sum(prod(small.lengths(node.result) or ()) for node in graph.nodes()
                   if node.result is not None and small.makes(node) and node.op != "pack")
        if nodes + made <= MOST_NODES:
            return _Rewriter(graph, small).run() if small.known or made else 0
    return 0


class _Rewriter:
    def __init__(self, graph: Graph, small: Small) -> None:
        self.graph, self.small = graph, small
        self.elements: dict[Value, list[Value]] = {}
        self.replaced: dict[Value, Value] = {}
        self.count = 0
        self.block, self.line = graph.blocks[0], 0
        self._numbers: dict[int, Value] = {}

    def run(self) -> int:
        heads = {block: list(block.params) for block in self.graph.blocks}
        for block, params in heads.items():
            block.params = []
            for param in params:
                self._param(block, param)
        for block in reverse_postorder(self.graph):
            nodes, block.nodes, self.block, self._numbers = block.nodes, [], block, {}
            for node in nodes:
                self.line = node.line
                self._node(node)
        for block in self.graph.blocks:
            if block.terminator is not None:
                block.terminator.targets = [(target, tuple(
                    found for param, arg in zip(heads[target], args) for found in self._handed_on(param, arg)))
                    for target, args in block.terminator.targets]
        self.graph.exits[:] = map(self._exit, self.graph.exits)
        replace_uses(self.graph, self.replaced)
        return self.count

    # -- making nodes -------------------------------------------------------------------------------
    def emit(self, op: str, operands: tuple[Value, ...], type: Type, exit: int | None = None, /, **attrs: Any) -> Value:
        result = self.graph.add(self.block, op, operands, type, exit=exit, line=self.line, **attrs).result
        assert result is not None
        return result

    def index(self, value: int) -> Value:
        if value not in self._numbers:
            self._numbers[value] = self.emit("const", (), INT, value=value)
        return self._numbers[value]

    # -- what there is --------------------------------------------------------------------------------
    def _is_free(self, value: Value) -> bool:
        return value in self.small.known and value not in self.small.stays

    def _param(self, block: Block, param: Value) -> None:
        if not self._is_free(param):
            block.params.append(param)
            return
        assert isinstance(param.type, ArrayType)
        kind = strong(param.type.dtype)
        self.elements[param] = [self.graph.add_param(block, kind) for _ in range(prod(self.small.lengths(param) or ()))]
        self.count += 1

    def _handed_on(self, param: Value, arg: Value) -> list[Value]:
        return self.elements[arg] if self._is_free(param) else [arg]

    def _read(self, value: Value, at: tuple[int, ...], lengths: tuple[int, ...]) -> Value:
        """The element of an operand, broadcast to ``lengths``, that belongs to index ``at``."""
        if not isinstance(value.type, ArrayType):
            return value
        at = at[len(at) - value.type.ndim:]
        sizes = [number(length) for length in value.shape]
        found = self.elements.get(value)
        if found is not None:
            place = 0
            for k, size in zip(at, sizes):
                assert size is not None
                place = place * size + (0 if size == 1 else k)
            return found[place]
        indices = []
        for k, size, length in zip(at, sizes, value.shape):
            if size is None and k > 0:          # 1 or the whole length
                last = self.emit("idx", (length, self.index(1)), INT, fn="sub")
                indices.append(self.emit("idx", (self.index(k), last), INT, fn="min"))
            else:
                indices.append(self.index(0 if size == 1 else k))
        return self.emit("load", (value, *indices), strong(value.type.dtype))

    # -- one node -------------------------------------------------------------------------------------
    def _node(self, node: Node) -> None:
        small, result = self.small, node.result
        if node.op == "view" and result in small.known:
            places = small.elements_of_view(node)
            assert places is not None and result is not None
            self.elements[result] = [self.elements[node.operands[0]][k] for k in places]
            if result in small.stays:
                self.block.nodes.append(node)
            else:
                self.count += 1
            return
        if result is not None and small.makes(node):
            self._make(node, result)
        elif node.op in ("dim", "stride") and self._is_free(node.operands[0]):
            self._shape(node)
        elif node.op == "load" and small.expands(node):
            assert result is not None
            lengths = small.lengths(node.operands[0])
            assert lengths is not None
            at = tuple(k for k in map(number, node.operands[1:]) if k is not None)
            self._replace(result, self._read(node.operands[0], at, lengths))
        elif node.op == "reduce" and small.expands(node):
            assert result is not None
            found, *rest = self.elements[node.operands[0]]
            attrs = {key: node.attrs[key] for key in ("quiet", "reports") if key in node.attrs}
            for one in rest:
                found = self.emit("ew", (found, one), result.type, node.exit, op="add", sig=node.attrs["sig"], **attrs)
            self._replace(result, found)
        elif node.op == "assign" and small.expands(node):
            self._assign(node)
            self.count += 1
        else:
            self.block.nodes.append(node)

    def _replace(self, old: Value, new: Value) -> None:
        self.replaced[old] = new
        self.count += 1

    def _make(self, node: Node, result: Value) -> None:
        lengths = self.small.lengths(result)
        assert lengths is not None and isinstance(result.type, ArrayType)
        kind = strong(result.type.dtype)
        if node.op == "pack":
            found = list(node.operands)
        elif node.op == "splat":
            found = [node.operands[0]] * prod(lengths)
        elif node.op == "iota":
            found = [self._counted(node, k) for k in range(lengths[0])]
        else:
            read = [[self._read(value, at, lengths) for value in node.operands] for at in coordinates(lengths)]
            if node.op == "copy":
                found = [one for one, in read]
            else:
                found = [self.emit(node.op, tuple(operands), kind, node.exit, **node.attrs) for operands in read]
        if result in self.small.known:
            self.elements[result] = found
        if result not in self.small.stays:
            self.count += 1
        elif node.op == "pack":
            self.block.nodes.append(node)
        else:
            packed = self.graph.add(self.block, "pack", tuple(found), result.type, shape=result.shape, line=node.line)
            assert packed.result is not None
            if result in self.small.known:
                self.elements[packed.result] = found
            self._replace(result, packed.result)

    def _counted(self, node: Node, k: int) -> Value:
        """Element ``k`` of ``iota``: ``start + k*step`` in its dtype, where nothing reports."""
        assert node.result is not None and isinstance(node.result.type, ArrayType)
        dtype, (start, step) = node.result.type.dtype, node.operands
        kind, sig = strong(dtype), f"{dtype.char}{dtype.char}->{dtype.char}"
        many = self.emit("const", (), kind, value=dtype.type(k))
        far = self.emit("ew", (many, step), kind, op="multiply", sig=sig)
        return self.emit("ew", (start, far), kind, op="add", sig=sig)

    def _shape(self, node: Node) -> None:
        array, axis = node.operands[0], node.attrs["axis"]
        lengths = self.small.lengths(array)
        assert node.result is not None and lengths is not None and isinstance(array.type, ArrayType)
        if node.op == "dim":
            self._replace(node.result, self.index(lengths[axis]))
        else:
            self._replace(node.result, self.index(steps(array.type, lengths)[axis]))

    def _assign(self, node: Node) -> None:
        target, value = node.operands
        assert isinstance(target.type, ArrayType)
        lengths = self.small.lengths(value if isinstance(value.type, ArrayType) else target)
        assert lengths is not None
        if target.type.layout == "A" and lengths[0] > 1:        # its elements must lie apart
            made = target.node
            step = made.operands[2] if made is not None and made.op == "view" else self.emit(
                "stride", (target,), INT, axis=0)
            size = target.type.dtype.itemsize
            sides = (self.emit("py", (step, self.index(size)), BOOL, fn="ge"),
                     self.emit("py", (step, self.index(-size)), BOOL, fn="le"))
            apart = self.emit("py", sides, BOOL, fn="or")
            self.graph.add(self.block, "check", (apart,), None, exit=node.exit, line=node.line)
        for at in coordinates(lengths):
            self.graph.add(self.block, "store", (target, self._read(value, at, lengths), *map(self.index, at)), None,
                           line=node.line)

    # -- exits ------------------------------------------------------------------------------------------
    def _exit(self, exit: Exit) -> Exit:
        if not any(self._is_free(value) for value in exit.values):
            return exit
        values: list[Value] = []
        found: list[int | Build] = []
        built: dict[Value, Build] = {}
        for value in exit.values:
            if not self._is_free(value):
                found.append(len(values))
                values.append(value)
                continue
            if value not in built:
                assert isinstance(value.type, ArrayType)
                items = [FromValue(len(values) + k) for k in range(len(self.elements[value]))]
                values += self.elements[value]
                built[value] = Build("array", (
                    Const(value.type.dtype.char), Const(value.type.layout), Const(self.small.lengths(value)), *items))
            found.append(built[value])
        known: dict[Recipe, Recipe] = {}

        def new(recipe: Recipe) -> Recipe:
            if recipe not in known:
                known[recipe] = rebuilt(recipe)
            return known[recipe]

        def rebuilt(recipe: Recipe) -> Recipe:
            if isinstance(recipe, FromValue):
                place = found[recipe.index]
                return place if isinstance(place, Build) else FromValue(place)
            return Build(recipe.kind, tuple(map(new, recipe.items))) if isinstance(recipe, Build) else recipe

        def every(recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
            return tuple(map(new, recipes))

        return replace(exit, values=tuple(values), locals=every(exit.locals), stack=every(exit.stack),
                       operands=every(exit.operands), inner=every(exit.inner),
                       result=None if exit.result is None else new(exit.result))
