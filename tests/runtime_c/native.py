"""The helpers of native code as Python functions, through their addresses."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from jitcore import _core

SYMBOLS = _core.symbols()
i32, i64, ptr, obj = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p, ctypes.py_object


def function(name: str, result: object, *args: object):
    """The helper called `name`; the GIL is held while it runs, and an exception it leaves behind is raised."""
    return ctypes.PYFUNCTYPE(result, *args)(SYMBOLS[name])


def longs(values: Sequence[int]):
    """A C array of int64."""
    return (i64 * max(len(values), 1))(*values)


def long_rows(rows: Sequence[Sequence[int]]):
    """A C array of pointers to arrays of int64, and the arrays to keep alive."""
    kept = [longs(row) for row in rows]
    return (ptr * max(len(rows), 1))(*[ctypes.addressof(row) for row in kept]), kept


_empty = function("jc_empty", obj, i32, i32, ptr, i32)
_strided = function("jc_empty_strided", obj, i32, i32, ptr, ptr)
_view = function("jc_view", obj, obj, i32, i32, ptr, ptr, ptr)
_korder = function("jc_korder", None, i32, i32, ptr, ptr, ptr, i64, ptr)


def empty(dtype: object, shape: Sequence[int], order: int = 0) -> np.ndarray:
    return _empty(np.dtype(dtype).num, len(shape), longs(shape), order)


def empty_strided(dtype: object, shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    return _strided(np.dtype(dtype).num, len(shape), longs(shape), longs(strides))


def view(base: np.ndarray, dtype: object, shape: Sequence[int], strides: Sequence[int], address: int) -> np.ndarray:
    return _view(base, np.dtype(dtype).num, len(shape), longs(shape), longs(strides), address)


def korder(shape: Sequence[int], strides: Sequence[Sequence[int]], itemsize: int) -> tuple[int, ...]:
    out = longs([0] * len(shape))
    rows, kept = long_rows(strides)
    _korder(len(shape), len(strides), rows, longs(shape), longs(shape), itemsize, out)
    del kept
    return tuple(out[:len(shape)])
