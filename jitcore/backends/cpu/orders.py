"""How the axes of a kernel's new arrays lie in memory, as NumPy has it, to the strides of axes of one element.

Job: ``Orders``, which emits the calls of the rules in ``csrc/order.c``.  Invariants: what is fused away has the order
that its array would have; elements do not depend on the strides of axes of one element, only what a user can see does.
Only ``kernelcall`` uses it.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from llvmlite import ir

from jitcore.backends.cpu.emit import I64, i32, i64, word
from jitcore.backends.cpu.frame import Arr, Frame
from jitcore.ir.graph import Node, Value
from jitcore.ir.types import ArrayType
from jitcore.kernels.ir import Kernel, Reduction
from jitcore.ops.op import Op

Strides = list[ir.Value]


class Orders:
    """Of the arrays of one kernel."""

    def __init__(self, frame: Frame, kernel: Kernel, dims: Strides, ops: Mapping[str, Op]) -> None:
        self.frame, self.dims, self.ops = frame, dims, ops
        self.shape, self.layout = kernel.shape, kernel.layout
        self._words: dict[Value, Strides] = {}

    def broadcast(self, value: Value) -> Strides:
        """Strides of an array along the kernel's axes: 0 where it is broadcast."""
        frame, b = self.frame, self.frame.b
        found = frame.values.get(value)
        assert isinstance(value.type, ArrayType)
        if isinstance(found, Arr):
            dims, own = found.dims, frame.strides_of(found)
        else:
            dims = [frame.length(length) for length in value.shape]
            own = frame.contiguous(dims, value.type)
        missing = len(self.shape) - value.type.ndim
        steps: Strides = [i64(0)] * missing
        for axis, step in enumerate(own):
            if value.shape[axis] is not self.shape[missing + axis]:
                step = b.select(b.icmp_signed("==", dims[axis], i64(1)), i64(0), step)
            steps.append(step)
        return steps

    def of_new(self, value: Value) -> Strides | None:
        """The strides of a new array; None for those of its type's layout."""
        node, type = value.node, value.type
        assert node is not None and isinstance(type, ArrayType)
        if type.layout == "C" or type.ndim <= 1:
            return None
        if node.op == "splat" or (node.op == "copy" and node.attrs["order"] != "K"):
            if not node.attrs.get("like"):
                return None
            return self._copied(type, type.dtype.itemsize, self.frame.contiguous(self.dims, type))
        if value not in self._words:
            self._words[value] = self._computed(node, type)
        return self._words[value]

    def of_reduction(self, reduction: Reduction, dims: Strides) -> Strides | None:
        """The strides of a reduction's result of lengths ``dims``: the operand's order, without the axes that are
        gone; None for those of its type's layout."""
        type = reduction.value.type
        assert isinstance(type, ArrayType)
        operand = replace(type, layout=self.layout)
        if self.layout == "C" or type.ndim <= 1:
            return None if type.layout == "C" or type.ndim <= 1 else self.frame.contiguous(dims, operand)
        axes = range(len(self.dims))
        lengths = [i64(1) if axis in reduction.axes else self.dims[axis] for axis in axes]
        rows = [self.frame.contiguous(self.dims, operand)]
        found = self._call("jc_korder", type, *self._operands(rows), self.frame.words(self.dims),
                           self.frame.words(lengths))
        return [found[axis] for axis in axes if reduction.keepdims or axis not in reduction.axes]

    def _row(self, value: Value) -> Strides:
        """What an operand says about the order of a result."""
        node, type = value.node, value.type
        assert isinstance(type, ArrayType)
        if node is not None and node.op in ("ew", "cast") and "like" in node.attrs:
            return self._lies(node.operands[node.attrs["like"]])
        if node is not None and node.op == "cast" and not node.attrs.get("order") and (
                value.shape == self.shape or isinstance(self.frame.values.get(node.operands[0]), Arr)):
            return self._row(node.operands[0])      # converted in NumPy's buffers
        return self._lies(value) if type.layout == "A" else self.broadcast(value)

    def _lies(self, value: Value) -> Strides:
        """The strides of an operand along the kernel's axes."""
        there = self.frame.values.get(value)
        if isinstance(there, Arr):
            return self.frame.seen_strides(there) if value.shape == self.shape else self.broadcast(value)
        found = self.of_new(value)
        return self.broadcast(value) if found is None else found

    def _computed(self, node: Node, type: ArrayType) -> Strides:
        if "like" in node.attrs:
            return self._lies(node.operands[node.attrs["like"]])
        arrays = [v for v in node.operands if isinstance(v.type, ArrayType) and v.type.ndim > 0]
        rows = [self._row(v) for v in arrays]
        sizes = [v.type.dtype.itemsize for v in arrays if isinstance(v.type, ArrayType)]
        if node.op == "copy" or (node.op == "cast" and node.attrs.get("order")):
            return self._copied(type, sizes[0], rows[0])
        dims = self.frame.words(self.dims)
        if self._is_direct(node, arrays):
            return self._call("jc_ufunc_order", type, *self._operands(rows), self.frame.words([i64(n) for n in sizes]),
                              dims)
        return self._call("jc_korder", type, *self._operands(rows), dims, dims)

    def _is_direct(self, node: Node, arrays: list[Value]) -> bool:
        """Whether NumPy might do without an iterator: a ufunc with one result, and nothing to convert or to spread."""
        op = self.ops.get(node.attrs["op"]) if node.op == "ew" else None
        return op is not None and op.ufunc is not None and op.nout == 1 and all(
            isinstance(v.type, ArrayType) and v.type.ndim == len(self.shape)
            and not (v.node is not None and v.node.op == "cast" and not v.node.attrs.get("order")) for v in arrays)

    def _operands(self, rows: list[Strides]) -> tuple[ir.Value, ir.Value, ir.Value]:
        words = self.frame.words
        return i32(len(self.shape)), i32(len(rows)), words([words(row) for row in rows])

    def _copied(self, type: ArrayType, size: int, row: Strides) -> Strides:
        words = self.frame.words
        return self._call("jc_copy_order", type, i32(len(self.shape)), words(row), i64(size), words(self.dims))

    def _call(self, helper: str, type: ArrayType, *args: ir.Value) -> Strides:
        """The strides that a helper gives to a new array of ``type``."""
        frame, nd = self.frame, len(self.shape)
        result = frame.alloca(I64, nd)
        frame.helper(helper, *args, i64(type.dtype.itemsize), result)
        return [frame.b.load(word(frame.b, result, k), typ=I64) for k in range(nd)]
