"""Abstract values turned into recipes: how the objects of a frame come back at an exit.

Job: ``ExitMaker`` makes the recipes of one exit.  Invariants: one recipe object for each abstract
object, so that what was shared stays shared; an object read from a source comes back as itself; a
scalar made inside is boxed once.  Only ``machine`` uses it.
"""
from __future__ import annotations

from jitcore.frontend.builder import Builder
from jitcore.frontend.dead import Dead, Pending
from jitcore.frontend.unseen import CObject, Errstate, Handling, LeaveErrstate, Raised, Text
from jitcore.frontend.values import (
    Abstract,
    Array,
    Cell,
    Dict,
    Enumerate,
    FlatIterator,
    Function,
    Gathered,
    Instance,
    Iterator,
    Known,
    Lazy,
    LoopIterator,
    Method,
    NativeMethod,
    Opaque,
    Partial,
    Range,
    RangeIterator,
    Scalar,
    Sequence,
    SequenceIterator,
    Set,
    Slice,
    TypedList,
    Unbound,
    View,
    Zip,
)
from jitcore.guards.sources import Closure, Constant, Source
from jitcore.ir.graph import Value
from jitcore.ir.recipe import NULL, Build, Const, FromSource, FromValue, Recipe


class Unbuildable(Exception):
    """An object that no recipe makes.  ``unit``: where the region's own frame made it, None where unknown.
    ``exception``: it belongs to an exception that the region raises and catches itself."""

    def __init__(self, what: str, unit: int | None, exception: bool = False) -> None:
        super().__init__(f"{what} is needed as an object")
        self.unit, self.exception = unit, exception


class ExitMaker:
    """Recipes of one exit; ``values`` are what their ``FromValue`` entries read."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._values: list[Value] = []
        self._memo: dict[int, Recipe] = {}
        self._open: dict[int, Abstract] = {}
        self._late: dict[int, list[tuple[Cell, Recipe]]] = {}
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
            makers = [v.made_at for v in self._open.values() if isinstance(v, Function)]
            raise Unbuildable("a container that contains itself", makers[-1] if makers else None)
        if isinstance(value, Cell) and value.source is None and _made_inside(value.content):
            if id(value.content) in self._open:
                return self._late_cell(value, value.content)
            self.make(value.content)        # which may refer to the cell
            if id(value) in self._memo:
                return self._memo[id(value)]
        self._open[id(value)] = value
        recipe = self._make(value)
        del self._open[id(value)]
        self._remember(value, recipe)
        return recipe

    def _remember(self, value: Abstract, recipe: Recipe) -> None:
        self._memo[id(value)] = recipe
        self._keep.append(value)

    def _make(self, value: Abstract) -> Recipe:
        if isinstance(value, Unbound):
            return NULL
        if isinstance(value, Dead):
            return Pending(value)
        if isinstance(value, Cell):
            return self._cell(value)
        if value.source is not None:
            return self._from_source(value)
        if isinstance(value, Known):
            return Const(value.obj)
        if isinstance(value, Scalar) and value.box is not None:
            return self._from_value(value.box)
        if isinstance(value, (Scalar, Array, TypedList)):
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
        if isinstance(value, Gathered):
            return Build("iter", (self.make(value.over),))
        if isinstance(value, Iterator):
            return self._iterator(value)
        if isinstance(value, LoopIterator):
            return self._loop(value)
        if isinstance(value, Function):
            return self._function(value)
        if isinstance(value, Instance):
            source = value.cls_value.source
            cls = Const(value.cls) if source is None else self._object_at(source)
            attrs = (r for name, v in value.attrs.items() for r in (Const(name), self.make(v)))
            return Build("instance", (cls, *attrs))
        if isinstance(value, CObject):
            raise Unbuildable(f"a {value.kind}", value.made_at)
        if isinstance(value, (Errstate, LeaveErrstate)):
            raise Unbuildable("a np.errstate", value.made_at)
        if isinstance(value, (NativeMethod, View, Partial)):
            what = f"method {value.name}" if isinstance(value, NativeMethod) else f"a {type(value).__name__.lower()}"
            raise Unbuildable(what, value.made_at)
        if isinstance(value, (Raised, Handling, Text)):
            raise Unbuildable("an exception that the region handles", value.made_at, True)
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
            base = cell.source.base
            return Build("free", (Const(cell.source.index), NULL if base is None else self._object_at(base)))
        return FromSource(self.builder.source_index(cell.source))

    def _object_at(self, source: Source) -> Recipe:
        return Const(source.obj) if isinstance(source, Constant) else FromSource(self.builder.source_index(source))

    def _function(self, func: Function) -> Recipe:
        """A function made inside.  Cells of its closure that hold it are made empty, and filled with it."""
        base = func.globals_source
        items = [Const(func.code), NULL if base is None else self._object_at(base),
                 Build("tuple", self.all(list(func.defaults))) if func.defaults else NULL]
        kwdefaults = tuple(r for name, value in func.kwdefaults.items() for r in (Const(name), self.make(value)))
        items.append(Build("dict", kwdefaults) if kwdefaults else NULL)
        items.append(Build("tuple", self.all(list(func.closure))) if func.closure else NULL)
        items.append(NULL if func.annotations is None else self._annotations(func, func.annotations))
        late = self._late.pop(id(func), [])
        recipe = Build("function", (*items, *(cell for _, cell in late)))
        for cell, made in late:
            self._memo[id(cell)] = Build("last", (recipe, made))
        return recipe

    def _annotations(self, func: Function, value: Abstract) -> Recipe:
        if isinstance(value, Known) and type(value.obj) is tuple:
            return Build("dict", tuple(map(Const, value.obj)))
        if isinstance(value, Sequence):
            return Build("dict", self.all(value.items))
        raise Unbuildable(f"the annotations of {func.code.co_name}", func.made_at)

    def _late_cell(self, cell: Cell, func: Abstract) -> Recipe:
        recipe = Build("cell", (NULL,))
        self._late.setdefault(id(func), []).append((cell, recipe))
        self._remember(cell, recipe)
        return recipe

    def _iterator(self, value: Iterator) -> Recipe:
        if value.position == 0 and isinstance(value.over, (Sequence, Range, Known)):
            return Build("iter", (self.make(value.over),))
        raise Unbuildable("an iterator", value.made_at)

    def _loop(self, value: LoopIterator) -> Recipe:
        """An iterator equal to one that a compiled loop goes over."""
        if isinstance(value, RangeIterator):
            return Build("iter", (Build("range", self.all([value.position, value.stop, value.step])),))
        if isinstance(value, SequenceIterator):
            return Build("reversed_at" if value.down else "iter_at", self.all([value.over, value.position]))
        if isinstance(value, FlatIterator):
            return Build("flat_at", self.all([value.over, value.position]))
        if isinstance(value, Enumerate):
            return Build("enumerate", self.all([value.over, value.position]))
        assert isinstance(value, Zip)
        return Build("zip", (Const(value.strict), *self.all(list(value.parts))))

    def _loop_iterator(self, value: Iterator) -> Recipe:
        """An iterator that only a loop sees: an equal one over what is to come."""
        if value.position == 0 and isinstance(value.over, (Sequence, Range, Known)):
            return self.make(value)
        if not value.fixed:
            raise Unbuildable("an iterator over a list", value.made_at)
        known = self._memo.get(id(value))
        if known is None and isinstance(value.over, Range) and len(value.items) > value.position:
            parts = [value.items[value.position], value.over.stop, value.over.step]
            known = self._memo[id(value)] = Build("iter", (Build("range", self.all(parts)),))
            self._keep.append(value)
        if known is None:
            known = Build("iter", (Build("tuple", self.all(value.items[value.position:])),))
            self._memo[id(value)] = known
            self._keep.append(value)
        return known


def _made_inside(value: Abstract) -> bool:
    return isinstance(value, Function) and value.source is None
