"""Python operators and ufunc calls on arrays and NumPy scalars.

Job: ``binary``, ``unary``, ``compare`` for operators with an array or a NumPy scalar among the operands, and
``call_ufunc``.  Invariants: exactly NumPy's operation, or ``Unsupported`` (then NumPy itself does it at a CALL
site) before any abstract value has changed.  Called by the machine's handlers and ``frontend.numpy_calls``.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from jitcore.frontend import numpy_scalars
from jitcore.frontend.numpy_elementwise import (
    apply,
    as_own_array,
    element,
    find_op,
    guess,
    is_array_like,
    results,
    type_of,
)
from jitcore.frontend.numpy_matmul import matmul
from jitcore.frontend.numpy_store import update
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.samples import no_warnings
from jitcore.frontend.values import Abstract, Array, Known, Scalar, Sequence
from jitcore.ir.types import BOOL, is_plain_dtype

UFUNCS: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift, "matmul": np.matmul,
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater, "ge": np.greater_equal,
    "neg": np.negative, "pos": np.positive, "invert": np.invert, "abs": np.absolute,
}


def binary(m: Any, op: str, a: Abstract, b: Abstract, inplace: bool = False) -> Abstract:
    """``a op b``, or ``a op= b``.  ``op`` is a name of ``operator`` (``'add'``, ``'floordiv'``...) or 'divmod'."""
    a, b = m.force(a), m.force(b)
    if not (is_array_like(a) or is_array_like(b)):
        raise Unsupported("no operand is an array or a NumPy scalar")
    type_of(a), type_of(b)
    arrays = isinstance(a, Array) or isinstance(b, Array)
    if op == "divmod":
        return Sequence("tuple", [binary(m, "floordiv", a, b), binary(m, "mod", a, b)])
    if op == "matmul":
        if inplace:
            raise Unsupported("an in-place matrix product")
        return matmul(m, a, b)
    if not arrays:
        return numpy_scalars.binary(m, op, UFUNCS[op], a, b)
    if op == "pow" and isinstance(a, Array):
        ufunc, operands = _power(m, a, b)
    else:
        ufunc, operands = UFUNCS[op], [a, b]
    if not inplace or not isinstance(a, Array):
        return results(m, apply(m, find_op(ufunc), operands))
    return update(m, a, apply(m, find_op(ufunc), operands)[0])


def _power(m: Any, a: Array, b: Abstract) -> tuple[np.ufunc, list[Abstract]]:
    """``ndarray.__pow__`` looks at exact Python exponents (2.4.6, 2.5.5): 2 is ``square`` for every dtype;
    -1 (an int) is ``reciprocal`` and 0.5 ``sqrt`` for inexact ones; all else is ``power``."""
    inexact = a.type.dtype.kind in "fc"
    if isinstance(b, Scalar) and b.type.weak and b.type.dtype.kind == "i":
        b = m.pin(b)        # the value decides the operation
    if isinstance(b, Scalar) and b.type.weak and b.type.dtype.kind == "f" and a.type.dtype.char in "eFD":
        half = b.hint == 0.5
        same = m.builder.emit("py", (b.value, m.builder.const(0.5)), BOOL, fn="eq" if half else "ne")
        m.builder.emit_check("check", (same,))
        return (np.sqrt, [a]) if half else (np.power, [a, b])
    if isinstance(b, Known):
        exponent = b.obj
        if type(exponent) is int and exponent == 2:
            return np.square, [a]
        if type(exponent) is int and exponent == -1 and inexact:
            return np.reciprocal, [a]
        if type(exponent) is float and exponent == 0.5 and inexact:
            return np.sqrt, [a]
    return np.power, [a, b]


def unary(m: Any, op: str, a: Abstract) -> Abstract:
    """``op a``: 'neg', 'pos', 'invert', 'abs'."""
    a = m.force(a)
    if op not in UFUNCS or not is_array_like(a):
        raise Unsupported("not an operation on an array or a NumPy scalar")
    if not isinstance(a, Array):
        return numpy_scalars.unary(m, op, UFUNCS[op], a)
    return results(m, apply(m, find_op(UFUNCS[op]), [a]))


def compare(m: Any, op: str, a: Abstract, b: Abstract) -> Abstract:
    """``a op b`` for 'lt', 'le', 'eq', 'ne', 'gt', 'ge'."""
    return binary(m, op, a, b)


#: Classes that stand for one dtype each (the abstract ones are deprecated as dtypes).
_CHARS = "?bBhHiIlLefdFD"
_CLASSES: tuple[object, ...] = (bool, int, float, complex, *(np.dtype(char).type for char in _CHARS))


def _names() -> dict[str, np.dtype]:
    """The names of dtypes that NumPy takes without a warning.  (Trying them while a program runs would touch its
    filters of warnings: what is shown once would be shown again.)"""
    native = "<" if np.little_endian else ">"
    names = [*_CHARS, *(name for name in np.sctypeDict if isinstance(name, str))]
    names += [f"{order}{np.dtype(c).kind}{np.dtype(c).itemsize}" for c in _CHARS for order in ("", "=", "|", native)]
    found = {}
    with no_warnings():
        for name in names:
            try:
                found[name] = np.dtype(name)
            except (TypeError, Warning):
                continue
    return found


_NAMES = _names()


# -- calls of ufuncs ------------------------------------------------------------------------------
def known_dtype(value: Abstract) -> np.dtype | None:
    """A dtype argument: None for None; ``Unsupported`` where it is not known or not a compiled dtype."""
    if isinstance(value, Known) and value.obj is None:
        return None
    if isinstance(value, Known):
        obj = value.obj
        dtype = _NAMES.get(obj) if type(obj) is str else None
        if isinstance(obj, np.dtype) or any(obj is cls for cls in _CLASSES):
            dtype = np.dtype(obj)  # type: ignore[call-overload]
        if dtype is not None and dtype.char in _CHARS and is_plain_dtype(dtype):
            return dtype
    raise Unsupported("a dtype that compiled code does not know")


def is_known(value: Abstract, *objects: object) -> bool:
    """Whether ``value`` is known to be one of the singletons or strings ``objects``."""
    return isinstance(value, Known) and any(
        value.obj is obj or (type(obj) is str and type(value.obj) is str and obj == value.obj) for obj in objects)


def call_ufunc(m: Any, ufunc: np.ufunc, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    """``ufunc(*args, **kwargs)`` with ``dtype``, ``out``, and defaults of the other keywords."""
    args = [m.force(a) for a in args]
    kwargs = {k: m.force(v) for k, v in kwargs.items()}
    if ufunc is np.matmul and len(args) == 2 and not kwargs:
        return matmul(m, args[0], args[1])
    op = find_op(ufunc)
    if not ufunc.nin <= len(args) <= ufunc.nargs:
        raise Unsupported("a ufunc call with another number of arguments")
    outs = [None if is_known(v, None) else v for v in args[ufunc.nin:]]
    dtype = None
    for name, value in kwargs.items():
        if name == "out":
            if outs:
                raise Unsupported("out given twice")
            items = value.items if isinstance(value, Sequence) and value.kind == "tuple" else [value]
            outs = [None if is_known(v, None) else m.force(v) for v in items]
        elif name == "dtype":
            dtype = known_dtype(value)
        elif not ((name == "where" and is_known(value, True))
                  or (name == "casting" and is_known(value, "same_kind", "unsafe"))
                  or (name == "order" and is_known(value, "K")) or (name == "subok" and is_known(value, True, False))):
            raise Unsupported(f"{ufunc.__name__} with {name}=")
    operands = args[:ufunc.nin]
    for operand in operands:
        type_of(operand)
    if all(out is None for out in outs):
        return results(m, apply(m, op, operands, dtype))
    if len(outs) == 1 and outs[0] is not None and is_known(outs[0], Ellipsis) and "out" in kwargs:     # always an array
        return as_own_array(m, apply(m, op, operands, dtype)[0])
    if ufunc.nout != 1 or len(outs) != 1:
        raise Unsupported("several outputs")
    out = outs[0]
    if not isinstance(out, Array):
        raise Unsupported("out= that is no array")
    casting = "unsafe" if is_known(kwargs.get("casting", Known(None)), "unsafe") else "same_kind"
    return update(m, out, apply(m, op, operands, dtype)[0], casting)


def truth(m: Any, value: Abstract) -> Scalar:
    """``bool(value)`` of a number or an array without axes, as a weak bool."""
    value = m.force(value)
    if isinstance(value, Array) and value.type.ndim:
        raise Unsupported("the truth of an array with axes")
    value = element(m, value)
    type_of(value)
    number = m.builder.as_value(value)
    return Scalar(m.builder.emit("py", (number,), BOOL, fn="bool"), None, guess(bool, value))
