"""Canonical instructions, performed by their definition, give what CPython gives: results, or the exception's class."""
from __future__ import annotations

import types

import pytest

from jitcore.bytecode import decode
from jitcore.bytecode.canonical import OPS
from jitcore.bytecode.decode import VERSION

from . import executor
from .subjects import CASES, Child


def _outcome(call):
    try:
        return "returned", call()
    except Exception as error:
        return "raised", type(error)


@pytest.mark.parametrize("func, args", CASES, ids=lambda value: getattr(value, "__name__", None))
def test_meaning(func, args):
    expected = _outcome(lambda: func(*args))
    got = _outcome(lambda: executor.run(func, *args))
    if got[0] == "raised" and issubclass(expected[1] if isinstance(expected[1], type) else object, NameError):
        assert issubclass(got[1], NameError | ValueError)       # an empty cell's content is a ValueError in Python
    else:
        assert got == expected


def test_the_executor_is_complete():
    """Every operation is performed here but those that only class bodies and modules contain."""
    missing = {op for op in OPS if not hasattr(executor.Frame, f"do_{op.lower()}")}
    assert missing == {"LOAD_NAME", "STORE_NAME", "DELETE_NAME", "INTERPRET"}


def test_the_cases_use_most_operations():
    codes = [func.__code__ for func, _ in CASES] + [Child.moved.__code__, Child.kinds.__code__]
    codes += [const for code in codes for const in code.co_consts if isinstance(const, types.CodeType)]
    used = {i.op for code in codes for i in decode(code).instructions}
    assert VERSION is not None
    not_here = {"DELETE_NAME", "DELETE_GLOBAL", "DELETE_DEREF"}
    by_version = {
        (3, 11): {"LOAD_FAST_AND_CLEAR", "LOAD_SUPER_ATTR", "TO_BOOL", "SLICE", "STORE_SLICE", "CONVERT_VALUE",
                  "SET_FUNCTION_ATTRIBUTE", "CALL_KW"},
        (3, 12): {"JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP", "TO_BOOL", "CONVERT_VALUE", "SET_FUNCTION_ATTRIBUTE",
                  "CALL_KW"},
        (3, 13): {"JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"},
    }[VERSION.number]
    assert set(OPS) - used - not_here == by_version
