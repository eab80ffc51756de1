"""NumPy's C functions on whole arrays, called from native code.

Job: ``through``, which emits a ``call`` node for a C function that runs no Python code for arrays and numbers of the
compiled dtypes, and changes nothing; ``changed`` for one that changes an array.  Invariants: the types of results are
those that the function gives for samples of the same types (small arrays of ones and zeros), and are tested at run
time; lengths are read from the results.  Where a sample raises or warns, or where the result is something else than
arrays and numbers, ``Unsupported``.  Used by ``numpy_calls`` and ``numpy_methods``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitcore import _core
from jitcore.frontend.numpy_args import is_absent, items_of
from jitcore.frontend.numpy_elementwise import type_of
from jitcore.frontend.numpy_matmul import call_node
from jitcore.frontend.numpy_shapes import lengths_of, new_array
from jitcore.frontend.numpy_store import update
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.samples import no_warnings
from jitcore.frontend.values import Abstract, Array, Known, Opaque, Scalar, Sequence, Slice, is_number
from jitcore.ir.graph import Value
from jitcore.ir.types import COMPILED_DTYPES, INT, OBJECT, Type, array, is_plain_dtype, parse_type, strong

Args = list[Abstract]
Kwargs = dict[str, Abstract]

#: The longest axis of a sample.
_SAMPLE = 6
#: More items than this are no argument of a call.
_MOST_ITEMS = 16
#: Lists in lists in an argument, at most: one may contain itself.
_MOST_DEPTH = 8
#: A larger int may be a length, for which a sample would take too much memory.
_MOST = 10**5
#: Other objects that may be results.
_OBJECTS = (bytes, str, type(np.empty(0).flags))
_PLAIN = (type(...), slice, type(None), bool, int, float, complex, str, np.dtype, np.generic, type(np._NoValue), type)


class _Call:
    """The arguments of a call: a template over graph values, and samples of the objects."""

    def __init__(self, m: Any, pinned: frozenset[str]) -> None:
        self.m, self.pinned = m, pinned
        self.operands: list[Value] = []
        self.whole = True           # samples have the lengths of the snapshot
        self.arrays: list[Array] = []

    def item(self, value: Abstract, name: str, depth: int = 0) -> tuple[tuple[str, Any], Any]:
        """A part of the template and a sample."""
        value = self.m.force(value)
        if isinstance(value, Scalar) and name in self.pinned and value.type.weak and value.type.dtype.kind in "bi":
            value = self.m.pin(value)
        if isinstance(value, Known):
            if type(value.obj) is int and abs(value.obj) > _MOST:
                raise Unsupported("a large number that may be a length")
            if type(value.obj) is not tuple and not isinstance(value.obj, _PLAIN):
                raise Unsupported(f"an argument that is a {type(value.obj).__name__}")
            return ("c", value.obj), value.obj
        if isinstance(value, (Array, Scalar)):
            type_of(value)
            self.operands.append(value.value)
            if isinstance(value, Array):
                self.arrays.append(value)
            sample = _sample(self.m, value)
            if isinstance(value, Array):
                self.whole &= sample.shape == lengths_of(self.m).hints(lengths_of(self.m).shape(value))
            elif value.hint is None or sample != value.hint:
                self.whole = False
            return ("v", len(self.operands) - 1), sample
        if isinstance(value, Slice):
            known = slice(*(self.m.known(part) for part in (value.start, value.stop, value.step)))
            return ("c", known), known
        items = items_of(self.m, value)
        if items is None or len(items) > _MOST_ITEMS or depth > _MOST_DEPTH:
            raise Unsupported("an argument that is no array or number")
        is_list = getattr(value, "kind", "") != "tuple"     # a range is as good as one; a tuple may be an index
        if items and not is_list and all(isinstance(item, Known) and is_number(item.obj) for item in items):
            numbers = tuple(item.obj for item in items if isinstance(item, Known))
            return ("c", numbers), numbers
        parts = [self.item(item, name, depth + 1) for item in items]
        samples = [sample for _, sample in parts]
        return ("l" if is_list else "t", tuple(part for part, _ in parts)), samples if is_list else tuple(samples)


def _sample(m: Any, value: Array | Scalar) -> Any:
    if isinstance(value, Scalar):
        if value.hint is not None and abs(value.hint) < _SAMPLE:
            return value.hint
        zero = value.type.dtype.type(0)
        return zero.item() if value.type.weak else zero
    hints = lengths_of(m).hints(lengths_of(m).shape(value))
    shape = tuple(1 if hint is None else min(hint, _SAMPLE) for hint in hints)
    sample = np.empty(shape, value.type.dtype, order="F" if value.type.layout == "F" else "C")
    sample[...] = 0 if value.type.dtype.kind in "biu" else 1
    return sample


def has_lengths(m: Any, value: Abstract) -> bool:
    """Whether the snapshot has all lengths of an array."""
    return isinstance(value, Array) and None not in lengths_of(m).hints(lengths_of(m).shape(value))


def sample_of(m: Any, value: Abstract) -> Any:
    """An object of the kind of an array, number or sequence of such."""
    return _Call(m, frozenset()).item(value, "")[1]


def through(m: Any, function: Callable[..., Any], args: Args, kwargs: Kwargs, names: str = "", *,
            strict: bool = False, view: bool = False, by_values: bool = False) -> Abstract:
    """``function(*args, **kwargs)``.

    ``names``: of the positional parameters; those with ``!`` decide types or ranks, those with ``-`` must not be given
    (or be None).  ``strict``: it exits on what NumPy reports.  ``view``: the result may be a view of an argument.
    ``by_values``: the elements of arrays decide its lengths.
    """
    call, template, samples = _prepared(m, function, args, kwargs, names)
    found = _tried(function, args, kwargs, samples)
    if view:
        for one in call.arrays:
            for seen in (one, one.base):
                if seen is not None and seen.source is None:
                    seen.shared = True
    if found is NotImplemented:
        return Known(found)
    if isinstance(found, (tuple, list)) and type(found) in (tuple, list):
        return _several(m, found, lambda kind: call_node(
            m, function, tuple(call.operands), template, kind, (), tuple(kwargs), strict))
    result = call_node(m, function, tuple(call.operands), template, _type_of(found), (), tuple(kwargs), strict)
    return _result(m, result, found, call, view, call.whole and not by_values)


def changed(m: Any, function: Callable[..., Any], position: int, args: Args, kwargs: Kwargs, names: str,
            strict: bool = False, key: str = "") -> Array:
    """``function(*args, **kwargs)``, which changes the array at ``position`` (or given by the keyword ``key``) and
    nothing else: done on a copy, whose elements are then stored.  Gives the array."""
    if not key and position >= len(args):
        key = names.split()[position].strip("!-")
    if key and key not in kwargs:
        raise Unsupported(f"{_name(function)} without {key}")
    target = m.force(kwargs[key] if key else args[position])
    if not isinstance(target, Array) or target.readonly:
        raise Unsupported(f"{_name(function)} of something that is no array, or read-only")
    call, template, samples = _prepared(m, function, args, kwargs, names)
    _tried(function, args, kwargs, samples)
    lengths_of(m).shape(target)
    where = len(args) + list(kwargs).index(key) if key else position
    value = call_node(m, _core.changed, tuple(call.operands), (("c", function), ("c", where), *template),
                      target.type, target.shape, tuple(kwargs), strict)
    update(m, target, value)
    return target


def _prepared(m: Any, function: Callable[..., Any], args: Args, kwargs: Kwargs, names: str
              ) -> tuple[_Call, tuple[tuple[str, Any], ...], list[Any]]:
    """The arguments as graph values, the template and samples."""
    listed = names.replace(",", " ").split()
    rest = next((k for k, name in enumerate(listed) if name.startswith("*")), None)
    if rest is not None:            # the others are given by keyword
        more = max(len(args) - rest, 0)
        listed = [*listed[:rest], *[listed[rest][1:]] * max(more, 1), *listed[rest + 1:]]
    plain = [name.strip("!-") for name in listed]
    pinned = frozenset(name.strip("!") for name in listed if name.endswith("!"))
    absent = {name.strip("-") for name in listed if name.endswith("-")}
    if len(args) > len(plain):
        raise Unsupported(f"{_name(function)} with {len(args)} arguments")
    call = _Call(m, pinned)
    given = [*zip(plain, args), *kwargs.items()]
    for name, value in given:
        value = m.force(value)
        if name not in plain or (name in absent and not (isinstance(value, Known) and value.obj is None)):
            raise Unsupported(f"{_name(function)} with {name}=")
    parts = [call.item(value, name) for name, value in given]
    return call, tuple(part for part, _ in parts), [sample for _, sample in parts]


def _tried(function: Callable[..., Any], args: Args, kwargs: Kwargs, samples: list[Any]) -> Any:
    """What the function gives for samples."""
    try:
        with no_warnings(), np.errstate(all="ignore"):
            return function(*samples[:len(args)], **dict(zip(kwargs, samples[len(args):])))
    except Exception as error:
        raise Unsupported(f"{_name(function)}: {type(error).__name__}") from None


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", function))


def _type_of(found: Any) -> Type:
    """The graph type of the object that a call gives: arrays are objects until their lengths are known."""
    if type(found) is np.ndarray:
        return OBJECT
    if is_number(found):
        return parse_type(type(found).__name__) if type(found) in (bool, int, float, complex) else strong(found.dtype)
    if type(found) in _OBJECTS:
        return OBJECT
    raise Unsupported(f"a result that is a {type(found).__name__}")


def _result(m: Any, value: Value, found: Any, call: _Call, view: bool, hinted: bool) -> Abstract:
    if type(found) is np.ndarray:
        made = as_array(m, value, found, None if view else all(one.type.layout == "C" for one in call.arrays))
        if hinted:
            for length, n in zip(made.shape, found.shape):
                lengths_of(m).note(length, n)
            made.hint = found.shape
        made.shared, made.readonly = view, not found.flags.writeable
        return made
    if type(found) in _OBJECTS:
        return Opaque(value, type(found))
    return Scalar(value)


def _several(m: Any, found: Any, make: Callable[[Type], Value]) -> Abstract:
    """A tuple or list of arrays and numbers."""
    for one in found:
        if type(one) is not np.ndarray and not is_number(one):
            raise Unsupported("a result that is a sequence of other things than arrays and numbers")
    whole = make(OBJECT)
    kind = type(found).__name__
    items: Args = []
    for k, one in enumerate(found):
        obj = m.builder.emit("item", (whole, m.builder.index(k)), OBJECT, of=kind)
        if type(one) is np.ndarray:
            items.append(as_array(m, obj, one, None))
        else:
            items.append(Scalar(m.builder.emit("number", (obj,), _type_of(one), exit=0)))
    return Sequence(kind, items)


def as_array(m: Any, obj: Value, sample: np.ndarray, ordered: bool | None) -> Array:
    """The array that an object is, if it is one of the dtype and rank of ``sample``.  ``ordered``: its memory order
    is expected to be that of the sample; None: nothing is known of it, it may be a view."""
    if sample.dtype.char not in COMPILED_DTYPES or sample.dtype.char in "qQ" or not is_plain_dtype(sample.dtype):
        raise Unsupported(f"a result of dtype {sample.dtype}")
    ndim = sample.ndim
    if ndim <= 1 and (ordered is not None or ndim == 0):
        layout = "C"
    else:
        layout = "C" if ordered and sample.flags.c_contiguous else "A"
    shape = tuple(m.builder.emit("extent", (obj,), INT, exit=0, axis=axis, ndim=ndim) for axis in range(ndim))
    value = m.builder.emit("array", (obj,), array(sample.dtype, ndim, layout), shape=shape, exit=0)
    return new_array(m, value)


# -- ufuncs ---------------------------------------------------------------------------------------------------
_UFUNC = "out where casting order dtype subok signature axes axis! keepdims!"
_OF_UFUNCS = {
    "reduce": "array axis! dtype out keepdims! initial where",
    "accumulate": "array axis! dtype out",
    "reduceat": "array indices axis! dtype out",
    "outer": "A B dtype casting",
    "at": "a indices b",
}


def _call_ufunc(m: Any, ufunc: np.ufunc, args: Args, kwargs: Kwargs, error: Unsupported) -> Abstract:
    kwargs = {name: _only(m, value) if name == "out" else value for name, value in kwargs.items()}
    operands = " ".join(f"x{k}" for k in range(ufunc.nin))
    given = "out" in kwargs or len(args) > ufunc.nin
    where = m.force(kwargs.get("where", Known(True)))
    if given:
        if ufunc.nout != 1 or len(args) > ufunc.nargs:
            raise error
        return changed(m, ufunc, ufunc.nin, args, kwargs, f"{operands} {_UFUNC}", True,
                       "" if len(args) > ufunc.nin else "out")
    if not (isinstance(where, Known) and where.obj is True):
        raise error                 # what is left out is not defined
    return through(m, ufunc, args, kwargs, f"{operands} {_UFUNC}", strict=True)


def call_ufunc_method(m: Any, ufunc: np.ufunc, name: str, args: Args, kwargs: Kwargs, error: Unsupported) -> Abstract:
    """``ufunc.name(*args, **kwargs)`` by the ufunc itself, where it is not compiled because of ``error``."""
    _require_arrays(m, args, error)
    if name == "__call__":
        return _call_ufunc(m, ufunc, args, kwargs, error)
    names = _OF_UFUNCS.get(name)
    if names is None:
        raise error
    method = getattr(ufunc, name)
    if name == "at":
        index = m.force(args[1]) if len(args) > 1 else None
        if isinstance(index, Sequence) and not all(isinstance(m.force(item), Known) for item in index.items):
            raise error
        changed(m, method, 0, args, kwargs, names, True)
        return Known(None)
    kwargs = {key: _only(m, value) if key == "out" else value for key, value in kwargs.items()}
    position = names.replace("!", "").split().index("out") if "out" in names else len(args)
    if "out" in kwargs and not is_absent(m.force(kwargs["out"])):
        return changed(m, method, 0, args, kwargs, names, True, "out")
    if len(args) > position and not is_absent(m.force(args[position])):
        return changed(m, method, position, args, kwargs, names, True)
    return through(m, method, args, kwargs, names, strict=True)


def _require_arrays(m: Any, args: Args, error: Unsupported) -> None:
    """Numbers alone are not worth a call, and what is no array or number may run Python code."""
    if not any(isinstance(m.force(arg), Array) for arg in args):
        raise error


def _only(m: Any, value: Abstract) -> Abstract:
    """The array in a tuple of one."""
    value = m.force(value)
    items = items_of(m, value) if isinstance(value, Sequence) and value.kind == "tuple" else None
    return items[0] if items is not None and len(items) == 1 else value
