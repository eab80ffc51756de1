"""Calls of Python's builtin functions and types on numbers, and of ``math``.

Job: rules for ``int``, ``abs``, ``round``, ``min``, ``sum``, ``math.sqrt`` and their like.  Invariants: those of
``builtin_calls``; what has no lowering of its own is done by the very C function on boxed numbers, where that runs
no Python code.  Found through ``builtin_calls.find``.
"""
from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jitcore.frontend import boxed, iteration, lists, numpy_attrs, numpy_ops, operations, operators, python_ops
from jitcore.frontend.builtin_calls import Rule, rule
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import lacks, pytype
from jitcore.frontend.protocol import Raises, Redirect, Unsupported
from jitcore.frontend.values import Abstract, Array, Dict, Known, NativeMethod, Scalar, Sequence
from jitcore.ir.graph import Value
from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, ScalarType


def _number(m: Machine, name: str, value: Abstract, function: Callable[..., Any]) -> Abstract:
    """A conversion: of Python numbers by ``py``, of NumPy's numbers through their weak value."""
    if isinstance(value, Known) and python_ops.is_python_number(value):
        return python_ops.fold(m, function, value.obj)
    if isinstance(value, Known) and type(value.obj) is str and function is not bool:
        return python_ops.fold(m, function, value.obj)
    if operations.is_numpy(value):
        item = numpy_attrs.call_method(m, NativeMethod(value, "item"), [], {})
        if isinstance(item, Redirect):
            raise Unsupported(f"{name}() of an array")
        value = m.force(item)
    if isinstance(value, Known):
        return python_ops.fold(m, function, value.obj)
    return python_ops.apply(m, name, value)


@rule(int, 0, 1)
def _int(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    return _number(m, "int", args[0], int) if args else Known(0)


@rule(operator.index, 1, 1)
def _index(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    value = args[0]
    if issubclass(pytype(m, value), int) and isinstance(value, (Known, Scalar)):
        return value
    if operations.is_numpy(value) and issubclass(pytype(m, value), np.integer):
        return _number(m, "int", value, int)
    if isinstance(value, (Scalar, Sequence, Dict)) or lacks(value, "__index__"):
        raise Raises(TypeError, "operator.index() of something that is no int")
    raise Unsupported("operator.index() of an object")


@rule(float, 0, 1)
def _float(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if not args:
        return Known(0.0)
    if isinstance(args[0], Scalar) and str(args[0].type) == "float":
        return args[0]                                  # float(x) is x
    return _number(m, "float", args[0], float)


@rule(complex, 0, 2)
def _complex(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if not args:
        return Known(0j)
    if len(args) == 1:
        if isinstance(args[0], Scalar) and str(args[0].type) == "complex":
            return args[0]
        return _number(m, "complex", args[0], complex)
    if any(issubclass(pytype(m, arg), (complex, np.complexfloating)) for arg in args):
        raise Unsupported("complex() of complex parts")
    parts = [_number(m, "float", arg, float) for arg in args]
    if all(isinstance(part, Known) for part in parts):
        return python_ops.fold(m, complex, *(part.obj for part in parts))  # type: ignore[attr-defined]
    return python_ops.apply(m, "complex", *parts)


@rule(bool, 0, 1)
def _bool(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    return operations.truth_value(m, args[0]) if args else Known(False)


@rule(abs, 1, 1)
def _abs(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract | Redirect:
    value = args[0]
    if operations.is_numpy(value):
        return numpy_ops.unary(m, "abs", value)
    if operators.has_class(value):
        return operators.unary(m, "__abs__", value)
    return python_ops.fold(m, abs, value.obj) if isinstance(value, Known) else python_ops.apply(m, "abs", value)


@rule(round, 1, 2)
def _round(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    """To digits it is correctly rounded decimal: CPython's own function.  NumPy's scalars multiply and divide."""
    if isinstance(args[-1], Known) and args[-1].obj is None and len(args) == 2:
        args = args[:1]
    if all(isinstance(arg, Known) for arg in args):
        return python_ops.fold(m, round, *(arg.obj for arg in args))  # type: ignore[attr-defined]
    if isinstance(args[0], Array):
        raise Unsupported("round() of an array")
    if operations.is_numpy(args[0]):
        return boxed.through(m, round, args)
    if len(args) == 1:
        return python_ops.apply(m, "round", args[0])
    if pytype(m, args[0]) is int and isinstance(args[1], Known) and type(args[1].obj) is int and args[1].obj >= 0:
        return args[0]
    return boxed.through(m, round, args)


@rule(divmod, 2, 2)
def _divmod(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if any(isinstance(arg, Array) for arg in args):
        raise Unsupported("divmod() of arrays")
    parts = [operations.binary(m, op, args[0], args[1]) for op in ("floordiv", "mod")]
    return Sequence("tuple", [part for part in parts if isinstance(part, Abstract)])


@rule(pow, 2, 3)
def _pow(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract | Redirect:
    if len(args) == 2:
        return operations.binary(m, "pow", args[0], args[1])
    if not all(pytype(m, arg) in (int, bool) for arg in args):
        raise Unsupported("pow() with a modulus of numbers that are no ints")
    return boxed.through(m, pow, args)


# -- the least and the greatest ---------------------------------------------------------------------------
def _extreme(name: str, function: Callable[..., Any]) -> Rule:
    op = "lt" if name == "min" else "gt"

    def found(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
        default = kwargs.get("default")
        if set(kwargs) - {"default"} or (default is not None and len(args) > 1):
            raise Unsupported(f"{name}() with {', '.join(kwargs)}")
        if len(args) == 1 and not kwargs and (whole := lists.whole(args[0])) is not None:
            return lists.best(m, whole, name == "max")
        values = [m.force(v) for v in (args if len(args) > 1 else iteration.items(m, args[0], 1000)[0])]
        if not values:
            if default is not None:
                return default
            raise Raises(ValueError, f"{name}() of nothing")
        if all(isinstance(v, Known) for v in values):
            return _known_extreme(m, function, values)
        if len(values) == 1:
            return values[0]
        return _chosen(m, name, op, values)
    return found


def _known_extreme(m: Machine, function: Callable[..., Any], values: list[Abstract]) -> Abstract:
    found = python_ops.fold(m, lambda *objs: function(objs), *(v.obj for v in values))  # type: ignore[attr-defined]
    assert isinstance(found, Known)
    return next(v for v in values if isinstance(v, Known) and v.obj is found.obj)


class _Candidate:
    """What the result is if it is of one type.  ``holds``: that it is; None for always."""

    def __init__(self, value: Abstract, holds: Value | None) -> None:
        self.value, self.holds = value, holds


def _chosen(m: Machine, name: str, op: str, values: list[Abstract]) -> Abstract:
    """The first value to which no later one compares.  Among values of one type it is selected; where there are two
    types the path splits, since the result's type is that of the value chosen."""
    types = []
    for value in values:
        if isinstance(value, Array) or not (operations.is_numpy(value) or python_ops.is_python_number(value)):
            raise Unsupported(f"{name}() of things that are no numbers")
        types.append(m.builder.as_value(value).type)
    if len(set(types)) > 2:
        raise Unsupported(f"{name}() of numbers of more than two types")
    if len(set(types)) == 1 and not operations.is_numpy(values[0]):
        chosen = values[0]
        for value in values[1:]:
            chosen = python_ops.apply(m, name, chosen, value)
        return chosen
    best: dict[Any, _Candidate] = {types[0]: _Candidate(values[0], None)}
    for value, kind in zip(values[1:], types[1:]):
        _challenge(m, op, best, value, kind)
    if len(best) == 1:
        return best[types[0]].value
    first, second = best.values()
    assert first.holds is not None
    hint = _hint(function_of(name), values)
    other = m.split(first.holds, None if hint is None else type(hint) is pytype(m, first.value))
    other.frame.push(second.value)
    return first.value


def function_of(name: str) -> Callable[..., Any]:
    return min if name == "min" else max


def _hint(function: Callable[..., Any], values: list[Abstract]) -> Any:
    hints = [v.obj if isinstance(v, Known) else v.hint for v in values]  # type: ignore[attr-defined]
    return None if any(hint is None for hint in hints) else function(hints)


def _challenge(m: Machine, op: str, best: dict[Any, _Candidate], value: Abstract, kind: Any) -> None:
    """``value`` takes the place of the best so far where it compares."""
    wins: Value | None = None
    beaten: dict[Any, Value] = {}
    for other, candidate in best.items():
        compared = operations.compare(m, op, value, candidate.value)
        truth = operations.truth_value(m, compared)
        beats = m.builder.as_value(truth)
        beaten[other] = beats
        here = beats if candidate.holds is None else _logic(m, "and", candidate.holds, beats)
        wins = here if wins is None else _logic(m, "or", wins, here)
    assert wins is not None
    same = best.get(kind)
    if same is None:
        new = _Candidate(value, wins)
    else:
        # Where another type's candidate was the best, what stands here does not matter unless the value wins.
        new = _Candidate(_select(m, wins, value, same.value), None)
        if same.holds is not None:
            new.holds = _logic(m, "or", same.holds, wins)
    for other, candidate in best.items():
        if other != kind:
            lost = python_ops.emit(m, "not", (wins,))
            candidate.holds = lost if candidate.holds is None else _logic(m, "and", candidate.holds, lost)
    best[kind] = new


def _logic(m: Machine, name: str, a: Value, b: Value) -> Value:
    return python_ops.emit(m, name, (a, b))


def _select(m: Machine, cond: Value, yes: Abstract, no: Abstract) -> Abstract:
    """``yes if cond else no`` of two numbers of one type."""
    values = tuple(m.builder.as_value(v) for v in (yes, no))
    kind = values[0].type
    assert isinstance(kind, ScalarType)
    char = kind.dtype.char
    strong_cond = m.builder.emit("unbox", (cond,), ScalarType(np.dtype(np.bool_), False))
    if kind.weak:
        strong = ScalarType(kind.dtype, False)
        values = tuple(m.builder.emit("unbox", (v,), strong) for v in values)
    found = m.builder.emit("ew", (strong_cond, *values), ScalarType(kind.dtype, False), op="where",
                           sig=f"?{char}{char}->{char}")
    return Scalar(m.builder.emit("unbox", (found,), kind) if kind.weak else found)


rule(min, 1, 1000, True)(_extreme("min", min))
rule(max, 1, 1000, True)(_extreme("max", max))


@rule(sum, 1, 2)
def _sum(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if isinstance(args[0], (Array, Scalar)):
        raise Unsupported("sum() over an array")
    if (whole := lists.whole(args[0])) is not None:
        return lists.total(m, whole, args[1] if len(args) == 2 else Known(0))
    values = [m.force(v) for v in iteration.items(m, args[0], 1000)[0]]
    total: Abstract = args[1] if len(args) == 2 else Known(0)
    if all(isinstance(v, Known) for v in (total, *values)):
        return python_ops.fold(m, lambda *objs: sum(objs[1:], objs[0]), total.obj, *(v.obj for v in values))  # type: ignore[attr-defined]
    if any(pytype(m, v) in (float, complex) for v in (total, *values)):
        raise Unsupported("sum() of floats, which compensates for rounding in some versions")
    for value in values:
        step = operations.binary(m, "add", total, value)
        assert isinstance(step, Abstract)
        total = step
    return total


@rule(math.prod, 1, 1)
def _prod(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    """The product of a few ints."""
    total: Abstract = Known(1)
    for value in map(m.force, iteration.items(m, args[0], 1000)[0]):
        if pytype(m, value) is not int:
            raise Unsupported("math.prod() of other things than ints")
        step = operations.binary(m, "mul", total, value)
        assert isinstance(step, Abstract)
        total = step
    return total


# -- math -------------------------------------------------------------------------------------------------
def _math(name: str, function: Callable[..., Any]) -> Rule:
    def found(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
        if all(isinstance(arg, Known) for arg in args):
            return python_ops.fold(m, function, *(arg.obj for arg in args))  # type: ignore[attr-defined]
        numbers = [_number(m, "float", arg, float) if operations.is_numpy(arg) else arg for arg in args]
        op = "math.log_base" if name == "log" and len(args) == 2 else f"math.{name}"
        if not all(map(python_ops.is_python_number, numbers)):
            raise Unsupported(f"math.{name} of an object")
        return python_ops.apply(m, op, *numbers)
    return found


for _name_of_math in (
        "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees erf erfc exp exp2 expm1 fabs"
        " floor fmod isfinite isinf isnan isqrt log log10 log1p log2 pow radians sin sinh sqrt tan tanh trunc").split():
    _target = getattr(math, _name_of_math, None)
    if _target is not None:
        rule(_target, 1, 2)(_math(_name_of_math, _target))


#: ``math`` functions for which CPython has an algorithm of its own, and what they give.
_OWN: dict[str, ScalarType] = {
    **dict.fromkeys(("hypot", "gamma", "lgamma", "remainder", "ldexp", "nextafter", "ulp", "fma"), FLOAT),
    **dict.fromkeys(("gcd", "lcm", "comb", "perm", "factorial"), INT), "isclose": BOOL,
}


def _own(name: str, function: Callable[..., Any], result: ScalarType) -> Rule:
    def found(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
        given = [*args, *(m.force(value) for value in kwargs.values())]
        if not kwargs and all(isinstance(arg, Known) for arg in args):
            return python_ops.fold(m, function, *(arg.obj for arg in args))  # type: ignore[attr-defined]
        if any(isinstance(arg, Array) or not (isinstance(arg, Known) or isinstance(arg, Scalar)) for arg in given):
            raise Unsupported(f"math.{name} of an object")
        return boxed.through_as(m, function, given, result, tuple(kwargs))
    return found


for _name_of_math, _result in _OWN.items():
    _target = getattr(math, _name_of_math, None)
    if _target is not None:
        rule(_target, 0, 100, True)(_own(_name_of_math, _target, _result))


@rule(math.modf, 1, 1)
def _modf(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    x = args[0]
    if isinstance(x, Known):
        return python_ops.fold(m, math.modf, x.obj)
    if operations.is_numpy(x):
        x = _number(m, "float", x, float)
    x = python_ops.apply(m, "float", x)
    return Sequence("tuple", [python_ops.apply(m, "math.modf_fraction", x), python_ops.apply(m, "math.modf_whole", x)])


# -- cmath, hash and the functions of operator ------------------------------------------------------------
for _name_of_math in ("acos acosh asin asinh atan atanh cos cosh exp log10 sin sinh sqrt tan tanh log").split():
    rule(getattr(cmath, _name_of_math), 1, 1)(_own(_name_of_math, getattr(cmath, _name_of_math), COMPLEX))
for _name_of_math, _result in {"phase": FLOAT, "isnan": BOOL, "isinf": BOOL, "isfinite": BOOL}.items():
    rule(getattr(cmath, _name_of_math), 1, 1)(_own(_name_of_math, getattr(cmath, _name_of_math), _result))

@rule(hash, 1, 1)
def _hash(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    """Of an int.  A NaN's hash is that of its object."""
    if pytype(m, args[0]) not in (int, bool):
        raise Unsupported("hash() of something that is no int")
    return boxed.through_as(m, hash, args, INT)


def _operator(name: str) -> Rule:
    def found(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract | Redirect:
        if name in ("lt", "le", "eq", "ne", "gt", "ge"):
            return operations.compare(m, name, args[0], args[1])
        return operations.binary(m, name, args[0], args[1])
    return found


for _name_of_math in ("add sub mul truediv floordiv mod lshift rshift xor lt le eq ne gt ge").split():
    rule(getattr(operator, _name_of_math), 2, 2)(_operator(_name_of_math))
