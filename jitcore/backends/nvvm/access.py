"""How a thread finds the elements of a kernel's operands.

Job: ``Flat``, where all operands lie as the loop goes, and ``Strided``, for any strides.  Both give addresses for the
number of an element in the order of the loop, a 32-bit number: launches of 2**31 elements and more are split.

Strided operands take ``nd`` axes, of which neighbours may have been joined: a number is taken apart by multiplying with
a reciprocal (Granlund and Montgomery 1994; Warren, Hacker's Delight, 10-9), two instructions an axis where a division
takes twenty; ``divider`` computes it on the host.  New arrays lie as the loop goes in either case.
"""
from __future__ import annotations

from llvmlite import ir

from jitcore.backends.nvvm.body import Body, Operand, flat_address
from jitcore.backends.nvvm.emit import I8, I32, I64, Code, Param, i64


def divider(length: int) -> tuple[int, int]:
    """Factor and shift: ``n // length`` is ``(((n * factor) >> 32) + n) >> shift`` for ``n`` below 2**31."""
    shift = (length - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - length)) // length + 1, shift


class Flat:
    """All operands lie one element behind the other."""

    name = "flat"

    def __init__(self, body: Body, nd: int) -> None:
        self.body = body

    def params(self) -> list[Param]:
        return []

    def addresses(self, code: Code, at: ir.Value) -> dict[str, ir.Value]:
        """The address of element ``at`` of each operand."""
        return {o.name: flat_address(code, code.arg[o.name], o.dtype, at) for o in self.body.pointers()}


class Strided:
    """Inputs, and the target of a store, have strides in bytes."""

    name = "strided"

    def __init__(self, body: Body, nd: int) -> None:
        self.body, self.nd = body, nd

    def _has_strides(self, operand: Operand) -> bool:
        return not operand.written or operand.name == "target"

    def params(self) -> list[Param]:
        found = [Param(f"{what}{axis}", "i32") for axis in range(1, self.nd) for what in ("dim", "factor", "shift")]
        return found + [Param(f"{o.name}.stride{axis}", "i64") for o in self.body.pointers() if self._has_strides(o)
                        for axis in range(self.nd)]

    def addresses(self, code: Code, at: ir.Value) -> dict[str, ir.Value]:
        b = code.b
        index: list[ir.Value] = []
        rest = at
        for axis in range(self.nd - 1, 0, -1):
            dim, factor, shift = (code.arg[f"{what}{axis}"] for what in ("dim", "factor", "shift"))
            high = b.trunc(b.lshr(b.mul(b.zext(rest, I64), b.zext(factor, I64)), i64(32)), I32)
            quotient = b.lshr(b.add(high, rest), shift)
            index.append(b.sub(rest, b.mul(quotient, dim)))
            rest = quotient
        places = [b.zext(i, I64) for i in [rest, *index[::-1]][:max(self.nd, 0)]]
        found = {}
        for o in self.body.pointers():
            if not self._has_strides(o):
                found[o.name] = flat_address(code, code.arg[o.name], o.dtype, at)
                continue
            offset: ir.Value = i64(0)
            for axis, place in enumerate(places):
                offset = b.add(offset, b.mul(place, code.arg[f"{o.name}.stride{axis}"]))
            found[o.name] = b.gep(code.arg[o.name], [offset], source_etype=I8)
        return found
