"""Host steps: the graph nodes that the region function does one by one.

Job: one method a graph opcode.  Invariants: a method emits code at the frame's position and notes the
node's value; it may end the current LLVM block and go on in another.  Scalars are computed inline with
their reports looked at explicitly, value by value.  Only ``backends.cpu`` uses it.
"""
from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import reduce as fold
from typing import Any

import numpy as np
from llvmlite import ir

from jitcore import _core
from jitcore.backends.cpu.checks import not_finite
from jitcore.backends.cpu.emit import I32, I64, PTR, advance, element, i32, i64, volatile_load, volatile_store
from jitcore.backends.cpu.frame import FLAGS, Arr, Frame
from jitcore.backends.cpu.lists import Lists
from jitcore.backends.cpu.loops import Unsupported, call_loop, emit_cast, lowering_of, parts_of
from jitcore.backends.cpu.reports import Reports
from jitcore.ir.graph import Node, Value
from jitcore.ir.types import FLOAT, INT, ArrayType, ObjectType, ScalarType
from jitcore.kernels.reductions import axes_of
from jitcore.ops import python
from jitcore.ops.builder import COMPLEX, FLOATS, INTS, Scalar, canonical
from jitcore.ops.casts import weak_lowering
from jitcore.ops.op import Op
from jitcore.ops.random import Draw

#: Bits of an array's flags.
_WRITEABLE, _WARN_ON_WRITE = 0x0400, -(1 << 31)
#: ``ob_type`` in PyObject, and where float and NumPy scalar objects hold their number.
_TYPE, _NUMBER = 8, 16
#: Where sequences hold their size, lists and tuples their items (a list: a pointer to them), bytes their bytes.
_SIZE, _ITEMS, _BYTES = 16, tuple.__basicsize__, bytes.__basicsize__ - 1
#: Nodes before which checks may wait: they have no effect, and do nothing undefined whatever the checks would say.
#: Those that read memory by an index need the checks of indices only.
_TOGETHER = frozenset(("const", "object", "py", "idx", "ew", "cast", "unbox", "dim", "stride", "bcast", "same", "wrap",
                       "check", "finite", "view", "load", "count", "item", "byte", "number"))
_BY_INDEX = frozenset(("load", "count", "item", "byte", "number"))
#: Functions of ``py`` with a result whatever the operands are.
_TOTAL = frozenset(("add", "sub", "mul", "neg", "abs", "truediv", "math.sqrt"))


class Host:
    """Emits host steps into ``frame``."""

    def __init__(self, frame: Frame, ops: Mapping[str, Op], exact: bool) -> None:
        self.frame, self.ops, self.exact = frame, ops, exact
        self.lists = Lists(frame)

    def emit(self, node: Node) -> None:
        if node.op not in _TOGETHER:
            self.frame.checks.finish()
        elif node.op in _BY_INDEX:
            self.frame.checks.settle()
        if node.op.startswith("list_"):
            self.lists.emit(node)
            return
        method = getattr(self, f"_do_{node.op}", None)
        if method is None:
            raise Unsupported(f"no host code for {node.op}")
        value = method(node)
        if node.result is not None:
            self.frame.values[node.result] = value

    def _numbers(self, node: Node) -> list[Scalar]:
        return [self.frame.number(v) for v in node.operands]

    # -- numbers ----------------------------------------------------------------------------------
    def _do_const(self, node: Node) -> Scalar:
        return self.frame.scalar.const(_char(node.result), node.attrs["value"])

    def _do_object(self, node: Node) -> ir.Value:
        return self.frame.unit.pointer(self.frame.graph.objects[node.attrs["index"]])

    def _do_py(self, node: Node) -> Scalar:
        self.frame.has_work = True
        result, ok = python.lower(self.frame.scalar, node.attrs["fn"], *self._numbers(node))
        self.frame.take_bails(node.exit or 0)
        if ok is not None:
            self.frame.checks.fail(self.frame.b.not_(ok.raw), node.exit or 0)
            if node.attrs["fn"] not in _TOTAL:
                self.frame.checks.settle()
        return result

    def _do_idx(self, node: Node) -> Scalar:
        b, (x, y) = self.frame.b, [n.raw for n in self._numbers(node)]
        fn = node.attrs["fn"]
        if fn in ("add", "sub", "mul"):
            raw = {"add": b.add, "sub": b.sub, "mul": b.mul}[fn](x, y)
        elif fn in ("max", "min"):
            raw = b.select(b.icmp_signed(">" if fn == "max" else "<", x, y), x, y)
        elif fn == "satsub":
            raw = b.select(b.icmp_signed(">", x, y), b.sub(x, y), i64(0))
        elif fn in ("floordiv", "mod") and _is_power(y):
            bits = y.constant.bit_length() - 1
            raw = b.ashr(x, i64(bits)) if fn == "floordiv" else b.and_(x, i64(y.constant - 1))
        elif fn == "mod":
            self.frame.checks.settle()
            rest = b.srem(x, y)
            raw = b.select(b.icmp_signed("<", rest, i64(0)), b.add(rest, y), rest)
        elif fn == "floordiv":
            self.frame.checks.settle()
            quotient, rest = b.sdiv(x, y), b.srem(x, y)
            raw = b.sub(quotient, b.zext(b.icmp_signed("<", rest, i64(0)), I64))
        else:
            raise Unsupported(f"idx {fn}")
        return Scalar("l", raw)

    def _do_unbox(self, node: Node) -> Scalar:
        """Between a strong scalar and a weak one of its kind."""
        x = self.frame.number(node.operands[0])
        want = _char(node.result)
        if x.dtype in INTS and want == "l":
            if x.dtype == "L":
                self.frame.leave_if(self.frame.b.icmp_signed("<", x.raw, i64(0)), node.exit or 0)
            return self.frame.scalar.cast(x, "l")
        return self.frame.scalar.cast(x, want)

    def _do_ew(self, node: Node) -> Scalar:
        frame, op, sig = self.frame, self.ops[node.attrs["op"]], node.attrs["sig"]
        frame.has_work = True
        args = self._numbers(node)
        lowering = lowering_of(op, sig, self.exact, range(len(args)))
        if lowering is not None:
            result = lowering(frame.scalar, *args)  # type: ignore[operator]
            frame.take_bails(node.exit or 0)
        else:
            slots: list[tuple[ir.Value, int]] = []
            for arg in args:
                slot = frame.alloca(I64, 2)
                frame.scalar.store(arg, slot)
                slots.append((slot, 0))     # as NumPy has it for numbers: some loops have a variant for that
            out = frame.alloca(I64, 2)
            slots.append((out, 16))
            flagged = node.exit is not None and bool(op.reports_for(sig))
            if flagged:
                frame.helper("jc_reports_clear")
            call_loop(frame.unit, frame.b, op, sig, slots, i64(1))
            if op.foreign:
                frame.leave_if(frame.b.icmp_unsigned("!=", frame.helper("jc_raised"), i32(0)), node.exit or 0)
            if flagged:
                frame.leave_if(frame.b.icmp_unsigned("!=", frame.helper("jc_reports_test"), i32(0)), node.exit or 0)
            return frame.scalar.load(canonical(sig[-1]), out)
        if node.exit is not None and op.reports_for(sig):
            under = "under" in op.reports_for(sig) and "under" in node.attrs.get("reports", ("under",))
            Reports(self.frame).look(result, args, node.exit, under, node, op)
        return result

    def _do_cast(self, node: Node) -> Scalar:
        frame, x, dtype = self.frame, self.frame.number(node.operands[0]), canonical(node.attrs["dtype"])
        source = node.operands[0].type
        assert isinstance(source, ScalarType)
        doubled = source.weak and x.dtype == "l" and dtype in FLOATS + COMPLEX
        lowering = weak_lowering(x.dtype, dtype) if doubled else None
        result = emit_cast(frame.scalar, x, dtype) if lowering is None else lowering(frame.scalar, x)
        frame.take_bails(node.exit or 0)
        if source.weak and x.dtype == "l" and dtype in INTS:
            fits = frame.b.icmp_signed("==", frame.scalar.cast(result, "l").raw, x.raw)
            if dtype == "L":
                fits = frame.b.icmp_signed(">=", x.raw, i64(0))
            frame.leave_if(frame.b.not_(fits), node.exit or 0)
        if node.exit is not None and dtype in "efFD" and x.dtype not in "?":
            Reports(self.frame).look(result, [x], node.exit, "under" in node.attrs.get("reports", ("under",)), node)
        return result

    # -- shapes -----------------------------------------------------------------------------------
    def _do_dim(self, node: Node) -> Scalar:
        operand = node.operands[0]
        found = self.frame.values.get(operand)
        if isinstance(found, Arr):
            return Scalar("l", found.dims[node.attrs["axis"]])
        return self.frame.number(operand.shape[node.attrs["axis"]])

    def _do_stride(self, node: Node) -> Scalar:
        return Scalar("l", self.frame.seen_strides(self.frame.array(node.operands[0]))[node.attrs["axis"]])

    def _do_bcast(self, node: Node) -> Scalar:
        b, (x, y) = self.frame.b, [n.raw for n in self._numbers(node)]
        fits = b.or_(b.icmp_signed("==", x, y),
                     b.or_(b.icmp_signed("==", x, i64(1)), b.icmp_signed("==", y, i64(1))))
        self.frame.checks.fail(b.not_(fits), node.exit or 0)
        return Scalar("l", b.select(b.icmp_signed("==", x, i64(1)), y, x))

    def _do_same(self, node: Node) -> None:
        x, y = (n.raw for n in self._numbers(node))
        self.frame.checks.fail(self.frame.b.icmp_signed("!=", x, y), node.exit or 0)

    def _do_wrap(self, node: Node) -> Scalar:
        b, (x, length) = self.frame.b, [n.raw for n in self._numbers(node)]
        wrapped = b.select(b.icmp_signed("<", x, i64(0)), b.add(x, length), x)
        self.frame.checks.fail(b.icmp_unsigned(">=", wrapped, length), node.exit or 0)
        return Scalar("l", wrapped)

    def _do_check(self, node: Node) -> None:
        self.frame.checks.fail(self.frame.b.not_(self.frame.number(node.operands[0]).raw), node.exit or 0)

    def _do_finite(self, node: Node) -> Scalar:
        b, s = self.frame.b, self.frame.scalar
        odd = not_finite(s, [p for x in self._numbers(node) for p in parts_of(s, x)])
        return Scalar("?", b.not_(fold(b.or_, odd)))

    def _do_asks_under(self, node: Node) -> Scalar:
        b = self.frame.b
        return Scalar("?", b.icmp_unsigned("!=", self.frame.helper("jc_underflow_asked"), i32(0)))

    def _do_poll(self, node: Node) -> None:
        """One look at the word that CPython's evaluator looks at; the rest only when something is asked."""
        frame, b = self.frame, self.frame.b
        seen = b.and_(volatile_load(b, frame.events, I32), i32(_core.EVENTS - (_core.EVENTS >> 31 << 32)))
        asked, go_on = frame.function.append_basic_block("asked"), frame.function.append_basic_block("unasked")
        frame.branch(b.icmp_unsigned("!=", seen, i32(0)), asked, go_on)
        frame.move_to(asked)
        frame.leave_if(b.icmp_unsigned("!=", frame.helper("jc_poll"), i32(0)), node.exit or 0)
        b.branch(go_on)
        frame.move_to(go_on)

    # -- memory -----------------------------------------------------------------------------------
    def _do_view(self, node: Node) -> Arr:
        frame, base = self.frame, self.frame.array(node.operands[0])
        assert node.result is not None and isinstance(node.result.type, ArrayType)
        offset, *steps = [n.raw for n in (frame.number(v) for v in node.operands[1:])]
        dims = [frame.length(v) for v in node.result.shape]
        return Arr(node.result.type, None, advance(frame.b, base.data, offset), dims, steps, base.base,
                   base.readonly or bool(node.attrs.get("readonly")))

    def _do_pack(self, node: Node) -> Arr:
        """A new array, filled in memory order."""
        frame = self.frame
        assert node.result is not None and isinstance(node.result.type, ArrayType)
        made = frame.new_array(node.result.type, [frame.length(v) for v in node.result.shape], None, frame.fallback)
        dtype, order = canonical(node.result.type.dtype.char), list(range(len(node.operands)))
        if node.result.type.layout == "F":
            lengths = [length.node.attrs["value"] for length in node.result.shape if length.node is not None]
            order = np.arange(len(order)).reshape(lengths).ravel(order="F").tolist()
        for place, index in enumerate(order):
            frame.scalar.store(frame.number(node.operands[index]), element(frame.b, made.data, i64(place), dtype))
        return made

    def _address(self, arr: Arr, indices: list[Value]) -> ir.Value:
        if arr.strides is None and arr.type.layout == "C" and len(indices) == len(arr.dims) > 0:
            at = self.frame.length(indices[0])
            for length, index in zip(arr.dims[1:], indices[1:]):
                at = self.frame.b.add(self.frame.b.mul(at, length), self.frame.length(index))
            return element(self.frame.b, arr.data, at, canonical(arr.type.dtype.char))
        b, offset = self.frame.b, i64(0)
        for step, index in zip(self.frame.strides_of(arr), indices):
            offset = b.add(offset, b.mul(step, self.frame.length(index)))
        return advance(b, arr.data, offset)

    def _do_load(self, node: Node) -> Scalar:
        arr = self.frame.array(node.operands[0])
        return self.frame.scalar.load(canonical(arr.type.dtype.char), self._address(arr, list(node.operands[1:])))

    def _do_writable(self, node: Node) -> None:
        frame, b, arr = self.frame, self.frame.b, self.frame.array(node.operands[0])
        flags = b.load(advance(b, arr.base if arr.obj is None else arr.obj, i64(FLAGS)), typ=I32)
        allowed = b.and_(flags, i32(_WRITEABLE | _WARN_ON_WRITE))
        frame.leave_if(b.icmp_unsigned("!=", allowed, i32(_WRITEABLE)), node.exit or 0)

    def _do_store(self, node: Node) -> None:
        arr, value = self.frame.array(node.operands[0]), self.frame.number(node.operands[1])
        address = self._address(arr, list(node.operands[2:]))
        if node.attrs.get("back"):
            volatile_store(self.frame.b, value.raw, address)
        else:
            self.frame.scalar.store(value, address)

    def _do_point(self, node: Node) -> None:
        self.frame.fallback = node.exit or 0

    # -- random numbers ---------------------------------------------------------------------------
    def _bits(self, owner: Value, exit: int) -> ir.Value:
        """The bit generator of an object.  It is looked up again when the GIL may have been given up since."""
        frame, b = self.frame, self.frame.b
        obj = frame.values[owner]
        known = frame.bit_generators.get(owner)
        if known is None:
            known = frame.bit_generators[owner] = frame.alloca(I64, 1), frame.alloca(PTR, 1)
            first = ir.IRBuilder(frame.function.entry_basic_block)
            first.position_before(frame.function.entry_basic_block.terminator)
            first.store(i64(-1), known[0])
        times, bits = known
        released = b.load(frame.unit.data("jc_released"), typ=I64)
        look, go_on = frame.function.append_basic_block("look"), frame.function.append_basic_block("known")
        frame.branch(b.icmp_signed("!=", b.load(times, typ=I64), released), look, go_on)
        frame.move_to(look)
        found = frame.helper("jc_bitgen", obj)
        frame.leave_if(b.icmp_unsigned("==", found, ir.Constant(PTR, None)), exit)
        b.store(found, bits)
        b.store(b.load(frame.unit.data("jc_released"), typ=I64), times)
        b.branch(go_on)
        frame.move_to(go_on)
        return b.load(bits, typ=PTR)

    def _do_draw(self, node: Node) -> Scalar:
        frame, b = self.frame, self.frame.b
        draw: Draw = frame.graph.objects[node.attrs["callee"]]
        frame.has_work = True
        bits = self._bits(node.operands[0], node.exit or 0)
        numbers = [frame.number(v) for v in node.operands[1:]]
        address = draw.address
        if address is None:
            raise Unsupported(f"no C function for {draw.name}")
        if draw.span:
            numbers[1] = frame.scalar.sub(numbers[1], numbers[0])
        raws = [number.raw for number in numbers]
        if draw.bounded:
            low, high = raws
            kind = ir.FunctionType(ir.VoidType(), [PTR, I64, I64, I64, ir.IntType(1), PTR])
            out = frame.alloca(I64, 1)
            function = frame.unit.foreign(draw.symbol, address, kind)
            b.call(function, [bits, low, b.sub(high, low), i64(1), ir.Constant(ir.IntType(1), 0), out])
            return Scalar("l", b.load(out, typ=I64))
        result = "d" if draw.result == FLOAT else "l"
        kind = ir.FunctionType(ir.DoubleType() if result == "d" else I64, [PTR, *[raw.type for raw in raws]])
        return Scalar(result, b.call(frame.unit.foreign(draw.symbol, address, kind), [bits, *raws]))

    # -- Python's sequences -------------------------------------------------------------------------
    def _do_count(self, node: Node) -> Scalar:
        b = self.frame.b
        return Scalar("l", b.load(advance(b, self.frame.values[node.operands[0]], i64(_SIZE)), typ=I64))

    def _do_item(self, node: Node) -> ir.Value:
        frame, b = self.frame, self.frame.b
        items = advance(b, frame.values[node.operands[0]], i64(_ITEMS))
        if node.attrs["of"] == "list":
            items = b.load(items, typ=PTR)
        return b.load(advance(b, items, b.mul(frame.length(node.operands[1]), i64(8))), typ=PTR)

    def _do_byte(self, node: Node) -> Scalar:
        frame, b = self.frame, self.frame.b
        place = advance(b, frame.values[node.operands[0]], b.add(frame.length(node.operands[1]), i64(_BYTES)))
        return Scalar("l", b.zext(b.load(place, typ=ir.IntType(8)), I64))

    def _do_number(self, node: Node) -> Scalar:
        assert node.result is not None
        found = self._checked(self.frame.values[node.operands[0]], node.result, node.exit or 0)
        assert isinstance(found, Scalar)
        return found

    # -- calls ------------------------------------------------------------------------------------
    def _do_call(self, node: Node) -> Scalar | Arr | ir.Value:
        callee = self.frame.unit.pointer(self.frame.graph.objects[node.attrs["callee"]])
        items = self._filled(node, node.attrs["template"])
        if node.attrs.get("strict"):
            items.insert(0, callee)
            callee = self.frame.unit.pointer(_core.strictly)
        return self._call(node, callee, items, tuple(node.attrs["kwnames"] or ()))

    def _filled(self, node: Node, template: tuple[tuple[str, Any], ...]) -> list[Value | ir.Value]:
        frame = self.frame
        items: list[Value | ir.Value] = []
        for kind, item in template:
            if kind in "tl":
                parts = [self._boxed(part) if isinstance(part, Value) else part for part in self._filled(node, item)]
                made = frame.helper("jc_tuple" if kind == "t" else "jc_list_of", i64(len(parts)), frame.words(parts))
                frame.adopt(made, node.exit or 0)
                items.append(made)
            else:
                items.append(node.operands[item] if kind == "v" else frame.unit.pointer(item))
        return items

    def _do_extent(self, node: Node) -> Scalar:
        frame, b = self.frame, self.frame.b
        ndim, axis = i32(node.attrs["ndim"]), i32(node.attrs["axis"])
        length = frame.helper("jc_extent", frame.values[node.operands[0]], ndim, axis)
        frame.leave_if(b.icmp_signed("<", length, i64(0)), node.exit or 0)
        return Scalar("l", length)

    def _do_array(self, node: Node) -> Scalar | Arr | ir.Value:
        assert node.result is not None
        return self._checked(self.frame.values[node.operands[0]], node.result, node.exit or 0)

    def _do_reduce(self, node: Node) -> Scalar | Arr | ir.Value:
        """A reduction that is left to NumPy: ``ufunc.reduce`` on the array."""
        op, unit, axes = self.ops.get(node.attrs["op"]), self.frame.unit, axes_of(node)
        ufunc = op.ufunc if op is not None else None
        callee = getattr(np, node.attrs["op"]) if ufunc is None else ufunc.reduce
        items: list[Value | ir.Value] = [unit.pointer(callee), node.operands[0],
                                         unit.pointer(bool(node.attrs["keepdims"]))]
        names = ["keepdims", "axis"]
        if ufunc is None:       # argmax and argmin take one axis or None
            whole = node.attrs["axes"] is None
            items.append(unit.pointer(None if whole else axes[0]))
        else:
            items += [unit.pointer(axes), unit.pointer(np.dtype(node.attrs["sig"][-1]))]
            names.append("dtype")
        if len(node.operands) > 1:
            items.append(node.operands[1])
            names.append("initial")
        return self._call(node, unit.pointer(_core.strictly), items, tuple(names))

    def _call(self, node: Node, callee: ir.Value, items: list[Value | ir.Value], names: tuple[str, ...]
              ) -> Scalar | Arr | ir.Value:
        """Calls with boxed operands; the result is checked and owned."""
        frame = self.frame
        exit = node.exit or 0
        args = frame.words([self._boxed(item) if isinstance(item, Value) else item for item in items])
        keywords = frame.unit.pointer(names) if names else ir.Constant(PTR, None)
        obj = frame.helper("jc_call", frame.ctx, callee, args, i64(len(items) - len(names)), keywords)
        frame.adopt(obj, exit)
        assert node.result is not None
        return self._checked(obj, node.result, exit)

    def _boxed(self, value: Value) -> ir.Value:
        """An object for a value; a new one is in an own slot."""
        frame, type = self.frame, value.type
        if isinstance(type, ArrayType):
            return frame.object_of(frame.array(value))
        if isinstance(type, ObjectType):
            return frame.values[value]
        x = frame.number(value)
        assert isinstance(type, ScalarType)
        if not type.weak:
            slot = frame.alloca(I64, 2)
            frame.scalar.store(x, slot)
            obj = frame.helper("jc_box_np", i32(type.dtype.num), slot)
        elif x.dtype == "?":
            obj = frame.helper("jc_box_bool", frame.b.zext(x.raw, ir.IntType(32)))
        elif x.dtype == "D":
            obj = frame.helper("jc_box_complex", x.raw, x.imag)
        else:
            obj = frame.helper("jc_box_float" if type == FLOAT else "jc_box_int", x.raw)
        frame.adopt(obj, frame.fallback)
        return obj

    def _checked(self, obj: ir.Value, result: Value, exit: int) -> Scalar | Arr | ir.Value:
        """A call's result as a value of the node's type; takes the exit if it is something else."""
        frame, b, type = self.frame, self.frame.b, result.type
        if isinstance(type, ArrayType):
            fits = frame.helper("jc_is_array", obj, i32(type.dtype.num), i32(type.ndim), i32(ord(type.layout)))
            frame.leave_if(b.icmp_unsigned("==", fits, i32(0)), exit)
            return frame.read_array(type, obj)
        if not isinstance(type, ScalarType):
            return obj
        if type == INT:
            return self._read_int(obj, exit)
        if type.weak and type.dtype.char == "?":
            true, false = frame.unit.pointer(True), frame.unit.pointer(False)
            is_true = b.icmp_unsigned("==", obj, true)
            frame.leave_if(b.not_(b.or_(is_true, b.icmp_unsigned("==", obj, false))), exit)
            return Scalar("?", is_true)
        cls = {"d": float, "D": complex}[type.dtype.char] if type.weak else type.dtype.type
        have = b.load(advance(b, obj, i64(_TYPE)), typ=PTR)
        frame.leave_if(b.icmp_unsigned("!=", have, frame.unit.pointer(cls)), exit)
        return frame.scalar.load(canonical(type.dtype.char), advance(b, obj, i64(_NUMBER)))


    def _read_int(self, obj: ir.Value, exit: int) -> Scalar:
        """A Python int of 64 bits from its object; takes the exit if it is another one."""
        frame, b = self.frame, self.frame.b
        have = b.load(advance(b, obj, i64(_TYPE)), typ=PTR)
        frame.leave_if(b.icmp_unsigned("!=", have, frame.unit.pointer(int)), exit)
        reader = ctypes.cast(ctypes.pythonapi.PyLong_AsLongLongAndOverflow, ctypes.c_void_p).value
        assert reader is not None
        function = frame.unit.foreign("PyLong_AsLongLongAndOverflow", reader, ir.FunctionType(I64, [PTR, PTR]))
        overflow = frame.alloca(I32, 1)
        number = b.call(function, [obj, overflow])
        frame.leave_if(b.icmp_unsigned("!=", b.load(overflow, typ=I32), i32(0)), exit)
        return Scalar("l", number)


def _is_power(y: ir.Value) -> bool:
    """Whether a divisor is a constant power of two."""
    return isinstance(y, ir.Constant) and isinstance(y.constant, int) and y.constant > 0 and not (
        y.constant & y.constant - 1)


def _char(value: Value | None) -> str:
    assert value is not None and isinstance(value.type, ScalarType)
    return canonical(value.type.dtype.char)


