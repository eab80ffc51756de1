"""The canonical instructions: the one language that the front end executes.

Job: declare every canonical operation, its argument and its stack effect.  Invariants: an operation
that is not in ``OPS`` cannot be in a ``Code``; nothing here differs between CPython versions except
through an argument (``null_first``).  Made by the version tables, read by the front end.

Stack effects are written ``before -> after``, top of the stack to the right.  An operation that
can't be done in a region is ``INTERPRET``: the frame must be left at its unit.

The place of NULL.  A call's lower two stack entries are ``[method, self]`` where a method is called
with its object apart, and otherwise ``[NULL, callable]`` on 3.11 and 3.12 (``null_first``) and
``[callable, NULL]`` on 3.13.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class GlobalArg(NamedTuple):
    """Argument of LOAD_GLOBAL; with ``push_null`` a NULL is pushed too (before the value if ``null_first``)."""

    name: str
    push_null: bool
    null_first: bool


class MethodArg(NamedTuple):
    """Argument of LOAD_METHOD."""

    name: str
    null_first: bool


class SuperArg(NamedTuple):
    """Argument of LOAD_SUPER_ATTR: ``method`` pushes two entries like LOAD_METHOD; ``two_args`` is ``super(a, b)``."""

    name: str
    method: bool
    two_args: bool
    null_first: bool


class BinaryArg(NamedTuple):
    """Argument of BINARY: ``operator.__<op>__``, or ``operator.__i<op>__`` if ``inplace``."""

    op: str
    inplace: bool


class CompareArg(NamedTuple):
    """Argument of COMPARE: ``operator.__<op>__``, followed by ``bool()`` if ``to_bool``."""

    op: str
    to_bool: bool


class CallArg(NamedTuple):
    """Argument of CALL and CALL_KW: ``nargs`` counts keyword arguments, whose names are ``kwnames``
    (CALL_KW takes the names from the stack and has ``()`` here)."""

    nargs: int
    kwnames: tuple[str, ...]
    null_first: bool


class CallExArg(NamedTuple):
    """Argument of CALL_EX."""

    kwargs: bool
    null_first: bool


class FormatArg(NamedTuple):
    """Argument of FORMAT: ``conversion`` is ``''``, ``'str'``, ``'repr'`` or ``'ascii'`` and comes first."""

    conversion: str
    spec: bool


class UnpackArg(NamedTuple):
    """Argument of UNPACK_EX: how many items go before and after the starred one."""

    before: int
    after: int


class InterpretArg(NamedTuple):
    """Argument of INTERPRET: CPython's name of the instruction, and why no region contains it."""

    opname: str
    reason: str


@dataclass(frozen=True)
class CanonicalOp:
    """One operation: its name, what ``Instr.arg`` is, its stack effect, and what else there is to know."""

    name: str
    arg: str
    stack: str
    doc: str = ""


_TABLE = (
    # -- the frame ---------------------------------------------------------------------------
    CanonicalOp("RESUME", "0 at the start of a function", "->", "Where tracing begins and signals are served."),
    CanonicalOp("NOP", "", "->"),
    CanonicalOp("INTERPRET", "InterpretArg", "?", "Left to the interpreter: leave the frame at this unit."),
    # -- the stack ---------------------------------------------------------------------------
    CanonicalOp("POP_TOP", "", "v ->"),
    CanonicalOp("PUSH_NULL", "", "-> NULL"),
    CanonicalOp("COPY", "n", "x[n] ... x[1] -> x[n] ... x[1] x[n]", "COPY 1 duplicates the top."),
    CanonicalOp("SWAP", "n", "x[n] ... x[1] -> x[1] ... x[n]", "Only the two ends change places."),
    # -- constants, locals, cells ------------------------------------------------------------
    CanonicalOp("LOAD_CONST", "the object", "-> v"),
    CanonicalOp("LOAD_FAST", "index into Code.names", "-> v",
                "Pushes what the slot holds, a cell object too.  Unbound: UnboundLocalError."),
    CanonicalOp("LOAD_FAST_AND_CLEAR", "index", "-> v or NULL", "The slot is unbound afterwards."),
    CanonicalOp("STORE_FAST", "index", "v or NULL ->", "NULL (from LOAD_FAST_AND_CLEAR) unbinds the slot."),
    CanonicalOp("DELETE_FAST", "index", "->", "Unbound: UnboundLocalError."),
    CanonicalOp("MAKE_CELL", "index", "->", "Puts the slot's value (or nothing) into a new cell in the slot."),
    CanonicalOp("COPY_FREE_VARS", "n", "->", "Copies the closure's n cells into the last n slots."),
    CanonicalOp("LOAD_DEREF", "index", "-> v", "The content of the slot's cell.  Empty: NameError."),
    CanonicalOp("STORE_DEREF", "index", "v ->"),
    CanonicalOp("DELETE_DEREF", "index", "->"),
    # -- names and attributes ----------------------------------------------------------------
    CanonicalOp("LOAD_GLOBAL", "GlobalArg", "-> v, with NULL on either side if push_null"),
    CanonicalOp("STORE_GLOBAL", "name", "v ->"),
    CanonicalOp("DELETE_GLOBAL", "name", "->"),
    CanonicalOp("LOAD_NAME", "name", "-> v", "Locals (a mapping), then globals, then builtins."),
    CanonicalOp("STORE_NAME", "name", "v ->"),
    CanonicalOp("DELETE_NAME", "name", "->"),
    CanonicalOp("LOAD_ATTR", "name", "obj -> v"),
    CanonicalOp("LOAD_METHOD", "MethodArg", "obj -> method self, or v with NULL", "See the place of NULL."),
    CanonicalOp("LOAD_SUPER_ATTR", "SuperArg", "super class self -> v, or as LOAD_METHOD"),
    CanonicalOp("STORE_ATTR", "name", "v obj ->"),
    CanonicalOp("DELETE_ATTR", "name", "obj ->"),
    CanonicalOp("LOAD_BUILD_CLASS", "", "-> builtins.__build_class__"),
    CanonicalOp("LOAD_ASSERTION_ERROR", "", "-> AssertionError"),
    CanonicalOp("IMPORT_NAME", "name", "level fromlist -> module"),
    CanonicalOp("IMPORT_FROM", "name", "module -> module v"),
    # -- operations --------------------------------------------------------------------------
    CanonicalOp("UNARY", "neg pos not invert", "v -> r", "operator.__<arg>__."),
    CanonicalOp("BINARY", "BinaryArg", "a b -> r"),
    CanonicalOp("COMPARE", "CompareArg", "a b -> r"),
    CanonicalOp("IS", "invert (bool)", "a b -> bool"),
    CanonicalOp("CONTAINS", "invert (bool)", "item container -> bool"),
    CanonicalOp("TO_BOOL", "", "v -> bool"),
    CanonicalOp("SUBSCR", "", "obj key -> v"),
    CanonicalOp("STORE_SUBSCR", "", "v obj key ->"),
    CanonicalOp("DELETE_SUBSCR", "", "obj key ->"),
    CanonicalOp("SLICE", "", "obj start stop -> obj[start:stop]"),
    CanonicalOp("STORE_SLICE", "", "v obj start stop ->"),
    CanonicalOp("GET_LEN", "", "obj -> obj len(obj)"),
    # -- building ----------------------------------------------------------------------------
    CanonicalOp("BUILD_TUPLE", "n", "x[1] ... x[n] -> tuple"),
    CanonicalOp("BUILD_LIST", "n", "x[1] ... x[n] -> list"),
    CanonicalOp("BUILD_SET", "n", "x[1] ... x[n] -> set"),
    CanonicalOp("BUILD_MAP", "n", "k[1] v[1] ... k[n] v[n] -> dict"),
    CanonicalOp("BUILD_CONST_KEY_MAP", "n", "v[1] ... v[n] keys -> dict"),
    CanonicalOp("BUILD_STRING", "n", "s[1] ... s[n] -> str"),
    CanonicalOp("BUILD_SLICE", "2 or 3", "start stop [step] -> slice"),
    CanonicalOp("LIST_TO_TUPLE", "", "list -> tuple"),
    CanonicalOp("LIST_APPEND", "n", "list[n] ... v ->", "The list is n-th from the top once v is popped."),
    CanonicalOp("SET_ADD", "n", "set[n] ... v ->"),
    CanonicalOp("MAP_ADD", "n", "dict[n] ... k v ->"),
    CanonicalOp("LIST_EXTEND", "n", "list[n] ... iterable ->"),
    CanonicalOp("SET_UPDATE", "n", "set[n] ... iterable ->"),
    CanonicalOp("DICT_UPDATE", "n", "dict[n] ... mapping ->"),
    CanonicalOp("DICT_MERGE", "n", "dict[n] ... mapping ->", "For a call: a repeated key is a TypeError that names"
                " the callable three entries below the dict."),
    CanonicalOp("FORMAT", "FormatArg", "v [spec] -> str"),
    CanonicalOp("CONVERT_VALUE", "str repr ascii", "v -> str"),
    CanonicalOp("UNPACK_SEQUENCE", "n", "seq -> x[n] ... x[1]", "The first item ends on top."),
    CanonicalOp("UNPACK_EX", "UnpackArg", "seq -> items, the first on top"),
    CanonicalOp("MAKE_FUNCTION", "names of what is on the stack, bottom first", "attributes... code -> function",
                "Of 'defaults', 'kwdefaults', 'annotations', 'closure'."),
    CanonicalOp("SET_FUNCTION_ATTRIBUTE", "one of those names", "attribute function -> function"),
    # -- calls -------------------------------------------------------------------------------
    CanonicalOp("CALL", "CallArg", "two entries (see the place of NULL), nargs arguments -> r"),
    CanonicalOp("CALL_KW", "CallArg", "two entries, nargs arguments, names -> r"),
    CanonicalOp("CALL_EX", "CallExArg", "NULL and callable (either order), args [kwargs] -> r"),
    # -- control -----------------------------------------------------------------------------
    CanonicalOp("JUMP", "", "->", "Goes to target without serving signals."),
    CanonicalOp("JUMP_BACKWARD", "", "->", "Serves signals, then goes to target."),
    CanonicalOp("POP_JUMP_IF_TRUE", "", "v ->", "Truth of v.  A jump backwards (3.11) serves signals."),
    CanonicalOp("POP_JUMP_IF_FALSE", "", "v ->"),
    CanonicalOp("POP_JUMP_IF_NONE", "", "v ->"),
    CanonicalOp("POP_JUMP_IF_NOT_NONE", "", "v ->"),
    CanonicalOp("JUMP_IF_TRUE_OR_POP", "", "v -> v if it jumps"),
    CanonicalOp("JUMP_IF_FALSE_OR_POP", "", "v -> v if it jumps"),
    CanonicalOp("GET_ITER", "", "obj -> iterator"),
    CanonicalOp("FOR_ITER", "", "iterator -> iterator v, or -> and a jump when exhausted",
                "target is where CPython goes on: behind END_FOR and what belongs to it."),
    CanonicalOp("RETURN_VALUE", "", "v ->"),
    # -- exceptions, with --------------------------------------------------------------------
    CanonicalOp("RAISE", "0, 1 or 2", "[exception [cause]] ->"),
    CanonicalOp("RERAISE", "n", "[lasti...] exception ->", "n > 0: lasti is n below the exception."),
    CanonicalOp("PUSH_EXC_INFO", "", "exception -> previous exception"),
    CanonicalOp("POP_EXCEPT", "", "previous ->"),
    CanonicalOp("CHECK_EXC_MATCH", "", "exception class -> exception bool"),
    CanonicalOp("BEFORE_WITH", "", "manager -> exit value"),
    CanonicalOp("WITH_EXCEPT_START", "", "exit lasti previous exception -> exit lasti previous exception r"),
    # -- match -------------------------------------------------------------------------------
    CanonicalOp("MATCH_MAPPING", "", "obj -> obj bool"),
    CanonicalOp("MATCH_SEQUENCE", "", "obj -> obj bool"),
    CanonicalOp("MATCH_KEYS", "", "obj keys -> obj keys values-or-None"),
    CanonicalOp("MATCH_CLASS", "n positional", "obj class names -> attributes-or-None"),
)

OPS: dict[str, CanonicalOp] = {op.name: op for op in _TABLE}
