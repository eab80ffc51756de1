"""Small things that all emitters of device code share: types, parameters, variables, loops, what CUDA adds to LLVM.

Invariants: knows neither graphs nor kernels.  A ``Var`` is stack memory that LLVM's optimiser turns into registers:
nothing of it is left in the PTX.  Pointers are of the global address space.  Only ``backends.nvvm`` uses it.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from llvmlite import ir

from jitcore.backends.scalar import register_type
from jitcore.ops.builder import PART

I1, I8, I32, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
VOID = ir.VoidType()
GLOBAL = ir.PointerType(None, 1)
TRIPLE = "nvptx64-nvidia-cuda"
#: Threads of a block, and of a warp.
BLOCK, WARP = 256, 32
_EVERY_LANE = ir.Constant(I32, 0xFFFFFFFF)


def i32(value: int) -> ir.Constant:
    return ir.Constant(I32, value)


def i64(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


@dataclass(frozen=True)
class Param:
    """A kernel's parameter: its name, by which a launch is described, and its kind: ``'ptr'``, ``'i32'``, ``'i64'``
    or a dtype (a truth value travels as a byte)."""

    name: str
    kind: str

    @property
    def type(self) -> ir.Type:
        named = {"ptr": GLOBAL, "i32": I32, "i64": I64, "?": I8}
        return named.get(self.kind) or register_type(self.kind)


def scalar_params(name: str, dtype: str) -> list[Param]:
    """The parameters that a number of ``dtype`` takes."""
    if dtype in PART:
        return [Param(name, PART[dtype]), Param(f"{name}.imag", PART[dtype])]
    return [Param(name, dtype)]


class Var:
    """A variable of the function under construction."""

    def __init__(self, code: Code, kind: ir.Type, first: ir.Value) -> None:
        b = ir.IRBuilder(code.function.entry_basic_block)
        b.position_before(code.function.entry_basic_block.instructions[0])
        self.b, self.kind = code.b, kind
        self.slot = b.alloca(kind)
        self.slot.type = ir.PointerType()       # llvmlite gives a typed pointer, which LLVM no longer has
        self.set(first)

    def get(self) -> ir.Value:
        return self.b.load(self.slot, typ=self.kind)

    def set(self, value: ir.Value) -> None:
        self.b.store(value, self.slot)


class Code:
    """A kernel function under construction; ``b`` is its builder, ``arg`` its parameters by name.

    ``roomy``: a block may have all registers of a processor.  CUDA's assembler else saves registers, so that several
    blocks fit, even where it has to put some into memory.
    """

    def __init__(self, module: ir.Module, symbol: str, params: Sequence[Param], roomy: bool = False) -> None:
        self.module, self.params = module, tuple(params)
        self.function = ir.Function(module, ir.FunctionType(VOID, [p.type for p in params]), symbol)
        self.function.calling_convention = "ptx_kernel"
        self._annotate("maxntidx", BLOCK)
        if roomy:
            self._annotate("minctasm", 1)
        self.arg = dict(zip((p.name for p in params), self.function.args))
        entry, body = self.function.append_basic_block("entry"), self.function.append_basic_block("body")
        ir.IRBuilder(entry).branch(body)
        self.b = ir.IRBuilder(body)

    def _annotate(self, name: str, value: int) -> None:
        notes = self.module.add_named_metadata("nvvm.annotations")
        notes.add(self.module.add_metadata([self.function, ir.MetaDataString(self.module, name), i32(value)]))

    def intrinsic(self, name: str, result: ir.Type, args: Sequence[ir.Value]) -> ir.Value:
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(result, [a.type for a in args]), name)
        return self.b.call(function, list(args))

    def thread(self) -> tuple[ir.Value, ir.Value]:
        """The number of this thread in the grid, and how many there are."""
        tid, block, blocks = (self.intrinsic(f"llvm.nvvm.read.ptx.sreg.{name}", I32, [])
                              for name in ("tid.x", "ctaid.x", "nctaid.x"))
        return self.b.add(self.b.mul(block, i32(BLOCK)), tid), self.b.mul(blocks, i32(BLOCK))

    # -- control flow -------------------------------------------------------------------------------
    def var(self, kind: ir.Type, first: ir.Value) -> Var:
        return Var(self, kind, first)

    @contextmanager
    def loop(self, goes_on: Callable[[], ir.Value], name: str) -> Iterator[None]:
        b = self.b
        head, body, done = (self.function.append_basic_block(f"{name}.{part}") for part in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(goes_on(), body, done)
        b.position_at_end(body)
        yield
        b.branch(head)
        b.position_at_end(done)

    def strided_loops(self, first: ir.Value, limit: ir.Value, step: ir.Value, unroll: int,
                      body: Callable[[list[ir.Value]], None], name: str) -> None:
        """``body`` for ``first``, ``first + step``... below ``limit`` (unsigned 32-bit numbers below 2**31), ``unroll``
        of them at a time as long as there are that many."""
        b = self.b
        at = self.var(I32, first)
        if unroll > 1:
            reach = b.mul(step, i32(unroll - 1))
            many = b.select(b.icmp_unsigned(">", limit, reach), b.sub(limit, reach), i32(0))
            with self.loop(lambda: b.icmp_unsigned("<", at.get(), many), f"{name}.many"):
                i = at.get()
                body([i, *(b.add(i, b.mul(step, i32(k))) for k in range(1, unroll))])
                at.set(b.add(i, b.mul(step, i32(unroll))))
        with self.loop(lambda: b.icmp_unsigned("<", at.get(), limit), name):
            i = at.get()
            body([i])
            at.set(b.add(i, step))

    # -- between threads ----------------------------------------------------------------------------
    def shuffled(self, raw: ir.Value, lane: ir.Value, how: str) -> ir.Value:
        """``raw`` of another lane of the warp: that with the number ``lane`` (``'idx'``), or the one whose number
        differs by these bits (``'bfly'``).  All lanes must take part."""
        b, kind = self.b, raw.type
        if kind == I64 or isinstance(kind, ir.DoubleType):
            whole = raw if kind == I64 else b.bitcast(raw, I64)
            low = b.zext(self._shuffled(b.trunc(whole, I32), lane, how), I64)
            high = b.zext(self._shuffled(b.trunc(b.lshr(whole, i64(32)), I32), lane, how), I64)
            joined = b.or_(low, b.shl(high, i64(32)))
            return joined if kind == I64 else b.bitcast(joined, kind)
        if isinstance(kind, ir.FloatType):
            return b.bitcast(self._shuffled(b.bitcast(raw, I32), lane, how), kind)
        if kind == I32:
            return self._shuffled(raw, lane, how)
        return b.trunc(self._shuffled(b.zext(raw, I32), lane, how), kind)

    def _shuffled(self, raw: ir.Value, lane: ir.Value, how: str) -> ir.Value:
        found = self.intrinsic(f"llvm.nvvm.shfl.sync.{how}.i32", I32, [_EVERY_LANE, raw, lane, i32(31)])
        self.module.globals[f"llvm.nvvm.shfl.sync.{how}.i32"].attributes.add("convergent")
        return found

    def gather_bits(self, pointer: ir.Value, bits: ir.Value) -> None:
        """Adds ``bits`` to the word at ``pointer`` with "or", if there are any."""
        b = self.b
        with b.if_then(b.icmp_unsigned("!=", bits, i32(0)), likely=False):
            b.atomic_rmw("or", pointer, bits, "monotonic")
