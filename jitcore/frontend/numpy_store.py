"""Stores of whole arrays: what fills an array with other elements.

Job: ``update``, which gives an array new content, and ``assign`` below it.  An array that nothing but its name can
see becomes a new value; any other one is written to in memory (an ``assign`` node).  Invariants: the store is the last
that an instruction does, after all that may fail; NumPy's rules of casting and broadcasting hold, or ``Unsupported``.
Used by ``frontend.numpy_*``.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from jitcore.frontend.numpy_elementwise import cast
from jitcore.frontend.numpy_shapes import all_equal, lengths_of
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Array, is_free
from jitcore.ir.graph import Value
from jitcore.ir.types import ArrayType, ScalarType

#: Opcodes whose result is memory that the region made.
_MADE = frozenset({"ew", "cast", "splat", "pack", "iota", "copy", "reduce"})


def is_own(array: Array) -> bool:
    """Whether nothing outside can see the array's memory: a store into it is no effect of the region's."""
    owner = array.base if array.base is not None else array
    return owner.source is None and owner.value.node is not None and owner.value.node.op in _MADE


def prepare_store(m: Any, target: Array) -> None:
    """Checks that ``target`` may be written to."""
    if target.readonly:
        raise Unsupported("a store into an array that is read-only")
    if not is_own(target):
        m.builder.require_writable(target)


def store_number(m: Any, target: Array, number: Value, at: tuple[Value, ...]) -> None:
    """Stores one element, of the very dtype."""
    prepare_store(m, target)
    m.builder.emit_effect("store", (target.value, number, *at))
    m.note_store(target, is_own(target))


def assign(m: Any, target: Array, value: Value) -> None:
    """``target[...] = value`` in memory; ``value`` is of the dtype of ``target``."""
    if isinstance(value.type, ArrayType):
        _fit(m, value, target)
        if _is_itself(value, target.value):
            return
        if value.type.ndim == 0:
            value = m.builder.emit("load", (value,), ScalarType(value.type.dtype, False))
    if target.type.ndim == 0:
        store_number(m, target, value, ())
        return
    prepare_store(m, target)
    exit = m.failing_array()
    m.builder.emit_effect("assign", (target.value, value), exit)
    m.note_store(target, is_own(target))


def _fit(m: Any, value: Value, target: Array) -> None:
    """Exits at run time where ``value`` does not broadcast to the shape of ``target``."""
    lengths = lengths_of(m)
    shape = lengths.shape(target)
    if len(value.shape) > len(shape):
        raise Unsupported("a value of more axes than its place")
    for a, b in zip(value.shape[::-1], shape[::-1]):
        a, b = lengths.canonical(a), lengths.canonical(b)
        if a is b or lengths.number(a) == 1:
            continue
        if lengths.hint(a) == 1 or lengths.hint(a) is None:
            a = lengths.bcast(a, b)
        lengths.require_equal(a, b)


def _is_itself(value: Value, target: Value) -> bool:
    """Whether the value is known to be the very view that is stored into: ``a[1:] += x`` ends with such a store."""
    if value is target:
        return True
    a, b = value.node, target.node
    return (a is not None and b is not None and a.op == b.op == "view" and all_equal(a.operands, b.operands)
            and all_equal(value.shape, target.shape))


def _ordered_like(m: Any, value: Value, out: Value) -> bool:
    """Whether ``value`` lies in memory as ``out`` does: C order has one way only, else one that was computed from it
    just now can be made to."""
    node, kind = value.node, value.type
    assert isinstance(kind, ArrayType)
    if kind.layout == "C" or value is out:
        return True
    if node is None or node is not m.builder.block.nodes[-1] or node.op != "ew" or out not in node.operands \
            or not all_equal(value.shape, out.shape):
        return False
    node.attrs["like"] = node.operands.index(out)
    return True


def update(m: Any, out: Array, value: Value, casting: Any = "same_kind") -> Abstract:
    """``out[...] = value``.  ``value`` (a scalar, or an array that broadcasts to the shape of ``out``) must convert
    under ``casting``."""
    kind = value.type
    assert isinstance(kind, (ScalarType, ArrayType))
    if not np.can_cast(kind.dtype, out.type.dtype, casting):
        raise Unsupported("a result that does not convert to the output's dtype")
    value = cast(m, value, out.type.dtype)
    if _replaces(m, out, value):
        if isinstance(value.type, ScalarType):
            value = m.builder.emit("splat", (value,), out.type, shape=lengths_of(m).shape(out))
        out.value = value
    else:
        assign(m, out, value)
    return out


def _replaces(m: Any, out: Array, value: Value) -> bool:
    """Whether a new value can take the place of ``out``: nobody else sees it, and shape and order are the same."""
    if not is_free(out) or out.readonly:
        return False
    kind, lengths = value.type, lengths_of(m)
    if isinstance(kind, ScalarType):
        return out.type.layout == "C"
    assert isinstance(kind, ArrayType)
    shape = lengths.shape(out)
    if kind.layout != out.type.layout or kind.ndim != out.type.ndim:
        return False
    for a, b in zip(value.shape, shape):
        if lengths.canonical(a) is not b and (lengths.hint(a) is None or lengths.hint(a) != lengths.hint(b)
                                              or (lengths.number(a) == 1) != (lengths.number(b) == 1)):
            return False
    if not _ordered_like(m, value, out.value):
        return False
    for a, b in zip(value.shape, shape):
        lengths.require_equal(a, b)
    return True
