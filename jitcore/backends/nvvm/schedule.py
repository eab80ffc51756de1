"""Which functions of a kernel are launched, how often and with what, once lengths and strides are known.

Job: ``launches``.  Pure: it knows addresses, not memory, and no driver.  Invariants: launches are in order, each
reads what those before it wrote; memory for what lies between them comes from ``Call.allocate``.  Used by who drives
a device.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from jitcore.backends.cpu.loops import Unsupported
from jitcore.backends.cpu.reduce import start_value
from jitcore.backends.nvvm.access import divider
from jitcore.backends.nvvm.emit import BLOCK
from jitcore.backends.nvvm.lower import DeviceKernel
from jitcore.backends.nvvm.reduce import MOST_EACH, in_order
from jitcore.kernels.reductions import NO_IDENTITY
from jitcore.ops.builder import ITEMSIZE, PART

#: Elements of one launch are counted with 32 bits.
_MOST = 1 << 31


@dataclass(frozen=True)
class Place:
    """An array on the device: its address, and bytes from one element to the next along each axis of the kernel, 0
    where it is broadcast."""

    address: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Launch:
    """One launch: the function, its blocks (of ``emit.BLOCK`` threads), and its parameters by name."""

    symbol: str
    blocks: int
    values: Mapping[str, complex]


@dataclass(frozen=True)
class Call:
    """A kernel's operands, in the order in which it has them.

    ``order``: the axes from the outermost to the innermost one of the loop, where the kernel leaves it open (layout
    ``'A'``).  New arrays (``outputs``, ``results``) are addresses: they lie as the loop goes.  ``flags``: the word of
    reports, zeroed.  ``buffer``: NumPy's buffer size, for reductions that convert.  ``processors``: those of the
    device.
    """

    shape: tuple[int, ...]
    inputs: Sequence[Place] = ()
    outputs: Sequence[int] = ()
    target: Place | None = None
    scalars: Sequence[complex] = ()
    starts: Sequence[complex | None] = ()
    results: Sequence[int] = ()
    flags: int = 0
    allocate: Callable[[int], int] = field(default=lambda size: 0)
    order: tuple[int, ...] | None = None
    checked: bool = True
    buffer: int = 8192
    processors: int = 132


def launches(device: DeviceKernel, call: Call) -> list[Launch]:
    """What runs the kernel; ``Unsupported`` for more than a launch can count and cannot be split."""
    kernel = device.kernel
    order = call.order
    if order is None:
        order = tuple(range(len(call.shape)))
        if kernel.layout == "F":
            order = order[::-1]
    dims = [call.shape[axis] for axis in order]
    places = [Place(p.address, tuple(p.strides[axis] for axis in order)) for p in call.inputs]
    if call.target is not None:
        places.append(Place(call.target.address, tuple(call.target.strides[axis] for axis in order)))
    schedule = _Schedule(device, call)
    if kernel.reductions:
        mask = [axis in kernel.reductions[0].axes for axis in order]
        return schedule.reduction(dims, mask, places)
    return schedule.elements(*joined(dims, places), list(call.outputs), 0)


def joined(dims: Sequence[int], places: Sequence[Place]) -> tuple[list[int], list[Place]]:
    """Without axes of length 1, and with one axis for neighbours that lie one behind the other in every operand."""
    lengths: list[int] = []
    rows: list[list[int]] = [[] for _ in places]
    for axis, length in enumerate(dims):
        if length == 1:
            continue
        steps = [p.strides[axis] for p in places]
        if lengths and all(row[-1] == step * length for row, step in zip(rows, steps)):
            lengths[-1] *= length
            for row, step in zip(rows, steps):
                row[-1] = step
        else:
            lengths.append(length)
            for row, step in zip(rows, steps):
                row.append(step)
    return lengths, [Place(p.address, tuple(row)) for p, row in zip(places, rows)]


def axis_order(shape: tuple[int, ...], inputs: Sequence[np.ndarray], target: np.ndarray | None) -> tuple[int, ...]:
    """``Call.order`` of a kernel that leaves it open: that of the array which is stored into, else NumPy's K order of
    the inputs, by NumPy.  Arrays are looked at for their shapes and strides alone."""
    if target is None:
        wide = [np.broadcast_to(array, shape) for array in inputs]
        flags: Any = [["readonly"] for _ in wide] + [["writeonly", "allocate"]]
        target = np.nditer([*wide, None], ["zerosize_ok"], flags, order="K").operands[-1]
    strides = target.strides
    return tuple(sorted(range(len(shape)), key=lambda axis: (-abs(strides[axis]), axis)))


def levels_of(length: int) -> int:
    """How often NumPy halves so many elements, at most, until no part has more than 128."""
    levels = 0
    while length > 128:
        length -= length // 2 // 8 * 8
        levels += 1
    return levels


class _Schedule:
    def __init__(self, device: DeviceKernel, call: Call) -> None:
        self.device, self.kernel, self.call = device, device.kernel, call
        body = self.kernel.body
        self.sizes = [ITEMSIZE[body[index].dtype] for index in self.kernel.arrays()]
        if self.kernel.store is not None:
            self.sizes.append(ITEMSIZE[body[self.kernel.store.arg].dtype])

    # -- operands -----------------------------------------------------------------------------------
    def _operands(self, dims: list[int], places: list[Place], outputs: list[int], what: str
                  ) -> tuple[str, dict[str, complex]]:
        """The function for operands that lie so, and its parameters that say where."""
        call, kernel = self.call, self.kernel
        flat = prod(dims) == 0 or (
            len(dims) < 2 and all(p.strides == (size,) * len(dims) for p, size in zip(places, self.sizes)))
        symbol = self._symbol(what, "flat") if flat else None
        values: dict[str, complex] = {f"out{k}": address for k, address in enumerate(outputs)}
        names = [f"in{k}" for k in range(len(call.inputs))] + ["target"] * (call.target is not None)
        values.update((name, p.address) for name, p in zip(names, places))
        for index, number in zip(kernel.scalars(), call.scalars):
            if kernel.body[index].dtype in PART:
                values[f"s{index}"], values[f"s{index}.imag"] = complex(number).real, complex(number).imag
            else:
                values[f"s{index}"] = number
        if symbol is None:
            symbol = self._symbol(what, "strided")
            missing = len(kernel.shape) - len(dims)
            for axis, length in enumerate([1] * missing + dims):
                values[f"dim{axis}"] = length
                values[f"factor{axis}"], values[f"shift{axis}"] = divider(max(length, 1))
                for name, p in zip(names, places):
                    values[f"{name}.stride{axis}"] = ((0,) * missing + p.strides)[axis]
        if symbol is None:
            raise Unsupported(f"kernel {kernel.number} has no function {what} for operands that lie so")
        return symbol, values

    def _symbol(self, what: str, access: str = "") -> str | None:
        return self.device.symbol(what, access, self.call.checked)

    def _launch(self, symbol: str, threads: int, values: dict[str, complex]) -> Launch:
        """With the parameters that the function takes, and no others."""
        if threads >= _MOST:
            raise Unsupported("more threads than a launch can count")
        values["flags"] = self.call.flags
        taken = {param.name: values[param.name] for param in self.device.functions[symbol]}
        return Launch(symbol, -(-threads // BLOCK), taken)

    # -- elements -----------------------------------------------------------------------------------
    def elements(self, dims: list[int], places: list[Place], outputs: list[int], off: int) -> list[Launch]:
        """For all elements: halves of them where there are too many."""
        total = prod(dims)
        if total == 0:
            return []
        if total < _MOST:
            symbol, values = self._operands(dims, places, outputs, "map")
            values.update(n=total, off=off)
            return [self._launch(symbol, min(total, self.call.processors * 8 * BLOCK), values)]
        half, inner = dims[0] // 2, total // dims[0]
        sizes = [ITEMSIZE[self.kernel.body[output.arg].dtype] for output in self.kernel.outputs]
        moved = [Place(p.address + half * p.strides[0], p.strides) for p in places]
        behind = [address + half * inner * size for address, size in zip(outputs, sizes)]
        return [*self.elements([half, *dims[1:]], places, outputs, off),
                *self.elements([dims[0] - half, *dims[1:]], moved, behind, off + half * inner)]

    # -- reductions ---------------------------------------------------------------------------------
    def reduction(self, dims: list[int], mask: list[bool], places: list[Place]) -> list[Launch]:
        kernel, call = self.kernel, self.call
        total, kept = prod(dims), prod(n for n, reduced in zip(dims, mask) if not reduced)
        if total >= _MOST or kept >= _MOST:
            raise Unsupported("a reduction of 2**31 elements or more")
        if kept == 0:
            return []
        if total == 0 and any(r.op in NO_IDENTITY and r.initial is None for r in kernel.reductions):
            raise Unsupported("nothing to take the minimum or maximum of")
        symbol, values = self._operands(*joined(dims, places), list(call.outputs), "fold")
        values["off"] = 0
        for k, r in enumerate(kernel.reductions):
            given = call.starts[k] if k < len(call.starts) else None
            values[f"start{k}"] = start_value(r.op, r.dtype) if given is None else given
            values[f"dest{k}"] = call.results[k]
        sizes, kinds = _alternating(dims, mask)
        if total == 0:
            values.update(R0=0, K0=1, R1=0, K1=kept)
            return [self._launch(symbol, kept, values)]
        if not kinds[-1] or any(in_order(r) for r in kernel.reductions):
            values.update(_pattern(sizes, kinds))
            return [self._launch(symbol, kept, values)]
        length = sizes.pop()
        kinds.pop()
        if kernel.reductions[0].buffered and length > call.buffer:
            sizes, kinds, length = [*sizes, -(-length // call.buffer)], [*kinds, True], call.buffer
        one_by_one = any(kinds)
        made = self._trees(values, prod(sizes), length, total, places, dims, begins=not one_by_one)
        if not one_by_one:
            return made
        symbol = self._symbol("gather") or ""
        values.update({f"src{k}": made[-1].values[f"dest{k}"] for k in range(len(kernel.reductions))})
        values.update({f"dest{k}": address for k, address in enumerate(call.results)}, **_pattern(sizes, kinds))
        return [*made, self._launch(symbol, kept, values)]

    def _between(self, count: int) -> dict[str, complex]:
        """Memory for ``count`` sums of each reduction."""
        return {f"dest{k}": self.call.allocate(count * ITEMSIZE[r.dtype]) for k, r in enumerate(self.kernel.reductions)}

    def _trees(self, values: dict[str, complex], rows: int, length: int, total: int, places: list[Place],
               dims: list[int], begins: bool) -> list[Launch]:
        """The pairwise sums of rows."""
        left = levels_of(length)
        each = 0
        while each < min(left, MOST_EACH) and rows << left >> each + 1 >= self.call.processors * BLOCK:
            each += 1
        symbol, _ = self._operands(*joined(dims, places), list(self.call.outputs), "tree")
        made: list[Launch] = []
        lanes, bits = 8, 2
        while True:
            done = min(left, each + bits)
            last = done == left
            values.update(rows=rows, length=length, total=total, levels=left, each=each, begins=int(last and begins))
            values.update({f"dest{k}": address for k, address in enumerate(self.call.results)} if last and begins
                          else self._between(rows << left - done))
            made.append(self._launch(symbol, (rows << left >> each) * lanes, dict(values)))
            if last:
                return made
            values.update({f"src{k}": values[f"dest{k}"] for k in range(len(self.kernel.reductions))})
            left -= done
            symbol, lanes, bits = self._symbol("combine") or "", 1, 5
            each = max(0, min(left - bits, MOST_EACH))


def _alternating(dims: Sequence[int], mask: Sequence[bool]) -> tuple[list[int], list[bool]]:
    """Lengths of which neighbours are of different kinds, without axes of length 1."""
    sizes: list[int] = []
    kinds: list[bool] = []
    for length, reduced in zip(dims, mask):
        if length == 1:
            continue
        if kinds and kinds[-1] == reduced:
            sizes[-1] *= length
        else:
            sizes.append(length)
            kinds.append(reduced)
    return (sizes, kinds) if sizes else ([1], [True])


def _pattern(sizes: Sequence[int], kinds: Sequence[bool]) -> dict[str, int]:
    """The lengths as two reduced and two kept ones by turns."""
    found = {"R0": 1, "K0": 1, "R1": 1, "K1": 1}
    slots = iter([("R0", True), ("K0", False), ("R1", True), ("K1", False)])
    if len(sizes) < 3:      # the inner places first: their elements are neighbours
        slots = iter([("R1", True), ("K1", False)] if not kinds or kinds[0] else
                     [("K0", False), ("R1", True)] if len(sizes) == 2 else [("K1", False)])
    for length, kind in zip(sizes, kinds):
        name = next((name for name, slot in slots if slot == kind), None)
        if name is None:
            raise Unsupported("reduced and kept axes by turns, too many of them")
        found[name] = length
    return found
