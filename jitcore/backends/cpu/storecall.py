"""Running a kernel whose results go into an array that exists.

Job: NumPy's meaning of a store.  Invariants: nothing is written before all that may fail has been looked at; elements
are read before any that they share memory with is written.  Only ``backends.cpu`` uses it.

The ways, chosen at run time by how the target lies to what is read.  Into the target at once: nothing can fail, and the
target lies as the loop goes and apart from all that is read.  Through a block's buffer: nothing can fail, and each
element is read at most by its own counterpart.  Twice, first to nowhere: the same for few operations on many elements
that may fail.  Else all results go to scratch memory, and from there to the target.
"""
from __future__ import annotations

from functools import reduce as fold
from typing import Any

from llvmlite import ir

from jitcore.backends.cpu.emit import PTR, advance, counted_loop, element, entry_alloca, i32, i64, word
from jitcore.backends.cpu.frame import Arr
from jitcore.backends.cpu.kernelcall import KernelCall
from jitcore.backends.cpu.loops import BLOCK
from jitcore.backends.cpu.reports import is_finite, is_normal
from jitcore.kernels.ir import same_order
from jitcore.ops.builder import ITEMSIZE, Scalar

_NULL = ir.Constant(PTR, None)
#: The bit of jc_overlap for any overlap but that of an array with itself.
_PARTIAL = 2
#: Operations that are cheap to do twice, and the bytes from which memory counts more than they do.
_FEW, _LARGE = 3, 1 << 20
#: Elements of a short store at most, and operations for each.
_SHORT, _SHORT_WORK = 16, 4
#: Operations whose results tell of reports: an ordinary number means that there is none.
_TELLING = frozenset(("add", "subtract", "multiply", "divide", "true_divide", "negative", "absolute", "positive"))


class StoreCall(KernelCall):
    """Emits the call of a kernel with a store into ``frame``."""

    def emit(self) -> None:
        frame, b, kernel, code = self.frame, self.frame.b, self.kernel, self.code
        assert kernel.store is not None
        frame.has_work = True
        target = frame.array(kernel.store.target)
        size = ITEMSIZE[kernel.body[kernel.store.arg].dtype]
        total = fold(b.mul, self.dims, i64(1))
        lengths, steps = frame.words(self.dims), frame.words(frame.strides_of(target))
        if target.type.layout == "A":
            folded = frame.helper("jc_folded", i64(self.nd), lengths, steps, i64(size))
            frame.leave_if(b.icmp_unsigned("!=", folded, i32(0)), self.exit)
        self._leave_if_odd_strides([target])
        strides = {index: self.orders.broadcast(kernel.body[index].value) for index in code.inputs}
        if not self._is_short():
            self._general(target, size, total, lengths, steps, strides)
        else:
            made, done = frame.made, frame.function.append_basic_block("stored")
            general = frame.function.append_basic_block("general")
            frame.made = dict(made)
            self._short(target, strides, general, done)
            frame.move_to(general)
            self._general(target, size, total, lengths, steps, strides)
            frame.made = made
            frame.b.branch(done)
            frame.move_to(done)
        frame.add_to_counter(3)

    def _general(self, target: Arr, size: int, total: ir.Value, lengths: ir.Value, steps: ir.Value,
                 strides: dict[int, list[ir.Value]]) -> None:
        """The ways for any number of elements."""
        frame, b, code, kernel = self.frame, self.frame.b, self.code, self.kernel
        overlap = self._overlap(target, lengths, steps, size, strides)
        if any(map(self._goes_by_strides, kernel.body)):
            frame.leave_if(b.icmp_unsigned("!=", b.and_(overlap, i32(_PARTIAL)), i32(0)), self.exit)
        if self.nd == 1:
            self._leave_if_crossing(overlap, frame.strides_of(target)[0], strides)
        fill = code.fill()
        quiet = not (code.reports or code.bails)
        where = entry_alloca(frame.function, PTR, 1)
        in_scratch = b.icmp_unsigned("!=", b.and_(overlap, i32(_PARTIAL)), i32(0))
        twice: ir.Value = ir.Constant(ir.IntType(1), 0)
        if not quiet:
            if self._is_cheap():
                twice = b.and_(b.not_(in_scratch), b.icmp_signed(">", b.mul(total, i64(size)), i64(_LARGE)))
            in_scratch = b.not_(twice)
        b.store(self._at_once(target, overlap) if quiet else _NULL, where)
        with b.if_then(in_scratch):
            b.store(frame.scratch(b.mul(total, i64(size)), self.exit), where)
        memory = b.load(where, typ=PTR)
        targets = [memory]
        for index in code.targets[1:]:
            targets.append(entry_alloca(frame.function, ir.IntType(8), BLOCK * ITEMSIZE[kernel.body[index].dtype]))
        state, dims = self._state(strides, targets, target)
        place = word(b, state, code.state_words() - 3)      # without it the results go nowhere
        b.store(b.select(twice, _NULL, target.data), place)
        if code.reports:
            frame.helper("jc_reports_clear")
        bits = frame.helper("jc_blocks", fill, state, i64(self.nd), dims, self._most(memory))
        if code.bails:
            frame.leave_if(b.icmp_unsigned("!=", bits, i32(0)), self.exit)
        if code.reports:
            self._look(False, targets, total, state, dims, None)
        with b.if_then(twice):
            b.store(target.data, place)
            frame.helper("jc_blocks", fill, state, i64(self.nd), dims, self._most(memory))
        with b.if_then(in_scratch):
            forward = kernel.layout != "F" or self.nd < 2
            ordered = frame.strides_of(target)
            frame.helper("jc_scatter", memory, target.data, i64(size), i64(self.nd),
                         frame.words(self.dims if forward else self.dims[::-1]),
                         frame.words(ordered if forward else ordered[::-1]), i64(0), total)

    # -- a few numbers ------------------------------------------------------------------------------
    def _is_short(self) -> bool:
        """Whether the kernel is one that may be computed in place: ints and floats of one axis, in a loop, by few
        operations that tell of their reports."""
        frame, code, body = self.frame, self.code, self.kernel.body
        work = [instr for instr in body if instr.kind not in ("element", "scalar")]
        return (self.nd == 1 and frame.exits.in_loop() and 0 < len(work) <= _SHORT_WORK and len(code.targets) == 1
                and not code.blocked and all(
                    instr.kind == "ew" and instr.op in _TELLING and instr.dtype in "fdl"
                    and instr.sig[-1] == instr.dtype and not instr.quiet and (
                        instr.dtype in "fd" or not code.reporting(instr)) for instr in work)
                and all(instr.dtype in "fdl" for instr in body))

    def _is_usual(self, result: Scalar, args: list[Scalar], op: str) -> Scalar:
        """Whether a result shows that there is nothing to report: sums are exact where they are tiny, products and
        quotients where they are zero because an operand is."""
        s = self.frame.scalar
        if op not in ("multiply", "divide", "true_divide"):
            return is_finite(s, result)
        zeros = [s.cmp("==", arg, s.const(arg.dtype, 0)) for arg in args[:2 if op == "multiply" else 1]]
        return s.or_(is_normal(s, result), s.and_(is_finite(s, result), fold(s.or_, zeros)))

    def _short(self, target: Arr, strides: dict[int, list[ir.Value]], general: ir.Block, done: ir.Block) -> None:
        """Goes on in ``done`` if all is stored, else in ``general``."""
        frame, b, s, code, body = self.frame, self.frame.b, self.frame.scalar, self.code, self.kernel.body
        assert self.kernel.store is not None
        last, n = self.kernel.store.arg, self.dims[0]
        few, write = frame.function.append_basic_block("few"), frame.function.append_basic_block("write")
        b.cbranch(b.icmp_signed("<=", n, i64(_SHORT)), few, general)
        frame.move_to(few)
        run = entry_alloca(frame.function, ir.IntType(64), _SHORT)
        with counted_loop(b, n, "short", few=True) as (i, note):
            values: dict[int, Scalar] = {}
            for index, instr in enumerate(body):
                if instr.kind == "scalar":
                    values[index] = frame.number(instr.value)
                elif instr.kind == "element":
                    data = frame.array(instr.value).data
                    values[index] = s.load(instr.dtype, advance(b, data, b.mul(i, strides[index][0])))
                else:
                    lowering: Any = code.lowering(instr)
                    args = [values[arg] for arg in instr.args]
                    values[index] = lowering(s, *args)
                    if code.reporting(instr):
                        note(s.not_(self._is_usual(values[index], args, instr.op)).raw)
            s.store(values[last], element(b, run, i, body[last].dtype))
        odd = b.block.gathered
        if odd is None:
            b.branch(write)
        else:
            b.cbranch(b.icmp_unsigned("!=", odd, i32(0)), general, write).set_weights([1, 2000])
        frame.move_to(write)
        step = frame.strides_of(target)[0]
        with counted_loop(b, n, "write", few=True) as (i, _):
            x = s.load(body[last].dtype, element(b, run, i, body[last].dtype))
            s.store(x, advance(b, target.data, b.mul(i, step)))
        b.branch(done)

    def _is_cheap(self) -> bool:
        """Whether computing all results twice costs less than writing them to memory of their own."""
        work = sum(instr.kind in ("ew", "cast") for instr in self.kernel.body)
        return work <= _FEW and not self.code.blocked and len(self.code.targets) == 1

    def _leave_if_crossing(self, overlap: ir.Value, step: ir.Value, strides: dict[int, list[ir.Value]]) -> None:
        """NumPy copies one axis onto one that overlaps it in place, from one end; with different strides in one
        direction that is no copy of what was there, but NumPy's own affair."""
        if any(instr.kind == "ew" for instr in self.kernel.body):
            return
        b = self.frame.b
        for row in strides.values():
            differ = b.and_(b.icmp_signed("!=", row[0], step), b.icmp_signed(">=", b.xor(row[0], step), i64(0)))
            self.frame.leave_if(b.and_(b.icmp_signed("==", overlap, i32(_PARTIAL)), differ), self.exit)

    def _overlap(self, target: Arr, lengths: ir.Value, steps: ir.Value, size: int,
                 strides: dict[int, list[ir.Value]]) -> ir.Value:
        """The worst that ``jc_overlap`` says of an array that is read."""
        frame, b = self.frame, self.frame.b
        worst: ir.Value = i32(0)
        for index, row in strides.items():
            source = frame.array(self.kernel.body[index].value)
            found = frame.helper("jc_overlap", target.data, steps, i64(size), source.data, frame.words(row),
                                 i64(source.type.dtype.itemsize), i64(self.nd), lengths)
            worst = b.or_(worst, found)
        return worst

    def _at_once(self, target: Arr, overlap: ir.Value) -> ir.Value:
        """The target's own memory where results may go there as they come, else NULL."""
        store = self.kernel.store
        assert store is not None
        if not same_order(store.target, self.kernel.shape, self.kernel.layout):
            return _NULL
        b = self.frame.b
        return b.select(b.icmp_unsigned("==", overlap, i32(0)), target.data, _NULL)

    def _most(self, memory: ir.Value) -> ir.Value:
        """Elements of a block: any number where no buffer holds them."""
        if not self.flat or self.code.blocked or len(self.code.targets) > 1:
            return i64(BLOCK)
        b = self.frame.b
        return b.select(b.icmp_unsigned("==", memory, _NULL), i64(BLOCK), i64(1 << 40))
