"""Abstract values turned into recipes: how the objects of a frame come back at an exit.

Job: ``ExitMaker`` makes the recipes of one exit.  Invariants: one recipe object for each abstract
object, so that what was shared stays shared; an object read from a source comes back as itself; a
scalar made inside is boxed once.  Only ``machine`` uses it.
"""
from __future__ import annotations

from jitcore.frontend.builder import Builder
from jitcore.frontend.values import (
    Abstract,
    Array,
    Cell,
    Dict,
    Function,
    Iterator,
    Known,
    Lazy,
    Method,
    NativeMethod,
    Opaque,
    Range,
    RangeIterator,
    Scalar,
    Sequence,
    Set,
    Slice,
    Unbound,
    View,
)
from jitcore.guards.sources import Closure, Constant
from jitcore.ir.graph import Value
from jitcore.ir.recipe import NULL, Build, Const, FromSource, FromValue, Recipe


class Unbuildable(Exception):
    """An object that no recipe makes.  ``unit``: where the region's own frame made it, None where unknown."""

    def __init__(self, what: str, unit: int | None) -> None:
        super().__init__(f"{what} is needed as an object")
        self.unit = unit


class ExitMaker:
    """Recipes of one exit; ``values`` are what their ``FromValue`` entries read."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._values: list[Value] = []
        self._memo: dict[int, Recipe] = {}
        self._open: set[int] = set()
        self._keep: list[Abstract] = []        # ids in the memo stay taken

    @property
    def values(self) -> tuple[Value, ...]:
        return tuple(self._values)

    def slots(self, values: list[Abstract], first_free: int) -> tuple[Recipe, ...]:
        """Recipes of ``localsplus``; from ``first_free`` on are free variables.

        A free variable's slot whose cell is the region's function's own is ``Null``: the dispatcher
        puts the cells of the function's closure there.
        """
        return tuple(NULL if i >= first_free and isinstance(v, Cell) and isinstance(v.source, Closure) else self.make(v)
                     for i, v in enumerate(values))

    def stack(self, values: list[Abstract]) -> tuple[Recipe, ...]:
        """Recipes of operands below those of the instruction; the iterators of loops among them."""
        return tuple(self._loop_iterator(v) if isinstance(v, Iterator) else self.make(v) for v in values)

    def all(self, values: list[Abstract]) -> tuple[Recipe, ...]:
        return tuple(self.make(value) for value in values)

    def make(self, value: Abstract) -> Recipe:
        """The recipe of ``value``; raises ``Unbuildable``."""
        known = self._memo.get(id(value))
        if known is not None:
            return known
        if id(value) in self._open:
            raise Unbuildable("a container that contains itself", None)
        self._open.add(id(value))
        recipe = self._make(value)
        self._open.discard(id(value))
        self._memo[id(value)] = recipe
        self._keep.append(value)
        return recipe

    def _make(self, value: Abstract) -> Recipe:
        if isinstance(value, Unbound):
            return NULL
        if isinstance(value, Cell):
            return self._cell(value)
        if value.source is not None:
            return self._from_source(value)
        if isinstance(value, Known):
            return Const(value.obj)
        if isinstance(value, (Scalar, Array)):
            return self._from_value(value.value)
        if isinstance(value, Opaque) and value.value is not None:
            return self._from_value(value.value)
        if isinstance(value, Sequence):
            return Build(value.kind, self.all(value.items))
        if isinstance(value, Dict):
            return Build("dict", tuple(r for k, v in value.items.items() for r in (Const(k), self.make(v))))
        if isinstance(value, Set):
            if value.merged:
                raise Unbuildable("a set", value.made_at)
            return Build("set", self.all(list(value.items.values())))
        if isinstance(value, (Slice, Range)):
            return Build(type(value).__name__.lower(), self.all([value.start, value.stop, value.step]))
        if isinstance(value, Method):
            return Build("method", (self.make(value.func), self.make(value.self_value)))
        if isinstance(value, Iterator):
            return self._iterator(value)
        if isinstance(value, RangeIterator):
            return Build("iter", (Build("range", self.all([value.position, value.stop, value.step])),))
        if isinstance(value, (Function, NativeMethod, View)):
            what = value.code.co_qualname if isinstance(value, Function) else "a view of a dict" if isinstance(
                value, View) else f"method {value.name}"
            raise Unbuildable(what, value.made_at)
        raise Unbuildable(type(value).__name__, None)

    def _from_source(self, value: Abstract) -> Recipe:
        assert value.source is not None
        if isinstance(value.source, Constant):
            return Const(value.source.obj)
        if isinstance(value, Known) or (isinstance(value, Lazy) and isinstance(value.forced, Known)):
            known = value.forced if isinstance(value, Lazy) else value
            assert isinstance(known, Known)
            if not isinstance(known.obj, (bool, int, float, complex, str)):
                return Const(known.obj)         # guarded by identity
        return FromSource(self.builder.source_index(value.source))

    def _from_value(self, value: Value) -> Recipe:
        self._values.append(value)
        return FromValue(len(self._values) - 1)

    def _cell(self, cell: Cell) -> Recipe:
        if cell.source is None:
            return Build("cell", (self.make(cell.content),))
        if isinstance(cell.source, Closure):
            raise Unbuildable(f"the cell of {cell.name}", None)
        return FromSource(self.builder.source_index(cell.source))

    def _iterator(self, value: Iterator) -> Recipe:
        if value.position == 0 and isinstance(value.over, (Sequence, Range, Known)):
            return Build("iter", (self.make(value.over),))
        raise Unbuildable("an iterator", value.made_at)

    def _loop_iterator(self, value: Iterator) -> Recipe:
        """An iterator that only a loop sees: an equal one over what is to come."""
        if value.position == 0 and isinstance(value.over, (Sequence, Range, Known)):
            return self.make(value)
        if not value.fixed:
            raise Unbuildable("an iterator over a list", value.made_at)
        known = self._memo.get(id(value))
        if known is None:
            known = Build("iter", (Build("tuple", self.all(value.items[value.position:])),))
            self._memo[id(value)] = known
            self._keep.append(value)
        return known
