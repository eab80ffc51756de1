"""Memory shared with other libraries: ``__cuda_array_interface__`` and DLPack, both ways, without a copy.

Job: ``adopt`` makes a ``DeviceArray`` of what CuPy, torch or Numba hold; the rest serves them ours.  Invariants: an
adopted array keeps its owner; work that the owner's stream was given is waited for by ours, and a consumer's stream
waits for ours.  Specifications: the CUDA Array Interface (version 3) and DLPack 0.8 (``DLManagedTensor``).
"""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from jitcore.backends.cuda import driver
from jitcore.backends.cuda.array import DeviceArray, Memory, form_of, span

_CUDA, _CUDA_MANAGED = 2, 13
#: DLPack's type codes, by NumPy's kinds.
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_KINDS = {code: kind for kind, code in _CODES.items()}


# -- the CUDA array interface -----------------------------------------------------------------------
def interface(array: DeviceArray) -> dict[str, Any]:
    """``__cuda_array_interface__``: version 3, with the stream that consumers have to wait for."""
    form = array._form
    return {
        "shape": form.shape, "typestr": form.dtype.str, "version": 3, "stream": int(array._memory.device.stream),
        "data": (array._pointer if form.size else 0, False),
        "strides": None if form.flags.c_contiguous else form.strides,
    }


def of_interface(obj: Any) -> DeviceArray:
    """An array in the memory of an object with ``__cuda_array_interface__``, which is kept alive by it."""
    found = obj.__cuda_array_interface__
    if found.get("mask") is not None:
        raise TypeError("arrays with masks are not taken from other libraries")
    form = form_of(tuple(found["shape"]), np.dtype(found["typestr"]),
                   tuple(found["strides"]) if found.get("strides") is not None else None)
    pointer = int(found["data"][0] or 0)
    if found["data"][1]:
        raise TypeError("arrays that may not be written to are not taken from other libraries")
    return _adopted(pointer, form, found.get("stream"), obj, _owner(pointer))


def _owner(pointer: int) -> int:
    """The number of the device that has this address."""
    if pointer == 0:
        return 0
    attribute = driver.bindings().CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    driver.device(0).activate()
    return int(driver.ask("cuPointerGetAttribute", attribute, pointer))


def _adopted(pointer: int, form: np.ndarray, stream: Any, keep: object, ordinal: int) -> DeviceArray:
    device = driver.device(ordinal)
    if stream is not None:
        device.wait_for(int(stream))
    first, last = span(form)
    return DeviceArray(Memory(device, last - first, pointer + first, keep), pointer, form)


# -- DLPack -----------------------------------------------------------------------------------------
class _Tensor(ctypes.Structure):
    """``DLTensor``."""

    _fields_ = (("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64))


class _Managed(ctypes.Structure):
    """``DLManagedTensor``."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)       # of a capsule that is being taken apart: no references
_python = ctypes.pythonapi
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _python))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python))
_rename_capsule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _python))
_is_capsule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_dying_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python))

#: What consumers hold, by the address of its ``DLManagedTensor``: the structure, what it points to, and the array.
_lent: dict[int, tuple[Any, ...]] = {}
_FRESH, _USED = b"dltensor", b"used_dltensor"


@_Deleter
def _given_back(managed: Any) -> None:
    _lent.pop(ctypes.addressof(managed.contents), None)


@_Destructor
def _dropped(capsule: int) -> None:
    """A capsule that nobody took is gone."""
    if _is_capsule(capsule, _FRESH):
        _lent.pop(_dying_pointer(capsule, _FRESH), None)


def dlpack(array: DeviceArray, stream: Any = None) -> Any:
    """A ``dltensor`` capsule.  ``stream`` is the consumer's (None: the legacy default stream; -1: it takes care)."""
    form, device = array._form, array._memory.device
    if any(step % form.itemsize for step in form.strides):
        raise BufferError("strides that are no multiples of the items' size")
    if stream not in (None, -1):
        device.wait_in(int(stream))
    axes = ctypes.c_int64 * max(form.ndim, 1)
    shape, strides = axes(*form.shape), axes(*(step // form.itemsize for step in form.strides))
    tensor = _Tensor(array._pointer, _CUDA, device.ordinal, form.ndim, _CODES[form.dtype.kind], 8 * form.itemsize, 1,
                     shape, strides, 0)
    managed = _Managed(tensor, None, ctypes.cast(_given_back, ctypes.c_void_p))
    address = ctypes.addressof(managed)
    _lent[address] = managed, shape, strides, array
    return _new_capsule(address, _FRESH, ctypes.cast(_dropped, ctypes.c_void_p))


class _Borrowed:
    """A tensor of another library's: given back when nobody has it any more."""

    def __init__(self, managed: _Managed) -> None:
        self.managed = managed

    def __del__(self) -> None:
        if self.managed.deleter:
            _Deleter(self.managed.deleter)(ctypes.pointer(self.managed))


def of_dlpack(obj: Any) -> DeviceArray:
    """An array in the memory of an object with ``__dlpack__``.  Raises ``TypeError`` for what is not on a device."""
    kind, ordinal = obj.__dlpack_device__()
    if kind not in (_CUDA, _CUDA_MANAGED):
        raise TypeError("the array is not on a CUDA device")
    device = driver.device(int(ordinal))
    capsule = obj.__dlpack__(stream=int(device.stream))
    managed = _Managed.from_address(_capsule_pointer(capsule, _FRESH))
    _rename_capsule(capsule, _USED)
    keep, tensor = _Borrowed(managed), managed.tensor
    if tensor.lanes != 1 or tensor.code not in _KINDS:
        raise TypeError("elements that are no numbers of NumPy's")
    dtype = np.dtype(f"{_KINDS[tensor.code]}{tensor.bits // 8}")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = tuple(tensor.strides[axis] * dtype.itemsize for axis in range(tensor.ndim)) if tensor.strides else None
    return _adopted((tensor.data or 0) + tensor.byte_offset, form_of(shape, dtype, strides), None, keep, int(ordinal))


def adopt(obj: Any) -> DeviceArray | None:
    """The array of another library as ours, without a copy; None for what is no array on a device."""
    if isinstance(obj, DeviceArray):
        return obj
    if hasattr(type(obj), "__cuda_array_interface__"):
        return of_interface(obj)
    if hasattr(type(obj), "__dlpack_device__") and obj.__dlpack_device__()[0] in (_CUDA, _CUDA_MANAGED):
        return of_dlpack(obj)
    return None


def _dlpack_method(self: DeviceArray, *, stream: Any = None, max_version: Any = None, dl_device: Any = None,
                   copy: bool | None = None) -> Any:
    """For ``from_dlpack`` of other libraries: their stream waits for what this array is made by."""
    if dl_device is not None and dl_device != (_CUDA, self.device):
        raise BufferError("the array can be had where it is only")
    return dlpack(self.copy() if copy else self, stream)


DeviceArray.__cuda_array_interface__ = property(interface)  # type: ignore[attr-defined]
DeviceArray.__dlpack__ = _dlpack_method  # type: ignore[attr-defined]
DeviceArray.__dlpack_device__ = lambda self: (_CUDA, self.device)  # type: ignore[attr-defined]
