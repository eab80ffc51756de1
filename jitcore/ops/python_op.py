"""What a Python scalar operation is: the base of ``ops.python`` and its families.

Job: ``PyOp`` and ``Overload``.  Invariants: see ``ops.python``.  Used by ``ops`` alone.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jitcore.ops.builder import Scalar, ScalarBuilder

#: A result, and a ``?`` that says whether it is CPython's (``None``: always).
Outcome = tuple[Scalar, Scalar | None]
PyLowering = Callable[..., Outcome]

#: The least int of 64 bits.
MIN = -(1 << 63)


@dataclass(frozen=True)
class Overload:
    """For operands of one tuple of types: the result's type, the code, and whether it may not be ok."""

    result: str
    lower: PyLowering
    exits: bool


@dataclass(frozen=True)
class PyOp:
    """``function`` is what CPython runs (the definition).  ``promote`` says how operands that match no
    overload are made alike: ``'all'``, as Python's arithmetic does (bool to int, int to float, float to
    complex), ``'ints'`` (bool to int), ``'no'``."""

    name: str
    function: Callable[..., object]
    overloads: dict[str, Overload]
    promote: str = "all"

    def select(self, types: str) -> tuple[str, Overload] | None:
        """The overload for operand types, and what the operands must be converted to first."""
        wanted = [types]
        if self.promote != "no":
            wanted.append(types.replace("?", "l"))
        if self.promote == "all":
            wanted += [c * len(types) for c in "dD" if all("?ldD".index(t) <= "?ldD".index(c) for t in types)]
        return next(((w, self.overloads[w]) for w in wanted if w in self.overloads), None)


def always(lowering: Callable[..., Scalar]) -> PyLowering:
    """A lowering that is always ok."""

    def lowered(b: ScalarBuilder, *args: Scalar) -> Outcome:
        return lowering(b, *args), None

    return lowered


def sure(result: str, lowering: Callable[..., Scalar]) -> Overload:
    return Overload(result, always(lowering), False)


def unsure(result: str, lowering: PyLowering) -> Overload:
    return Overload(result, lowering, True)


def all_of(b: ScalarBuilder, first: Scalar, *more: Scalar) -> Scalar:
    for other in more:
        first = b.and_(first, other)
    return first


def same(b: ScalarBuilder, x: Scalar) -> Scalar:
    return x


def is_nonzero(b: ScalarBuilder, y: Scalar) -> Scalar:
    return b.cmp("!=", y, b.const(y.dtype, 0))


def is_finite(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.cmp("<", b.and_(b.bits(x, "L"), b.const("L", (1 << 63) - 1)), b.const("L", 0x7FF << 52))


def is_inf(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.cmp("==", b.and_(b.bits(x, "L"), b.const("L", (1 << 63) - 1)), b.const("L", 0x7FF << 52))
