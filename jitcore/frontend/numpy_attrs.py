"""Attributes of arrays and numbers.

Job: ``get`` for attributes that are data (shapes, dtypes, transposes) or methods; ``call_method`` passes to
``numpy_methods``.  Invariants: an attribute whose object is made anew by each access is a new abstract value;
what NumPy returns as it is (``x.real`` of a real array) is the same abstract value.  Called by ``attributes``,
``calls`` and ``builtin_calls``.
"""
from __future__ import annotations

import types
from typing import Any

import numpy as np

from jitcore.frontend import numpy_direct
from jitcore.frontend.numpy_matmul import call_node
from jitcore.frontend.numpy_methods import call_method
from jitcore.frontend.numpy_ops import truth
from jitcore.frontend.numpy_shapes import lengths_of
from jitcore.frontend.numpy_views import strides_of, transpose
from jitcore.frontend.protocol import Raises, Unsupported
from jitcore.frontend.values import Abstract, Array, FlatIterator, Known, NativeMethod, Opaque, Scalar, Sequence
from jitcore.ir.graph import Value
from jitcore.ir.types import BOOL, FLOAT, strong

#: Attributes that NumPy's C code makes anew each time.
_GETTERS: dict[str, Any] = {name: getattr(np.ndarray, name).__get__ for name in ("real", "imag", "flags")}
_PYTHON_TYPES: dict[str, type] = {"b": bool, "i": int, "f": float, "c": complex}


def as_int(m: Any, value: Value) -> Abstract:
    """A length or stride as a Python int."""
    number = lengths_of(m).number(value)
    return Known(number) if number is not None else Scalar(value, None, lengths_of(m).hint(value))


def get(m: Any, value: Abstract, name: str) -> Abstract:
    """``value.name`` of an array or a number."""
    value = m.force(value)
    if isinstance(value, Array):
        return _of_array(m, value, name)
    if isinstance(value, Scalar):
        return _of_python(m, value, name) if value.type.weak else _of_numpy_scalar(m, value, name)
    raise Unsupported(f"attribute {name}")


def _of_array(m: Any, array: Array, name: str) -> Abstract:
    lengths = lengths_of(m)
    dtype = array.type.dtype
    if name == "shape":
        return Sequence("tuple", [as_int(m, length) for length in lengths.shape(array)])
    if name == "ndim":
        return Known(array.type.ndim)
    if name == "size":
        return as_int(m, lengths.product(lengths.shape(array)))
    if name == "dtype":
        return Known(dtype)
    if name == "itemsize":
        return Known(dtype.itemsize)
    if name == "nbytes":
        size = lengths.product(lengths.shape(array))
        return as_int(m, lengths.idx("mul", size, lengths.const(dtype.itemsize)))
    if name == "strides":
        return Sequence("tuple", [as_int(m, stride) for stride in strides_of(m, array)])
    if name == "T":
        return transpose(m, array)
    if name == "mT" and array.type.ndim >= 2:
        ndim = array.type.ndim
        return transpose(m, array, (*range(ndim - 2), ndim - 1, ndim - 2))
    if name == "real" and dtype.kind != "c":
        return array
    if name == "flat":
        return FlatIterator(array, Known(0))
    if name in _GETTERS:
        return numpy_direct.through(m, _GETTERS[name], [array], {}, "a", view=True)
    return _method(np.ndarray, array, name)


def of_flags(m: Any, flags: Opaque, name: str) -> Abstract:
    """One of an array's flags."""
    getter = getattr(type(np.empty(0).flags), name, None)
    if name.startswith("_") or type(getter) is not types.GetSetDescriptorType or flags.value is None:
        raise Unsupported(f"attribute {name} of an array's flags")
    return Scalar(call_node(m, getter.__get__, (flags.value,), (("v", 0),), BOOL))


def _of_numpy_scalar(m: Any, value: Scalar, name: str) -> Abstract:
    dtype = value.type.dtype
    constants: dict[str, Any] = {"ndim": 0, "size": 1, "dtype": dtype, "itemsize": dtype.itemsize,
                                 "nbytes": dtype.itemsize}
    if name in constants:
        return Known(constants[name])
    if name in ("shape", "strides"):
        return Sequence("tuple", [])
    if name == "T" or (name == "real" and dtype.kind != "c"):
        return value
    if name in ("real", "imag") and dtype.kind == "c":
        part = np.dtype(dtype.char.lower())
        return Scalar(m.builder.emit("ew", (value.value,), strong(part), op=name, sig=f"{dtype.char}->{part.char}"))
    if name == "imag":
        return Known(dtype.type(0))
    return _method(dtype.type, value, name)


def _of_python(m: Any, value: Scalar, name: str) -> Abstract:
    kind = value.type.dtype.kind
    if kind in "if" and name == "real":
        return value
    if kind == "c" and name in ("real", "imag"):
        hint = None if value.hint is None else getattr(value.hint, name)
        return Scalar(m.builder.emit("py", (value.value,), FLOAT, fn=name), None, hint)
    if kind in "bif" and name == "imag":
        return Known(0.0 if kind == "f" else 0)
    if kind == "i" and name == "numerator":
        return value
    if kind in "bi" and name == "denominator":
        return Known(1)
    return _method(_PYTHON_TYPES[kind], value, name)


def _method(cls: type, value: Abstract, name: str) -> Abstract:
    found = getattr(cls, name, None)
    if isinstance(found, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return NativeMethod(value, name)
    if not hasattr(cls, name):
        raise Raises(AttributeError, f"attribute {name} is absent")
    raise Unsupported(f"attribute {name} of a {cls.__name__}")


__all__ = ["as_int", "call_method", "get", "truth"]
