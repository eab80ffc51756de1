"""What a kernel does with one element: its operands in memory, its scalar operations, what it reports.

Job: ``Body``, for one kernel: the parameters of its operands, ``load`` and ``compute`` and ``store``.  Invariants:
scalar code is what ``backends.scalar`` emits, as on the CPU; every operation is computed that can report, whether its
result is read or not; ``Unsupported`` names what has no exact device code.  An operand that the kernel may also write
is never read through the read-only cache (``ld.global.nc``).  Used by ``elementwise`` and ``reduce``.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from llvmlite import ir

from jitcore.backends.cpu.loops import Unsupported, emit_cast, lowering_of
from jitcore.backends.nvvm import reports
from jitcore.backends.nvvm.emit import I32, I64, Code, Param, Var, i32, i64, scalar_params
from jitcore.backends.nvvm.functions import DeviceBuilder
from jitcore.backends.scalar import LLVMBuilder, memory_type
from jitcore.kernels.ir import Instr, Kernel
from jitcore.ops.builder import INTS, ITEMSIZE, PART, Scalar
from jitcore.ops.casts import cast_reports
from jitcore.ops.op import NONE, Op

#: Operations of this cost together (in additions) are not computed for several elements at a time.
HEAVY = 20


@dataclass(frozen=True)
class Operand:
    """An array in memory: its name among the parameters, instruction, dtype; whether the kernel writes it."""

    name: str
    index: int
    dtype: str
    written: bool


@dataclass
class Notes:
    """Gathers the word of reports of one thread."""

    code: Code
    word: Var = field(init=False)
    used: bool = False

    def __post_init__(self) -> None:
        self.word = self.code.var(I32, i32(0))

    def add(self, word: ir.Value | None) -> None:
        if word is not None:
            self.used = True
            self.word.set(self.code.b.or_(self.word.get(), word))

    def finish(self) -> None:
        if self.used:
            self.code.gather_bits(self.code.arg["flags"], self.word.get())


class Body:
    """Emits the operations of ``kernel``."""

    def __init__(self, kernel: Kernel, ops: Mapping[str, Op], exact: bool, checked: bool) -> None:
        self.kernel, self.ops, self.exact, self.checked = kernel, ops, exact, checked
        body = kernel.body
        self.inputs = [Operand(f"in{k}", index, body[index].dtype, False) for k, index in enumerate(kernel.arrays())]
        self.outputs = [Operand(f"out{k}", output.arg, body[output.arg].dtype, True)
                        for k, output in enumerate(kernel.outputs)]
        if kernel.store is not None:
            arg = kernel.store.arg
            self.outputs.append(Operand("target", arg, body[arg].dtype, True))
        self.scalars = [(f"s{index}", index) for index in kernel.scalars()]
        self.iota = any(instr.kind == "iota" for instr in body)
        #: Instructions that may have no result, known once code was emitted: each has its own bit.
        self.bailing: list[int] = []
        for instr in body:
            self._reject(instr)

    # -- what there is ------------------------------------------------------------------------------
    def _reject(self, instr: Instr) -> None:
        if instr.kind == "ew" and self._lowering(instr) is None:
            why = "may not have other bits than NumPy's" if self.ops[instr.op].lowering(instr.sig) else \
                "has no scalar code: NumPy's own loop does it"
            raise Unsupported(f"{instr.op}.{instr.sig} (line {instr.line}) {why}")

    def _lowering(self, instr: Instr) -> Callable[..., Scalar] | None:
        scalars = [k for k, a in enumerate(instr.args) if self.kernel.body[a].kind == "scalar"]
        return lowering_of(self.ops[instr.op], instr.sig, self.exact, scalars)    # type: ignore[return-value]

    def reporting(self, instr: Instr) -> frozenset[str]:
        """The kinds of reports that count for an instruction."""
        if instr.exit is None:
            return NONE
        if instr.kind == "cast":
            return cast_reports(np.dtype(self.kernel.body[instr.args[0]].dtype), np.dtype(instr.dtype))
        return self.ops[instr.op].reports_for(instr.sig) if instr.kind == "ew" else NONE

    @property
    def reports(self) -> bool:
        """Whether the checked variant differs from the plain one, the reductions aside."""
        return any(self.reporting(instr) & reports.KINDS.keys() and instr.dtype not in INTS
                   for instr in self.kernel.body)

    @property
    def cost(self) -> int:
        return sum(self.ops[instr.op].cost if instr.kind == "ew" else 1
                   for instr in self.kernel.body if instr.kind not in ("element", "scalar"))

    @property
    def heavy(self) -> bool:
        return self.cost > HEAVY

    # -- parameters ---------------------------------------------------------------------------------
    def pointers(self) -> list[Operand]:
        return [*self.outputs, *self.inputs]

    def params(self) -> list[Param]:
        """Those of operands and scalars."""
        found = [Param(operand.name, "ptr") for operand in self.pointers()]
        for name, index in self.scalars:
            found += scalar_params(name, self.kernel.body[index].dtype)
        return found + ([Param("off", "i64")] if self.iota else [])

    def fixed(self, code: Code) -> dict[int, Scalar]:
        """The scalars, from the parameters."""
        s = DeviceBuilder(code.b)
        return {index: scalar_argument(s, code, name, self.kernel.body[index].dtype) for name, index in self.scalars}

    # -- one element --------------------------------------------------------------------------------
    def load(self, code: Code, operand: Operand, pointer: ir.Value) -> Scalar:
        return self.load_vector(code, operand, pointer, 1, aligned=False)[0]

    def load_vector(self, code: Code, operand: Operand, pointer: ir.Value, lanes: int, aligned: bool = True
                    ) -> list[Scalar]:
        """``lanes`` elements from an address on; ``aligned`` to all of them."""
        part, dtype = memory_type(operand.dtype), operand.dtype
        parts = 2 if dtype in PART else 1
        b, size = code.b, ITEMSIZE[PART.get(dtype, dtype)]
        known = size * lanes * parts if aligned else size
        raws = []
        for k in range(lanes * parts):          # LLVM joins them, and would take a vector apart
            at = b.gep(pointer, [i32(k)], source_etype=part) if k else pointer
            found = b.load(at, align=math.gcd(known, k * size), typ=part)
            if not self._aliased(operand):
                found.set_metadata("invariant.load", code.module.add_metadata([]))
            raws.append(found)
        if dtype == "?":
            raws = [b.icmp_unsigned("!=", raw, ir.Constant(part, 0)) for raw in raws]
        if parts == 2:
            return [Scalar(dtype, re, im) for re, im in zip(raws[::2], raws[1::2])]
        return [Scalar(dtype, raw) for raw in raws]

    def _aliased(self, operand: Operand) -> bool:
        """Whether the kernel may write what it reads there: new arrays are apart from all others, the target of a
        store is not."""
        return operand.written or self.kernel.store is not None

    def store(self, code: Code, pointer: ir.Value, x: Scalar) -> None:
        DeviceBuilder(code.b).store(x, pointer)

    def store_vector(self, code: Code, pointer: ir.Value, xs: list[Scalar]) -> None:
        """Elements from an address on that is aligned to all of them."""
        b, dtype = code.b, xs[0].dtype
        part = memory_type(dtype)
        raws = [raw for x in xs for raw in ([x.raw] if x.imag is None else [x.raw, x.imag])]
        if dtype == "?":
            raws = [b.zext(raw, part) for raw in raws]
        if len(raws) == 1:
            self.store(code, pointer, xs[0])
            return
        whole: ir.Value = ir.Constant(ir.VectorType(part, len(raws)), ir.Undefined)
        for k, raw in enumerate(raws):
            whole = b.insert_element(whole, raw, i32(k))
        b.store(whole, pointer, align=ITEMSIZE[dtype] * len(xs))

    def compute(self, code: Code, loaded: Mapping[int, Scalar], fixed: Mapping[int, Scalar], at: ir.Value,
                notes: Notes) -> dict[int, Scalar]:
        """All instructions' values for element number ``at`` of the launch."""
        s = DeviceBuilder(code.b)
        values = {**fixed, **loaded}
        for index, instr in enumerate(self.kernel.body):
            if index not in values:
                args = [values[a] for a in instr.args]
                values[index] = self._value(s, code, instr, args, at)
                if self.checked:
                    notes.add(reports.kinds(s, instr.op, values[index], args, self.reporting(instr), instr.quiet))
                for bail in s.bails:
                    notes.add(reports.as_bit(s, bail, self.bail_bit(index)))
                s.bails.clear()
        return values

    def bail_bit(self, index: int) -> int:
        """The bit that tells of an instruction without a result."""
        if index not in self.bailing:
            self.bailing.append(index)
        return min(reports.FIRST_BAIL + self.bailing.index(index), reports.LAST_BAIL)

    def _value(self, s: LLVMBuilder, code: Code, instr: Instr, args: list[Scalar], at: ir.Value) -> Scalar:
        if instr.kind == "iota":
            number = s.cast(Scalar("l", code.b.add(code.arg["off"], code.b.zext(at, I64))), instr.dtype)
            return s.add(args[0], s.mul(number, args[1]))
        if instr.kind == "copy":
            return args[0]
        if instr.kind == "cast":
            return emit_cast(s, args[0], instr.dtype)
        lowering = self._lowering(instr)
        assert lowering is not None
        return lowering(s, *args)


def scalar_argument(s: LLVMBuilder, code: Code, name: str, dtype: str) -> Scalar:
    """A number among the parameters."""
    raw = code.arg[name]
    if dtype == "?":
        return Scalar(dtype, code.b.icmp_unsigned("!=", raw, ir.Constant(raw.type, 0)))
    return Scalar(dtype, raw, code.arg[f"{name}.imag"] if dtype in PART else None)


def flat_address(code: Code, pointer: ir.Value, dtype: str, index: ir.Value) -> ir.Value:
    """The address of element ``index`` of elements one behind the other."""
    wide = code.b.zext(index, I64)
    if dtype in PART:
        wide = code.b.shl(wide, i64(1))
    return code.b.gep(pointer, [wide], source_etype=memory_type(dtype), inbounds=True)
