"""What is known before the run about the memory order of a result.

Job: NumPy's K-order rule as far as types and lengths tell.  Invariant: ``'C'`` and ``'F'`` are
promises for every run; what depends on run-time strides or lengths is ``'A'``.  ``frontend`` and
``passes`` call it to type results, ``ir.verify`` to check them.

NumPy's iterator orders two axes by the strides of all operands, where a broadcast axis (and one of
length 1) says nothing, and where operands that disagree give C order.
"""
from __future__ import annotations

from collections.abc import Sequence

from jitcore.ir.graph import Value
from jitcore.ir.types import ArrayType


def elementwise_layout(operands: Sequence[Value], shape: tuple[Value, ...]) -> str:
    """The layout of an elementwise result of ``shape`` over ``operands`` (scalars are left out)."""
    ndim = len(shape)
    types = [(value, value.type) for value in operands if isinstance(value.type, ArrayType)]
    if ndim <= 1 or all(type_.layout == "C" for _, type_ in types):
        return "C"
    # A C operand of the full shape orders every pair of axes that matters, against all others.
    if any(type_.layout == "C" and value.shape == shape for value, type_ in types):
        return "C"
    # An operand of one axis says nothing; others must be F over the full shape.
    telling = [(value, type_) for value, type_ in types if type_.ndim > 1]
    if all(type_.layout == "F" and value.shape == shape for value, type_ in telling):
        return "F"
    return "A"
