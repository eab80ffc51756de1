"""Runs a plan on a device: kernels from their PTX, host steps by the graph's definition.

Job: ``Program``, what ``runtime.device`` makes of a trace.  Invariants: nothing that the program was given is changed
before all that can fail on the host has been done, or it raises ``LeaveDevice`` with nothing changed; memory between
kernels is given back to the stream's pool in order, while the kernels that use it are still to run.

Host steps look at shapes, strides and numbers, never at elements: arrays are represented by their forms.  A number that
a kernel has computed is fetched when the first host step, scalar parameter or result asks for it.
"""
from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitcore.backends.cuda import array as arrays
from jitcore.backends.cuda import driver
from jitcore.backends.cuda.array import DeviceArray, Memory
from jitcore.backends.nvvm import schedule
from jitcore.backends.nvvm.emit import BLOCK, Param
from jitcore.backends.nvvm.lower import DeviceCode
from jitcore.ir.graph import Exit, Graph, Value
from jitcore.ir.interp import Context, TakesExit, evaluate
from jitcore.ir.types import ArrayType, ScalarType
from jitcore.kernels.ir import Kernel
from jitcore.ops.builder import canonical

#: Host steps that a program may have: those that look at forms and numbers only.
HOST_STEPS = frozenset({"dim", "stride", "const", "object", "py", "cast", "ew", "idx", "bcast", "same", "view", "unbox",
                        "point", "writable", "check", "wrap", "load", "store", "poll"})
_CTYPES: dict[str, Any] = {
    "ptr": ctypes.c_uint64, "i32": ctypes.c_uint32, "i64": ctypes.c_int64, "?": ctypes.c_uint8, "b": ctypes.c_int8,
    "B": ctypes.c_uint8, "h": ctypes.c_int16, "H": ctypes.c_uint16, "i": ctypes.c_int32, "I": ctypes.c_uint32,
    "l": ctypes.c_int64, "L": ctypes.c_uint64, "e": ctypes.c_uint16, "f": ctypes.c_float, "d": ctypes.c_double}


class LeaveDevice(Exception):
    """The program does not go on here: the function has to be run in another way, from its start."""


@dataclass(frozen=True)
class Pending:
    """A number that a kernel has computed and that is still on the device."""

    memory: Memory
    dtype: np.dtype
    pointer: int

    def fetch(self) -> Any:
        host = np.empty(1, self.dtype)
        self.memory.device.read(host.ctypes.data, self.pointer, self.dtype.itemsize)
        return host[0]


class Program:
    """One trace for one device.  ``flags``: the word in which its kernels gather what NumPy would report."""

    def __init__(self, graph: Graph, code: DeviceCode, device: driver.Device, context: Context, checked: bool) -> None:
        self.graph, self.code, self.device, self.context, self.checked = graph, code, device, context, checked
        self.kernels = {made.kernel.number: made for made in code.kernels}
        self._module = device.load(code.ptx) if code.kernels else None
        self.stores = any(made.kernel.store is not None for made in code.kernels)
        self._functions: dict[str, tuple[Any, tuple[Param, ...], tuple[Any, ...]]] = {}

    def run(self, inputs: Sequence[Any], flags: int) -> tuple[Exit, list[Any]]:
        """The exit that a run ends in and its values: ``DeviceArray``s, numbers, objects.  Raises ``LeaveDevice``."""
        return _Run(self, flags).run(inputs)

    def function(self, symbol: str, params: tuple[Param, ...]) -> tuple[Any, tuple[Param, ...], tuple[Any, ...]]:
        """The driver's handle, the parameters, and their ctypes types."""
        found = self._functions.get(symbol)
        if found is None:
            kinds = tuple(_CTYPES[param.kind] for param in params)
            found = self._functions[symbol] = self.device.function(self._module, symbol), params, kinds
        return found


class _Run:
    def __init__(self, program: Program, flags: int) -> None:
        self.program, self.flags, self.device = program, flags, program.device
        self.values: dict[Value, Any] = {}
        self.between: list[Memory] = []     # what kernels hand to each other

    def run(self, inputs: Sequence[Any]) -> tuple[Exit, list[Any]]:
        graph, values = self.program.graph, self.values
        values.update(zip(graph.inputs, inputs))
        block = graph.blocks[0]
        while True:
            for step in self.program.code.plan.steps[block]:
                if isinstance(step, Kernel):
                    self._kernel(step)
                else:
                    self._host(step)
            end = block.terminator
            assert end is not None
            if end.kind == "exit":
                assert end.exit is not None
                exit = graph.exits[end.exit]
                return exit, [self._finished(values[value]) for value in exit.values]
            picked = 0 if end.cond is None or self._number(end.cond) else 1
            block, given = end.targets[picked]
            values.update(zip(block.params, [values[value] for value in given]))

    # -- host steps ---------------------------------------------------------------------------------
    def _host(self, step: Any) -> None:
        if step.op == "poll":       # these steps are Python, which looks at signals itself
            return
        if step.op in ("load", "store"):
            self._element(step)
            return
        operands = [self._operand(value) for value in step.operands]
        shape = tuple(self._number(length) for length in step.result.shape) if step.result is not None else ()
        try:
            found = evaluate(step, operands, shape, self.program.context)
        except TakesExit:
            raise LeaveDevice from None
        if step.result is None:
            return
        if type(found) is np.ndarray:
            found = self._located(found, [self.values[value] for value in step.operands])
        self.values[step.result] = found

    def _element(self, step: Any) -> None:
        """One element, fetched or written."""
        array, *rest = (self.values[step.operands[0]], *map(self._number, step.operands[1:]))
        place = array._view(array._form[(*rest[:array.ndim], ...)])
        if step.op == "load":
            self.values[step.result] = Pending(place._memory, array.dtype, place._pointer).fetch()
        else:
            host = np.array(rest[-1], array.dtype)
            self.device.write(place._pointer, host.ctypes.data, host.nbytes)

    def _operand(self, value: Value) -> Any:
        found = self.values[value]
        return found._form if isinstance(found, DeviceArray) else self._number(value)

    def _located(self, form: np.ndarray, operands: list[Any]) -> DeviceArray:
        """The array of which ``form`` is a view's form."""
        (base,) = (one for one in operands if isinstance(one, DeviceArray))
        return base._view(form)

    def _number(self, value: Value) -> Any:
        found = self.values[value]
        if isinstance(found, Pending):
            found = self.values[value] = found.fetch()
        return found

    @staticmethod
    def _finished(value: Any) -> Any:
        return value.fetch() if isinstance(value, Pending) else value

    # -- kernels ------------------------------------------------------------------------------------
    def _kernel(self, kernel: Kernel) -> None:
        program, values, body = self.program, self.values, kernel.body
        shape = tuple(int(self._number(length)) for length in kernel.shape)
        inputs = [values[body[index].value] for index in kernel.arrays()]
        target = values[kernel.store.target] if kernel.store is not None else None
        if target is not None:
            inputs = [self._apart(one, target, shape) for one in inputs]
        order = None
        if kernel.layout == "A" and len(shape) > 1:
            order = schedule.axis_order(shape, [one._form for one in inputs], None if target is None else target._form)
        outputs = [self._new(output.value, shape, kernel.layout, order) for output in kernel.outputs]
        results = [self._result(r.value, kernel.layout) for r in kernel.reductions]
        call = schedule.Call(
            shape, [_place(one, shape) for one in inputs], [one._pointer for one in outputs],
            None if target is None else _place(target, shape), [self._number(body[i].value) for i in kernel.scalars()],
            [None if r.initial is None else self._number(r.initial) for r in kernel.reductions],
            [one.pointer if isinstance(one, Pending) else one._pointer for one in results], self.flags,
            self._allocate, order, program.checked, np.getbufsize(), self.device.multiprocessors)
        made = program.kernels[kernel.number]
        for launch in schedule.launches(made, call):
            function, params, kinds = program.function(launch.symbol, made.functions[launch.symbol])
            numbers = tuple(_parameter(launch.values[param.name], param.kind) for param in params)
            self.device.launch(function, (launch.blocks,), BLOCK, numbers, kinds)
        values.update(zip((output.value for output in kernel.outputs), outputs))
        values.update(zip((r.value for r in kernel.reductions), results))

    def _apart(self, one: DeviceArray, target: DeviceArray, shape: tuple[int, ...]) -> DeviceArray:
        """``one``, or a copy of it where writing ``target`` would change elements that are still to be read."""
        (first, last), (low, high) = arrays.span(one._form), arrays.span(target._form)
        begin, end = one._pointer + first, one._pointer + last
        apart = end <= target._pointer + low or target._pointer + high <= begin
        if apart or _place(one, shape) == _place(target, shape):
            return one
        memory = Memory(self.device, last - first)
        self.device.copy(memory.pointer, begin, last - first)
        self.between.append(memory)
        return DeviceArray(memory, memory.pointer - first, one._form)

    def _allocate(self, nbytes: int) -> int:
        self.between.append(Memory(self.device, max(nbytes, 1)))
        return self.between[-1].pointer

    def _new(self, value: Value, shape: tuple[int, ...], layout: str, order: tuple[int, ...] | None) -> DeviceArray:
        dtype = _dtype(value)
        strides = None
        if order is not None:
            packed = arrays.contiguous(tuple(shape[axis] for axis in order), dtype.itemsize, "C")
            strides = tuple(packed[order.index(axis)] for axis in range(len(shape)))
        elif layout == "F":
            strides = arrays.contiguous(shape, dtype.itemsize, "F")
        return arrays.empty(shape, dtype, strides, self.device)

    def _result(self, value: Value, layout: str) -> DeviceArray | Pending:
        if isinstance(value.type, ArrayType):
            shape = tuple(int(self._number(length)) for length in value.shape)
            return self._new(value, shape, layout, None)
        dtype = _dtype(value)
        memory = Memory(self.device, dtype.itemsize)
        return Pending(memory, dtype, memory.pointer)


def _dtype(value: Value) -> np.dtype:
    assert isinstance(value.type, ArrayType | ScalarType)
    return np.dtype(canonical(value.type.dtype.char))


def _place(array: DeviceArray, shape: tuple[int, ...]) -> schedule.Place:
    return schedule.Place(array._pointer, np.broadcast_to(array._form, shape).strides)


def _parameter(number: complex, kind: str) -> Any:
    if kind == "e":
        return struct.unpack("H", struct.pack("e", float(np.real(number))))[0]
    if kind in "fd":
        return float(np.real(number))
    return int(np.real(number))


def unsupported(graph: Graph, code: DeviceCode) -> str:
    """Why a traced function is no program; empty if it is one."""
    if code.refused:
        return "; ".join(f"{what}: {why}" for what, why in code.refused)
    reached = {block.terminator.exit for block in graph.blocks
               if block.terminator is not None and block.terminator.exit is not None}
    for exit in (graph.exits[number] for number in reached):
        if exit.kind not in ("return", "restart"):
            return f"an exit of kind {exit.kind}"
    steps: Mapping[Any, Any] = code.plan.steps
    for block in steps.values():
        for step in block:
            if not isinstance(step, Kernel) and step.op not in HOST_STEPS:
                return f"{step.op} is done on the host"
    stores = [(block, k) for block in steps.values() for k, step in enumerate(block)
              if (step.store is not None if isinstance(step, Kernel) else step.op == "store")]
    if stores and (len(steps) > 1 or len(stores) > 1 or stores[0][1] != len(stores[0][0]) - 1):
        return "something is still to be done when elements of an array have been changed"
    return ""
