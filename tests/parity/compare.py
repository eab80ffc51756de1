"""Run a function plain and accelerated, and compare everything that a user could see."""
from __future__ import annotations

import contextlib
import io
import traceback
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import jitcore


@dataclass
class Seen:
    kind: str
    value: Any
    warnings: list[tuple[str, str]]
    printed: str


def fresh_copy(func: types.FunctionType) -> types.FunctionType:
    """The same function with a code object of its own, so that marks do not meet."""
    copy = types.FunctionType(func.__code__.replace(), func.__globals__, func.__name__, func.__defaults__,
                              func.__closure__)
    copy.__kwdefaults__ = func.__kwdefaults__
    return copy


def observe(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Seen:
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        try:
            kind, value = "return", func(*args, **kwargs)
        except Exception as error:
            kind, value = "raise", error
    return Seen(kind, value, [(w.category.__name__, str(w.message)) for w in caught], out.getvalue())


def same(a: Any, b: Any, ulp: int = 0, where: str = "result") -> None:
    """Assert that two objects are alike in type, dtype, shape, layout and bits (or within ``ulp``).  Strides of arrays
    without elements are not looked at: what slices give them is NumPy's secret."""
    assert type(a) is type(b), f"{where}: type {type(a)} -> {type(b)}"
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, f"{where}: dtype {a.dtype} -> {b.dtype}"
        assert a.shape == b.shape, f"{where}: shape {a.shape} -> {b.shape}"
        assert a.flags.c_contiguous == b.flags.c_contiguous and a.flags.f_contiguous == b.flags.f_contiguous, \
            f"{where}: layout {a.strides} -> {b.strides}"
        assert a.strides == b.strides or not a.size, f"{where}: strides {a.strides} -> {b.strides}"
        assert a.flags.writeable == b.flags.writeable, f"{where}: writeable"
        assert a.flags.owndata == b.flags.owndata and (a.base is None) == (b.base is None), f"{where}: base"
        if a.dtype.kind in "fc" and ulp:
            _close(a, b, ulp, where)
        elif a.dtype.kind == "O":
            for x, y in zip(a.ravel().tolist(), b.ravel().tolist()):
                same(x, y, ulp, where)
        else:
            _bits(a, b, where)
    elif isinstance(a, np.generic):
        same(np.atleast_1d(np.asarray(a)), np.atleast_1d(np.asarray(b)), ulp, where)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), f"{where}: length {len(a)} -> {len(b)}"
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, ulp, f"{where}[{i}]")
    elif isinstance(a, dict):
        assert list(a) == list(b), f"{where}: keys"
        for key in a:
            same(a[key], b[key], ulp, f"{where}[{key!r}]")
    elif isinstance(a, (float, complex)):
        same(np.array([a]), np.array([b]), ulp, where)
    elif isinstance(a, BaseException):
        _same_exception(a, b, where)
    elif isinstance(a, (bool, int, str, bytes, type(None), np.dtype, type)):
        assert a == b, f"{where}: {a!r} -> {b!r}"


def _same_exception(a: BaseException, b: BaseException, where: str) -> None:
    assert str(a) == str(b), f"{where}: message {a} -> {b}"
    assert repr(a.args) == repr(b.args), f"{where}: arguments {a.args} -> {b.args}"
    lines_a, lines_b = _lines(a), _lines(b)
    assert lines_a == lines_b, f"{where}: traceback {lines_a} -> {lines_b}"
    assert a.__suppress_context__ == b.__suppress_context__, f"{where}: __suppress_context__"
    for name in ("__cause__", "__context__"):
        before, after = getattr(a, name), getattr(b, name)
        assert type(before) is type(after), f"{where}: {name} {before!r} -> {after!r}"
        if before is not None:
            _same_exception(before, after, f"{where}.{name}")


def _lines(error: BaseException) -> list[tuple[str, str, int]]:
    """Where an exception came through, without this module."""
    found = [(frame.f_code.co_filename, frame.f_code.co_name, line)
             for frame, line in traceback.walk_tb(error.__traceback__)]
    return [entry for entry in found if entry[0] != __file__]


def _floats(x: np.ndarray) -> np.ndarray:
    x = np.ascontiguousarray(x)
    return x.view(x.real.dtype) if x.dtype.kind == "c" else x


def _bits(a: np.ndarray, b: np.ndarray, where: str) -> None:
    if a.dtype.kind in "fc":
        a, b = _floats(a), _floats(b)
        both_nan = np.isnan(a) & np.isnan(b)
        alike = both_nan | ((a == b) & (np.signbit(a) == np.signbit(b)))
    else:
        alike = np.asarray(a == b)
    if not alike.all():
        i = int(np.flatnonzero(~alike.ravel())[0])
        raise AssertionError(f"{where}: element {i}: {a.ravel()[i]!r} -> {b.ravel()[i]!r}")


def _close(a: np.ndarray, b: np.ndarray, ulp: int, where: str) -> None:
    a, b = _floats(a), _floats(b)
    finite = np.isfinite(a)
    _bits(a[~finite], b[~finite], where)
    a, b = a[finite], b[finite]
    with np.errstate(all="ignore"):
        spacing = np.spacing(np.maximum(np.abs(a), np.finfo(a.dtype).tiny))
        off = np.abs(a.astype(np.longdouble) - b) / spacing.astype(np.longdouble)
    assert not off.size or off.max() <= ulp, f"{where}: {off.max()} ulp"


Given = tuple[tuple[Any, ...], dict[str, Any]]


def same_call(plain: Callable[..., Any], fast: Callable[..., Any], given: Given, equal: Given, *, ulp: int = 0,
              where: str = "call") -> Seen:
    """Compare one call of each, with arguments of their own: what it gives or raises, does to them, warns and prints.
    ``fast`` must be marked and ``plain`` not (they may not be one function).  Returns what the plain one did."""
    assert plain is not fast
    (args, kwargs), (args2, kwargs2) = given, equal
    a, b = observe(plain, args, kwargs), observe(fast, args2, kwargs2)
    assert a.kind == b.kind, f"{where}: {a.kind} {a.value!r} -> {b.kind} {b.value!r}"
    same(a.value, b.value, ulp, where)
    same(args, args2, ulp, f"{where}: arguments")
    same(kwargs, kwargs2, ulp, f"{where}: keyword arguments")
    assert a.warnings == b.warnings, f"{where}: warnings {a.warnings} -> {b.warnings}"
    assert a.printed == b.printed, f"{where}: printed {a.printed!r} -> {b.printed!r}"
    return a


def check(func: types.FunctionType, make: Callable[[], Any], *, ulp: int = 0, calls: int = 3,
          native: bool | None = True, kernels: int | None = None) -> jitcore.stats:
    """Compare ``calls`` calls with arguments from ``make()`` (a tuple, or a tuple and a dict in a list).

    ``native``: True asks that every call ran native to its end, False that none did, None only that code was compiled.
    ``kernels``: the number of fused loop nests that one call must run.  Returns the accelerated copy's counts.
    """
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for call in range(calls):
        same_call(plain, fast, _arguments(make), _arguments(make), ulp=ulp, where=f"{func.__name__}, call {call}")
    counts = jitcore.stats(fast)
    if native is None:
        assert counts.compiles, f"{func.__name__}: {counts}"
    else:
        assert counts.native_calls == (calls if native else 0), f"{func.__name__}: {counts}"
    if kernels is not None:
        assert counts.kernels == kernels * calls, f"{func.__name__}: {counts}"
    return counts


def _arguments(make: Callable[[], Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    made = make()
    return (made[0], made[1]) if isinstance(made, list) else (made, {})
