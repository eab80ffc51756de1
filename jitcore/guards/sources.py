"""Sources: where the inputs of a region come from.

Job: name a Python object by the path on which it is read at entry, without running Python code
(the heap is frozen inside a region, so each is read once).  Invariants: a source is a value (equal
paths are equal); reading one has no effect.  ``frontend`` makes them, ``guards.pack`` evaluates
them in C, ``guards.reference`` in Python.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)      # each kind of source compares its own fields
class Source:
    """Base of all sources."""


@dataclass(frozen=True)
class Local(Source):
    """Entry ``index`` of the frame's ``localsplus`` (locals, cells, free variables, then stack)."""

    index: int
    name: str = ""

    def __str__(self) -> str:
        return f"argument `{self.name}`" if self.name else f"stack[{self.index}]"


@dataclass(frozen=True)
class DeadLocal(Local):
    """A local that nothing in the region reads: an exit hands it back, unbound if it was so at entry."""


@dataclass(frozen=True)
class Global(Source):
    """A name looked up in the function's globals, then its builtins."""

    name: str

    def __str__(self) -> str:
        return f"global `{self.name}`"


@dataclass(frozen=True)
class ModuleGlobal(Source):
    """A name in the globals of another function (reached at ``base``), then its builtins."""

    base: Source
    name: str

    def __str__(self) -> str:
        return f"global `{self.name}` of {self.base}"


@dataclass(frozen=True)
class Closure(Source):
    """The content of cell ``index`` of the closure of the function at ``base`` (None: the region's own)."""

    index: int
    name: str = ""
    base: Source | None = None

    def __str__(self) -> str:
        return f"closure variable `{self.name}`"


@dataclass(frozen=True)
class CellContent(Source):
    """The content of the cell object at ``base``."""

    base: Source
    name: str = ""

    def __str__(self) -> str:
        return f"closure variable `{self.name}`"


@dataclass(frozen=True)
class Attr(Source):
    """An attribute: of a module's dict, or an instance attribute under a type-version guard."""

    base: Source
    name: str

    def __str__(self) -> str:
        return f"{self.base}.{self.name}"


@dataclass(frozen=True)
class Item(Source):
    """``base[index]`` of an exact tuple or list."""

    base: Source
    index: int

    def __str__(self) -> str:
        return f"{self.base}[{self.index}]"


@dataclass(frozen=True)
class Key(Source):
    """``base[key]`` of an exact dict; ``key`` is a str."""

    base: Source
    key: str

    def __str__(self) -> str:
        return f"{self.base}[{self.key!r}]"


@dataclass(frozen=True)
class Iterated(Source):
    """What the iterator at ``base`` goes over: a sequence, an iterator (``enumerate``), a tuple of them (``zip``)."""

    base: Source

    def __str__(self) -> str:
        return f"what {self.base} goes over"


@dataclass(frozen=True, eq=False)
class Constant(Source):
    """An object fixed in the region itself: needs no guard, serves as a base of other sources."""

    obj: object

    def __eq__(self, other: object) -> bool:
        return type(other) is Constant and other.obj is self.obj

    def __hash__(self) -> int:
        return id(self.obj)

    def __str__(self) -> str:
        return f"a constant {type(self.obj).__name__}"
