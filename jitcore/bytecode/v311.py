"""CPython 3.11's instructions in canonical terms.

Job: the table of 3.11.  Invariant: every name of ``dis.opmap`` is in exactly one of its parts.
Used by ``decode``.

A call is ``[KW_NAMES] PRECALL CALL`` with inline caches between: one canonical CALL that starts at the
first of them.  LOAD_CLOSURE is a LOAD_FAST: both push what the slot holds.
"""
from __future__ import annotations

import dis

from jitcore.bytecode.canonical import (
    CallArg,
    CallExArg,
    CompareArg,
    FormatArg,
    GlobalArg,
    MethodArg,
)
from jitcore.bytecode.tables import (
    COMPARISONS,
    CONVERSIONS,
    FUNCTION_ATTRIBUTES,
    SHARED,
    SHARED_LEFT,
    Context,
    Step,
    Translator,
    Version,
    absent_names,
    backward,
    forward,
    named,
    number,
    plain,
)


def _load_global(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("LOAD_GLOBAL", GlobalArg(ctx.code.co_names[oparg >> 1], bool(oparg & 1), True)),)


def _load_method(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("LOAD_METHOD", MethodArg(ctx.code.co_names[oparg], True)),)


def _compare(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("COMPARE", CompareArg(COMPARISONS[oparg], False)),)


def call(ctx: Context, oparg: int) -> tuple[Step, ...]:
    """CALL of 3.11 and 3.12, with the names that KW_NAMES announced."""
    return (Step("CALL", CallArg(oparg, ctx.kwnames, True)),)


def call_ex(ctx: Context, oparg: int) -> tuple[Step, ...]:
    """CALL_FUNCTION_EX of 3.11 and 3.12."""
    return (Step("CALL_EX", CallExArg(bool(oparg & 1), True)),)


def format_value(ctx: Context, oparg: int) -> tuple[Step, ...]:
    """FORMAT_VALUE of 3.11 and 3.12."""
    return (Step("FORMAT", FormatArg(CONVERSIONS[oparg & 3], bool(oparg & 4))),)


def make_function(ctx: Context, oparg: int) -> tuple[Step, ...]:
    """MAKE_FUNCTION of 3.11 and 3.12."""
    return (Step("MAKE_FUNCTION", tuple(name for bit, name in FUNCTION_ATTRIBUTES if oparg & bit)),)


_TRANSLATE: dict[str, Translator] = {
    **SHARED,
    "UNARY_POSITIVE": plain("UNARY", "pos"),
    "LIST_TO_TUPLE": plain("LIST_TO_TUPLE"),
    "COMPARE_OP": _compare,
    "LOAD_CLOSURE": number("LOAD_FAST"),
    "LOAD_GLOBAL": _load_global,
    "LOAD_ATTR": named("LOAD_ATTR"),
    "LOAD_METHOD": _load_method,
    "FORMAT_VALUE": format_value,
    "MAKE_FUNCTION": make_function,
    "CALL": call,
    "CALL_FUNCTION_EX": call_ex,
    "FOR_ITER": forward("FOR_ITER"),
    "JUMP_IF_FALSE_OR_POP": forward("JUMP_IF_FALSE_OR_POP"),
    "JUMP_IF_TRUE_OR_POP": forward("JUMP_IF_TRUE_OR_POP"),
    "POP_JUMP_FORWARD_IF_FALSE": forward("POP_JUMP_IF_FALSE"),
    "POP_JUMP_FORWARD_IF_TRUE": forward("POP_JUMP_IF_TRUE"),
    "POP_JUMP_FORWARD_IF_NONE": forward("POP_JUMP_IF_NONE"),
    "POP_JUMP_FORWARD_IF_NOT_NONE": forward("POP_JUMP_IF_NOT_NONE"),
    "POP_JUMP_BACKWARD_IF_FALSE": backward("POP_JUMP_IF_FALSE"),
    "POP_JUMP_BACKWARD_IF_TRUE": backward("POP_JUMP_IF_TRUE"),
    "POP_JUMP_BACKWARD_IF_NONE": backward("POP_JUMP_IF_NONE"),
    "POP_JUMP_BACKWARD_IF_NOT_NONE": backward("POP_JUMP_IF_NOT_NONE"),
}

TABLE = Version(
    number=(3, 11),
    translate=_TRANSLATE,
    folded={
        "KW_NAMES": "its names are the argument of the next CALL",
        "PRECALL": "prepares the CALL behind it",
    },
    left={
        **SHARED_LEFT,
        "ASYNC_GEN_WRAP": "generators and coroutines run as they are",
        "PREP_RERAISE_STAR": "except* splits exception groups; the handler runs interpreted",
        "PRINT_EXPR": "only at the interactive prompt",
        "IMPORT_STAR": "only in modules",
        "LOAD_CLASSDEREF": "only in class bodies",
    },
    absent=absent_names(dis.opmap),
    null_first=True,
)
