"""The loop that an iterator is made for.

Job: ``loop_ahead`` finds, from where GET_ITER stands, the FOR_ITER that the iterator will meet: the next instruction,
that of a comprehension in the same code (CPython 3.12 on), or the one in the function of a comprehension or generator
expression that is about to be called.  Used by the handler of GET_ITER.
"""
from __future__ import annotations

from jitcore.bytecode import Code
from jitcore.frontend.inline import decoded
from jitcore.frontend.machine import Machine
from jitcore.frontend.values import Abstract, Function, Unbound

#: What a comprehension does between GET_ITER and FOR_ITER.
_BETWEEN = ("LOAD_FAST_AND_CLEAR", "SWAP", "BUILD_LIST", "BUILD_SET", "BUILD_MAP")
_NAMES = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def loop_ahead(m: Machine, below: list[Abstract]) -> tuple[Code, int] | None:
    """The code and the index of its FOR_ITER; ``below`` is the stack under the iterator."""
    code, at = m.frame.code, m.frame.index
    if code.instructions[at].op == "CALL" and code.instructions[at].arg.nargs == 0:
        func = next((value for value in reversed(below) if not isinstance(value, Unbound)), None)
        if not isinstance(func, Function) or func.obj is not None or func.code.co_name not in _NAMES:
            return None
        code, at = decoded(func.code), 0
        while code.instructions[at].op != "FOR_ITER":
            at += 1
        return code, at
    while code.instructions[at].op in _BETWEEN:
        at += 1
    return (code, at) if code.instructions[at].op == "FOR_ITER" else None
