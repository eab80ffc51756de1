"""The state of one symbolic execution path: frames, locals and operand stacks of abstract values.

Job: hold what a path knows, and copy it where a path splits.  Invariants: the bottom frame is the frame
that the region stands for, those above it are inlined calls; ``clone`` keeps aliasing: two places
that held the same abstract object hold the same copy.  Only ``machine`` and the handlers use it.
"""
from __future__ import annotations

from typing import Any

from jitcore.bytecode import Code, Instr
from jitcore.frontend.unseen import CObject
from jitcore.frontend.values import (
    Abstract,
    Array,
    Cell,
    Dict,
    Function,
    Gathered,
    Instance,
    Iterator,
    LoopIterator,
    Method,
    NativeMethod,
    Partial,
    Range,
    Sequence,
    Set,
    Slice,
    View,
)
from jitcore.ir.graph import Value


class Frame:
    """One frame: ``index`` is the next instruction in ``code.instructions``, ``instr`` the present one.

    ``constant_globals`` says that globals are taken as they are, without guards.  ``deliver`` says
    how the result reaches the caller's stack: ``'push'``, or with a NULL (``'null_first'``, ``'null_last'``) where
    an inlined property answers LOAD_METHOD, ``'operator'`` where it must not be NotImplemented, ``'bool'`` where its
    truth is wanted, not at all with ``'drop'``.  ``making``: the object whose ``__init__`` runs, the call's result.
    ``trips`` counts jumps back by unit, with the number of facts at the first.  ``yields`` is the list of what a
    generator expression gives; with ``stops_at``, one truth value ends it (for ``any`` and ``all``), and nothing is
    collected.  ``loops`` are the compiled loops around the present place, outermost first: the first instruction and
    the version.
    """

    __slots__ = ("code", "index", "instr", "locals", "stack", "func", "constant_globals", "deliver", "trips",
                 "yields", "stops_at", "loops", "making")

    def __init__(self, code: Code, index: int, locals: list[Abstract], stack: list[Abstract], func: Function,
                 constant_globals: bool = False, deliver: str = "push") -> None:
        self.code, self.index, self.locals, self.stack, self.func = code, index, locals, stack, func
        self.instr: Instr = code.instructions[index]
        self.constant_globals, self.deliver = constant_globals, deliver
        self.trips: dict[int, tuple[int, int]] = {}
        self.yields: Abstract | None = None
        self.stops_at: bool | None = None
        self.loops: tuple[tuple[int, int], ...] = ()
        self.making: Abstract | None = None

    @property
    def line(self) -> int:
        return self.instr.line

    @property
    def file(self) -> str:
        return self.code.code.co_filename

    def jump(self, unit: int) -> None:
        """Go on at ``unit``."""
        self.index = self.code.at(unit)

    def pop(self) -> Abstract:
        return self.stack.pop()

    def pop_n(self, n: int) -> list[Abstract]:
        """The topmost ``n`` values, the lowest first."""
        if n == 0:
            return []
        values = self.stack[-n:]
        del self.stack[-n:]
        return values

    def push(self, value: Abstract) -> None:
        self.stack.append(value)


class Checkpoint:
    """A state of the region's own frame since which nothing was stored into what it holds: whatever fails later may
    leave there, since the interpreter then repeats only what nobody can have seen.

    ``exit``: the exit that leads there, once it was asked for (0: none can be made).  ``held``: what owns the memory
    of the arrays in the state, and the lists.
    """

    __slots__ = ("state", "exit", "held")

    def __init__(self, state: State, held: frozenset[Value]) -> None:
        self.state, self.held = state, held
        self.exit: int | None = None


class State:
    """A path's frames, and the truth of the graph's bools that it has branched on.

    ``unlikely``: the snapshot's values do not take this path, which split off inside an inlined call.
    ``checkpoint``: where what fails from now on leaves (from the first loop or store on).
    ``stored``: something was stored into an array that is visible outside, or drawn from a generator.
    ``ignored``: the kinds of floating-point reports, as bits, that the ``np.errstate`` ignore which the region has
    entered and not left.
    """

    __slots__ = ("frames", "facts", "unlikely", "checkpoint", "stored", "ignored")

    def __init__(self, frames: list[Frame], facts: dict[Value, bool] | None = None) -> None:
        self.frames = frames
        self.facts = facts or {}
        self.unlikely = False
        self.checkpoint: Checkpoint | None = None
        self.stored = False
        self.ignored = 0

    @property
    def frame(self) -> Frame:
        """The running frame."""
        return self.frames[-1]

    def clone(self) -> State:
        """A copy that shares nothing that changes."""
        copier = _Copier()
        new = State([copier.frame(frame) for frame in self.frames], dict(self.facts))
        new.unlikely, new.checkpoint, new.stored = self.unlikely, self.checkpoint, self.stored
        new.ignored = self.ignored
        return new


class _Copier:
    """Deep copies of abstract objects, each once."""

    def __init__(self) -> None:
        self._memo: dict[int, Abstract] = {}

    def frame(self, frame: Frame) -> Frame:
        func = self.copy(frame.func)
        assert isinstance(func, Function)
        new = Frame(frame.code, 0, self.all(frame.locals), self.all(frame.stack), func, frame.constant_globals,
                    frame.deliver)
        new.index, new.instr = frame.index, frame.instr     # behind the last instruction there is none
        new.trips, new.loops = dict(frame.trips), frame.loops
        new.making = None if frame.making is None else self.copy(frame.making)
        new.yields = None if frame.yields is None else self.copy(frame.yields)
        new.stops_at = frame.stops_at
        return new

    def all(self, values: Any) -> list[Abstract]:
        return [self.copy(value) for value in values]

    def copy(self, value: Abstract) -> Abstract:
        """``value`` itself if nothing in it can change; objects read from a source never do."""
        if value.source is not None or not isinstance(value, _COPIED):
            return value
        known = self._memo.get(id(value))
        if known is not None:
            return known
        new = self._empty(value)
        self._memo[id(value)] = new
        self._fill(value, new)
        return new

    def _empty(self, value: Abstract) -> Abstract:
        new: Abstract = object.__new__(type(value))
        new.source = None
        return new

    def _fill(self, old: Abstract, new: Abstract) -> None:
        for cls in type(old).__mro__[:-2]:
            for slot in cls.__dict__.get("__slots__", ()):
                part = getattr(old, slot)
                setattr(new, slot, part if slot == "globals" else self._part(part))

    def _part(self, part: Any) -> Any:
        if isinstance(part, Abstract):
            return self.copy(part)
        if type(part) is list:
            return self.all(part)
        if type(part) is tuple:
            return tuple(self._part(item) for item in part)
        if type(part) is dict:
            return {key: self._part(item) for key, item in part.items()}
        return part


_COPIED = (Array, CObject, Cell, Dict, Function, Gathered, Instance, Iterator, LoopIterator, Method, NativeMethod,
           Partial, Range, Sequence, Set, Slice, View)
