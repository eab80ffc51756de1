"""The front end's door: a snapshot in, a trace or a refusal out.

Job: make the entry state, run the machine, start again with more calls cut where that is needed.
Invariants: a trace covers every path from the entry state; what the snapshot holds is only looked at.
Called by ``pipeline``.
"""
from __future__ import annotations

from types import CellType, CodeType, FunctionType

from jitcore.bytecode import Code, decode
from jitcore.bytecode.liveness import facts_of
from jitcore.errors import REASONS
from jitcore.frontend import handlers  # noqa: F401  (fills the table)
from jitcore.frontend.builder import UNREAD, Builder, is_empty
from jitcore.frontend.gain import work_of
from jitcore.frontend.learning import Relisted, note
from jitcore.frontend.machine import Choices, Machine, Refused, Restart
from jitcore.frontend.meeting import Relooped
from jitcore.frontend.snapshot import Refusal, Snapshot, Trace
from jitcore.frontend.state import Frame, State
from jitcore.frontend.values import UNBOUND, Abstract, Cell, Function, Lazy
from jitcore.guards.guard import Absent
from jitcore.guards.sources import CellContent, Closure, DeadLocal, Local

MAX_RESTARTS = 64


def trace_region(snapshot: Snapshot) -> Trace | Refusal:
    """The region from ``snapshot`` on.

    A ``Refusal`` with guards holds for the states that they describe, one without for every call.  A region that
    could do nothing but restart is not made: an inlined call that is sure to raise is cut, so that the exception comes
    out of a CALL site, where CPython's handlers see it.
    """
    line = snapshot.code.co_firstlineno
    code = decode(snapshot.code)
    if not code.is_function:
        return Refusal(REASONS["generator"], line)
    choices = Choices()
    cuts = choices.cuts
    while True:
        builder = Builder(snapshot.code.co_qualname, snapshot.code.co_filename, snapshot.opaque,
                          snapshot.varying)
        machine = Machine(builder, choices, code.code.co_nlocals + _cells_without_slot(code.code))
        machine.adopted.seen = frozenset(map(id, (*snapshot.locals, *snapshot.stack)))
        try:
            machine.run(_entry_state(snapshot, code, builder))
        except Relooped as change:
            known: set[tuple[object, int]] = getattr(choices, change.kind)
            if change.loop in known:
                return Refusal(REASONS["loop"], line, builder.guards, builder.sources)
            known.add(change.loop)
            continue
        except Relisted as change:
            if not note(choices.lists, change):
                return Refusal(REASONS["loop"], line, builder.guards, builder.sources)
            continue
        except Restart as restart:
            if restart.seen and restart.unit not in choices.seen:
                choices.seen.add(restart.unit)
                continue
            if restart.unit not in cuts and len(cuts) < MAX_RESTARTS:
                cuts[restart.unit] = restart.cut
                continue
            return Refusal(restart.cut.reason, restart.cut.line, builder.guards, builder.sources)
        except Refused as refused:
            return Refusal(str(refused), refused.line, builder.guards, builder.sources)
        finally:
            machine.close()
        if len(builder.graph.exits) == 1:       # nothing but the restart
            raising = next(iter(machine.raising.items()), None)
            if raising is None or raising[0] in cuts or len(cuts) >= MAX_RESTARTS:
                return Refusal(REASONS["restarts"], line, builder.guards, builder.sources)
            cuts[raising[0]] = raising[1]
            continue
        codes = [c for c in machine.inlined if isinstance(c, CodeType)]
        graph = builder.finish()
        return Trace(graph, builder.guards, builder.sources, work_of(graph, snapshot.unit == 0), builder.left, codes,
                     builder.loops)


def _cells_without_slot(code: CodeType) -> int:
    return sum(name not in code.co_varnames for name in code.co_cellvars)


def _entry_state(snapshot: Snapshot, code: Code, builder: Builder) -> State:
    func = snapshot.func
    live = facts_of(code).live[code.at(snapshot.unit)] if snapshot.unit != 0 else -1
    locals = [_slot(snapshot, code, i, builder) if live >> i & 1 else Lazy(None, DeadLocal(i, code.names[i]))
              for i in range(len(code.names))]
    objects = [*snapshot.locals, *snapshot.stack]
    stack = [UNBOUND if obj is snapshot.unbound else Lazy(
        obj, Local(len(code.names) + k), k not in snapshot.shared and sum(o is obj for o in objects) == 1)
        for k, obj in enumerate(snapshot.stack)]
    own = Function(snapshot.code, func.__globals__, _closure(func), (), {}, func)
    return State([Frame(code, code.at(snapshot.unit), locals, list(stack), own)])


def _slot(snapshot: Snapshot, code: Code, i: int, builder: Builder) -> Abstract:
    obj, name = snapshot.locals[i], code.names[i]
    source = Local(i, name)
    if obj is snapshot.unbound:
        if snapshot.unit != 0:
            builder.guard(Absent(source))
        return UNBOUND
    if snapshot.unit != 0 and isinstance(obj, CellType) and name in code.code.co_cellvars + code.code.co_freevars:
        if is_empty(obj):
            builder.guard(Absent(CellContent(source, name)))
            return Cell(UNREAD, name, source)
        return Cell(Lazy(obj.cell_contents, CellContent(source, name)), name, source)
    return Lazy(obj, source)


def _closure(func: FunctionType) -> tuple[Cell, ...]:
    """The cells of the region's own function; its free variables refer to them."""
    return tuple(
        Cell(UNREAD if is_empty(cell) else Lazy(cell.cell_contents, Closure(i, name)), name, Closure(i, name))
        for i, (name, cell) in enumerate(zip(func.__code__.co_freevars, func.__closure__ or ())))
