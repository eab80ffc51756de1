"""CPython 3.12's instructions in canonical terms.

Job: the table of 3.12.  Invariant: every name of ``dis.opmap`` is in exactly one of its parts.
Used by ``decode``.

FOR_ITER goes on behind the END_FOR that its argument leads to; END_FOR itself is reached only by a
generator that CPython runs inside the loop.  RETURN_CONST is a LOAD_CONST and a RETURN_VALUE
(CPython may have reserved no stack entry for the constant: as ever, no frame is left at a ``mid`` instruction).
"""
from __future__ import annotations

import dis

from jitcore.bytecode.canonical import (
    CompareArg,
    GlobalArg,
    MethodArg,
    SuperArg,
)
from jitcore.bytecode.tables import (
    COMPARISONS,
    LATER_LEFT,
    SHARED,
    SHARED_LEFT,
    Context,
    Step,
    Translator,
    Version,
    absent_names,
    call_intrinsic_1,
    call_intrinsic_2,
    forward,
    number,
    plain,
)
from jitcore.bytecode.v311 import call, call_ex, format_value, make_function


def _load_global(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("LOAD_GLOBAL", GlobalArg(ctx.code.co_names[oparg >> 1], bool(oparg & 1), True)),)


def _load_attr(ctx: Context, oparg: int) -> tuple[Step, ...]:
    name = ctx.code.co_names[oparg >> 1]
    return (Step("LOAD_METHOD", MethodArg(name, True)) if oparg & 1 else Step("LOAD_ATTR", name),)


def _load_super_attr(ctx: Context, oparg: int) -> tuple[Step, ...]:
    arg = SuperArg(ctx.code.co_names[oparg >> 2], bool(oparg & 1), bool(oparg & 2), True)
    return (Step("LOAD_SUPER_ATTR", arg),)


def _compare(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("COMPARE", CompareArg(COMPARISONS[oparg >> 4], False)),)


def _for_iter(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("FOR_ITER", None, ctx.next_unit + oparg + 1),)


def return_const(ctx: Context, oparg: int) -> tuple[Step, ...]:
    """RETURN_CONST of 3.12 and 3.13."""
    return (Step("LOAD_CONST", ctx.code.co_consts[oparg]), Step("RETURN_VALUE"))


_TRANSLATE: dict[str, Translator] = {
    **SHARED,
    "COMPARE_OP": _compare,
    "LOAD_CLOSURE": number("LOAD_FAST"),
    "LOAD_FAST_CHECK": number("LOAD_FAST"),
    "LOAD_FAST_AND_CLEAR": number("LOAD_FAST_AND_CLEAR"),
    "LOAD_GLOBAL": _load_global,
    "LOAD_ATTR": _load_attr,
    "LOAD_SUPER_ATTR": _load_super_attr,
    "BINARY_SLICE": plain("SLICE"),
    "STORE_SLICE": plain("STORE_SLICE"),
    "FORMAT_VALUE": format_value,
    "MAKE_FUNCTION": make_function,
    "CALL": call,
    "CALL_FUNCTION_EX": call_ex,
    "CALL_INTRINSIC_1": call_intrinsic_1,
    "CALL_INTRINSIC_2": call_intrinsic_2,
    "FOR_ITER": _for_iter,
    "END_FOR": lambda ctx, oparg: (Step("POP_TOP"), Step("POP_TOP")),
    "POP_JUMP_IF_FALSE": forward("POP_JUMP_IF_FALSE"),
    "POP_JUMP_IF_TRUE": forward("POP_JUMP_IF_TRUE"),
    "POP_JUMP_IF_NONE": forward("POP_JUMP_IF_NONE"),
    "POP_JUMP_IF_NOT_NONE": forward("POP_JUMP_IF_NOT_NONE"),
    "RETURN_CONST": return_const,
}

TABLE = Version(
    number=(3, 12),
    translate=_TRANSLATE,
    folded={"KW_NAMES": "its names are the argument of the next CALL"},
    left={**SHARED_LEFT, **LATER_LEFT},
    absent={
        **absent_names(dis.opmap),
        "INTERPRETER_EXIT": "in CPython's own entry frame only",
        "RESERVED": "unused by CPython",
    },
    null_first=True,
)
