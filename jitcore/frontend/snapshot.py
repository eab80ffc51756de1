"""What the front end takes and gives: a snapshot of a frame, and a trace or a refusal.

Job: the data at the front end's two doors.  Invariants: plain data, no behaviour; a snapshot's
objects are only looked at, never changed or called.  Used by ``pipeline`` and ``runtime``.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType, FunctionType

from jitcore.guards.guard import Guard
from jitcore.guards.sources import Source
from jitcore.ir.graph import Graph


@dataclass
class Snapshot:
    """A frame's state: ``locals`` are its ``localsplus``, ``stack`` its operands, bottom first.

    ``unbound`` is the object that stands for NULL in both.  Functions with a code of ``opaque`` are not looked into:
    they are known to be made anew, with other defaults, from call to call.  The texts and
    objects at ``varying`` are other ones each time: they are known by type only.  ``shared`` are the entries of the
    stack whose objects others than the frame are known to hold.
    """

    func: FunctionType
    code: CodeType
    unit: int
    locals: tuple[object, ...]
    stack: tuple[object, ...]
    unbound: object = None
    opaque: frozenset[CodeType] = frozenset()
    varying: frozenset[Source] = frozenset()
    shared: frozenset[int] = frozenset()


@dataclass
class Left:
    """A place that was left to the interpreter, for explain and the log."""

    file: str
    line: int
    reason: str
    kind: str


@dataclass(frozen=True)
class Loop:
    """A compiled loop, for explain: ``over`` says what it goes over, '' where it asks a condition."""

    file: str
    line: int
    over: str


@dataclass
class Trace:
    """A region ready to be compiled.

    ``guards`` in order of evaluation; the i-th ``Loading`` guard fills ``graph.inputs[i]``.
    ``sources`` is what ``recipe.FromSource`` indexes.  ``work`` counts native operations (arithmetic and kernels):
    0 means that nothing is gained.  ``left`` lists the places that the region hands over at.
    ``inlined`` holds the code objects whose bodies became part of the region, ``loops`` its loops.
    """

    graph: Graph
    guards: list[Guard]
    sources: list[Source]
    work: int = 0
    left: list[Left] = field(default_factory=list)
    inlined: list[CodeType] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)


@dataclass
class Refusal:
    """No region: why, and the guards for which that holds (an empty list: always)."""

    reason: str
    line: int
    guards: list[Guard] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
