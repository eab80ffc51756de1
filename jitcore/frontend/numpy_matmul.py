"""Matrix products, done by NumPy's own BLAS in a ``call`` node.

Job: ``matmul`` (the operator and the function) and ``dot``.  Invariants: NumPy's result dtype and shape rules
for operands with one or two axes; other ranks are a CALL site.  Used by ``frontend.numpy_*``.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from jitcore.frontend.numpy_elementwise import type_of, wrap
from jitcore.frontend.numpy_shapes import lengths_of
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Array
from jitcore.ir.graph import Value
from jitcore.ir.types import Type, array, strong


def call_node(m: Any, func: object, operands: tuple[Value, ...], template: tuple[Any, ...], type: Type,
              shape: tuple[Value, ...] = (), kwnames: tuple[str, ...] = (), strict: bool = False) -> Value:
    """A call of a C function that runs no Python code for these operands.  ``strict``: it exits on what it reports."""
    attrs: dict[str, Any] = {"strict": True} if strict else {}
    return m.builder.emit("call", operands, type, shape=shape, exit=0, callee=m.builder.graph.add_object(func),
                          template=template, kwnames=kwnames, **attrs)


def matmul(m: Any, a: Abstract, b: Abstract, func: object = np.matmul, last: bool = False) -> Abstract:
    """``func(a, b)``, a product over the last axis of ``a`` and the first of ``b`` (with ``last``: its last), for
    exact arrays with one or two axes each.  ``Unsupported`` where the lengths do not fit in the snapshot."""
    if not (isinstance(a, Array) and isinstance(b, Array)):
        raise Unsupported("a matrix product with a number")
    type_of(a), type_of(b)
    if not (1 <= a.type.ndim <= 2 and 1 <= b.type.ndim <= 2):
        raise Unsupported("a matrix product of more than two axes")
    dtype = np.result_type(a.type.dtype, b.type.dtype)
    lengths = lengths_of(m)
    left, right = lengths.shape(a), lengths.shape(b)
    lengths.require_equal(left[-1], right[-1 if last else 0])
    left, right = lengths.shape(a), lengths.shape(b)
    shape = left[:-1] + (right[:-1] if last else right[1:])
    kind: Type = array(dtype, len(shape), "C") if shape else strong(dtype)
    return wrap(m, call_node(m, func, (a.value, b.value), (("v", 0), ("v", 1)), kind, shape,
                             strict=func is np.matmul and dtype.kind in "fc"))
