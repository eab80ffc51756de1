"""Reports of floating-point arithmetic on single numbers.

Job: ``Reports.look``: leave where NumPy would report something for a scalar operation.  Invariants: usual results cost
one comparison; what is rare is decided in code of its own.  Used by ``host`` alone.
"""
from __future__ import annotations

from functools import reduce as fold

from jitcore.backends.cpu.checks import LEAST
from jitcore.backends.cpu.emit import i32
from jitcore.backends.cpu.frame import Frame
from jitcore.backends.cpu.loops import emit_report, parts_of
from jitcore.backends.scalar import LLVMBuilder
from jitcore.ir.graph import Node
from jitcore.ops.builder import FLOATS, INTS, ITEMSIZE, Scalar
from jitcore.ops.op import Op


class Reports:
    """Emits into ``frame``."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def look(self, result: Scalar, args: list[Scalar], exit: int, under: bool, node: Node,
             op: Op | None = None) -> None:
        """Takes the exit if there is a report.  One comparison sorts out the usual results: finite, and not tiny
        where that matters (a sum that is subnormal is exact)."""
        frame, b, s = self.frame, self.frame.b, self.frame.scalar
        name, quiet = op.name if op is not None else "", node.attrs.get("quiet", 0)
        parts = [p for p in parts_of(s, result) if p.dtype in FLOATS]
        if not parts:
            return
        kind = parts[0].dtype
        tiny = under and not (name in ("add", "subtract") and kind in "fd")
        numbers = FLOATS if name else FLOATS + INTS
        if not quiet and len(parts) == 1 and len(args) <= 2 and all(a.dtype in numbers for a in args):
            frame.checks.look(name, parts[0], args, tiny, exit)
            return
        frame.checks.finish()           # what waits must not be tested in the rare path alone
        frame.checks.turn_to(exit)
        usual = fold(s.and_, [is_normal(s, p) if tiny else is_finite(s, p) for p in parts])
        look, fine = frame.function.append_basic_block("odd"), frame.function.append_basic_block("usual")
        frame.branch(s.not_(usual).raw, look, fine)
        frame.move_to(look)
        report = emit_report(s, name, result, args, op, node.attrs.get("sig", ""), quiet)
        if report is not None:
            frame.leave_if(report, exit)
        if tiny:
            zeros = args if name == "multiply" else args[:1] if name in ("divide", "true_divide") else []
            if len(parts) == 1 and zeros:           # a product with zero is exact
                rest = frame.function.append_basic_block("rest")
                exact = fold(s.or_, [s.cmp("==", a, s.const(a.dtype, 0)) for a in zeros])
                b.cbranch(exact.raw, fine, rest)
                frame.move_to(rest)
            self._underflow(result, exit)
        b.branch(fine)
        frame.move_to(fine)

    def _underflow(self, result: Scalar, exit: int) -> None:
        """Takes the exit if the result may have been rounded below the normal numbers and errstate asks for that."""
        frame, b, s = self.frame, self.frame.b, self.frame.scalar
        parts = [p for p in parts_of(s, result) if p.dtype in FLOATS]
        if not parts:
            return
        least = LEAST[parts[0].dtype]
        tiny = fold(s.or_, [s.cmp("<", s.fabs(p), s.const(p.dtype, least)) for p in parts])
        look, fine = frame.function.append_basic_block("tiny"), frame.function.append_basic_block("fine")
        frame.branch(tiny.raw, look, fine)
        frame.move_to(look)
        frame.leave_if(b.icmp_unsigned("!=", frame.helper("jc_underflow_asked"), i32(0)), exit)
        b.branch(fine)
        frame.move_to(fine)


def is_finite(s: LLVMBuilder, x: Scalar) -> Scalar:
    """Whether a float is neither infinite nor NaN."""
    return s.cmp("<", s.fabs(x), s.const(x.dtype, float("inf")))


def is_normal(s: LLVMBuilder, x: Scalar) -> Scalar:
    """Whether a float is neither zero, subnormal, infinite nor NaN."""
    kind, one, most = {"e": ("H", 1 << 10, 30 << 10), "f": ("I", 1 << 23, 254 << 23),
                       "d": ("L", 1 << 52, 2046 << 52)}[x.dtype]
    bits = s.and_(s.bits(x, kind), s.const(kind, (1 << (8 * ITEMSIZE[x.dtype] - 1)) - 1))
    return s.cmp("<", s.sub(bits, s.const(kind, one)), s.const(kind, most))
