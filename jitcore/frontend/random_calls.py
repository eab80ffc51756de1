"""Calls of methods of NumPy's random generators that give one number.

Job: ``find`` gives the rule for a method of ``Generator``.  Invariants: a draw is NumPy's own, bit for bit
(``ops.random``); arguments for which NumPy would raise, or might, leave in front of the call; after a draw nothing can
be begun anew (``Machine.note_draw``).  Arrays of numbers (``size=``), other dtypes and ``out=`` are CALL sites.
Used by ``calls`` and ``attributes``.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jitcore.frontend import operations, python_ops
from jitcore.frontend.boxed import is_real
from jitcore.frontend.machine import Machine
from jitcore.frontend.numpy_args import bind, is_absent
from jitcore.frontend.numpy_methods import number
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Known, Opaque, Scalar
from jitcore.ir.graph import Value
from jitcore.ops.random import ANY, NOT_NEGATIVE, POSITIVE, Draw, of_method

Rule = Callable[[Machine, list[Abstract], dict[str, Abstract]], Abstract]

#: Parameters behind those of the distribution, which only their defaults leave native.
_REST: dict[str, str] = {
    **dict.fromkeys(("random", "standard_normal", "standard_gamma"), "size, dtype, out"),
    "standard_exponential": "size, dtype, method, out"}
_DEFAULTS: dict[str, Any] = {"size": None, "dtype": np.float64, "method": "zig", "out": None}
#: NumPy's own bounds lie beyond.
_LARGEST_MEAN = 1e15


def find(target: object) -> Rule | None:
    """The rule for a method (as the class holds it), None where it has none."""
    draw = of_method(target)
    return None if draw is None else _integers(draw) if draw.bounded else _rule(draw)


def _float(m: Machine, value: Abstract) -> Abstract:
    """An argument as the double that NumPy takes from it."""
    value = m.force(value)
    if not is_real(value):
        raise Unsupported("a parameter that is no real number")
    if operations.is_numpy(value):
        value = number(m, value)
    if isinstance(value, Known):
        return Known(float(value.obj))  # type: ignore[arg-type]
    return python_ops.apply(m, "float", value)


def _require(m: Machine, op: str, value: Abstract, bound: float) -> None:
    """NumPy would do something else, or raise, where this does not hold."""
    found = operations.truth_value(m, operations.compare(m, op, value, Known(bound)))
    if isinstance(found, Known):
        if not found.obj:
            raise Unsupported("parameters that NumPy refuses")
        return
    m.builder.emit_check("check", (m.builder.as_value(found),))


def _check(m: Machine, value: Abstract, condition: str) -> None:
    if condition == ANY:
        return
    if condition == NOT_NEGATIVE:
        _require(m, "ge", value, 0.0)
        sign = _copysign(m, value)              # -0.0 is refused
        _require(m, "gt", sign, 0.0)
    else:
        _require(m, "gt", value, 0.0)
        if condition != POSITIVE:
            _require(m, "le", value, 1.0)


def _copysign(m: Machine, value: Abstract) -> Abstract:
    if isinstance(value, Known):
        return Known(math.copysign(1.0, value.obj))  # type: ignore[arg-type]
    return python_ops.apply(m, "math.copysign", Known(1.0), value)


def _emit(m: Machine, draw: Draw, owner: Opaque, numbers: list[Abstract]) -> Abstract:
    if not draw.is_exact():
        raise Unsupported(f"{draw.name}: NumPy's own function cannot be had")
    operands: list[Value] = [m.builder.object_input(owner), *map(m.builder.as_value, numbers)]
    found = m.builder.emit("draw", tuple(operands), draw.result, exit=0, callee=m.builder.graph.add_object(draw))
    m.note_draw()
    return Scalar(found)


def _owner(m: Machine, args: list[Abstract]) -> Opaque:
    owner = m.force(args[0]) if args else None
    if not isinstance(owner, Opaque) or owner.type is not np.random.Generator or owner.source is None:
        raise Unsupported("a method of something that is no Generator of the entry state")
    return owner


def _rule(draw: Draw) -> Rule:
    names = ", ".join([*(name for name, _, _ in draw.parameters), _REST.get(draw.name, "size")])
    defaults = {name: default for name, default, _ in draw.parameters if default is not ...} | _DEFAULTS

    def found(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
        owner = _owner(m, args)
        given = bind(m, draw.name, args[1:], kwargs, names, defaults)
        for name in ("size", "out"):
            if not is_absent(given.get(name, Known(None))):
                raise Unsupported(f"{draw.name} with {name}=")
        for name in ("dtype", "method"):
            value = given.get(name)
            if value is not None and not (isinstance(value, Known) and value.obj in (_DEFAULTS[name], np.dtype("d"))):
                raise Unsupported(f"{draw.name} with {name}=")
        numbers = [_float(m, given[name]) for name, _, _ in draw.parameters]
        for value, (_, _, condition) in zip(numbers, draw.parameters):
            _check(m, value, condition)
        if draw.name == "poisson":
            _require(m, "le", numbers[0], _LARGEST_MEAN)
        if draw.span:
            span = operations.binary(m, "sub", numbers[1], numbers[0])
            assert isinstance(span, Abstract)
            _require(m, "ge", span, 0.0)
            _require(m, "lt", span, float("inf"))
        return _emit(m, draw, owner, numbers)
    return found


def _int(m: Machine, value: Abstract) -> Abstract:
    value = m.force(value)
    if operations.is_numpy(value) and is_real(value):
        value = number(m, value)
    if isinstance(value, Known) and type(value.obj) is int and -2**63 <= value.obj < 2**63:
        return value
    if isinstance(value, Scalar) and value.type.weak and value.type.dtype.kind == "i":
        return value
    raise Unsupported("a bound of random integers that is no int")


def _integers(draw: Draw) -> Rule:
    def found(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
        owner = _owner(m, args)
        given = bind(m, draw.name, args[1:], kwargs, "low, high, size, dtype, endpoint",
                     {"high": None, "size": None, "dtype": np.int64, "endpoint": False})
        endpoint, dtype = given["endpoint"], given["dtype"]
        if not is_absent(given["size"]) or not isinstance(endpoint, Known) or type(endpoint.obj) is not bool:
            raise Unsupported("integers with size= or an endpoint that is not known")
        if not (isinstance(dtype, Known) and dtype.obj is np.int64):
            raise Unsupported("integers of another dtype")
        low, high = (Known(0), given["low"]) if is_absent(given["high"]) else (given["low"], given["high"])
        low, high = _int(m, low), _int(m, high)
        if not endpoint.obj:
            last = operations.binary(m, "sub", high, Known(1))
            assert isinstance(last, Abstract)
            high = last
        ordered = operations.compare(m, "le", low, high)
        if isinstance(ordered, Known):
            if not ordered.obj:
                raise Unsupported("bounds that NumPy refuses")
        else:
            m.builder.emit_check("check", (m.builder.as_value(ordered),))
        return _emit(m, draw, owner, [low, high])
    return found
