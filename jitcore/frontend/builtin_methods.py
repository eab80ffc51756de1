"""Methods of Python's builtin types: tuple, list, dict, str, range, int, float.

Job: ``call`` performs ``obj.name(...)``.  Invariants: a list or dict is changed only if it was made inside the
region; strings and numbers are folded where they are known; all else raises ``Unsupported``.  Used by ``calls``.
"""
from __future__ import annotations

from typing import Any

from jitcore.frontend import iteration, lists, operations, python_ops
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import constant
from jitcore.frontend.protocol import Raises, Unsupported
from jitcore.frontend.values import Abstract, Dict, Known, Opaque, Scalar, Sequence, TypedList, View
from jitcore.guards.sources import Constant

#: Methods of immutable objects that give the same for the same arguments.
_PURE: dict[type, frozenset[str]] = {
    str: frozenset(
        "capitalize casefold center count endswith expandtabs find format index isalnum isalpha isascii isdecimal"
        " isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip"
        " partition removeprefix"
        " removesuffix replace rfind rindex rjust rpartition rsplit rstrip split startswith strip swapcase title upper"
        " zfill".split()),
    tuple: frozenset(("count", "index")),
    int: frozenset(("bit_length", "bit_count", "conjugate")),
    float: frozenset(("is_integer", "hex", "conjugate")),
    complex: frozenset(("conjugate",)),
    bool: frozenset(("bit_length",)),
}


def call(m: Machine, obj: Abstract, name: str, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    """``obj.name(*args, **kwargs)``."""
    if isinstance(obj, Known) and type(obj.obj) in _PURE:
        return _fold(m, obj.obj, name, args, kwargs)
    args = list(args)
    if isinstance(obj, TypedList):
        return lists.call_method(m, obj, name, args, kwargs)
    if isinstance(obj, Sequence):
        return _list(m, obj, name, args, kwargs) if obj.kind == "list" else _tuple(m, obj, name, args, kwargs)
    if isinstance(obj, Dict):
        return _dict(m, obj, name, args, kwargs)
    if isinstance(obj, Opaque) and obj.type is dict and isinstance(obj.source, Constant) and m.frame.constant_globals:
        return _constant_dict(m, obj, name, args, kwargs)
    raise Unsupported(f"method {name} of a {type(obj).__name__.lower()}")


def _constant_dict(m: Machine, obj: Opaque, name: str, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    """A constant of NumPy's own Python code."""
    if name != "get" or kwargs or not 1 <= len(args) <= 2:
        raise Unsupported(f"method {name} of a dict")
    key = operations.hashable(m.force(args[0]))
    if key in obj.obj:  # type: ignore[operator]
        return constant(m, obj.obj[key])  # type: ignore[index]
    return args[1] if len(args) == 2 else Known(None)


#: Methods of run-time numbers that are operations of ``ops.python``.
_NUMBERS: dict[str, tuple[str, ...]] = {
    "b": ("bit_length", "bit_count", "conjugate"), "i": ("bit_length", "bit_count", "conjugate"),
    "f": ("is_integer", "conjugate"), "c": ("conjugate",)}


def of_number(m: Machine, value: Scalar, name: str, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    """``value.name(...)`` of a Python number."""
    kind = value.type.dtype.kind
    if args or kwargs:
        raise Unsupported(f"method {name} of a number with arguments")
    if name == "conjugate" and kind in "if":
        return value
    if name in _NUMBERS[kind]:
        return python_ops.apply(m, name, value)
    if name == "is_integer" and kind in "bi" and hasattr(int, "is_integer"):
        return Known(True)
    raise Unsupported(f"method {name} of a number")


def _fold(m: Machine, obj: Any, name: str, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if name not in _PURE[type(obj)] or kwargs:
        raise Unsupported(f"method {name} of a {type(obj).__name__}")
    known = [_plain(m, arg) for arg in args]
    try:
        found = getattr(obj, name)(*known)
    except Exception as error:
        raise Raises(type(error), f"{type(error).__name__}: {error}") from None
    if type(found) is list:
        return lists.make(m, [constant(m, item) for item in found])
    return constant(m, found)


def _plain(m: Machine, value: Abstract) -> Any:
    """A builtin immutable object, or the items of a sequence of such."""
    value = m.force(value)
    if isinstance(value, Sequence):
        return [_plain(m, item) for item in value.items]
    if isinstance(value, Known) and type(value.obj) in (str, int, float, bool, complex, bytes, tuple, type(None)):
        return value.obj
    raise Unsupported("an argument that is not known")


def _own(obj: Sequence | Dict) -> None:
    if obj.source is not None:
        raise Unsupported("an object that is visible outside is changed")


def _list(m: Machine, obj: Sequence, name: str, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if kwargs:
        raise Unsupported(f"method {name} with keywords")
    if name == "copy" and not args:
        return lists.make(m, list(obj.items))
    if name in ("index", "count"):
        return _search(m, obj, name, args)
    _own(obj)
    if name == "append" and len(args) == 1:
        obj.items.append(args[0])
    elif name == "extend" and len(args) == 1:
        obj.items.extend(iteration.items(m, args[0], 1000)[0])
    elif name == "insert" and len(args) == 2:
        obj.items.insert(m.pin_index(args[0]), args[1])
    elif name == "pop" and len(args) <= 1:
        index = m.pin_index(args[0]) if args else -1
        if not -len(obj.items) <= index < len(obj.items):
            raise Raises(IndexError, "pop index out of range")
        return obj.items.pop(index)
    elif name == "remove" and len(args) == 1:
        obj.items.pop(int(_search(m, obj, "index", args).obj))  # type: ignore[attr-defined]
    elif name == "reverse" and not args:
        obj.items.reverse()
    elif name == "clear" and not args:
        obj.items.clear()
    else:
        raise Unsupported(f"method {name} of a list")
    return Known(None)


def _tuple(m: Machine, obj: Sequence, name: str, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if name in ("index", "count") and not kwargs:
        return _search(m, obj, name, args)
    raise Unsupported(f"method {name} of a tuple")


def _search(m: Machine, obj: Sequence, name: str, args: list[Abstract]) -> Abstract:
    if len(args) != 1:
        raise Unsupported(f"method {name} with a range")
    found = [operations.contains(m, args[0], Sequence("tuple", [item])) for item in obj.items]
    if name == "count":
        return Known(sum(found))
    if True not in found:
        raise Raises(ValueError, "a value that is not in the sequence")
    return Known(found.index(True))


def _dict(m: Machine, obj: Dict, name: str, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    if name in ("keys", "values", "items") and not args and not kwargs:
        return View(obj, name)
    if name == "copy" and not args and not kwargs:
        return Dict(dict(obj.items))
    if name in ("get", "pop", "setdefault") and 1 <= len(args) <= 2 and not kwargs:
        key = operations.hashable(m.force(args[0]))
        if name != "get":
            _own(obj)
        if key in obj.items:
            return obj.items.pop(key) if name == "pop" else obj.items[key]
        if name == "pop" and len(args) == 1:
            raise Raises(KeyError, f"key {key!r} is absent")
        value = args[1] if len(args) == 2 else Known(None)
        if name == "setdefault":
            obj.items[key] = value
        return value
    if name == "update":
        _own(obj)
        other = m.force(args[0]) if args else Dict({})
        if len(args) > 1 or not isinstance(other, Dict):
            raise Unsupported("the items of a mapping")
        obj.items.update(other.items)
        obj.items.update(kwargs)
        return Known(None)
    raise Unsupported(f"method {name} of a dict")
