"""A small machine for tests of ``frontend.numpy_*``: traces one operation, runs the graph in ``ir.interp``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from jitcore.frontend import numpy_attrs
from jitcore.frontend.builder import Builder, CannotPin
from jitcore.frontend.machine import Choices
from jitcore.frontend.protocol import Redirect, Unsupported
from jitcore.frontend.state import State
from jitcore.frontend.values import (
    Abstract,
    Array,
    Dict,
    Known,
    Lazy,
    NativeMethod,
    Opaque,
    Scalar,
    Sequence,
    TypedList,
)
from jitcore.guards.guard import DimsEqual, Load, LoadArray, LoadObject, ValueIs
from jitcore.guards.sources import Local
from jitcore.ir.graph import Exit, Terminator
from jitcore.ir.interp import run
from jitcore.ir.recipe import Const, FromValue
from jitcore.ir.verify import verify
from jitcore.ops.python import PY
from jitcore.ops.table import OPS

PY_FUNCTIONS = {name: op.function for name, op in PY.items()}


class Fake:
    """What ``frontend.machine`` gives to the NumPy modules; ``stored``: a store each, True into an own array."""

    def __init__(self) -> None:
        self.builder = Builder("test", "test.py")
        self.choices, self.state, self.depth = Choices(), State([]), 1

        self.stored: list[bool] = []

    def force(self, value: Abstract) -> Abstract:
        return self.builder.force(value)

    def failing_array(self) -> int:
        return self.builder.failing_array()

    def note_store(self, target: Array, own: bool) -> None:
        self.stored.append(own)

    def pin(self, value: Abstract) -> Known:
        value = self.force(value)
        if isinstance(value, Known):
            return value
        if not isinstance(value, Scalar):
            raise Unsupported("no number")
        try:
            return self.builder.pin(value)
        except CannotPin:
            raise Unsupported("a computed value decides a type") from None


RESTART = "restart"


class Traced:
    """One traced operation over the objects ``args``; ``run`` executes it for others of the same guards."""

    def __init__(self, trace: Callable[..., Abstract], args: tuple[Any, ...]) -> None:
        self.m = Fake()
        values = [a if isinstance(a, Abstract) else Lazy(a, Local(i, f"a{i}")) for i, a in enumerate(args)]
        self.result = self.m.force(trace(self.m, *values))
        builder = self.m.builder
        outputs: list[Any] = []
        self.shape = self._collect(self.result, outputs)
        index = builder.graph.add_exit(Exit("return", tuple(outputs), result=FromValue(0) if outputs else None))
        if not outputs:
            builder.graph.exits[index].result = Const(None)
        builder.block.terminator = Terminator("exit", exit=index)
        self.graph = builder.finish()
        verify(self.graph)
        self.guards = builder.guards

    def _collect(self, value: Abstract, outputs: list[Any]) -> Any:
        value = self.m.force(value)
        if isinstance(value, (Scalar, Array, Opaque, TypedList)):
            outputs.append(value.value if isinstance(value, TypedList) else self.m.builder.as_value(value))
            return len(outputs) - 1
        if isinstance(value, Sequence):
            return (value.kind, [self._collect(item, outputs) for item in value.items])
        if isinstance(value, Known):
            return value
        raise TypeError(type(value))

    def _build(self, shape: Any, found: list[Any]) -> Any:
        if isinstance(shape, int):
            return found[shape]
        if isinstance(shape, Known):
            return shape.obj
        kind, items = shape
        built = [self._build(item, found) for item in items]
        return tuple(built) if kind == "tuple" else built

    def fits(self, args: tuple[Any, ...]) -> bool:
        """Whether the length and value guards hold for ``args`` (types are the test's business)."""
        for guard in self.guards:
            if isinstance(guard, DimsEqual):
                if args[guard.source.index].shape[guard.axis] != args[guard.other.index].shape[guard.other_axis]:
                    return False
            if isinstance(guard, ValueIs) and args[guard.source.index] != guard.value:
                return False
        return True

    def run(self, *args: Any) -> Any:
        inputs = [args[g.source.index] for g in self.guards if isinstance(g, (Load, LoadArray, LoadObject))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exit, found = run(self.graph, inputs, OPS, PY_FUNCTIONS)
        return RESTART if exit == 0 else self._build(self.shape, found)

    def count(self, op: str) -> int:
        return sum(node.op == op for node in self.graph.nodes())


def plain(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, bool]:
    """NumPy's result (or the exception) and whether it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return function(*args), bool(caught)
        except Exception as error:
            return error, bool(caught)


def same(got: Any, want: Any, ulps: float = 0) -> str:
    """'' if two results are alike in type, dtype, shape, memory order and bits (NaNs equal NaNs)."""
    if isinstance(want, (tuple, list)):
        if type(got) is not type(want) or len(got) != len(want):
            return f"{got!r} is not {want!r}"
        return next((text for text in (same(g, w, ulps) for g, w in zip(got, want)) if text), "")
    if type(got) is not type(want):
        return f"type {type(got).__name__} is not {type(want).__name__}"
    if not isinstance(want, (np.ndarray, np.generic, float, complex)):
        return "" if got is want or got == want else f"{got!r} is not {want!r}"
    g, w = np.asarray(got), np.asarray(want)
    if g.dtype != w.dtype or g.dtype.char != w.dtype.char or g.shape != w.shape:
        return f"{g.dtype}{g.shape} is not {w.dtype}{w.shape}"
    if isinstance(want, np.ndarray) and g.size:
        for flag in ("c_contiguous", "f_contiguous"):
            if getattr(g.flags, flag) != getattr(w.flags, flag):
                return f"{flag} is {getattr(g.flags, flag)}"
    if np.array_equal(g, w, equal_nan=g.dtype.kind in "fc"):
        if g.dtype.kind in "f":
            equal = np.signbit(g) == np.signbit(w)
            if not bool(np.all(equal | np.isnan(w))):
                return "the sign of a zero"
        return ""
    if ulps and g.dtype.kind == "f":
        with np.errstate(all="ignore"):
            if bool(np.all((np.abs(g - w) <= ulps * np.spacing(np.abs(w))) | (g == w) | (np.isnan(g) & np.isnan(w)))):
                return ""
    return f"{got!r} is not {want!r}"


def check(
    trace: Callable[..., Abstract],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    others: tuple[tuple[Any, ...], ...] = (),
    may_refuse: bool = False,
    ulps: float = 0,
) -> Traced | None:
    """Trace for ``args`` and compare with NumPy for them and for ``others``; the Traced, or None if refused.

    The restart exit is always right, and always taken where NumPy warns or raises; for the case that was
    traced it is taken only there (a region that cannot serve its own call should have been refused).
    """
    try:
        traced = Traced(trace, args)
    except Unsupported:
        want, warned = plain(function, args)
        assert may_refuse or isinstance(want, Exception) or warned, f"refused {args!r}, NumPy gives {want!r}"
        return None
    for case in (args, *others):
        if not traced.fits(case):
            continue
        got = traced.run(*case)
        want, warned = plain(function, case)
        if isinstance(got, str) and got == RESTART:
            assert case is not args or warned or isinstance(want, Exception), (
                f"restarts for {case!r}, NumPy gives {want!r}"
            )
            continue
        assert not isinstance(want, Exception), f"{case!r}: NumPy raises {want!r}, the graph gives {got!r}"
        assert not warned, f"{case!r}: NumPy warns, the graph gives {got!r}"
        difference = same(got, want, ulps)
        assert not difference, f"{case!r}: {difference}"
    return traced


__all__ = ["RESTART", "Dict", "Fake", "Traced", "check", "plain", "same"]


def known(value):
    return (
        Sequence("tuple", [known(v) for v in value])
        if type(value) is tuple
        else (Sequence("list", [known(v) for v in value]) if type(value) is list else Known(value))
    )


def method(name, *more, **kw):
    def trace(m, a):
        found = numpy_attrs.call_method(
            m, NativeMethod(a, name), list(map(known, more)), {k: known(v) for k, v in kw.items()}
        )
        assert not isinstance(found, Redirect)
        return found

    return trace


def ramp(shape, char="d"):
    n = int(np.prod(shape))
    return (np.arange(1, n + 1) % 7).reshape(shape).astype(char)
