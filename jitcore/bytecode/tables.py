"""What the version tables are made of: translators, and the part that all versions share.

Job: turn one CPython instruction into canonical steps.  Invariants: a translator is a pure function
of the context and the instruction's argument; ``SHARED`` holds only opcodes that exist in every
supported version with the same meaning.  Used by ``v311``, ``v312``, ``v313`` and ``decode``.
"""
from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from jitcore.bytecode.canonical import BinaryArg, InterpretArg, UnpackArg


class Step(NamedTuple):
    """One canonical instruction before it has a place."""

    op: str
    arg: Any = None
    target: int | None = None


@dataclass
class Context:
    """What a translator may look at.  ``next_unit`` is behind the instruction and its caches;
    ``kwnames`` are those announced by KW_NAMES for the next CALL."""

    code: types.CodeType
    next_unit: int = 0
    kwnames: tuple[str, ...] = ()


Translator = Callable[[Context, int], tuple[Step, ...]]


@dataclass(frozen=True, eq=False)
class Version:
    """A CPython version's table.

    ``translate``: opcode name to translator.  ``folded``: opcodes that have no step of their own
    because the next instruction takes them in.  ``left``: opcodes left to the interpreter, with the reason.
    ``absent``: names in ``dis.opmap`` that a code object's ``co_code`` never contains, with the reason.
    """

    number: tuple[int, int]
    translate: Mapping[str, Translator]
    folded: Mapping[str, str]
    left: Mapping[str, str]
    absent: Mapping[str, str]
    null_first: bool


# -- makers of translators ---------------------------------------------------------------------
def plain(op: str, arg: Any = None) -> Translator:
    """One step whose argument is fixed."""
    step = (Step(op, arg),)
    return lambda ctx, oparg: step


def number(op: str) -> Translator:
    """One step with the number as it is (a count, a depth or a local's index)."""
    return lambda ctx, oparg: (Step(op, oparg),)


def flag(op: str) -> Translator:
    """One step whose argument is the number's truth."""
    return lambda ctx, oparg: (Step(op, bool(oparg)),)


def named(op: str) -> Translator:
    """One step whose argument is an entry of ``co_names``."""
    return lambda ctx, oparg: (Step(op, ctx.code.co_names[oparg]),)


def forward(op: str) -> Translator:
    """A jump of ``oparg`` units forward."""
    return lambda ctx, oparg: (Step(op, None, ctx.next_unit + oparg),)


def backward(op: str) -> Translator:
    """A jump of ``oparg`` units back."""
    return lambda ctx, oparg: (Step(op, None, ctx.next_unit - oparg),)


def interpret(opname: str, reason: str) -> Translator:
    """An instruction that no region contains."""
    return plain("INTERPRET", InterpretArg(opname, reason))


def load_const(ctx: Context, oparg: int) -> tuple[Step, ...]:
    """LOAD_CONST."""
    return (Step("LOAD_CONST", ctx.code.co_consts[oparg]),)


def binary_op(ctx: Context, oparg: int) -> tuple[Step, ...]:
    """BINARY_OP: the operations in CPython's order, then the same in place."""
    return (Step("BINARY", BinaryArg(_BINARY[oparg % len(_BINARY)], oparg >= len(_BINARY))),)


def unpack_ex(ctx: Context, oparg: int) -> tuple[Step, ...]:
    """UNPACK_EX."""
    return (Step("UNPACK_EX", UnpackArg(oparg & 0xFF, oparg >> 8)),)


_BINARY = ("add", "and", "floordiv", "lshift", "matmul", "mul", "mod", "or", "pow", "rshift", "sub", "truediv", "xor")

#: Comparisons in CPython's order.
COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")

#: Bits of MAKE_FUNCTION's and SET_FUNCTION_ATTRIBUTE's argument.
FUNCTION_ATTRIBUTES = ((1, "defaults"), (2, "kwdefaults"), (4, "annotations"), (8, "closure"))

#: Conversions of f-strings by their number.
CONVERSIONS = ("", "str", "repr", "ascii")

SHARED: dict[str, Translator] = {
    "RESUME": lambda ctx, oparg: (Step("RESUME", oparg & 3),),
    "NOP": plain("NOP"),
    "POP_TOP": plain("POP_TOP"),
    "PUSH_NULL": plain("PUSH_NULL"),
    "COPY": number("COPY"),
    "SWAP": number("SWAP"),
    "LOAD_CONST": load_const,
    "LOAD_FAST": number("LOAD_FAST"),
    "STORE_FAST": number("STORE_FAST"),
    "DELETE_FAST": number("DELETE_FAST"),
    "MAKE_CELL": number("MAKE_CELL"),
    "COPY_FREE_VARS": number("COPY_FREE_VARS"),
    "LOAD_DEREF": number("LOAD_DEREF"),
    "STORE_DEREF": number("STORE_DEREF"),
    "DELETE_DEREF": number("DELETE_DEREF"),
    "STORE_GLOBAL": named("STORE_GLOBAL"),
    "DELETE_GLOBAL": named("DELETE_GLOBAL"),
    "LOAD_NAME": named("LOAD_NAME"),
    "STORE_NAME": named("STORE_NAME"),
    "DELETE_NAME": named("DELETE_NAME"),
    "STORE_ATTR": named("STORE_ATTR"),
    "DELETE_ATTR": named("DELETE_ATTR"),
    "LOAD_BUILD_CLASS": plain("LOAD_BUILD_CLASS"),
    "LOAD_ASSERTION_ERROR": plain("LOAD_ASSERTION_ERROR"),
    "IMPORT_NAME": named("IMPORT_NAME"),
    "IMPORT_FROM": named("IMPORT_FROM"),
    "UNARY_NEGATIVE": plain("UNARY", "neg"),
    "UNARY_NOT": plain("UNARY", "not"),
    "UNARY_INVERT": plain("UNARY", "invert"),
    "BINARY_OP": binary_op,
    "IS_OP": flag("IS"),
    "CONTAINS_OP": flag("CONTAINS"),
    "BINARY_SUBSCR": plain("SUBSCR"),
    "STORE_SUBSCR": plain("STORE_SUBSCR"),
    "DELETE_SUBSCR": plain("DELETE_SUBSCR"),
    "GET_LEN": plain("GET_LEN"),
    "BUILD_TUPLE": number("BUILD_TUPLE"),
    "BUILD_LIST": number("BUILD_LIST"),
    "BUILD_SET": number("BUILD_SET"),
    "BUILD_MAP": number("BUILD_MAP"),
    "BUILD_CONST_KEY_MAP": number("BUILD_CONST_KEY_MAP"),
    "BUILD_STRING": number("BUILD_STRING"),
    "BUILD_SLICE": number("BUILD_SLICE"),
    "LIST_APPEND": number("LIST_APPEND"),
    "SET_ADD": number("SET_ADD"),
    "MAP_ADD": number("MAP_ADD"),
    "LIST_EXTEND": number("LIST_EXTEND"),
    "SET_UPDATE": number("SET_UPDATE"),
    "DICT_UPDATE": number("DICT_UPDATE"),
    "DICT_MERGE": number("DICT_MERGE"),
    "UNPACK_SEQUENCE": number("UNPACK_SEQUENCE"),
    "UNPACK_EX": unpack_ex,
    "JUMP_FORWARD": forward("JUMP"),
    "JUMP_BACKWARD": backward("JUMP_BACKWARD"),
    "JUMP_BACKWARD_NO_INTERRUPT": backward("JUMP"),
    "GET_ITER": plain("GET_ITER"),
    "RETURN_VALUE": plain("RETURN_VALUE"),
    "RAISE_VARARGS": number("RAISE"),
    "RERAISE": number("RERAISE"),
    "PUSH_EXC_INFO": plain("PUSH_EXC_INFO"),
    "POP_EXCEPT": plain("POP_EXCEPT"),
    "CHECK_EXC_MATCH": plain("CHECK_EXC_MATCH"),
    "BEFORE_WITH": plain("BEFORE_WITH"),
    "WITH_EXCEPT_START": plain("WITH_EXCEPT_START"),
    "MATCH_MAPPING": plain("MATCH_MAPPING"),
    "MATCH_SEQUENCE": plain("MATCH_SEQUENCE"),
    "MATCH_KEYS": plain("MATCH_KEYS"),
    "MATCH_CLASS": number("MATCH_CLASS"),
}

_GENERATOR = "generators and coroutines run as they are"
_CLASS_BODY = "only in class bodies and modules"

#: Opcodes of every version that are left to the interpreter.
SHARED_LEFT: dict[str, str] = {
    "RETURN_GENERATOR": _GENERATOR,
    "YIELD_VALUE": _GENERATOR,
    "SEND": _GENERATOR,
    "GET_YIELD_FROM_ITER": _GENERATOR,
    "GET_AWAITABLE": _GENERATOR,
    "GET_AITER": _GENERATOR,
    "GET_ANEXT": _GENERATOR,
    "END_ASYNC_FOR": _GENERATOR,
    "BEFORE_ASYNC_WITH": _GENERATOR,
    "SETUP_ANNOTATIONS": _CLASS_BODY,
    "CHECK_EG_MATCH": "except* splits exception groups; the handler runs interpreted",
}

#: Further ones of 3.12 and 3.13.
LATER_LEFT: dict[str, str] = {
    "END_SEND": _GENERATOR,
    "CLEANUP_THROW": _GENERATOR,
    "LOAD_LOCALS": _CLASS_BODY,
    "LOAD_FROM_DICT_OR_GLOBALS": _CLASS_BODY,
    "LOAD_FROM_DICT_OR_DEREF": _CLASS_BODY,
}

#: Intrinsics of 3.12 and 3.13 with one operand that a region can contain; the others are left.
INTRINSICS_1: dict[int, Translator] = {5: plain("UNARY", "pos"), 6: plain("LIST_TO_TUPLE")}


def call_intrinsic_1(ctx: Context, oparg: int) -> tuple[Step, ...]:
    """CALL_INTRINSIC_1."""
    known = INTRINSICS_1.get(oparg)
    if known is not None:
        return known(ctx, oparg)
    return (Step("INTERPRET", InterpretArg(f"CALL_INTRINSIC_1 {oparg}", "only in generators, modules and generic"
                                           " classes or functions")),)


def call_intrinsic_2(ctx: Context, oparg: int) -> tuple[Step, ...]:
    """CALL_INTRINSIC_2."""
    return (Step("INTERPRET", InterpretArg(f"CALL_INTRINSIC_2 {oparg}", "only in except* handlers and generic"
                                           " classes or functions")),)


def absent_names(opmap: Mapping[str, int]) -> dict[str, str]:
    """Names that ``dis`` lists but ``co_code``, which is never specialised, does not contain."""
    found = {"CACHE": "an inline cache, skipped by the decoder",
             "EXTENDED_ARG": "taken into the argument by the decoder"}
    for name, value in opmap.items():
        if value > 255:
            found[name] = "a pseudo instruction of CPython's compiler"
        elif name.startswith("INSTRUMENTED_"):
            found[name] = "CPython's monitoring writes it into running code; co_code shows the instruction itself"
    return found
