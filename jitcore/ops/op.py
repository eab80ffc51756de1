"""What an elementwise operation is.

Job: ``Op``, the declaration that front end, planner, back ends and tests read.  Invariants: an ``Op``
is immutable; every signature in ``inline`` is canonical (``builder.canonical``) and, where the op has a
ufunc, one of the ufunc's loops.  Used by every layer above ``ops``.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from jitcore.ops.builder import COMPLEX, FLOATS, Lowering, Scalar, ScalarBuilder, canonical

#: The four kinds of floating-point reports, as ``np.errstate`` names them.
INVALID, DIVIDE, OVER, UNDER = "invalid", "divide", "over", "under"
ALL_REPORTS = frozenset({INVALID, DIVIDE, OVER, UNDER})
NONE: frozenset[str] = frozenset()

#: Operations whose result is infinite or NaN if one of the operands at these positions is.
SPREADING = {"add": (0, 1), "subtract": (0, 1), "multiply": (0, 1), "divide": (0,), "true_divide": (0,),
             "square": (0,), "sqrt": (0,), "negative": (0,), "absolute": (0,), "fabs": (0,), "positive": (0,)}


#: ufuncs whose loops for floats NumPy chooses by its operands' strides too, with bits that may differ.
BY_STRIDES = frozenset((
    "multiply", "square", "absolute", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "sin", "cos",
    "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "power"))


@dataclass(frozen=True, eq=False)
class Op:
    """One elementwise operation.

    ``name`` is the ufunc's ``__name__`` (or the op's own, for ``where``); ``ufunc`` is ``None`` where
    NumPy has none.  ``inline`` maps a canonical signature to its lowering; a signature without one
    runs as a block.  ``uniform`` holds lowerings that are right only where the operands at the given
    positions are scalars: some of NumPy's loops do something else when an operand has a stride of 0.
    ``exact`` says that the lowerings of float signatures give NumPy's bits, except for which NaN
    an operation on NaN gives (those of other signatures always do).  ``libm`` is the C name behind an
    inexact op.  ``reports`` and ``int_reports`` are what NumPy may report for signatures with and without
    a float, ``complex_reports`` for those with a complex operand where that differs.  ``raises`` lists
    signatures whose loop may set a Python exception and so does not run inside; a ``foreign`` loop, not NumPy's own,
    runs inside, and after it one is looked for.  ``cost`` is about the time of an addition.
    """

    name: str
    ufunc: np.ufunc | None
    inline: Mapping[str, Lowering] = field(default_factory=dict)
    reports: frozenset[str] = NONE
    int_reports: frozenset[str] = NONE
    complex_reports: frozenset[str] | None = None
    exact: bool = True
    cost: int = 1
    libm: str = ""
    raises: frozenset[str] = NONE
    nin: int = 0
    nout: int = 1
    uniform: Mapping[str, tuple[frozenset[int], Lowering]] = field(default_factory=dict)
    foreign: bool = False

    def __post_init__(self) -> None:
        if self.ufunc is not None:
            object.__setattr__(self, "nin", self.ufunc.nin)
            object.__setattr__(self, "nout", self.ufunc.nout)

    def lowering(self, sig: str, scalars: Collection[int] = ()) -> Lowering | None:
        """The inline lowering for a signature, or ``None``: the block way.  ``scalars`` are the positions of
        operands that are scalars and not arrays."""
        sig = canonical(sig)
        if sig in self.uniform and self.uniform[sig][0] <= frozenset(scalars):
            return self.uniform[sig][1]
        return self.inline.get(sig)

    def exact_for(self, sig: str) -> bool:
        """Whether the inline lowering of this signature has NumPy's bits."""
        return self.exact or not _has_float(sig)

    def reports_for(self, sig: str) -> frozenset[str]:
        """What NumPy may report when it runs the loop of this signature."""
        if self.complex_reports is not None and any(c in COMPLEX for c in sig.partition("->")[0]):
            return self.complex_reports
        return self.reports if _has_float(sig) else self.int_reports

    def can_block(self, sig: str) -> bool:
        """Whether NumPy's own loop of this signature can serve inside a region."""
        return (self.ufunc is not None and self.ufunc.signature is None and self.nout == 1
                and canonical(sig) not in self.raises and loop_signature(self.ufunc, sig) is not None)


def _has_float(sig: str) -> bool:
    return any(c in FLOATS + COMPLEX for c in sig.partition("->")[0])


def loop_signature(ufunc: np.ufunc, sig: str) -> str | None:
    """The spelling of a signature in ``ufunc.types`` (``qQ->?`` for ``lL->?``), ``None`` if there is none."""
    if sig in ufunc.types:
        return sig
    wanted = canonical(sig)
    return next((t for t in ufunc.types if canonical(t) == wanted), None)


def each(dtypes: str, pattern: str, lowering: Lowering) -> dict[str, Lowering]:
    """``lowering`` for every dtype, put for ``x`` in a pattern such as ``'xx->x'``."""
    return {pattern.replace("x", c): lowering for c in dtypes}


def through_float(lowering: Lowering) -> Lowering:
    """A lowering for ``e`` operands that computes in ``f`` and rounds the result once, as NumPy's half loops do."""

    def widened(b: ScalarBuilder, *args: Scalar) -> Scalar:
        result = lowering(b, *(b.cast(a, "f") for a in args))
        return b.cast(result, "e") if result.dtype == "f" else result

    return widened


def by_parts(lowering: Lowering) -> Lowering:
    """A lowering for complex operands that treats real and imaginary parts alike."""

    def parts(b: ScalarBuilder, *args: Scalar) -> Scalar:
        return b.make_complex(lowering(b, *(b.real(a) for a in args)), lowering(b, *(b.imag(a) for a in args)))

    return parts


def merge(*tables: Mapping[str, Lowering]) -> dict[str, Lowering]:
    """One table from several; a signature declared twice is an error."""
    merged: dict[str, Lowering] = {}
    for table in tables:
        clash = merged.keys() & table.keys()
        if clash:
            raise ValueError(f"declared twice: {sorted(clash)}")
        merged.update(table)
    return merged


def names(ops: Iterable[Op]) -> dict[str, Op]:
    """Ops by name."""
    return {op.name: op for op in ops}
