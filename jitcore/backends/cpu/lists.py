"""Lists of run-time length: items read and written inline, whole lists by helpers of C.

Job: one method a ``list_...`` opcode.  Invariants: a list is a pointer to a ``jc_tlist`` (csrc/lists.h), kept alive by
an own slot, a parameter's slot or the list that it is an item of; an operation whose exit is taken has changed
nothing.  Only ``backends.cpu`` uses it.
"""
from __future__ import annotations

from llvmlite import ir

from jitcore.backends.cpu.emit import I32, I64, PTR, advance, i32, i64
from jitcore.backends.cpu.frame import Arr, Frame
from jitcore.ir.graph import Block, Graph, Node, Value
from jitcore.ir.types import ArrayType, ListType, ScalarType, Type
from jitcore.ops.builder import ITEMSIZE, Scalar, canonical

#: Where a jc_tlist holds its length, its items and how many there is room for.
_LENGTH, _ITEMS, _ROOM = 16, 24, 32
_NESTED = -1

#: Operations that can make a list let go of items.
_DROPS = ("list_set", "list_pop", "list_call")


class Lists:
    """Emits operations on lists into ``frame``."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def emit(self, node: Node) -> None:
        self.frame.has_work = True
        value = getattr(self, f"_{node.op}")(node)
        if node.result is not None:
            self.frame.values[node.result] = value

    # -- parts ------------------------------------------------------------------------------------
    def _pointer(self, value: Value) -> ir.Value:
        found = self.frame.values[value]
        assert not isinstance(found, (Scalar, Arr))
        return found

    def _length(self, l: ir.Value) -> ir.Value:
        return self.frame.b.load(advance(self.frame.b, l, i64(_LENGTH)), typ=I64)

    def _set_length(self, l: ir.Value, n: ir.Value) -> None:
        self.frame.b.store(n, advance(self.frame.b, l, i64(_LENGTH)))

    def _place(self, l: ir.Value, index: ir.Value, item: Type) -> ir.Value:
        b = self.frame.b
        items = b.load(advance(b, l, i64(_ITEMS)), typ=PTR)
        return advance(b, items, b.mul(index, i64(size_of(item))))

    def _write(self, value: Value, place: ir.Value) -> None:
        found = self.frame.values[value]
        if isinstance(found, Scalar):
            self.frame.scalar.store(found, place)
        else:
            assert not isinstance(found, Arr)
            self.frame.b.store(found, place)

    def _in_memory(self, value: Value) -> ir.Value:
        slot = self.frame.alloca(I64, 2)
        self._write(value, slot)
        return slot

    def _own(self, l: ir.Value, node: Node) -> ir.Value:
        self.frame.adopt(l, node.exit or 0)
        return l

    def _refused(self, status: ir.Value, node: Node) -> None:
        """Takes the exit where a helper gave a negative number."""
        zero = ir.Constant(status.type, 0)
        self.frame.leave_if(self.frame.b.icmp_signed("<", status, zero), node.exit or 0)

    # -- opcodes ----------------------------------------------------------------------------------
    def _list_list_type(self, node: Node) -> ListType:
        assert node.result is not None and isinstance(node.result.type, ListType)
        return node.result.type

    def _list_new(self, node: Node) -> ir.Value:
        made = self.frame.helper("jc_tlist_new", *_kind(self._list_list_type(node).item), i64(0))
        return self._own(made, node)

    def _list_fill(self, node: Node) -> ir.Value:
        value, n = node.operands
        made = self.frame.helper("jc_tlist_filled", *_kind(self._list_list_type(node).item), self.frame.length(n),
                                 self._in_memory(value))
        return self._own(made, node)

    def _list_len(self, node: Node) -> Scalar:
        return Scalar("l", self._length(self._pointer(node.operands[0])))

    def _list_get(self, node: Node) -> Scalar | ir.Value:
        l, index = node.operands
        assert node.result is not None
        place = self._place(self._pointer(l), self.frame.length(index), node.result.type)
        if isinstance(node.result.type, ScalarType):
            return self.frame.scalar.load(canonical(node.result.type.dtype.char), place)
        found = self.frame.b.load(place, typ=PTR)
        if not self._is_short(node):
            self.frame.helper("jc_incref", found)
            self.frame.adopt(found, 0)
        return found

    def _is_short(self, node: Node) -> bool:
        """Whether an inner list is used only while the outer one cannot let go of it."""
        assert node.result is not None
        last = _last_use(self.frame.graph, node)
        return last is not None

    def _list_set(self, node: Node) -> None:
        l, value, index = node.operands
        assert isinstance(l.type, ListType)
        place = self._place(self._pointer(l), self.frame.length(index), l.type.item)
        if isinstance(l.type.item, ListType):
            old = self.frame.b.load(place, typ=PTR)
            self.frame.helper("jc_incref", self._pointer(value))
            self._write(value, place)
            self.frame.helper("jc_decref", old)
        else:
            self._write(value, place)

    def _list_append(self, node: Node) -> None:
        l, value = node.operands
        assert isinstance(l.type, ListType)
        frame, b, pointer = self.frame, self.frame.b, self._pointer(l)
        n = self._length(pointer)
        room = b.load(advance(b, pointer, i64(_ROOM)), typ=I64)
        grow, fits = frame.function.append_basic_block("grow"), frame.function.append_basic_block("fits")
        frame.branch(b.icmp_signed(">=", n, room), grow, fits)
        frame.move_to(grow)
        self._refused(frame.helper("jc_tlist_room", pointer, i64(1)), node)
        b.branch(fits)
        frame.move_to(fits)
        if isinstance(l.type.item, ListType):
            frame.helper("jc_incref", self._pointer(value))
        self._write(value, self._place(pointer, n, l.type.item))
        self._set_length(pointer, b.add(n, i64(1)))

    def _list_pop(self, node: Node) -> None:
        l, index = node.operands
        assert isinstance(l.type, ListType)
        frame, b, pointer, at = self.frame, self.frame.b, self._pointer(l), self.frame.length(index)
        last = b.sub(self._length(pointer), i64(1))
        if isinstance(l.type.item, ListType):
            frame.helper("jc_tlist_delete", pointer, at, b.add(at, i64(1)))
            return
        inner, end = frame.function.append_basic_block("inner"), frame.function.append_basic_block("end")
        done = frame.function.append_basic_block("popped")
        b.cbranch(b.icmp_signed("==", at, last), end, inner)
        frame.move_to(end)
        self._set_length(pointer, last)
        b.branch(done)
        frame.move_to(inner)
        frame.helper("jc_tlist_delete", pointer, at, b.add(at, i64(1)))
        b.branch(done)
        frame.move_to(done)

    # -- whole lists ------------------------------------------------------------------------------
    def _list_call(self, node: Node) -> Scalar | Arr | ir.Value | None:
        found: Scalar | Arr | ir.Value | None = getattr(self, f"_call_{node.attrs['fn']}", self._plain)(node)
        return found

    def _operand(self, value: Value) -> ir.Value:
        found = self.frame.values[value]
        if isinstance(found, Scalar):
            return self.frame.b.zext(found.raw, I32) if found.dtype == "?" else found.raw
        return self.frame.object_of(found) if isinstance(found, Arr) else found

    def _plain(self, node: Node) -> ir.Value | None:
        """The helper of the same name, on the operands as they are; gives a list, or whether it refuses, or nothing."""
        found = self.frame.helper(f"jc_tlist_{node.attrs['fn']}", *map(self._operand, node.operands))
        if node.result is not None:
            return self._own(found, node)
        if found.type == I32:
            self._refused(found, node)
        return None

    def _call_insert(self, node: Node) -> None:
        l, at, item = node.operands
        self._refused(self.frame.helper("jc_tlist_insert", self._pointer(l), self.frame.length(at),
                                        self._in_memory(item)), node)

    def _call_find(self, node: Node) -> Scalar:
        l, item = node.operands
        found = self.frame.helper("jc_tlist_find", self._pointer(l), self._in_memory(item), i64(0))
        self.frame.leave_if(self.frame.b.icmp_signed("==", found, i64(-2)), node.exit or 0)
        return Scalar("l", found)

    def _call_count(self, node: Node) -> Scalar:
        l, item = node.operands
        found = self.frame.helper("jc_tlist_count", self._pointer(l), self._in_memory(item))
        self._refused(found, node)
        return Scalar("l", found)

    def _call_equal(self, node: Node) -> Scalar:
        found = self.frame.helper("jc_tlist_equal", *map(self._pointer, node.operands))
        self._refused(found, node)
        return Scalar("?", self.frame.b.icmp_signed("==", found, i64(1)))

    def _call_best(self, node: Node) -> Scalar:
        found = self.frame.helper("jc_tlist_best", *map(self._operand, node.operands))
        self._refused(found, node)
        return Scalar("l", found)

    def _call_truth(self, node: Node) -> Scalar:
        found = self.frame.helper("jc_tlist_truth", *map(self._operand, node.operands))
        return Scalar("?", self.frame.b.icmp_signed("!=", found, i32(0)))

    def _call_sum_ints(self, node: Node) -> Scalar:
        l, start = node.operands
        total = self._in_memory(start)
        self._refused(self.frame.helper("jc_tlist_sum_ints", self._pointer(l), total), node)
        return self.frame.scalar.load("l", total)

    def _call_sum_floats(self, node: Node) -> Scalar:
        l, start = node.operands
        total = self._in_memory(start)
        self.frame.helper("jc_tlist_sum_floats", self._pointer(l), total)
        return self.frame.scalar.load("d", total)

    def _call_from_array(self, node: Node) -> ir.Value:
        made = self.frame.helper("jc_tlist_from_array", self._operand(node.operands[0]),
                                 *_kind(self._list_list_type(node).item))
        return self._own(made, node)

    def _call_to_array(self, node: Node) -> Arr:
        assert node.result is not None and isinstance(node.result.type, ArrayType)
        made = self.frame.helper("jc_tlist_to_array", self._pointer(node.operands[0]), i32(node.result.type.ndim))
        self.frame.adopt(made, node.exit or 0)
        return self.frame.read_array(node.result.type, made)


def size_of(item: Type) -> int:
    """The bytes of an item in a list."""
    return ITEMSIZE[canonical(item.dtype.char)] if isinstance(item, ScalarType) else 8


def _kind(item: Type) -> tuple[ir.Value, ir.Value, ir.Value]:
    """What the helpers ask of an item's type: NumPy's number, whether it is Python's own, its size."""
    if isinstance(item, ScalarType):
        return i32(item.dtype.num), i32(int(item.weak)), i64(size_of(item))
    return i32(_NESTED), i32(0), i64(8)


def _last_use(graph: Graph, node: Node) -> Node | None:
    """The last use of an item that was got, if all are in its block and nothing up to there drops items of lists."""
    block = next(block for block in graph.blocks if node in block.nodes)
    result, last = node.result, node
    assert result is not None
    if _is_used_elsewhere(graph, block, result):
        return None
    position = block.nodes.index(node)
    for k in range(position + 1, len(block.nodes)):
        other = block.nodes[k]
        if result in other.operands or result in graph.exit_uses(other.exit):
            if result in other.operands and other.op == "list_append" and other.operands[1] is result:
                return None
            if any(_drops(between) for between in block.nodes[position + 1:k]):
                return None
            last = other
    return last


def _drops(node: Node) -> bool:
    """Whether a node can make some list let go of a list."""
    if node.op == "call":
        return False
    types = [value.type for value in node.operands[:1]]
    nested = any(isinstance(t, ListType) and isinstance(t.item, ListType) for t in types)
    return (node.op in _DROPS and nested) or (node.result is not None and isinstance(node.result.type, ListType)
                                            and node.op != "list_get")


def _is_used_elsewhere(graph: Graph, home: Block, value: Value) -> bool:
    for block in graph.blocks:
        end = block.terminator
        if end is not None and (value in set(end.uses()) or value in graph.exit_uses(end.exit)):
            return True
        if block is not home and any(value in node.operands or value in graph.exit_uses(node.exit)
                                     for node in block.nodes):
            return True
    return False
