"""Units, caches, lines, arguments, jump targets and handlers, against ``dis`` over a large corpus."""
from __future__ import annotations

import dis
import itertools
import operator
import sys
from functools import cache

import pytest

from jitcore.bytecode import decode
from jitcore.bytecode.canonical import OPS
from jitcore.bytecode.decode import VERSION

from .corpus import corpus

assert VERSION is not None
_AFTER_FOR = {(3, 11): [], (3, 12): ["END_FOR"], (3, 13): ["END_FOR", "POP_TOP"]}[VERSION.number]


def _groups(code):
    """What ``dis`` sees, one entry an instruction with its prefixes: (start unit, instruction, next unit)."""
    listed = list(dis.get_instructions(code))
    ends = [i.offset // 2 for i in listed[1:]] + [len(code.co_code) // 2]
    groups, start = [], None
    for instr, end in zip(listed, ends):
        if start is None:
            start = instr.offset // 2
        if instr.opname == "EXTENDED_ARG" or instr.opname in VERSION.folded:
            continue
        groups.append((start, instr, end))
        start = None
    return groups


@cache
def _listed():
    """(code, what it decodes to, what dis sees) for the corpus; dis takes most of these tests' time."""
    return [(code, decoded, _groups(code)) for code, decoded in corpus()]


def test_units_caches_and_lines():
    for code, decoded, groups in _listed():
        heads = [i for i in decoded.instructions if not i.mid]
        assert [(i.unit, i.op_unit, i.next_unit) for i in heads] \
            == [(start, instr.offset // 2, end) for start, instr, end in groups], code
        assert [i.line for i in heads] == [instr.positions.lineno or 0 for _, instr, _ in groups], code


def test_the_stream_has_no_holes_and_an_index():
    for code, decoded in corpus():
        heads = [i for i in decoded.instructions if not i.mid]
        assert heads[0].unit == 0 and heads[-1].next_unit == len(code.co_code) // 2
        assert all(a.next_unit == b.unit for a, b in itertools.pairwise(heads))
        for position, instr in enumerate(decoded.instructions):
            assert instr.op in OPS
            if not instr.mid:
                assert decoded.at(instr.unit) == position
        assert not decoded.starts(heads[-1].next_unit)
        with pytest.raises(KeyError):
            decoded.at(heads[-1].next_unit)


def test_jump_targets():
    jumps = 0
    for _, decoded, groups in _listed():
        by_unit = {start: instr.opname for start, instr, _ in groups}
        for start, instr, _ in groups:
            ours = decoded.instructions[decoded.at(start)]
            if instr.opcode not in dis.hasjrel or ours.op == "INTERPRET":
                assert ours.target is None
                continue
            jumps += 1
            unit = instr.argval // 2
            if ours.op == "FOR_ITER":
                for skipped in _AFTER_FOR:
                    assert by_unit[unit] == skipped
                    unit += 1
            assert ours.target == unit and decoded.starts(unit) and unit in decoded.targets
    assert jumps > 1000


def test_arguments():
    symbols = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">="}
    seen = set()
    for _, decoded, groups in _listed():
        for start, instr, _ in groups:
            ours = decoded.instructions[decoded.at(start)]
            if ours.op == "LOAD_CONST":
                assert ours.arg is instr.argval
            elif instr.opname in ("LOAD_FAST", "STORE_FAST", "DELETE_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR",
                                  "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "MAKE_CELL", "LOAD_CLOSURE"):
                assert decoded.names[ours.arg] == instr.argval
            elif ours.op in ("LOAD_GLOBAL", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
                assert ours.arg.name == instr.argval and ours.arg.null_first == decoded.null_first
                if ours.op == "LOAD_GLOBAL":
                    assert ours.arg.push_null == ("NULL" in instr.argrepr)
            elif ours.op in ("LOAD_ATTR", "STORE_ATTR", "DELETE_ATTR", "LOAD_NAME", "STORE_NAME", "STORE_GLOBAL",
                             "IMPORT_NAME", "IMPORT_FROM"):
                assert ours.arg == instr.argval
            elif ours.op == "COMPARE":
                assert instr.argrepr == (f"bool({symbols[ours.arg.op]})" if ours.arg.to_bool else symbols[ours.arg.op])
            elif ours.op == "BINARY":
                assert instr.argrepr.endswith("=") == ours.arg.inplace
                assert callable(getattr(operator, f"__{'i' * ours.arg.inplace}{ours.arg.op}__"))
            elif ours.op == "UNARY":
                assert callable(getattr(operator, f"__{ours.arg}__"))
            elif ours.op in ("CALL", "CALL_KW"):
                assert ours.arg.nargs == instr.arg >= len(ours.arg.kwnames)
            else:
                continue
            seen.add(ours.op)
    assert len(seen) >= 20


@pytest.mark.parametrize("source, expected", [
    ("a + b", "add"), ("a & b", "and"), ("a // b", "floordiv"), ("a << b", "lshift"), ("a @ b", "matmul"),
    ("a * b", "mul"), ("a % b", "mod"), ("a | b", "or"), ("a ** b", "pow"), ("a >> b", "rshift"), ("a - b", "sub"),
    ("a / b", "truediv"), ("a ^ b", "xor"), ("-a", "neg"), ("+a", "pos"), ("~a", "invert"), ("not a", "not"),
    ("a < b", "lt"), ("a <= b", "le"), ("a == b", "eq"), ("a != b", "ne"), ("a > b", "gt"), ("a >= b", "ge"),
])
def test_operators_by_name(source, expected):
    """The names are checked by what CPython computes for the source that they came from."""
    function = eval(f"lambda a, b: {source}")
    found = [i for i in decode(function.__code__).instructions if i.op in ("BINARY", "UNARY", "COMPARE")]
    name = found[-1].arg if isinstance(found[-1].arg, str) else found[-1].arg.op
    assert name == expected


@pytest.mark.parametrize("symbol", ["+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^"])
def test_in_place_operators(symbol):
    namespace: dict = {}
    exec(f"def f(a, b):\n    a {symbol}= b\n    return a {symbol} b", namespace)
    inplace, plain = (i.arg for i in decode(namespace["f"].__code__).instructions if i.op == "BINARY")
    assert (inplace.op, inplace.inplace, plain.inplace) == (plain.op, True, False)


def test_keyword_names():
    def f(g, x):
        return g(x, 1, first=x, second=2)

    call = next(i for i in decode(f.__code__).instructions if i.op.startswith("CALL"))
    if sys.version_info >= (3, 13):
        names = next(i.arg for i in decode(f.__code__).instructions if i.op == "LOAD_CONST" and type(i.arg) is tuple)
        assert call.op == "CALL_KW" and call.arg == (4, (), False) and names == ("first", "second")
    else:
        assert call.op == "CALL" and call.arg == (4, ("first", "second"), True) and call.op_unit > call.unit


def test_slot_names():
    for code, decoded in corpus():
        names = decoded.names
        assert [code._varname_from_oparg(i) for i in range(len(names))] == list(names)
        with pytest.raises(IndexError):
            code._varname_from_oparg(len(names))


def test_exception_table():
    entries = 0
    for code, decoded in corpus():
        theirs = dis.Bytecode(code).exception_entries
        assert [(2 * start, 2 * end, 2 * h.target, h.depth, h.lasti) for start, end, h in decoded.handlers] \
            == [(e.start, e.end, e.target, e.depth, e.lasti) for e in theirs]
        for start, end, handler in decoded.handlers:
            entries += 1
            assert decoded.handler(start) == decoded.handler(end - 1) == handler
            assert decoded.starts(handler.target)
        if not decoded.handlers:
            assert decoded.handler(0) is None
    assert entries > 500


def test_generators_are_told_apart():
    from . import samples
    kinds = {name: decode(f.__code__).is_function for name, f in samples.GOLDEN.items()}
    assert not kinds.pop("generator") and not kinds.pop("coroutine") and all(kinds.values())


def test_running_code_decodes_the_same():
    """Specialisation and monitoring rewrite running code; the decoder must not see that."""
    def f(values):
        total = 0
        for value in values:
            total += value
        return total

    before = str(decode(f.__code__))
    for _ in range(200):
        f([1, 2, 3])
    previous = sys.gettrace()
    sys.settrace(lambda *args: None)
    try:
        f([1])
        assert str(decode(f.__code__)) == before
    finally:
        sys.settrace(previous)


def test_unknown_opcode_is_left_to_the_interpreter(monkeypatch):
    from jitcore.bytecode import decode as module

    smaller = {name: t for name, t in VERSION.translate.items() if name != "BINARY_OP"}
    monkeypatch.setattr(sys.modules["jitcore.bytecode.decode"], "VERSION",
                        type(VERSION)(VERSION.number, smaller, VERSION.folded, VERSION.left, VERSION.absent, True))
    ops = [i for i in module((lambda a, b: a + b).__code__).instructions if i.op == "INTERPRET"]
    assert len(ops) == 1 and ops[0].arg.opname == "BINARY_OP"


def test_version_without_table(monkeypatch):
    monkeypatch.setattr(sys.modules["jitcore.bytecode.decode"], "VERSION", None)
    # What the decoder answers by itself; the package never asks it on such a CPython (_support).
    with pytest.raises(NotImplementedError, match=r"CPython 3\.\d+"):
        decode((lambda: 0).__code__)
