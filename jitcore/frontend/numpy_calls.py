"""Calls of NumPy's C functions, ufuncs and scalar types.

Job: ``call_known`` gives the result of calling a NumPy object that is no Python function.  Invariants: it returns
None for what it does not know (the caller then looks for NumPy's Python code, or makes a CALL site); results are
exactly NumPy's, or ``Unsupported`` is raised before anything has changed.  Called by ``calls``.
"""
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import multiarray

from jitcore.frontend import numpy_create
from jitcore.frontend.numpy_args import bind, is_absent, known_int
from jitcore.frontend.numpy_elementwise import as_dtype, cast, element, guess, type_of, wrap
from jitcore.frontend.numpy_matmul import matmul
from jitcore.frontend.numpy_methods import call_ufunc_method
from jitcore.frontend.numpy_reduce import reduce
from jitcore.frontend.numpy_shapes import lengths_of
from jitcore.frontend.protocol import Redirect, Unsupported
from jitcore.frontend.samples import no_warnings
from jitcore.frontend.values import Abstract, Array, Known, NotKnown, Scalar, constant, is_number

Args = list[Abstract]
Kwargs = dict[str, Abstract]
Rule = Callable[[Any, Args, Kwargs], "Abstract | Redirect"]

_RULES: dict[int, tuple[object, Rule]] = {}


def rule(*objects: object) -> Callable[[Rule], Rule]:
    """Register a rule for C functions; a dispatcher stands for what it dispatches to."""
    def register(function: Rule) -> Rule:
        for obj in objects:
            for one in (obj, getattr(obj, "_implementation", obj)):
                _RULES[id(one)] = (one, function)
        return function
    return register


def find(obj: object) -> Rule | None:
    """The rule for ``obj``, if there is one."""
    found = _RULES.get(id(obj))
    return found[1] if found is not None and found[0] is obj else None


def call_known(m: Any, obj: object, args: Args, kwargs: Kwargs) -> Abstract | Redirect | None:
    """``obj(*args, **kwargs)``, or None where this module has no rule for ``obj``."""
    args = [m.force(arg) for arg in args]
    if isinstance(obj, np.ufunc):
        if not kwargs and (folded := _folded_ufunc(obj, args)) is not None:
            return folded
        return call_ufunc_method(m, obj, "__call__", args, kwargs)
    found = find(obj)
    if found is not None:
        return found(m, args, kwargs)
    if isinstance(obj, types.BuiltinMethodType) and isinstance(obj.__self__, np.ufunc):
        return call_ufunc_method(m, obj.__self__, obj.__name__, args, kwargs)
    if isinstance(obj, type) and issubclass(obj, np.generic):
        return _scalar_type(m, obj, args, kwargs)
    if obj is np.dtype:
        return _fold(m, np.dtype, args, kwargs)
    return None


def _folded_ufunc(ufunc: np.ufunc, args: Args) -> Abstract | None:
    """A ufunc of known numbers, where it reports nothing."""
    if len(args) != ufunc.nin or ufunc.nout != 1 or not all(isinstance(a, Known) and is_number(a.obj) for a in args):
        return None
    try:
        with np.errstate(all="raise"), no_warnings():
            found = ufunc(*(a.obj for a in args if isinstance(a, Known)))
    except Exception:
        return None
    return Known(found) if is_number(found) and isinstance(found, np.generic) else None


def _fold(m: Any, function: Callable[..., Any], args: Args, kwargs: Kwargs) -> Abstract:
    """A pure function of known arguments."""
    try:
        known = [constant(arg) for arg in args]
        named = {name: constant(m.force(value)) for name, value in kwargs.items()}
    except NotKnown:
        raise Unsupported(f"{function.__name__} of values that are not known") from None
    try:
        return Known(function(*known, **named))
    except Exception as error:
        raise Unsupported(f"{function.__name__} raises {type(error).__name__}") from None


def _scalar_type(m: Any, cls: type, args: Args, kwargs: Kwargs) -> Abstract:
    """``np.float64(x)`` and its like."""
    if kwargs or len(args) > 1:
        raise Unsupported(f"{cls.__name__} with these arguments")
    try:
        dtype = np.dtype(cls)
    except TypeError:
        raise Unsupported(f"{cls.__name__} of a value") from None
    if dtype.char not in "?bBhHiIlLefdFD" or dtype.type is not cls:
        raise Unsupported(f"{cls.__name__} of a value")
    if not args:
        return Known(cls())
    value = args[0]
    if isinstance(value, Known) and not is_number(value.obj):
        raise Unsupported(f"{cls.__name__} of an object")
    kind = type_of(value)
    if isinstance(value, Array) and value.type.ndim:
        raise Unsupported(f"{cls.__name__} of an array with axes")
    if kind.dtype.kind == "c" and dtype.kind not in "cb":
        raise Unsupported("a complex number made real")
    return Scalar(as_dtype(m, element(m, value), dtype), None, guess(cls, value))


rule(multiarray.empty, multiarray.zeros)(numpy_create.empty)
rule(multiarray.empty_like)(numpy_create.empty_like)
rule(multiarray.asarray, multiarray.asanyarray)(numpy_create.asarray)
rule(multiarray.array)(numpy_create.make_array)
rule(multiarray.ascontiguousarray)(numpy_create.ascontiguousarray)
rule(multiarray.arange)(numpy_create.arange)
rule(multiarray.where)(numpy_create.where)
rule(multiarray.copyto)(numpy_create.copyto)


# -- dtypes -----------------------------------------------------------------------------------------------
def _example(m: Any, value: Abstract) -> Any:
    """An object that ``np.result_type`` takes for the same as ``value``."""
    if isinstance(value, Known):
        return value.obj
    kind = type_of(value)
    if getattr(kind, "weak", False):
        return {"b": False, "i": 0, "f": 0.0, "c": 0j}[kind.dtype.kind]
    return kind.dtype


@rule(multiarray.result_type)
def _result_type(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    if kwargs:
        raise Unsupported("result_type with keywords")
    return _fold(m, np.result_type, [Known(_example(m, arg)) for arg in args], {})


@rule(multiarray.can_cast)
def _can_cast(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "can_cast", args, kwargs, "from_, to, casting", {"casting": "safe"})
    if isinstance(given["from_"], Array):
        given["from_"] = Known(given["from_"].type.dtype)
    return _fold(m, np.can_cast, list(given.values()), {})


@rule(multiarray.promote_types)
def _promote_types(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    return _fold(m, np.promote_types, args, kwargs)


@rule(multiarray.min_scalar_type)
def _min_scalar_type(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    if len(args) == 1 and isinstance(args[0], Array) and args[0].type.ndim:
        return Known(args[0].type.dtype)
    return _fold(m, np.min_scalar_type, args, kwargs)


def _limits(function: Callable[..., Any]) -> Rule:
    def found(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
        if len(args) != 1 or kwargs:
            raise Unsupported(f"{function.__name__} of several things")
        value = args[0]
        given = isinstance(value, Known) and isinstance(value.obj, (type, np.dtype, str))
        return _fold(m, function, [value if given else Known(type_of(value).dtype)], {})
    return found


rule(np.finfo)(_limits(np.finfo))
rule(np.iinfo)(_limits(np.iinfo))


@rule(multiarray.normalize_axis_index)
def _normalize_axis_index(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "normalize_axis_index", args, kwargs, "axis, ndim, msg_prefix", {"msg_prefix": None})
    axis, ndim = (known_int(m, given[name], name) for name in ("axis", "ndim"))
    if not -ndim <= axis < ndim:
        raise Unsupported(f"axis {axis} is out of bounds")
    return Known(axis % ndim)


# -- products and counts ------------------------------------------------------------------------------------
@rule(multiarray.dot)
def _dot(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "dot", args, kwargs, "a, b, out", {"out": None})
    if not is_absent(given["out"]):
        raise Unsupported("dot with out=")
    return matmul(m, given["a"], given["b"], getattr(multiarray.dot, "_implementation", multiarray.dot))


@rule(multiarray.inner)
def _inner(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "inner", args, kwargs, "a, b", {})
    return matmul(m, given["a"], given["b"], getattr(multiarray.inner, "_implementation", multiarray.inner), last=True)


@rule(multiarray.vdot)
def _vdot(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    given = bind(m, "vdot", args, kwargs, "a, b", {})
    if any(isinstance(v, Array) and v.type.ndim != 1 for v in given.values()):
        raise Unsupported("vdot of arrays with several axes")
    return matmul(m, given["a"], given["b"], getattr(multiarray.vdot, "_implementation", multiarray.vdot))


@rule(multiarray.count_nonzero)
def _count_nonzero(m: Any, args: Args, kwargs: Kwargs) -> Abstract:
    """How many elements are true: an integer sum of truths."""
    if len(args) != 1 or kwargs or not isinstance(args[0], Array) or args[0].type.ndim == 0:
        raise Unsupported("count_nonzero of these arguments")
    operand = args[0]
    type_of(operand)
    lengths_of(m).shape(operand)
    truth = wrap(m, cast(m, operand.value, np.dtype(np.bool_))) if operand.type.dtype.kind != "b" else operand
    return reduce(m, np.add, [truth], {"axis": Known(None), "dtype": Known(np.dtype("l"))})

