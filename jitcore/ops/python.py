"""Python's own scalar operations: the functions of the ``py`` opcode.

Job: ``PY``, by name: for which operand types an operation is compiled, what type it gives, when it cannot
go on, and its lowering.  Invariants: a result is the one that CPython gives, bit for bit, or the lowering
says not ok and the region exits; an ``int`` is 64 bits wide and anything wider is not ok; whatever depends
on a value in its *type* (``2 ** -1``) is not ok.  Used by the front end, ``ir`` tests and the back ends.

A type is a weak scalar's dtype character: ``?`` bool, ``l`` int, ``d`` float, ``D`` complex.  The names are
those of ``operator`` (without underscores), of the builtins, and ``math.*`` (``math.log_base`` is ``math.log``
of two arguments).
"""
from __future__ import annotations

from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, ScalarType, Type
from jitcore.ops import python_arith, python_compare, python_math
from jitcore.ops.builder import Scalar, ScalarBuilder, canonical
from jitcore.ops.python_op import Outcome, Overload, PyOp

PY: dict[str, PyOp] = {op.name: op for family in (python_arith, python_compare, python_math) for op in family.OPS}

_TYPES: dict[str, ScalarType] = {"?": BOOL, "l": INT, "d": FLOAT, "D": COMPLEX}


def _select(name: str, types: tuple[Type, ...]) -> tuple[str, Overload] | None:
    chars = ""
    for type in types:
        if not isinstance(type, ScalarType) or not (type.weak or name in ("bool", "not")):
            return None
        chars += canonical(type.dtype.char)
    return PY[name].select(chars) if name in PY else None


def result_type(name: str, types: tuple[Type, ...]) -> ScalarType | None:
    """The result's type; ``None`` where the interpreter has to do it.  Operands are weak, except that
    ``bool`` and ``not`` take any scalar."""
    found = _select(name, types)
    return None if found is None else _TYPES[found[1].result]


def can_exit(name: str, types: tuple[Type, ...]) -> bool:
    """Whether the operation may find that it cannot go on; ``LookupError`` where it is not compiled."""
    found = _select(name, types)
    if found is None:
        raise LookupError(name)
    return found[1].exits


def lower(b: ScalarBuilder, name: str, *args: Scalar) -> Outcome:
    """Emits the operation: the result and whether it is CPython's (``None``: always).  Operands need not be
    of one type.  ``LookupError`` where ``result_type`` is ``None``."""
    found = PY[name].select("".join(a.dtype for a in args))
    if found is None:
        raise LookupError(name)
    wanted, overload = found
    return overload.lower(b, *(b.cast(a, c) for a, c in zip(args, wanted)))
