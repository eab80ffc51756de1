"""Operations on Python's own numbers, strings, tuples and lists.

Job: operators whose operands are neither arrays nor NumPy scalars.  Invariants: known operands are folded by
Python itself; run-time numbers become ``py`` nodes, which leave by exit 0 where Python would raise, where an
int does not fit or where the result has another type.  Used by ``operations`` and ``builtin_calls``.
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jitcore.frontend import boxed, lists
from jitcore.frontend.machine import MAX_TRIPS, Machine
from jitcore.frontend.numpy_shapes import lengths_of
from jitcore.frontend.objects import constant, known_items
from jitcore.frontend.protocol import Raises, Unsupported
from jitcore.frontend.values import Abstract, Known, Scalar, Sequence, TypedList
from jitcore.ir.graph import Value
from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, ScalarType
from jitcore.ops import python

_FOLDED = (bool, int, float, complex, str, bytes, tuple, type(None))
_MAX_BITS, _MAX_LENGTH = 256, 10_000

OPERATORS: dict[str, Callable[..., Any]] = {
    name: getattr(operator, name + "_" if name in ("and", "or", "not") else name)
    for name in ("add", "and", "floordiv", "lshift", "matmul", "mul", "mod", "or", "pow", "rshift", "sub", "truediv",
                 "xor", "lt", "le", "eq", "ne", "gt", "ge", "neg", "pos", "invert", "not")}


def is_python_number(value: Abstract) -> bool:
    """A Python bool, int, float or complex."""
    if isinstance(value, Scalar):
        return value.type.weak
    return isinstance(value, Known) and type(value.obj) in (bool, int, float, complex)


def apply(m: Machine, name: str, *args: Abstract) -> Abstract:
    """The operation ``name`` of ``ops.python`` on Python numbers."""
    if not all(is_python_number(a) for a in args):
        raise Unsupported(f"{name} of something that is no number")
    hints = [a.obj if isinstance(a, Known) else a.hint for a in args]  # type: ignore[attr-defined]
    if any(type(h) is int and not -2**63 <= h < 2**63 for h in hints if h is not None):
        raise Unsupported("an int beyond 64 bits")
    values = tuple(m.builder.as_value(a) for a in args)
    return Scalar(emit(m, name, values), None, guess(name, hints))


def guess(name: str, hints: list[Any]) -> Any:
    """The operation's result for the snapshot's values, None where they are not known."""
    if any(hint is None for hint in hints):
        return None
    try:
        return python.PY[name].function(*hints)
    except Exception:
        return None


def emit(m: Machine, name: str, values: tuple[Value, ...]) -> Value:
    """A ``py`` node."""
    types = tuple(value.type for value in values)
    result = python.result_type(name, types)
    if result is None:
        raise Unsupported(f"{name} of {', '.join(map(str, types))}")
    return m.builder.emit("py", values, result, exit=0 if python.can_exit(name, types) else None, fn=name)


def truth(m: Machine, value: Scalar) -> Value:
    """A weak bool that is ``bool(value)``."""
    if value.type == BOOL:
        return value.value
    assert isinstance(value.type, ScalarType)
    return emit(m, "bool", (value.value,))


def fold(m: Machine, function: Callable[..., Any], *args: Any) -> Abstract:
    """``function(*args)`` now, for immutable builtin operands; ``Unsupported`` where it raises or grows."""
    if not all(_is_folded(a) for a in args):
        raise Unsupported("an operation on objects")
    if function in (operator.pow, operator.lshift, operator.mul, pow) and any(_is_large(a) for a in args):
        raise Unsupported("an operation with a large result")
    try:
        result = function(*args)
    except Exception as error:
        raise Raises(type(error), f"{type(error).__name__}: {error}") from None
    if not _is_folded(result):
        raise Unsupported("an operation that gives an object")
    return constant(m, result)


def _is_folded(obj: Any) -> bool:
    if type(obj) is tuple:
        return all(map(_is_folded, obj))
    return type(obj) in _FOLDED


def _is_large(obj: Any) -> bool:
    if type(obj) is int:
        return obj.bit_length() > _MAX_BITS or abs(obj) > _MAX_LENGTH
    return type(obj) in (str, bytes, tuple) and len(obj) > _MAX_LENGTH


def binary(m: Machine, op: str, a: Abstract, b: Abstract) -> Abstract:
    """``a op b`` where neither is NumPy's."""
    if isinstance(a, Known) and isinstance(b, Known):
        return fold(m, OPERATORS[op], a.obj, b.obj)
    if is_python_number(a) and is_python_number(b):
        return _power(m, a, b) if op == "pow" else apply(m, op, a, b)
    if op == "add" and (joined := lists.concat(m, a, b)) is not None:
        return joined
    if op == "mul" and (many := _repeated(m, a, b)) is not None:
        return many
    parts = [known_items(m, v) for v in (a, b)]
    kinds = [_kind(v) for v in (a, b)]
    if op == "add" and kinds[0] == kinds[1] and parts[0] is not None and parts[1] is not None:
        return _sequence(m, kinds[0], parts[0] + parts[1])
    if op == "mul":
        for items, kind, other in ((parts[0], kinds[0], b), (parts[1], kinds[1], a)):
            if items is not None and isinstance(other, (Known, Scalar)):
                times = m.pin_index(other)
                if times * len(items) > _MAX_LENGTH:
                    raise Unsupported("a long sequence")
                return _sequence(m, kind, items * times)
    raise Unsupported(f"{op} of objects")


def _power(m: Machine, a: Abstract, b: Abstract) -> Abstract:
    """``a ** b``: the power of an int to a negative one is a float, so the sign decides the type."""
    types = [m.builder.as_value(v).type for v in (a, b)]
    if COMPLEX in types:
        return boxed.through_as(m, operator.pow, [a, b], COMPLEX)
    if FLOAT in types:
        return apply(m, "pow", a, b)
    if isinstance(b, Known):
        return _root(m, a, b) if b.obj < 0 else apply(m, "pow", a, b)  # type: ignore[operator]
    assert isinstance(b, Scalar)
    if b.hint is None and _is_negation(b):
        whole, fraction = apply(m, "pow", a, apply(m, "max", b, Known(0))), _root(m, a, b)
        m.split(m.builder.as_value(apply(m, "lt", b, Known(0)))).frame.push(whole)
        return fraction
    if b.hint is None or b.hint >= 0:
        return apply(m, "pow", a, b)
    m.builder.emit_check("check", (m.builder.as_value(apply(m, "lt", b, Known(0))),))
    return _root(m, a, b)


def _is_negation(value: Scalar) -> bool:
    node = value.value.node
    return node is not None and node.op == "py" and node.attrs["fn"] == "neg"


def _root(m: Machine, a: Abstract, b: Abstract) -> Abstract:
    """An int to a negative int: the power of floats."""
    return apply(m, "pow", *(Known(float(v.obj)) if isinstance(v, Known) else apply(m, "float", v)  # type: ignore[arg-type]
                             for v in (a, b)))


def _repeated(m: Machine, a: Abstract, b: Abstract) -> Abstract | None:
    """A list times an int that is not known, or that makes it long; None for other operands."""
    for items, times in ((a, b), (b, a)):
        if isinstance(items, TypedList) or (isinstance(items, Sequence) and items.kind == "list" and not (
                isinstance(times, Known) and type(times.obj) is int and times.obj * len(items.items) <= MAX_TRIPS)):
            return lists.repeat(m, items, times)
    return None


def _sequence(m: Machine, kind: str, items: list[Abstract]) -> Abstract:
    return lists.make(m, items) if kind == "list" else Sequence(kind, items)


def _kind(value: Abstract) -> str:
    if isinstance(value, Sequence):
        return value.kind
    return "tuple" if isinstance(value, Known) and type(value.obj) is tuple else ""


def unary(m: Machine, op: str, value: Abstract) -> Abstract:
    """``op value`` where it is not NumPy's: 'neg', 'pos', 'invert'."""
    if isinstance(value, Known):
        if op == "invert" and type(value.obj) is bool:
            raise Unsupported("~ of a bool warns")
        return fold(m, OPERATORS[op], value.obj)
    if op == "invert" and isinstance(value, Scalar) and value.type == BOOL:
        raise Unsupported("~ of a bool warns")
    return apply(m, op, value)


def compare(m: Machine, op: str, a: Abstract, b: Abstract) -> Abstract:
    """``a op b`` where neither is NumPy's."""
    if isinstance(a, Known) and isinstance(b, Known) and _is_folded(a.obj) and _is_folded(b.obj):
        return fold(m, OPERATORS[op], a.obj, b.obj)
    if is_python_number(a) and is_python_number(b):
        return apply(m, op, a, b)
    if op in ("eq", "ne") and (same := lists.equal(m, a, b)) is not None:
        return same if op == "eq" else apply(m, "not", same)
    items_a, items_b = known_items(m, a), known_items(m, b)
    if op in ("eq", "ne") and items_a is not None and items_b is not None and _kind(a) == _kind(b):
        return _sequences_equal(m, items_a, items_b, op)
    if op in ("eq", "ne") and isinstance(a, Known) and isinstance(b, Known):
        return _known_equal(a.obj, b.obj, op)
    if op in ("eq", "ne") and _differ(a, b):
        return Known(op == "ne")
    raise Unsupported(f"{op} of objects")


def _known_equal(a: object, b: object, op: str) -> Abstract:
    """Equality of objects that compare by identity."""
    if isinstance(a, np.dtype) or isinstance(b, np.dtype):
        if all(isinstance(o, (np.dtype, str, type(None))) or (isinstance(o, type) and _is_library(o)) for o in (a, b)):
            return Known(OPERATORS[op](a, b))
    if all(type(o).__eq__ is object.__eq__ or (isinstance(o, type) and type(o).__eq__ is type.__eq__) for o in (a, b)):
        return Known((a is b) is (op == "eq"))
    raise Unsupported("equality of objects")


def _is_library(cls: type) -> bool:
    return cls.__module__ in ("builtins", "numpy")


def _differ(a: Abstract, b: Abstract) -> bool:
    """Builtin objects of kinds that are never equal."""
    def group(value: Abstract) -> str | None:
        if is_python_number(value):
            return "number"
        if isinstance(value, Known) and type(value.obj) in (str, bytes, type(None)):
            return type(value.obj).__name__
        return _kind(value) or None
    kinds = group(a), group(b)
    return None not in kinds and kinds[0] != kinds[1]


def _sequences_equal(m: Machine, a: list[Abstract], b: list[Abstract], op: str) -> Abstract:
    """``a == b`` or ``a != b`` of tuples or lists; of ints that are not known they are compared at run time."""
    if len(a) != len(b):
        return Known(op == "ne")
    open_: list[tuple[Abstract, Abstract]] = []
    for x, y in zip(a, b):
        x, y = m.force(x), m.force(y)
        if _is_int(x) and _is_int(y) and (isinstance(x, Scalar) or isinstance(y, Scalar)):
            if not (isinstance(x, Scalar) and isinstance(y, Scalar) and x.value is y.value):
                open_.append((x, y))
            continue
        if not (isinstance(x, Known) and isinstance(y, Known)):
            raise Unsupported("equality of sequences of run-time values")
        found = fold(m, operator.eq, x.obj, y.obj)
        if not (isinstance(found, Known) and found.obj):
            return Known(op == "ne")
    result: Abstract = Known(op == "eq")
    for x, y in open_:
        one = apply(m, op, x, y)
        result = one if isinstance(result, Known) else apply(m, "and" if op == "eq" else "or", result, one)
    return result


def _is_int(value: Abstract) -> bool:
    if isinstance(value, Known):
        return type(value.obj) is int and -2**63 <= value.obj < 2**63
    return isinstance(value, Scalar) and value.type == INT


def expect_equal(m: Machine, a: Sequence, b: Sequence) -> bool:
    """Whether two tuples of ints are equal: False where they certainly are not; where they are in the snapshot, the
    region exits unless they are.  ``Unsupported`` where nothing is known."""
    if len(a.items) != len(b.items):
        return False
    for x, y in zip(map(m.force, a.items), map(m.force, b.items)):
        if not (_is_int(x) and _is_int(y)):
            raise Unsupported("a key that is not a constant")
        if isinstance(x, Known) and isinstance(y, Known):
            if x.obj != y.obj:
                return False
            continue
        first, second = (v.hint if isinstance(v, Scalar) else v.obj for v in (x, y))  # type: ignore[attr-defined]
        if first is None or first != second:
            raise Unsupported("keys that may be equal")
        lengths_of(m).require_equal(m.builder.as_value(x), m.builder.as_value(y))
    return True
