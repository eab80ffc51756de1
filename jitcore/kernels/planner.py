"""Fusion: which elementwise operations and reductions share a loop nest.

Job: ``plan`` makes a ``Plan`` from a graph.  Invariants: every value that a host step, an exit, another
block or another kernel reads is computed before it and stored; nothing that can report is dropped;
host steps keep their order.  May be called by ``pipeline`` and tests.

Method.  Fusable nodes are not scheduled where they stand: they wait as *roots* (values that must be
stored, and reductions) until something needs one.  Then a kernel is made of that root, of the whole
tree of fusable values below it, and of every other waiting root over the same elements whose other
inputs are already there.  A value that several kernels would compute is computed again if that is cheap;
if not, it becomes a root and the plan is made anew.

What writes memory divides a block: all that stands before it is computed before it, values that are read behind it are
stored.  An ``assign`` becomes a kernel with the tree of its value, made where it stands.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jitcore.ir.graph import Graph, Node, Value
from jitcore.ir.opcodes import EFFECTS, OPCODES
from jitcore.ir.types import ArrayType
from jitcore.kernels.ir import Instr, Kernel, Output, Plan, Reduction, Step, Store
from jitcore.kernels.reductions import MOST, axes_of, is_buffered, is_native, loop_dtype
from jitcore.ops.builder import FLOATS, canonical

FUSABLE = frozenset({"ew", "cast", "splat", "iota", "copy"})
#: The cost of computing a value again (in additions) from which storing it is cheaper.
RECOMPUTE_BELOW = 6


Key = tuple[tuple[Value, ...], str]


def plan(graph: Graph, ops: Mapping[str, Any]) -> Plan:
    """The schedule of ``graph``.  ``ops`` is the op table (its ``cost``).  Precision makes no difference: an
    operation takes part in fusion whichever way it is computed."""
    stored: set[Value] = set()
    while True:
        attempt = _Attempt(graph, ops, stored)
        attempt.run()
        dear = attempt.recomputed()
        if not dear:
            return attempt.plan
        stored |= dear


class _Attempt:
    """One plan, given the values that must be stored besides those that anyway are."""

    def __init__(self, graph: Graph, ops: Mapping[str, Any], stored: set[Value]) -> None:
        self.graph, self.ops = graph, ops
        self.plan = Plan(graph)
        self.home = {node.result: block for block in graph.blocks for node in block.nodes if node.result is not None}
        self.roots = set(stored)
        self.done: set[Value] = set(graph.inputs)
        self.waiting: list[Node] = []
        self.steps: list[Step] = []
        self.count = 0
        self.point: int | None = None       # the exit that a ``point`` announced
        self._find_roots()

    # -- what must be stored --------------------------------------------------------------------
    def _fusable(self, value: Value) -> bool:
        return value.node is not None and value.node.op in FUSABLE and isinstance(value.type, ArrayType)

    def _find_roots(self) -> None:
        used: set[Value] = set()
        stores: dict[Value, int] = {}       # before a value's definition
        count = 0
        for block in self.graph.blocks:
            for node in block.nodes:
                if node.result is not None:
                    stores[node.result] = count
                fused = node.result is not None and self._fusable(node.result)
                native = node.op == "reduce" and is_native(node)
                for index, operand in enumerate(node.operands):
                    used.add(operand)
                    if not self._fusable(operand):
                        continue
                    same_block = self.home[operand] is block and stores.get(operand) == count
                    if fused and same_block and node.result is not None and \
                            (operand.shape == node.result.shape or self._is_number(operand, node.result)):
                        continue
                    if native and same_block and index == 0:
                        continue
                    if node.op == "assign" and same_block and index == 1 and (
                            operand.shape == node.operands[0].shape or self._is_splat(operand)):
                        continue
                    if node.op == "dim":
                        continue
                    self.roots.add(operand)
                for value in self.graph.exit_uses(node.exit):
                    used.add(value)
                    self.roots.add(value)
                count += node.op in EFFECTS
            end = block.terminator
            if end is not None:
                for value in (*end.uses(), *self.graph.exit_uses(end.exit)):
                    used.add(value)
                    self.roots.add(value)
        self.checks = {node.result for node in self.graph.nodes()
                       if node.result is not None and self._fusable(node.result)
                       and node.result not in used and node.exit is not None}

    @staticmethod
    def _is_splat(value: Value) -> bool:
        return value.node is not None and value.node.op == "splat"

    @staticmethod
    def _is_number(value: Value, result: Value) -> bool:
        """Whether an operand of another shape is one number all over, and says nothing about memory order."""
        assert isinstance(result.type, ArrayType) and isinstance(value.type, ArrayType)
        return value.node is not None and value.node.op == "splat" and \
            (result.type.layout != "A" or value.type.ndim <= 1)

    # -- the schedule ---------------------------------------------------------------------------
    def run(self) -> None:
        for block in self.graph.blocks:
            self.steps = self.plan.steps[block] = []
            self.waiting, self.point = [], None
            self.done.update(block.params)
            for node in block.nodes:
                self._visit(node)
            end = block.terminator
            if end is not None:
                for value in (*end.uses(), *self.graph.exit_uses(end.exit)):
                    self._need(value)
            while self.waiting:
                self._flush(self.waiting[0])

    def _visit(self, node: Node) -> None:
        result = node.result
        if result is not None and self._fusable(result):
            if result in self.roots or result in self.checks:
                self.waiting.append(node)
            return
        if node.op == "reduce" and is_native(node):
            self.waiting.append(node)
            return
        if node.op == "dim" and self._fusable(node.operands[0]):
            self._need(node.operands[0].shape[node.attrs["axis"]])
        else:
            for value in (*node.operands, *self.graph.exit_uses(node.exit)):
                self._need(value)
        if (node.result is None or node.op in EFFECTS) and not OPCODES[node.op].pure and node.op != "point":
            while self.waiting:         # what fails leaves at a state from before it
                self._flush(self.waiting[0])
        if node.op == "point":
            self.point = node.exit
        if node.op == "assign":
            self._assign(node)
            return
        self.steps.append(node)
        if result is not None:
            self.done.add(result)

    def _need(self, value: Value) -> None:
        if value not in self.done and value.node is not None and value.node in self.waiting:
            self._flush(value.node)

    def _key(self, root: Node) -> Key:
        value = root.operands[0] if root.op == "reduce" else root.result
        assert value is not None and isinstance(value.type, ArrayType)
        return value.shape, "C" if value.type.ndim <= 1 else value.type.layout

    def _externals(self, root: Node, key: Key) -> dict[Value, None]:
        """The values that a kernel for ``root`` reads, in order; waiting roots over the same elements are
        looked through, since they can be in the same kernel."""
        found: dict[Value, None] = {}
        seen: set[Value] = set()

        def walk(value: Value) -> None:
            if value in seen:
                return
            seen.add(value)
            if value in self.done or not self._inside(value, key):
                found[value] = None
                return
            assert value.node is not None
            for operand in value.node.operands:
                walk(operand)

        for operand in root.operands:
            walk(operand)
        shape = key[0] if root.result is None else (*key[0], *root.result.shape)
        found.update(dict.fromkeys(shape))
        return found

    def _inside(self, value: Value, key: Key) -> bool:
        if not self._fusable(value) or value in self.done:
            return False
        assert value.node is not None
        if value.node.op == "splat":
            return True
        if value.shape != key[0]:
            return False
        if value in self.roots:
            return value.node in self.waiting and self._key(value.node) == key and not _dynamic(key)
        return True

    def _flush(self, root: Node) -> None:
        """Emits the kernel that computes ``root``, and first whatever it reads."""
        key = self._key(root)
        for value in self._externals(root, key):
            self._need(value)
        if root not in self.waiting:
            return
        members, reductions = [root], int(root.op == "reduce")
        walk = _walk(root) if root.op == "reduce" else None
        for other in list(self.waiting):
            if other is root or self._key(other) != key or _dynamic(key):
                continue
            if other.op == "reduce" and (reductions == MOST or (walk is not None and _walk(other) != walk)):
                continue
            if all(value in self.done for value in self._externals(other, key)):
                members.append(other)
                if other.op == "reduce":
                    walk, reductions = _walk(other), reductions + 1
        order = {node: i for i, node in enumerate(self.waiting)}
        wanted = dict.fromkeys(members)
        for member in members:        # roots inside another root's tree are computed there anyway
            for node in self._roots_below(member, key):
                wanted[node] = None
        self._emit(sorted(wanted, key=lambda node: order[node]), key)

    def _roots_below(self, root: Node, key: Key) -> list[Node]:
        found: list[Node] = []
        stack, seen = list(root.operands), set[Value]()
        while stack:
            value = stack.pop()
            if value in seen or not self._inside(value, key):
                continue
            seen.add(value)
            assert value.node is not None
            if value in self.roots and value.node in self.waiting and self._key(value.node) == key:
                found.append(value.node)
            stack += value.node.operands
        return found

    # -- a kernel -------------------------------------------------------------------------------
    def _emit(self, members: list[Node], key: Key) -> None:
        kernel = Kernel(self.count, key[0], key[1])
        self.count += 1
        maker = _Maker(self, kernel, key)
        again: list[Node] = []      # a kernel writes each of its values to one array: copies of one come later
        for node in members:
            result = node.result
            assert result is not None
            if node.op == "reduce":
                dtype = loop_dtype(node)
                arg = maker.cast(maker.value(node.operands[0]), dtype, node)
                kernel.reductions.append(Reduction(
                    result, arg, node.attrs["op"], node.attrs["sig"], dtype, axes_of(node),
                    bool(node.attrs["keepdims"]), node.operands[1] if len(node.operands) > 1 else None,
                    node.exit, node.line, is_buffered(node), node.attrs.get("quiet", 0)))
                kernel.exit = node.exit if kernel.exit is None else kernel.exit
            else:
                arg = maker.value(result)
                if any(output.arg == arg for output in kernel.outputs):
                    again.append(node)
                elif result in self.roots:
                    kernel.outputs.append(Output(result, arg))
        for node in members:
            if node not in again:
                assert node.result is not None
                self.waiting.remove(node)
                self.done.add(node.result)
        if self.point is not None:
            kernel.exit = self.point
        self.steps.append(kernel)
        for node in again:
            self._emit([node], key)

    def _assign(self, node: Node) -> None:
        target, value = node.operands
        type = target.type
        assert isinstance(type, ArrayType)
        layout = "C" if type.layout == "A" or type.ndim <= 1 else type.layout
        kernel = Kernel(self.count, target.shape, layout)
        self.count += 1
        kernel.store = Store(target, _Maker(self, kernel, (target.shape, layout)).value(value))
        kernel.exit = node.exit
        self.steps.append(kernel)

    # -- values that several kernels compute ----------------------------------------------------
    def recomputed(self) -> set[Value]:
        """Values, not stored, that more than one kernel computes at a cost: the topmost ones."""
        where: dict[Value, list[Kernel]] = {}
        tops: dict[Value, bool] = {}
        for kernel in self.plan.kernels():
            for instr in kernel.body:
                if instr.kind in ("ew", "cast", "iota") and isinstance(instr.value.type, ArrayType):
                    where.setdefault(instr.value, []).append(kernel)
        shared = {v for v, kernels in where.items() if len(kernels) > 1 and v not in self.roots}
        for kernel in self.plan.kernels():
            for instr in kernel.body:
                if instr.value not in shared:
                    for arg in instr.args:
                        tops[kernel.body[arg].value] = True
            for reduction in kernel.reductions:
                tops[kernel.body[reduction.arg].value] = True
            if kernel.store is not None:
                tops[kernel.body[kernel.store.arg].value] = True
        return {v for v in shared if v in tops and self._cost(v, set()) >= RECOMPUTE_BELOW}

    def _cost(self, value: Value, seen: set[Value]) -> int:
        if value in seen or value in self.roots or not self._fusable(value):
            return 0
        seen.add(value)
        assert value.node is not None
        own = 1
        if value.node.op == "ew":
            info = self.ops.get(value.node.attrs["op"])
            own = info.cost if info is not None else 20
        return own + sum(self._cost(operand, seen) for operand in value.node.operands)


def _walk(node: Node) -> tuple[tuple[int, ...], bool]:
    """What reductions of one kernel have in common: the axes, and how elements are gathered."""
    return axes_of(node), is_buffered(node)


def _dynamic(key: Key) -> bool:
    """Whether the memory order is found at run time: such kernels have one output."""
    return key[1] == "A"


class _Maker:
    """Fills one kernel's body."""

    def __init__(self, attempt: _Attempt, kernel: Kernel, key: Key) -> None:
        self.attempt, self.kernel, self.key = attempt, kernel, key
        self.index: dict[Value, int] = {}

    def _append(self, instr: Instr) -> int:
        self.kernel.body.append(instr)
        if instr.exit is not None and self.kernel.exit is None:
            self.kernel.exit = instr.exit
        return len(self.kernel.body) - 1

    def cast(self, arg: int, dtype: str, node: Node) -> int:
        """``arg`` as ``dtype``: an exact conversion that a reduction does on its operand."""
        if self.kernel.body[arg].dtype == dtype:
            return arg
        return self._append(Instr("cast", dtype, (arg,), node.operands[0], exit=node.exit if dtype in FLOATS else None,
                                  line=node.line, quiet=node.attrs.get("quiet", 0)))

    def value(self, value: Value) -> int:
        known = self.index.get(value)
        if known is not None:
            return known
        type = value.type
        dtype = canonical(type.dtype.char)      # type: ignore[attr-defined]
        node = value.node
        if not isinstance(type, ArrayType):
            index = self._append(Instr("scalar", dtype, (), value))
        elif value in self.attempt.done or node is None or node.op not in FUSABLE:
            index = self._append(Instr("element", dtype, (), value))
        elif node.op == "splat" or (node.op == "copy" and (type.layout != "A" or type.ndim <= 1)):
            index = self.value(node.operands[0])        # where the elements lie is known without it
        else:
            args = tuple(self.value(operand) for operand in node.operands)
            index = self._append(Instr(node.op, dtype, args, value, node.attrs.get("op", ""),
                                       node.attrs.get("sig", ""), node.exit, node.line, node.attrs.get("quiet", 0)))
        self.index[value] = index
        return index
