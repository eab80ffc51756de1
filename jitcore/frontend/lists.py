"""Lists of run-time length: when a list made inside is held as one, and what is done to it.

Job: ``make`` gives the abstract value of a new list; ``learn`` finds the item types of lists whose length a loop
changes; the rest are the operations on ``TypedList``.  Invariants: every item has exactly the list's item type, so what
does not fit (an int in a list of floats) makes the trace start again without holding that list so
(``Relisted``); nothing here touches a list that is visible outside.

A list is known by its *site*: the instructions, frame by frame, that make it.  A trace begins with lists as the items
that are known one by one (``Sequence``); where a loop finds lengths that differ, the sites and item types are noted in
``Choices.lists`` and the trace starts again.  Used by the handlers, ``meeting`` and the builtins' rules.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitcore.frontend.learning import Learned, Relisted, Site
from jitcore.frontend.matching import number_type
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Gathered, Known, Lazy, Scalar, Sequence, Slice, TypedList, is_number
from jitcore.ir.build import type_key
from jitcore.ir.graph import Value
from jitcore.ir.lists import HIGHEST, LOWEST
from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, ListType, ScalarType, Type

if TYPE_CHECKING:
    from jitcore.frontend.machine import Machine

MAX_ITEMS = 32      # of a list that is written into one of run-time length item by item


# -- making -----------------------------------------------------------------------------------------
def site_of(m: Machine) -> Site:
    """The instruction that is being executed, in all frames."""
    return tuple((frame.code.code, frame.index) for frame in m.state.frames)


def make(m: Machine, items: list[Abstract]) -> Abstract:
    """A new list of ``items``."""
    site = site_of(m)
    learned = m.choices.lists.get(site)
    if learned is None or learned.item is None:
        return Sequence("list", items, site=site)
    made = new(m, learned.item, (site, *learned.inner))
    for item in items:
        append(m, made, item)
    return made


def new(m: Machine, item: Type, sites: tuple[Site | None, ...] = ()) -> TypedList:
    """An empty list of run-time length."""
    return TypedList(m.builder.emit("list_new", (), ListType(item), exit=0), sites)


def result(m: Machine, fn: str, operands: tuple[Value, ...], type_: ListType, sites: tuple[Site | None, ...] = ()
           ) -> TypedList:
    """A new list that an operation on whole lists gives."""
    check_site(m)
    value = m.builder.emit("list_call", operands, type_, exit=0, fn=fn)
    return TypedList(value, (site_of(m), *sites[1:]))


def check_site(m: Machine) -> None:
    """Raise where lists of the present instruction are known to get items of several types."""
    learned = m.choices.lists.get(site_of(m))
    if learned is not None and learned.item is None:
        raise Unsupported("a list of items of several types")


def filled(m: Machine, item: Abstract, times: Value) -> TypedList:
    """``[item] * times``."""
    check_site(m)
    learned = m.choices.lists.get(site_of(m))
    item = m.force(item)
    inner: tuple[Site | None, ...] = ()
    if isinstance(item, Sequence):
        raise Relisted(_learn_all([item], site_of(m)))
    if isinstance(item, TypedList):
        inner = item.sites
    kind = item_type(m, item)
    if kind is None:
        raise Unsupported("a list of objects")
    if learned is not None and learned.item is not None and type_key(learned.item) != type_key(kind):
        raise Unsupported("a list of items of several types")
    value = m.builder.emit("list_fill", (item_value(m, item), times), ListType(kind), exit=0)
    return TypedList(value, (site_of(m), *inner))


def item_type(m: Machine, item: Abstract) -> Type | None:
    """The type that a list of such items has, None where there is none."""
    if isinstance(item, Lazy) and item.forced is None and not is_number(item.obj):
        return None
    item = m.force(item)
    if isinstance(item, TypedList):
        return item.type
    return number_type(item)


def item_value(m: Machine, item: Abstract) -> Value:
    return item.value if isinstance(item, TypedList) else m.builder.as_value(item)


def as_item(m: Machine, l: TypedList, item: Abstract) -> Value:
    """``item`` as an item of ``l``; raises where it is of another type."""
    item = m.force(item)
    if isinstance(item, Sequence) and isinstance(l.type.item, ListType) and item.site is not None and (
            item.kind == "list" and item.source is None):
        raise Relisted({item.site: Learned(l.type.item.item, l.sites[2:])})
    kind = item_type(m, item)
    if kind is not None and type_key(kind) == type_key(l.type.item):
        return item_value(m, item)
    if l.sites and l.sites[0] is not None:
        raise Relisted({l.sites[0]: Learned(kind, item.sites if isinstance(item, TypedList) else ())}, True)
    raise Unsupported("a list of items of several types")


# -- learning ---------------------------------------------------------------------------------------
def learn(m: Machine, pairs: list[tuple[Sequence, Sequence]]) -> None:
    """Raise ``Relisted`` if something is to be learned from lists whose lengths differ where paths meet."""
    found: dict[Site, Learned] = {}
    for a, b in pairs:
        assert a.site is not None
        try:
            found.update(_learn_all([*a.items, *b.items], a.site))
        except Unsupported:
            found[a.site] = Learned(None)
    if any(m.choices.lists.get(site) is None for site in found):
        raise Relisted(found)


def to_run_time(m: Machine, value: Sequence) -> None:
    """A list is used in a way that asks for one of run-time length: raise ``Relisted``, or ``Unsupported``."""
    if value.source is None and value.kind == "list" and value.site not in (None, *m.choices.lists):
        assert value.site is not None
        raise Relisted(_learn_all(value.items, value.site))
    raise Unsupported("a run-time index of a list")


def _learn_all(items: list[Abstract], site: Site) -> dict[Site, Learned]:
    """What a list with such items at ``site`` is, and the lists in it."""
    found: dict[Site, Learned] = {}
    learned = _learned(items, found)
    if learned is None:
        raise Unsupported("a list of items of several types")
    found[site] = learned
    return found


def _learned(items: list[Abstract], found: dict[Site, Learned]) -> Learned | None:
    kinds: dict[object, Type] = {}
    inner: tuple[Site | None, ...] = ()
    lists = [item for item in items if isinstance(item, Sequence)]
    if lists:
        if len(lists) < len(items) or any(l.kind != "list" or l.source is not None or l.site is None for l in lists):
            return None
        below = _learned([item for l in lists for item in l.items], found)
        if below is None or below.item is None:
            return None
        for l in lists:
            assert l.site is not None
            found[l.site] = below
        return Learned(ListType(below.item), (lists[0].site, *below.inner), below.guessed)
    for item in items:
        if isinstance(item, Lazy):
            item = item.forced if item.forced is not None else item
        if isinstance(item, Lazy):
            kind: Type | None = _type_of(item.obj)
        else:
            kind = item.type if isinstance(item, TypedList) else number_type(item)
        if kind is None:
            return None
        if isinstance(item, TypedList):
            inner = item.sites
        kinds[type_key(kind)] = kind
    if not kinds:
        return Learned(INT, (), True)
    return Learned(next(iter(kinds.values())), inner) if len(kinds) == 1 else None


def _type_of(obj: object) -> ScalarType | None:
    return number_type(Known(obj)) if is_number(obj) else None


# -- items ------------------------------------------------------------------------------------------
def length(m: Machine, l: TypedList) -> Value:
    return m.builder.emit("list_len", (l.value,), INT)


def wrapped(m: Machine, l: TypedList, key: Abstract) -> Value:
    """An index counted from the front; the interpreter raises where it is out of range."""
    key = m.force(key)
    kind = number_type(key)
    if kind != INT or not kind.weak:
        if kind is None or kind.dtype.kind not in "biu" or kind.dtype.char in "LQ":
            raise Unsupported("an index that is no int")
        value = m.builder.as_value(key)
        if kind == BOOL:
            value = m.builder.emit("py", (value,), INT, fn="int")
        elif kind.dtype.kind == "b":
            raise Unsupported("a NumPy bool as an index")
        else:
            value = m.builder.emit("unbox", (value,), INT)
    else:
        value = m.builder.as_value(key)
    return m.builder.emit("wrap", (value, length(m, l)), INT, exit=0)


def item_at(m: Machine, l: TypedList, index: Value) -> Abstract:
    """The item at an index that is in range."""
    value = m.builder.emit("list_get", (l.value, index), l.type.item)
    return TypedList(value, l.sites[1:]) if isinstance(l.type.item, ListType) else Scalar(value)


def getitem(m: Machine, l: TypedList, key: Abstract) -> Abstract:
    """``l[key]``."""
    if isinstance(key, Slice):
        step = m.force(key.step)
        if isinstance(step, Known) and step.obj is None:
            step = Known(1)
        if not isinstance(step, Known) or type(step.obj) is not int or step.obj == 0:
            raise Unsupported("a slice by a run-time step")
        parts = (*limits(m, key, step.obj < 0), m.builder.as_value(step))
        return result(m, "slice", (l.value, *parts), l.type, l.sites)
    return item_at(m, l, wrapped(m, l, key))


def limits(m: Machine, key: Slice, down: bool = False) -> tuple[Value, Value]:
    """The limits of a slice."""
    def limit(value: Abstract, absent: int) -> Value:
        value = m.force(value)
        if isinstance(value, Known) and value.obj is None:
            return m.builder.const(absent)
        if number_type(value) != INT:
            raise Unsupported("a limit of a slice that is no int")
        return m.builder.as_value(value)
    return (limit(key.start, HIGHEST), limit(key.stop, LOWEST)) if down else (
        limit(key.start, 0), limit(key.stop, HIGHEST))


def setitem(m: Machine, l: TypedList, key: Abstract, value: Abstract) -> None:
    """``l[key] = value``."""
    if isinstance(key, Slice):
        raise Unsupported("a store into a slice of a list")
    item, index = as_item(m, l, value), wrapped(m, l, key)
    m.note_change(l)
    m.builder.emit_effect("list_set", (l.value, item, index))


def delitem(m: Machine, l: TypedList, key: Abstract) -> None:
    """``del l[key]``."""
    if isinstance(key, Slice):
        step = m.force(key.step)
        if not isinstance(step, Known) or step.obj not in (None, 1):
            raise Unsupported("deletion of a slice with steps")
        parts = limits(m, key)
        m.builder.emit_change("list_call", (l.value, *parts), fn="delete")
        m.note_change(l)
        return
    index = wrapped(m, l, key)
    m.note_change(l)
    m.builder.emit_effect("list_pop", (l.value, index))


def append(m: Machine, l: TypedList, item: Abstract) -> None:
    """``l.append(item)``."""
    value = as_item(m, l, item)
    m.builder.emit_change("list_append", (l.value, value))
    m.note_change(l)


def truth(m: Machine, l: TypedList) -> Value:
    """Whether there are items."""
    return m.builder.emit("py", (length(m, l),), BOOL, fn="bool")


# -- operators --------------------------------------------------------------------------------------
def repeat(m: Machine, items: Abstract, times: Abstract) -> Abstract:
    """``items * times`` for a list and a run-time int."""
    count = m.force(times)
    if number_type(count) != INT:
        raise Unsupported("repetition by something that is no int")
    if isinstance(items, TypedList):
        return result(m, "repeat", (items.value, m.builder.as_value(count)), items.type, items.sites)
    assert isinstance(items, Sequence)
    if len(items.items) == 1:
        return filled(m, items.items[0], m.builder.as_value(count))
    if items.source is None and items.site is not None:
        to_run_time(m, items)
    raise Unsupported("repetition of a sequence a run-time number of times")


def both(m: Machine, a: Abstract, b: Abstract) -> tuple[TypedList, TypedList] | None:
    """Two lists of one type, of which one at least is of run-time length; None for other operands."""
    if isinstance(a, TypedList) and isinstance(b, TypedList):
        if type_key(a.type) != type_key(b.type):
            raise Unsupported("lists of unlike items")
        return a, b
    for l, other in ((a, b), (b, a)):
        if isinstance(l, TypedList) and isinstance(other, Sequence) and other.kind == "list":
            if len(other.items) > MAX_ITEMS:
                raise Unsupported("a long list whose items would be looked at one by one")
            made = new(m, l.type.item, (None, *l.sites[1:]))
            for item in other.items:
                kind = item_type(m, item)
                if kind is None or type_key(kind) != type_key(l.type.item):
                    raise Unsupported("lists of unlike items")
                append(m, made, item)
            return (l, made) if l is a else (made, l)
    return None


def concat(m: Machine, a: Abstract, b: Abstract) -> Abstract | None:
    """``a + b``; None where neither is a list of run-time length."""
    found = both(m, a, b)
    if found is None:
        return None
    return result(m, "concat", (found[0].value, found[1].value), found[0].type, found[0].sites)


def extend(m: Machine, l: TypedList, other: Abstract) -> None:
    """``l += other`` for a list."""
    found = both(m, l, other)
    if found is None:
        raise Unsupported("a list that is extended by an object")
    m.builder.emit_change("list_call", (l.value, found[1].value), fn="extend")
    m.note_change(l)


def equal(m: Machine, a: Abstract, b: Abstract) -> Abstract | None:
    """``a == b``; None where neither is a list of run-time length."""
    found = both(m, a, b)
    if found is None:
        return None
    item: Type = found[0].type.item
    while isinstance(item, ListType):
        item = item.item
    if item not in (INT, FLOAT, BOOL):
        raise Unsupported("equality of lists of such items")
    return Scalar(m.builder.emit("list_call", (found[0].value, found[1].value), BOOL, exit=0, fn="equal"))


def find(m: Machine, l: TypedList, item: Abstract, fn: str = "find") -> Value:
    """The index of an item that equals ``item`` (-1: none), or for ``fn='count'`` how many do."""
    kind = number_type(m.force(item))
    if kind is None or type_key(kind) != type_key(l.type.item) or kind not in (INT, FLOAT, BOOL):
        raise Unsupported("a search among items of another type")
    return m.builder.emit("list_call", (l.value, m.builder.as_value(item)), INT, exit=0, fn=fn)


def whole(value: Abstract) -> TypedList | None:
    """The list of run-time length whose items iterating ``value`` gives, None for other objects."""
    if isinstance(value, Gathered):
        return value.over
    return value if isinstance(value, TypedList) else None


# -- whole lists ------------------------------------------------------------------------------------
def require_items(m: Machine, l: TypedList) -> None:
    """A check that there are items."""
    m.builder.emit_check("check", (truth(m, l),))


def best(m: Machine, l: TypedList, largest: bool) -> Abstract:
    """``max(l)`` or ``min(l)``."""
    if l.type.item not in (INT, FLOAT, BOOL):
        raise Unsupported("the largest of such items")
    largest_value = m.builder.const(largest)
    return item_at(m, l, m.builder.emit("list_call", (l.value, largest_value), INT, exit=0, fn="best"))


def total(m: Machine, l: TypedList, start: Abstract) -> Abstract:
    """``sum(l, start)``.  A sum of floats that begins with an int is an int where there are no items."""
    item, kind = l.type.item, number_type(m.force(start))
    if item in (INT, BOOL) and kind == INT:
        value = m.builder.as_value(start)
        return Scalar(m.builder.emit("list_call", (l.value, value), INT, exit=0, fn="sum_ints"))
    if item == FLOAT and kind == FLOAT:
        return Scalar(m.builder.emit("list_call", (l.value, m.builder.as_value(start)), FLOAT, exit=0,
                                     fn="sum_floats"))
    if item == FLOAT and isinstance(start, Known) and type(start.obj) is int and start.obj == 0:
        require_items(m, l)
        return Scalar(m.builder.emit("list_call", (l.value, m.builder.const(0.0)), FLOAT, exit=0, fn="sum_floats"))
    raise Unsupported("a sum of such items")


def quantified(m: Machine, l: TypedList, every: bool) -> Abstract:
    """``all(l)`` or ``any(l)``."""
    if l.type.item not in (INT, FLOAT, BOOL, COMPLEX):
        raise Unsupported("any() or all() of such items")
    return Scalar(m.builder.emit("list_call", (l.value, m.builder.const(every)), BOOL, exit=0, fn="truth"))


def copy(m: Machine, l: TypedList) -> TypedList:
    """A new list of the same items."""
    parts = (m.builder.const(0), m.builder.const(HIGHEST), m.builder.const(1))
    return result(m, "slice", (l.value, *parts), l.type, l.sites)


def sort(m: Machine, l: TypedList, kwargs: dict[str, Abstract]) -> None:
    """``l.sort(reverse=...)`` of ints or floats."""
    reverse: Any = m.force(kwargs.get("reverse", Known(False)))
    key = m.force(kwargs.get("key", Known(None)))
    if set(kwargs) - {"reverse", "key"} or not isinstance(reverse, Known) or type(reverse.obj) is not bool or not (
            isinstance(key, Known) and key.obj is None):
        raise Unsupported("sorting by a key")
    if l.type.item not in (INT, FLOAT):
        raise Unsupported("sorting of such items")
    m.builder.emit_change("list_call", (l.value, m.builder.const(reverse.obj)), fn="sort")
    m.note_change(l)


def call_method(m: Machine, l: TypedList, name: str, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
    """``l.name(...)``."""
    if name == "sort" and not args:
        sort(m, l, kwargs)
        return Known(None)
    if kwargs:
        raise Unsupported(f"method {name} with keywords")
    if name == "append" and len(args) == 1:
        append(m, l, args[0])
    elif name == "pop" and len(args) <= 1:
        index = wrapped(m, l, args[0] if args else Known(-1))
        found = item_at(m, l, index)
        m.note_change(l)
        m.builder.emit_effect("list_pop", (l.value, index))
        return found
    elif name == "extend" and len(args) == 1:
        extend(m, l, m.force(args[0]))
    elif name == "insert" and len(args) == 2:
        at, item = m.force(args[0]), as_item(m, l, args[1])
        if number_type(at) != INT:
            raise Unsupported("an index that is no int")
        m.builder.emit_change("list_call", (l.value, m.builder.as_value(at), item), fn="insert")
        m.note_change(l)
    elif name == "reverse" and not args:
        m.builder.emit_change("list_call", (l.value,), fn="reverse")
        m.note_change(l)
    elif name == "clear" and not args:
        m.builder.emit_change("list_call", (l.value, m.builder.const(0), m.builder.const(HIGHEST)), fn="delete")
        m.note_change(l)
    elif name == "copy" and not args:
        return copy(m, l)
    elif name == "count" and len(args) == 1:
        return Scalar(find(m, l, args[0], "count"))
    elif name == "index" and len(args) == 1:
        found_at = find(m, l, args[0])
        ok = m.builder.emit("py", (found_at, m.builder.const(0)), BOOL, fn="ge")
        m.builder.emit_check("check", (ok,))
        return Scalar(found_at)
    else:
        raise Unsupported(f"method {name} of a list")
    return Known(None)
