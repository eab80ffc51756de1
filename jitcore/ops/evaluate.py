"""Lowerings carried out on NumPy arrays.

Job: ``ArrayBuilder``, a ``ScalarBuilder`` whose values are arrays (or 0-d arrays): it says what a lowering means
without a compiler.  Invariants: each primitive has the bits of the one in machine code; only primitives that
are certain (IEEE arithmetic, comparisons, choices, bits) are taken from NumPy.  Used by ``ops.probe`` and tests.
Speed does not matter here.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from jitcore.ops.builder import FLOATS, ITEMSIZE, PART, Scalar

_PREDICATES = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal,
               ">": np.greater, ">=": np.greater_equal}
_ARC = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
        "atanh": "arctanh", "atan2": "arctan2", "pow": "power"}


class ArrayBuilder:
    """``bails`` gathers the conditions of ``bail`` as bool arrays.  Call it under ``np.errstate(all="ignore")``."""

    def __init__(self) -> None:
        self.bails: list[Any] = []

    def wrap(self, array: np.ndarray) -> Scalar:
        """An array as a value."""
        dtype = array.dtype.char.replace("q", "l").replace("Q", "L")
        if dtype in PART:
            return Scalar(dtype, array.real.copy(), array.imag.copy())
        return Scalar(dtype, array)

    def unwrap(self, x: Scalar, shape: tuple[int, ...]) -> np.ndarray:
        """The array of a value."""
        out = np.empty(shape, x.dtype)
        if x.dtype in PART:
            out.real, out.imag = x.raw, x.imag
        else:
            out[...] = x.raw
        return out

    def const(self, dtype: str, value: complex) -> Scalar:
        if dtype in PART:
            value = complex(value)
            return Scalar(dtype, np.array(value.real, PART[dtype]), np.array(value.imag, PART[dtype]))
        return Scalar(dtype, np.array(value, dtype))

    # -- arithmetic -----------------------------------------------------------------------------
    def add(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, np.add(x.raw, y.raw))

    def sub(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, np.subtract(x.raw, y.raw))

    def mul(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, np.multiply(x.raw, y.raw))

    def div(self, x: Scalar, y: Scalar) -> Scalar:
        if x.dtype in FLOATS:
            return Scalar(x.dtype, np.divide(x.raw, y.raw))
        exact = np.subtract(x.raw, np.fmod(x.raw, y.raw))
        return Scalar(x.dtype, np.floor_divide(exact, y.raw))

    def rem(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, np.fmod(x.raw, y.raw))

    def neg(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, np.negative(x.raw))

    def fabs(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, np.absolute(x.raw))

    def copysign(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, np.copysign(x.raw, y.raw))

    def sqrt(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, np.sqrt(x.raw))

    def floor(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, np.floor(x.raw))

    def ceil(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, np.ceil(x.raw))

    def trunc(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, np.trunc(x.raw))

    def rint(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, np.rint(x.raw))

    def overflowing(self, op: str, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
        wrapped = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op](x.raw, y.raw)
        wide = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op](
            x.raw.astype(object), y.raw.astype(object))
        return Scalar(x.dtype, wrapped), Scalar("?", np.asarray(wide != wrapped.astype(object), bool))

    # -- comparing and choosing -----------------------------------------------------------------
    def cmp(self, pred: str, x: Scalar, y: Scalar) -> Scalar:
        return Scalar("?", _PREDICATES[pred](x.raw, y.raw))

    def isnan(self, x: Scalar) -> Scalar:
        return Scalar("?", np.not_equal(x.raw, x.raw))

    def select(self, cond: Scalar, x: Scalar, y: Scalar) -> Scalar:
        imag = None if x.imag is None else np.where(cond.raw, x.imag, y.imag)
        return Scalar(x.dtype, np.where(cond.raw, x.raw, y.raw), imag)

    # -- bits -----------------------------------------------------------------------------------
    def and_(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, np.bitwise_and(x.raw, y.raw))

    def or_(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, np.bitwise_or(x.raw, y.raw))

    def xor(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, np.bitwise_xor(x.raw, y.raw))

    def not_(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, np.invert(x.raw))

    def shl(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, np.left_shift(x.raw, y.raw))

    def shr(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, np.right_shift(x.raw, y.raw))

    def popcount(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, np.bitwise_count(self.bits(x, x.dtype.upper()).raw).astype(x.dtype))

    def bits(self, x: Scalar, dtype: str) -> Scalar:
        assert ITEMSIZE[x.dtype] == ITEMSIZE[dtype]
        return Scalar(dtype, np.asarray(x.raw).view(dtype))

    # -- dtypes ---------------------------------------------------------------------------------
    def cast(self, x: Scalar, dtype: str) -> Scalar:
        if dtype == x.dtype:
            return x
        if dtype == "?":
            zero = self.const(PART.get(x.dtype, x.dtype), 0)
            re = self.cmp("!=", self.real(x), zero)
            return self.or_(re, self.cmp("!=", self.imag(x), zero)) if x.dtype in PART else re
        if dtype in PART:
            return self.make_complex(self.cast(self.real(x), PART[dtype]), self.cast(self.imag(x), PART[dtype]))
        return Scalar(dtype, self.real(x).raw.astype(dtype))

    def make_complex(self, re: Scalar, im: Scalar) -> Scalar:
        return Scalar({"f": "F", "d": "D"}[re.dtype], re.raw, im.raw)

    def real(self, x: Scalar) -> Scalar:
        return Scalar(PART[x.dtype], x.raw) if x.dtype in PART else x

    def imag(self, x: Scalar) -> Scalar:
        return Scalar(PART[x.dtype], x.imag) if x.dtype in PART else self.const(x.dtype, 0)

    # -- functions ------------------------------------------------------------------------------
    def call_math(self, name: str, *args: Scalar) -> Scalar:
        return Scalar(args[0].dtype, getattr(np, _ARC.get(name, name))(*(a.raw for a in args)))

    def call_libm(self, name: str, *args: Scalar) -> Scalar:
        return self.call_math(name, *args)

    def bail(self, cond: Scalar) -> None:
        self.bails.append(cond.raw)
