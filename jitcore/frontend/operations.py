"""Operators, subscripts, containment and truth on any abstract values.

Job: send an operation to NumPy's rules or Python's, by its operands.  Invariants: exactly what Python's operator
does, or ``Unsupported``.  Used by the handlers and ``builtin_calls``.
"""
from __future__ import annotations

from types import FunctionType
from typing import Any

from jitcore.frontend import lists, numpy_index, numpy_objects, numpy_ops, operators, python_ops, sequences
from jitcore.frontend.instances import class_attribute
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import (
    constant,
    is_plain,
    is_same,
    known_items,
    known_range,
    pytype,
    read,
    static_truth,
    type_version,
)
from jitcore.frontend.protocol import Raises, Redirect, Unsupported
from jitcore.frontend.unseen import CObject
from jitcore.frontend.values import (
    Abstract,
    Array,
    Dict,
    FlatIterator,
    Known,
    Opaque,
    Range,
    Scalar,
    Sequence,
    Set,
    Slice,
    TypedList,
    is_number,
)
from jitcore.guards.guard import Absent, TypeIs
from jitcore.guards.sources import Constant, Key
from jitcore.ir.graph import Value

#: Members of a tuple among which a number is looked for natively.
_MAX_MEMBERS = 32


def is_numpy(value: Abstract) -> bool:
    """An array or a NumPy scalar."""
    if isinstance(value, Array):
        return True
    if isinstance(value, Scalar):
        return not value.type.weak
    return isinstance(value, Known) and is_number(value.obj) and not python_ops.is_python_number(value)


def asks_class(a: Abstract, b: Abstract) -> bool:
    """Whether an operator asks a class written in Python; NumPy's objects on the left decide themselves."""
    return operators.has_class(a) or (operators.has_class(b) and not is_numpy(a))


def binary(m: Machine, op: str, a: Abstract, b: Abstract, inplace: bool = False) -> Abstract | Redirect:
    """``a op b``, or ``a op= b``."""
    a, b = m.force(a), m.force(b)
    if asks_class(a, b):
        return operators.binary(m, op, a, b, inplace)
    if is_numpy(a) or is_numpy(b):
        return numpy_ops.binary(m, op, a, b, inplace)
    if inplace and isinstance(a, TypedList) and op == "add":
        lists.extend(m, a, b)
        return a
    if inplace and isinstance(a, TypedList):
        raise Unsupported("a list that is changed in place")
    if inplace and isinstance(a, Sequence) and isinstance(b, TypedList) and op == "add":
        lists.to_run_time(m, a)
    if inplace and isinstance(a, Sequence) and a.kind == "list":
        if a.source is not None or op != "add" or not isinstance(b, Sequence):
            raise Unsupported("a list that is changed in place")
        a.items.extend(list(b.items))
        return a
    if inplace and isinstance(a, Dict):
        raise Unsupported("a dict that is changed in place")
    if isinstance(a, Dict) and isinstance(b, Dict) and op == "or":
        return Dict({**a.items, **b.items})
    return python_ops.binary(m, op, a, b)


def unary(m: Machine, op: str, value: Abstract) -> Abstract | Redirect:
    """``op value``: 'neg', 'pos', 'invert', 'not'."""
    value = m.force(value)
    if op == "not":
        found = truth_value(m, value)
        if isinstance(found, Known):
            return Known(not found.obj)
        return python_ops.apply(m, "not", found)
    if is_numpy(value):
        return numpy_ops.unary(m, op, value)
    if operators.has_class(value):
        return operators.unary(m, f"__{op}__", value)
    return python_ops.unary(m, op, value)


def compare(m: Machine, op: str, a: Abstract, b: Abstract) -> Abstract:
    """``a op b``: 'lt', 'le', 'eq', 'ne', 'gt', 'ge'."""
    a, b = m.force(a), m.force(b)
    if asks_class(a, b):
        raise Unsupported(f"{op} of objects")
    if is_numpy(a) or is_numpy(b):
        return numpy_ops.compare(m, op, a, b)
    return python_ops.compare(m, op, a, b)


def truth(m: Machine, value: Abstract) -> bool | Value:
    """``bool(value)``: known, or a weak bool in the graph."""
    value = m.force(value)
    size = sequences.length(m, value)
    if size is not None:
        value = compare(m, "ne", size, Known(0))
    found = static_truth(m, value)
    if found is not None:
        return found
    if isinstance(value, Scalar) and value.type.weak:
        cond = python_ops.truth(m, value)
    elif isinstance(value, (Scalar, Array)):
        weak = numpy_ops.truth(m, value)
        if isinstance(weak, Known):
            return bool(weak.obj)
        cond = weak.value
    elif isinstance(value, TypedList):
        cond = lists.truth(m, value)
    else:
        raise Unsupported(f"the truth of a {type(value).__name__.lower()}")
    return m.state.facts.get(cond, cond)


def truth_value(m: Machine, value: Abstract) -> Abstract:
    """``bool(value)`` as an object."""
    found = truth(m, value)
    return Known(found) if isinstance(found, bool) else Scalar(found, None, truth_hint(m, value))


def truth_hint(m: Machine, value: Abstract) -> bool | None:
    """``bool(value)`` for the snapshot, where that is known."""
    value = m.force(value)
    hint = value.hint if isinstance(value, Scalar) else None
    return None if hint is None else bool(hint)


# -- items -----------------------------------------------------------------------------------------------
def getitem(m: Machine, obj: Abstract, key: Abstract) -> Abstract | Redirect:
    """``obj[key]``."""
    obj, key = m.force(obj), m.force(key)
    if isinstance(obj, (Array, Scalar)):
        return numpy_index.getitem(m, obj, key)
    if isinstance(obj, CObject):
        return numpy_objects.getitem(m, obj, key)
    if isinstance(obj, FlatIterator):
        return numpy_index.flat_item(m, obj, key)
    item = sequences.item(m, obj, key)
    if item is not None:
        return item
    if isinstance(obj, Known) and type(obj.obj) is tuple:
        if isinstance(key, Slice):
            return constant(m, obj.obj[known_slice(m, key)])
        obj = Sequence("tuple", [constant(m, item) for item in obj.obj])
    if isinstance(obj, TypedList):
        return lists.getitem(m, obj, key)
    if isinstance(obj, Sequence):
        return _sequence_item(m, obj, key)
    if isinstance(obj, Dict):
        return dict_item(obj, hashable(key))
    if isinstance(obj, Known) and type(obj.obj) in (str, bytes):
        at = known_slice(m, key) if isinstance(key, Slice) else m.pin_index(key)
        return python_ops.fold(m, lambda text: text[at], obj.obj)
    if isinstance(obj, Range):
        return _range_item(m, obj, key)
    if isinstance(obj, Opaque) and obj.type is dict and obj.source is not None:
        name = hashable(key)
        if type(name) is not str and m.frame.constant_globals and isinstance(obj.source, Constant):
            if name in obj.obj:  # type: ignore[operator]
                return constant(m, obj.obj[name])  # type: ignore[index]
            raise Raises(KeyError, "a key that is absent")
        if type(name) is not str:
            raise Unsupported("a dict's item by a key that is no string")
        m.guard(TypeIs(obj.source, dict))
        source = Key(obj.source, name)
        if name not in obj.obj:  # type: ignore[operator]
            m.guard(Absent(source))
            raise Raises(KeyError, f"key {name!r} is absent")
        return read(m, obj.obj[name], source)  # type: ignore[index]
    return _item_by_method(m, obj, key)


def _item_by_method(m: Machine, obj: Abstract, key: Abstract) -> Redirect:
    """An object whose class has a ``__getitem__`` written in Python."""
    found = class_attribute(pytype(m, obj), "__getitem__") if isinstance(obj, (Known, Opaque)) else None
    if not isinstance(found, FunctionType):
        raise Unsupported("an item of an object")
    if isinstance(obj, Opaque):
        type_version(m, obj)
    return Redirect(constant(m, found), [obj, key])


def _sequence_item(m: Machine, obj: Sequence, key: Abstract) -> Abstract:
    if isinstance(key, Slice):
        items = obj.items[known_slice(m, key)]
        if obj.kind == "tuple" and len(items) == len(obj.items) and all(a is b for a, b in zip(items, obj.items)):
            return obj
        return lists.make(m, items) if obj.kind == "list" else Sequence(obj.kind, items)
    if not isinstance(key, (Known, Scalar)):
        raise Unsupported("an index that is no int")
    if not obj.items and obj.source is None and isinstance(key, Scalar) and m.meeting.active:
        return m.raises()
    index = _index(m, obj, key)
    if not -len(obj.items) <= index < len(obj.items):
        raise Raises(IndexError, f"{obj.kind} index out of range")
    return obj.items[index]


def _index(m: Machine, obj: Sequence, key: Abstract) -> int:
    """A position in a sequence whose items are known one by one; a list that is asked for others is none."""
    try:
        return m.pin_index(key)
    except Unsupported:
        if isinstance(key, Scalar):
            lists.to_run_time(m, obj)
        raise


def known_slice(m: Machine, key: Slice) -> slice:
    """A slice of ints that are known; pins those that are not."""
    def part(value: Abstract) -> int | None:
        value = m.force(value)
        return None if isinstance(value, Known) and value.obj is None else m.pin_index(value)
    found = slice(part(key.start), part(key.stop), part(key.step))
    if found.step == 0:
        raise Unsupported("slice step cannot be zero")
    return found


def _range_item(m: Machine, obj: Range, key: Abstract) -> Abstract:
    if isinstance(key, Slice):
        raise Unsupported("a slice of a range")
    try:
        return Known(known_range(obj)[m.pin_index(key)])
    except IndexError:
        raise Raises(IndexError, "range object index out of range") from None


def hashable(key: Abstract) -> Any:
    """A constant dict key."""
    if isinstance(key, Known) and is_plain(key.obj):
        return key.obj
    raise Unsupported("a key that is not a constant")


def keyed(m: Machine, items: list[Abstract], before: dict[Any, Abstract] | None = None) -> dict[Any, Abstract]:
    """The different ones among constants and tuples of ints, each by its object, behind those of ``before``; the first
    of equal ones stays, as in a set."""
    found = dict(before or {})
    for item in map(m.force, items):
        found.setdefault(_row_key(m, item, found) if isinstance(item, Sequence) else hashable(item), item)
    return found


def _row_key(m: Machine, item: Sequence, found: dict[Any, Abstract]) -> Any:
    """A key for a tuple of ints: that of an equal one among ``found``, if it is equal in the snapshot (tested)."""
    for key, other in found.items():
        if item.kind == "tuple" and isinstance(other, Sequence) and python_ops.expect_equal(m, item, other):
            return key
    if item.kind == "tuple" and (not found or all(isinstance(v, Known) for v in map(m.force, item.items))):
        return item if not all(isinstance(v, Known) for v in item.items) else tuple(
            hashable(v) for v in item.items)
    raise Unsupported("a key that is not a constant")


def dict_item(obj: Dict, key: Any) -> Abstract:
    if key not in obj.items:
        raise Raises(KeyError, f"key {key!r} is absent")
    return obj.items[key]


def setitem(m: Machine, obj: Abstract, key: Abstract, value: Abstract) -> None:
    """``obj[key] = value`` for objects made inside."""
    obj, key = m.force(obj), m.force(key)
    if isinstance(obj, TypedList):
        lists.setitem(m, obj, key, value)
        return
    if isinstance(obj, Array):
        numpy_index.setitem(m, obj, key, m.force(value))
        return
    if isinstance(obj, FlatIterator):
        numpy_index.set_flat_item(m, obj, key, m.force(value))
        return
    if obj.source is not None or not isinstance(obj, (Sequence, Dict)):
        raise Unsupported("a store into an object that is visible outside")
    if isinstance(obj, Dict):
        obj.items[hashable(key)] = value
    elif obj.kind != "list" or isinstance(key, Slice):
        raise Unsupported("a store into a sequence")
    else:
        index = _index(m, obj, key)
        if not -len(obj.items) <= index < len(obj.items):
            raise Raises(IndexError, "list assignment index out of range")
        obj.items[index] = value


def delitem(m: Machine, obj: Abstract, key: Abstract) -> None:
    """``del obj[key]`` for objects made inside."""
    obj, key = m.force(obj), m.force(key)
    if isinstance(obj, TypedList):
        lists.delitem(m, obj, key)
        return
    if obj.source is not None:
        raise Unsupported("an item deleted from an object that is visible outside")
    if isinstance(obj, Dict):
        dict_item(obj, hashable(key))
        del obj.items[hashable(key)]
    elif isinstance(obj, Sequence) and obj.kind == "list":
        if isinstance(key, Slice):
            del obj.items[known_slice(m, key)]
            return
        index = _index(m, obj, key)
        if not -len(obj.items) <= index < len(obj.items):
            raise Raises(IndexError, "list assignment index out of range")
        del obj.items[index]
    else:
        raise Unsupported("an item deleted from an object")


def contains_value(m: Machine, item: Abstract, container: Abstract, wanted: bool = True) -> Abstract:
    """``(item in container) is wanted``."""
    item, container = m.force(item), m.force(container)
    if not isinstance(container, TypedList):
        if isinstance(item, Scalar) and (numbers := _numbers(container)):
            return _among(m, item, numbers, wanted)
        return Known(contains(m, item, container) is wanted)
    at = Scalar(lists.find(m, container, item))
    return python_ops.apply(m, "ge" if wanted else "lt", at, Known(0))


def _numbers(container: Abstract) -> list[Known] | None:
    """The members of a container of known numbers; a NaN, which only identity finds, is none."""
    if isinstance(container, Known) and type(container.obj) in (tuple, frozenset):
        members: list[Abstract] = [Known(obj) for obj in container.obj]  # type: ignore[attr-defined]
    else:
        members = container.items if isinstance(container, Sequence) else []
    found = [v for v in members if isinstance(v, Known) and is_number(v.obj) and v.obj == v.obj]
    return found if len(found) == len(members) <= _MAX_MEMBERS else None


def _among(m: Machine, item: Scalar, numbers: list[Known], wanted: bool) -> Abstract:
    """Whether a run-time number is equal to one of ``numbers``: they are compared all at once."""
    any_: Abstract = Known(False)
    for number in numbers:
        equal = truth_value(m, compare(m, "eq", number, item))
        any_ = equal if isinstance(any_, Known) and not any_.obj else python_ops.apply(m, "or", any_, equal)
    return any_ if wanted else Known(not any_.obj) if isinstance(any_, Known) else python_ops.apply(m, "not", any_)


def contains(m: Machine, item: Abstract, container: Abstract) -> bool:
    """``item in container`` where that is known."""
    item, container = m.force(item), m.force(container)
    if isinstance(container, (Dict, Set)):
        return hashable(item) in container.items
    if isinstance(container, Known) and isinstance(item, Known) and type(container.obj) in (str, bytes, frozenset):
        inside = tuple(container.obj) if type(container.obj) is frozenset else container.obj
        found = python_ops.fold(m, lambda a, b: b in a, inside, item.obj)
        assert isinstance(found, Known)
        return bool(found.obj)
    if isinstance(container, Opaque) and container.type is dict and container.source is not None:
        return _in_dict(m, hashable(item), container)
    for other in _members(m, container):
        if is_same(m, other, item):
            return True
        found = compare(m, "eq", m.force(other), item)
        if not isinstance(found, Known):
            raise Unsupported("containment among run-time values")
        if found.obj:
            return True
    return False


def _in_dict(m: Machine, name: Any, container: Opaque) -> bool:
    if m.frame.constant_globals and isinstance(container.source, Constant):
        return name in container.obj  # type: ignore[operator]
    if type(name) is not str or container.source is None:
        raise Unsupported("containment in a dict of a key that is no string")
    source = Key(container.source, name)
    m.guard(TypeIs(container.source, dict))
    if name in container.obj:  # type: ignore[operator]
        m.force(read(m, container.obj[name], source))  # type: ignore[index]
        return True
    m.guard(Absent(source))
    return False


def _members(m: Machine, container: Abstract) -> list[Abstract]:
    found = known_items(m, container)
    if found is None:
        raise Unsupported("containment in an object")
    return found
