"""A simulated device: runs a plan's kernels from their PTX, and the host steps between them by the graph's
definition."""
from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from jitcore.backends.nvvm import schedule
from jitcore.backends.nvvm.emit import BLOCK
from jitcore.backends.nvvm.lower import DeviceCode, lower
from jitcore.backends.nvvm.reports import KINDS
from jitcore.frontend.snapshot import Trace
from jitcore.guards.guard import Loading
from jitcore.guards.reference import FrameValues, read
from jitcore.ir.graph import Graph, Value
from jitcore.ir.interp import evaluate
from jitcore.ir.types import ArrayType, ScalarType
from jitcore.kernels.ir import Kernel, Plan
from jitcore.ops.builder import canonical
from jitcore.ops.table import OPS
from jitcore.passes.tables import context
from jitcore.runtime.stages import snapshot_of_call

from .memory import Memory
from .ptx import Code, Module
from .simt import launch


class Device:
    """Runs ``code``.  ``misaligned``: bytes that arrays begin behind an aligned address.  ``flags``: the word of
    reports of the last run; ``symbols``: what was launched."""

    def __init__(self, code: DeviceCode, misaligned: int | Sequence[int] = 0, checked: bool = True,
                 processors: int = 1) -> None:
        assert not code.refused, code.refused
        self.code, self.checked, self.processors = code, checked, processors
        self.misaligned = misaligned
        self.module = Module(code.ptx)
        self.codes: dict[str, Code] = {}
        self.kernels = {device.kernel.number: device for device in code.kernels}
        self.flags, self.symbols = 0, list[str]()
        self.counts: Counter[str] = Counter()

    def run(self, graph: Graph, *args: Any) -> list[Any]:
        """The values of the exit that the graph ends in."""
        self.memory, self.flags, self.symbols = Memory(), 0, []
        self.addresses: dict[int, int] = {}
        self.kept: list[np.ndarray] = []
        values: dict[Value, Any] = dict(zip(graph.inputs, args))
        context_ = context(graph)
        block = graph.blocks[0]
        while True:
            for step in self.code.plan.steps[block]:
                if isinstance(step, Kernel):
                    self._kernel(step, values)
                    continue
                shape = tuple(values[d] for d in step.result.shape) if step.result is not None else ()
                found = evaluate(step, [values[v] for v in step.operands], shape, context_)
                if step.result is not None:
                    values[step.result] = found
            end = block.terminator
            assert end is not None
            if end.kind == "exit":
                return [values[v] for v in graph.exits[end.exit].values]
            picked = 0 if end.kind == "jump" or values[end.cond] else 1
            block, given = end.targets[picked]
            values.update(zip(block.params, [values[v] for v in given]))

    # -- one kernel ---------------------------------------------------------------------------------
    def _misaligned(self, number: int, size: int) -> int:
        given = self.misaligned if isinstance(self.misaligned, int) else self.misaligned[number % len(self.misaligned)]
        return given // size * size

    def _place(self, x: np.ndarray, shape: tuple[int, ...]) -> schedule.Place:
        """Where ``x`` is on the device, as it is now here."""
        whole = _owner(x)
        low, high = byte_bounds(whole)
        if id(whole) not in self.addresses:
            self.kept.append(whole)
            self.addresses[id(whole)] = self.memory.allocate(
                high - low, self._misaligned(len(self.addresses), x.itemsize))
        address = self.addresses[id(whole)]
        self.memory.write(address, ctypes.string_at(low, high - low))
        return schedule.Place(address + (x.ctypes.data - low), np.broadcast_to(x, shape).strides)

    def _take_back(self, x: np.ndarray) -> None:
        """The memory around ``x`` here becomes as it is on the device."""
        whole = _owner(x)
        low, high = byte_bounds(whole)
        ctypes.memmove(low, self.memory.read(self.addresses[id(whole)], high - low), high - low)

    def _kernel(self, kernel: Kernel, values: dict[Value, Any]) -> None:
        shape = tuple(int(values[d]) for d in kernel.shape)
        body = kernel.body
        inputs = [self._place(values[body[i].value], shape) for i in kernel.arrays()]
        target = stored = None
        if kernel.store is not None:
            stored = values[kernel.store.target]
            target = self._place(stored, shape)
        order = None
        outputs: list[int] = []
        size = int(np.prod(shape, dtype=int))
        if kernel.layout == "A" and len(shape) > 1:
            order = schedule.axis_order(shape, [values[body[i].value] for i in kernel.arrays()], stored)
        for output in kernel.outputs:
            item = self._dtype(output.value).itemsize
            outputs.append(self.memory.allocate(size * item, self._misaligned(len(self.addresses) + 7, item)))
        results = [self._result(r.value, values) for r in kernel.reductions]
        flags = self.memory.allocate(4)
        self.memory.write(flags, bytes(4))
        call = schedule.Call(
            shape, inputs, outputs, target, [values[body[i].value] for i in kernel.scalars()],
            [None if r.initial is None else values[r.initial] for r in kernel.reductions], results, flags,
            self.memory.allocate, order, self.checked, np.getbufsize(), self.processors)
        device = self.kernels[kernel.number]
        for one in schedule.launches(device, call):
            self.symbols.append(one.symbol)
            self.counts += launch(self.module, one.symbol, one.blocks, BLOCK, dict(one.values), self.memory, self.codes)
        self.flags |= int(np.frombuffer(self.memory.read(flags, 4), np.uint32)[0])
        for output, address in zip(kernel.outputs, outputs):
            values[output.value] = self._read(address, self._dtype(output.value), shape, kernel.layout, order)
        for r, address in zip(kernel.reductions, results):
            lengths = tuple(int(values[d]) for d in r.value.shape)
            found = self._read(address, self._dtype(r.value), lengths, kernel.layout, None)
            values[r.value] = found if isinstance(r.value.type, ArrayType) else found[()]
        if stored is not None:
            self._take_back(stored)

    @staticmethod
    def _dtype(value: Value) -> np.dtype:
        assert isinstance(value.type, ArrayType | ScalarType)
        return np.dtype(canonical(value.type.dtype.char))

    def _result(self, value: Value, values: dict[Value, Any]) -> int:
        lengths = [int(values[d]) for d in value.shape]
        return self.memory.allocate(int(np.prod(lengths, dtype=int)) * self._dtype(value).itemsize)

    def _read(self, address: int, dtype: np.dtype, shape: tuple[int, ...], layout: str,
              order: tuple[int, ...] | None) -> np.ndarray:
        size = int(np.prod(shape, dtype=int)) * dtype.itemsize
        flat = np.frombuffer(bytearray(self.memory.read(address, size)), dtype)
        if order is not None:
            return flat.reshape([shape[axis] for axis in order]).transpose(np.argsort(order))
        return flat.reshape(shape, order="F" if layout == "F" else "C")

    def kinds(self) -> set[str]:
        """The kinds of reports of the last run."""
        return {kind for kind, bit in KINDS.items() if self.flags & bit}


def _owner(x: np.ndarray) -> np.ndarray:
    """The array whose memory ``x`` is a view of."""
    while True:
        base = x.base if isinstance(x.base, np.ndarray) else getattr(x.base, "base", None)
        if not isinstance(base, np.ndarray):
            return x
        x = base


def inputs_of(trace: Trace, function: Any, args: Sequence[Any]) -> list[Any]:
    """The graph's inputs for a call: what its guards load."""
    state = snapshot_of_call(function, tuple(args), {})
    frame = FrameValues(function, state.locals, ())
    return [read(guard.source, frame) for guard in trace.guards if isinstance(guard, Loading)]


def code_of(plan: Plan, arch: str = "sm_90", precision: str = "default") -> DeviceCode:
    return lower(plan, OPS, arch, precision=precision)
