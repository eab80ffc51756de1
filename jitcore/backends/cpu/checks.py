"""Checks that wait for company.

Job: ``Checks`` gathers what may make a region leave by one exit and tests it together: conditions with one branch, and
results of floating-point arithmetic, about which their sum tells, with another.  What is rare is
decided in one piece of code behind that.  Invariants: all that waits goes to one exit and dominates the place that is
emitted; nothing that has an effect, or that takes another exit, comes before ``finish``; nothing that reads memory by a
checked index before ``settle``.  Only ``backends.cpu`` uses it.

Why: LLVM's time, and the code, grow with the number of branches more than with anything else.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import reduce as fold
from typing import TYPE_CHECKING

from llvmlite import ir

from jitcore.backends.cpu.emit import i32
from jitcore.backends.scalar_libm import has_fma
from jitcore.ops.builder import FLOATS, Scalar
from jitcore.ops.op import SPREADING

if TYPE_CHECKING:
    from jitcore.backends.cpu.frame import Frame
    from jitcore.backends.scalar import LLVMBuilder

#: The smallest normal numbers.
LEAST = {"e": 2.0**-14, "f": 2.0**-126, "d": 2.0**-1022}
#: The unsigned type of each float's size, and the bits of infinity in it, shifted by one.
_INFINITE = {"e": ("H", 0xF800), "f": ("I", 0xFF << 24), "d": ("L", 0x7FF << 53)}


@dataclass
class _Look:
    """A result whose reports are looked for; ``tiny``: that of underflow too."""

    name: str
    result: Scalar
    args: list[Scalar]
    tiny: bool


class Checks:
    """The checks that wait in ``frame``."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.exit = 0
        self._fails: list[ir.Value] = []
        self._looks: list[_Look] = []
        #: By the identity of the register: the results that tell about all looks.
        self._ends: dict[int, Scalar] = {}
        self._asked: ir.Value | None = None

    # -- waiting ------------------------------------------------------------------------------------
    def fail(self, condition: ir.Value, exit: int) -> None:
        """``exit`` is to be taken where the ``i1`` holds."""
        self.turn_to(exit)
        self._fails.append(condition)

    def look(self, name: str, result: Scalar, args: list[Scalar], tiny: bool, exit: int) -> None:
        """``exit`` is to be taken where NumPy reports something for this operation on floats."""
        self.turn_to(exit)
        for k in SPREADING.get(name, ()):
            self._ends.pop(id(args[k].raw), None)
        self._ends[id(result.raw)] = result
        self._looks.append(_Look(name, result, args, tiny))

    def turn_to(self, exit: int) -> None:
        """What follows takes ``exit``."""
        if exit != self.exit:
            self.finish()
            self.exit = exit

    # -- testing ------------------------------------------------------------------------------------
    def settle(self) -> None:
        """Tests the conditions."""
        fails, self._fails = self._fails, []
        if not fails:
            return
        frame = self.frame
        go_on = frame.function.append_basic_block("on")
        frame.branch(fold(frame.b.or_, fails), frame.exits.target(self.exit), go_on)
        frame.move_to(go_on)

    def finish(self) -> None:
        """Tests all that waits."""
        self.settle()
        looks, ends, self._looks, self._ends = self._looks, list(self._ends.values()), [], {}
        if not looks:
            return
        frame = self.frame
        conditions = not_finite(frame.scalar, ends)
        if any(look.tiny for look in looks):
            conditions += self._tiny(looks)
        odd, fine = frame.function.append_basic_block("odd"), frame.function.append_basic_block("usual")
        frame.branch(fold(frame.b.or_, conditions), odd, fine)
        frame.move_to(odd)
        frame.branch(frame.b.icmp_unsigned("!=", fold(frame.b.or_, map(self._verdict, looks)), i32(0)),
                     frame.exits.target(self.exit), fine)
        frame.move_to(fine)

    def _tiny(self, looks: list[_Look]) -> list[ir.Value]:
        """Whether underflow has to be looked for: in loops, wherever it is asked for; else, where a result is small."""
        frame, s = self.frame, self.frame.scalar
        if not frame.loops:
            return [s.cmp("<", s.fabs(look.result), s.const(look.result.dtype, LEAST[look.result.dtype])).raw
                    for look in looks if look.tiny]
        if self._asked is None:
            first = ir.IRBuilder(frame.function.entry_basic_block)
            first.position_before(frame.function.entry_basic_block.terminator)
            asked = first.call(frame.unit.helper("jc_underflow_asked"), [])
            self._asked = first.icmp_unsigned("!=", asked, i32(0))
        return [self._asked]

    def _verdict(self, look: _Look) -> ir.Value:
        """Whether there is a report: C finds out.  An int operand (of a conversion) is an ordinary number whatever it
        is."""
        frame, s = self.frame, self.frame.scalar
        one = s.const("d", 1.0)
        x, y = [*(s.cast(a, "d") if a.dtype in FLOATS else one for a in look.args), s.const("d", 0.0)][:2]
        least = LEAST[look.result.dtype] if look.tiny else 0.0
        exact = 3 if look.name == "multiply" else 1 if look.name in ("divide", "true_divide") else 0
        return frame.helper("jc_odd_result", s.cast(look.result, "d").raw, x.raw, y.raw, s.const("d", least).raw,
                            i32(exact))


def not_finite(s: LLVMBuilder, numbers: list[Scalar]) -> list[ir.Value]:
    """Conditions of which one holds where one of the floats is not finite, and where they are so large that putting
    them together overflows.  Bits are compared, and doubles put together by twos where there is FMA: loops wait for
    the units that add."""
    conditions = []
    for dtype, (bits, infinity) in _INFINITE.items():
        same = [x for x in numbers if x.dtype == dtype]
        if not same:
            continue
        total, rest = same[0], same[1:]
        if dtype == "d" and has_fma():
            while len(rest) > 1:
                total, rest = Scalar(dtype, s.ir.fma(rest[0].raw, rest[1].raw, total.raw)), rest[2:]
        word = s.bits(fold(s.add, rest, total), bits)
        conditions.append(s.cmp(">=", s.add(word, word), s.const(bits, infinity)).raw)      # without the sign
    return conditions
