"""Which locals may still be read, and where code loops and meets.

Job: ``facts_of(code)``.  Invariants: a local that is not live at an instruction is written, on every path from there,
before anything reads it; whatever may look at locals in another way makes all of them live.  Instructions are
named by their index in ``Code.instructions``.  Used by the front end.

Source of the method: A. Aho, M. Lam, R. Sethi, J. Ullman, "Compilers", 2nd ed., section 9.2.5 (live variables).
"""
from __future__ import annotations

from dataclasses import dataclass

from jitcore.bytecode.decode import Code

_READS = frozenset(("LOAD_FAST", "DELETE_FAST", "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF",
                    "MAKE_CELL"))
_WRITES = frozenset(("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR"))
_ENDS = frozenset(("RETURN_VALUE", "RAISE", "RERAISE", "JUMP", "JUMP_BACKWARD"))
#: Names through which a function may look at its own locals.
_LOOKERS = frozenset(("locals", "eval", "exec", "vars", "dir", "_getframe", "currentframe", "stack", "breakpoint",
                      "set_trace"))


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """``live[i]``: a bit for each local that may be read from instruction ``i`` on.

    ``loops``: for the first instruction of each loop the last one that jumps back to it; ``bodies``: the instructions
    that lead back there; ``assigned``: a bit for each local that is assigned in it.  ``joins``: the targets of jumps
    forward.
    """

    live: tuple[int, ...]
    loops: dict[int, int]
    bodies: dict[int, frozenset[int]]
    joins: frozenset[int]
    assigned: dict[int, int]


def facts_of(code: Code) -> Facts:
    """The facts of ``code``."""
    instructions = code.instructions
    loops: dict[int, int] = {}
    joins: set[int] = set()
    for i, instr in enumerate(instructions):
        if instr.target is None:
            continue
        target = code.at(instr.target)
        if target <= i:
            loops[target] = max(i, loops.get(target, i))
        else:
            joins.add(target)
    assigned = {}
    for first, last in loops.items():
        bits = 0
        for instr in instructions[first:last + 1]:
            if instr.op in _WRITES:
                bits |= 1 << instr.arg
        assigned[first] = bits
    bodies = _bodies(code, loops)
    return Facts(_live(code), loops, bodies, frozenset(joins), assigned)


def _bodies(code: Code, loops: dict[int, int]) -> dict[int, frozenset[int]]:
    """For each loop what can be met on a way from its first instruction back to it."""
    n = len(code.instructions)
    sources: list[list[int]] = [[] for _ in range(n)]
    for i, instr in enumerate(code.instructions):
        if instr.op not in _ENDS and i + 1 < n:
            sources[i + 1].append(i)
        if instr.target is not None:
            sources[code.at(instr.target)].append(i)
    bodies = {}
    for first in loops:
        seen = {first}
        work = [i for i in sources[first] if i >= first]
        while work:
            i = work.pop()
            if i not in seen:
                seen.add(i)
                work += sources[i]
        bodies[first] = frozenset(seen)
    return bodies


def _restored(code: Code) -> dict[int, int]:
    """For each LOAD_FAST_AND_CLEAR, with which a comprehension puts a local aside, the store that brings it back: the
    first one behind the comprehension's loop.  Only what reads the local after that reads what was put aside."""
    instructions, found = code.instructions, {}
    for i, instr in enumerate(instructions):
        if instr.op == "LOAD_FAST_AND_CLEAR":
            loop = next((k for k in range(i, len(instructions)) if instructions[k].op == "FOR_ITER"), None)
            target = None if loop is None else instructions[loop].target
            for k in range(code.at(target) if target is not None else i, len(instructions)):
                if instructions[k].op == "STORE_FAST" and instructions[k].arg == instr.arg:
                    found[i] = k
                    break
    return found


def _live(code: Code) -> tuple[int, ...]:
    instructions = code.instructions
    n = len(instructions)
    everything = (1 << len(code.names)) - 1
    if _LOOKERS & set(code.code.co_names):
        return (everything,) * n
    always = 0                      # cells are read by whoever has them
    for name in code.code.co_cellvars + code.code.co_freevars:
        always |= 1 << code.names.index(name)
    handlers = [code.handler(instr.unit) for instr in instructions]
    restored = _restored(code)
    live = [0] * (n + 1)
    changed = True
    while changed:
        changed = False
        for i in range(n - 1, -1, -1):
            instr = instructions[i]
            found = 0 if instr.op in _ENDS else live[i + 1]
            if instr.target is not None:
                found |= live[code.at(instr.target)]
            if instr.op in _WRITES:
                found &= ~(1 << instr.arg)
            handler = handlers[i]
            if handler is not None:     # the instruction may fail before or after it has written
                found |= live[code.at(handler.target)]
            if instr.op in _READS:
                found |= 1 << instr.arg
            elif instr.op == "LOAD_FAST_AND_CLEAR":
                found |= (live[restored[i] + 1] if i in restored else everything) & 1 << instr.arg
            elif instr.op == "INTERPRET":
                found = everything
            found |= always
            if found != live[i]:
                live[i] = found
                changed = True
    return tuple(live[:n])
