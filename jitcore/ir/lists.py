"""Operations on lists: what they take and give, and what they mean.

Job: ``check_list`` says whether a ``list_...`` node's types fit; ``EVALUATORS`` run them on Python lists, which
defines them; ``CALLS`` are the operations on whole lists, each with the types that it takes.  Invariants: items are
of the list's item type exactly; an operation that refuses has changed nothing.  Used by ``ir.rules``, ``ir.interp``
and the back ends.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitcore.ir.graph import Node
from jitcore.ir.types import BOOL, FLOAT, INT, ArrayType, ListType, ScalarType, Type

#: What stands for a limit of a slice that was left out.
LOWEST, HIGHEST = -2**63, 2**63 - 1


class Refuses(Exception):
    """An operation is left to the interpreter."""


class BrokenList(Exception):
    """A node's types do not fit."""


def _limits(start: int, stop: int, step: int = 1) -> slice:
    none = (LOWEST, HIGHEST)
    return slice(None if start in none else start, None if stop in none else stop, step)


def _delete(l: list[Any], start: int, stop: int) -> None:
    del l[_limits(start, stop)]


def _has_nan(items: list[Any]) -> bool:
    return any(item != item for item in items)


def _sort(l: list[Any], reverse: bool) -> None:
    if _has_nan(l):
        raise Refuses
    l.sort(reverse=reverse)


def _find(l: list[Any], item: Any) -> int:
    """The first index, -1 where there is none.  Whether two NaNs are one object is not known here."""
    for k, other in enumerate(l):
        if other != other and item != item:
            raise Refuses
        if other == item:
            return k
    return -1


def _count(l: list[Any], item: Any) -> int:
    if item != item and _has_nan(l):
        raise Refuses
    return l.count(item)


def _equal(a: list[Any], b: list[Any]) -> bool:
    if a is b:
        return True
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if type(x) is list:
            if not _equal(x, y):
                return False
        elif x != x and y != y:
            raise Refuses
        elif x != y:
            return False
    return True


def _best(l: list[Any], largest: bool) -> int:
    if not l:
        raise Refuses
    best = 0
    for k, item in enumerate(l):
        if item > l[best] if largest else item < l[best]:
            best = k
    return best


def _sum_ints(l: list[Any], start: int) -> int:
    for item in l:
        start += item
        if not LOWEST <= start <= HIGHEST:
            raise Refuses
    return start


def _sum_floats(l: list[Any], start: float) -> float:
    return sum(l, start)


def _from_array(a: np.ndarray) -> list[Any]:
    return list(a)


def _to_array(l: list[Any], ndim: int, dtype: np.dtype) -> np.ndarray:
    made = np.array(l) if _is_regular(l, ndim) else None
    if made is None or made.ndim != ndim or made.dtype != dtype:
        raise Refuses
    return made


def _is_regular(l: list[Any], ndim: int) -> bool:
    return ndim == 1 or len({len(row) for row in l}) == 1


@dataclass(frozen=True)
class Call:
    """One operation on a whole list: ``function(*operands)``; ``takes`` are operand kinds behind the list: 'i' int, 'b'
    bool, 'f' float, 'v' an item, 'l' a list of the same type; ``gives``: 'l', 'i', 'b', 'f' or '' for nothing."""

    function: Callable[..., Any]
    takes: str
    gives: str


CALLS: dict[str, Call] = {
    "slice": Call(lambda l, start, stop, step: l[_limits(start, stop, step)], "iii", "l"),
    "repeat": Call(lambda l, times: l * times, "i", "l"),
    "concat": Call(lambda a, b: a + b, "l", "l"),
    "extend": Call(lambda a, b: a.extend(b), "l", ""),
    "insert": Call(lambda l, at, item: l.insert(at, item), "iv", ""),
    "delete": Call(_delete, "ii", ""),
    "reverse": Call(lambda l: l.reverse(), "", ""),
    "sort": Call(_sort, "b", ""),
    "find": Call(_find, "v", "i"),
    "count": Call(_count, "v", "i"),
    "equal": Call(_equal, "l", "b"),
    "best": Call(_best, "b", "i"),
    "sum_ints": Call(_sum_ints, "i", "i"),
    "sum_floats": Call(_sum_floats, "f", "f"),
    "truth": Call(lambda l, every: all(l) if every else any(l), "b", "b"),
}

#: Those whose first operand is no list, or whose result is none: checked apart.
OTHERS = ("range", "from_array", "to_array")


def _call(node: Node, *operands: Any) -> Any:
    fn = node.attrs["fn"]
    if fn in CALLS:
        return CALLS[fn].function(*operands)
    assert node.result is not None
    if fn == "range":
        start, step, n = operands
        return [start + k * step for k in range(n)]
    if fn == "from_array":
        assert isinstance(node.result.type, ListType) and isinstance(node.result.type.item, ScalarType)
        return operands[0].tolist() if node.result.type.item.weak else list(operands[0])
    assert isinstance(node.result.type, ArrayType)
    return _to_array(operands[0], node.result.type.ndim, node.result.type.dtype)


def _get(node: Node, l: list[Any], index: int) -> Any:
    if index < 0:
        raise IndexError
    return l[index]


def _set(node: Node, l: list[Any], value: Any, index: int) -> None:
    if index < 0:
        raise IndexError
    l[index] = value


def _pop(node: Node, l: list[Any], index: int) -> None:
    if index < 0:
        raise IndexError
    del l[index]


EVALUATORS: dict[str, Callable[..., Any]] = {
    "list_new": lambda node: [],
    "list_fill": lambda node, value, n: [value] * n,
    "list_len": lambda node, l: len(l),
    "list_get": _get,
    "list_set": _set,
    "list_append": lambda node, l, value: l.append(value),
    "list_pop": _pop,
    "list_call": _call,
}


# -- types ----------------------------------------------------------------------------------------
def _need(ok: bool, node: Node) -> None:
    if not ok:
        raise BrokenList(f"{node.op} of {', '.join(str(value.type) for value in node.operands)}"
                         f" giving {node.result.type if node.result is not None else 'nothing'}")


def is_item(type_: Type) -> bool:
    """Whether a list may have items of this type."""
    return isinstance(type_, ScalarType) or (isinstance(type_, ListType) and is_item(type_.item))


def check_list(node: Node) -> None:
    """Raise ``BrokenList`` unless the types of a ``list_...`` node fit."""
    types = tuple(value.type for value in node.operands)
    result = node.result.type if node.result is not None else None
    if node.op in ("list_new", "list_fill"):
        _need(isinstance(result, ListType) and is_item(result.item), node)
        assert isinstance(result, ListType)
        _need(types == (() if node.op == "list_new" else (result.item, INT)), node)
        return
    if node.op == "list_call" and node.attrs["fn"] in OTHERS:
        _need(_other_fits(node.attrs["fn"], types, result), node)
        return
    _need(bool(types) and isinstance(types[0], ListType), node)
    whole = types[0]
    assert isinstance(whole, ListType)
    if node.op == "list_call":
        _need(node.attrs["fn"] in CALLS, node)
        call = CALLS[node.attrs["fn"]]
        kinds: dict[str, Type | None] = {"i": INT, "b": BOOL, "f": FLOAT, "v": whole.item, "l": whole, "": None}
        _need(types[1:] == tuple(kinds[kind] for kind in call.takes) and result == kinds[call.gives], node)
        return
    takes, gives = {"list_len": ((), INT), "list_get": ((INT,), whole.item), "list_set": ((whole.item, INT), None),
                    "list_append": ((whole.item,), None), "list_pop": ((INT,), None)}[node.op]
    _need(types[1:] == takes and result == gives, node)


def _other_fits(fn: str, types: tuple[Type, ...], result: Type | None) -> bool:
    if fn == "range":
        return types == (INT, INT, INT) and result == ListType(INT)
    if len(types) != 1:
        return False
    if fn == "from_array":
        return isinstance(types[0], ArrayType) and types[0].ndim == 1 and isinstance(result, ListType) and (
            (isinstance(result.item, ScalarType) and result.item.dtype.kind == types[0].dtype.kind)
            or (result.item == INT and types[0].dtype.kind in "iu"))
    item, depth = types[0], 0
    while isinstance(item, ListType):
        item, depth = item.item, depth + 1
    return isinstance(item, ScalarType) and isinstance(result, ArrayType) and (
        1 <= depth <= 2 and result.ndim == depth and result.layout == "C" and result.dtype == item.dtype)


assert sys.maxsize == HIGHEST
