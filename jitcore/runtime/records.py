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
from typing import Any

from jitcore import _core
from jitcore.config import Options
from jitcore.frontend.snapshot import Left, Refusal
from jitcore.guards.sources import Source
from jitcore.pipeline import Stages


@dataclass
class Entry:
    """One region in the table of a code object; ``stages`` is None for a negative one."""

    unit: int
    region: _core.Region
    stages: Stages | None
    refusal: Refusal | None = None

    @property
    def work(self) -> int:
        """Native operations in this region."""
        return self.stages.trace.work if self.stages is not None else 0

    def next_units(self) -> set[int]:
        """Where the CALL sites of this region go on."""
        if self.stages is None:
            return set()
        return {exit.next_unit for exit in self.stages.trace.graph.exits if exit.kind == "call"}


@dataclass
class Record:
    """All that is known of one code object."""

    name: str
    file: str
    line: int
    code: weakref.ref[CodeType]
    by_hand: bool = False                                   # marked with accelerate
    found: str = ""                                         # how discovery came to mark it
    never: bool = False                                     # not to be marked, nor compiled into others
    options: Options = field(default_factory=Options)
    entries: list[Entry] = field(default_factory=list)
    compile_seconds: float = 0.0
    left_alone: str = ""
    left: list[Left] = field(default_factory=list)
    made: dict[int, int] = field(default_factory=dict)      # compilations and refusals by unit
    opaque: set[CodeType] = field(default_factory=set)      # of functions that are made anew from call to call
    varying: dict[int, set[Source]] = field(default_factory=dict)   # by unit: where another object lies each time
    on_device: dict[tuple[int, bool, str], list[Any]] = field(default_factory=dict)     # see ``runtime.device``
    asked: dict[int, int] = field(default_factory=dict)     # misses by unit since there were too many of them

    def at(self, unit: int) -> list[Entry]:
        return [entry for entry in self.entries if entry.unit == unit]

    def reached(self, entry: Entry) -> list[Entry]:
        """``entry`` and all that its CALL sites may lead to, as far as it is known."""
        found, waiting = [entry], [entry]
        while waiting:
            units = waiting.pop().next_units()
            more = [other for other in self.entries if other.unit in units and not any(other is e for e in found)]
            found += more
            waiting += more
        return found

    def idle(self) -> list[Entry]:
        """Regions on paths without any work.

        That is a region behind which some path has been gone to its end, without work in any region that can be
        reached; behind a CALL site also none in those that lead to it.
        """
        regions = [entry for entry in self.entries if entry.stages is not None]
        behind = {id(entry): self.reached(entry) for entry in regions}
        without = [entry for entry in regions if _without_work(behind[id(entry)])]
        return [entry for entry in without if entry.unit == 0 or not any(
            before.work and any(other is entry for other in behind[id(before)]) for before in regions)]


def _without_work(entries: list[Entry]) -> bool:
    """Whether regions and those that they lead to do no work.  What has a CALL site and never ran is new: the path
    that it was made for is not known yet, unless all that its sites lead to is there (a loop goes round)."""
    units = {entry.unit for entry in entries}
    ends = [entry for entry in entries if entry.next_units() <= units]
    return bool(ends) and all(entry.work == 0 and (entry in ends or entry.region.runs > 0) for entry in entries)


_records: weakref.WeakKeyDictionary[CodeKey, Record] = weakref.WeakKeyDictionary()
_keys: dict[int, CodeKey] = {}
_functions: dict[int, weakref.ref[FunctionType]] = {}
_found: set[int] = set()                                    # keys of _functions


class CodeKey:
    """Stands for a code object by identity: code objects compare by value, records must not."""

    __slots__ = ("__weakref__",)


def record_of(code: CodeType) -> Record:
    """The record of ``code``, made on first use."""
    key = _keys.get(id(code))
    if key is None:
        key = _keys[id(code)] = CodeKey()
        weakref.finalize(code, _forget, id(code)).atexit = False
        _records[key] = Record(code.co_qualname, code.co_filename, code.co_firstlineno, weakref.ref(code))
    return _records[key]


def find_record(code: CodeType) -> Record | None:
    """The record of ``code`` if it has one."""
    key = _keys.get(id(code))
    return None if key is None else _records[key]


def all_records() -> Iterator[Record]:
    yield from list(_records.values())


def codes_apart(record: Record) -> set[CodeType]:
    """Codes that are not to be compiled into a region of ``record``: they are never native, or were marked with other
    options."""
    apart = (other for other in _records.values()
             if other.never or (other.by_hand and other.options != record.options and other is not record))
    return {code for other in apart if (code := other.code()) is not None}


def forget_regions(record: Record) -> None:
    """Drop all that was compiled for ``record``, as if it had never been called."""
    record.entries.clear()
    record.left_alone = ""
    record.left.clear()
    record.made.clear()
    record.asked.clear()
    code = record.code()
    if code is not None:
        _core.remove_regions(code)
        _core.set_active(code, True)


def forget_inlined(code: CodeType) -> None:
    """Drop every region that contains the body of ``code``."""
    for record in all_records():
        for entry in record.entries[:]:
            if entry.stages is not None and any(other is code for other in entry.stages.trace.inlined):
                record.entries.remove(entry)
                owner = record.code()
                if owner is not None:
                    _core.remove_region(owner, entry.region)


def _forget(code_id: int) -> None:
    _keys.pop(code_id, None)


def remember_function(func: FunctionType, found: bool = False) -> None:
    """Keep a weak reference to a marked function, for ``disable`` and ``enable``.  ``found``: discovery marked it."""
    key = id(func)
    _functions[key] = weakref.ref(func, lambda _: _forget_id(key))
    (_found.add if found else _found.discard)(key)


def forget_function(func: FunctionType) -> None:
    _forget_id(id(func))


def _forget_id(key: int) -> None:
    _functions.pop(key, None)
    _found.discard(key)


def found_functions() -> Iterator[FunctionType]:
    """All live functions that discovery marked and nobody else."""
    for func in marked_functions():
        if id(func) in _found:
            yield func


def marked_functions() -> Iterator[FunctionType]:
    """All live functions that accelerate was asked for."""
    for reference in list(_functions.values()):
        func = reference()
        if func is not None:
            yield func
