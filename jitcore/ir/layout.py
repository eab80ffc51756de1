"""What is known before the run about layouts: the memory order of a result, the words of exits' values.

Job: NumPy's K-order rule as far as types and lengths tell, and where native code leaves the values of exits.
Invariant: ``'C'`` and ``'F'`` are
promises for every run; what depends on run-time strides or lengths is ``'A'``.  ``frontend`` and
``passes`` call it to type results, ``ir.verify`` to check them.

NumPy's iterator orders two axes by the strides of all operands, where a broadcast axis (and one of
length 1) says nothing, and where operands that disagree give C order.
"""
from __future__ import annotations

from collections.abc import Sequence

from jitcore.ir.graph import Graph, Value
from jitcore.ir.types import ArrayType, ScalarType, Type


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


def words_of(type: Type) -> int:
    """How many machine words a value of ``type`` takes in the inputs or in an exit's values."""
    return 2 if isinstance(type, ScalarType) and type.dtype.char == "D" else 1


def exit_words(graph: Graph) -> tuple[list[tuple[int, ...]], int]:
    """The first word of each exit's values, and how many words there must be.

    A value has the same word in all exits of kind ``leave``, so that native code can write it at one place for many
    of them.  The values of other exits, which end a path that is gone often, lie one behind the other.
    """
    shared: dict[Value, int] = {}
    words: list[tuple[int, ...]] = []
    most = total = 0
    for exit in graph.exits:
        at, found = 0, []
        for value in exit.values if exit.target is None else ():
            if exit.kind != "leave":
                found.append(at)
                at += words_of(value.type)
                continue
            if value not in shared:
                shared[value] = total
                total += words_of(value.type)
            found.append(shared[value])
        words.append(tuple(found))
        most = max(most, at)
    return words, max(most, total)
