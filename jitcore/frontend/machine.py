"""The machine: executes canonical bytecode over abstract values, path by path.

Job: run the handlers from a state until every path has ended in an exit.  Invariants: exits are made for
the region's own frame only; where an inlined call would need one, the whole trace starts again with that
call cut (``Restart``), so that it becomes a CALL site.  Nothing a region does before an exit can be seen
from outside, so a failing check may always take exit 0.  Used by ``trace``; handlers and the NumPy
modules get the machine as their first argument ``m``.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jitcore.bytecode import Instr
from jitcore.errors import REASONS
from jitcore.frontend import exceptions
from jitcore.frontend.adoption import Adopted
from jitcore.frontend.builder import Builder, CannotPin
from jitcore.frontend.checkpoints import exit_at_jump, exit_to, take
from jitcore.frontend.exits import ExitMaker, Unbuildable
from jitcore.frontend.learning import Learned, Site
from jitcore.frontend.matching import owner_of
from jitcore.frontend.meeting import Meeting
from jitcore.frontend.protocol import Exceptional, Leaves, Raises, Unsupported
from jitcore.frontend.registry import HANDLERS, LEFT
from jitcore.frontend.sites import site
from jitcore.frontend.snapshot import Left
from jitcore.frontend.state import Frame, State
from jitcore.frontend.unseen import CObject, Errstate, Raised
from jitcore.frontend.values import (
    UNBOUND,
    Abstract,
    Array,
    Iterator,
    Known,
    Lazy,
    NativeMethod,
    Partial,
    Scalar,
    Sequence,
    Set,
    TypedList,
    View,
)
from jitcore.guards.guard import Guard
from jitcore.guards.sources import Source
from jitcore.ir.graph import Block, Exit, Terminator, Value

MAX_PATHS = 400             # branches on run-time values
MAX_TRIPS = 32              # of an unrolled loop
MAX_INSTRUCTIONS = 20_000   # of one trace
MAX_BLOCKS = 600            # of its graph
MAX_SOURCES = 512           # objects that it reads at entry, one by one
MAX_PINS = 8                # values that decide types, guarded


@dataclass(frozen=True)
class Cut:
    """Why the instruction at a unit is not looked into: the place inside that cannot be in a region."""

    reason: str
    file: str
    line: int
    leave: bool = False


class Restart(Exception):
    """Trace again, with the instruction at ``unit`` of the region's own frame cut; ``seen``: without catching what it
    raises, since the exception is seen as an object."""

    def __init__(self, unit: int, cut: Cut, seen: bool = False) -> None:
        super().__init__(cut.reason)
        self.unit, self.cut, self.seen = unit, cut, seen


@dataclass
class Choices:
    """What earlier attempts at the same region have found out.

    ``cuts``: instructions of the region's own frame that are not looked into, by unit.  ``native`` and ``left``: loops
    (code object and first instruction) that are compiled as loops, and that no region contains; ``storing`` are those
    that store into visible arrays.  ``lists``: the instructions that make lists of run-time length, and their items.
    ``seen``: instructions of the region's own frame whose exceptions are seen as objects, and so not caught in the
    region.
    """

    cuts: dict[int, Cut] = field(default_factory=dict)
    native: set[tuple[object, int]] = field(default_factory=set)
    left: set[tuple[object, int]] = field(default_factory=set)
    storing: set[tuple[object, int]] = field(default_factory=set)
    lists: dict[Site, Learned] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)


class Refused(Exception):
    """No region is possible; ``kind`` is a key of ``errors.REASONS``."""

    def __init__(self, reason: str, line: int, kind: str = "unsupported") -> None:
        super().__init__(reason)
        self.line, self.kind = line, kind


class Machine:
    """Runs one region's paths.  ``builder`` takes the results, ``state`` is the running path's."""

    def __init__(self, builder: Builder, choices: Choices, first_free: int) -> None:
        self.builder, self.choices, self.cuts, self.first_free = builder, choices, choices.cuts, first_free
        self.state = State([])
        self.inlined: list[object] = []
        self.raising: dict[int, Cut] = {}               # calls by unit, inlined, in which a path ended by raising
        self.constants: dict[int, Abstract] = {}        # by id of the object (which the value keeps)
        self.lazies: dict[Source, Lazy] = {}
        self.guarded: set[tuple[object, ...]] = set()
        self.meeting = Meeting(self)
        self.adopted = Adopted(builder)
        self._ended = False
        self._announced: dict[Block, int] = {}
        self._before: tuple[list[Abstract], list[Abstract]] = ([], [])
        builder.failing, builder.failing_array = self.failing, self.failing_array
        builder.quiet = self._ignored
        self.paths = 1
        self._steps = 0
        self._pinned: dict[Value, Known] = {}

    # -- running ----------------------------------------------------------------------------------
    def run(self, state: State) -> None:
        """Execute from ``state`` until all paths have ended."""
        self.builder.block, self.state = self.builder.entry, state
        if not self.meeting.stops(False):       # it may be a loop's first instruction
            self.meeting.wait(self.builder.entry, state)
        while (found := self.meeting.next()) is not None:
            self.builder.block, self.state = found
            self._ended = False
            while True:
                depth = self.depth
                self.step()
                if self._ended or self.meeting.stops(self.depth < depth):
                    break

    def close(self) -> None:
        """Let go of the snapshot's objects: nothing that is kept refers to this machine, nor it to itself."""
        self.builder.failing = self.builder.failing_array = self.builder.quiet = _no_exit
        self.meeting.close()
        self.state = State([])

    def step(self) -> None:
        """One instruction of the running frame."""
        frames = self.state.frames
        frame, depth = frames[-1], len(frames)
        instr = frame.code.instructions[frame.index]
        frame.instr = instr
        frame.index += 1
        self.builder.line = frames[0].instr.line
        self._steps += 1
        stack = frame.stack[:]
        if not instr.mid:
            self._before = (frame.locals[:], stack)
            if (self.meeting.active or self.state.stored) and (
                    (point := self.state.checkpoint) is None or point.exit == 0 or len(point.state.frames) > depth):
                self.state.checkpoint = take(self.state)
        try:
            if self._steps > MAX_INSTRUCTIONS or len(self.builder.graph.blocks) > MAX_BLOCKS:
                raise Refused(REASONS["budget"], frames[0].instr.line, "budget")
            handler = HANDLERS.get(instr.op)
            if handler is None:
                raise Leaves(LEFT[instr.op])
            handler(self, instr)
        except (Unsupported, CannotPin, Leaves) as error:
            assert len(frames) == depth, "a handler gave up after it had called"
            frame.stack[:] = stack
            if isinstance(error, Raises) and self.catch(Raised(error.cls, self.outer_unit)):
                return
            if depth > 1 and self.state.unlikely and (exit := self._way_back()) is not None:
                self.end(exit)
            elif exceptions.only_raises(frame) or isinstance(error, Exceptional):
                self._give_up_raising(frame, instr)
            else:
                self._give_up(frame, instr, str(error) or type(error).__name__, isinstance(error, Leaves))

    @property
    def frame(self) -> Frame:
        """The running frame."""
        return self.state.frames[-1]

    @property
    def depth(self) -> int:
        """How many frames there are; 1 in the region's own."""
        return len(self.state.frames)

    # -- values -----------------------------------------------------------------------------------
    def force(self, value: Abstract) -> Abstract:
        """``value`` with its kind and type known.  Raises ``Unsupported`` where a region would read too much."""
        if isinstance(value, Lazy) and value.forced is None and len(self.builder.sources) >= MAX_SOURCES:
            raise Unsupported(f"more than {MAX_SOURCES} objects are read")
        return self.builder.force(value)

    def known(self, value: Abstract) -> Any:
        """The object that ``value`` is known to be, a tuple of such included.  Raises ``Unsupported`` otherwise."""
        value = self.force(value)
        if isinstance(value, Known):
            return value.obj
        if isinstance(value, Sequence) and value.kind == "tuple":
            return tuple(self.known(item) for item in value.items)
        raise Unsupported("an argument that is not known while compiling")

    def guard(self, guard: Guard) -> None:
        """Record a guard, once."""
        if guard not in self.builder.guards:
            self.builder.guard(guard)

    def pin(self, value: Abstract) -> Known:
        """An int or bool that decides a type: its value, guarded.  Raises ``Unsupported`` where that can't be."""
        value = self.force(value)
        if isinstance(value, Known):
            return value
        if not isinstance(value, Scalar):
            raise Unsupported("a value that decides a type is no number")
        known = self._pinned.get(value.value)
        if known is None:
            if len(self._pinned) >= MAX_PINS:
                raise Unsupported(f"more than {MAX_PINS} values decide types")
            try:
                known = self.builder.pin(value)
            except CannotPin:
                raise Unsupported("a computed value decides a type") from None
            self._pinned[value.value] = known
        return known

    def pin_index(self, value: Abstract) -> int:
        """An int that decides a type or a position, guarded."""
        known = self.pin(value)
        if type(known.obj) not in (int, bool):
            raise Unsupported("an index that is not an int")
        return int(known.obj)  # type: ignore[call-overload]

    def made(self, value: Abstract) -> Abstract:
        """Note where an object was made that no recipe can make; give up if it is known to be needed."""
        if isinstance(value, (NativeMethod, Iterator, View, Set, Partial, Errstate, CObject)):
            self.check_cut()
            value.made_at = self.outer_unit
        return value

    @property
    def outer_unit(self) -> int:
        """The unit of the region's own frame that is being executed."""
        return self.state.frames[0].instr.unit

    def check_cut(self) -> None:
        """Raise where the present instruction of the region's own frame is cut."""
        if self.depth == 1:
            cut = self.cuts.get(self.outer_unit)
            if cut is not None:
                raise (Leaves if cut.leave else Unsupported)(cut.reason)

    # -- splitting --------------------------------------------------------------------------------
    def split(self, cond: Value, likely: bool | None = None) -> State:
        """Branch on a weak bool.  The running path goes on where it is true; returns the other's state.
        ``likely`` is what it is for the snapshot, where that is known."""
        if self.paths >= MAX_PATHS:
            raise Leaves("too many branches on run-time values")
        self.paths += 1
        yes, no = self.builder.graph.new_block(), self.builder.graph.new_block()
        self.builder.block.terminator = Terminator("branch", None, cond, [(yes, ()), (no, ())], self.builder.line)
        other = self.state.clone()
        self.state.facts[cond], other.facts[cond] = True, False
        if self.depth > 1 and likely is not None:
            (other if likely else self.state).unlikely = True
        self.builder.block = yes
        self.meeting.wait(no, other, True)
        return other

    # -- ends of paths ----------------------------------------------------------------------------
    def end(self, exit: int) -> None:
        """The running path ends in exit number ``exit``; 0: back to the entry, the interpreter does it all."""
        self.builder.block.terminator = Terminator("exit", exit=exit, line=self.builder.line)
        self._ended = True

    def raises(self) -> Abstract:
        """The present instruction is sure to raise: the running path ends in front of it.  Gives something to push."""
        self.end(self.failing())
        return UNBOUND

    def end_by_return(self, value: Abstract) -> None:
        """The region's own frame returns ``value``."""
        maker = ExitMaker(self.builder)
        try:
            result = maker.make(value)
        except Unbuildable as error:
            raise self._rebuilding_fails(error) from None
        exit = Exit("return", maker.values, self.frame.instr.unit, result=result, line=self.builder.line)
        self.end(self.builder.graph.add_exit(exit))

    def jump(self, target: Block, args: tuple[Value, ...]) -> None:
        """The running path goes on in ``target``, as another one."""
        self.builder.block.terminator = Terminator("jump", targets=[(target, args)], line=self.builder.line)
        self._ended = True

    def failing(self) -> int:
        """The exit for what fails in the present instruction: the restart, or from the first loop and the first store
        on the last checkpoint.  A region that fails late should not begin anew, and after a store it must not."""
        if not self.meeting.active and not self.state.stored:
            return 0
        exit = self._to_checkpoint()
        if exit == 0 and self.state.stored:
            raise Unsupported("a check behind a store that cannot be undone")
        return exit

    def failing_array(self) -> int:
        """``failing`` for an operation on whole arrays: the exit is announced to what is made of it later."""
        exit = self.failing()
        if exit and self._announced.get(self.builder.block) != exit:
            self._announced[self.builder.block] = exit
            self.builder.emit_check("point", (), exit)
        return exit

    def _ignored(self) -> int:
        return self.state.ignored

    def note_store(self, target: Array, own: bool) -> None:
        """The present instruction stores into an array; ``own``: one that nothing outside can see."""
        state, owner = self.state, owner_of(target)
        state.stored |= not own
        if not own or state.checkpoint is None or owner in state.checkpoint.held:
            state.checkpoint = None

    def note_draw(self) -> None:
        """The present instruction has drawn a random number: what is outside has changed."""
        self.state.stored, self.state.checkpoint = True, None

    def note_change(self, l: TypedList) -> None:
        """The present instruction changes a list: one that the last checkpoint may hold ends that."""
        point, node = self.state.checkpoint, l.value.node
        if point is None or l.value in point.held or node is None or node.op not in ("list_new", "list_fill"):
            self.state.checkpoint = None

    def _to_checkpoint(self) -> int:
        """The exit that leads to the last checkpoint; 0 where there is none."""
        point = self.state.checkpoint
        return 0 if point is None else exit_to(self.builder, point, self.first_free)

    def poll(self, next_unit: int) -> None:
        """A look at pending events at a jump back.  It leaves there; where it is another thread's turn alone, the
        dispatcher goes on at ``next_unit`` with all inputs read anew."""
        exit = self.failing()
        if self.depth == 1:
            exit = exit_at_jump(self.builder, self.frame, *self._before, next_unit, self.first_free)
        if exit == 0 and self.state.stored:
            raise Unsupported("a look at pending events behind a store that cannot be undone")
        self.builder.emit_check("poll", (), exit, exact=True)

    def catch(self, error: Raised) -> bool:
        """Raise ``error`` in the running frame: True if the path goes on in a handler of its frames, else nothing has
        changed."""
        if not {error.made_at, self.outer_unit}.isdisjoint(self.choices.seen) or not (
                exceptions.unwind(self.state, error)):
            return False
        if self.depth == 1:
            self.state.unlikely = False
        return True

    def rethrow(self, error: Raised) -> None:
        """The handlers did not want ``error``: on to the next, or back to where it was made."""
        if exceptions.unwind(self.state, error):
            return
        cut = Cut("an exception is raised", self.state.frames[0].file, self.frame.line)
        if self.state.stored or self.meeting.active:
            raise Restart(error.made_at, cut, True)
        self.raising.setdefault(error.made_at, cut)
        self.end(0)

    def _give_up_raising(self, frame: Frame, instr: Instr) -> None:
        """An exception is being made.  In an inlined call nothing has happened yet: the interpreter does that call."""
        reason = "an exception is raised"
        back = self._way_back() if self.depth > 1 else None
        if back is not None:
            self.raising.setdefault(self.outer_unit, Cut(reason, frame.file, frame.line))
            self.end(back)
        elif self.depth == 1 and self.meeting.active and not instr.mid and (exit := self._to_checkpoint()) > 0:
            self._note(frame, reason, "unsupported")
            self.end(exit)
        else:
            self._give_up(frame, instr, reason, True)

    def _way_back(self) -> int | None:
        """An exit to where the interpreter can do the present instruction, or the whole call, itself."""
        if not self.state.stored:
            return self._to_checkpoint() if self.meeting.active else 0
        return self._to_checkpoint() or None

    def _give_up(self, frame: Frame, instr: Instr, reason: str, leave: bool) -> None:
        """The instruction cannot be in the region: end the path there, or cut the inlined call it is in."""
        if self.depth > 1:
            raise Restart(self.outer_unit, Cut(reason, frame.file, frame.line))
        cut = self.cuts.get(instr.unit)
        if cut is not None and cut.line:
            place = f"line {cut.line}" if cut.file == frame.file else f"at {cut.file}:{cut.line}"
            reason = f"{cut.reason} ({place})"
        if instr.mid:
            self._note(frame, reason, "unsupported")
            back = self._way_back()
            if back is None:
                raise Refused(reason, instr.line)
            self.end(back)
            return
        wanted = None if leave else site(instr, frame.stack)
        maker = ExitMaker(self.builder)
        n = 0 if wanted is None else wanted.n
        try:
            locals = maker.slots(frame.locals, self.first_free)
            stack = maker.stack(frame.stack[:len(frame.stack) - n] + list(wanted.under if wanted else ()))
            operands = maker.all(wanted.operands if wanted else [])
        except Unbuildable as error:
            raise self._rebuilding_fails(error) from None
        if wanted is None:
            exit = Exit("leave", maker.values, instr.unit, instr.unit, locals, stack, reason=reason, line=instr.line)
        else:
            exit = Exit("call", maker.values, instr.unit, instr.next_unit, locals, stack, None, wanted.kind, operands,
                        wanted.arg, reason, instr.line)
        kind = "call" if wanted is not None else "loop" if instr.op in _LOOPS else "unsupported"
        self._note(frame, reason, kind)
        self.end(self.builder.graph.add_exit(exit))

    def _rebuilding_fails(self, error: Unbuildable) -> Exception:
        frame = self.state.frames[0]
        if error.unit is None or error.unit in (self.choices.seen if error.exception else self.cuts):
            return Refused(str(error), frame.line)
        maker = frame.code.instructions[frame.code.at(error.unit)]
        leave = maker.op in ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "GET_ITER", "BUILD_SET")
        return Restart(error.unit, Cut(str(error), frame.file, maker.line, leave), error.exception)

    def _note(self, frame: Frame, reason: str, kind: str) -> None:
        left = Left(frame.file, frame.line, reason, kind)
        if left not in self.builder.left:
            self.builder.left.append(left)


_LOOPS = ("GET_ITER", "FOR_ITER", "JUMP_BACKWARD")


def _no_exit() -> int:
    return 0
