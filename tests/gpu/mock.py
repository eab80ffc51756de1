"""A CUDA driver without a device: ``start`` puts it where cuda-python finds it, kernels run in the interpreter of PTX.

The library (``mock_driver.c``) is built with the C compiler that jitcore was built with.  It carries the name of the
real one, which the loader then takes for loaded.  ``start`` raises ``Unavailable`` where there is a real driver, no
cuda-python, or no compiler.
"""
from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from .memory import Memory
from .ptx import Code, Module
from .simt import launch

_SOURCE = Path(__file__).with_name("mock_driver.c")
_OUT_OF_MEMORY, _INVALID = 2, 1
_Word = ctypes.c_uint64
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_Word))


class Unavailable(Exception):
    """The mock driver cannot be used here; the text says why."""


class MockDriver:
    """What the driver has done.  ``limit``: bytes of memory; ``broken``: what calls fail."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
        self.calls: Counter[str] = Counter()
        self.symbols: list[str] = []
        self.limit = 1 << 22
        self.memory = Memory(self.limit)
        self.sizes: dict[int, int] = {}
        self.modules: dict[int, Module] = {}
        self.codes: dict[int, dict[str, Code]] = {}
        self.functions: dict[int, tuple[int, str]] = {}
        self.pinned: list[Any] = []
        self.error: Exception | None = None
        self._callback = _Callback(self._called)
        self.library.mock_set_callback(self._callback)

    def reset(self) -> None:
        """Forgets memory that was given back and what was counted."""
        self.calls.clear()
        self.symbols.clear()
        self.error = None

    @property
    def used(self) -> int:
        return sum(self.sizes.values())

    def _called(self, name: bytes, args: Any) -> int:
        self.calls[name.decode()] += 1
        try:
            return getattr(self, f"_{name.decode()}")(args) or 0
        except Exception as error:      # a callback's exception would be lost: tests look here
            self.error = error
            return _INVALID

    def _allocate(self, args: Any) -> int:
        if self.used + args[1] > self.limit:
            return _OUT_OF_MEMORY
        if self.memory.top + args[1] + 512 > len(self.memory.bytes):
            self.memory.grow(2 * len(self.memory.bytes) + args[1])
        address = self.memory.allocate(args[1])
        self.sizes[address] = args[1]
        _put(args[0], address, 8)
        return 0

    def _free(self, args: Any) -> None:
        size = self.sizes.pop(args[0])
        self.memory.release(args[0], size)

    def _info(self, args: Any) -> None:
        _put(args[0], self.limit - self.used, 8)
        _put(args[1], self.limit, 8)

    def _pinned(self, args: Any) -> None:
        self.pinned.append(ctypes.create_string_buffer(args[1]))
        _put(args[0], ctypes.addressof(self.pinned[-1]), 8)

    def _write(self, args: Any) -> None:
        self._inside(args[0], args[2])
        self.memory.write(args[0], ctypes.string_at(args[1], args[2]))

    def _read(self, args: Any) -> None:
        self._inside(args[1], args[2])
        ctypes.memmove(args[0], self.memory.read(args[1], args[2]), args[2])

    def _copy(self, args: Any) -> None:
        self._inside(args[0], args[2])
        self._inside(args[1], args[2])
        self.memory.write(args[0], self.memory.read(args[1], args[2]))

    def _fill(self, args: Any) -> None:
        self._inside(args[0], args[2])
        self.memory.write(args[0], bytes([args[1]]) * args[2])

    def _inside(self, address: int, size: int) -> None:
        if not any(start <= address and address + size <= start + length for start, length in self.sizes.items()):
            raise AssertionError(f"a copy of {size} bytes at {address:#x} is not inside one piece of memory")

    def _trim(self, args: Any) -> None:
        pass

    def _record(self, args: Any) -> None:
        pass

    def _wait(self, args: Any) -> None:
        pass

    def _load(self, args: Any) -> None:
        number = len(self.modules) + 1
        self.modules[number] = Module(ctypes.string_at(args[1]).decode())
        self.codes[number] = {}
        _put(args[0], number, 8)

    def _function(self, args: Any) -> int:
        name = ctypes.string_at(args[2]).decode()
        if name not in self.modules[args[1]].functions:
            return 500
        number = len(self.functions) + 1
        self.functions[number] = args[1], name
        _put(args[0], number, 8)
        return 0

    def _launch(self, args: Any) -> None:
        number, name = self.functions[args[0]]
        module, codes = self.modules[number], self.codes[number]
        code = codes.get(name) or codes.setdefault(name, module.flatten(name))
        pointers = ctypes.cast(args[8], ctypes.POINTER(ctypes.c_void_p))
        values = [_parameter(pointers[k], kind) for k, (_, kind) in enumerate(code.params)]
        self.symbols.append(name)
        launch(module, name, args[1], args[4], values, self.memory, codes)


def _put(address: int, number: int, size: int) -> None:
    ctypes.memmove(address, number.to_bytes(size, "little"), size)


def _parameter(address: Any, kind: str) -> np.generic:
    """A parameter of a PTX type, such as ``u64`` or ``f32``."""
    size = int(kind[1:]) // 8
    names = {"b": "u", "u": "u", "s": "i", "f": "f"}
    return np.frombuffer(ctypes.string_at(address, size), f"{names[kind[0]]}{size}")[0]


_driver: MockDriver | None = None


def start() -> MockDriver:
    """The mock driver, the same for the whole process."""
    global _driver
    if _driver is not None:
        return _driver
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
        raise Unavailable("cuda-python is not installed")
    if ctypes.util.find_library("cuda") is not None:
        raise Unavailable("there is a real driver")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Unavailable("there is no C compiler")
    path = Path(tempfile.mkdtemp()) / "libcuda.so.1"
    subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC",
                    "-Wl,-soname,libcuda.so.1", str(_SOURCE), "-o", str(path), "-ldl"], check=True)
    _driver = MockDriver(path)
    return _driver
