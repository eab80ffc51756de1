"""The state of a region function while it is emitted: its context, exits, owned objects, values.

Job: ``Frame``, which host steps and kernel calls share.  Invariants: every object that native code owns is
in an ``own`` slot before anything that can leave; an exit's values are written where the exit is
taken; ``values`` holds an LLVM value for each graph value that was computed (``Scalar``, ``Arr`` or a pointer).
Only ``backends.cpu`` uses it.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from jitcore.backends.base import Part
from jitcore.backends.cpu.checks import Checks
from jitcore.backends.cpu.emit import I32, I64, PTR, Unit, advance, entry_alloca, i32, i64, start, word
from jitcore.backends.cpu.exits import Exits
from jitcore.backends.cpu.loops import Unsupported
from jitcore.backends.scalar import LLVMBuilder
from jitcore.ir.graph import Graph, Value
from jitcore.ir.opcodes import EFFECTS
from jitcore.ir.types import ArrayType, ScalarType
from jitcore.ops.builder import COMPLEX, SIGNED, Scalar, canonical

#: Offsets in PyArrayObject_fields on 64-bit machines.
_DATA, _DIMS, STRIDES, FLAGS = 16, 32, 40, 64


@dataclass
class Arr:
    """An array: its object (``None`` for a view that has none yet), data, lengths, strides in bytes
    (``None``: those of its layout), and the object that owns the data.  ``readonly``: a view that must not be written
    to even where the owner may be."""

    type: ArrayType
    obj: ir.Value | None
    data: ir.Value
    dims: list[ir.Value]
    strides: list[ir.Value] | None
    base: ir.Value
    readonly: bool = False


class Frame:
    """A region function under construction.  ``b`` is where code goes at present."""

    def __init__(self, unit: Unit, graph: Graph, symbol: str) -> None:
        self.unit, self.graph = unit, graph
        self.function = ir.Function(unit.module, ir.FunctionType(I32, [PTR]), symbol)
        self.function.attributes.add("nounwind")
        self.ctx = self.function.args[0]
        self.ctx.name = "ctx"
        self.b: ir.IRBuilder = start(self.function)
        self.scalar = LLVMBuilder(self.b, unit.hook, flags=False)
        self.values: dict[Value, Scalar | Arr | ir.Value] = {}
        self.n_own = 0
        self.exits = Exits(self)
        self.checks = Checks(self)
        self.inp, self.out, self.own = (self.b.load(word(self.b, self.ctx, k), typ=PTR) for k in range(3))
        self.events: ir.Value | None = None
        if any(node.op == "poll" for node in graph.nodes()):
            self.events = self.b.load(word(self.b, self.ctx, 5), typ=PTR)
        self.has_work = False
        self.writes = any(node.op in EFFECTS for node in graph.nodes())
        #: The exit for a lack of memory at present, where no node has one.
        self.fallback = 0
        self._scratch: int | None = None
        #: Objects of views, made in the present block or on the way to the present exit: one view, one object.
        self.made: dict[int, ir.Value] = {}
        #: By the object: when its bit generator was looked up (a count of ``jc_released``), and where that is.
        self.bit_generators: dict[Value, tuple[ir.Value, ir.Value]] = {}
        self.checked: list[Callable[[], Part]] = []

    def helper(self, name: str, *args: ir.Value) -> ir.Value:
        return self.b.call(self.unit.helper(name), args)

    def alloca(self, kind: ir.Type, count: int) -> ir.Value:
        return entry_alloca(self.function, kind, count)

    def words(self, items: Sequence[ir.Value]) -> ir.Value:
        """Stack memory that holds ``items`` (64-bit numbers or pointers)."""
        slot = self.alloca(I64, max(len(items), 1))
        for index, item in enumerate(items):
            self.b.store(item, word(self.b, slot, index))
        return slot

    # -- values -----------------------------------------------------------------------------------
    def number(self, value: Value) -> Scalar:
        found = self.values[value]
        assert isinstance(found, Scalar)
        return found

    def length(self, value: Value) -> ir.Value:
        return self.number(value).raw

    def array(self, value: Value) -> Arr:
        found = self.values[value]
        assert isinstance(found, Arr)
        return found

    def read_array(self, type: ArrayType, obj: ir.Value) -> Arr:
        """An array from its object."""
        b = self.b

        def field(offset: int) -> ir.Value:
            return b.load(advance(b, obj, i64(offset)), typ=PTR)

        data, dims, strides = field(_DATA), field(_DIMS), field(STRIDES)
        lengths = [b.load(word(b, dims, k), typ=I64) for k in range(type.ndim)]
        steps = [b.load(word(b, strides, k), typ=I64) for k in range(type.ndim)] if type.layout == "A" else None
        return Arr(type, obj, data, lengths, steps, obj)

    def new_array(self, type: ArrayType, dims: list[ir.Value], strides: list[ir.Value] | None, exit: int) -> Arr:
        """A fresh array, in an own slot; takes ``exit`` when there is no memory."""
        where, nd, num = self.words(dims), i32(type.ndim), i32(type.dtype.num)
        if strides is None:
            obj = self.helper("jc_empty", num, nd, where, i32(int(type.layout == "F" and type.ndim > 1)))
        else:
            obj = self.helper("jc_empty_strided", num, nd, where, self.words(strides))
        self.adopt(obj, exit)
        data = self.b.load(advance(self.b, obj, i64(_DATA)), typ=PTR)
        return Arr(type, obj, data, dims, strides, obj)

    def adopt(self, obj: ir.Value, exit: int) -> None:
        """Puts a new reference into an own slot of its own; takes ``exit`` if it is NULL."""
        self.leave_if(self.b.icmp_unsigned("==", obj, ir.Constant(PTR, None)), exit)
        slot = word(self.b, self.own, self.n_own)
        self.n_own += 1
        if self.loops:
            old = self.b.load(slot, typ=PTR)
            self.b.store(obj, slot)
            self.helper("jc_xdecref", old)
        else:
            self.b.store(obj, slot)

    def scratch(self, size: ir.Value, exit: int) -> ir.Value:
        """Memory of ``size`` bytes until the next call of this; takes ``exit`` when there is none."""
        if self._scratch is None:
            self._scratch = self.n_own
            self.n_own += 1
        slot = word(self.b, self.own, self._scratch)
        obj = self.helper("jc_scratch", self.b.load(slot, typ=PTR), size)
        self.b.store(obj, slot)
        self.leave_if(self.b.icmp_unsigned("==", obj, ir.Constant(PTR, None)), exit)
        return self.b.load(advance(self.b, obj, i64(_DATA)), typ=PTR)

    #: Whether the graph has a loop: then a slot may hold an object of the last round.
    loops = False

    def strides_of(self, arr: Arr) -> list[ir.Value]:
        """Strides in bytes, computed for C and F layouts."""
        if arr.strides is not None:
            return arr.strides
        return self.contiguous(arr.dims, arr.type)

    def seen_strides(self, arr: Arr) -> list[ir.Value]:
        """The array's own numbers: along axes of length one, or without elements, they are not what the layout says."""
        if arr.obj is None:
            return self.strides_of(arr)
        strides = self.b.load(advance(self.b, arr.obj, i64(STRIDES)), typ=PTR)
        return [self.b.load(word(self.b, strides, axis), typ=I64) for axis in range(arr.type.ndim)]

    def contiguous(self, dims: Sequence[ir.Value], type: ArrayType) -> list[ir.Value]:
        step: ir.Value = i64(type.dtype.itemsize)
        steps: list[ir.Value] = []
        ordered = list(dims) if type.layout == "F" else list(reversed(dims))
        for length in ordered:
            steps.append(step)
            step = self.b.mul(step, length)
        return steps if type.layout == "F" else steps[::-1]

    def object_of(self, arr: Arr, leaving: bool = False) -> ir.Value:
        """The array as a Python object; a view is made into one (in an own slot).  ``leaving``: an exit needs it, and
        there is no other one to take."""
        if arr.obj is None:
            known = self.made.get(id(arr))
            if known is not None:
                return known
            name = "jc_view_sure" if leaving and self.writes else "jc_view"
            obj = self.helper(name, arr.base, i32(arr.type.dtype.num), i32(arr.type.ndim), self.words(arr.dims),
                              self.words(self.strides_of(arr)), arr.data)
            self.adopt(obj, 0 if leaving else self.fallback)
            if arr.readonly:
                self.helper("jc_view_close", obj)
            self.made[id(arr)] = obj
            return obj
        return arr.obj

    # -- words of the context -----------------------------------------------------------------------
    def read_word(self, type: ScalarType, where: ir.Value) -> Scalar:
        """A number as the context holds it."""
        dtype = canonical(type.dtype.char)
        if dtype == "?" and type.weak:
            raw = self.b.load(where, typ=I64)
            return Scalar("?", self.b.icmp_unsigned("!=", raw, i64(0)))
        return self.scalar.load(dtype, where)

    def write_word(self, x: Scalar, type: ScalarType, where: ir.Value) -> None:
        if x.dtype == "?" and type.weak:
            self.b.store(self.b.zext(x.raw, I64), where)
        else:
            self.scalar.store(x, where)

    # -- exits --------------------------------------------------------------------------------------
    def leave(self, exit: int) -> None:
        """Ends the block: writes the exit's values and returns its index."""
        self.exits.write(exit)

    def leave_if(self, condition: ir.Value, exit: int) -> None:
        """Takes ``exit`` where the ``i1`` holds, or what waits for this exit says so; goes on otherwise."""
        self.checks.fail(condition, exit)
        self.checks.settle()

    def branch(self, condition: ir.Value, rare: ir.Block, usual: ir.Block) -> None:
        """Jumps by ``condition``, which seldom holds."""
        branch = self.b.cbranch(condition, rare, usual)
        branch.set_weights([1, 2000])

    def move_to(self, block: ir.Block) -> None:
        """Code goes to ``block`` from now on."""
        self.b.position_at_end(block)

    def take_bails(self, exit: int) -> None:
        """Takes ``exit`` if a lowering said that its result is not defined."""
        for condition in self.scalar.bails:
            self.leave_if(condition, exit)
        self.scalar.bails.clear()

    def global_pointer(self, name: str) -> ir.Value:
        """A pointer variable of the region, NULL at first, that Python code can set."""
        known = self.unit.module.globals.get(name)
        if known is None:
            known = ir.GlobalVariable(self.unit.module, PTR, name)
            known.initializer = ir.Constant(PTR, None)
        return known

    def add_to_counter(self, index: int) -> None:
        """Adds one to word ``index`` of the context."""
        slot = word(self.b, self.ctx, index)
        self.b.store(self.b.add(self.b.load(slot, typ=I64), i64(1)), slot)

    def widen(self, x: Scalar) -> Scalar:
        """An integer or bool as a 64-bit weak int."""
        if x.dtype in COMPLEX:
            raise Unsupported("a complex number as an int")
        return Scalar("l", x.raw) if x.dtype in SIGNED and x.raw.type == I64 else self.scalar.cast(x, "l")
