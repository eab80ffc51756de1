"""From kernels to device code.

Job: ``lower``, which makes of a plan's kernels one LLVM module, and ``DeviceCode``, which has it as text and as PTX.
Invariants: a kernel is made whole or not at all; what is not made is named with its reason.  The host part of a
region is not made here.  Called by ``pipeline`` and tests.

Functions of kernel k are called ``k<k>_<what>_<access>``, with ``_checked`` behind the variant that looks for
floating-point reports (there is none where nothing can be reported).  *What*: ``map`` for outputs and stores; for
reductions ``tree`` and ``fold``, which read the kernel's elements, ``combine`` and ``gather``, which go on with their
results.  *Access*: ``flat`` or ``strided`` (``access``).
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from llvmlite import ir

from jitcore.backends.cpu.loops import Unsupported
from jitcore.backends.nvvm import elementwise, ptx, reduce
from jitcore.backends.nvvm.access import Flat, Strided
from jitcore.backends.nvvm.body import Body
from jitcore.backends.nvvm.emit import TRIPLE, Param
from jitcore.ir.graph import Value
from jitcore.kernels.ir import Kernel, Plan, host_text
from jitcore.ops.builder import FLOATS
from jitcore.ops.op import Op

#: Host steps in which NumPy works on whole arrays.
_NUMPY = frozenset({"reduce", "call"})


@dataclass(frozen=True)
class DeviceKernel:
    """The functions of one kernel: symbol to parameters.  ``bails``: the instructions that tell with a bit of the
    word of reports, from ``reports.FIRST_BAIL`` on, that they have no result."""

    kernel: Kernel
    functions: Mapping[str, tuple[Param, ...]]
    bails: tuple[int, ...]

    def symbol(self, what: str, access: str = "", checked: bool = True) -> str | None:
        """The function for a purpose, ``None`` if there is none.  Without a checked variant the plain one will do."""
        name = f"k{self.kernel.number}_{what}" + (f"_{access}" if access else "")
        if checked and f"{name}_checked" in self.functions:
            return f"{name}_checked"
        return name if name in self.functions else None


@dataclass(frozen=True)
class DeviceCode:
    """A plan's kernels for a GPU.  ``refused``: what is not device code, and why."""

    plan: Plan
    arch: str
    llvm: str
    kernels: tuple[DeviceKernel, ...]
    refused: tuple[tuple[str, str], ...] = field(default=())

    @cached_property
    def ptx(self) -> str:
        """``ValueError`` for an unknown architecture, ``Unsupported`` if this LLVM cannot make exact code."""
        notes = "".join(f"// not on the device: {what}: {why}\n" for what, why in self.refused)
        return notes + ptx.assemble(ptx.optimise(self.llvm, self.arch), self.arch)

    def as_text(self, stage: str) -> str:
        """``'kernels'``, ``'llvm'`` or ``'ptx'``; ``KeyError`` for another stage."""
        notes = "".join(f"not on the device: {what}: {why}\n" for what, why in self.refused)
        return {"kernels": lambda: f"{self.plan}{notes}", "llvm": lambda: self.llvm, "ptx": lambda: self.ptx}[stage]()


def lower(plan: Plan, ops: Mapping[str, Op], arch: str, *, precision: str = "default") -> DeviceCode:
    """Device code for the kernels of a plan.  ``precision='numpy'`` refuses what may not have NumPy's bits."""
    if arch not in ptx.ARCHITECTURES:
        raise ValueError(f"arch must be one of {ptx.ARCHITECTURES}, not {arch!r}")
    module = _module()
    made: list[DeviceKernel] = []
    refused: list[tuple[str, str]] = []
    for steps in plan.steps.values():
        for step in steps:
            if not isinstance(step, Kernel):
                if step.op in _NUMPY:
                    refused.append((host_text(step), "NumPy does it, on the host"))
                continue
            try:
                # Twice, so that a kernel that is refused halfway leaves nothing behind.
                lower_kernel(_module(), step, ops, precision == "numpy")
                made.append(lower_kernel(module, step, ops, precision == "numpy"))
            except Unsupported as error:
                refused.append((f"kernel {step.number}", str(error)))
    return DeviceCode(plan, arch, str(module), tuple(made), tuple(refused))


def _module() -> ir.Module:
    module = ir.Module("jitcore")
    module.triple = TRIPLE
    return module


def lower_kernel(module: ir.Module, kernel: Kernel, ops: Mapping[str, Op], exact: bool) -> DeviceKernel:
    """The functions of one kernel, in ``module``; ``Unsupported`` with the reason if there are none."""
    return _Lowering(module, kernel, ops, exact).run()


class _Lowering:
    def __init__(self, module: ir.Module, kernel: Kernel, ops: Mapping[str, Op], exact: bool) -> None:
        self.module, self.kernel, self.ops, self.exact = module, kernel, ops, exact
        self.functions: dict[str, tuple[Param, ...]] = {}
        self.bails: list[int] = []

    def run(self) -> DeviceKernel:
        kernel = self.kernel
        reports = Body(kernel, self.ops, self.exact, False).reports
        sums = any(r.exit is not None and r.op in ("add", "multiply") and r.dtype in FLOATS for r in kernel.reductions)
        for checked in (False, True):
            for access in self._accesses():
                if checked <= (reports or sums):
                    self._elements(access, checked)
            if kernel.reductions and checked <= sums:
                self._results(checked)
        return DeviceKernel(kernel, self.functions, tuple(self.bails))

    def _accesses(self) -> list[type[Flat] | type[Strided]]:
        """The ways in which operands may lie when the kernel is launched."""
        kernel = self.kernel
        found: list[type[Flat] | type[Strided]] = []
        if all(self._may_be_whole(kernel.body[index].value) for index in kernel.arrays()):
            found.append(Flat)
        flat = all(kernel.is_flat(index) for index in kernel.arrays())
        if kernel.store is not None or not flat:
            found.append(Strided)
        return found

    def _may_be_whole(self, value: Value) -> bool:
        """Whether an array may have the kernel's lengths, without being broadcast."""
        return len(value.shape) == len(self.kernel.shape) and all(
            mine is whole or mine.node is None or mine.node.op != "const"
            for mine, whole in zip(value.shape, self.kernel.shape))

    def _elements(self, access: type[Flat] | type[Strided], checked: bool) -> None:
        kernel, nd = self.kernel, len(self.kernel.shape)

        def body() -> Body:
            return Body(kernel, self.ops, self.exact, checked)

        def note(what: str, emitter: object) -> None:
            symbol = f"k{kernel.number}_{what}_{access.name}" + "_checked" * checked
            made = body()
            self.functions[symbol] = emitter(self.module, symbol, made, access(made, nd))  # type: ignore[operator]
            self.bails = made.bailing

        if not kernel.reductions:
            note("map", elementwise.emit)
            return
        chained = any(reduce.in_order(r) for r in kernel.reductions)
        if not chained:
            note("tree", reduce.emit_tree)
        note("fold", reduce.emit_fold)

    def _results(self, checked: bool) -> None:
        """What goes on with the results of ``tree``."""
        kernel = self.kernel
        if any(reduce.in_order(r) for r in kernel.reductions):
            return
        for what, emitter in (("combine", reduce.emit_combine), ("gather", reduce.emit_gather)):
            symbol = f"k{kernel.number}_{what}" + "_checked" * checked
            self.functions[symbol] = emitter(self.module, symbol, kernel.reductions, checked)
