"""The op table: every elementwise operation that compiled code knows.

Job: ``OPS`` by name, and ``op_for`` by ufunc, known or not.  Invariants: one ``Op`` a ufunc; a name maps to
one op for the life of the process (a user's ufunc gets a name of its own).  Used by the front end,
the planner and the back ends.
"""
from __future__ import annotations

import numpy as np

from jitcore.ops import arithmetic, bitwise, compare, power, rounding, selection, transcendental
from jitcore.ops.op import ALL_REPORTS, Op, names
from jitcore.ops.probe import verified

OPS: dict[str, Op] = names(
    verified(op) for family in (arithmetic, power, compare, bitwise, rounding, transcendental, selection)
    for op in family.OPS)

_BY_UFUNC: dict[int, Op] = {id(op.ufunc): op for op in OPS.values() if op.ufunc is not None}


#: First loops of those that extensions have replaced: by ufunc (which the table keeps) and type numbers.
_ALTERED: dict[int, tuple[np.ufunc, dict[tuple[int, ...], int]]] = {}


def note_replaced(ufunc: np.ufunc, types: tuple[int, ...], before: int, after: int) -> None:
    """An inner loop of ``ufunc`` was replaced, or the first one put back: addresses ``before`` and ``after``."""
    first = _ALTERED.setdefault(id(ufunc), (ufunc, {}))[1]
    if first.setdefault(types, before) == after:
        del first[types]
    if not first:
        del _ALTERED[id(ufunc)]


def is_altered(op: Op) -> bool:
    """Whether an extension has put loops of its own into the op's ufunc: only NumPy knows what they do."""
    return bool(_ALTERED) and id(op.ufunc) in _ALTERED


def op_for(ufunc: np.ufunc) -> Op | None:
    """The op of a ufunc; ``None`` for a generalised ufunc (one with a core signature).

    An unknown ufunc gets an op without inline lowering, added to ``OPS`` under its name (made unique);
    the table keeps it alive, so that its ``id`` stays its own.
    """
    known = _BY_UFUNC.get(id(ufunc))
    if known is not None or ufunc.signature is not None:
        return known
    name, number = ufunc.__name__, 1
    while name in OPS:
        number += 1
        name = f"{ufunc.__name__}.{number}"
    op = Op(name, ufunc, {}, ALL_REPORTS, ALL_REPORTS, cost=50, foreign=True)
    OPS[name] = _BY_UFUNC[id(ufunc)] = op
    return op
