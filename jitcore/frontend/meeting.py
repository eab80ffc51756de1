"""Where paths meet: loops, and the places behind branches.

Job: ``Meeting`` holds the paths that wait.  The first instruction of a compiled loop is a block whose parameters are
what the loop changes; a path that comes there jumps to a version of it that its state fits, or makes a new one.
From the first loop on, and where there are many, paths also meet at the targets of jumps: they wait there until all
others that can come have come, and go on as one where their states differ in numbers and arrays only.
Invariants: a path jumps to a block only if its state is the block's, object for object, but for the block's
parameters (``matching``).  Used by ``machine`` alone.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING

from jitcore.bytecode import Code
from jitcore.bytecode.liveness import Facts, facts_of
from jitcore.frontend.adoption import described
from jitcore.frontend.dead import DeadLocals, Slot
from jitcore.frontend.lists import learn
from jitcore.frontend.matching import (
    Place,
    arguments,
    differences,
    generalise,
    grown_lists,
    places_of,
)
from jitcore.frontend.snapshot import Loop
from jitcore.frontend.state import Frame, State
from jitcore.frontend.values import Abstract, Iterator, Lazy, LoopIterator
from jitcore.ir.graph import Block
from jitcore.ir.types import ScalarType

if TYPE_CHECKING:
    from jitcore.frontend.machine import Machine

MAX_VERSIONS = 8    # of a loop, for one version of the loops around it
MAX_STATES = 16     # of a loop, for all versions of those together
MEETING_PATHS = 16  # with more, paths meet in regions without loops, too


class Relooped(Exception):
    """Trace again, with ``loop`` (code object, first instruction) in ``kind``, a field of ``Choices``."""

    def __init__(self, loop: tuple[object, int], kind: str) -> None:
        super().__init__()
        self.loop, self.kind = loop, kind


@dataclass
class _Version:
    """A loop's block: the state in it, its parameters by place, its number, and the dead locals taken out of it."""

    block: Block
    state: State
    order: list[Place]
    number: int
    slots: frozenset[Slot]


@dataclass
class _Waiting:
    """A path that waits: to go on from a branch, or ``parked`` where paths meet.  ``split``: it left another path, and
    may have come to a loop's first instruction that way.  ``dead``: the locals taken out of a state that is parked."""

    block: Block
    state: State
    parked: bool = False
    split: bool = False
    dead: dict[Slot, Abstract] = field(default_factory=dict)


class Meeting:
    """The paths that wait, and the versions of loops.  ``active``: the region has a loop."""

    def __init__(self, m: Machine) -> None:
        self.m = m
        self.active = False
        self._waiting: list[_Waiting] = []
        self._versions: dict[tuple[tuple[object, ...], ...], list[_Version]] = {}
        self._wanted: dict[tuple[tuple[object, ...], ...], set[Place]] = {}
        self._facts: dict[CodeType, Facts] = {}
        self._numbers = 0
        self.dead = DeadLocals(m.builder, lambda frame: self.facts_of(frame.code))

    @property
    def merges(self) -> bool:
        """Whether paths meet at the targets of jumps: in regions with loops, and where there are many."""
        return self.active or self.m.paths > MEETING_PATHS

    def facts_of(self, code: Code) -> Facts:
        found = self._facts.get(code.code)
        if found is None:
            found = self._facts[code.code] = facts_of(code)
        return found

    def close(self) -> None:
        """Forget the machine, and all states."""
        self.__dict__.clear()

    # -- waiting ------------------------------------------------------------------------------------
    def wait(self, block: Block, state: State, split: bool = False) -> None:
        """A path will go on in ``block``."""
        self._waiting.append(_Waiting(block, state, False, split))

    def next(self) -> tuple[Block, State] | None:
        """The path to go on with.  In regions with loops the one furthest back, so that paths meet.  None where all
        have ended: then what exits hand back is complete."""
        while self._waiting:
            first = min(self._waiting, key=lambda w: _progress(w.state)) if self.merges else self._waiting[-1]
            self._waiting.remove(first)
            if first.parked:
                return self._merge(first)
            self._leave_loops(first.state.frame)
            if first.split:
                self.m.builder.block, self.m.state = first.block, first.state
                if self.stops(False):
                    continue
            return first.block, first.state
        self.dead.resolve()
        return None

    def _leave_loops(self, frame: Frame) -> None:
        """Forget the loops that the frame's next instruction is not in."""
        facts = self.facts_of(frame.code)
        while frame.loops and frame.index not in facts.bodies[frame.loops[-1][0]]:
            frame.loops = frame.loops[:-1]

    def _merge(self, first: _Waiting) -> tuple[Block, State]:
        """The path ``first`` together with those that wait at the same place and fit."""
        group, places = [first], set[Place]()
        for other in list(self._waiting):
            if (not other.parked or _where(other.state) != _where(first.state)
                    or other.dead.keys() != first.dead.keys()):
                continue
            found = differences(self.m.builder, first.state, other.state)
            if found is not None:
                group.append(other)
                places |= found
                self._waiting.remove(other)
        if len(group) == 1:
            self.dead.put_back(first.state, first.dead)
            return first.block, first.state
        block, state = self.m.builder.graph.new_block(), first.state.clone()
        order = generalise(self.m.builder, block, state, places)
        state.facts = {cond: held for cond, held in state.facts.items()
                       if all(w.state.facts.get(cond) is held for w in group)}
        state.unlikely = all(w.state.unlikely for w in group)
        state.stored = any(w.state.stored for w in group)
        if any(not isinstance(param.type, ScalarType) for param in block.params) or any(
                w.state.checkpoint is not state.checkpoint for w in group):
            state.checkpoint = None
        for path in group:
            self.m.builder.block = path.block
            self.dead.jump(path.block, block, path.dead)
            self.m.jump(block, arguments(self.m.builder, path.state, order))
        self.dead.enter(block, state, first.dead)
        return block, state

    # -- arriving -----------------------------------------------------------------------------------
    def stops(self, returned: bool) -> bool:
        """Whether the running path ends or waits in front of its next instruction.  ``returned``: from a call."""
        if self._at_loop():
            return True
        frame = self.m.frame
        facts = self.facts_of(frame.code)
        if self.merges and (returned or frame.index in facts.joins):
            found = self.dead.take_out(self.m.state)
            self._waiting.append(_Waiting(self.m.builder.block, self.m.state, True, dead=found))
            return True
        return False

    def _at_loop(self) -> bool:
        """Whether the running path has come to the first instruction of a compiled loop, where it ends."""
        frame = self.m.frame
        facts = self.facts_of(frame.code)
        self._leave_loops(frame)
        if frame.index in facts.loops and self.is_native(frame.index):
            self._enter(frame, facts)
            return True
        return False

    def is_native(self, first: int) -> bool:
        """Whether the loop of the running frame that starts at instruction ``first`` is compiled as one.  The iterator
        of a loop that the region began in is looked at now."""
        frame = self.m.frame
        if frame.code.instructions[first].op == "FOR_ITER":
            if (frame.code.code, first) in self.m.choices.left:
                return False
            if frame.stack and isinstance(frame.stack[-1], Lazy):
                frame.stack[-1] = self.m.adopted.iterator(frame.stack[-1])
            return bool(frame.stack) and isinstance(frame.stack[-1], LoopIterator)
        return (frame.code.code, first) in self.m.choices.native

    def _enter(self, frame: Frame, facts: Facts) -> None:
        """The running path comes to a loop's first instruction: from outside, or once more."""
        m, first = self.m, frame.index
        self.active = True
        while frame.loops and frame.loops[-1][0] == first:
            frame.loops = frame.loops[:-1]
        dead = self.dead.take_out(m.state)
        where = _where(m.state)
        versions = self._versions.setdefault(where, [])
        wanted = self._wanted.setdefault(where, set())
        if not versions:
            self._note(frame)
            wanted |= self._changing(frame, facts.assigned[first])
        if versions and m.state.stored and not versions[-1].state.stored:
            raise Relooped((frame.code.code, first), "storing")
        m.state.stored |= (frame.code.code, first) in m.choices.storing
        for version in reversed(versions):
            if version.slots != dead.keys():
                continue
            found = differences(m.builder, version.state, m.state)
            if found is None:
                learn(m, grown_lists(version.state, m.state))
                continue
            if found <= set(version.order):
                self.dead.jump(m.builder.block, version.block, dead)
                m.jump(version.block, arguments(m.builder, m.state, version.order))
                return
            wanted |= found
        alike = sum(len(found) for at, found in self._versions.items() if _unversioned(at) == _unversioned(where))
        if len(versions) >= MAX_VERSIONS or alike >= MAX_STATES:
            raise Relooped((frame.code.code, first), "left")
        m.state.facts = {}
        block = m.builder.graph.new_block()
        new = m.state.clone()
        self._numbers += 1
        order = generalise(m.builder, block, new, wanted)
        new.checkpoint = None
        version = _Version(block, new.clone(), order, self._numbers, frozenset(dead))
        versions.append(version)
        self.dead.jump(m.builder.block, block, dead)
        m.jump(block, arguments(m.builder, m.state, order))
        self.dead.enter(block, new, dead)
        new.frame.loops += ((first, version.number),)
        self.wait(block, new)

    def _note(self, frame: Frame) -> None:
        """Remember the loop that begins, for explain."""
        instr = frame.code.instructions[frame.index]
        over = described(frame.stack[-1]) if instr.op == "FOR_ITER" else ""
        loop = Loop(frame.file, instr.line, over)
        if loop not in self.m.builder.loops:
            self.m.builder.loops.append(loop)

    def _changing(self, frame: Frame, assigned: int) -> set[Place]:
        """The numbers and arrays that a loop is sure to change: in locals that it assigns, and its iterator."""
        depth = len(self.m.state.frames) - 1
        found: set[Place] = set()
        for at, _ in places_of(self.m.state):
            if at[0] == depth and at[1] == "locals" and assigned >> at[2] & 1 and len(at) == 3:
                found.add(at)
            if at[:3] == (depth, "stack", len(frame.stack) - 1) and at[-1] == "position":
                found.add(at)
        return found


def _progress(state: State) -> list[float]:
    """How far a path has come, for ordering: a call that is still being executed comes before what follows it."""
    return [*(frame.index for frame in state.frames), math.inf]


def _unversioned(where: tuple[tuple[object, ...], ...]) -> list[object]:
    """The same place in all versions of the loops around it."""
    return [(code, index, positions) for code, index, _, positions in where]


def _where(state: State) -> tuple[tuple[object, ...], ...]:
    """The place of a path, the versions of the loops that it is in, and how far it is in those that are unrolled."""
    return tuple((frame.code.code, frame.index, frame.loops,
                  tuple(v.position for v in frame.stack if isinstance(v, Iterator))) for frame in state.frames)

