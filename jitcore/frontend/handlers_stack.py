"""Handlers: the operand stack, constants, locals and cells."""
from __future__ import annotations

from jitcore.bytecode import Instr
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import constant
from jitcore.frontend.protocol import Leaves, Raises, Unsupported
from jitcore.frontend.registry import handles
from jitcore.frontend.values import UNBOUND, Cell, Unbound
from jitcore.guards.guard import Absent
from jitcore.guards.sources import CellContent, Closure


@handles("RESUME", "NOP")
def nothing(m: Machine, instr: Instr) -> None:
    """No effect on values."""


@handles("POP_TOP")
def pop_top(m: Machine, instr: Instr) -> None:
    m.frame.pop()


@handles("PUSH_NULL")
def push_null(m: Machine, instr: Instr) -> None:
    m.frame.push(UNBOUND)


@handles("COPY")
def copy(m: Machine, instr: Instr) -> None:
    m.frame.push(m.frame.stack[-instr.arg])


@handles("SWAP")
def swap(m: Machine, instr: Instr) -> None:
    stack, n = m.frame.stack, instr.arg
    stack[-n], stack[-1] = stack[-1], stack[-n]


@handles("LOAD_CONST")
def load_const(m: Machine, instr: Instr) -> None:
    m.frame.push(constant(m, instr.arg))


@handles("LOAD_FAST")
def load_fast(m: Machine, instr: Instr) -> None:
    value = m.frame.locals[instr.arg]
    if isinstance(value, Unbound):
        raise Raises(UnboundLocalError, f"local variable {m.frame.code.names[instr.arg]} is unbound")
    m.frame.push(value)


@handles("LOAD_FAST_AND_CLEAR")
def load_fast_and_clear(m: Machine, instr: Instr) -> None:
    frame = m.frame
    frame.push(frame.locals[instr.arg])
    frame.locals[instr.arg] = UNBOUND


@handles("STORE_FAST")
def store_fast(m: Machine, instr: Instr) -> None:
    m.frame.locals[instr.arg] = m.frame.pop()


@handles("DELETE_FAST")
def delete_fast(m: Machine, instr: Instr) -> None:
    frame = m.frame
    if isinstance(frame.locals[instr.arg], Unbound):
        raise Leaves(f"local variable {frame.code.names[instr.arg]} is unbound")
    frame.locals[instr.arg] = UNBOUND


@handles("MAKE_CELL")
def make_cell(m: Machine, instr: Instr) -> None:
    frame = m.frame
    frame.locals[instr.arg] = Cell(frame.locals[instr.arg], frame.code.names[instr.arg])


@handles("COPY_FREE_VARS")
def copy_free_vars(m: Machine, instr: Instr) -> None:
    frame = m.frame
    if len(frame.func.closure) != instr.arg:
        raise Unsupported("a closure of another length")
    frame.locals[len(frame.locals) - instr.arg:] = frame.func.closure


def _cell(m: Machine, index: int) -> Cell:
    cell = m.frame.locals[index]
    if not isinstance(cell, Cell):
        raise Leaves("a cell that is not known")
    return cell


@handles("LOAD_DEREF")
def load_deref(m: Machine, instr: Instr) -> None:
    cell = _cell(m, instr.arg)
    if isinstance(cell.content, Unbound):
        if cell.source is not None:
            m.guard(Absent(cell.source if isinstance(cell.source, Closure) else CellContent(cell.source, cell.name)))
        raise Leaves(f"variable {cell.name} is unbound")
    m.frame.push(cell.content)


@handles("STORE_DEREF")
def store_deref(m: Machine, instr: Instr) -> None:
    cell = _cell(m, instr.arg)
    if cell.source is not None:
        raise Unsupported(f"a store to {cell.name}, a variable that other functions see")
    cell.content = m.frame.pop()


@handles("DELETE_DEREF")
def delete_deref(m: Machine, instr: Instr) -> None:
    cell = _cell(m, instr.arg)
    if cell.source is not None or isinstance(cell.content, Unbound):
        raise Leaves(f"variable {cell.name} is deleted")
    cell.content = UNBOUND
