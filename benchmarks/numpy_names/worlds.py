"""Arguments: named arrays in several dtypes and memory layouts.

Job: a ``Sample`` is an expression over names that ``argument`` makes anew for each call.  Invariants: making an
argument twice gives equal objects that share no memory.
"""

from __future__ import annotations

import ast
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

#: Dtypes that native code has; the others are for other ways.
COMPILED = "?bBhHiIlLefdFD"

#: World -> dtype and layout of the arrays in it.  ``special``: with zeros, infinities and NaNs, which may warn.
WORLDS: dict[str, tuple[str, str]] = {
    "float64": ("d", "plain"),
    "float32 strided": ("f", "strided"),
    "int64": ("l", "plain"),
    "complex128": ("D", "plain"),
    "bool": ("?", "plain"),
    "uint8 Fortran": ("B", "fortran"),
    "float64 special": ("d", "special"),
    "longdouble": ("g", "plain"),
}


@dataclass(frozen=True)
class Sample:
    """One call: ``text`` is an expression; ``world`` names the dtype and layout of its arguments, '' if it has none.

    ``ordinary``: it counts for how the name runs; where it warns or raises it never does.
    """

    group: str
    name: str
    text: str
    world: str = ""
    ordinary: bool = True
    state: str = ""  # an expression for what else the call may have changed

    @property
    def arguments(self) -> list[str]:
        """The arguments that the expression names."""
        return list(names_in(self.text))

    def make(self) -> tuple[Any, ...]:
        """New arguments."""
        return tuple(argument(name, self.world) for name in self.arguments)


@cache
def names_in(text: str) -> tuple[str, ...]:
    found = [node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    return tuple(dict.fromkeys(name for name in found if name in ARGUMENTS or name.startswith("u_")))


def has_worlds(text: str) -> bool:
    """Whether the expression has arguments that differ between worlds."""
    return any(name in _ARRAYS for name in names_in(text))


def argument(name: str, world: str) -> Any:
    """A new object of that name.  ``u_CHAR_LAYOUT_K`` is the k-th operand of a ufunc."""
    if name.startswith("u_"):
        _, char, layout, k = name.split("_")
        return operand("?" if char == "bool" else char, layout, int(k))
    if name in _ARRAYS:
        dtype, layout = WORLDS[world]
        return laid_out(values(_ARRAYS[name], dtype, layout == "special"), layout)
    return ARGUMENTS[name]()


# -- arrays whose dtype and layout the world decides -----------------------------------------------------------
def _grid(shape: tuple[int, ...], start: float, step: float) -> Callable[[], np.ndarray]:
    """Values that are no multiples of each other, of both signs, none of them zero."""

    def make() -> np.ndarray:
        n = int(np.prod(shape))
        numbers = start + step * np.arange(n) * np.where(np.arange(n) % 3 == 1, -1, 1)
        return numbers.reshape(shape)

    return make


_ARRAYS: dict[str, Callable[[], np.ndarray]] = {
    "a": _grid((6,), 1.5, 1.25),
    "b": _grid((6,), -2.0, 1.5),
    "c": lambda: np.array([3.0, 1.0, 2.0, 1.0, 3.0, 7.0]),
    "p": lambda: np.array([0.25, 0.5, 1.0, 2.0, 2.5, 4.0]),
    "m": _grid((3, 4), 1.5, 0.75),
    "n": _grid((3, 4), -2.0, 1.25),
    "r": _grid((4,), 2.5, 1.0),
    "s": lambda: np.array([[4.0, 1.0, 2.0], [1.0, 5.0, 3.0], [2.0, 3.0, 6.0]]),
    "t": _grid((2, 3, 4), 0.5, 0.5),
    "o": lambda: np.array(2.5),
    "e": lambda: np.zeros((0,)),
    "v3": lambda: np.array([1.0, 2.0, 4.0]),
    "w3": lambda: np.array([2.0, 3.0, 5.0]),
}


def values(make: Callable[[], np.ndarray], char: str, special: bool = False) -> np.ndarray:
    """The numbers of an argument as ``char`` has them."""
    numbers = make()
    if special and numbers.size > 2:
        numbers.flat[0], numbers.flat[1], numbers.flat[numbers.size - 1] = np.nan, 0.0, np.inf
    if char in "bhilqBHILQ?":
        numbers = np.abs(np.trunc(numbers)) if char in "BHILQ" else np.trunc(numbers)
    if char == "?":
        return numbers % 2 == 0
    if char in "FDG":
        return (numbers * (1 + 0.5j)).astype(char)
    return numbers.astype(char)


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """A new array with the same elements: negative and wide strides, or Fortran order."""
    if layout == "strided" and array.ndim:
        wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
        view = wide[tuple(slice(None, None, -2) for _ in array.shape)]
        view[...] = array
        return view
    return array.copy("F" if layout == "fortran" else "C")


_OPERANDS = (
    lambda: np.array([0.5, 1.5, 2.0, 3.0, 7.0]),
    lambda: np.array([2.0, 0.25, 1.0, 3.0, 5.0]),
    lambda: np.array([1.0, 1.0, 3.0, 2.0, 4.0]),
)
_SPECIAL = (
    np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.5, 1e300]),
    np.array([0.0, 1.0, -np.inf, 2.0, 0.0, 0.5, 1e300]),
    np.array([0.0, 1.0, -1.0, 2.0, 0.0, 0.5, 1e300]),
)


def operand(char: str, layout: str, k: int) -> Any:
    """The k-th operand of a ufunc: 1-d, 2-d and broadcast, with special values, or without axes."""
    if char in "mM":
        unit = np.array([3, 1, 2, 5, 8][k:] + [3, 1, 2, 5, 8][:k])
        return unit.astype("m8[D]" if char == "m" else "M8[D]")
    if char == "O":
        return np.array([3, 2, 5, 7, 1][k:] + [3, 2, 5, 7, 1][:k], object)
    if layout == "special":
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            return np.array(_SPECIAL[k] if char in "efdg" else _SPECIAL[k] * (1 + 1j)).astype(char)
    plain = values(_OPERANDS[k], char)
    if char in "bhilq":
        plain[2] = -plain[2]
    if layout == "broadcast":
        return np.asfortranarray(np.stack([plain, plain[::-1], plain])) if k == 0 else plain[::-1]
    if layout == "number":
        return plain if k == 0 else plain[1].item()
    if layout == "scalar":
        return plain[1]
    if layout == "small":  # of the size that leaves shifts and powers in range
        return values(lambda: np.array([1.0, 2.0, 0.0, 3.0, 1.0]), char) if k else plain
    return plain


# -- other arguments -------------------------------------------------------------------------------------------
def _days() -> np.ndarray:
    return np.array(["2024-02-26", "2024-02-29", "2024-03-02"], "M8[D]")


ARGUMENTS: dict[str, Callable[[], Any]] = {
    **{name: (lambda make=make: make()) for name, make in _ARRAYS.items()},
    "i": lambda: np.array([3, 0, 2, 2]),
    "j": lambda: np.array([1, 0, 2, 1, 0, 2]),
    "i3": lambda: np.array([[0, 1, 2, 0], [2, 2, 1, 0], [1, 0, 0, 2]]),
    "k": lambda: np.array([True, False, True, True, False, True]),
    "k2": lambda: np.array([[True, False, True, True], [False, False, True, False], [True, True, True, True]]),
    "bits": lambda: np.array([[1, 0, 1, 1, 0, 0, 1, 0], [0, 1, 1, 1, 1, 0, 0, 0]], np.uint8),
    "words": lambda: np.array(["pear", "fig", "apple"]),
    "objects": lambda: np.array([1, "two", 3.0], object),
    "records": lambda: np.array([(2, 1.5), (1, 2.5)], [("x", "i4"), ("y", "f8")]),
    "days": _days,
    "rng": lambda: np.random.default_rng(7),
    "text": lambda: io.StringIO("1 2 3\n4 5 6\n"),
    "file": io.BytesIO,
    "saved": lambda: io.BytesIO(_saved()),
    "square": lambda: lambda x: x * x,
    "half": lambda: lambda x, axis: x.sum(axis) / 2,
    "items": lambda: [3, 1, 2],
    "rows": lambda: [[1.0, 2.0], [3.0, 4.0]],
    "three": lambda: 3,
    "real": lambda: 1.5,
    "limit": lambda: 0.75,
    "memory": lambda: b"\x01\x02\x03\x04\x05\x06\x07\x08",
    "seq": lambda: np.random.get_state(),
}


def _saved() -> bytes:
    file = io.BytesIO()
    np.save(file, np.arange(4.0))
    return file.getvalue()
