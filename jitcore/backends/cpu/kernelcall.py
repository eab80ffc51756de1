"""Running a kernel from the region function.

Job: allocate outputs, find strides, choose the way (one flat loop, or blocks over any strides), look
at reports, finish reductions.  Invariants: outputs are fresh; when a kernel may report something, its exit
is taken before anything else reads its results.  Only ``backends.cpu`` uses it.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce as fold

from llvmlite import ir

from jitcore.backends.base import Part
from jitcore.backends.cpu.emit import I8, I32, I64, PTR, VOID, Unit, entry_alloca, i32, i64, typed, word
from jitcore.backends.cpu.frame import Arr, Frame
from jitcore.backends.cpu.loops import BLOCK, KernelCode, registers
from jitcore.backends.cpu.orders import Orders
from jitcore.backends.cpu.reduce import Reductions
from jitcore.ir.graph import Value
from jitcore.ir.types import ArrayType
from jitcore.kernels.ir import Instr, Kernel
from jitcore.ops.builder import COMPLEX, FLOATS, ITEMSIZE
from jitcore.ops.op import BY_STRIDES, Op

#: The bit of underflow in what jc_reports_test gives.
UNDERFLOW = 4


class KernelCall:
    """Emits one kernel's call into ``frame``."""

    def __init__(self, frame: Frame, kernel: Kernel, ops: Mapping[str, Op], exact: bool) -> None:
        self.frame, self.kernel = frame, kernel
        self.code = KernelCode(frame.unit, kernel, ops, f"{frame.function.name}.k{kernel.number}", exact)
        self.exit = kernel.exit or 0
        self.nd = len(kernel.shape)
        self.dims = [frame.length(length) for length in kernel.shape]
        self.orders = Orders(frame, kernel, self.dims, ops)
        self.flat = all(kernel.is_flat(index) for index in self.code.inputs) and not self.dynamic

    @property
    def dynamic(self) -> bool:
        """Whether the memory order is found at run time."""
        return self.kernel.layout == "A" and len(self.kernel.shape) > 1

    def emit(self) -> None:
        frame, b, kernel = self.frame, self.frame.b, self.kernel
        frame.has_work = True
        total = fold(b.mul, self.dims, i64(1)) if self.nd != 1 else self.dims[0]
        self._leave_if_odd_strides([])
        strides = {} if self.flat else {index: self.orders.broadcast(self.kernel.body[index].value)
                                        for index in self.code.inputs}
        outputs = self._allocate()
        prepared = Reductions(frame, kernel, self.orders, total, self.exit) if kernel.reductions else None
        reports = self.code.reports or (prepared is not None and prepared.may_report())
        if reports:
            frame.helper("jc_reports_clear")
        targets = [arr.data for arr in outputs]
        for index in self.code.targets[len(outputs):]:
            targets.append(entry_alloca(frame.function, I8, BLOCK * ITEMSIZE[kernel.body[index].dtype]))
        direct = self.flat and not (kernel.reductions or self.code.blocked or self.code.unread)
        state = dims = None
        if not direct:
            state, dims = self._state(strides, targets)
        if direct:
            bits = b.call(self.code.compute(), self._direct_args(targets, total))
        elif prepared is not None:
            bits = prepared.run(self.code.fill(), state, dims)
        else:
            assert state is not None and dims is not None
            bits = frame.helper("jc_blocks", self.code.fill(), state, i64(self.nd), dims, i64(BLOCK))
        if self._can_bail():
            frame.leave_if(b.icmp_unsigned("!=", bits, i32(0)), self.exit)
        if reports:
            self._look(direct, targets, total, state, dims, prepared)
        if prepared is not None:
            prepared.finish(self.code.fill(), state)
        for output, arr in zip(kernel.outputs, outputs):
            frame.values[output.value] = arr
        frame.add_to_counter(3)

    def _goes_by_strides(self, instr: Instr) -> bool:
        """Whether NumPy chooses the loop by its operands' strides, and by whether they overlap."""
        return instr.op in BY_STRIDES and self.code.is_block(instr) and instr.sig[0] in FLOATS + COMPLEX

    def _leave_if_odd_strides(self, stored: list[Arr]) -> None:
        """NumPy's loops of floats have variants, with other bits, for arrays that run backwards, and for half precision
        for those with gaps; blocks have neither.  ``stored``: arrays that such a loop may have as its output."""
        frame, b, body = self.frame, self.frame.b, self.kernel.body
        looked: dict[Value, Arr] = {}
        for instr in body:
            if self._goes_by_strides(instr):
                looked.update((body[a].value, frame.array(body[a].value)) for a in instr.args
                              if body[a].kind == "element" and body[a].value.shape)
        for arr in (*looked.values(), *(stored if looked else ())):
            strides = frame.seen_strides(arr)
            frame.checks.fail(b.icmp_signed("<", fold(b.or_, strides), i64(0)), self.exit)
            if arr.type.dtype.char == "e" and arr.type.layout == "A":
                packed = [b.icmp_signed("==", step, i64(arr.type.dtype.itemsize)) for step in strides]
                frame.checks.fail(b.not_(fold(b.or_, packed)), self.exit)
        frame.checks.settle()

    def _can_bail(self) -> bool:
        return not all(instr.kind in ("element", "scalar", "iota", "copy") for instr in self.kernel.body)

    # -- strides and memory ---------------------------------------------------------------------------
    def _allocate(self) -> list[Arr]:
        made = []
        for output in self.kernel.outputs:
            type = output.value.type
            assert isinstance(type, ArrayType)
            made.append(self.frame.new_array(type, self.dims, self.orders.of_new(output.value), self.exit))
        return made

    # -- the ways -------------------------------------------------------------------------------------
    def _direct_args(self, targets: list[ir.Value], total: ir.Value) -> list[ir.Value]:
        frame, body = self.frame, self.kernel.body
        args = [frame.array(body[index].value).data for index in self.code.inputs] + targets
        for index in self.code.scalars:
            args += registers(frame.number(body[index].value))
        return [*args, i64(0), total]

    def _state(self, strides: dict[int, list[ir.Value]], targets: list[ir.Value], stored: Arr | None = None
               ) -> tuple[ir.Value, ir.Value]:
        """The state that ``fill`` reads, and the lengths in the order of the loop.  ``stored``: the array that is
        written to."""
        frame, b, body = self.frame, self.frame.b, self.kernel.body
        forward = self.kernel.layout != "F" or self.nd < 2
        dims = frame.words(self.dims if forward else self.dims[::-1])
        state = frame.alloca(I64, self.code.state_words())
        b.store(dims, state)
        at = 1
        rows: list[ir.Value] = []
        for index in self.code.inputs:
            b.store(frame.array(body[index].value).data, word(b, state, at))
            if not self.flat:
                row = frame.words(strides[index] if forward else strides[index][::-1])
                rows.append(row)
                b.store(row, word(b, state, at + 1))
            at += 2
        for target in targets:
            b.store(target, word(b, state, at))
            at += 1
        for index in self.code.scalars:
            frame.scalar.store(frame.number(body[index].value), word(b, state, at))
            at += 2
        if stored is not None:
            steps = frame.strides_of(stored)
            rows.append(frame.words(steps if forward else steps[::-1]))
            b.store(stored.data, word(b, state, at))
            b.store(rows[-1], word(b, state, at + 1))
        if self.dynamic:
            order = self.orders.of_new(self.kernel.outputs[0].value) if self.kernel.outputs else None
            # Without a result any order will do; it is sorted too, and so in memory of its own.
            order = frame.words(next(iter(strides.values())) if order is None else order)
            frame.helper("jc_sort_axes", i64(self.nd), order, dims, i64(len(rows)), frame.words(rows))
        if rows and self.nd > 1:
            # Reductions tell axes apart: they keep lengths of their own.
            joined = frame.words(self.dims if forward else self.dims[::-1]) if self.kernel.reductions else dims
            frame.helper("jc_join_axes", i64(self.nd), joined, i64(len(rows)), frame.words(rows))
            b.store(joined, state)
        return state, dims

    def _look(self, direct: bool, targets: list[ir.Value], total: ir.Value, state: ir.Value | None,
              dims: ir.Value | None, reductions: Reductions | None) -> None:
        """Takes the exit if NumPy would report something.

        Where the flags are set, the operations are looked at one by one (the checked variant), then the
        reductions."""
        frame, b = self.frame, self.frame.b
        bits = frame.helper("jc_reports_test")
        if self.kernel.quiet:
            bits = b.and_(bits, i32(~self.kernel.quiet & 15))
        raised = b.icmp_unsigned("!=", bits, i32(0))
        look, clean = frame.function.append_basic_block("look"), frame.function.append_basic_block("clean")
        frame.branch(raised, look, clean)
        frame.move_to(look)
        # Underflow counts as it is: no result tells of it.
        frame.leave_if(b.icmp_unsigned("!=", b.and_(bits, i32(UNDERFLOW)), i32(0)), self.exit)
        if self.code.reports:
            self._run_checked(direct, targets, total, state, dims)
        if reductions is not None:
            reductions.leave_if_odd(self.code.fill(), state)
        b.branch(clean)
        frame.move_to(clean)

    def _run_checked(self, direct: bool, targets: list[ir.Value], total: ir.Value, state: ir.Value | None,
                     dims: ir.Value | None) -> None:
        """Runs the checked variant; the first time it is compiled, and the region leaves."""
        frame, b = self.frame, self.frame.b
        missing, there = frame.function.append_basic_block("missing"), frame.function.append_basic_block("there")
        number = len(frame.checked)
        frame.checked.append(self._checked(direct, f"{frame.function.name}.k{self.kernel.number}"))
        at = b.load(frame.global_pointer(f"{frame.function.name}.checked{number}"), typ=PTR)
        b.cbranch(b.icmp_unsigned("==", at, ir.Constant(PTR, None)), missing, there)
        frame.move_to(missing)
        # Compiling may let other threads run: nothing that was read before holds any more.
        hook = b.load(frame.global_pointer(f"{frame.function.name}.hook"), typ=PTR)
        b.call(typed(hook, ir.FunctionType(VOID, [I64])), [i64(number)])
        frame.leave(self.exit)
        frame.move_to(there)
        if direct:
            args = self._direct_args([ir.Constant(PTR, None)] * len(targets), total)
            real = b.call(typed(at, ir.FunctionType(I32, [a.type for a in args])), args)
        else:
            assert state is not None and dims is not None
            real = frame.helper("jc_blocks", at, state, i64(self.nd), dims, i64(BLOCK))
        frame.leave_if(b.icmp_unsigned("!=", real, i32(0)), self.exit)

    def _checked(self, direct: bool, name: str) -> Callable[[], Part]:
        """Makes the code of the checked variant."""
        kernel, ops, exact = self.kernel, self.code.ops, self.code.exact

        def make() -> Part:
            unit = Unit(name)
            code = KernelCode(unit, kernel, ops, name, exact)
            function = code.compute(True) if direct else code.fill(True)
            function.linkage = "external"
            unit.hook.finish()
            return Part(function.name, str(unit.module), unit.symbols, tuple(unit.keepalive))

        return make
