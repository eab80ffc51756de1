"""Stack depths computed from the canonical instructions alone agree at every join, at every handler of the
exception table, and stay within what CPython reserves."""
from __future__ import annotations

from jitcore.bytecode import Code, Instr
from jitcore.bytecode.canonical import OPS

from .corpus import corpus

_FIXED = {
    "RESUME": 0, "NOP": 0, "POP_TOP": -1, "PUSH_NULL": 1, "COPY": 1, "SWAP": 0, "LOAD_CONST": 1, "LOAD_FAST": 1,
    "LOAD_FAST_AND_CLEAR": 1, "STORE_FAST": -1, "DELETE_FAST": 0, "MAKE_CELL": 0, "COPY_FREE_VARS": 0, "LOAD_DEREF": 1,
    "STORE_DEREF": -1, "DELETE_DEREF": 0, "STORE_GLOBAL": -1, "DELETE_GLOBAL": 0, "LOAD_NAME": 1, "STORE_NAME": -1,
    "DELETE_NAME": 0, "LOAD_ATTR": 0, "LOAD_METHOD": 1, "STORE_ATTR": -2, "DELETE_ATTR": -1, "LOAD_BUILD_CLASS": 1,
    "LOAD_ASSERTION_ERROR": 1, "IMPORT_NAME": -1, "IMPORT_FROM": 1, "UNARY": 0, "BINARY": -1, "COMPARE": -1, "IS": -1,
    "CONTAINS": -1, "TO_BOOL": 0, "SUBSCR": -1, "STORE_SUBSCR": -3, "DELETE_SUBSCR": -2, "SLICE": -2, "STORE_SLICE": -4,
    "GET_LEN": 1, "LIST_TO_TUPLE": 0, "LIST_APPEND": -1, "SET_ADD": -1, "MAP_ADD": -2, "LIST_EXTEND": -1,
    "SET_UPDATE": -1, "DICT_UPDATE": -1, "DICT_MERGE": -1, "CONVERT_VALUE": 0, "SET_FUNCTION_ATTRIBUTE": -1, "JUMP": 0,
    "JUMP_BACKWARD": 0, "POP_JUMP_IF_TRUE": -1, "POP_JUMP_IF_FALSE": -1, "POP_JUMP_IF_NONE": -1,
    "POP_JUMP_IF_NOT_NONE": -1, "JUMP_IF_TRUE_OR_POP": -1, "JUMP_IF_FALSE_OR_POP": -1, "GET_ITER": 0, "FOR_ITER": 1,
    "RETURN_VALUE": -1, "PUSH_EXC_INFO": 1, "POP_EXCEPT": -1, "CHECK_EXC_MATCH": 0, "BEFORE_WITH": 1,
    "WITH_EXCEPT_START": 1, "MATCH_MAPPING": 1, "MATCH_SEQUENCE": 1, "MATCH_KEYS": 1, "MATCH_CLASS": -2,
    "RAISE": 0, "RERAISE": 0,
}
_ENDS = {"RETURN_VALUE", "RAISE", "RERAISE", "JUMP", "JUMP_BACKWARD"}


def _effect(instr: Instr) -> int:
    op, arg = instr.op, instr.arg
    if op in ("BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_STRING", "BUILD_SLICE"):
        return 1 - arg
    if op == "BUILD_MAP":
        return 1 - 2 * arg
    if op == "BUILD_CONST_KEY_MAP":
        return -arg
    if op == "LOAD_GLOBAL":
        return 1 + arg.push_null
    if op == "LOAD_SUPER_ATTR":
        return -2 + arg.method
    if op == "FORMAT":
        return -arg.spec
    if op == "UNPACK_SEQUENCE":
        return arg - 1
    if op == "UNPACK_EX":
        return arg.before + arg.after
    if op == "MAKE_FUNCTION":
        return -len(arg)
    if op == "CALL":
        return -1 - arg.nargs
    if op == "CALL_KW":
        return -2 - arg.nargs
    if op == "CALL_EX":
        return -2 - arg.kwargs
    return _FIXED[op]


def _jump_effect(instr: Instr) -> int:
    if instr.op == "FOR_ITER":
        return -1
    if instr.op in ("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"):
        return 0
    return _effect(instr)


def _depths(code: Code) -> dict[int, int]:
    """The depth before every instruction that can be reached, by index."""
    depths: dict[int, int] = {}
    work = [(0, 0)]

    def goes(unit: int, depth: int) -> None:
        work.append((code.at(unit), depth))

    while work:
        index, depth = work.pop()
        if index in depths:
            assert depths[index] == depth, f"{code.code}: {depth} and {depths[index]} at {code.instructions[index]}"
            continue
        depths[index] = depth
        instr = code.instructions[index]
        # The RETURN_VALUE of a RETURN_CONST has its value where CPython reserves nothing: no frame is left there.
        assert 0 <= depth <= code.code.co_stacksize + instr.mid
        handler = code.handler(instr.op_unit)
        if handler is not None:
            assert handler.depth <= depth, (code.code, instr)
            goes(handler.target, handler.depth + 1 + handler.lasti)
        if instr.target is not None:
            goes(instr.target, depth + _jump_effect(instr))
        after = depth + _effect(instr)
        if instr.op == "RETURN_VALUE":
            assert after == 0
        if instr.op not in _ENDS:
            work.append((index + 1, after))
    return depths


def test_depths_agree():
    checked = reached = total = 0
    for _, decoded in corpus():
        if any(i.op == "INTERPRET" for i in decoded.instructions):
            continue
        checked += 1
        reached += len(_depths(decoded))
        total += len(decoded.instructions)
    assert checked > 1500
    assert reached > 0.95 * total           # END_FOR is in the stream but never reached


def test_every_operation_has_a_known_effect():
    computed = {"BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_STRING", "BUILD_SLICE", "BUILD_MAP", "LOAD_GLOBAL",
                "BUILD_CONST_KEY_MAP", "LOAD_SUPER_ATTR", "FORMAT", "UNPACK_SEQUENCE", "UNPACK_EX", "MAKE_FUNCTION",
                "CALL", "CALL_KW", "CALL_EX", "INTERPRET"}
    assert set(OPS) == set(_FIXED) | computed
