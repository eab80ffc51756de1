"""The language that op lowerings are written in.

Job: ``ScalarBuilder``, a protocol that a back end implements over its own code (LLVM IR here), and
``Scalar``, the value that it computes with.  Lowerings in ``ops`` are written once against it and
serve every back end.

Invariants.  Lowerings are branch-free: they use ``select``, add no control flow and have no
effects, so that a loop around them vectorises.  Every operation has NumPy's (C's) meaning for the
dtype of its operands, rounds to nearest even, keeps subnormals and is never contracted,
reassociated or replaced by an approximation.  Both operands of a binary operation have the same
dtype.  Used by ``ops``; implemented by ``backends``.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

SIGNED = "bhil"
UNSIGNED = "BHIL"
INTS = SIGNED + UNSIGNED
FLOATS = "efd"
COMPLEX = "FD"
#: The dtypes that compiled code computes with, as canonical characters.
DTYPES = "?" + INTS + FLOATS + COMPLEX

#: Bytes of an element of each dtype.
ITEMSIZE = {"?": 1, "b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "l": 8, "L": 8,
            "e": 2, "f": 4, "d": 8, "F": 8, "D": 16}
#: The real dtype of the parts of a complex one.
PART = {"F": "f", "D": "d"}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number in a register.

    ``dtype`` is one of ``DTYPES``.  ``raw`` is the back end's own value; a complex number keeps its
    parts apart, ``raw`` real and ``imag`` imaginary.
    """

    dtype: str
    raw: Any
    imag: Any = None


class ScalarBuilder(Protocol):
    """What a lowering may do.  ``x``, ``y`` have one dtype; results too unless stated."""

    def const(self, dtype: str, value: complex) -> Scalar:
        """A constant: any Python number of the dtype's range; a float may be inf or nan."""

    # -- arithmetic: ints wrap, floats round to nearest even ------------------------------------
    def add(self, x: Scalar, y: Scalar) -> Scalar: ...
    def sub(self, x: Scalar, y: Scalar) -> Scalar: ...
    def mul(self, x: Scalar, y: Scalar) -> Scalar: ...

    def div(self, x: Scalar, y: Scalar) -> Scalar:
        """Floats: the quotient.  Ints: truncated; ``y`` must not be 0 nor the quotient overflow."""

    def rem(self, x: Scalar, y: Scalar) -> Scalar:
        """Ints: the remainder of ``div``.  Floats: C's ``fmod``, exact."""

    def neg(self, x: Scalar) -> Scalar:
        """Floats: flips the sign bit, of a NaN too.  Ints: wraps."""

    def fabs(self, x: Scalar) -> Scalar:
        """Floats: clears the sign bit."""

    def copysign(self, x: Scalar, y: Scalar) -> Scalar: ...
    def sqrt(self, x: Scalar) -> Scalar: ...
    def floor(self, x: Scalar) -> Scalar: ...
    def ceil(self, x: Scalar) -> Scalar: ...
    def trunc(self, x: Scalar) -> Scalar: ...

    def rint(self, x: Scalar) -> Scalar:
        """To an integer, halves to even."""

    def overflowing(self, op: str, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
        """Ints; ``op`` is 'add', 'sub' or 'mul': the wrapped result and a ``?`` that is true on overflow."""

    # -- comparing and choosing -----------------------------------------------------------------
    def cmp(self, pred: str, x: Scalar, y: Scalar) -> Scalar:
        """``pred`` is one of ``== != < <= > >=``; a ``?``.  NaN compares as in C, and quietly."""

    def isnan(self, x: Scalar) -> Scalar:
        """Floats: a ``?``."""

    def select(self, cond: Scalar, x: Scalar, y: Scalar) -> Scalar:
        """``x`` where the ``?`` ``cond`` holds, else ``y``; either may be complex."""

    # -- bits: ints and ``?`` -------------------------------------------------------------------
    def and_(self, x: Scalar, y: Scalar) -> Scalar: ...
    def or_(self, x: Scalar, y: Scalar) -> Scalar: ...
    def xor(self, x: Scalar, y: Scalar) -> Scalar: ...

    def not_(self, x: Scalar) -> Scalar:
        """Ints: all bits.  ``?``: the other truth value."""

    def shl(self, x: Scalar, y: Scalar) -> Scalar:
        """``y`` must lie in [0, bits)."""

    def shr(self, x: Scalar, y: Scalar) -> Scalar:
        """Arithmetic for signed dtypes, else logical; ``y`` in [0, bits)."""

    def popcount(self, x: Scalar) -> Scalar:
        """Ints: how many bits are set, in the same dtype."""

    def bits(self, x: Scalar, dtype: str) -> Scalar:
        """The same bits as another dtype of the same size."""

    # -- dtypes ---------------------------------------------------------------------------------
    def cast(self, x: Scalar, dtype: str) -> Scalar:
        """C's conversion.  Float to int: the value must fit after truncation, else anything may come.
        To ``?``: whether it differs from zero.  Complex to real drops the imaginary part."""

    def make_complex(self, re: Scalar, im: Scalar) -> Scalar: ...
    def real(self, x: Scalar) -> Scalar: ...
    def imag(self, x: Scalar) -> Scalar: ...

    # -- functions ------------------------------------------------------------------------------
    def call_math(self, name: str, *args: Scalar) -> Scalar:
        """A vector math function by its C name for double (``exp``, ``pow``...) of ``f`` or ``d`` operands;
        within 1 ulp or 4 (``docs/numerics.md``)."""

    def call_libm(self, name: str, *args: Scalar) -> Scalar:
        """The C library's own scalar function of doubles, the one CPython calls."""

    def bail(self, cond: Scalar) -> None:
        """Where the ``?`` holds the result is not defined: the region must hand over to the interpreter
        whatever the errstate is."""


#: How an operation is written: ``fn(b, *operands)`` gives the result.
Lowering = Callable[..., Scalar]


def canonical(sig: str) -> str:
    """A dtype character or loop signature with one character for each dtype (``q`` is ``l``)."""
    return sig.replace("q", "l").replace("Q", "L")
