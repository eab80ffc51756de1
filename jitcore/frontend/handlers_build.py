"""Handlers: building containers, strings and functions, unpacking."""
from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from jitcore.bytecode import Instr
from jitcore.frontend import exceptions, iteration, lists, operations, python_ops
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import constant
from jitcore.frontend.protocol import Raises, Unsupported
from jitcore.frontend.registry import handles
from jitcore.frontend.values import (
    Abstract,
    Cell,
    Dict,
    Function,
    Known,
    Opaque,
    Scalar,
    Sequence,
    Set,
    Slice,
    TypedList,
)


@handles("BUILD_TUPLE")
def build_tuple(m: Machine, instr: Instr) -> None:
    items = m.frame.pop_n(instr.arg)
    m.frame.push(tuple_of(items))


def tuple_of(items: list[Abstract]) -> Abstract:
    return Sequence("tuple", items) if items else Known(())


@handles("BUILD_LIST")
def build_list(m: Machine, instr: Instr) -> None:
    m.frame.push(lists.make(m, m.frame.pop_n(instr.arg)))


@handles("BUILD_SET")
def build_set(m: Machine, instr: Instr) -> None:
    m.frame.push(m.made(Set(operations.keyed(m, m.frame.pop_n(instr.arg)))))


@handles("SET_ADD", "SET_UPDATE")
def set_update(m: Machine, instr: Instr) -> None:
    value = m.frame.pop()
    merges = isinstance(value, Known) and type(value.obj) is frozenset
    if instr.op == "SET_ADD":
        items = [value]
    else:
        items = [constant(m, o) for o in value.obj] if merges else iteration.items(m, value, 1000)[0]  # type: ignore[attr-defined]
    target = _own(m, instr.arg)
    assert isinstance(target, Set)
    new = operations.keyed(m, items, target.items)
    target.merged |= merges
    for key, item in new.items():
        target.items.setdefault(key, item)


@handles("BUILD_MAP")
def build_map(m: Machine, instr: Instr) -> None:
    parts = m.frame.pop_n(2 * instr.arg)
    m.frame.push(_dict(m, parts[::2], parts[1::2]))


@handles("BUILD_CONST_KEY_MAP")
def build_const_key_map(m: Machine, instr: Instr) -> None:
    keys = m.frame.pop()
    values = m.frame.pop_n(instr.arg)
    assert isinstance(keys, Known)
    m.frame.push(_dict(m, [constant(m, key) for key in keys.obj], values))  # type: ignore[attr-defined]


def _dict(m: Machine, keys: list[Abstract], values: list[Abstract]) -> Dict:
    return Dict({operations.hashable(m.force(key)): value for key, value in zip(keys, values)})


@handles("BUILD_SLICE")
def build_slice(m: Machine, instr: Instr) -> None:
    parts = m.frame.pop_n(instr.arg)
    m.frame.push(Slice(*parts, *[Known(None)] * (3 - len(parts))))


@handles("LIST_TO_TUPLE")
def list_to_tuple(m: Machine, instr: Instr) -> None:
    value = m.frame.pop()
    assert isinstance(value, Sequence)
    m.frame.push(tuple_of(list(value.items)))


def _own(m: Machine, depth: int) -> Abstract:
    """The container that a comprehension or a call is filling: always made by the code itself."""
    value = m.frame.stack[-depth]
    if value.source is not None or not isinstance(value, (Sequence, TypedList, Dict, Set)):
        raise Unsupported("a container made before the region began")
    return value


@handles("LIST_APPEND")
def list_append(m: Machine, instr: Instr) -> None:
    item = m.frame.pop()
    target = _own(m, instr.arg)
    if isinstance(target, TypedList):
        lists.append(m, target, item)
        return
    assert isinstance(target, Sequence)
    target.items.append(item)


@handles("MAP_ADD")
def map_add(m: Machine, instr: Instr) -> None:
    key, value = m.frame.pop_n(2)
    target = _own(m, instr.arg)
    assert isinstance(target, Dict)
    target.items[operations.hashable(m.force(key))] = value


@handles("LIST_EXTEND")
def list_extend(m: Machine, instr: Instr) -> None:
    value = m.frame.pop()
    target = _own(m, instr.arg)
    if isinstance(target, TypedList):
        lists.extend(m, target, m.force(value))
        return
    assert isinstance(target, Sequence)
    if isinstance(m.force(value), TypedList):
        lists.to_run_time(m, target)
    target.items.extend(iteration.items(m, value, 1000)[0])


@handles("DICT_UPDATE", "DICT_MERGE")
def dict_update(m: Machine, instr: Instr) -> None:
    value = m.force(m.frame.pop())
    target = _own(m, instr.arg)
    assert isinstance(target, Dict)
    if isinstance(value, Known) and value.obj == {} and type(value.obj) is dict:
        return
    if not isinstance(value, Dict):
        raise Unsupported("the items of a mapping")
    if instr.op == "DICT_MERGE" and (
            target.items.keys() & value.items.keys() or any(type(k) is not str for k in value.items)):
        raise Unsupported("repeated or unfit keyword arguments")
    target.items.update(value.items)


# -- strings ------------------------------------------------------------------------------------------
@handles("BUILD_STRING")
def build_string(m: Machine, instr: Instr) -> None:
    parts = [m.force(part) for part in m.frame.pop_n(instr.arg)]
    if not all(isinstance(part, Known) for part in parts):
        if (text := exceptions.text(m.state, m.choices.seen, lambda *texts: "".join(texts), *parts)) is not None:
            m.frame.push(text)
            return
        raise Unsupported("a string of run-time values")
    m.frame.push(Known("".join(part.obj for part in parts)))  # type: ignore[attr-defined]


_CONVERSIONS: dict[str, Callable[..., Any]] = {"": lambda obj: obj, "str": str, "repr": repr, "ascii": ascii}


@handles("FORMAT")
def format_(m: Machine, instr: Instr) -> None:
    spec = m.force(m.frame.pop()) if instr.arg.spec else Known("")
    value = m.force(m.frame.pop())
    convert = _CONVERSIONS[instr.arg.conversion]
    _text(m, lambda obj, how: format(convert(obj), how), value, spec)


def _text(m: Machine, function: Callable[..., Any], *values: Abstract) -> None:
    """Push a string: known, or one that nobody will read."""
    if all(isinstance(value, Known) for value in values):
        m.frame.push(python_ops.fold(m, function, *(value.obj for value in values)))  # type: ignore[attr-defined]
    elif (text := exceptions.text(m.state, m.choices.seen, function, *values)) is not None:
        m.frame.push(text)
    else:
        raise Unsupported("formatting of a run-time value")


@handles("CONVERT_VALUE")
def convert_value(m: Machine, instr: Instr) -> None:
    value = m.force(m.frame.pop())
    _text(m, _CONVERSIONS[instr.arg], value)


# -- unpacking ----------------------------------------------------------------------------------------
@handles("UNPACK_SEQUENCE")
def unpack_sequence(m: Machine, instr: Instr) -> None:
    value = m.force(m.frame.pop())
    items = iteration.unpacked(m, value, instr.arg)
    if items is None:
        items = _unpacked(m, value)
    if len(items) != instr.arg:
        raise Raises(ValueError, "another number of values to unpack")
    m.frame.stack.extend(reversed(items))


@handles("UNPACK_EX")
def unpack_ex(m: Machine, instr: Instr) -> None:
    before, after = instr.arg
    items = _unpacked(m, m.frame.pop())
    if len(items) < before + after:
        raise Raises(ValueError, "too few values to unpack")
    end = len(items) - after
    middle = lists.make(m, items[before:end])
    m.frame.stack.extend(reversed([*items[:before], middle, *items[end:]]))


def _unpacked(m: Machine, value: Abstract) -> list[Abstract]:
    value = m.force(value)
    if isinstance(value, Opaque):
        raise Unsupported("unpacking of an object")
    if isinstance(value, Scalar):
        raise Raises(TypeError, "unpacking of a number")
    return iteration.items(m, value, 1000)[0]


# -- functions ----------------------------------------------------------------------------------------
@handles("MAKE_FUNCTION")
def make_function(m: Machine, instr: Instr) -> None:
    """A function made inside: it may be called, and an exit makes the object."""
    m.check_cut()
    frame = m.frame
    code = m.force(frame.pop())
    assert isinstance(code, Known) and isinstance(code.obj, CodeType)
    func = Function(code.obj, frame.func.globals, (), (), {})
    func.globals_source = frame.func.globals_source
    func.made_at = m.outer_unit
    for name, value in zip(instr.arg, frame.pop_n(len(instr.arg))):
        _attribute(m, func, name, value)
    frame.push(func)


@handles("SET_FUNCTION_ATTRIBUTE")
def set_function_attribute(m: Machine, instr: Instr) -> None:
    value, func = m.frame.pop_n(2)
    assert isinstance(func, Function) and func.obj is None
    new = Function(func.code, func.globals, func.closure, func.defaults, func.kwdefaults)
    new.globals_source, new.made_at, new.annotations = func.globals_source, func.made_at, func.annotations
    _attribute(m, new, instr.arg, value)
    m.frame.push(new)


def _attribute(m: Machine, func: Function, name: str, value: Abstract) -> None:
    value = m.force(value)
    if name == "annotations":
        func.annotations = value
        return
    if name == "kwdefaults":
        if not isinstance(value, Dict):
            raise Unsupported("keyword defaults that are not known")
        func.kwdefaults = value.items
        return
    items = tuple(value.items) if isinstance(value, Sequence) else tuple(constant(m, o) for o in value.obj)  # type: ignore[attr-defined]
    if name == "defaults":
        func.defaults = items
    elif all(isinstance(item, Cell) for item in items):
        func.closure = items  # type: ignore[assignment]
    else:
        raise Unsupported("a closure that is not known")
