"""Code objects decoded into canonical instructions.

Job: ``decode``.  Invariants: it works from ``co_code``, which is never specialised or instrumented;
``unit`` is the index of the code unit (two bytes) where an instruction starts, EXTENDED_ARG prefixes and
folded instructions (KW_NAMES, PRECALL) included, and so a place where CPython can go on;
``next_unit`` lies behind its inline caches.  Called by the front end and by tools that print code.
"""
from __future__ import annotations

import dis
import inspect
import sys
import types
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from jitcore.bytecode import v311, v312, v313
from jitcore.bytecode.tables import Context, Translator, Version, interpret

_VERSIONS = {table.TABLE.number: table.TABLE for table in (v311, v312, v313)}

#: The table of the running CPython, or None where there is none.
VERSION: Version | None = _VERSIONS.get(sys.version_info[:2])

_CACHE, _EXTENDED_ARG = dis.opmap["CACHE"], dis.EXTENDED_ARG


class Handler(NamedTuple):
    """Where an exception goes: the handler's unit, the stack depth there before the exception is pushed,
    and whether the index of the raising instruction is pushed under it."""

    target: int
    depth: int
    lasti: bool


class Instr(NamedTuple):
    """One canonical instruction.

    ``op`` is a key of ``canonical.OPS``, ``arg`` what that entry says.  ``op_unit`` is the unit of the
    opcode itself, behind EXTENDED_ARG and folded instructions: what CPython's instruction pointer shows while it
    runs.  ``target`` is a jump's unit.  ``line`` is 0 where CPython knows none.  ``mid``: the second
    canonical instruction made of one of CPython's; nothing can go on there, a frame left here goes back to the
    state before the first.
    """

    op: str
    arg: Any
    unit: int
    next_unit: int
    op_unit: int
    line: int
    target: int | None = None
    mid: bool = False

    def __str__(self) -> str:
        arg = "" if self.arg is None and self.op != "LOAD_CONST" else f" {_show(self.arg)}"
        target = "" if self.target is None else f" -> {self.target}"
        return f"{self.op}{arg}{target}{' (mid)' if self.mid else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """A decoded code object.

    ``names`` has a name for every slot of ``localsplus``: locals, cells that are no arguments, free variables.
    ``null_first`` tells the place of NULL in calls (see ``canonical``).
    """

    code: types.CodeType
    instructions: list[Instr]
    names: tuple[str, ...]
    null_first: bool
    targets: frozenset[int]
    handlers: tuple[tuple[int, int, Handler], ...]
    _index: dict[int, int] = field(repr=False)

    def at(self, unit: int) -> int:
        """The index in ``instructions`` of the one that starts at ``unit``; ``KeyError`` if none does."""
        return self._index[unit]

    def starts(self, unit: int) -> bool:
        """Whether CPython can go on at ``unit``."""
        return unit in self._index

    def handler(self, unit: int) -> Handler | None:
        """The handler of an exception raised by the instruction that ``unit`` (any of its units) belongs to."""
        for start, end, handler in self.handlers:
            if start <= unit < end:
                return handler
        return None

    @property
    def is_function(self) -> bool:
        """Whether a call runs the body at once: no generator, coroutine or asynchronous generator."""
        return not self.code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
                                         | inspect.CO_ITERABLE_COROUTINE)

    def __str__(self) -> str:
        lines = []
        shown = None
        for instr in self.instructions:
            line = "" if instr.line == shown else str(instr.line)
            shown = instr.line
            mark = ">" if instr.unit in self.targets and not instr.mid else " "
            lines.append(f"{line:>5} {mark} {instr.unit:>4} {instr}")
        lines += [f"exceptions in {start}..{end} -> {handler.target} depth {handler.depth}{' lasti' * handler.lasti}"
                  for start, end, handler in self.handlers]
        return "\n".join(lines) + "\n"


def decode(code: types.CodeType) -> Code:
    """``code`` in canonical instructions.

    Raises ``NotImplementedError`` on a CPython without a table, which the package itself never asks for (it is inert
    there); only who calls this by itself can meet it.  An opcode that the table does not know becomes
    INTERPRET, so that a surprise costs speed and not correctness (a test holds that none is left out).
    """
    version = VERSION
    if version is None:     # nothing is left to be done here: what an unreviewed CPython means cannot be known
        raise NotImplementedError(f"no instruction table for CPython {sys.version_info[0]}.{sys.version_info[1]}")
    table, kw_names = _by_opcode(version), dis.opmap.get("KW_NAMES", -1)
    names = _slot_names(code)
    instructions: list[Instr] = []
    index: dict[int, int] = {}
    opcodes, opargs = code.co_code[::2], code.co_code[1::2]
    lines = [position[0] or 0 for position in code.co_positions()]
    ctx = Context(code)
    n_units = len(opcodes)
    start = -1                                  # of the instruction, prefixes and folded ones included
    unit = extended = 0
    while unit < n_units:
        if start < 0:
            start = unit
        op_unit, opcode, oparg = unit, opcodes[unit], opargs[unit] | extended
        unit += 1
        if opcode == _EXTENDED_ARG:
            extended = oparg << 8
            continue
        extended = 0
        while unit < n_units and opcodes[unit] == _CACHE:
            unit += 1
        translate = table[opcode]
        if translate is None:
            if opcode == kw_names:
                ctx.kwnames = code.co_consts[oparg]
            continue
        ctx.next_unit = unit
        index[start] = len(instructions)
        mid = False
        for op, arg, target in translate(ctx, oparg):
            instructions.append(Instr(op, arg, start, unit, op_unit, lines[op_unit], target, mid))
            mid = True
        ctx.kwnames = ()
        start = -1
    handlers = _exception_table(code)
    targets = frozenset(i.target for i in instructions if i.target is not None) | {h.target for *_, h in handlers}
    return Code(code, instructions, names, version.null_first, targets, handlers, index)


@cache
def _by_opcode(version: Version) -> list[Translator | None]:
    """The translator of every opcode; None for those that the next instruction takes in."""
    table: list[Translator | None] = []
    for opname in dis.opname[:256]:
        reason = version.left.get(opname, "an instruction that jitcore does not know")
        translate = version.translate.get(opname, interpret(opname, reason))
        table.append(None if opname in version.folded else translate)
    return table


def _slot_names(code: types.CodeType) -> tuple[str, ...]:
    own = code.co_varnames
    return own + tuple(name for name in code.co_cellvars if name not in own) + code.co_freevars


def _exception_table(code: types.CodeType) -> tuple[tuple[int, int, Handler], ...]:
    """``co_exceptiontable``: four numbers an entry (start, length, target, depth * 2 + lasti), each in groups
    of six bits, most significant first; bit 6 says that more follow."""
    entries = []
    numbers: list[int] = []
    value = 0
    for byte in code.co_exceptiontable:
        value = value << 6 | byte & 63
        if byte & 64:
            continue
        numbers.append(value)
        value = 0
        if len(numbers) == 4:
            start, length, target, rest = numbers
            entries.append((start, start + length, Handler(target, rest >> 1, bool(rest & 1))))
            numbers = []
    return tuple(entries)


def _show(arg: Any) -> str:
    if isinstance(arg, types.CodeType):
        return f"<code {arg.co_name}>"
    if isinstance(arg, frozenset):
        return f"frozenset({{{', '.join(sorted(map(repr, arg)))}}})"
    if type(arg) is tuple:                      # named tuples print themselves
        return f"({', '.join(map(_show, arg))}{',' * (len(arg) == 1)})"
    return repr(arg)
