"""The CUDA driver: context, stream, memory, modules, launches.

Job: everything that is asked of ``cuda.bindings.driver``, in one place.  Invariants: importing this module imports
nothing of CUDA; every failure is a ``DeviceError`` that says what was asked and what CUDA answered, out of memory a
``MemoryError`` that names sizes; all work goes to one stream a device, in order.  Used by ``backends.cuda`` only.

The stream waits for the legacy default stream and is waited for by it (it was made without the non-blocking flag), so
that work which other libraries give to the default stream needs no events.
"""
from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from jitcore.errors import DeviceError

#: What cuda-python needs, for messages.
HOW = "pip install 'jitcore[gpu]'"

#: The flag of events that are there for order alone; how others name the legacy default stream.
_NO_TIMING = 2
_DEFAULT_STREAMS = (0, 1)

_lock = threading.Lock()
_devices: dict[int, Device] = {}
_driver: Any = None


def bindings() -> Any:
    """``cuda.bindings.driver``, initialised.  Raises ``DeviceError`` where there is none, with what is missing."""
    global _driver
    if _driver is not None:
        return _driver
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise DeviceError(f"cuda-python is not installed ({error}): {HOW}") from None
    try:
        (status,) = driver.cuInit(0)
    except Exception as error:      # cuda.pathfinder has an exception of its own for a library that is not there
        raise DeviceError(f"no NVIDIA driver was found: {error}") from None
    if int(status) != 0:
        raise DeviceError(f"the NVIDIA driver does not start: {_words(driver, status)}")
    _driver = driver
    return driver


def _words(driver: Any, status: Any) -> str:
    """CUDA's name of a status and its text."""
    name, text = (function(status)[1] for function in (driver.cuGetErrorName, driver.cuGetErrorString))
    return f"{_decoded(name)} ({_decoded(text)})"


def _decoded(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)


def ask(what: str, *args: Any) -> Any:
    """``driver.what(*args)``: nothing, one result, or a tuple of them.  Raises ``DeviceError``."""
    driver = bindings()
    status, *results = getattr(driver, what)(*args)
    if int(status) != 0:
        raise DeviceError(f"{what}: {_words(driver, status)}")
    return None if not results else results[0] if len(results) == 1 else tuple(results)


def obstacle() -> str:
    """Why there is no device to run on; empty if there is one."""
    try:
        if ask("cuDeviceGetCount") == 0:
            return "the NVIDIA driver knows of no device"
    except DeviceError as error:
        return str(error)
    return ""


def device(ordinal: int = 0) -> Device:
    """The device with this number.  Raises ``DeviceError`` where there is none."""
    with _lock:
        found = _devices.get(ordinal)
        if found is None:
            if (why := obstacle()):
                raise DeviceError(why)
            found = _devices[ordinal] = Device(ordinal)
        return found


def devices_in_use() -> list[Device]:
    return list(_devices.values())


class Device:
    """One GPU: its primary context, a stream, and its pool of memory."""

    def __init__(self, ordinal: int) -> None:
        driver = bindings()
        self.ordinal = ordinal
        handle = ask("cuDeviceGet", ordinal)
        self.context = ask("cuDevicePrimaryCtxRetain", handle)
        ask("cuCtxSetCurrent", self.context)
        kind = driver.CUdevice_attribute

        def number(name: str) -> int:
            return int(ask("cuDeviceGetAttribute", getattr(kind, f"CU_DEVICE_ATTRIBUTE_{name}"), handle))
        self.capability = number("COMPUTE_CAPABILITY_MAJOR"), number("COMPUTE_CAPABILITY_MINOR")
        self.multiprocessors = number("MULTIPROCESSOR_COUNT")
        self.name = _decoded(ask("cuDeviceGetName", 256, handle)).strip("\0 ")
        self.stream = ask("cuStreamCreate", 0)
        self._keep_pool(driver, handle)
        self._staging: dict[bool, _Staging] = {}

    def _keep_pool(self, driver: Any, handle: Any) -> None:
        """Memory that is given back stays with the process: asking the system again would wait for the device."""
        pool = ask("cuDeviceGetDefaultMemPool", handle)
        ask("cuMemPoolSetAttribute", pool, driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            driver.cuuint64_t(2**64 - 1))
        self.pool = pool

    def activate(self) -> None:
        """Makes the context the thread's own."""
        ask("cuCtxSetCurrent", self.context)

    # -- memory -------------------------------------------------------------------------------------
    def allocate(self, nbytes: int) -> int:
        """The address of new memory.  Raises ``MemoryError`` where there is none left, naming sizes."""
        self.activate()
        driver = bindings()
        for attempt in range(2):
            status, pointer = driver.cuMemAllocAsync(nbytes, self.stream)
            if int(status) == 0:
                return int(pointer)
            if status != driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                raise DeviceError(f"cuMemAllocAsync: {_words(driver, status)}")
            if attempt == 0:        # what was given back may still be on its way
                self.synchronize()
                ask("cuMemPoolTrimTo", self.pool, 0)
        free, total = ask("cuMemGetInfo")
        raise MemoryError(f"{nbytes:,} bytes on {self.name}: {int(free):,} of {int(total):,} are free")

    def release(self, pointer: int) -> None:
        """Gives memory back when all that was asked for until now is done."""
        self.activate()
        ask("cuMemFreeAsync", pointer, self.stream)

    def write(self, pointer: int, host: int, nbytes: int) -> None:
        """Copies from host memory, which may be changed at once afterwards."""
        self.activate()
        for offset, staging, size in self._pieces(True, nbytes):
            ctypes.memmove(staging.address, host + offset, size)
            ask("cuMemcpyHtoDAsync", pointer + offset, staging.address, size, self.stream)
            staging.mark()

    def read(self, host: int, pointer: int, nbytes: int) -> None:
        """Copies to host memory, and waits until it is there."""
        self.activate()
        for offset, staging, size in self._pieces(False, nbytes):
            ask("cuMemcpyDtoHAsync", staging.address, pointer + offset, size, self.stream)
            staging.mark()
            staging.wait()
            ctypes.memmove(host + offset, staging.address, size)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copies on the device."""
        self.activate()
        ask("cuMemcpyAsync", target, source, nbytes, self.stream)

    def clear(self, pointer: int, nbytes: int) -> None:
        """Zeros."""
        self.activate()
        ask("cuMemsetD8Async", pointer, 0, nbytes, self.stream)

    def _pieces(self, writing: bool, nbytes: int) -> Any:
        """(offset, staging memory that is free, size) of the parts of a transfer."""
        found = self._staging.get(writing)
        if found is None:
            found = self._staging[writing] = _Staging(self)
        for offset in range(0, nbytes, _Staging.SIZE):
            yield offset, found.next(), min(_Staging.SIZE, nbytes - offset)

    # -- code ---------------------------------------------------------------------------------------
    def load(self, ptx: str) -> Any:
        """A module.  Raises ``DeviceError`` with what the driver says of the text."""
        self.activate()
        driver = bindings()
        log = bytearray(4096)
        options = [driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER, driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        status, module = driver.cuModuleLoadDataEx(ptx.encode() + b"\0", len(options), options, [log, len(log)])
        if int(status) != 0:
            text = bytes(log).split(b"\0")[0].decode(errors="replace").strip()
            raise DeviceError(f"cuModuleLoadDataEx: {_words(driver, status)}: {text}")
        return module

    def function(self, module: Any, name: str) -> Any:
        return ask("cuModuleGetFunction", module, name.encode())

    def launch(self, function: Any, grid: Sequence[int], block: int, values: tuple[int | float, ...],
               kinds: tuple[Any, ...], shared: int = 0) -> None:
        """Starts a kernel; ``values`` are its parameters, of these ctypes types."""
        self.activate()
        x, y, z = (*grid, 1, 1)[:3]
        ask("cuLaunchKernel", function, x, y, z, block, 1, 1, shared, self.stream, (values, kinds), 0)

    def synchronize(self) -> None:
        """Waits until all that was asked for is done.  Raises ``DeviceError`` for what failed in between."""
        self.activate()
        ask("cuStreamSynchronize", self.stream)

    def wait_for(self, stream: int) -> None:
        """What is asked for from now on waits for what another stream of the process was given."""
        if stream not in _DEFAULT_STREAMS:      # for which CUDA sees to it
            self._in_order(stream, self.stream)

    def wait_in(self, stream: int) -> None:
        """What another stream of the process is given from now on waits for what was asked for until now."""
        if stream not in _DEFAULT_STREAMS:
            self._in_order(self.stream, stream)

    def _in_order(self, first: Any, second: Any) -> None:
        self.activate()
        event = ask("cuEventCreate", _NO_TIMING)
        ask("cuEventRecord", event, first)
        ask("cuStreamWaitEvent", second, event, 0)
        ask("cuEventDestroy", event)


class _Staging:
    """Two blocks of pinned host memory, used in turn, for transfers that run beside the copies to and from them."""

    SIZE = 4 << 20

    def __init__(self, owner: Device) -> None:
        self.owner, self.turn = owner, 0
        self.blocks = [int(ask("cuMemHostAlloc", self.SIZE, 0)) for _ in range(2)]
        self.events = [ask("cuEventCreate", _NO_TIMING) for _ in range(2)]
        self.busy = [False, False]

    @property
    def address(self) -> int:
        return self.blocks[self.turn]

    def next(self) -> _Staging:
        """Turns to the other block, and waits until it is free."""
        self.turn = 1 - self.turn
        self.wait()
        return self

    def mark(self) -> None:
        """The block is in use by what was asked for until now."""
        ask("cuEventRecord", self.events[self.turn], self.owner.stream)
        self.busy[self.turn] = True

    def wait(self) -> None:
        if self.busy[self.turn]:
            ask("cuEventSynchronize", self.events[self.turn])
            self.busy[self.turn] = False
