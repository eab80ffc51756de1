"""The memory of the simulated device, which knows who read and wrote each byte.

A launch breaks a rule if it reads or writes outside of all buffers, or what is not aligned to its size; if a thread
writes what another has read or written, or reads what another has written (nothing orders threads here); or if it reads
through the read-only cache what it also writes.
"""
from __future__ import annotations

import numpy as np

from .ptx import PtxError

BASE = 0x7F00_0000_0000
_NOBODY, _SEVERAL = -1, -2
_APART = 256


class Memory:
    """Buffers in one array of bytes."""

    def __init__(self, size: int = 1 << 23) -> None:
        self.bytes = np.full(size, 0xA5, np.uint8)
        self.inside = np.zeros(size, bool)
        self.constant = np.zeros(size, bool)
        self.top = _APART
        self.begin()

    def allocate(self, size: int, misaligned: int = 0) -> int:
        """The address of new memory, with bytes that belong to nobody on both sides."""
        at = self.top + misaligned
        self.top = -(-(at + size + _APART) // _APART) * _APART
        if self.top > len(self.bytes):
            raise MemoryError("the simulated device is full")
        self.inside[at:at + size] = True
        return BASE + at

    def grow(self, size: int) -> None:
        """As many bytes in all."""
        for name, fill in (("bytes", 0xA5), ("inside", False), ("constant", False)):
            old = getattr(self, name)
            new = np.full(size, fill, old.dtype)
            new[:len(old)] = old
            setattr(self, name, new)
        self.begin()

    def release(self, address: int, size: int) -> None:
        """The bytes belong to nobody again."""
        at = address - BASE
        self.inside[at:at + size] = False

    def write(self, address: int, data: bytes) -> None:
        at = address - BASE
        self.bytes[at:at + len(data)] = np.frombuffer(data, np.uint8)

    def read(self, address: int, size: int) -> bytes:
        return self.bytes[address - BASE:address - BASE + size].tobytes()

    def begin(self) -> None:
        """Before a launch."""
        self.reader = np.full(len(self.bytes), _NOBODY, np.int32)
        self.writer = np.full(len(self.bytes), _NOBODY, np.int32)
        self.cached = np.zeros(len(self.bytes), bool)

    def end(self) -> None:
        """Behind a launch."""
        both = self.cached & (self.writer != _NOBODY)
        if both.any():
            raise PtxError(f"ld.global.nc reads {int(both.sum())} bytes that the kernel also writes")

    def offsets(self, addresses: np.ndarray, size: int, what: str) -> np.ndarray:
        """Where accesses of ``size`` bytes lie; all of them must be aligned and inside."""
        odd = addresses % np.uint64(size) != 0
        if odd.any():
            raise PtxError(f"misaligned {what} at {int(addresses[odd][0]):#x}")
        at = (addresses - np.uint64(BASE)).astype(np.int64)
        bad = (at < 0) | (at + size > len(self.bytes))
        if not bad.any():
            bad = ~(self.inside[at] & self.inside[at + size - 1])
        if bad.any():
            raise PtxError(f"{what} out of bounds at {int(addresses[bad][0]):#x}")
        return at

    def load(self, at: np.ndarray, size: int, who: np.ndarray, cached: bool) -> np.ndarray:
        """Elements of ``size`` bytes, as ints."""
        for k in range(size):
            writer = self.writer[at + k]
            if ((writer != _NOBODY) & (writer != who)).any():
                raise PtxError("a thread reads what another has written")
            reader = self.reader[at + k]
            # Several may read one byte, in one step too.
            first = np.where(reader == _NOBODY, who, reader)
            self.reader[at + k] = np.where(first == who, who, _SEVERAL)
            shared = self.reader[at + k] != np.where(first == who, who, _SEVERAL)
            self.reader[(at + k)[shared]] = _SEVERAL
        if cached:
            self.cached[at] = True
        return self._view(size)[at // size]

    def store(self, at: np.ndarray, size: int, values: np.ndarray, who: np.ndarray) -> None:
        if self.constant[at].any():
            raise PtxError("a store into constant data")
        if len(np.unique(at)) != len(at):
            raise PtxError("two threads write one place in one step")
        for k in range(size):
            for before, what in ((self.writer, "written"), (self.reader, "read")):
                other = before[at + k]
                if ((other != _NOBODY) & (other != who)).any():
                    raise PtxError(f"a thread writes what another has {what}")
            self.writer[at + k] = who
        self._view(size)[at // size] = values

    def gather_bits(self, at: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Atomic "or" of words of 32 bits; what was there before the step."""
        words = self._view(4)
        before = words[at // 4]
        np.bitwise_or.at(words, at // 4, values)
        return before

    def _view(self, size: int) -> np.ndarray:
        return self.bytes.view(f"u{size}")
