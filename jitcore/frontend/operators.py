"""Operators of objects whose classes are written in Python.

Job: which method an operator calls.  Invariants: the order of CPython; a method that may answer NotImplemented is asked
with ``Redirect.operator``, so that the machine gives up where it does.  Used by ``operations``.
"""
from __future__ import annotations

import types

from jitcore.frontend.instances import MISSING, class_attribute
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import constant, pytype, type_version
from jitcore.frontend.protocol import Redirect, Unsupported
from jitcore.frontend.values import Abstract, Instance, Known, Opaque, Scalar

_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def has_class(value: Abstract) -> bool:
    """Whether an object's operators are methods that a class written in Python may have."""
    return isinstance(value, Instance) or (isinstance(value, Opaque) and not value.type.__flags__ & 1 << 8)


def method(m: Machine, value: Abstract, name: str) -> Abstract | None:
    """The Python function that the class of ``value`` has under ``name``; None if it has nothing there."""
    found = class_attribute(pytype(m, value), name)
    type_version(m, value)
    if found is MISSING:
        return None
    if not isinstance(found, types.FunctionType):
        raise Unsupported(f"{name} of a {pytype(m, value).__name__}")
    return constant(m, found)


def binary(m: Machine, op: str, a: Abstract, b: Abstract, inplace: bool) -> Redirect:
    """``a op b`` where one of the two has a class of its own."""
    if has_class(a):
        found = method(m, a, f"__i{op}__") if inplace else None
        if found is None:
            found = method(m, a, f"__{op}__")
            _no_override(m, a, b, f"__r{op}__")
        if found is not None:
            return Redirect(found, [a, b], operator=True)
    elif not _gives_up(a):
        raise Unsupported(f"{op} of objects")
    if has_class(b) and pytype(m, a) is not pytype(m, b):
        found = method(m, b, f"__r{op}__")
        if found is not None:
            return Redirect(found, [b, a], operator=True)
    raise Unsupported(f"{op} of objects")


def compare(m: Machine, op: str, a: Abstract, b: Abstract) -> Redirect:
    """``a op b`` where one of the two has a class of its own."""
    if has_class(a):
        _no_override(m, a, b, f"__{_SWAPPED[op]}__")
        found = method(m, a, f"__{op}__")
        if found is not None:
            return Redirect(found, [a, b], operator=True)
    elif not _gives_up(a):
        raise Unsupported(f"{op} of objects")
    if has_class(b):
        found = method(m, b, f"__{_SWAPPED[op]}__")
        if found is not None:
            return Redirect(found, [b, a], operator=True)
    raise Unsupported(f"{op} of objects")


def unary(m: Machine, name: str, value: Abstract) -> Redirect:
    """The method ``name`` of an object with a class of its own, called without arguments."""
    found = method(m, value, name)
    if found is None:
        raise Unsupported(f"{name} of a {pytype(m, value).__name__}")
    return Redirect(found, [value])


def _no_override(m: Machine, a: Abstract, b: Abstract, name: str) -> None:
    """A subclass's reflected method is asked first."""
    first, second = pytype(m, a), pytype(m, b)
    if second is not first and issubclass(second, first) and class_attribute(second, name) is not MISSING:
        raise Unsupported(f"an object of a subclass that may have another {name}")


def _gives_up(value: Abstract) -> bool:
    """Whether the object's own operators answer NotImplemented for objects that they do not know."""
    return (isinstance(value, Scalar) and value.type.weak) or (
        isinstance(value, Known) and type(value.obj) in (int, float, complex, bool, type(None)))
