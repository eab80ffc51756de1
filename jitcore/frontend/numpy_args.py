"""Arguments of NumPy's C functions: binding, and the values that decide types.

Job: turn positional and keyword arguments into named ones, and read flags, axes and orders out of abstract
values.  Invariants: a value that decides a type or a rank is known or pinned with a guard; what is neither
raises ``Unsupported``.  Used by ``frontend.numpy_*``.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Known, Opaque, Scalar, Sequence

_NO_VALUE: Any = getattr(np, "_NoValue")  # noqa: B009 - a private name of NumPy's that its Python code passes around


def bind(m: Any, what: str, args: list[Abstract], kwargs: dict[str, Abstract], names: str,
         defaults: dict[str, Any]) -> dict[str, Abstract]:
    """Arguments by name; ``names`` in order of position, keyword-only ones behind ``*``."""
    before, _, after = names.partition("*")
    positional = before.replace(",", " ").split()
    allowed = positional + after.replace(",", " ").split()
    if len(args) > len(positional):
        raise Unsupported(f"{what} with {len(args)} arguments")
    bound = dict(zip(positional, args))
    for name, value in kwargs.items():
        if name not in allowed or name in bound:
            raise Unsupported(f"{what} with {name}=")
        bound[name] = value
    for name in allowed:
        if name not in bound:
            if name not in defaults:
                raise Unsupported(f"{what} without {name}")
            bound[name] = Known(defaults[name])
    return {name: known_mark(m.force(value)) for name, value in bound.items()}


def known_mark(value: Abstract) -> Abstract:
    """NumPy's mark for "not given" as a known object: it is the only object of its type."""
    return Known(_NO_VALUE) if isinstance(value, Opaque) and value.type is type(_NO_VALUE) else value


def is_absent(value: Abstract) -> bool:
    """None, or NumPy's mark for "not given"."""
    return isinstance(value, Known) and (value.obj is None or value.obj is _NO_VALUE)


def is_not_given(value: Abstract) -> bool:
    return isinstance(value, Known) and value.obj is _NO_VALUE


def is_const(value: Abstract, *objects: object) -> bool:
    """Whether ``value`` is known to be one of these singletons or strings."""
    return isinstance(value, Known) and any(
        value.obj is obj or (type(obj) is str and type(value.obj) is str and obj == value.obj) for obj in objects)


def require_const(value: Abstract, what: str, *objects: object) -> None:
    if not is_const(value, *objects):
        raise Unsupported(f"{what} other than {objects[0]!r}")


def flag(m: Any, value: Abstract, what: str) -> bool:
    """A bool that decides a type."""
    if isinstance(value, Known) and type(value.obj) in (bool, int):
        return bool(value.obj)
    if isinstance(value, Scalar) and value.type.weak and value.type.dtype.kind in "bi":
        return bool(m.pin(value).obj)
    raise Unsupported(f"{what} that is not known")


def known_int(m: Any, value: Abstract, what: str) -> int:
    """An int that decides a type or rank, known or pinned."""
    value = m.force(value)
    if isinstance(value, Scalar) and value.type.weak and value.type.dtype.kind == "i":
        value = m.pin(value)
    if isinstance(value, Known) and (type(value.obj) is int or isinstance(value.obj, np.integer)):
        return int(value.obj)
    raise Unsupported(f"{what} that is not known")


def items_of(m: Any, value: Abstract) -> list[Abstract] | None:
    """The items of a tuple or list; None for other values."""
    value = m.force(value)
    if isinstance(value, Sequence):
        return [m.force(item) for item in value.items]
    if isinstance(value, Known) and type(value.obj) is tuple:
        return [Known(item) for item in value.obj]
    return None


def normalized(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise Unsupported(f"axis {axis} is out of bounds")
    return axis % ndim


def known_axes(m: Any, value: Abstract, ndim: int) -> tuple[int, ...] | None:
    """An ``axis`` argument: None for all, else sorted distinct axes."""
    if is_absent(value):
        return None
    items = items_of(m, value)
    if items is None:
        return (normalized(known_int(m, value, "an axis"), ndim),)
    if not (isinstance(value, Known) or (isinstance(value, Sequence) and value.kind == "tuple")):
        raise Unsupported("axes in a list")
    axes = [normalized(known_int(m, item, "an axis"), ndim) for item in items]
    if len(set(axes)) != len(axes):
        raise Unsupported("duplicate axes")
    return tuple(sorted(axes))
