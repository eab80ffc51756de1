"""Types of graph values.

Job: the closed set of types that a graph value can have.  Invariants: types are immutable,
hashable and compare by value; a dtype inside a type is always native-endian.  Every layer may
import this module; it imports only NumPy.

A *weak* scalar is a Python ``bool``, ``int``, ``float`` or ``complex``; a strong one is a NumPy
scalar, which takes part in promotion with its own dtype (NEP 50).  Python ``int`` is held in 64
bits; whatever does not fit leaves the compiled code.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np


def dtype_name(dtype: np.dtype) -> str:
    """NumPy's name of ``dtype``, told apart from that of an equal dtype of another C type."""
    if np.dtype(dtype.name).char == dtype.char:
        return dtype.name
    return {"l": "long", "q": "longlong", "L": "ulong", "Q": "ulonglong", "i": "intc", "I": "uintc"}[dtype.char]


@dataclass(frozen=True)
class Type:
    """Base of all graph types."""


@dataclass(frozen=True)
class ScalarType(Type):
    """One number.  ``weak`` tells a Python scalar from a NumPy one."""

    dtype: np.dtype
    weak: bool

    def __str__(self) -> str:
        if self.weak:
            return _WEAK_NAMES[self.dtype.char]
        return "bool_" if self.dtype.char == "?" else dtype_name(self.dtype)  # "bool" is Python's


@dataclass(frozen=True)
class ArrayType(Type):
    """An exact, aligned, native-endian ``numpy.ndarray``.

    ``layout`` is ``'C'`` (C-contiguous), ``'F'`` (Fortran-contiguous and not C-contiguous) or
    ``'A'`` (any strides).  Shapes are run-time values and no part of the type.
    """

    dtype: np.dtype
    ndim: int
    layout: str

    def __str__(self) -> str:
        return f"{dtype_name(self.dtype)}[{self.ndim}{self.layout}]"


@dataclass(frozen=True)
class ListType(Type):
    """A list of run-time length, made inside: all items have one type.

    A value of it is a reference: two values may be one list, and what a ``list_...`` operation changes is seen
    through both.
    """

    item: Type

    def __str__(self) -> str:
        return f"list[{self.item}]"


@dataclass(frozen=True)
class ObjectType(Type):
    """An opaque Python object."""

    def __str__(self) -> str:
        return "object"


BOOL = ScalarType(np.dtype(np.bool_), True)
INT = ScalarType(np.dtype(np.int64), True)
FLOAT = ScalarType(np.dtype(np.float64), True)
COMPLEX = ScalarType(np.dtype(np.complex128), True)
OBJECT = ObjectType()

_WEAK_NAMES = {"?": "bool", "l": "int", "q": "int", "d": "float", "D": "complex"}
_WEAK_TYPES = {"bool": BOOL, "int": INT, "float": FLOAT, "complex": COMPLEX}

#: Characters of the dtypes that compiled code may hold in graph values.
COMPILED_DTYPES = "?bBhHiIlLqQefdFD"


def is_plain_dtype(dtype: np.dtype) -> bool:
    """Whether nothing but its character makes ``dtype``: native byte order, no fields, no metadata."""
    return dtype.isnative and dtype.fields is None and dtype.metadata is None


def strong(dtype: str | np.dtype | type) -> ScalarType:
    """The type of a NumPy scalar of ``dtype``."""
    # By character: 'l' and 'q' are equal dtypes of one size but scalars of two classes.
    return _strong(np.dtype(dtype).char)


@cache
def _strong(char: str) -> ScalarType:
    return ScalarType(np.dtype(char), False)


def array(dtype: str | np.dtype | type, ndim: int, layout: str = "C") -> ArrayType:
    """The type of an array of ``dtype`` with ``ndim`` axes and memory order ``layout``."""
    return ArrayType(np.dtype(dtype), ndim, layout)


def parse_type(text: str) -> Type:
    """The type that prints as ``text``; ``ValueError`` if none does."""
    if text in _WEAK_TYPES:
        return _WEAK_TYPES[text]
    if text == "object":
        return OBJECT
    try:
        if text.startswith("list[") and text.endswith("]"):
            return ListType(parse_type(text[5:-1]))
        if text.endswith("]"):
            name, _, rest = text[:-1].partition("[")
            return array(name, int(rest[:-1]), rest[-1])
        return strong(text)
    except TypeError as error:
        raise ValueError(f"not a type: {text!r}") from error
