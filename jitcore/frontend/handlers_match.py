"""Handlers: patterns of ``match`` that are decided while tracing."""
from __future__ import annotations

from typing import Any

from jitcore.bytecode import Instr
from jitcore.frontend import attributes, builtin_calls, operations
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import class_version, is_instance, known_items, pytype, type_version
from jitcore.frontend.protocol import Leaves, Raises, Redirect, Unsupported
from jitcore.frontend.registry import handles
from jitcore.frontend.values import Abstract, Dict, Known, Opaque, Sequence

_SEQUENCE, _MAPPING = 1 << 5, 1 << 6    # Py_TPFLAGS_SEQUENCE, Py_TPFLAGS_MAPPING
_ITSELF = 1 << 22                       # _Py_TPFLAGS_MATCH_SELF: one positional pattern stands for the object itself


@handles("GET_LEN")
def get_len(m: Machine, instr: Instr) -> None:
    rule = builtin_calls.find(len)
    assert rule is not None
    found = rule(m, [m.frame.stack[-1]], {})
    assert isinstance(found, Abstract)
    m.frame.push(found)


@handles("MATCH_SEQUENCE")
def match_sequence(m: Machine, instr: Instr) -> None:
    _push_flag(m, _SEQUENCE)


@handles("MATCH_MAPPING")
def match_mapping(m: Machine, instr: Instr) -> None:
    _push_flag(m, _MAPPING)


def _push_flag(m: Machine, flag: int) -> None:
    """Whether the type of the top is a sequence or a mapping, which its flags say."""
    value = m.force(m.frame.stack[-1])
    cls = pytype(m, value)
    if isinstance(value, Opaque):
        type_version(m, value)
    m.frame.push(Known(bool(cls.__flags__ & flag)))


@handles("MATCH_KEYS")
def match_keys(m: Machine, instr: Instr) -> None:
    mapping, keys = (m.force(v) for v in m.frame.stack[-2:])
    names = [m.force(key) for key in _items(m, keys)]
    found: list[Abstract] = []
    hashed = [operations.hashable(name) for name in names]
    if len(set(hashed)) != len(hashed) or not (
            isinstance(mapping, Dict) or (isinstance(mapping, Opaque) and mapping.type is dict)):
        raise Leaves("the keys of a mapping")
    try:
        for name in names:
            item = operations.getitem(m, mapping, name)
            assert isinstance(item, Abstract)
            found.append(item)
    except Raises:
        m.frame.push(Known(None))
    except Unsupported as error:
        raise Leaves(str(error)) from None
    else:
        m.frame.push(Sequence("tuple", found))


def _items(m: Machine, value: Abstract) -> list[Abstract]:
    found = known_items(m, value)
    if found is None:
        raise Leaves("a pattern that is not known")
    return found


@handles("MATCH_CLASS")
def match_class(m: Machine, instr: Instr) -> None:
    value, cls, names = (m.force(v) for v in m.frame.pop_n(3))
    try:
        m.frame.push(_attributes(m, value, cls, names, instr.arg))
    except Unsupported as error:
        raise Leaves(str(error)) from None


def _attributes(m: Machine, value: Abstract, cls: Abstract, names: Abstract, n_positional: int) -> Abstract:
    """What the patterns of a class pattern are matched with; None where the object does not fit."""
    if not isinstance(cls, Known) or not isinstance(cls.obj, type):
        raise Leaves("a pattern of something that is no class")
    if not is_instance(m, value, cls.obj):
        return Known(None)
    found: list[Abstract] = []
    wanted: list[Any] = [item.obj for item in map(m.force, _items(m, names)) if isinstance(item, Known)]
    if n_positional:
        class_version(m, cls)
        positional = getattr(cls.obj, "__match_args__", None)
        if positional is None and cls.obj.__flags__ & _ITSELF and n_positional == 1:
            found.append(value)
        elif type(positional) is tuple and len(positional) >= n_positional and (
                all(type(name) is str for name in positional)):
            wanted[:0] = positional[:n_positional]
        else:
            raise Leaves(f"positional patterns of {cls.obj.__name__}")
    if len(set(wanted)) != len(wanted):
        raise Leaves("an attribute that is matched twice")
    for name in wanted:
        try:
            item = attributes.get(m, value, name)
        except Raises:
            return Known(None)
        if isinstance(item, Redirect):
            raise Leaves(f"property {name} in a pattern")
        found.append(m.made(item))
    return Sequence("tuple", found) if found else Known(())
