"""From graph and plan to LLVM IR text.

Job: ``lower``, the region function around host steps and kernels: inputs, blocks, jumps, exits.
Invariants: see ``frame``.  An array or list that a jump hands on is owned by the parameter it becomes.  Called by
``pipeline`` and tests.
"""
from __future__ import annotations

import re
from collections.abc import Mapping

from llvmlite import ir

from jitcore.backends.base import Lowered
from jitcore.backends.cpu.emit import PTR, Unit, i32, loop_hints, word
from jitcore.backends.cpu.frame import Arr, Frame
from jitcore.backends.cpu.host import Host
from jitcore.backends.cpu.kernelcall import KernelCall
from jitcore.backends.cpu.loops import Unsupported, register_types, registers
from jitcore.backends.cpu.storecall import StoreCall
from jitcore.ir.graph import Block, Graph, Value
from jitcore.ir.types import ArrayType, ListType, ScalarType
from jitcore.kernels.ir import Kernel, Plan
from jitcore.ops.builder import Scalar, canonical
from jitcore.ops.op import Op
from jitcore.passes.loops import Loop, innermost, loops_of

__all__ = ["Unsupported", "lower"]

#: How many trips of a small loop are done at a time, and the number of nodes that such a loop has at most.
_UNROLLED, _MOST_UNROLLED = 4, 16


def lower(graph: Graph, plan: Plan, ops: Mapping[str, Op], name: str, *, precision: str = "default") -> Lowered:
    """LLVM IR for a region.  ``precision='numpy'`` takes NumPy's own loops for what is not exact inline.
    ``Unsupported`` if the graph holds something that this back end cannot do exactly."""
    symbol = "jc." + re.sub(r"[^0-9A-Za-z_.]", "_", name)
    unit = Unit(symbol)
    frame = Frame(unit, graph, symbol)
    _Lowering(frame, plan, ops, precision == "numpy").run()
    unit.hook.finish()
    return Lowered(symbol, str(unit.module), plan, frame.exits.n_words, frame.n_own, frame.has_work,
                   tuple(frame.checked), unit.symbols, (*unit.keepalive, *graph.objects))


def _unrolls(loop: Loop) -> bool:
    """Whether a loop is done faster several trips at a time, and LLVM does not see to that: a small one that can be
    left from its middle.  Loops that do not poll are those that ``passes.fastloops`` makes."""
    nodes = [node for block in loop.blocks for node in block.nodes if node.op not in ("const", "object")]
    return len(nodes) <= _MOST_UNROLLED and any(node.exit is not None for node in nodes) and all(
        node.op != "poll" for node in nodes)


class _Lowering:
    def __init__(self, frame: Frame, plan: Plan, ops: Mapping[str, Op], exact: bool) -> None:
        self.frame, self.plan, self.ops, self.exact = frame, plan, ops, exact
        self.heads: dict[Block, ir.Block] = {}
        self.phis: dict[Block, list[list[ir.Value]]] = {}
        self.slots: dict[Value, int] = {}
        #: Where code goes on that has met something unusual: slow versions of loops.
        self.rare = {exit.target for exit in frame.graph.exits if exit.target is not None}
        self.rare |= {block for block in frame.graph.blocks if block.terminator is not None
                      and block.terminator.kind == "jump" and block.terminator.targets[0][0] in self.rare}
        self.pending: list[tuple[Block, ir.Block, list[list[ir.Value]]]] = []
        self.unrolled: set[Block] = set()

    def run(self) -> None:
        frame, graph = self.frame, self.frame.graph
        order = graph.blocks
        position = {block: k for k, block in enumerate(order)}
        frame.loops = any(position[target] <= position[block] for block in order if block.terminator is not None
                          for target, _ in block.terminator.targets)
        if frame.loops:
            self.unrolled = {loop.head for loop in innermost(loops_of(graph)) if _unrolls(loop)}
        self._inputs()
        for block in order:
            self.heads[block] = frame.function.append_basic_block(repr(block))
        frame.b.branch(self.heads[order[0]])
        frame.exits.jump = self._jump
        for block in order:
            frame.move_to(self.heads[block])
            frame.made.clear()
            frame.fallback = 0
            frame.exits.block = block
            self.phis[block] = [self._param(value) for value in block.params]
            for value in block.params:
                self._param_value(value, self.phis[block][block.params.index(value)])
            self._connect()
            host = Host(frame, self.ops, self.exact)
            for step in self.plan.steps[block]:
                if isinstance(step, Kernel):
                    frame.checks.finish()
                    kind = StoreCall if step.store is not None else KernelCall
                    kind(frame, step, self.ops, self.exact).emit()
                else:
                    host.emit(step)
            frame.checks.finish()
            self._end(block)
        frame.exits.finish()

    def _inputs(self) -> None:
        frame, at = self.frame, 0
        for value in frame.graph.inputs:
            slot, type = word(frame.b, frame.inp, at), value.type
            if isinstance(type, ScalarType):
                frame.values[value] = frame.read_word(type, slot)
                at += 2 if canonical(type.dtype.char) == "D" else 1
                continue
            obj = frame.b.load(slot, typ=PTR)
            frame.values[value] = frame.read_array(type, obj) if isinstance(type, ArrayType) else obj
            at += 1

    # -- jumps --------------------------------------------------------------------------------------
    def _param(self, value: Value) -> list[ir.Value]:
        """The phi nodes of a block parameter: registers, or object and owner of an array."""
        b = self.frame.b
        if isinstance(value.type, ScalarType):
            return [b.phi(kind) for kind in register_types(canonical(value.type.dtype.char))]
        return [b.phi(PTR)]

    def _param_value(self, value: Value, phis: list[ir.Value]) -> None:
        frame = self.frame
        if isinstance(value.type, ScalarType):
            frame.values[value] = Scalar(canonical(value.type.dtype.char), *phis)
        elif isinstance(value.type, ArrayType):
            frame.values[value] = frame.read_array(value.type, phis[0])
        else:
            frame.values[value] = phis[0]

    def _end(self, block: Block) -> None:
        frame, end = self.frame, block.terminator
        assert end is not None
        if end.kind == "exit":
            assert end.exit is not None
            frame.leave(end.exit)
        elif end.kind == "jump":
            (target, args), = end.targets
            self._jump(target, args)
        else:
            assert end.cond is not None
            made = frame.made
            sides = [frame.function.append_basic_block(f"{block!r}.to{k}") for k in (0, 1)]
            branch = frame.b.cbranch(frame.number(end.cond).raw, *sides)
            rare = [target in self.rare for target, _ in end.targets]
            if any(rare):
                branch.set_weights([1 if r else 2000 for r in rare])
            for side, (target, args) in zip(sides, end.targets):
                frame.move_to(side)
                frame.made = dict(made)
                self._jump(target, args)

    def _jump(self, target: Block, args: tuple[Value, ...]) -> None:
        frame, incoming = self.frame, list[list[ir.Value]]()
        owned: list[tuple[int, ir.Value]] = []
        for param, arg in zip(target.params, args):
            found = frame.values[arg]
            if isinstance(found, Scalar):
                incoming.append(registers(found))
            elif isinstance(found, Arr):
                obj = frame.object_of(found)
                frame.helper("jc_incref", obj)
                owned.append((self._slot(param), obj))
                incoming.append([obj])
            else:
                if isinstance(param.type, ListType):
                    frame.helper("jc_incref", found)
                    owned.append((self._slot(param), found))
                incoming.append([found])
        old = []
        for slot, obj in owned:
            where = word(frame.b, frame.own, slot)
            old.append(frame.b.load(where, typ=PTR))
            frame.b.store(obj, where)
        for obj in old:
            frame.helper("jc_xdecref", obj)
        here = frame.b.block
        branch = frame.b.branch(self.heads[target])
        if target in self.unrolled and target in self.phis:
            branch.set_metadata("llvm.loop", loop_hints(frame.unit.module, ("llvm.loop.unroll.count", i32(_UNROLLED))))
        self.pending.append((target, here, incoming))
        self._connect()

    def _slot(self, param: Value) -> int:
        """The own slot of a parameter that is an array or a list."""
        if param not in self.slots:
            self.slots[param] = self.frame.n_own
            self.frame.n_own += 1
        return self.slots[param]

    def _connect(self) -> None:
        """Tells phi nodes that exist where their values come from."""
        left = []
        for target, here, incoming in self.pending:
            if target not in self.phis:
                left.append((target, here, incoming))
                continue
            for phis, raws in zip(self.phis[target], incoming):
                for phi, raw in zip(phis, raws):
                    phi.add_incoming(raw, here)
        self.pending = left


