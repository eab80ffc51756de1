"""Elementwise kernels: outputs and stores.

Job: ``emit``, one kernel function.  Invariants: all elements of a step are read before any is written; each element is
read and written by one thread, so that a store whose target is also read at the same places is right.

*Flat.*  A thread takes vectors of as many elements as 16 bytes of the widest operand hold, several vectors a step in
each of which all loads come first.  The elements in front of the first address that is aligned for all operands, and
those behind the last whole vector, go one by one; where no address is aligned for all (operands lie differently to 16
bytes) all elements do, neighbours by neighbouring threads.  *Strided.*  Element by element.
"""
from __future__ import annotations

from llvmlite import ir

from jitcore.backends.nvvm.access import Flat, Strided
from jitcore.backends.nvvm.body import Body, Notes
from jitcore.backends.nvvm.emit import I64, Code, Param, i32, i64
from jitcore.ops.builder import ITEMSIZE, Scalar

#: Bytes of a vector, and vectors that a thread reads before it computes.
_VECTOR, _AHEAD = 16, 4


class _Elementwise:
    def __init__(self, code: Code, body: Body, access: Flat | Strided) -> None:
        self.code, self.body, self.access = code, body, access
        self.notes = Notes(code)
        self.fixed = body.fixed(code)
        self.first, self.step = code.thread()
        self.lanes = max(1, _VECTOR // max(ITEMSIZE[o.dtype] for o in body.pointers()))
        ahead = 1 if body.heavy else max(1, _AHEAD // max(1, len(body.inputs)))
        self.ahead = min(ahead, max(1, _VECTOR // self.lanes))
        #: Steps of single elements: they need as many bytes on their way.
        self.singly = 1 if body.heavy else _AHEAD

    def emit(self) -> None:
        if isinstance(self.access, Flat):
            self._flat()
        else:
            self.code.strided_loops(self.first, self.code.arg["n"], self.step, self.singly, self._elements, "all")
        self.notes.finish()
        self.code.b.ret_void()

    # -- one by one ---------------------------------------------------------------------------------
    def _elements(self, numbers: list[ir.Value]) -> None:
        code, body = self.code, self.body
        places = [self.access.addresses(code, i) for i in numbers]
        loaded = [{o.index: body.load(code, o, where[o.name]) for o in body.inputs} for where in places]
        results = [body.compute(code, found, self.fixed, i, self.notes) for found, i in zip(loaded, numbers)]
        for where, values in zip(places, results):
            for o in body.outputs:
                body.store(code, where[o.name], values[o.index])

    # -- vectors ------------------------------------------------------------------------------------
    def _flat(self) -> None:
        code, b, n = self.code, self.code.b, self.code.arg["n"]
        head, aligned = self._aligned_from()
        head = b.select(b.icmp_unsigned("<", head, n), head, n)
        head = b.select(aligned, head, i32(0))
        shift = i32(self.lanes.bit_length() - 1)
        vectors = b.select(aligned, b.lshr(b.sub(n, head), shift), i32(0))
        code.strided_loops(self.first, vectors, self.step, self.ahead,
                           lambda numbers: self._vectors([b.add(head, b.shl(i, shift)) for i in numbers]), "vectors")
        inside = b.shl(vectors, shift)

        def rest(numbers: list[ir.Value]) -> None:
            before = [b.icmp_unsigned("<", i, head) for i in numbers]
            self._elements([b.select(c, i, b.add(i, inside)) for c, i in zip(before, numbers)])

        code.strided_loops(self.first, b.sub(n, inside), self.step, self.singly, rest, "rest")

    def _aligned_from(self) -> tuple[ir.Value, ir.Value]:
        """How many elements there are in front of the first aligned address, and whether all operands have it there."""
        b, pointers = self.code.b, self.body.pointers()
        words = [b.ptrtoint(self.code.arg[o.name], I64) for o in pointers]
        sizes = [ITEMSIZE[o.dtype] for o in pointers]
        gap = b.and_(b.neg(words[0]), i64(self.lanes * sizes[0] - 1))
        head = b.lshr(gap, i64(sizes[0].bit_length() - 1))
        aligned: ir.Value = ir.Constant(ir.IntType(1), 1)
        for word, size in zip(words, sizes):
            there = b.add(word, b.mul(head, i64(size)))
            aligned = b.and_(aligned, b.icmp_unsigned("==", b.and_(there, i64(self.lanes * size - 1)), i64(0)))
        return b.trunc(head, ir.IntType(32)), aligned

    def _vectors(self, starts: list[ir.Value]) -> None:
        code, body, lanes = self.code, self.body, self.lanes
        places = [self.access.addresses(code, at) for at in starts]
        read = [{o.index: body.load_vector(code, o, where[o.name], lanes) for o in body.inputs} for where in places]
        for where, vectors, at in zip(places, read, starts):
            columns: list[dict[int, Scalar]] = []
            for lane in range(lanes):
                loaded = {index: vector[lane] for index, vector in vectors.items()}
                number = code.b.add(at, i32(lane))
                columns.append(body.compute(code, loaded, self.fixed, number, self.notes))
            for o in body.outputs:
                body.store_vector(code, where[o.name], [values[o.index] for values in columns])


def params(body: Body, access: Flat | Strided) -> list[Param]:
    return [*body.params(), *access.params(), Param("n", "i32"), Param("flags", "ptr")]


def emit(module: ir.Module, symbol: str, body: Body, access: Flat | Strided) -> tuple[Param, ...]:
    """The kernel function; its parameters."""
    code = Code(module, symbol, params(body, access), body.heavy)
    _Elementwise(code, body, access).emit()
    return code.params
