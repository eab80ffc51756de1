"""Which inner loop NumPy would run, and which conversions it would make.

Job: ``resolve``, the type rule of every op.  It asks ``ufunc.resolve_dtypes``; promotion is nowhere written
a second time.  Invariants: answers are cached and pure; ``None`` means that NumPy would raise, or that
compiled code does not hold the dtypes: the interpreter decides.  Used by the front end, which finds the
rules of conversions (``ops.casts``) here as well.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from jitcore.ir.types import COMPILED_DTYPES, ArrayType, ScalarType, Type
from jitcore.ops.builder import canonical
from jitcore.ops.casts import cast_reports, cast_warns
from jitcore.ops.op import Op, loop_signature

__all__ = ["Resolution", "cast_reports", "cast_warns", "operand_dtype", "resolve"]

_WEAK: dict[str, Any] = {"l": int, "d": float, "D": complex}
_BOOL = np.dtype(np.bool_)


@dataclass(frozen=True)
class Resolution:
    """``sig`` is spelled as in ``ufunc.types``; operands must be cast to ``inputs`` first."""

    sig: str
    inputs: tuple[np.dtype, ...]
    outputs: tuple[np.dtype, ...]


def operand_dtype(type: Type) -> Any:
    """What ``resolve_dtypes`` takes for an operand: a dtype, or ``int``, ``float``, ``complex`` for a weak
    one (a Python bool promotes as ``np.bool``); ``None`` for what is neither scalar nor array."""
    if isinstance(type, ScalarType):
        return _WEAK.get(canonical(type.dtype.char), _BOOL) if type.weak else type.dtype
    return type.dtype if isinstance(type, ArrayType) else None


def resolve(op: Op, types: tuple[Type, ...], dtype: np.dtype | None = None) -> Resolution | None:
    """The loop for operands of these types; ``dtype`` is the ufunc call's ``dtype=`` argument."""
    operands = tuple(operand_dtype(t) for t in types)
    if len(operands) != op.nin or any(o is None for o in operands):
        return None
    return _resolve(op, operands, dtype)


@lru_cache(maxsize=4096)
def _resolve(op: Op, operands: tuple[Any, ...], dtype: np.dtype | None) -> Resolution | None:
    if op.ufunc is None:
        return _resolve_own(op, operands) if dtype is None else None
    wanted = operands + (None,) * op.nout
    try:
        if dtype is None:
            found = op.ufunc.resolve_dtypes(wanted)
        else:
            found = op.ufunc.resolve_dtypes(wanted, signature=(None,) * op.nin + (dtype,) * op.nout)
    except (TypeError, LookupError, ValueError):
        return None
    chars = [d.char for d in found]
    if any(c not in COMPILED_DTYPES for c in chars):
        return None
    sig = loop_signature(op.ufunc, "".join(chars[:op.nin]) + "->" + "".join(chars[op.nin:]))
    if sig is None:
        return None
    native = tuple(np.dtype(canonical(c)) for c in chars)
    return Resolution(sig, native[:op.nin], native[op.nin:])


def _resolve_own(op: Op, operands: tuple[Any, ...]) -> Resolution | None:
    """``where`` promotes its last two operands; ``real`` and ``imag`` have one loop a dtype."""
    inputs = [np.dtype(o) if isinstance(o, type) else o for o in operands]
    if op.name == "where":
        # np.where has promoted Python scalars as weak ones since NumPy 2.0.
        try:
            common = np.result_type(*(_example(o) for o in operands[1:]))
        except TypeError:
            return None
        inputs = [_BOOL, common, common]
    for sig in op.inline:
        chars, _, result = sig.partition("->")
        if chars == "".join(canonical(i.char) for i in inputs):
            return Resolution(sig, tuple(np.dtype(c) for c in chars), (np.dtype(result),))
    return None


def _example(operand: Any) -> Any:
    return operand(0) if isinstance(operand, type) else operand
