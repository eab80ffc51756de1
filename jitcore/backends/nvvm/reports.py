"""NumPy's floating-point reports, found operation by operation.

Job: ``kinds``, the kinds of reports of one operation as bits, and the layout of the word that a kernel gathers them in.
A GPU has no sticky flags: a kind follows from operands and result.  NaN from no NaN is ``invalid``; an infinity from
finite operands is ``divide`` where the operation has a pole there, else ``over``.  Underflow is not found out: who asks
for it (``np.errstate(under=...)``) is for the CPU.  Used by the emitters of device code and by who reads the word.
"""
from __future__ import annotations

from functools import reduce as fold

from llvmlite import ir

from jitcore.backends.cpu.loops import parts_of
from jitcore.backends.nvvm.emit import I32, i32
from jitcore.backends.scalar import LLVMBuilder
from jitcore.ops.builder import FLOATS, PART, Scalar
from jitcore.ops.op import DIVIDE, INVALID, OVER

#: Bits of the word.  The kinds of reports are those of csrc/reports.c.
KINDS = {DIVIDE: 1, OVER: 2, INVALID: 8}
#: A minimum or maximum is a zero, and zeros of both signs were among its elements (it is +0 then): which of them NumPy
#: gives depends on its vectors.
MIXED_ZEROS = 32
#: From this bit on: an operation's result is not defined (``ScalarBuilder.bail``), one bit for each instruction that
#: may say so, the last for all that have none of their own.
FIRST_BAIL, LAST_BAIL = 16, 31

#: Operations of complex numbers that work on the parts apart (without a name: conversions): a NaN in one excuses
#: nothing in the other.
_BY_PARTS = ("add", "subtract", "")
#: Operations that report ``divide`` where this operand is zero, and ``over`` elsewhere.
_POLES = {"divide": 1, "true_divide": 1, "floor_divide": 1, "reciprocal": 0, "power": 0}


def _any(b: LLVMBuilder, conditions: list[Scalar]) -> Scalar:
    return fold(b.or_, conditions, b.const("?", False))


def _is_infinite(b: LLVMBuilder, x: Scalar) -> Scalar:
    return b.cmp("==", b.fabs(x), b.const(x.dtype, float("inf")))


def kinds(b: LLVMBuilder, name: str, result: Scalar, args: list[Scalar], possible: frozenset[str], quiet: int
          ) -> ir.Value | None:
    """The word of what NumPy reports for an operation, ``None`` if that is nothing.  ``possible``: the kinds that it
    may report; ``quiet``: bits of those that do not count."""
    if name in _BY_PARTS and all(x.dtype in PART for x in (result, *args)):
        words = [kinds(b, name, part(result), [part(a) for a in args], possible, quiet) for part in (b.real, b.imag)]
        return fold(b.ir.or_, [word for word in words if word is not None]) if words[0] is not None else None
    wanted = {kind for kind in possible & KINDS.keys() if not quiet & KINDS[kind]}
    outs = [r for r in parts_of(b, result) if r.dtype in FLOATS]
    ins = [p for a in args for p in parts_of(b, a) if p.dtype in FLOATS]
    if not outs or not wanted:
        return None
    nan_in = _any(b, [b.isnan(x) for x in ins])
    word: ir.Value = i32(0)

    def note(kind: str, found: Scalar) -> None:
        nonlocal word
        if kind in wanted:
            word = b.ir.or_(word, b.ir.select(found.raw, i32(KINDS[kind]), i32(0)))

    note(INVALID, b.and_(_any(b, [b.isnan(r) for r in outs]), b.not_(nan_in)))
    odd_in = b.or_(nan_in, _any(b, [_is_infinite(b, x) for x in ins]))
    infinite = b.and_(_any(b, [_is_infinite(b, r) for r in outs]), b.not_(odd_in))
    if DIVIDE in possible and OVER in possible and name in _POLES:
        at = args[_POLES[name]]
        pole = b.cmp("==", at, b.const(at.dtype, 0))
        note(DIVIDE, b.and_(infinite, pole))
        note(OVER, b.and_(infinite, b.not_(pole)))
    else:       # one of them, or which of them is not known: then both
        note(DIVIDE, infinite)
        note(OVER, infinite)
    return word


def as_bit(b: LLVMBuilder, condition: ir.Value, bit: int) -> ir.Value:
    """The word with ``bit`` where the condition holds."""
    return b.ir.shl(b.ir.zext(condition, I32), i32(bit))
