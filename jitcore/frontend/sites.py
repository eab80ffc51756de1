"""CALL sites: what each instruction asks of the dispatcher when a region does not do it itself.

Job: ``site`` names the generic operation of an instruction, its operands and its argument.  Invariants: the kinds,
the order of operands and the arguments are those of the table in ``csrc/calls.c``; an instruction that has no
site is left to the interpreter.  ``machine`` makes the exits.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from jitcore.bytecode import Instr
from jitcore.frontend.values import UNBOUND, Abstract, Known, Sequence, Slice, Unbound


class Site(NamedTuple):
    """A generic operation.  It takes ``n`` entries off the stack; ``under`` lies there afterwards, below the result."""

    kind: str
    n: int
    operands: list[Abstract]
    arg: Any = None
    under: tuple[Abstract, ...] = ()


_BINARY = ("add", "and", "floordiv", "lshift", "matmul", "mul", "mod", "or", "pow", "rshift", "sub", "truediv", "xor")
_COMPARE = ("lt", "le", "eq", "ne", "gt", "ge")
_CONVERSIONS = ("", "str", "repr", "ascii")

#: Operations whose operands are the topmost entries as they lie: kind and number of operands.
_PLAIN = {
    "SUBSCR": ("getitem", 2),
    "STORE_SUBSCR": ("setitem", 3),
    "DELETE_SUBSCR": ("delitem", 2),
    "TO_BOOL": ("is_true", 1),
    "GET_ITER": ("iter", 1),
    "LOAD_ATTR": ("getattr", 1),
    "STORE_ATTR": ("setattr", 2),
    "DELETE_ATTR": ("delattr", 1),
    "UNARY": ("unary", 1),
    "STORE_GLOBAL": ("store_global", 1),
    "STORE_DEREF": ("store_cell", 1),
    "IMPORT_NAME": ("import_name", 2),
    "UNPACK_SEQUENCE": ("unpack_sequence", 1),
    "BEFORE_WITH": ("before_with", 1),
}


def site(instr: Instr, stack: list[Abstract]) -> Site | None:
    """The site of ``instr`` on ``stack``, None where it is left to the interpreter."""
    op, arg = instr.op, instr.arg

    def top(n: int) -> list[Abstract]:
        return stack[len(stack) - n:]

    if op in _PLAIN:
        kind, n = _PLAIN[op]
        return Site(kind, n, top(n), arg)
    if op in ("CALL", "CALL_KW"):
        return _call(instr, stack)
    if op == "CALL_EX":
        return _call_ex(instr, stack)
    if op == "LOAD_METHOD":
        return Site("getattr", 1, top(1), arg.name, (UNBOUND,)) if arg.null_first else Site(
            "getattr_null", 1, top(1), arg.name)
    if op == "BINARY":
        return Site("binary", 2, top(2), _BINARY.index(arg.op) + (len(_BINARY) if arg.inplace else 0))
    if op == "COMPARE":
        return Site("compare_bool" if arg.to_bool else "compare", 2, top(2), _COMPARE.index(arg.op))
    if op == "CONTAINS":
        return Site("contains", 2, top(2), int(arg))
    if op == "FORMAT":
        operands = top(2) if arg.spec else [*top(1), UNBOUND]
        return Site("format", 2 if arg.spec else 1, operands, _CONVERSIONS.index(arg.conversion))
    if op == "CONVERT_VALUE":
        return Site("convert", 1, top(1), _CONVERSIONS.index(arg))
    if op == "BUILD_STRING":
        return Site("build_string", arg, top(arg))
    if op == "GET_LEN":
        return Site("len", 1, top(1), None, (stack[-1],))
    if op == "SLICE":
        obj, start, stop = top(3)
        return Site("getitem", 3, [obj, Slice(start, stop, Known(None))])
    if op == "STORE_SLICE":
        value, obj, start, stop = top(4)
        return Site("setitem", 4, [value, obj, Slice(start, stop, Known(None))])
    return None


def _callee(low: Abstract, high: Abstract) -> list[Abstract]:
    """The callable, and the object of a method or NULL."""
    return [high, low] if isinstance(low, Unbound) else [low, high]


def _call(instr: Instr, stack: list[Abstract]) -> Site:
    n = instr.arg.nargs + 2 + (instr.op == "CALL_KW")
    entries = stack[len(stack) - n:]
    names = instr.arg.kwnames
    if instr.op == "CALL_KW":
        last = entries.pop()
        assert isinstance(last, Known)
        names = last.obj
    return Site("call", n, _callee(*entries[:2]) + entries[2:], names or None)


def _call_ex(instr: Instr, stack: list[Abstract]) -> Site | None:
    n = 4 if instr.arg.kwargs else 3
    low, high, args, *rest = stack[len(stack) - n:]
    if isinstance(args, Sequence) and args.kind == "list":
        args = Sequence("tuple", list(args.items))
    elif not (isinstance(args, Sequence) or (isinstance(args, Known) and type(args.obj) is tuple)):
        return None
    return Site("call_ex", n, [_callee(low, high)[0], args, rest[0] if rest else UNBOUND])
