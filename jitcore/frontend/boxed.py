"""Operations on numbers that are done by the very C function, on boxed operands.

Job: ``through``, a ``call`` node for a function that has no lowering.  Invariants: the function runs no Python code for
numbers of these types and changes nothing; where it raises, warns or gives an object of another type the region
leaves.  Used by the modules that know Python's and NumPy's numbers.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitcore.frontend.numpy_elementwise import type_of
from jitcore.frontend.numpy_matmul import call_node
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.samples import no_warnings
from jitcore.frontend.values import Abstract, Known, Scalar, is_number
from jitcore.ir.graph import Value
from jitcore.ir.types import ScalarType, parse_type, strong

_WEAK: dict[str, Any] = {"?": True, "l": 1, "d": 1.0, "D": 1j}


def through(m: Any, function: Callable[..., Any], args: list[Abstract]) -> Scalar:
    """``function(*args)`` of numbers, with the type that it has for ordinary ones."""
    samples = [_sample(arg) for arg in args]
    try:
        with no_warnings(), np.errstate(all="ignore"):
            found = function(*samples)
    except Exception as error:
        raise Unsupported(f"{function.__name__}: {type(error).__name__}") from None
    if not is_number(found):
        raise Unsupported(f"{function.__name__} gives no number")
    kind = parse_type(type(found).__name__) if type(found) in (bool, int, float, complex) else strong(found.dtype)
    assert isinstance(kind, ScalarType)
    return through_as(m, function, args, kind)


def _sample(arg: Abstract) -> Any:
    if isinstance(arg, Known):
        return arg.obj
    kind = type_of(arg)
    return _WEAK[kind.dtype.char] if getattr(kind, "weak", False) else kind.dtype.type(1)


def through_as(m: Any, function: Callable[..., Any], args: list[Abstract], result: ScalarType,
               kwnames: tuple[str, ...] = ()) -> Scalar:
    """``function(*args)``, the last ones by keyword, which gives a number of the type ``result``."""
    operands: list[Value] = []
    template: list[tuple[str, Any]] = []
    reports = False
    for arg in args:
        if isinstance(arg, Scalar):
            type_of(arg)
            reports |= not arg.type.weak
            template.append(("v", len(operands)))
            operands.append(arg.value)
        elif isinstance(arg, Known) and (is_number(arg.obj) or arg.obj is None):
            reports |= isinstance(arg.obj, np.generic)
            template.append(("c", arg.obj))
        else:
            raise Unsupported(f"{function.__name__}() of an object")
    return Scalar(call_node(m, function, tuple(operands), tuple(template), result, (), kwnames, reports))


def is_real(value: Abstract) -> bool:
    """A real number of Python's or NumPy's."""
    if isinstance(value, Scalar):
        return value.type.dtype.kind in "biuf"
    if not isinstance(value, Known) or not is_number(value.obj):
        return False
    return not isinstance(value.obj, (complex, np.complexfloating))
