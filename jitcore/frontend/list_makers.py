"""Lists of run-time length made of ranges and arrays, and arrays made of them.

Job: ``list(range(...))``, ``a.tolist()``, ``list(a)``, ``np.array(l)``.  Invariants: as for ``lists``; an array is made
only of the dtype and rank that NumPy finds for these items, else the interpreter makes it.  Used by the builtins' and
NumPy's rules.
"""
from __future__ import annotations

import numpy as np

from jitcore.frontend import lists, python_ops
from jitcore.frontend.machine import MAX_TRIPS, Machine
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Array, Known, Range, TypedList
from jitcore.ir.graph import Value
from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, ListType, ScalarType, array, strong

_LIMIT = 2**61


def listed(m: Machine, value: Abstract) -> Abstract | None:
    """``list(value)`` where that is a list of run-time length, None for other objects."""
    if (whole := lists.whole(value)) is not None:
        return lists.copy(m, whole)
    if isinstance(value, Range) and not is_short(value, MAX_TRIPS):
        return of_range(m, value)
    return of_array(m, value, False) if isinstance(value, Array) else None


def is_short(value: Range, most: int) -> bool:
    """Whether a range is known and has at most ``most`` items."""
    parts = (value.start, value.stop, value.step)
    return all(isinstance(part, Known) for part in parts) and (
        len(range(*(part.obj for part in parts))) <= most)  # type: ignore[attr-defined]


def of_range(m: Machine, value: Range) -> Abstract:
    """``list(range(...))`` by a step that is known."""
    step = m.force(value.step)
    if not isinstance(step, Known):
        raise Unsupported("a list of a range by a run-time step")
    by = int(step.obj)  # type: ignore[call-overload]
    start, stop = (_bounded(m, m.force(part)) for part in (value.start, value.stop))
    if not -_LIMIT <= by <= _LIMIT:
        raise Unsupported("a range of very large numbers")
    first, last = (start, stop) if by > 0 else (stop, start)
    n = _idx(m, "satsub", last, first)
    if abs(by) != 1:
        n = _idx(m, "floordiv", _idx(m, "add", n, m.builder.const(abs(by) - 1)), m.builder.const(abs(by)))
    return lists.result(m, "range", (start, m.builder.const(by), n), ListType(INT))


def _idx(m: Machine, fn: str, a: Value, b: Value) -> Value:
    return m.builder.emit("idx", (a, b), INT, fn=fn)


def _bounded(m: Machine, part: Abstract) -> Value:
    """A range's limit, far from overflow."""
    for op, bound in (("ge", -_LIMIT), ("le", _LIMIT)):
        found = python_ops.compare(m, op, part, Known(bound))
        if isinstance(found, Known):
            if not found.obj:
                raise Unsupported("a range of very large numbers")
        else:
            m.builder.emit_check("check", (m.builder.as_value(found),))
    return m.builder.as_value(part)


def of_array(m: Machine, a: Array, weak: bool) -> Abstract:
    """``a.tolist()`` (``weak``: of Python's numbers) or ``list(a)`` of an array with one axis."""
    if a.type.ndim != 1:
        raise Unsupported("a list of an array of other than one axis")
    item = strong(a.type.dtype)
    if weak:
        found = {"b": BOOL, "i": INT, "u": INT, "f": FLOAT, "c": COMPLEX}.get(a.type.dtype.kind)
        if found is None or a.type.dtype.char in "LQqeF":
            raise Unsupported(f"a list of an array of {a.type.dtype}")
        item = found
    m.builder.failing_array()
    return lists.result(m, "from_array", (a.value,), ListType(item))


def to_array(m: Machine, l: TypedList) -> Array:
    """``np.array(l)``."""
    item, depth = l.type.item, 1
    while isinstance(item, ListType):
        item, depth = item.item, depth + 1
    if depth > 2:
        raise Unsupported("an array of lists nested deeper than two")
    assert isinstance(item, ScalarType)
    if item.dtype.char in "qQ":
        raise Unsupported("an array of NumPy's longlong")
    m.builder.failing_array()
    if depth == 1:
        shape: tuple[Value, ...] = (lists.length(m, l),)
    else:
        lists.require_items(m, l)
        row = lists.item_at(m, l, m.builder.const(0))
        assert isinstance(row, TypedList)
        shape = (lists.length(m, l), lists.length(m, row))
    kind = array(np.dtype(item.dtype.char), depth)
    return Array(m.builder.emit("list_call", (l.value,), kind, shape=shape, exit=0, fn="to_array"))
