"""Small arrays: which arrays of a graph have few elements that are known one by one.

Job: ``Small(graph, most)`` finds arrays whose lengths are constants, with ``most`` elements at most, and decides for
each whether its elements are known as numbers and whether anything needs it in memory.  ``passes.elements`` rewrites
the graph by that.  Invariants: answers err on the side of memory.  An array whose elements are known is never written
to, by whatever name.  An array that is in no memory is one object at most wherever the region is left: no exit hands
back two values that may be the same array.

Two values may be one array where one is a view of the other, a block's parameter and its argument, or a call's result
and operand: these are one *family*.
"""
from __future__ import annotations

from math import prod

from jitcore.ir.dominance import dominators
from jitcore.ir.graph import Block, Graph, Node, Value
from jitcore.ir.opcodes import WRITES
from jitcore.ir.types import ArrayType, ScalarType
from jitcore.ops.builder import canonical
from jitcore.ops.table import OPS
from jitcore.passes.effects import is_array
from jitcore.passes.tables import can_take_exit

#: Operations whose scalar form has the bits and the reports of the loop over arrays.
_OPS = frozenset((
    "add", "subtract", "multiply", "divide", "negative", "positive", "absolute", "fabs", "square", "sqrt", "where",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
    "logical_not", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "maximum", "minimum"))
_DTYPES = "?bBhHiIlLqQfd"
#: NumPy adds fewer floats than this one after another.
_PAIRWISE = 8


def number(value: Value) -> int | None:
    """The number that an ``int`` value always is."""
    node = value.node
    return node.attrs["value"] if node is not None and node.op == "const" else None


def coordinates(lengths: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All indices in C order."""
    found: list[tuple[int, ...]] = [()]
    for length in lengths:
        found = [(*at, k) for at in found for k in range(length)]
    return found


def steps(type: ArrayType, lengths: tuple[int, ...]) -> tuple[int, ...]:
    """The strides in bytes of a new array."""
    axes = range(len(lengths))
    inner = (lambda k: range(k)) if type.layout == "F" else (lambda k: range(k + 1, len(lengths)))
    return tuple(type.dtype.itemsize * prod(lengths[j] for j in inner(k)) for k in axes)


class Small:
    """What is known of a graph's small arrays.

    ``known`` holds arrays whose elements are numbers, views and parameters among them; ``stays`` those that are in
    memory all the same.  ``expands(node)``: the node is done element by element.
    """

    def __init__(self, graph: Graph, most: int) -> None:
        self.graph, self.most = graph, most
        self.home: dict[Value, tuple[Block, int]] = {}
        for block in graph.blocks:
            self.home.update((value, (block, -1)) for value in block.params)
            self.home.update((node.result, (block, k)) for k, node in enumerate(block.nodes) if node.result is not None)
        self._sizes: dict[Value, tuple[int, ...] | None] = {}
        self._makes: dict[Node, bool] = {}
        if not any(self.lengths(value) for value in self.home):
            self.known: set[Value] = set()
            self.stays: set[Value] = set()
            return
        self.above = dominators(graph)
        #: Where two lengths were found equal.
        self.sames: list[tuple[Block, int, Value, Value]] = [
            (block, k, node.operands[0], node.operands[1]) for block in graph.blocks
            for k, node in enumerate(block.nodes) if node.op == "same"]
        self._families()
        self._decide()

    # -- shapes -----------------------------------------------------------------------------------
    def lengths(self, value: Value) -> tuple[int, ...] | None:
        """The lengths of a small array in C or Fortran order, None for any other value."""
        if value not in self._sizes:
            self._sizes[value] = self._lengths(value)
        return self._sizes[value]

    def _lengths(self, value: Value) -> tuple[int, ...] | None:
        type = value.type
        if not isinstance(type, ArrayType) or not type.ndim or type.dtype.char not in _DTYPES:
            return None
        found = [number(length) for length in value.shape]
        sizes = tuple(length for length in found if length is not None)
        return sizes if len(sizes) == len(found) and 1 <= prod(sizes) <= self.most else None

    def is_length(self, length: Value, size: int, block: Block, position: int) -> bool:
        """Whether ``length`` is known to be ``size`` at a place."""
        if number(length) == size:
            return True
        return any(length in (a, b) and number(b if length is a else a) == size and (
            at < position if home is block else home in self.above[block]) for home, at, a, b in self.sames)

    def _is_ordered(self, value: Value) -> bool:
        """Whether the layout of a small array tells its strides: F does not tell those of an axis of one element."""
        lengths, type = self.lengths(value), value.type
        return lengths is not None and isinstance(type, ArrayType) and (
            type.layout == "C" or (type.layout == "F" and 1 not in lengths))

    # -- what is done by element --------------------------------------------------------------------
    def makes(self, node: Node) -> bool:
        """Whether the node makes a new small array whose elements are operations on numbers."""
        if node not in self._makes:
            self._makes[node] = self._makes_elements(node)
        return self._makes[node]

    def _makes_elements(self, node: Node) -> bool:
        result = node.result
        if result is None or not self._is_ordered(result):
            return False
        if node.op in ("splat", "pack"):
            return True
        if node.op == "iota":
            return all(number(v) is not None for v in result.shape)
        if node.op not in ("ew", "cast", "copy") or not all(
                self._readable(v, result) for v in node.operands if isinstance(v.type, ArrayType)):
            return False
        if node.op == "copy":
            return True
        if node.op == "cast":
            return self._converts(node)
        op, sig = OPS.get(node.attrs["op"]), node.attrs["sig"]
        if op is None or op.name not in _OPS or op.nout != 1 or op.lowering(sig) is None or not op.exact_for(sig):
            return False
        return all(c in _DTYPES for c in sig if c not in "->") and (
            sig[-1] in "fd" or not can_take_exit(node)) and canonical(sig) not in op.raises

    def _converts(self, node: Node) -> bool:
        source, target = node.operands[0].type, node.attrs["dtype"]
        assert isinstance(source, ArrayType | ScalarType)
        if target not in _DTYPES or source.dtype.char not in _DTYPES:
            return False
        return target in "fd" or (not can_take_exit(node) and (target == "?" or source.dtype.kind != "f"))

    def _readable(self, value: Value, result: Value) -> bool:
        """Whether the elements that an array gives to those of ``result`` are known by their indices."""
        for length, other in zip(value.shape[::-1], result.shape[::-1]):
            size = number(length)
            if size is not None and size not in (1, number(other)):
                return False
        return len(value.shape) <= len(result.shape)

    def expands(self, node: Node) -> bool:
        """Whether the node is replaced by operations on elements, its operands' memory not needed."""
        if node.op == "load":
            return node.operands[0] in self.known and all(number(v) is not None for v in node.operands[1:])
        if node.op == "assign":
            return self._stores(node)
        if node.op == "reduce":
            return self._sums(node)
        return self.makes(node)

    def _sums(self, node: Node) -> bool:
        source, result = node.operands[0], node.result
        lengths = self.lengths(source)
        if source not in self.known or lengths is None or len(lengths) != 1 or len(node.operands) != 1:
            return False
        if result is None or is_array(result) or node.attrs["op"] != "add":
            return False
        char = source.type.dtype.char       # type: ignore[attr-defined]
        return node.attrs["sig"] == f"{char}{char}->{char}" and char in "ilqfd" and lengths[0] < _PAIRWISE

    def _stores(self, node: Node) -> bool:
        target, value = node.operands
        type, block_at = target.type, self.place[node]
        assert isinstance(type, ArrayType)
        if isinstance(value.type, ArrayType):
            lengths = self.lengths(value) if value in self.known else None
            if lengths is None or len(lengths) != type.ndim:
                return False
            if not all(self.is_length(v, n, *block_at) for v, n in zip(target.shape, lengths)):
                return False
        else:
            lengths = self.lengths(target)
            if lengths is None:
                return False
        return type.layout != "A" or type.ndim == 1

    def elements_of_view(self, node: Node) -> list[int] | None:
        """For each element of a view of an array with known elements, in C order, its number in the array."""
        base, result = node.operands[0], node.result
        assert result is not None
        lengths, inner = self.lengths(result), self.lengths(base)
        if lengths is None or inner is None or base.type.layout == "A":     # type: ignore[attr-defined]
            return None
        numbers = [self._evaluate(v) for v in node.operands[1:]]
        offset, strides = numbers[0], [n for n in numbers[1:] if n is not None]
        if offset is None or len(strides) != len(lengths):
            return None
        assert isinstance(base.type, ArrayType)
        places = {sum(k * s for k, s in zip(at, steps(base.type, inner))): j
                  for j, at in enumerate(coordinates(inner))}
        found = [places.get(offset + sum(k * s for k, s in zip(at, strides))) for at in coordinates(lengths)]
        return None if None in found else [j for j in found if j is not None]

    def _evaluate(self, value: Value) -> int | None:
        """A number made of constants and of strides of new small arrays."""
        node = value.node
        if node is None:
            return None
        if node.op == "stride":
            source = node.operands[0]
            lengths = self.lengths(source)
            if lengths is None or source.node is None or not self.makes(source.node):
                return None
            assert isinstance(source.type, ArrayType)
            return steps(source.type, lengths)[node.attrs["axis"]]
        if node.op == "idx" and node.attrs["fn"] in ("add", "sub", "mul"):
            a, b = (self._evaluate(v) for v in node.operands)
            if a is None or b is None:
                return None
            return {"add": a + b, "sub": a - b, "mul": a * b}[node.attrs["fn"]]
        return number(value)

    # -- families -----------------------------------------------------------------------------------
    def family(self, value: Value) -> Value:
        """What stands for all values that may be the same array."""
        while self._over.get(value, value) is not value:
            value = self._over[value]
        return value

    def _join(self, a: Value, b: Value) -> None:
        a, b = self.family(a), self.family(b)
        if a is not b:
            self._over[b] = a

    def _families(self) -> None:
        graph = self.graph
        self._over: dict[Value, Value] = {}
        self.place: dict[Node, tuple[Block, int]] = {}
        written: set[Value] = set()
        for block in graph.blocks:
            for k, node in enumerate(block.nodes):
                self.place[node] = block, k
                if node.op == "view" and node.result is not None:
                    self._join(node.operands[0], node.result)
                elif node.op == "call" and node.result is not None and is_array(node.result):
                    for value in filter(is_array, node.operands):
                        self._join(value, node.result)
                elif node.op in WRITES:
                    written.add(node.operands[0])
            assert block.terminator is not None
            for target, args in block.terminator.targets:
                for param, arg in zip(target.params, args):
                    if is_array(param):
                        self._join(param, arg)
        self._written = {self.family(value) for value in written}
        self._members: dict[Value, list[Value]] = {}
        for value in (*graph.inputs, *self.home):
            if is_array(value):
                self._members.setdefault(self.family(value), []).append(value)

    # -- the decision -------------------------------------------------------------------------------
    def _decide(self) -> None:
        free = {family for family, members in self._members.items() if self._may_be_free(family, members)}
        while True:
            self.known = {value for value in self.home if self._is_known(value, free)}
            needed = self._needed()
            if not free & needed:
                break
            free -= needed
        self.free = {value for family in free for value in self._members[family]}
        self.stays = {value for value in self.home if value not in self.free}

    def _is_param(self, value: Value) -> bool:
        return value.node is None and value in self.home

    def _may_be_free(self, family: Value, members: list[Value]) -> bool:
        """Whether a family may be in no memory, as far as its own members tell."""
        if family in self._written:
            return False
        params = 0
        for value in members:
            node = value.node
            if self._is_param(value):
                params += 1
                if not self._is_ordered(value):
                    return False
            elif node is None or (node.op != "view" and not self.makes(node)):
                return False
        return not params or self._are_apart(set(members))

    def _are_apart(self, members: set[Value]) -> bool:
        """Whether the values that each exit hands back are certainly different arrays."""
        for exit in self.graph.exits:
            back = list(dict.fromkeys(value for value in exit.values if value in members))
            params = [value for value in back if self._is_param(value)]
            if len(params) > 1:
                return False
            for param in params:        # what is made behind a parameter's block is another array
                for other in back:
                    if other is not param and self.home[param][0] not in self.above[self.home[other][0]]:
                        return False
        return True

    def _is_known(self, value: Value, free: set[Value]) -> bool:
        """Whether the elements of ``value`` are numbers."""
        node = value.node
        if not is_array(value) or self.lengths(value) is None or self.family(value) in self._written:
            return False
        if node is None:
            return self.family(value) in free
        if node.op == "view":
            return self._is_known(node.operands[0], free) and self.elements_of_view(node) is not None
        return self.makes(node)

    def _needed(self) -> set[Value]:
        """The families of which something needs a member in memory."""
        found: set[Value] = set()
        for block in self.graph.blocks:
            for node in block.nodes:
                if node.op in ("dim", "stride") or self.expands(node):
                    found.update(self.family(v) for v in node.operands
                                 if node.op == "stride" and is_array(v) and not self._has_strides(v))
                    continue
                if node.op == "view" and node.result in self.known:
                    continue
                found.update(self.family(value) for value in node.operands if is_array(value))
        for exit in self.graph.exits:
            found.update(self.family(value) for value in exit.values
                         if is_array(value) and value.node is not None and value.node.op == "view")
        return found

    def _has_strides(self, value: Value) -> bool:
        return value.node is not None and self.lengths(value) is not None and self.makes(value.node)
