"""What is remembered of every marked function and its regions.

Job: the Python side of the cache: options, regions and their stages, reasons, for ``stats``, ``explain`` and the
compiler's policy.  Invariants: a record dies with its code object; marked functions are held weakly.
Used by ``runtime`` and ``api`` only.
"""
from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType

from jitcore import _core
from jitcore.config import Options
from jitcore.frontend.snapshot import Left, Refusal
from jitcore.pipeline import Stages


@dataclass
class Entry:
    """One region in the table of a code object; ``stages`` is None for a negative one."""

    unit: int
    region: _core.Region
    stages: Stages | None
    refusal: Refusal | None = None


@dataclass
class Record:
    """All that is known of one code object."""

    name: str
    file: str
    line: int
    options: Options = field(default_factory=Options)
    entries: list[Entry] = field(default_factory=list)
    compile_seconds: float = 0.0
    left_alone: str = ""
    left: list[Left] = field(default_factory=list)

    def at(self, unit: int) -> list[Entry]:
        return [entry for entry in self.entries if entry.unit == unit]

    def work(self) -> int:
        """Native operations in all regions together."""
        return sum(entry.stages.trace.work for entry in self.entries if entry.stages is not None)


_records: weakref.WeakKeyDictionary[CodeKey, Record] = weakref.WeakKeyDictionary()
_keys: dict[int, CodeKey] = {}
_functions: dict[int, weakref.ref[FunctionType]] = {}


class CodeKey:
    """Stands for a code object by identity: code objects compare by value, records must not."""

    __slots__ = ("__weakref__",)


def record_of(code: CodeType) -> Record:
    """The record of ``code``, made on first use."""
    key = _keys.get(id(code))
    if key is None:
        key = _keys[id(code)] = CodeKey()
        weakref.finalize(code, _forget, id(code)).atexit = False
        _records[key] = Record(code.co_qualname, code.co_filename, code.co_firstlineno)
    return _records[key]


def find_record(code: CodeType) -> Record | None:
    """The record of ``code`` if it has one."""
    key = _keys.get(id(code))
    return None if key is None else _records[key]


def all_records() -> Iterator[Record]:
    yield from list(_records.values())


def _forget(code_id: int) -> None:
    _keys.pop(code_id, None)


def remember_function(func: FunctionType) -> None:
    """Keep a weak reference to a marked function, for ``disable`` and ``enable``."""
    key = id(func)
    _functions[key] = weakref.ref(func, lambda _: _functions.pop(key, None))


def forget_function(func: FunctionType) -> None:
    _functions.pop(id(func), None)


def marked_functions() -> Iterator[FunctionType]:
    """All live functions that accelerate was asked for."""
    for reference in list(_functions.values()):
        func = reference()
        if func is not None:
            yield func
