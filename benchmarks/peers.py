"""The same computation in other compilers, from the same source.

Job: turn a plain NumPy function into a variant for each peer that is installed.  A peer's function is the plain one
with other globals (``np`` is ``jax.numpy`` or ``torch``), its helper functions treated alike; numexpr's string is
found by running the function on symbols.  A peer that is missing or refuses is left out with a note.
"""
from __future__ import annotations

import importlib.util
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Call

PEERS = ("numba", "numexpr", "jax", "torch")


def rebuilt(func: types.FunctionType, convert: Callable[[types.FunctionType], Any], **replaced: Any) -> Any:
    """A copy of ``func`` that sees ``replaced`` among its globals, and every Python function of its module that it
    names rebuilt alike and passed through ``convert``."""
    names = dict(func.__globals__)
    names.update(replaced)
    for name in func.__code__.co_names:
        helper = func.__globals__.get(name)
        if isinstance(helper, types.FunctionType) and helper.__module__ == func.__module__:
            names[name] = convert(rebuilt(helper, convert, **replaced))
    copy = types.FunctionType(func.__code__, names, func.__name__, func.__defaults__, func.__closure__)
    copy.__kwdefaults__ = func.__kwdefaults__
    copy.__module__ = func.__module__
    return copy


def plain_copy(func: types.FunctionType) -> Any:
    """``func`` as it was written, never marked."""
    return rebuilt(func, lambda helper: helper)


class Symbol:
    """Writes down what is done to it, in numexpr's language."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __neg__(self) -> Symbol:
        return Symbol(f"(-{self.text})")


def _text(value: Any) -> str:
    return value.text if isinstance(value, Symbol) else repr(value)


def _operator(symbol: str, swap: bool) -> Callable[[Symbol, Any], Symbol]:
    def method(self: Symbol, other: Any) -> Symbol:
        a, b = (other, self) if swap else (self, other)
        return Symbol(f"({_text(a)} {symbol} {_text(b)})")
    return method


for _name, _symbol in (("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("pow", "**")):
    setattr(Symbol, f"__{_name}__", _operator(_symbol, False))
    setattr(Symbol, f"__r{_name}__", _operator(_symbol, True))
for _name, _symbol in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    setattr(Symbol, f"__{_name}__", _operator(_symbol, False))


class _SymbolicNumpy:
    """``np`` for a run on symbols: calls become calls in the string."""

    def __getattr__(self, name: str) -> Callable[..., Symbol]:
        return lambda *args: Symbol(f"{name}({', '.join(map(_text, args))})")


def _numexpr(func: types.FunctionType, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import numexpr

    names = [f"a{index}" for index in range(len(args))]
    text = rebuilt(func, lambda helper: helper, np=_SymbolicNumpy())(*map(Symbol, names)).text
    # A Python scalar is an argument like the others: numexpr takes it as a constant of its own kind.
    values = dict(zip(names, args))
    return lambda: numexpr.evaluate(text, local_dict=values), ()


def _numba(func: types.FunctionType, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import numba

    return numba.njit(rebuilt(func, numba.njit)), args


def _jax(func: types.FunctionType, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import jax

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(rebuilt(func, lambda helper: helper, np=jax.numpy))
    own = tuple(jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in args)
    return lambda *own: compiled(*own).block_until_ready(), own


def _torch(func: types.FunctionType, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    import torch

    own = tuple(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args)
    return torch.compile(rebuilt(func, lambda helper: helper, np=torch)), own


_MAKERS = {"numba": _numba, "numexpr": _numexpr, "jax": _jax, "torch": _torch}


def difference(result: Any, expected: Any) -> str:
    """How ``result`` differs from NumPy's, in words."""
    a, b = np.asarray(result), np.asarray(expected)
    if a.shape != b.shape:
        return f"shape {a.shape} instead of {b.shape}"
    kind = "" if a.dtype == b.dtype else f"{a.dtype} instead of {b.dtype}, "
    scale = np.max(np.abs(b), initial=0) or 1
    with np.errstate(all="ignore"):
        return f"{kind}differs by {np.nanmax(np.abs(a - b), initial=0) / scale:.1e}"


def variants(func: types.FunctionType, args: tuple[Any, ...], names: tuple[str, ...] = PEERS) -> list[Call]:
    """A call for each peer of ``names`` that is installed and does it."""
    expected = plain_copy(func)(*args)
    found = []
    for name in names:
        if importlib.util.find_spec(name) is None:
            continue
        try:
            compiled, own = _MAKERS[name](func, args)
            note = difference(compiled(*own), expected)
        except Exception as error:              # whatever a peer raises says that it can't do this
            reason = (str(error).splitlines() or [""])[0]
            print(f"  {name} left out: {type(error).__name__}: {reason}")
            continue
        found.append(Call(name, compiled, own, note))
    return found
