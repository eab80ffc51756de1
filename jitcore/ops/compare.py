"""Comparisons, tests of class, logic, and the larger or smaller of two.

Job: declarations of NumPy's comparing ufuncs.  Invariants: as in ``ops.op``.  Read by ``ops.table``.
NumPy clears the floating-point flags after comparisons of reals and reports nothing for them.
"""
from __future__ import annotations

import numpy as np

from jitcore.ops.builder import COMPLEX, INTS, Lowering, Scalar, ScalarBuilder
from jitcore.ops.op import INVALID, NONE, Op, each, merge

_REAL = INTS + "efd"


def _compare(pred: str) -> Lowering:
    def compare(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        return b.cmp(pred, x, y)

    return compare


def _compare_mixed(pred: str) -> Lowering:
    """int64 with uint64, by value: a negative number is below every unsigned one."""

    def compare(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        flipped = x.dtype == "L"
        signed = y if flipped else x
        below = b.cmp("<", signed, b.const("l", 0))
        by_bits = b.cmp(pred, b.bits(x, "L"), b.bits(y, "L"))
        when_below = {"==": False, "!=": True, "<": not flipped, "<=": not flipped,
                      ">": flipped, ">=": flipped}[pred]
        return b.select(below, b.const("?", when_below), by_bits)

    return compare


def _compare_complex(pred: str) -> Lowering:
    def compare(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        re, im = b.cmp(pred, b.real(x), b.real(y)), b.cmp(pred, b.imag(x), b.imag(y))
        return b.and_(re, im) if pred == "==" else b.or_(re, im)

    return compare


def _comparison(name: str, ufunc: np.ufunc, pred: str) -> Op:
    """Ordering complex numbers signals NaNs here and there in NumPy, as its compiler happened to choose, and it
    reports that: block."""
    equality = pred in ("==", "!=")
    return Op(name, ufunc, merge(
        each(_REAL + "?", "xx->?", _compare(pred)),
        each(COMPLEX, "xx->?", _compare_complex(pred)) if equality else {},
        {"lL->?": _compare_mixed(pred), "Ll->?": _compare_mixed(pred)}),
        complex_reports=NONE if equality else frozenset({INVALID}))


# -- logic --------------------------------------------------------------------------------------

def _logical(name: str) -> Lowering:
    def logical(b: ScalarBuilder, *args: Scalar) -> Scalar:
        return getattr(b, name)(*(b.cast(a, "?") for a in args))

    return logical


_ANY = "?" + _REAL + COMPLEX


# -- class --------------------------------------------------------------------------------------

def isnan(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.isnan(x)


def _magnitude(pred: str) -> Lowering:
    """The bits without the sign, as an int, against those of infinity: exact and quiet."""
    kinds = {"e": ("H", 0x7FFF, 0x7C00), "f": ("I", 0x7FFFFFFF, 0x7F800000), "d": ("L", (1 << 63) - 1, 0x7FF << 52)}

    def test(b: ScalarBuilder, x: Scalar) -> Scalar:
        kind, mask, infinity = kinds[x.dtype]
        return b.cmp(pred, b.and_(b.bits(x, kind), b.const(kind, mask)), b.const(kind, infinity))

    return test


def signbit(b: ScalarBuilder, x: Scalar) -> Scalar:
    kind = {"e": "h", "f": "i", "d": "l"}[x.dtype]
    return b.cmp("<", b.bits(x, kind), b.const(kind, 0))


def _parts(name: str, lowering: Lowering) -> Lowering:
    """Of a complex number: ``name`` (``or_``, ``and_``) of what holds for its parts."""

    def test(b: ScalarBuilder, x: Scalar) -> Scalar:
        return getattr(b, name)(lowering(b, b.real(x)), lowering(b, b.imag(x)))

    return test


def _always(value: bool) -> Lowering:
    def constant(b: ScalarBuilder, x: Scalar) -> Scalar:
        return b.const("?", value)

    return constant


def _class_test(name: str, ufunc: np.ufunc, lowering: Lowering, join: str, ints: bool) -> Op:
    return Op(name, ufunc, merge(
        each("efd", "x->?", lowering), each(COMPLEX, "x->?", _parts(join, lowering)),
        each("?" + INTS, "x->?", _always(ints))))


# -- the larger or smaller ------------------------------------------------------------------------

def _int_extreme(pred: str) -> Lowering:
    def extreme(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        return b.select(b.cmp(pred, x, y), x, y)

    return extreme


def _nan_extreme(pred: str) -> Lowering:
    """The first NaN wins; of equal zeros the second operand's is taken (``e``: the first's)."""

    def extreme(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        wins = b.cmp(pred + "=" if x.dtype == "e" else pred, x, y)
        return b.select(b.or_(wins, b.isnan(x)), x, y)

    return extreme


def _number_extreme(pred: str) -> Lowering:
    """For ``e``: a number wins over NaN; of equal zeros the first operand's is taken."""

    def extreme(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        return b.select(b.or_(b.cmp(pred + "=", x, y), b.isnan(y)), x, y)

    return extreme


def _extreme(name: str, ufunc: np.ufunc, pred: str, bools: str) -> Op:
    """Which zero ``fmax`` and ``fmin`` of ``f`` and ``d`` give depends on the position in NumPy's vector loop,
    and complex ones have rules of their own: block."""

    def of_bools(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        return getattr(b, bools)(x, y)

    floats = (each("e", "xx->x", _number_extreme(pred)) if name.startswith("f")
              else each("efd", "xx->x", _nan_extreme(pred)))
    return Op(name, ufunc, merge(each(INTS, "xx->x", _int_extreme(pred)), floats, {"??->?": of_bools}))


OPS = (
    _comparison("equal", np.equal, "=="),
    _comparison("not_equal", np.not_equal, "!="),
    _comparison("less", np.less, "<"),
    _comparison("less_equal", np.less_equal, "<="),
    _comparison("greater", np.greater, ">"),
    _comparison("greater_equal", np.greater_equal, ">="),
    Op("logical_and", np.logical_and, each(_ANY, "xx->?", _logical("and_"))),
    Op("logical_or", np.logical_or, each(_ANY, "xx->?", _logical("or_"))),
    Op("logical_xor", np.logical_xor, each(_ANY, "xx->?", _logical("xor"))),
    Op("logical_not", np.logical_not, each(_ANY, "x->?", _logical("not_"))),
    _class_test("isnan", np.isnan, isnan, "or_", False),
    _class_test("isinf", np.isinf, _magnitude("=="), "or_", False),
    _class_test("isfinite", np.isfinite, _magnitude("<"), "and_", True),
    Op("signbit", np.signbit, each("efd", "x->?", signbit)),
    _extreme("maximum", np.maximum, ">", "or_"),
    _extreme("minimum", np.minimum, "<", "and_"),
    _extreme("fmax", np.fmax, ">", "or_"),
    _extreme("fmin", np.fmin, "<", "and_"),
)
