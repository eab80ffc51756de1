"""The reductions of a kernel, seen from the region function.

Job: memory for results, start values, the call of ``jc_reduce`` (which knows NumPy's order), and what has to
be looked at afterwards.  Invariants: results lie in the order of the loop, which is their memory order; an
empty reduction without identity takes its exit.  Only ``backends.cpu`` uses it.
"""
from __future__ import annotations

from functools import reduce as fold

from llvmlite import ir

from jitcore.backends.cpu.emit import I64, i32, i64
from jitcore.backends.cpu.frame import Arr, Frame
from jitcore.backends.cpu.orders import Orders
from jitcore.ir.types import ArrayType
from jitcore.kernels.ir import Kernel, Reduction
from jitcore.kernels.reductions import NO_IDENTITY
from jitcore.ops.builder import FLOATS, ITEMSIZE, SIGNED


def start_value(op: str, dtype: str) -> float:
    """The number from which ``op`` begins: its identity, or one that loses against every element."""
    if op in ("minimum", "maximum"):
        low = op == "maximum"
        if dtype in FLOATS:
            return float("-inf") if low else float("inf")
        if dtype == "?":
            return not low
        bits = 8 * ITEMSIZE[dtype]
        if dtype in SIGNED:
            return -(1 << (bits - 1)) if low else (1 << (bits - 1)) - 1
        return 0 if low else (1 << bits) - 1
    if op == "bitwise_and":
        return -1 if dtype in SIGNED else (1 << 8 * ITEMSIZE[dtype]) - 1
    return {"multiply": 1, "logical_and": 1}.get(op, 0)


class Reductions:
    """Emits the reductions of ``kernel``, whose loop has ``total`` elements."""

    def __init__(self, frame: Frame, kernel: Kernel, orders: Orders, total: ir.Value, exit: int) -> None:
        self.frame, self.kernel, self.orders, self.total, self.exit = frame, kernel, orders, total, exit
        self.results: list[Arr | ir.Value] = []     # an array, or the address of a scalar
        self.counts: list[ir.Value] = []
        self.buffer: ir.Value = i64(0)
        if kernel.reductions[0].buffered:       # all of a kernel are, or none is
            self.buffer = frame.helper("jc_buffer_items")
            frame.leave_if(frame.b.icmp_signed("==", self.buffer, i64(0)), exit)
        for r in kernel.reductions:
            self._prepare(r)

    def _prepare(self, r: Reduction) -> None:
        frame, b = self.frame, self.frame.b
        item = frame.alloca(I64, 2)
        start = frame.number(r.initial) if r.initial is not None else \
            frame.scalar.const(r.dtype, start_value(r.op, r.dtype))
        frame.scalar.store(start, item)
        type = r.value.type
        exit = self.exit if r.exit is None else r.exit
        if isinstance(type, ArrayType):
            dims = [frame.length(length) for length in r.value.shape]
            count = fold(b.mul, dims, i64(1))
            if r.op in NO_IDENTITY and r.initial is None:
                frame.leave_if(b.and_(b.icmp_signed("==", self.total, i64(0)),
                                      b.icmp_signed("!=", count, i64(0))), exit)
            arr = frame.new_array(type, dims, self.orders.of_reduction(r, dims), exit)
            frame.helper("jc_fill_items", arr.data, item, i64(ITEMSIZE[r.dtype]), count)
            self.results.append(arr)
            self.counts.append(count)
        else:
            if r.op in NO_IDENTITY and r.initial is None:
                frame.leave_if(b.icmp_signed("==", self.total, i64(0)), exit)
            self.results.append(item)
            self.counts.append(i64(1))

    def _where(self, k: int) -> ir.Value:
        result = self.results[k]
        return result.data if isinstance(result, Arr) else result

    def run(self, fill: ir.Function, state: ir.Value | None, dims: ir.Value | None) -> ir.Value:
        """Reduces; gives the bits that ``fill`` gathered."""
        assert state is not None and dims is not None
        frame, kernel = self.frame, self.kernel
        nd, n = len(kernel.shape), len(kernel.reductions)
        reducers = frame.words([frame.unit.data(f"jc_reducer_{r.op}_{r.dtype}") for r in kernel.reductions])
        outs = frame.words([self._where(k) for k in range(n)])
        backward = kernel.layout == "F" and nd > 1
        mask = sum(1 << (nd - 1 - axis if backward else axis) for axis in kernel.reductions[0].axes)
        return frame.helper("jc_reduce", fill, state, i64(n), reducers, outs, i64(nd), dims, i64(mask),
                            self.buffer)

    def may_report(self) -> bool:
        """Whether NumPy might report something about the reductions themselves."""
        return any(self._reports(r) for r in self.kernel.reductions)

    def _reports(self, r: Reduction) -> bool:
        return r.exit is not None and r.op in ("add", "multiply") and r.dtype in FLOATS

    def leave_if_odd(self, fill: ir.Function, state: ir.Value | None) -> None:
        """Takes the exit of a reduction that may have met what NumPy reports: its result is inf or NaN, and
        the elements do not explain it."""
        frame, b = self.frame, self.frame.b
        for k, r in enumerate(self.kernel.reductions):
            if not self._reports(r):
                continue
            size = i64(ITEMSIZE[r.dtype])
            odd = b.icmp_unsigned("!=", frame.helper("jc_nonfinite", self._where(k), size, self.counts[k]), i32(0))
            if r.op == "add" and r.initial is None:
                assert state is not None
                look, fine = frame.function.append_basic_block("odd"), frame.function.append_basic_block("fine")
                frame.branch(odd, look, fine)
                frame.move_to(look)
                real = frame.helper("jc_sum_reports", fill, state, i64(k), size, self.total)
                frame.leave_if(b.icmp_unsigned("!=", real, i32(0)), r.exit or 0)
                b.branch(fine)
                frame.move_to(fine)
            else:
                frame.leave_if(odd, r.exit or 0)

    def finish(self, fill: ir.Function, state: ir.Value | None) -> None:
        """Puts the results among the frame's values.  Which zero minimum and maximum of floats give depends on
        NumPy's vector width: where both zeros occur and the result is one, the interpreter decides."""
        frame = self.frame
        for k, r in enumerate(self.kernel.reductions):
            if r.op in NO_IDENTITY and r.dtype in FLOATS:
                assert state is not None
                mixed = frame.helper("jc_mixed_zeros", fill, state, i64(k), i64(ITEMSIZE[r.dtype]), self._where(k),
                                     self.counts[k], self.total)
                frame.leave_if(frame.b.icmp_unsigned("!=", mixed, i32(0)), r.exit or 0)
            result = self.results[k]
            frame.values[r.value] = result if isinstance(result, Arr) else frame.scalar.load(r.dtype, result)


