"""Arrays on the device.

Job: ``DeviceArray`` and the memory it keeps.  Invariants: a ``DeviceArray`` is an address, a dtype, and a *form*: a
NumPy array of the same dtype, shape and strides whose elements are never looked at, so that views follow NumPy's own
rules; memory goes back to the device's pool when the last array in it is gone.  What operations do is the runtime's
matter, which puts an ``Operations`` into ``link``.
"""
from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.mixins import NDArrayOperatorsMixin

from jitcore.backends.cuda import driver
from jitcore.ir.types import COMPILED_DTYPES, is_plain_dtype


class Operations(Protocol):
    """What NumPy's functions do with device arrays."""

    def ufunc(self, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def store(self, target: DeviceArray, value: Any) -> None: ...

    def reports(self, device: driver.Device) -> None:
        """Tells, as NumPy would, of what kernels have met since the last look."""


class Link:
    """Where the runtime, which stands above this module, puts what it does."""

    operations: Operations


link = Link()


class Memory:
    """A piece of device memory: given back when nobody has it any more.  ``keep`` is the owner of foreign memory."""

    def __init__(self, device: driver.Device, nbytes: int, pointer: int | None = None, keep: object = None) -> None:
        self.device, self.nbytes, self.keep = device, nbytes, keep
        self.own = pointer is None and nbytes > 0
        self.pointer = device.allocate(nbytes) if self.own else pointer or 0

    def __del__(self) -> None:
        if getattr(self, "own", False):
            self.own = False
            try:
                self.device.release(self.pointer)
            except Exception:       # the driver is shutting down, or the device has failed: nothing is to be given back
                pass


def form_of(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None,
            order: str = "C") -> np.ndarray:
    """An array without elements of its own that looks like this one."""
    if strides is None:
        strides = contiguous(shape, dtype.itemsize, order)
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)


def contiguous(shape: tuple[int, ...], itemsize: int, order: str) -> tuple[int, ...]:
    """Strides as NumPy gives them to a new array: as if axes of length 0 had length 1."""
    strides, step = [0] * len(shape), itemsize
    for axis in range(len(shape)) if order == "F" else reversed(range(len(shape))):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def span(form: np.ndarray) -> tuple[int, int]:
    """The first byte of an array's elements, relative to its address, and the one behind the last."""
    if form.size == 0:
        return 0, 0
    first, last = byte_bounds(form)
    return first - form.ctypes.data, last - form.ctypes.data


class DeviceArray(NDArrayOperatorsMixin):
    """An array of numbers in the memory of a GPU, with NumPy's dtypes, shapes, strides and views.

    NumPy's functions on it, and functions marked with ``jitcore.accelerate`` that get it, run on the device.  They
    return before the device is done; looking at elements (``to_host``, ``print``, ``float``) waits.  Reports of
    overflow and the like come then, as ``RuntimeWarning``.
    """

    __slots__ = ("_form", "_memory", "_pointer")
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, memory: Memory, pointer: int, form: np.ndarray) -> None:
        self._memory, self._pointer, self._form = memory, pointer, form

    # -- what it is ---------------------------------------------------------------------------------
    @property
    def dtype(self) -> np.dtype:
        return self._form.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self._form.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes."""
        return self._form.strides

    @property
    def ndim(self) -> int:
        return self._form.ndim

    @property
    def size(self) -> int:
        return self._form.size

    @property
    def itemsize(self) -> int:
        return self._form.itemsize

    @property
    def nbytes(self) -> int:
        return self._form.nbytes

    @property
    def device(self) -> int:
        """The number of the device that it lives on."""
        return self._memory.device.ordinal

    def __len__(self) -> int:
        return len(self._form)

    def __repr__(self) -> str:
        return f"DeviceArray({np.array2string(self.to_host(), separator=', ', prefix='DeviceArray(')}, " \
               f"dtype={self.dtype})"

    # -- its elements -------------------------------------------------------------------------------
    def to_host(self) -> np.ndarray:
        """A new NumPy array with the same elements, shape and memory order.  Waits for the device."""
        return self._fetched().copy("K")

    def _fetched(self) -> np.ndarray:
        """A NumPy array with the same elements, shape and strides."""
        form, device = self._form, self._memory.device
        if form.flags.c_contiguous or form.flags.f_contiguous:
            host = np.empty(form.shape, form.dtype, "C" if form.flags.c_contiguous else "F")
            if host.nbytes:
                device.read(host.ctypes.data, self._pointer, host.nbytes)
        else:
            first, last = span(form)
            around = np.empty(last - first, np.uint8)
            device.read(around.ctypes.data, self._pointer + first, last - first)
            host = np.ndarray(form.shape, form.dtype, around, -first, form.strides)
        link.operations.reports(device)
        return host

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the elements are on a device: they can be had as a copy only")
        host = self.to_host()
        return host if dtype is None else host.astype(dtype, copy=False)

    def item(self, *index: Any) -> Any:
        """One element as a Python number.  Waits for the device."""
        return (self[index] if index and isinstance(self[index], DeviceArray) else self).to_host().item()

    def tolist(self) -> Any:
        return self.to_host().tolist()

    def __bool__(self) -> bool:
        return bool(self.to_host())

    def __int__(self) -> int:
        return int(self.to_host())

    def __float__(self) -> float:
        return float(self.to_host())

    def __complex__(self) -> complex:
        return complex(self.to_host())

    def __index__(self) -> int:
        return self.to_host().__index__()

    # -- views --------------------------------------------------------------------------------------
    def _view(self, form: np.ndarray) -> DeviceArray:
        """A view whose form is a view of this one's."""
        return DeviceArray(self._memory, self._pointer + form.ctypes.data - self._form.ctypes.data, form)

    def __getitem__(self, index: Any) -> Any:
        parts = _parts(index)
        if not all(map(_is_basic, parts)):
            return link.operations.function(np.ndarray.__getitem__, (self, index), {})
        form = self._form[index if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)]
        view = self._view(form)
        whole = len([part for part in parts if isinstance(part, (int, np.integer))]) == self.ndim and self.ndim > 0
        return view.to_host()[()] if whole and Ellipsis not in parts else view

    def __setitem__(self, index: Any, value: Any) -> None:
        target = self[index] if not _is_full(index, self.ndim) else self._view(self._form[(*_parts(index), Ellipsis)])
        link.operations.store(target, value)

    @property
    def T(self) -> DeviceArray:
        return self._view(self._form.T)

    def transpose(self, *axes: Any) -> DeviceArray:
        return self._view(self._form.transpose(*axes))

    def reshape(self, *shape: Any, order: Any = "C") -> DeviceArray:
        """A view where there is one, else a copy."""
        wanted = shape[0] if len(shape) == 1 else shape
        try:
            form = np.reshape(self._form, wanted, order=order, copy=False)
        except ValueError:
            whole = self.copy(order)
            return whole._view(np.reshape(whole._form, wanted, order=order, copy=False))
        return self._view(form)

    def ravel(self, order: Any = "C") -> DeviceArray:
        return self.reshape(-1, order=order)

    def copy(self, order: Any = "C") -> DeviceArray:
        """A new array, in ``order`` as NumPy has it."""
        like = np.empty_like(self._form, order=order)
        made = empty(self.shape, self.dtype, like.strides, self._memory.device)
        link.operations.store(made, self)
        return made

    # -- NumPy --------------------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return link.operations.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return link.operations.function(function, args, kwargs)


def _is_basic(part: Any) -> bool:
    return part is None or part is Ellipsis or (
        isinstance(part, (int, np.integer, slice)) and not isinstance(part, bool))


def _parts(index: Any) -> tuple[Any, ...]:
    return index if type(index) is tuple else (index,)


def _is_full(index: Any, ndim: int) -> bool:
    """Whether ``index`` names one element."""
    parts = _parts(index)
    return len(parts) == ndim and all(isinstance(part, (int, np.integer)) for part in parts)


def _method(name: str) -> Any:
    function = getattr(np, name)

    def method(self: DeviceArray, *args: Any, **kwargs: Any) -> Any:
        return link.operations.function(function, (self, *args), kwargs)
    method.__name__, method.__doc__ = name, f"As ``numpy.{name}``, on the device."
    return method


for _name in """sum prod mean std var min max any all argmin argmax cumsum cumprod clip round astype squeeze swapaxes
        take repeat dot trace diagonal nonzero""".split():
    setattr(DeviceArray, _name, _method(_name))


def empty(shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None,
          device: driver.Device | None = None) -> DeviceArray:
    """A new array whose elements are not set; its strides are those of an array without gaps.  Raises ``TypeError`` for
    a dtype that is not compiled, ``MemoryError`` naming sizes."""
    dtype = np.dtype(dtype)
    if dtype.char not in COMPILED_DTYPES or not is_plain_dtype(dtype):
        raise TypeError(f"arrays of dtype {dtype} do not live on a device")
    form = form_of(shape, dtype, strides)
    device = device or driver.device()
    first, last = span(form)
    memory = Memory(device, last - first)
    return DeviceArray(memory, memory.pointer - first, form)


def from_host(host: np.ndarray, device: driver.Device | None = None) -> DeviceArray:
    """A copy of a NumPy array on the device, in its memory order (gaps left out)."""
    whole = np.asarray(host).copy("K")
    made = empty(whole.shape, whole.dtype, whole.strides, device)
    if whole.nbytes:
        first, _ = span(whole)
        made._memory.device.write(made._pointer + first, whole.ctypes.data + first, whole.nbytes)
    return made
