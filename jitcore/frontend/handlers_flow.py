"""Handlers: jumps, loops, return, raise."""
from __future__ import annotations

from jitcore.bytecode import Code, Instr
from jitcore.frontend import iteration, lists, operations
from jitcore.frontend.ahead import loop_ahead
from jitcore.frontend.calls import deliver
from jitcore.frontend.machine import MAX_TRIPS, Machine
from jitcore.frontend.meeting import Relooped
from jitcore.frontend.objects import is_same, known_range
from jitcore.frontend.protocol import Leaves, Raises, Unsupported
from jitcore.frontend.registry import handles
from jitcore.frontend.state import Frame, State
from jitcore.frontend.values import (
    Abstract,
    Array,
    Gathered,
    Instance,
    Iterator,
    Known,
    LoopIterator,
    NativeMethod,
    Range,
    Scalar,
    Sequence,
    TypedList,
)

MAX_UNROLLED = 800          # instructions of a loop over a range that is unrolled


@handles("JUMP")
def jump(m: Machine, instr: Instr) -> None:
    m.frame.jump(_target(instr))


@handles("JUMP_BACKWARD")
def jump_backward(m: Machine, instr: Instr) -> None:
    _back(m, instr)
    m.frame.jump(_target(instr))


def _target(instr: Instr) -> int:
    assert instr.target is not None
    return instr.target


def _unrolled(m: Machine, instr: Instr) -> bool:
    """Whether a jump back belongs to a loop over items that are known one by one."""
    code = m.frame.code
    return code.instructions[code.at(_target(instr))].op == "FOR_ITER" and isinstance(m.frame.stack[-1], Iterator)


def _back(m: Machine, instr: Instr) -> None:
    """A loop's back edge.  Loops that are decided while tracing go round; all others are left here."""
    if _unrolled(m, instr):
        return
    loop = (m.frame.code.code, m.frame.code.at(_target(instr)))
    if m.meeting.is_native(loop[1]):
        m.poll(_target(instr) if instr.op == "JUMP_BACKWARD" else instr.unit)
        return
    if loop in m.choices.left:
        raise Leaves("a loop on run-time values")
    trips = m.frame.trips
    count, facts = trips.get(instr.unit, (0, len(m.state.facts)))
    if len(m.state.facts) > facts or count >= MAX_TRIPS:
        raise Relooped(loop, "native")
    trips[instr.unit] = (count + 1, facts)


@handles("POP_JUMP_IF_TRUE")
def pop_jump_if_true(m: Machine, instr: Instr) -> None:
    _branch(m, instr, True, True)


@handles("POP_JUMP_IF_FALSE")
def pop_jump_if_false(m: Machine, instr: Instr) -> None:
    _branch(m, instr, False, True)


@handles("JUMP_IF_TRUE_OR_POP")
def jump_if_true_or_pop(m: Machine, instr: Instr) -> None:
    _branch(m, instr, True, False)


@handles("JUMP_IF_FALSE_OR_POP")
def jump_if_false_or_pop(m: Machine, instr: Instr) -> None:
    _branch(m, instr, False, False)


def _branch(m: Machine, instr: Instr, jumps_on: bool, pops: bool) -> None:
    """Jump on the truth of the top: decided now, or two paths."""
    frame, target = m.frame, _target(instr)
    value = frame.pop()
    try:
        found = operations.truth(m, value)
    except Unsupported as error:
        raise Leaves(str(error)) from None
    if isinstance(found, bool):
        if found is jumps_on:
            _goto(m, instr)
        if found is jumps_on and not pops:
            frame.push(value)
        return
    if target <= instr.unit and not _unrolled(m, instr):
        loop = (frame.code.code, frame.code.at(target))
        if loop in m.choices.left:
            raise Leaves("a loop on run-time values")
        if not m.meeting.is_native(loop[1]):
            raise Relooped(loop, "native")
        m.poll(instr.unit)
    if not pops:
        frame.push(value)                   # the copy must hold it too
    other = m.split(found, operations.truth_hint(m, value))
    jumping, falling = (m.state, other) if jumps_on else (other, m.state)
    jumping.frame.jump(target)
    if not pops:
        falling.frame.pop()


def _goto(m: Machine, instr: Instr) -> None:
    """A jump that is decided."""
    if _target(instr) <= instr.unit:
        _back(m, instr)
    m.frame.jump(_target(instr))


@handles("POP_JUMP_IF_NONE")
def pop_jump_if_none(m: Machine, instr: Instr) -> None:
    _jump_none(m, instr, True)


@handles("POP_JUMP_IF_NOT_NONE")
def pop_jump_if_not_none(m: Machine, instr: Instr) -> None:
    _jump_none(m, instr, False)


def _jump_none(m: Machine, instr: Instr, wanted: bool) -> None:
    value = m.force(m.frame.pop())
    same = False if isinstance(value, (Iterator, NativeMethod)) else is_same(m, value, Known(None))
    if same is None:
        raise Leaves("identity of objects that is not known")
    if same is wanted:
        _goto(m, instr)


@handles("GET_ITER")
def get_iter(m: Machine, instr: Instr) -> None:
    """A loop begins.  One whose trips are known is unrolled; any other is left here."""
    m.check_cut()
    value = m.force(m.frame.pop())
    try:
        runtime = _stays(m, value) if isinstance(value, Range) else iteration.is_runtime(m, value)
        if runtime and _may_stay(m) is None:
            raise Leaves("a loop on run-time values")
        loop = iteration.loop_iterator(m, value) if runtime else None
        if loop is None:
            unrolled = iteration.iterate(m, value)
            if isinstance(unrolled, Iterator):
                _check_unrolled(m, len(unrolled.items) - unrolled.position)
            m.frame.push(unrolled)
        else:
            m.frame.push(loop)
    except Raises:
        raise
    except Unsupported as error:
        raise Leaves(str(error)) from None


def _may_stay(m: Machine) -> tuple[Code, int] | None:
    """The loop that begins, if it may be compiled as one."""
    found = loop_ahead(m, m.frame.stack)
    return None if found is None or (found[0].code, found[1]) in m.choices.left else found


def _stays(m: Machine, value: Range) -> bool:
    """Whether a loop over a range stays a loop: its trips are not known, or many."""
    found = _may_stay(m)
    if found is None:
        return False
    code, first = found
    try:
        trips = len(known_range(value))
    except Unsupported:
        return True
    return trips > MAX_TRIPS or trips * _size(m, code, first)[0] > MAX_UNROLLED


def _size(m: Machine, code: Code, first: int) -> tuple[int, bool]:
    """What a trip of the loop at ``first`` counts in instructions, and whether there are loops in it."""
    facts = m.meeting.facts_of(code)
    last = facts.loops.get(first, first)
    inner = any(first < other <= last for other in facts.loops)
    return (last - first) * (4 if inner else 1), inner


def _check_unrolled(m: Machine, trips: int) -> None:
    """Raises ``Leaves`` where unrolling would repeat loops all too often."""
    found = loop_ahead(m, m.frame.stack)
    if found is not None:
        size, inner = _size(m, *found)
        if inner and trips * size > MAX_UNROLLED:
            raise Leaves("a loop with loops in it that is too long to be unrolled")


@handles("FOR_ITER")
def for_iter(m: Machine, instr: Instr) -> None:
    frame = m.frame
    iterator = m.force(frame.stack[-1])
    if isinstance(iterator, LoopIterator):
        if not m.meeting.is_native(frame.index - 1):
            raise Leaves("a loop on run-time values")
        _next(m, instr, iterator)
        return
    if not isinstance(iterator, Iterator):
        raise Leaves("a loop on run-time values")
    coming = iteration.upcoming(iterator)
    if coming:
        if iterator.position >= MAX_TRIPS:
            raise Leaves(f"a loop of more than {MAX_TRIPS} trips")
        iterator.position += 1
        frame.push(coming[0])
        return
    frame.pop()
    frame.jump(_target(instr))


def _next(m: Machine, instr: Instr, iterator: LoopIterator) -> None:
    """The next item of a compiled loop, or on behind the loop: two paths."""
    frame = m.frame
    found = operations.truth(m, iteration.more(m, iterator))
    if found is False:
        frame.pop()
        frame.jump(_target(instr))
        return
    if not isinstance(found, bool):
        other = m.split(found)
        other.frame.pop()
        other.frame.jump(_target(instr))
    item = iteration.take(m, iterator)
    iteration.advance(m, iterator)
    frame.push(item)


@handles("RETURN_VALUE")
def return_value(m: Machine, instr: Instr) -> None:
    frame = m.frame
    if m.depth == 1:
        m.end_by_return(frame.stack[-1])
        return
    value = returned(m, frame)
    m.state.frames.pop()
    if m.depth == 1:
        m.state.unlikely = False
    deliver(m, value if frame.yields is None else _given(m, frame.yields, frame.stops_at), frame)


def _given(m: Machine, gathered: Abstract, stops_at: bool | None) -> Abstract:
    """The generator that gives what was gathered; one truth value, if ``any`` or ``all`` did not find theirs."""
    if stops_at is not None:
        return m.made(Iterator([Known(not stops_at)], None, True))
    if isinstance(gathered, TypedList):
        return Gathered(gathered)
    assert isinstance(gathered, Sequence)
    return m.made(Iterator(gathered.items, None, True))


def _yielded(m: Machine, value: Abstract) -> None:
    """A generator expression that is run to its end gives ``value``."""
    frame, wanted = m.frame, m.frame.stops_at
    assert frame.yields is not None
    if wanted is not None:
        found = operations.truth(m, value)
        frame.push(Known(None))
        if isinstance(found, bool):
            if found is wanted:
                _stop(m, m.state, wanted)
        else:
            other = m.split(found, operations.truth_hint(m, value))
            _stop(m, m.state if wanted else other, wanted)
        return
    if isinstance(frame.yields, TypedList):
        lists.append(m, frame.yields, value)
    else:
        assert isinstance(frame.yields, Sequence)
        frame.yields.items.append(value)
    frame.push(Known(None))


def _stop(m: Machine, state: State, wanted: bool) -> None:
    """A generator expression ends where ``any`` or ``all`` have found what they look for."""
    state.frames.pop()
    if len(state.frames) == 1:
        state.unlikely = False
    state.frame.push(m.made(Iterator([Known(wanted)], None, True)))


def returned(m: Machine, frame: Frame) -> Abstract:
    """What the caller of an inlined call gets."""
    value = frame.stack[-1]
    if frame.making is not None:
        if not is_same(m, value, Known(None)):
            raise Leaves("__init__ that gives something else than None")
        return frame.making
    if frame.deliver in ("operator", "bool"):
        known = m.force(value)
        if isinstance(known, Known) and known.obj is NotImplemented:
            raise Leaves("an operator that is not implemented")
        if not isinstance(known, (Known, Scalar, Array, Sequence, Instance)):
            raise Leaves("an operator that gives an object")
    return operations.truth_value(m, value) if frame.deliver == "bool" else value


@handles("INTERPRET")
def interpret(m: Machine, instr: Instr) -> None:
    """Left to the interpreter, except for what a generator expression consists of while it is run to its end."""
    frame = m.frame
    if frame.yields is not None and instr.arg.opname == "RETURN_GENERATOR":
        frame.push(Known(None))                 # the generator; the next instruction drops it
    elif frame.yields is not None and instr.arg.opname == "YIELD_VALUE":
        _yielded(m, frame.pop())
    else:
        raise Leaves(f"{instr.arg.opname}: {instr.arg.reason}")
