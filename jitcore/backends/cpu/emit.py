"""Small things that all emitters of the CPU back end share: types, constants, loops, external functions.

Invariant: knows neither graphs nor kernels.  Only ``backends.cpu`` uses it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from jitcore.backends.scalar import memory_type
from jitcore.backends.scalar_libm import LibmHook
from jitcore.ops.builder import PART

I1, I8, I32, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
PTR = ir.PointerType()
VOID = ir.VoidType()

#: The helpers that native code calls by name: result, then arguments (csrc).
_HELPERS: dict[str, tuple[ir.Type, tuple[ir.Type, ...]]] = {
    "jc_empty": (PTR, (I32, I32, PTR, I32)),
    "jc_empty_strided": (PTR, (I32, I32, PTR, PTR)),
    "jc_korder": (VOID, (I32, I32, PTR, PTR, PTR, I64, PTR)),
    "jc_ufunc_order": (VOID, (I32, I32, PTR, PTR, PTR, I64, PTR)),
    "jc_copy_order": (VOID, (I32, PTR, I64, PTR, I64, PTR)),
    "jc_view": (PTR, (PTR, I32, I32, PTR, PTR, PTR)),
    "jc_view_close": (VOID, (PTR,)),
    "jc_view_sure": (PTR, (PTR, I32, I32, PTR, PTR, PTR)),
    "jc_call": (PTR, (PTR, PTR, PTR, I64, PTR)),
    "jc_box_int": (PTR, (I64,)),
    "jc_box_float": (PTR, (ir.DoubleType(),)),
    "jc_box_bool": (PTR, (I32,)),
    "jc_box_complex": (PTR, (ir.DoubleType(), ir.DoubleType())),
    "jc_box_np": (PTR, (I32, PTR)),
    "jc_is_array": (I32, (PTR, I32, I32, I32)),
    "jc_extent": (I64, (PTR, I32, I32)),
    "jc_tuple": (PTR, (I64, PTR)),
    "jc_list_of": (PTR, (I64, PTR)),
    "jc_incref": (VOID, (PTR,)),
    "jc_decref": (VOID, (PTR,)),
    "jc_poll": (I32, ()),
    "jc_xdecref": (VOID, (PTR,)),
    "jc_reports_clear": (VOID, ()),
    "jc_reports_test": (I32, ()),
    "jc_reports_seen": (I32, ()),
    "jc_reports_again": (VOID, (I32,)),
    "jc_raised": (I32, ()),
    "jc_buffer_items": (I64, ()),
    "jc_gather": (PTR, (PTR, I64, I64, PTR, PTR, I64, I64, PTR)),
    "jc_blocks": (I32, (PTR, PTR, I64, PTR, I64)),
    "jc_sort_axes": (VOID, (I64, PTR, PTR, I64, PTR)),
    "jc_join_axes": (VOID, (I64, PTR, I64, PTR)),
    "jc_reduce": (I32, (PTR, PTR, I64, PTR, PTR, I64, PTR, I64, I64)),
    "jc_fill_items": (VOID, (PTR, PTR, I64, I64)),
    "jc_mixed_zeros": (I32, (PTR, PTR, I64, I64, PTR, I64, I64)),
    "jc_sum_reports": (I32, (PTR, PTR, I64, I64, I64)),
    "jc_underflow_asked": (I32, ()),
    "jc_odd_result": (I32, (ir.DoubleType(), ir.DoubleType(), ir.DoubleType(), ir.DoubleType(), I32)),
    "jc_bitgen": (PTR, (PTR,)),
    "jc_scatter": (VOID, (PTR, PTR, I64, I64, PTR, PTR, I64, I64)),
    "jc_overlap": (I32, (PTR, PTR, I64, PTR, PTR, I64, I64, PTR)),
    "jc_folded": (I32, (I64, PTR, PTR, I64)),
    "jc_scratch": (PTR, (PTR, I64)),
    "jc_nonfinite": (I32, (PTR, I64, I64)),
    "jc_tlist_new": (PTR, (I32, I32, I64, I64)),
    "jc_tlist_room": (I32, (PTR, I64)),
    "jc_tlist_filled": (PTR, (I32, I32, I64, I64, PTR)),
    "jc_tlist_range": (PTR, (I64, I64, I64)),
    "jc_tlist_slice": (PTR, (PTR, I64, I64, I64)),
    "jc_tlist_repeat": (PTR, (PTR, I64)),
    "jc_tlist_extend": (I32, (PTR, PTR)),
    "jc_tlist_concat": (PTR, (PTR, PTR)),
    "jc_tlist_insert": (I32, (PTR, I64, PTR)),
    "jc_tlist_delete": (VOID, (PTR, I64, I64)),
    "jc_tlist_reverse": (VOID, (PTR,)),
    "jc_tlist_sort": (I32, (PTR, I32)),
    "jc_tlist_find": (I64, (PTR, PTR, I64)),
    "jc_tlist_count": (I64, (PTR, PTR)),
    "jc_tlist_equal": (I64, (PTR, PTR)),
    "jc_tlist_best": (I64, (PTR, I32)),
    "jc_tlist_sum_ints": (I32, (PTR, PTR)),
    "jc_tlist_sum_floats": (VOID, (PTR, PTR)),
    "jc_tlist_truth": (I32, (PTR, I32)),
    "jc_tlist_from_array": (PTR, (PTR, I32, I32, I64)),
    "jc_tlist_to_array": (PTR, (PTR, I32)),
}


def i64(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


def i32(value: int) -> ir.Constant:
    return ir.Constant(I32, value)


class Unit:
    """One LLVM module under construction, with what it refers to by address."""

    def __init__(self, name: str) -> None:
        self.module = ir.Module(name)
        self.hook = LibmHook(self.module)
        self.symbols: dict[str, int] = {}
        self.keepalive: list[object] = []

    def helper(self, name: str) -> ir.Function:
        """The declaration of a helper function of C."""
        known = self.module.globals.get(name)
        if known is not None:
            return known
        result, args = _HELPERS[name]
        function = ir.Function(self.module, ir.FunctionType(result, args), name)
        function.attributes.add("nounwind")
        return function

    def data(self, name: str) -> ir.Value:
        """The address of data of C, by name."""
        known = self.module.globals.get(name)
        if known is None:
            known = ir.GlobalVariable(self.module, I8, name)
            known.linkage = "external"
        return known

    def foreign(self, name: str, address: int, type: ir.FunctionType) -> ir.Function:
        """A function at a known address."""
        known = self.module.globals.get(name)
        if known is not None:
            return known
        self.symbols[name] = address
        return ir.Function(self.module, type, name)

    def pointer(self, obj: object) -> ir.Value:
        """The address of a Python object, which is kept alive."""
        self.keepalive.append(obj)
        return i64(id(obj)).inttoptr(PTR)


def advance(b: ir.IRBuilder, pointer: ir.Value, bytes: ir.Value) -> ir.Value:
    return b.gep(pointer, [bytes], source_etype=I8)


class _VolatileLoad(ir.instructions.Instruction):
    def descr(self, buf: list[str]) -> None:
        buf.append(f"load volatile {self.type}, ptr {self.operands[0].get_reference()}\n")


def volatile_load(b: ir.IRBuilder, pointer: ir.Value, kind: ir.Type) -> ir.Value:
    """A load that is done every time it is met."""
    load = _VolatileLoad(b.block, kind, "load", [pointer])
    b._insert(load)
    return load


class _VolatileStore(ir.instructions.Instruction):
    def descr(self, buf: list[str]) -> None:
        value, pointer = self.operands
        buf.append(f"store volatile {value.type} {value.get_reference()}, ptr {pointer.get_reference()}\n")


def volatile_store(b: ir.IRBuilder, value: ir.Value, pointer: ir.Value) -> None:
    """A store of its own, that is not made one with others."""
    b._insert(_VolatileStore(b.block, ir.VoidType(), "store", [value, pointer]))


def word(b: ir.IRBuilder, base: ir.Value, index: int) -> ir.Value:
    """The address of 64-bit word ``index``."""
    if index == 0:
        return base
    return b.gep(base, [i64(index)], source_etype=I64)


def element(b: ir.IRBuilder, base: ir.Value, index: ir.Value, dtype: str) -> ir.Value:
    """The address of element ``index`` of a contiguous array of ``dtype``."""
    if dtype in PART:
        index = b.shl(index, i64(1))
    return b.gep(base, [index], source_etype=memory_type(dtype), inbounds=True)


def start(function: ir.Function) -> ir.IRBuilder:
    """A builder at the start of a new function, behind a block that holds stack memory only."""
    entry, body = function.append_basic_block("entry"), function.append_basic_block("body")
    ir.IRBuilder(entry).branch(body)
    return ir.IRBuilder(body)


def entry_alloca(function: ir.Function, kind: ir.Type, count: int, name: str = "") -> ir.Value:
    """Stack memory that lives as long as the call, aligned for vectors."""
    b = ir.IRBuilder(function.entry_basic_block)
    b.position_before(function.entry_basic_block.instructions[0])
    slot = b.alloca(ir.ArrayType(kind, count), name=name)
    slot.type = PTR         # llvmlite gives a typed pointer, which LLVM no longer has
    slot.align = 64 if count > 8 else 16
    return slot


def loop_hints(module: ir.Module, *hints: tuple[Any, ...]) -> ir.MDValue:
    """For the branch back of a loop: how LLVM is to treat it.  Such a node has itself as its first operand."""
    made = [module.add_metadata(hint) for hint in hints]
    loop = ir.values.MDValue(module, [], str(len(module.metadata)))
    loop.operands = (loop, *made)
    return loop


#: A loop that is left as it is.
PLAIN = ("llvm.loop.vectorize.enable", ir.Constant(I1, 0)), ("llvm.loop.unroll.disable",)


@contextmanager
def counted_loop(b: ir.IRBuilder, n: ir.Value, name: str, few: bool = False
                 ) -> Iterator[tuple[ir.Value, Callable[[ir.Value], None]]]:
    """A loop over ``0 <= i < n``, nothing if ``n <= 0``; gives ``i`` and a function that notes an ``i1`` to be
    gathered with "or" over the loop.  Afterwards ``b`` stands behind the loop, and what was gathered is
    ``b.block.gathered`` (``None`` if nothing was noted).  ``few``: there are so few trips that other forms of the loop,
    for many, only cost time."""
    before = b.block
    loop, done = b.append_basic_block(name), b.append_basic_block(name + ".done")
    b.cbranch(b.icmp_signed(">", n, i64(0)), loop, done)
    b.position_at_end(loop)
    i = b.phi(I64, "i")
    bits = b.phi(I32, "bits")
    notes: list[ir.Value] = []
    yield i, notes.append
    after = bits
    for note in notes:
        after = b.or_(after, b.zext(note, I32))
    following = b.add(i, i64(1), flags=("nuw", "nsw"))
    i.add_incoming(i64(0), before)
    i.add_incoming(following, b.block)
    bits.add_incoming(i32(0), before)
    bits.add_incoming(after, b.block)
    again = b.cbranch(b.icmp_signed("<", following, n), loop, done)
    if few:
        again.set_metadata("llvm.loop", loop_hints(b.module, *PLAIN))
    last = b.block
    b.position_at_end(done)
    gathered = b.phi(I32, "gathered")
    gathered.add_incoming(i32(0), before)
    gathered.add_incoming(after, last)
    done.gathered = gathered if notes else None


class _Typed:
    """A function pointer with the signature that llvmlite asks a callee for."""

    def __init__(self, pointer: ir.Value, type: ir.FunctionType) -> None:
        self.pointer, self.function_type = pointer, type
        self.type = type.as_pointer()

    def get_reference(self) -> str:
        return str(self.pointer.get_reference())


def typed(pointer: ir.Value, type: ir.FunctionType) -> _Typed:
    """``pointer`` as something that can be called."""
    return _Typed(pointer, type)
