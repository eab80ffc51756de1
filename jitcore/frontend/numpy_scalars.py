"""Arithmetic of NumPy scalars, which is not that of arrays.

Job: Python's operators where both operands are numbers and one is a NumPy scalar.  NumPy does these apart
from its ufuncs; measured against 2.4.6 and 2.5.5 over all dtypes and special values, result types and bits are
the ufunc's, except: integers that overflow warn (here: exit), products of complex numbers use no FMA, the order
of complex numbers does not look for a NaN in the imaginary parts, powers are C's ``pow`` without the array loops'
special exponents, a Python complex on the left of a float64 stays Python's.  Invariant: what differs and is not
done exactly here goes through NumPy's own operation.
Used by ``frontend.numpy_ops``.
"""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitcore.frontend import boxed
from jitcore.frontend.numpy_elementwise import apply, as_dtype, cast, find_op, guess, results, type_of
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Scalar
from jitcore.ir.graph import Value
from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, ScalarType, Type, strong
from jitcore.ops import python
from jitcore.ops.dtypes import resolve

#: Integer dtypes whose values all fit a weak int.
_FITS = "bhilBHI"


def weak(m: Any, value: Value) -> Value:
    """A strong scalar as the Python number of its kind."""
    kinds: dict[str, Type] = {"b": BOOL, "i": INT, "u": INT, "f": FLOAT, "c": COMPLEX}
    kind = value.type
    assert isinstance(kind, ScalarType)
    return m.builder.emit("unbox", (value,), kinds[kind.dtype.kind])


def _through_python(m: Any, fn: str, operands: list[Value], dtype: np.dtype) -> Abstract:
    """The operation on Python numbers, which exits where Python raises or the result leaves ``dtype``."""
    kind = FLOAT if dtype.kind == "f" else INT
    values = tuple(weak(m, value) for value in operands)
    result = m.builder.emit("py", values, kind, exit=0, fn=fn)
    if dtype.kind == "f":
        return Scalar(m.builder.emit("unbox", (result,), strong(dtype)))
    return Scalar(cast(m, result, dtype))


def binary(m: Any, op: str, ufunc: np.ufunc, a: Abstract, b: Abstract) -> Abstract:
    """``a op b``; ``op`` is the operator's name in ``operator``, ``ufunc`` the array operation."""
    found = _binary(m, op, ufunc, a, b)
    if isinstance(found, Scalar):
        found.hint = guess(ufunc, a, b)
    return found


def _binary(m: Any, op: str, ufunc: np.ufunc, a: Abstract, b: Abstract) -> Abstract:
    types = (type_of(a), type_of(b))
    if types[0].dtype.char == "D" and getattr(types[0], "weak", False) and types[1].dtype.char == "d":
        return _pythons_complex(m, op, a, b)
    declared = find_op(ufunc)
    found = resolve(declared, types)
    if found is None:
        raise Unsupported(f"{ufunc.__name__} has no loop for these operands")
    loop = found.inputs[0]
    if loop not in [type.dtype for type in types if not getattr(type, "weak", False)]:
        return results(m, apply(m, declared, (a, b)))       # neither scalar's own operation, so it is the ufunc's
    if op in ("add", "sub", "mul") and loop.kind in "iu":
        return _integer(m, op, [as_dtype(m, v, loop) for v in (a, b)], loop)
    if op == "mul" and loop.kind == "c":
        return _complex_product(m, [as_dtype(m, v, loop) for v in (a, b)], loop)
    if (op in ("floordiv", "mod") and loop.char == "e") or (op in ("lt", "le", "gt", "ge") and loop.kind == "c"):
        return _boxed(m, op, a, b)
    if op == "pow":
        if loop.char != "d" and loop.char not in _FITS:
            return _boxed(m, op, a, b)
        return _through_python(m, "pow", [as_dtype(m, v, loop) for v in (a, b)], loop)
    return results(m, apply(m, declared, (a, b)))


def _boxed(m: Any, op: str, *operands: Abstract) -> Abstract:
    """By NumPy's own scalar operation."""
    name = f"{op}_" if op in ("and", "or") else op
    return boxed.through(m, getattr(operator, name), list(operands))


def _pythons_complex(m: Any, op: str, a: Abstract, b: Abstract) -> Abstract:
    """A Python complex on the left of a float64, which is a float to it."""
    values = (m.builder.as_value(a), weak(m, m.builder.as_value(b)))
    result = python.result_type(op, tuple(value.type for value in values))
    if result is None:
        return _boxed(m, op, a, b)
    exit = 0 if python.can_exit(op, tuple(value.type for value in values)) else None
    return Scalar(m.builder.emit("py", values, result, exit=exit, fn=op))


def complex_of(m: Any, re: Value, im: Value, dtype: np.dtype) -> Value:
    """A complex scalar from its parts, which have half its size."""
    pair = m.builder.emit("py", (weak(m, re), weak(m, im)), COMPLEX, fn="complex")
    found = m.builder.emit("unbox", (pair,), strong("D"))
    return found if dtype.char == "D" else m.builder.emit("cast", (found,), strong(dtype), dtype=dtype.char)


def _complex_product(m: Any, operands: list[Value], dtype: np.dtype) -> Abstract:
    """Part by part, each step rounded and looked at for what NumPy would report."""
    part = np.dtype(dtype.char.lower())
    x, y = part.char, dtype.char
    parts = [m.builder.emit("ew", (value,), strong(part), op=name, sig=f"{y}->{x}")
             for value in operands for name in ("real", "imag")]

    def step(op: str, p: Value, q: Value) -> Value:
        return m.builder.emit("ew", (p, q), strong(part), exit=0, op=op, sig=f"{x}{x}->{x}")

    a, b, c, d = parts
    re = step("subtract", step("multiply", a, c), step("multiply", b, d))
    im = step("add", step("multiply", a, d), step("multiply", b, c))
    return Scalar(complex_of(m, re, im, dtype))


def _integer(m: Any, op: str, operands: list[Value], dtype: np.dtype) -> Abstract:
    if dtype.char in _FITS:
        return _through_python(m, op, operands, dtype)
    if op == "mul":
        return boxed.through(m, operator.mul, [Scalar(value) for value in operands])
    x, y = operands
    ufunc = np.add if op == "add" else np.subtract
    result = m.builder.emit("ew", (x, y), strong(dtype), op=ufunc.__name__, sig="LL->L")
    pair = (result, x) if op == "add" else (x, y)
    kept = m.builder.emit("ew", pair, strong(np.bool_), op="greater_equal", sig="LL->?")
    m.builder.emit_check("check", (weak(m, kept),))
    return Scalar(result)


def unary(m: Any, op: str, ufunc: np.ufunc, a: Abstract) -> Abstract:
    """``op a`` of a NumPy scalar; ``op`` is 'neg', 'pos', 'invert' or 'abs'."""
    dtype = type_of(a).dtype
    if op == "neg" and dtype.kind == "u":
        return _boxed(m, op, a)
    if op == "abs" and dtype.kind == "c":
        if dtype.char != "D":
            return boxed.through(m, abs, [a])
        size = m.builder.emit("py", (weak(m, as_dtype(m, a, dtype)),), FLOAT, exit=0, fn="abs")
        return Scalar(m.builder.emit("unbox", (size,), strong("d")))
    if op in ("neg", "abs") and dtype.kind == "i":
        return _through_python(m, op, [as_dtype(m, a, dtype)], dtype)
    return results(m, apply(m, find_op(ufunc), (a,)))
