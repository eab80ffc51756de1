"""Packing: guards, sources and exit recipes as the tuples that the C runtime compiles.

Job: number the sources, put each read before the first guard that needs it, give every load its input
words and every exit value its output words.  Invariants: a guard's index in the packed program is its index in
the trace; source ``k`` of the trace is source ``k`` of the program (what only guards name comes behind); a read
stands behind the guards that were recorded before it was needed, so that it is safe.  Called by ``runtime``;
``csrc/guards.c`` and ``csrc/recipes.c`` define what the tuples mean.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from types import ModuleType
from typing import Any, Protocol, TypeGuard

import numpy as np

from jitcore.guards import guard as g
from jitcore.guards import sources as s
from jitcore.ir import recipe as r
from jitcore.ir.graph import Exit, Graph, Value
from jitcore.ir.layout import exit_words, words_of
from jitcore.ir.types import (
    BOOL,
    COMPILED_DTYPES,
    COMPLEX,
    FLOAT,
    INT,
    OBJECT,
    ListType,
    ScalarType,
    Type,
    array,
    strong,
)

Spec = tuple[Any, ...]

_PYTHON_KINDS: dict[str, ScalarType] = {"int": INT, "float": FLOAT, "bool": BOOL, "complex": COMPLEX}

_IMMUTABLE_TYPE = 1 << 8    # Py_TPFLAGS_IMMUTABLETYPE


class TraceLike(Protocol):
    """What packing reads of a trace."""

    @property
    def graph(self) -> Graph: ...

    @property
    def guards(self) -> list[g.Guard]: ...

    @property
    def sources(self) -> list[s.Source]: ...


def loaded_type(guard: g.Guard) -> Type | None:
    """The graph type of the input that ``guard`` fills; ``None`` if it fills none."""
    if isinstance(guard, g.LoadArray):
        return array(guard.dtype, guard.ndim, guard.layout)
    if isinstance(guard, g.LoadObject):
        return OBJECT
    if isinstance(guard, (g.LoadRange, g.LoadPosition)):
        return INT
    if isinstance(guard, g.Load):
        return _PYTHON_KINDS.get(guard.kind) or strong(guard.kind)
    return None


def fixes_type(guard: g.Guard) -> TypeGuard[g.TypeVersion | g.TypeIs]:
    """Does ``guard`` make reading an instance's attributes safe: the type is known, and is as it was?  (Modules are
    read without: their attributes are looked up in their dict.)"""
    return isinstance(guard, g.TypeVersion) or (isinstance(guard, g.TypeIs) and guard.type is not ModuleType
                                                and bool(guard.type.__flags__ & _IMMUTABLE_TYPE))


def _dtype(name: str) -> np.dtype:
    dtype = np.dtype(name)
    if dtype.char not in COMPILED_DTYPES:
        raise ValueError(f"compiled code cannot hold {dtype}")
    return dtype


class _Program:
    """A guard program in the making."""

    def __init__(self, sources: Sequence[s.Source]) -> None:
        self.index: dict[s.Source, int] = {}
        self.count = 0
        for source in sources:
            # A list with equal sources has a number for each, and the first of them is the one that guards use.
            self.index.setdefault(source, self.count)
            self.count += 1
        self.sources = list(sources)
        self.read: set[int] = set()
        self.versions: dict[s.Source, type] = {}
        self.ops: list[Spec] = []
        self.words = 0

    def number(self, source: s.Source) -> int:
        if source not in self.index:
            self.index[source] = self.count
            self.sources.append(source)
            self.count += 1
        return self.index[source]

    def need(self, source: s.Source, guard: int, number: int | None = None) -> int:
        """The number of ``source``, which is read on behalf of ``guard`` if it was not before."""
        if number is None:
            number = self.number(source)
        if number not in self.read:
            self.ops.append(self._read(source, guard, number))
            self.read.add(number)
        return number

    def _read(self, source: s.Source, guard: int, number: int) -> Spec:
        match source:
            case s.Local(index=index):
                return ("local", guard, number, index)
            case s.Constant(obj=obj):
                return ("constant", guard, number, obj)
            case s.Global(name=name):
                return ("global", guard, number, name)
            case s.ModuleGlobal(base=base, name=name):
                return ("module_global", guard, number, self.need(base, guard), name)
            case s.Closure(index=index, base=None):
                return ("own_closure", guard, number, index)
            case s.Closure(index=index, base=s.Source() as base):
                return ("closure", guard, number, self.need(base, guard), index)
            case s.CellContent(base=base):
                return ("cell", guard, number, self.need(base, guard))
            case s.Attr(base=base, name=name):
                return ("attr", guard, number, self.need(base, guard), name, self.versions.get(base))
            case s.Item(base=base, index=index):
                return ("item", guard, number, self.need(base, guard), index)
            case s.Key(base=base, key=key):
                return ("key", guard, number, self.need(base, guard), key)
            case s.Iterated(base=base):
                return ("iterated", guard, number, self.need(base, guard))
        raise TypeError(f"unknown source {source!r}")

    def load(self, type: Type) -> int:
        word = self.words
        self.words += words_of(type)
        return word

    def add(self, index: int, guard: g.Guard) -> None:
        number = self.need(guard.source, index)
        if fixes_type(guard):
            self.versions[guard.source] = guard.type
        self.ops.append(self._check(index, guard, number))

    def _check(self, i: int, guard: g.Guard, number: int) -> Spec:
        match guard:
            case g.TypeIs(type=type_):
                return ("type_is", i, number, type_)
            case g.IsObject(obj=obj):
                return ("is_object", i, number, obj)
            case g.ValueIs(value=value):
                return ("value_is", i, number, value)
            case g.LengthIs(length=length):
                return ("length_is", i, number, length)
            case g.Absent():
                return ("absent", i, number)
            case g.TypeVersion(type=type_):
                return ("type_version", i, number, type_)
            case g.ClassVersion(cls=cls):
                return ("class_version", i, number, cls)
            case g.FunctionIs(code=code, defaults=defaults, kwdefaults=kwdefaults):
                return ("function_is", i, number, code, defaults, kwdefaults)
            case g.DimsEqual(axis=axis, other=other, other_axis=other_axis):
                return ("dims_equal", i, number, axis, self.need(other, i), other_axis)
            case g.LoadArray(dtype=name, ndim=ndim, layout=layout):
                return ("load_array", i, number, self.load(OBJECT), _dtype(name).num, ndim, layout)
            case g.Alone(source=source):
                # A program borrows locals, and holds what it reads elsewhere.
                return ("alone", i, number, 1 if isinstance(source, s.Local) else 2)
            case g.StrictIs(strict=strict):
                return ("strict_is", i, number, int(strict))
            case g.LoadRange(part=part, down=down):
                return ("load_range", i, number, self.load(INT), part, int(down))
            case g.LoadPosition(type=type_):
                return ("load_position", i, number, self.load(INT), type_)
            case g.LoadObject():
                return ("load_object", i, number, self.load(OBJECT))
            case g.Load(kind=kind):
                if kind in _PYTHON_KINDS:
                    return (f"load_{kind}", i, number, self.load(_PYTHON_KINDS[kind]))
                dtype = _dtype(kind)
                return ("load_numpy", i, number, self.load(strong(dtype)), dtype.num)
        raise TypeError(f"unknown guard {guard!r}")


def pack_guards(guards: Sequence[g.Guard], sources: Sequence[s.Source] = ()) -> Spec:
    """The guard program ``(n_sources, n_words, n_guards, ops)``.

    A failing guard is told by its index in ``guards``; ``len(guards)`` stands for a source of ``sources`` that no
    guard names and that is not there: what an exit hands back unseen must be an object, unless nothing reads it.
    """
    program = _Program(sources)
    for index, guard in enumerate(guards):
        program.add(index, guard)
    named = {guard.source for guard in guards}
    for number, source in enumerate(sources):
        program.need(source, len(guards), number)
        if source not in named and not isinstance(source, s.DeadLocal):
            program.ops.append(("present", len(guards), number))
    return (program.count, program.words, len(guards), tuple(program.ops))


class _ExitRecipes:
    """The recipes of one exit: word offsets and the objects that occur more than once."""

    def __init__(self, values: Sequence[Value], recipes: Sequence[r.Recipe], offsets: Sequence[int]) -> None:
        self.types = [value.type for value in values]
        self.offsets = offsets
        self.uses: dict[r.Recipe, int] = {}
        for recipe in recipes:
            self._count(recipe)
        self.memos: dict[r.Recipe, int] = {}

    def _count(self, recipe: r.Recipe) -> None:
        self.uses[recipe] = self.uses.get(recipe, 0) + 1
        if isinstance(recipe, r.Build) and self.uses[recipe] == 1:
            for item in recipe.items:
                self._count(item)

    def spec(self, recipe: r.Recipe) -> Spec:
        if self.uses[recipe] == 1 or not self._makes_object(recipe):
            return self._plain(recipe)
        if recipe in self.memos:
            return ("ref", self.memos[recipe])
        # Numbered before its items, as the C side meets it; no recipe contains itself.
        self.memos[recipe] = number = len(self.memos)
        return ("memo", number, self._plain(recipe))

    def _makes_object(self, recipe: r.Recipe) -> bool:
        return isinstance(recipe, r.Build) or (
            isinstance(recipe, r.FromValue) and isinstance(self.types[recipe.index], ScalarType))

    def _plain(self, recipe: r.Recipe) -> Spec:
        match recipe:
            case r.Const(obj=obj):
                return ("const", obj)
            case r.Null():
                return ("null",)
            case r.FromSource(source=source):
                return ("src", source)
            case r.FromValue(index=index):
                return self._word(index)
            case r.Build(kind=kind, items=items):
                return ("build", kind, tuple(self.spec(item) for item in items))
        raise TypeError(f"unknown recipe {recipe!r}")

    def _word(self, index: int) -> Spec:
        type, word = self.types[index], self.offsets[index]
        if not isinstance(type, ScalarType):
            return ("word", word, "l" if isinstance(type, ListType) else "o")
        if not type.weak:
            return ("np", word, type.dtype.char)
        return ("word", word, {"b": "?", "i": "i", "f": "d", "c": "D"}[type.dtype.kind])


def exit_recipes(exit: Exit) -> list[r.Recipe]:
    """An exit's recipes in packed order: a return's result alone, else locals, stack, operands and inner frames."""
    if exit.kind == "return":
        if exit.result is None:
            raise ValueError("a return without a result")
        return [exit.result]
    return [*exit.locals, *exit.stack, *exit.operands, *exit.inner]


def pack_exit(exit: Exit, offsets: Sequence[int] | None = None) -> tuple[Spec, int]:
    """The exit as ``(kind, recipes, n_locals, n_stack, n_operands, unit, next_unit, site, site_arg, reason, line,
    frames)`` and the number of words that its values take.  ``recipes`` are those of ``exit_recipes``; ``offsets`` are
    the first words of its values, by default one behind the other."""
    recipes = exit_recipes(exit)
    *ends, words = accumulate((words_of(value.type) for value in exit.values), initial=0)
    if offsets is None:
        offsets = ends
    packing = _ExitRecipes(exit.values, recipes, offsets)
    spec = (exit.kind, tuple(packing.spec(recipe) for recipe in recipes), len(exit.locals), len(exit.stack),
            len(exit.operands), exit.unit, exit.next_unit, exit.site, exit.site_arg, exit.reason, exit.line,
            exit.frames)
    return spec, words


def _check_inputs(guards: Iterable[g.Guard], inputs: Sequence[Value]) -> None:
    loaded = [type for type in map(loaded_type, guards) if type is not None]
    declared = [value.type for value in inputs]
    if loaded != declared:
        raise ValueError(f"the guards load {[str(t) for t in loaded]}, the graph takes {[str(t) for t in declared]}")


def pack(trace: TraceLike) -> tuple[Spec, tuple[Spec, ...], int]:
    """``(guards_spec, exits_spec, n_out)`` for ``_core.Region``.

    ``n_out`` is the number of words that exits' values take (``ir.layout.exit_words``).  ``ValueError`` if the guards
    do not load what the graph takes, or a recipe names a source or value that is not there.
    """
    _check_inputs(trace.guards, trace.graph.inputs)
    exits = []
    words, n_out = exit_words(trace.graph)
    for exit, offsets in zip(trace.graph.exits, words):
        if exit.target is not None:     # stays inside; C never sees it
            exit = Exit("restart", reason=exit.reason, line=exit.line)
        _check_recipes(exit_recipes(exit), len(trace.sources), len(exit.values))
        exits.append(pack_exit(exit, offsets)[0])
    return pack_guards(trace.guards, trace.sources), tuple(exits), n_out


def _check_recipes(recipes: Iterable[r.Recipe], n_sources: int, n_values: int) -> None:
    for recipe in recipes:
        if isinstance(recipe, r.FromSource) and not 0 <= recipe.source < n_sources:
            raise ValueError(f"source {recipe.source} of {n_sources}")
        if isinstance(recipe, r.FromValue) and not 0 <= recipe.index < n_values:
            raise ValueError(f"exit value {recipe.index} of {n_values}")
        if isinstance(recipe, r.Build):
            _check_recipes(recipe.items, n_sources, n_values)

