"""Calls of Python's builtin functions and types; those of numbers are in ``builtin_numbers``.

Job: ``find`` gives the rule for a callable.  Invariants: a rule gives exactly what CPython gives, folds only known
immutable operands, or raises ``Unsupported``; it changes no abstract value before it is sure.  Used by ``calls``.
"""
from __future__ import annotations

from collections.abc import Callable
from types import BuiltinMethodType
from typing import Any

from jitcore.frontend import (
    attributes,
    exceptions,
    iteration,
    list_makers,
    lists,
    operations,
    python_ops,
    sequences,
)
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import is_instance, known_range, lacks, pytype
from jitcore.frontend.protocol import Raises, Redirect, Unsupported
from jitcore.frontend.values import (
    Abstract,
    Array,
    Dict,
    Enumerate,
    Function,
    Iterator,
    Known,
    LoopIterator,
    Method,
    NativeMethod,
    Range,
    Scalar,
    Sequence,
    Set,
    Slice,
    TypedList,
    View,
    Zip,
)

Rule = Callable[[Machine, list[Abstract], dict[str, Abstract]], "Abstract | Redirect"]

_RULES: dict[int, tuple[Any, Rule]] = {}
_CLASS_METHODS: dict[tuple[type, str], Any] = {(dict, "fromkeys"): dict.fromkeys}


def find(target: object) -> Rule | None:
    """The rule for a builtin, None if it has none."""
    if type(target) is BuiltinMethodType and isinstance(target.__self__, type):
        target = _CLASS_METHODS.get((target.__self__, target.__name__), target)     # a new object each time
    known = _RULES.get(id(target))
    return known[1] if known is not None and known[0] is target else None


def rule(target: Any, least: int, most: int, keywords: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule for ``target`` with so many positional arguments."""
    def register(function: Rule) -> Rule:
        def checked(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract | Redirect:
            if not least <= len(args) <= most or (kwargs and not keywords):
                raise Unsupported(f"these arguments of {target.__name__}")
            return function(m, [m.force(arg) for arg in args], kwargs)
        _RULES[id(target)] = (target, checked)
        return function
    return register


# -- questions ------------------------------------------------------------------------------------------
@rule(len, 1, 1)
def _len(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    value = args[0]
    if isinstance(value, Array):
        if not value.shape:
            raise Unsupported("len() of an array without axes")
        hint = value.hint[0] if value.hint else None
        return Scalar(value.shape[0], None, hint)
    if isinstance(value, TypedList):
        return Scalar(lists.length(m, value))
    if (size := sequences.length(m, value)) is not None:
        return size
    if isinstance(value, (Sequence, Dict, Set)):
        return Known(len(value.items))
    if isinstance(value, View):
        return Known(len(value.over.items))
    if isinstance(value, Range):
        return Known(len(known_range(value)))
    if isinstance(value, Known) and type(value.obj) in (str, tuple, bytes, frozenset):
        return Known(len(value.obj))  # type: ignore[arg-type]
    if lacks(value, "__len__"):
        raise Raises(TypeError, "len() of a number")
    raise Unsupported(f"len() of a {pytype(m, value).__name__}")


@rule(isinstance, 2, 2)
def _isinstance(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    return Known(is_instance(m, args[0], _classes(m, args[1])))


@rule(issubclass, 2, 2)
def _issubclass(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    cls, classes = args[0], _classes(m, args[1])
    parts = classes if isinstance(classes, tuple) else (classes,)
    if lacks(cls, "__bases__"):
        raise Raises(TypeError, "issubclass of no class")
    if not isinstance(cls, Known) or not isinstance(cls.obj, type) or not all(
            isinstance(p, type) and type(p).__subclasscheck__ is type.__subclasscheck__ for p in parts):
        raise Unsupported("issubclass of objects")
    return Known(issubclass(cls.obj, parts))


def _classes(m: Machine, value: Abstract) -> Any:
    value = m.force(value)
    if isinstance(value, Sequence) and value.kind == "tuple":
        return tuple(_classes(m, item) for item in value.items)
    if isinstance(value, Known):
        return value.obj
    raise Unsupported("a class that is not known")


@rule(type, 1, 1)
def _type(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    return Known(pytype(m, args[0]))


@rule(callable, 1, 1)
def _callable(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if isinstance(args[0], (Function, Method, NativeMethod)):
        return Known(True)
    if isinstance(args[0], Known):
        return Known(callable(args[0].obj))
    return Known(any("__call__" in base.__dict__ for base in pytype(m, args[0]).__mro__))


def _name(value: Abstract) -> str:
    if isinstance(value, Known) and type(value.obj) is str:
        return value.obj
    raise Unsupported("an attribute's name that is not known")


@rule(getattr, 2, 3)
def _getattr(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract | Redirect:
    name = _name(args[1])
    if len(args) == 3 and not attributes.has(m, args[0], name):
        return args[2]
    return attributes.get(m, args[0], name)


@rule(hasattr, 2, 2)
def _hasattr(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    return Known(attributes.has(m, args[0], _name(args[1])))




# -- containers -------------------------------------------------------------------------------------------
@rule(tuple, 0, 1)
def _tuple(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if args and not isinstance(args[0], (Iterator, LoopIterator, View)) and pytype(m, args[0]) is tuple:
        return args[0]
    items = iteration.items(m, args[0], 1000)[0] if args else []
    return Sequence("tuple", items) if items else Known(())


@rule(list, 0, 1)
def _list(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if args and (made := list_makers.listed(m, args[0])) is not None:
        return made
    return lists.make(m, iteration.items(m, args[0], 1000)[0] if args else [])


@rule(set, 0, 1)
def _set(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    items = iteration.items(m, args[0], 1000)[0] if args else []
    return Set(operations.keyed(m, items))


@rule(dict, 0, 1, True)
def _dict(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    items: dict[Any, Abstract] = {}
    if args and isinstance(args[0], Dict):
        items.update(args[0].items)
    elif args:
        for pair in iteration.items(m, args[0], 1000)[0]:
            parts = iteration.items(m, pair, 1000)[0]
            if len(parts) != 2:
                raise Unsupported("dict() of things that are no pairs")
            items[operations.hashable(m.force(parts[0]))] = parts[1]
    items.update(kwargs)
    return Dict(items)


@rule(_CLASS_METHODS[dict, "fromkeys"], 1, 2)
def _fromkeys(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    value = args[1] if len(args) == 2 else Known(None)
    return Dict(dict.fromkeys(map(operations.hashable, map(m.force, iteration.items(m, args[0], 1000)[0])), value))


@rule(slice, 1, 3)
def _slice(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    none = Known(None)
    if len(args) == 1:
        return Slice(none, args[0], none)
    return Slice(args[0], args[1], args[2] if len(args) == 3 else none)


@rule(range, 1, 3)
def _range(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    for arg in args:
        if pytype(m, arg) not in (int, bool) or (isinstance(arg, Scalar) and str(arg.type) == "bool"):
            raise Unsupported("range() of something that is no int")
    start, stop, step = ([Known(0), args[0]] if len(args) == 1 else args[:2]) + (args[2:] or [Known(1)])
    if isinstance(step, Known) and step.obj == 0:
        raise Raises(ValueError, "range() with a step of 0")
    if isinstance(step, Scalar):
        iteration.require(m, "lt" if iteration.goes_down(step) else "gt", step, Known(0))
    start, stop, step = (Known(int(p.obj)) if isinstance(p, Known) else p  # type: ignore[call-overload]
                         for p in (start, stop, step))
    return Range(start, stop, step)


def _iterator(items: list[Abstract], fixed: bool) -> Iterator:
    return Iterator(items, None, fixed)


@rule(iter, 1, 1)
def _iter(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    return iteration.iterate(m, args[0])


@rule(next, 1, 2)
def _next(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if isinstance(args[0], LoopIterator):
        return _next_of_loop(m, args)
    if not isinstance(args[0], Iterator):
        raise Unsupported("next() of an object")
    coming = iteration.upcoming(args[0])
    if coming:
        args[0].position += 1
        return coming[0]
    if len(args) == 2:
        return args[1]
    raise Raises(StopIteration, "next() of an iterator that is exhausted")


def _next_of_loop(m: Machine, args: list[Abstract]) -> Abstract:
    """``next()`` where there is a next item: otherwise the interpreter decides."""
    iterator = args[0]
    assert isinstance(iterator, LoopIterator)
    found = iteration.more(m, iterator)
    if isinstance(found, Known) and not found.obj:
        if len(args) == 2:
            return args[1]
        raise Unsupported("next() of an iterator that is exhausted")
    if len(args) == 2:
        raise Unsupported("next() with a default")
    m.builder.emit_check("check", (m.builder.as_value(found),))
    item = iteration.take(m, iterator)
    iteration.advance(m, iterator)
    return item


@rule(enumerate, 1, 2, True)
def _enumerate(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    start = m.force(kwargs.get("start", Known(0))) if len(args) == 1 else args[1]
    if set(kwargs) - {"start"} or (len(args) == 2 and kwargs) or pytype(m, start) is not int:
        raise Unsupported("enumerate() from something that is no int")
    if iteration.is_runtime(m, args[0]) and (over := iteration.loop_iterator(m, args[0])) is not None:
        iteration.require_near(m, start)
        return Enumerate(over, start)
    if not isinstance(start, Known) or not isinstance(start.obj, int):
        raise Unsupported("enumerate() from a number that is not known")
    items, fixed = iteration.items(m, args[0])
    return _iterator([Sequence("tuple", [Known(start.obj + i), item]) for i, item in enumerate(items)], fixed)


@rule(zip, 0, 100, True)
def _zip(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    strict = m.force(kwargs.get("strict", Known(False)))
    if set(kwargs) - {"strict"} or not isinstance(strict, Known):
        raise Unsupported("these arguments of zip")
    if any(isinstance(arg, Iterator) for arg in args):
        raise Unsupported("zip() of iterators")
    if any(iteration.is_runtime(m, arg) for arg in args):
        return _zip_of_loops(m, args, bool(strict.obj))
    found = [iteration.items(m, arg) for arg in args]
    if strict.obj and len({len(items) for items, _ in found}) > 1:
        raise Unsupported("zip() of unequal lengths")
    return _iterator([Sequence("tuple", list(row)) for row in zip(*(items for items, _ in found))],
                     all(fixed for _, fixed in found))


def _zip_of_loops(m: Machine, args: list[Abstract], strict: bool) -> Abstract:
    parts = [iteration.loop_iterator(m, arg) for arg in args]
    if None in parts or len({id(part) for part in parts}) < len(parts):
        raise Unsupported("zip() of an object, or twice of one iterator")
    return Zip([part for part in parts if part is not None], strict)


@rule(reversed, 1, 1)
def _reversed(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if (iteration.is_runtime(m, args[0]) or isinstance(args[0], Array)) and not isinstance(args[0], LoopIterator):
        return iteration.reversed_iterator(m, args[0])
    if isinstance(args[0], (Iterator, LoopIterator, View)) or pytype(m, args[0]) not in (tuple, list, range, str):
        raise Unsupported("reversed() of an object")
    items, fixed = iteration.items(m, args[0])
    return _iterator(items[::-1], fixed)


@rule(sorted, 1, 1, True)
def _sorted(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if (whole := lists.whole(args[0])) is not None:
        made = lists.copy(m, whole)
        lists.sort(m, made, kwargs)
        return made
    values = [m.force(v) for v in iteration.items(m, args[0], 1000)[0]]
    if kwargs:
        raise Unsupported("sorted() with a key")
    objects = [m.known(v) for v in values]
    found = python_ops.fold(m, lambda *objs: tuple(sorted(range(len(objs)), key=objs.__getitem__)), *objects)
    assert isinstance(found, Known)
    return lists.make(m, [values[at] for at in found.obj])  # type: ignore[attr-defined]


# -- strings ------------------------------------------------------------------------------------------------
def _text(function: Callable[..., Any]) -> Rule:
    def found(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
        if not all(isinstance(arg, Known) for arg in args):
            if (text := exceptions.text(m.state, m.choices.seen, function, *args)) is not None:
                return text
            raise Unsupported(f"{function.__name__}() of a run-time value")
        return python_ops.fold(m, function, *(arg.obj for arg in args))  # type: ignore[attr-defined]
    return found


for _function in (str, repr, ascii, format, ord, chr, hex, bin, oct):
    rule(_function, 1, 2)(_text(_function))
