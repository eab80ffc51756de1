"""Python's comparisons, truth, conversions, and the lesser or greater of two.

Job: overloads for them.  Invariants: see ``ops.python``.  Read by ``ops.python``.
"""
from __future__ import annotations

import operator
from collections.abc import Callable

from jitcore.ops.builder import DTYPES, Scalar, ScalarBuilder
from jitcore.ops.python_op import Outcome, PyOp, same, sure, unsure

# -- comparisons ----------------------------------------------------------------------------------

def _compare(pred: str) -> Callable[..., Scalar]:
    def lowered(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        return b.cmp(pred, x, y)

    return lowered


_SWAPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _compare_int_float(pred: str) -> Callable[..., Scalar]:
    """By value.  Rounding keeps order: where the rounded int differs from the float the answer is known;
    where it equals it, the float is an integer, and they compare as ints unless it is 2**63."""

    def lowered(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        rounded = b.cast(x, "d")
        inside = b.cmp("<", y, b.const("d", 2.0**63))
        tie = b.cmp("==", rounded, y)
        whole = b.cast(b.select(b.and_(tie, inside), y, b.const("d", 0.0)), "l")
        at_tie = b.select(inside, b.cmp(pred, x, whole), b.const("?", pred in ("<", "<=", "!=")))
        return b.select(tie, at_tie, b.cmp(pred, rounded, y))

    return lowered


def _compare_float_int(pred: str) -> Callable[..., Scalar]:
    swapped = _compare_int_float(_SWAPPED[pred])

    def lowered(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        return swapped(b, y, x)

    return lowered


def _compare_complex(pred: str) -> Callable[..., Scalar]:
    def lowered(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        re, im = b.cmp(pred, b.real(x), b.real(y)), b.cmp(pred, b.imag(x), b.imag(y))
        return b.and_(re, im) if pred == "==" else b.or_(re, im)

    return lowered


def _comparison(name: str, pred: str, function: Callable[..., object]) -> PyOp:
    plain = sure("?", _compare(pred))
    overloads = {"ll": plain, "dd": plain, "ld": sure("?", _compare_int_float(pred)),
                 "dl": sure("?", _compare_float_int(pred))}
    if pred in ("==", "!="):
        overloads |= {"DD": sure("?", _compare_complex(pred)), "dD": sure("?", _as_complex(pred)),
                      "Dd": sure("?", _as_complex(pred))}
    return PyOp(name, function, overloads, "ints")


def _as_complex(pred: str) -> Callable[..., Scalar]:
    compare = _compare_complex(pred)

    def lowered(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        return compare(b, b.cast(x, "D"), b.cast(y, "D"))

    return lowered


# -- the lesser and the greater --------------------------------------------------------------------

def _extreme(pred: str) -> Callable[..., Scalar]:
    """The second operand only where it compares strictly: NaN and equal zeros keep the first."""

    def lowered(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        return b.select(b.cmp(pred, y, x), y, x)

    return lowered


def _extreme_bool(name: str) -> Callable[..., Scalar]:
    def lowered(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
        return getattr(b, name)(x, y)

    return lowered


# -- conversions -----------------------------------------------------------------------------------

def _to(dtype: str) -> Callable[..., Scalar]:
    def lowered(b: ScalarBuilder, x: Scalar) -> Scalar:
        return b.cast(x, dtype)

    return lowered


def _falsehood(b: ScalarBuilder, x: Scalar) -> Scalar:
    return b.not_(b.cast(x, "?"))


def whole_to_int(b: ScalarBuilder, x: Scalar) -> Outcome:
    """A float as an int, without its fraction (a float so large that it would matter here has none); not ok beyond
    64 bits, for infinities and NaN."""
    limit = b.const("d", 2.0**63)
    ok = b.and_(b.cmp(">=", x, b.neg(limit)), b.cmp("<", x, limit))
    return b.cast(x, "l"), ok


def float_to_int(b: ScalarBuilder, x: Scalar) -> Outcome:
    return whole_to_int(b, x)


def _round(b: ScalarBuilder, x: Scalar) -> Outcome:
    """Halves to even, as ``round(x)`` of a float does."""
    return whole_to_int(b, b.rint(x))


def _pair(b: ScalarBuilder, x: Scalar, y: Scalar) -> Scalar:
    return b.make_complex(x, y)


_INT = sure("l", same)

OPS = (
    _comparison("eq", "==", operator.eq),
    _comparison("ne", "!=", operator.ne),
    _comparison("lt", "<", operator.lt),
    _comparison("le", "<=", operator.le),
    _comparison("gt", ">", operator.gt),
    _comparison("ge", ">=", operator.ge),
    PyOp("bool", bool, {c: sure("?", _to("?")) for c in DTYPES}, "no"),
    PyOp("not", operator.not_, {c: sure("?", _falsehood) for c in DTYPES}, "no"),
    PyOp("int", int, {"l": _INT, "d": unsure("l", float_to_int)}, "ints"),
    PyOp("float", float, {"d": sure("d", same), "l": sure("d", _to("d"))}, "ints"),
    PyOp("complex", complex, {c: sure("D", _to("D")) for c in "?ldD"} | {"dd": sure("D", _pair)}),
    PyOp("round", round, {"l": _INT, "d": unsure("l", _round)}, "ints"),
    PyOp("min", min, {"ll": sure("l", _extreme("<")), "dd": sure("d", _extreme("<")),
                      "??": sure("?", _extreme_bool("and_"))}, "no"),
    PyOp("max", max, {"ll": sure("l", _extreme(">")), "dd": sure("d", _extreme(">")),
                      "??": sure("?", _extreme_bool("or_"))}, "no"),
)
