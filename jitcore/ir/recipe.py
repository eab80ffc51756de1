"""Recipes: how the dispatcher rebuilds Python objects from what native code leaves behind.

Job: describe the objects of a frame (locals, stack, result) at an exit.  Invariants: a recipe is
immutable and compares by identity; the same recipe object used twice in one exit yields the same
Python object twice.  Made by ``frontend``, packed for C by ``guards.pack``.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Recipe:
    """Base of all recipes."""


@dataclass(frozen=True, eq=False)
class Const(Recipe):
    """The object itself."""

    obj: object


@dataclass(frozen=True, eq=False)
class Null(Recipe):
    """An unbound local or CPython's NULL on the stack."""


@dataclass(frozen=True, eq=False)
class FromSource(Recipe):
    """The very object that source number ``source`` of the guard program read at entry."""

    source: int


@dataclass(frozen=True, eq=False)
class FromValue(Recipe):
    """``values[index]`` of the exit, boxed by its graph type: a Python scalar for a weak one, a
    NumPy scalar for a strong one, the array or object itself otherwise."""

    index: int


@dataclass(frozen=True, eq=False)
class Build(Recipe):
    """A new object from ``items``.

    ``kind`` is ``'tuple'``, ``'list'``, ``'dict'`` (keys and values in turn), ``'set'``, ``'slice'`` (three items),
    ``'cell'`` (one item, ``Null`` for an empty cell), ``'method'`` (function, self), ``'range'`` (three items),
    ``'free'`` (an index, and a function or ``Null`` for the region's own: that cell of its closure), ``'last'`` (two
    items: the second, made after the first).

    ``'either'``, for a local alone: in turn a bool and what the local has if that is true; ``Null`` if none is.

    ``'array'``: a dtype's character, a memory order and a tuple of lengths (constants), then NumPy scalars of that
    dtype in C order, each a value of the exit: a new array of these elements.

    Iterators: ``'iter'`` (``iter()`` of one item); ``'iter_at'``, ``'reversed_at'`` and ``'flat_at'`` (a sequence, and
    the index of the next item: its ``iter()``, ``reversed()`` or ``flat`` gone so far); ``'enumerate'`` (an iterator
    and the next number); ``'zip'`` (whether it is strict, then iterators).

    ``'instance'``: a class, then attributes' names and values in turn, in the order in which they are set.

    ``'function'``: code, the function whose globals it gets (``Null``: the region's own), defaults, keyword defaults,
    closure, annotations (each a tuple or dict, or ``Null``), then cells that get the new function as their content.
    """

    kind: str
    items: tuple[Recipe, ...]


NULL = Null()
