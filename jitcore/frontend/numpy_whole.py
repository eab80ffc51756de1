"""The tables of NumPy's C functions that are called whole from native code, where nothing better is known.

Job: rules for ``numpy_calls`` and ``numpy_methods``: each is tried behind the rule that there is already.  Invariants:
what is listed runs no Python code for arrays and numbers, has no effect, and warns of nothing that a sample of the same
types does not warn of.  Methods that change their array are done on a copy, whose elements are then stored.  Importing
this module fills the tables; ``calls`` does.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import multiarray

from jitcore.frontend import numpy_calls, numpy_methods
from jitcore.frontend.numpy_direct import changed, has_lengths, through
from jitcore.frontend.protocol import Exceptional, Raises, Redirect, Unsupported
from jitcore.frontend.values import Abstract, Array, Known

#: The extension module behind it; NumPy's stubs do not know it.
_multiarray_umath: Any = sys.modules["numpy._core._multiarray_umath"]

Args = list[Abstract]
Kwargs = dict[str, Abstract]

#: Functions: names of their parameters (``numpy_direct.through``), whether they may report, whether they give views.
_FUNCTIONS: dict[str, tuple[str, bool, bool]] = {
    "concatenate": ("arrays axis! out- dtype casting", True, False),
    "lexsort": ("keys axis!", False, False),
    "bincount": ("x weights minlength", False, False),
    "packbits": ("a axis! bitorder", False, False),
    "unpackbits": ("a axis! count bitorder", False, False),
    "ravel_multi_index": ("multi_index dims mode order", False, False),
    "unravel_index": ("indices shape order", False, False),
    "interp": ("x xp fp left right", True, False),
    "interp_complex": ("x xp fp left right", True, False),
    "correlate": ("a v mode!", True, False),
    "correlate2": ("a v mode!", True, False),
    "where": ("condition x y", False, False),
    "dot": ("a b out-", True, False),
    "vdot": ("a b", True, False),
    "inner": ("a b", True, False),
    "may_share_memory": ("a b max_work", False, False),
    "shares_memory": ("a b max_work", False, False),
    "count_nonzero": ("a", False, False),
    "_monotonicity": ("x", False, False),
    "_unique_hash": ("arr equal_nan", False, False),
    "arange": ("start stop step dtype! device like-", False, False),
    "array": ("object dtype copy! order subok ndmin! like- ndmax", True, True),
    "asarray": ("a dtype order device copy like-", True, True),
    "asanyarray": ("a dtype order device copy like-", True, True),
    "asfortranarray": ("a dtype like-", True, True),
    "ascontiguousarray": ("a dtype like-", True, True),
    "empty_like": ("prototype dtype order subok shape! device", False, False),
    "c_einsum": ("*operands out- dtype order casting", True, False),
    "dragon4_positional": ("x precision unique fractional trim sign pad_left pad_right min_digits", False, False),
    "dragon4_scientific": ("x precision unique trim sign pad_left exp_digits min_digits", False, False),
}
_METHODS: dict[str, tuple[str, bool, bool]] = {
    "argpartition": ("kth axis! kind order-", False, False),
    "argsort": ("axis! kind order- stable", False, False),
    "argmin": ("axis! out- keepdims!", False, False),
    "argmax": ("axis! out- keepdims!", False, False),
    "choose": ("choices out- mode", False, False),
    "compress": ("condition axis! out-", False, False),
    "cumsum": ("axis! dtype out-", True, False),
    "cumprod": ("axis! dtype out-", True, False),
    "diagonal": ("offset axis1! axis2!", False, True),
    "dot": ("b out-", True, False),
    "nonzero": ("", False, False),
    "repeat": ("repeats axis!", False, False),
    "round": ("decimals! out-", True, False),
    "searchsorted": ("v side sorter", False, False),
    "take": ("indices axis! out- mode", False, False),
    "trace": ("offset axis1! axis2! dtype out-", True, False),
    "tobytes": ("order", False, False),
    "reshape": ("*shape! order copy", False, True),
    "squeeze": ("axis!", False, True),
    "swapaxes": ("axis1! axis2!", False, True),
    "transpose": ("*axes!", False, True),
    "view": ("dtype", False, True),
    "copy": ("order", False, False),
    "astype": ("dtype order casting subok copy!", True, True),
    "ravel": ("order", False, True),
    "item": ("*args", False, False),
}
#: Methods and functions that change their first argument.
_CHANGING = {
    "sort": "axis! kind order- stable",
    "partition": "kth axis! kind order-",
    "put": "indices values mode",
    "fill": "value",
}
_CHANGING_FUNCTIONS = {
    "copyto": "dst src casting where",
    "putmask": "a mask values",
}


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The C function behind a dispatcher."""
    return getattr(function, "_implementation", function)


def _behind(first: Callable[..., Any] | None, second: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that asks another one first."""
    if first is None:
        return second

    def rule(*given: Any) -> Abstract | Redirect:
        try:
            return first(*given)
        except (Raises, Exceptional):
            raise
        except Unsupported:
            return second(*given)
    return rule


#: Whose results have lengths that the elements of arguments decide.
_BY_VALUES = frozenset(("bincount", "where", "arange", "_unique_hash", "nonzero", "compress", "repeat"))


def _function(name: str) -> None:
    names, strict, view = _FUNCTIONS[name]
    function = _plain(getattr(_multiarray_umath, name))

    def rule(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
        return through(m, function, args, kwargs, names, strict=strict and _may_report(m, args), view=view,
                       by_values=name in _BY_VALUES)
    numpy_calls.rule(getattr(multiarray, name, function))(_behind(numpy_calls.find(function), rule))


def _method(name: str) -> None:
    names, strict, view = _METHODS[name]
    function = getattr(np.ndarray, name)

    def rule(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
        if name == "squeeze" and not has_lengths(m, operand):
            raise Unsupported("squeeze() of lengths that are not known")
        return through(m, function, [operand, *args], kwargs, "self " + names,
                       strict=strict and _may_report(m, [operand, *args]), view=view, by_values=name in _BY_VALUES)
    numpy_methods.METHODS[name] = _behind(numpy_methods.METHODS.get(name), rule)


def _changing(name: str) -> None:
    function = getattr(np.ndarray, name)

    def rule(m: Any, operand: Array, args: Args, kwargs: Kwargs) -> Abstract:
        changed(m, function, 0, [operand, *args], kwargs, "self " + _CHANGING[name], True)
        return Known(None)
    numpy_methods.METHODS[name] = _behind(numpy_methods.METHODS.get(name), rule)


def _changing_function(name: str) -> None:
    function = _plain(getattr(multiarray, name))

    def rule(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
        changed(m, function, 0, args, kwargs, _CHANGING_FUNCTIONS[name], True)
        return Known(None)
    numpy_calls.rule(getattr(multiarray, name))(_behind(numpy_calls.find(function), rule))


def _may_report(m: Any, args: Args) -> bool:
    """Whether a function of these arguments may meet a floating-point report."""
    return any(not isinstance(v := m.force(arg), Array) or v.type.dtype.kind in "fc" for arg in args)


for _name in _FUNCTIONS:
    if hasattr(_multiarray_umath, _name):       # some are new
        _function(_name)
for _name in _METHODS:
    _method(_name)
for _name in _CHANGING:
    _changing(_name)
for _name in _CHANGING_FUNCTIONS:
    _changing_function(_name)
