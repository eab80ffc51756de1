"""Checkpoints: the states that whatever fails later leaves at.

Job: ``take`` one, and make the exit that leads there.  Invariants: an exit rebuilds all frames of the state, those of
inlined calls too; where that can't be there is no checkpoint.  Only ``machine`` uses it.
"""
from __future__ import annotations

from jitcore.frontend.builder import Builder
from jitcore.frontend.exits import ExitMaker, Unbuildable
from jitcore.frontend.matching import owners_of
from jitcore.frontend.state import Checkpoint, Frame, State
from jitcore.frontend.values import Abstract
from jitcore.ir.graph import Exit


def take(state: State) -> Checkpoint | None:
    """The state in front of the present instruction, if the interpreter could go on there."""
    frames = state.frames
    if not all(_is_plain_call(frame, caller) for frame, caller in zip(frames[1:], frames)):
        return None
    return Checkpoint(state.clone(), owners_of(state))


def exit_to(builder: Builder, point: Checkpoint, first_free: int) -> int:
    """The number of the exit that leads to ``point``, made when first asked for; 0 if it cannot be made."""
    if point.exit is None:
        point.exit = 0
        try:
            point.exit = builder.graph.add_exit(_exit(builder, point.state.frames, first_free))
        except Unbuildable:
            pass
    return point.exit


def exit_at_jump(builder: Builder, frame: Frame, locals: list[Abstract], stack: list[Abstract], next_unit: int,
                 first_free: int) -> int:
    """The number of an exit at a jump of the region's own frame that leads to ``next_unit``; 0 if none can be made."""
    maker = ExitMaker(builder)
    try:
        exit = Exit("leave", (), frame.instr.unit, next_unit, maker.slots(locals, first_free), maker.stack(stack),
                    reason="the interpreter decides", line=frame.instr.line)
    except Unbuildable:
        return 0
    exit.values = maker.values
    return builder.graph.add_exit(exit)


def _exit(builder: Builder, frames: list[Frame], first_free: int) -> Exit:
    own, *inner = frames
    maker = ExitMaker(builder)
    unit, following = own.instr.unit, own.instr.next_unit if inner else own.instr.unit
    exit = Exit("leave", (), unit, following, maker.slots(own.locals, first_free), maker.stack(own.stack),
                reason="the interpreter decides", line=own.instr.line)
    for frame in inner:
        exit.inner += (maker.make(frame.func), *maker.slots(frame.locals, len(frame.locals)), *maker.stack(frame.stack))
        instr = frame.instr
        following = instr.unit if frame is inner[-1] else instr.next_unit
        exit.frames += ((len(frame.locals), len(frame.stack), instr.unit, following),)
    exit.values = maker.values
    return exit


def _is_plain_call(frame: Frame, caller: Frame) -> bool:
    """Whether an inlined call can be made a call of the interpreter's: its result is pushed, and that is all."""
    following = caller.code.instructions[caller.index]
    return frame.deliver == "push" and frame.yields is None and frame.making is None and frame.code.is_function and (
        not following.mid)
