"""CPython 3.13's instructions in canonical terms.

Job: the table of 3.13.  Invariant: every name of ``dis.opmap`` is in exactly one of its parts.
Used by ``decode``.

FOR_ITER goes on behind the END_FOR and POP_TOP that its argument leads to.  The instructions that load
or store two locals are two canonical ones with the same unit.  NULL is above the callable.
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
    SuperArg,
)
from jitcore.bytecode.tables import (
    COMPARISONS,
    CONVERSIONS,
    FUNCTION_ATTRIBUTES,
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
from jitcore.bytecode.v312 import return_const


def _load_global(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("LOAD_GLOBAL", GlobalArg(ctx.code.co_names[oparg >> 1], bool(oparg & 1), False)),)


def _load_attr(ctx: Context, oparg: int) -> tuple[Step, ...]:
    name = ctx.code.co_names[oparg >> 1]
    return (Step("LOAD_METHOD", MethodArg(name, False)) if oparg & 1 else Step("LOAD_ATTR", name),)


def _load_super_attr(ctx: Context, oparg: int) -> tuple[Step, ...]:
    arg = SuperArg(ctx.code.co_names[oparg >> 2], bool(oparg & 1), bool(oparg & 2), False)
    return (Step("LOAD_SUPER_ATTR", arg),)


def _compare(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("COMPARE", CompareArg(COMPARISONS[oparg >> 5], bool(oparg & 16))),)


def _for_iter(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("FOR_ITER", None, ctx.next_unit + oparg + 2),)


def _call(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("CALL", CallArg(oparg, (), False)),)


def _call_kw(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("CALL_KW", CallArg(oparg, (), False)),)


def _call_ex(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("CALL_EX", CallExArg(bool(oparg & 1), False)),)


def _convert_value(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("CONVERT_VALUE", CONVERSIONS[oparg]),)


def _set_function_attribute(ctx: Context, oparg: int) -> tuple[Step, ...]:
    return (Step("SET_FUNCTION_ATTRIBUTE", dict(FUNCTION_ATTRIBUTES)[oparg]),)


def _two(first: str, second: str) -> Translator:
    return lambda ctx, oparg: (Step(first, oparg >> 4), Step(second, oparg & 15))


_TRANSLATE: dict[str, Translator] = {
    **SHARED,
    "COMPARE_OP": _compare,
    "TO_BOOL": plain("TO_BOOL"),
    "LOAD_FAST_CHECK": number("LOAD_FAST"),
    "LOAD_FAST_AND_CLEAR": number("LOAD_FAST_AND_CLEAR"),
    "LOAD_FAST_LOAD_FAST": _two("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": _two("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": _two("STORE_FAST", "STORE_FAST"),
    "LOAD_GLOBAL": _load_global,
    "LOAD_ATTR": _load_attr,
    "LOAD_SUPER_ATTR": _load_super_attr,
    "BINARY_SLICE": plain("SLICE"),
    "STORE_SLICE": plain("STORE_SLICE"),
    "FORMAT_SIMPLE": plain("FORMAT", FormatArg("", False)),
    "FORMAT_WITH_SPEC": plain("FORMAT", FormatArg("", True)),
    "CONVERT_VALUE": _convert_value,
    "MAKE_FUNCTION": plain("MAKE_FUNCTION", ()),
    "SET_FUNCTION_ATTRIBUTE": _set_function_attribute,
    "CALL": _call,
    "CALL_KW": _call_kw,
    "CALL_FUNCTION_EX": _call_ex,
    "CALL_INTRINSIC_1": call_intrinsic_1,
    "CALL_INTRINSIC_2": call_intrinsic_2,
    "FOR_ITER": _for_iter,
    "END_FOR": plain("POP_TOP"),
    "POP_JUMP_IF_FALSE": forward("POP_JUMP_IF_FALSE"),
    "POP_JUMP_IF_TRUE": forward("POP_JUMP_IF_TRUE"),
    "POP_JUMP_IF_NONE": forward("POP_JUMP_IF_NONE"),
    "POP_JUMP_IF_NOT_NONE": forward("POP_JUMP_IF_NOT_NONE"),
    "RETURN_CONST": return_const,
}

TABLE = Version(
    number=(3, 13),
    translate=_TRANSLATE,
    folded={},
    left={**SHARED_LEFT, **LATER_LEFT},
    absent={
        **absent_names(dis.opmap),
        "INTERPRETER_EXIT": "in CPython's own entry frame only",
        "EXIT_INIT_CHECK": "in CPython's own frame around __init__ only",
        "ENTER_EXECUTOR": "CPython's own optimiser writes it into running code; co_code shows JUMP_BACKWARD",
        "RESERVED": "unused by CPython",
    },
    null_first=False,
)
