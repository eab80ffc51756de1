"""The inner part of a kernel: runs of elements.

Job: emit, for one kernel, ``compute`` (n elements that lie one after another in every operand, the loop
that vectorises) and ``fill`` (the same for elements number off to off + n of operands with any strides,
as ``jc_blocks`` and ``jc_reduce`` call it).  Invariants: results are written to fresh memory, never to
an operand; both return non-zero if the results are not defined.  The *checked* variants write nothing and
return non-zero if NumPy would report something: per operation a NaN from operands without NaN, or
an inf from finite ones (hardware flags are a filter only).  Only ``backends.cpu`` uses it.

Operations without an inline lowering run as blocks: the ufunc's own loop, between two of our loops, on
buffers that fit the cache.  A value's *stage* is the number of such operations below it in a row.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from llvmlite import ir

from jitcore import _core
from jitcore.backends.cpu.emit import (
    I8,
    I32,
    I64,
    PTR,
    VOID,
    Unit,
    advance,
    counted_loop,
    element,
    entry_alloca,
    i32,
    i64,
    start,
    word,
)
from jitcore.backends.scalar import LLVMBuilder, memory_type, register_type
from jitcore.kernels.ir import Instr, Kernel
from jitcore.ops.builder import COMPLEX, FLOATS, INTS, ITEMSIZE, PART, SIGNED, Scalar, canonical
from jitcore.ops.casts import cast_reports
from jitcore.ops.op import Op, loop_signature

#: Elements of a block (JC_BLOCK in csrc/blocks.h).
BLOCK = 512
_LOOP_TYPE = ir.FunctionType(VOID, [PTR, PTR, PTR, PTR])


class Unsupported(Exception):
    """The graph holds something that this back end cannot do exactly."""


def register_types(dtype: str) -> list[ir.Type]:
    """The registers of one number of ``dtype``."""
    part = register_type(PART.get(dtype, dtype))
    return [part, part] if dtype in PART else [part]


def registers(x: Scalar) -> list[ir.Value]:
    return [x.raw] if x.imag is None else [x.raw, x.imag]


def lowering_of(op: Op, sig: str, exact: bool, scalars: Collection[int] = ()) -> object | None:
    """The inline lowering that may be used, ``None`` for the block way.  ``scalars`` are the positions of operands
    that are scalars, which some of NumPy's loops treat in their own way."""
    return op.lowering(sig, scalars) if op.exact_for(sig) or not exact else None


def emit_cast(b: LLVMBuilder, x: Scalar, dtype: str) -> Scalar:
    """C's conversion; bails where a float does not fit an int (C leaves the result open)."""
    if dtype in INTS and x.dtype in FLOATS + COMPLEX:
        re = b.real(x)
        wide = b.cast(re, "f") if re.dtype == "e" else re
        bits = 8 * ITEMSIZE[dtype]
        low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if dtype in SIGNED else (0.0, 2.0 ** bits)
        whole = b.trunc(wide)
        b.bail(b.not_(b.and_(b.cmp(">=", whole, b.const(whole.dtype, low)),
                             b.cmp("<", whole, b.const(whole.dtype, high)))))
    return b.cast(x, dtype)


#: Operations of complex numbers that work on the parts apart (without a name: conversions): a NaN in one excuses
#: nothing in the other.
_BY_PARTS = ("add", "subtract", "")
#: Bits of kinds of reports, as csrc/reports.c counts them.
DIVIDE, OVER, INVALID = 1, 2, 8


def emit_report(b: LLVMBuilder, name: str, result: Scalar, args: list[Scalar], op: Op | None = None, sig: str = "",
                quiet: int = 0) -> ir.Value | None:
    """Whether the operation gives NaN from no NaN, or inf from finite operands; of complex numbers, whether it gives
    any; ``None`` if it cannot.

    ``quiet``: bits of the kinds of reports that do not count.  An infinity of which the kind is not sure counts.
    """
    if name in _BY_PARTS and all(x.dtype in PART for x in (result, *args)):
        found = [emit_report(b, name, part(result), [part(a) for a in args], op, sig, quiet)
                 for part in (b.real, b.imag)]
        return b.ir.or_(*found)
    outs = [r for r in parts_of(b, result) if r.dtype in FLOATS]
    ins = [p for a in args for p in parts_of(b, a) if p.dtype in FLOATS]
    if not outs:
        return None
    nan_out, inf_out = _any(b, [b.isnan(r) for r in outs]), _any(b, [_isinf(b, r) for r in outs])
    if result.dtype in PART:        # one product may overflow where another makes the sum NaN: NumPy's loops decide
        return b.or_(nan_out, inf_out).raw if ~quiet & (DIVIDE | OVER | INVALID) else None
    nan_in, inf_in = _any(b, [b.isnan(a) for a in ins]), _any(b, [_isinf(b, a) for a in ins])
    odd_in = b.or_(nan_in, inf_in)
    invalid, infinite = b.and_(nan_out, b.not_(nan_in)), b.and_(inf_out, b.not_(odd_in))
    kinds = op.reports_for(sig) if op is not None else frozenset(("divide", "over"))
    if quiet & INVALID:
        invalid = b.const("?", False)
    if (quiet & DIVIDE or "divide" not in kinds) and (quiet & OVER or "over" not in kinds):
        infinite = b.const("?", False)
    elif quiet & DIVIDE and op is not None and op.name in ("divide", "true_divide") and result.dtype in FLOATS:
        infinite = b.and_(infinite, b.not_(b.cmp("==", args[1], b.const(args[1].dtype, 0))))
    return b.or_(invalid, infinite).raw


def parts_of(b: LLVMBuilder, x: Scalar) -> list[Scalar]:
    return [b.real(x), b.imag(x)] if x.dtype in PART else [x]


def _isinf(b: LLVMBuilder, x: Scalar) -> Scalar:
    return b.cmp("==", b.fabs(x), b.const(x.dtype, float("inf")))


def _any(b: LLVMBuilder, conditions: list[Scalar]) -> Scalar:
    found = b.const("?", False)
    for condition in conditions:
        found = b.or_(found, condition)
    return found


def call_loop(unit: Unit, b: ir.IRBuilder, op: Op, sig: str, args: list[tuple[ir.Value, int]], n: ir.Value) -> None:
    """Calls a ufunc's inner loop: ``args`` are addresses and steps, the result's last."""
    assert op.ufunc is not None
    spelled = loop_signature(op.ufunc, sig)
    if spelled is None or not op.can_block(sig):
        raise Unsupported(f"{op.name} has no loop {sig} that may run in native code")
    address, data = _core.ufunc_loop(op.ufunc, spelled)
    unit.keepalive.append(op.ufunc)
    function = unit.foreign(f"loop.{op.name}.{spelled}", address, _LOOP_TYPE)
    frame = b.function
    pointers = entry_alloca(frame, PTR, len(args))
    steps = entry_alloca(frame, I64, len(args))
    length = entry_alloca(frame, I64, 1)
    for index, (pointer, step) in enumerate(args):
        b.store(pointer, word(b, pointers, index))
        b.store(i64(step), word(b, steps, index))
    b.store(n, length)
    b.call(function, [pointers, length, steps, i64(data).inttoptr(PTR)])


class KernelCode:
    """``compute`` and ``fill`` of one kernel, plain and checked."""

    def __init__(self, unit: Unit, kernel: Kernel, ops: Mapping[str, Op], name: str, exact: bool) -> None:
        self.unit, self.kernel, self.ops, self.name, self.exact = unit, kernel, ops, name, exact
        self.inputs, self.scalars = kernel.arrays(), kernel.scalars()
        self.stages = self._stages()
        self.blocked = any(self.is_block(instr) for instr in kernel.body)
        #: Instructions that ``compute`` stores: outputs, then operands of reductions that lie nowhere yet.
        self.targets = [output.arg for output in kernel.outputs]
        if kernel.store is not None:
            self.targets.append(kernel.store.arg)
        #: How many of them have memory for all elements; a store may be without.
        self.whole = len(self.targets)
        for reduction in kernel.reductions:
            if kernel.body[reduction.arg].kind != "element" and reduction.arg not in self.targets:
                self.targets.append(reduction.arg)
        self.reports = any(self.reporting(instr) for instr in kernel.body)
        #: What LLVM might not compute for every element, though it can report: it is stored in scratch.
        self.unread = self._unread()
        self.targets += self.unread
        #: An operation on numbers that are the same for all elements: LLVM must not compute it beforehand.
        self.uniform = any(instr.args and all(kernel.body[a].kind == "scalar" for a in instr.args)
                           for instr in kernel.body)
        #: Whether a result may be undefined, known once ``compute`` was made.
        self.bails = False
        self._made: dict[str, ir.Function] = {}

    def _unread(self) -> list[int]:
        """Instructions that may take their exit and that nothing reads, or only a choice: LLVM drops the ones, and
        moves the others to where the condition asks for them."""
        sure = set(self.targets)
        unread = []
        for index, instr in reversed(list(enumerate(self.kernel.body))):
            if index not in sure and instr.exit is not None:
                unread.append(index)
                sure.add(index)
            if index in sure or self.is_block(instr):
                sure.update(instr.args[:1] if instr.op == "where" else instr.args)
        return unread[::-1]

    def is_block(self, instr: Instr) -> bool:
        return instr.kind == "ew" and self.lowering(instr) is None

    def lowering(self, instr: Instr) -> object | None:
        scalars = [k for k, a in enumerate(instr.args) if self.kernel.body[a].kind == "scalar"]
        return lowering_of(self.ops[instr.op], instr.sig, self.exact, scalars)

    def reporting(self, instr: Instr) -> bool:
        if instr.exit is None:
            return False
        if instr.kind == "cast":
            source = self.kernel.body[instr.args[0]].dtype
            return instr.dtype in FLOATS + COMPLEX and bool(cast_reports(np.dtype(source), np.dtype(instr.dtype)))
        return instr.kind == "ew" and bool(self.ops[instr.op].reports_for(instr.sig))

    def _stages(self) -> list[int]:
        stages: list[int] = []
        for instr in self.kernel.body:
            below = max((stages[a] for a in instr.args), default=0)
            stages.append(below + 1 if self.is_block(instr) else below)
        return stages

    # -- compute --------------------------------------------------------------------------------
    def compute(self, checked: bool = False) -> ir.Function:
        """``i32 (operands..., targets..., scalars..., off, n)``."""
        name = "checked" if checked else "compute"
        if name not in self._made:
            self._made[name] = self._emit_compute(name, checked)
        return self._made[name]

    def _emit_compute(self, name: str, checked: bool) -> ir.Function:
        body = self.kernel.body
        scalar_types = [t for index in self.scalars for t in register_types(body[index].dtype)]
        n_pointers = len(self.inputs) + len(self.targets)
        kind = ir.FunctionType(I32, [PTR] * n_pointers + scalar_types + [I64, I64])
        function = ir.Function(self.unit.module, kind, f"{self.name}.{name}")
        function.linkage = "external" if self.uniform else "internal"
        function.attributes.add("nounwind")
        function.attributes.add("noinline")
        # LLVM prefers 256 bits on most machines; 512 were faster in every kernel measured, vector math above all.
        set.add(function.attributes, '"prefer-vector-width"="512"')
        for arg in function.args[len(self.inputs):n_pointers]:
            arg.add_attribute("noalias")
        for arg in function.args[:len(self.inputs)]:
            set.add(arg.attributes, "readonly")     # not in llvmlite's own list
        return _Compute(self, function, checked).emit()

    # -- fill -----------------------------------------------------------------------------------
    def state_words(self) -> int:
        return 1 + 2 * len(self.inputs) + len(self.targets) + 2 * len(self.scalars) + 3

    def fill(self, checked: bool = False) -> ir.Function:
        """``i32 (state, off, n, elems)``; the words of ``state``: address of ``dims``, for every operand data and
        strides, addresses of the targets, two words a scalar; for a store data and strides of its array, where the
        elements go at once if the address of the target is NULL."""
        name = "fill.checked" if checked else "fill"
        if name in self._made:
            return self._made[name]
        function = ir.Function(self.unit.module, ir.FunctionType(I32, [PTR, I64, I64, PTR]), f"{self.name}.{name}")
        function.linkage = "internal"
        function.attributes.add("nounwind")
        state, off, n, elems = function.args
        b = start(function)
        dims = b.load(state, typ=PTR)
        nd = len(self.kernel.shape)
        args: list[ir.Value] = []
        at = 1
        for index in self.inputs:
            size = ITEMSIZE[self.kernel.body[index].dtype]
            data, strides = (b.load(word(b, state, at + k), typ=PTR) for k in (0, 1))
            at += 2
            if self.kernel.is_flat(index) or nd == 0:
                args.append(advance(b, data, b.mul(off, i64(size))))
            else:
                buffer = entry_alloca(function, I8, BLOCK * size)
                args.append(b.call(self.unit.helper("jc_gather"),
                                   [data, i64(size), i64(nd), dims, strides, off, n, buffer]))
        found = dict(zip(self.inputs, args))
        for k, index in enumerate(self.targets):
            pointer = b.load(word(b, state, at), typ=PTR)
            at += 1
            if k < self.whole:
                given, size = pointer, ITEMSIZE[self.kernel.body[index].dtype]
                pointer = advance(b, given, b.mul(off, i64(size)))
                if self.kernel.store is not None:
                    through = b.icmp_unsigned("==", given, ir.Constant(PTR, None))
                    run = entry_alloca(function, I8, BLOCK * size)
                    pointer = b.select(through, run, pointer)
            args.append(pointer)
            found[index] = pointer
        scalar = LLVMBuilder(b, self.unit.hook)
        for index in self.scalars:
            args += registers(scalar.load(self.kernel.body[index].dtype, word(b, state, at)))
            at += 2
        bits = b.call(self.compute(checked), [*args, off, n]) if self.targets or checked else i32(0)
        if not checked:
            for k, reduction in enumerate(self.kernel.reductions):
                b.store(found[reduction.arg], word(b, elems, k))
        if self.kernel.store is not None and not checked:
            size = ITEMSIZE[self.kernel.body[self.kernel.store.arg].dtype]
            with b.if_then(through):
                data, strides = (b.load(word(b, state, at + k), typ=PTR) for k in (0, 1))
                b.call(self.unit.helper("jc_scatter"), [run, data, i64(size), i64(nd), dims, strides, off, n])
        b.ret(bits)
        self._made[name] = function
        return function


class _Compute:
    """Emits the loops of one ``compute`` function."""

    def __init__(self, code: KernelCode, function: ir.Function, checked: bool) -> None:
        self.code, self.function, self.checked = code, function, checked
        self.body = code.kernel.body
        self.b = start(function)
        args = list(function.args)
        self.pointers = {index: args.pop(0) for index in code.inputs}
        # Several outputs may hold the same elements.
        self.targets = [(index, args.pop(0)) for index in code.targets]
        self.fixed: dict[int, Scalar] = {}
        for index in code.scalars:
            dtype = self.body[index].dtype
            raws = [args.pop(0) for _ in register_types(dtype)]
            self.fixed[index] = Scalar(dtype, *raws)
        self.off, self.n = args
        self.buffers: dict[int, ir.Value] = {}

    def emit(self) -> ir.Function:
        bits: ir.Value = i32(0)
        for stage in range(max(self.code.stages, default=0) + 1):
            bits = self._or(bits, self._loop(stage))
            for index, instr in enumerate(self.body):
                if self.code.stages[index] == stage + 1 and self.code.is_block(instr):
                    bits = self._or(bits, self._block(index, instr))
        self.b.ret(bits)
        return self.function

    def _or(self, x: ir.Value, y: ir.Value | None) -> ir.Value:
        return x if y is None else self.b.or_(x, y)

    def _buffer(self, index: int) -> ir.Value:
        if index not in self.buffers:
            self.buffers[index] = entry_alloca(self.function, I8, BLOCK * ITEMSIZE[self.body[index].dtype])
        return self.buffers[index]

    def _kept(self, index: int, stage: int) -> bool:
        """Whether a value computed at ``stage`` is read from memory later."""
        return any(index in instr.args and (self.code.is_block(instr) or self.code.stages[k] > stage)
                   for k, instr in enumerate(self.body))

    def _loop(self, stage: int) -> ir.Value | None:
        """One loop: the inline operations of a stage."""
        code, body = self.code, self.body
        work = [i for i, instr in enumerate(body)
                if code.stages[i] == stage and instr.kind not in ("element", "scalar") and not code.is_block(instr)]
        copied = [] if self.checked else [target for target in self.targets if code.stages[target[0]] == stage]
        if not work and not copied:
            return None
        with counted_loop(self.b, self.n, f"stage{stage}") as (i, note):
            s = LLVMBuilder(self.b, code.unit.hook)
            values: dict[int, Scalar] = {}

            def get(index: int) -> Scalar:
                if index not in values:
                    values[index] = self._get(s, index, i, stage, get, note)
                return values[index]

            for index in work:
                value = get(index)
                if self._kept(index, stage):
                    s.store(value, element(self.b, self._buffer(index), i, body[index].dtype))
            for index, pointer in copied:
                s.store(get(index), element(self.b, pointer, i, body[index].dtype))
            for bail in s.bails:
                note(bail)
                code.bails = True
        return self.b.block.gathered

    def _get(self, s: LLVMBuilder, index: int, i: ir.Value, stage: int, get: object, note: object) -> Scalar:
        instr, b = self.body[index], self.b
        if instr.kind == "element":
            return s.load(instr.dtype, element(b, self.pointers[index], i, instr.dtype))
        if instr.kind == "scalar":
            return self.fixed[index]
        if self.code.stages[index] < stage or self.code.is_block(instr):
            return s.load(instr.dtype, element(b, self._buffer(index), i, instr.dtype))
        args = [get(a) for a in instr.args]     # type: ignore[operator]
        if instr.kind == "iota":
            number = s.cast(Scalar("l", b.add(self.off, i)), instr.dtype)
            return s.add(args[0], s.mul(number, args[1]))
        if instr.kind == "copy":
            return args[0]
        if instr.kind == "cast":
            value = emit_cast(s, args[0], instr.dtype)
        else:
            value = self.code.lowering(instr)(s, *args)     # type: ignore[operator]
        if self.checked and self.code.reporting(instr):
            report = emit_report(s, instr.op, value, args, self.code.ops.get(instr.op), instr.sig, instr.quiet)
            if report is not None:
                note(report)            # type: ignore[operator]
        return value

    def _block(self, index: int, instr: Instr) -> ir.Value | None:
        """The ufunc's own loop on ``n`` elements; when checked, what NumPy would report after it."""
        args: list[tuple[ir.Value, int]] = []
        for a in instr.args:
            arg = self.body[a]
            size = ITEMSIZE[arg.dtype]
            if arg.kind == "element":
                args.append((self.pointers[a], size))
            elif arg.kind == "scalar":
                slot = entry_alloca(self.function, memory_type(arg.dtype), 2)
                LLVMBuilder(self.b, self.code.unit.hook).store(self.fixed[a], slot)
                args.append((slot, 0))
            else:
                args.append((self._buffer(a), size))
        args.append((self._buffer(index), ITEMSIZE[canonical(instr.sig[-1])]))
        looked_at = self.checked and self.code.reporting(instr)
        if looked_at:
            self.b.call(self.code.unit.helper("jc_reports_clear"), [])
        kept = self.code.reports and not self.checked       # some of NumPy's loops clear all flags
        seen = self.b.call(self.code.unit.helper("jc_reports_seen"), []) if kept else None
        call_loop(self.code.unit, self.b, self.code.ops[instr.op], instr.sig, args, self.n)
        if seen is not None:
            self.b.call(self.code.unit.helper("jc_reports_again"), [seen])
        raised = None
        if self.code.ops[instr.op].foreign:
            raised = self.b.call(self.code.unit.helper("jc_raised"), [])
            self.code.bails = True
        if not looked_at:
            return raised
        bits = self.b.call(self.code.unit.helper("jc_reports_test"), [])
        return self._or(self.b.and_(bits, ir.Constant(I32, ~instr.quiet & 15)), raised)


