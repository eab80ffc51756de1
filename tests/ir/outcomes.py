"""What a run of a graph gives, in a form that compares by bits: for property tests.

``outcome`` runs a graph and tells everything that may be observed: the exit, its objects, which of them are one.
"""
from __future__ import annotations

import numpy as np

from jitcore.ir.graph import Exit, Graph
from jitcore.ir.interp import run
from jitcore.ir.recipe import Build, FromValue, Recipe
from jitcore.ir.text import exit_recipes
from jitcore.ops.table import OPS
from jitcore.passes.tables import PY_FUNCTIONS


def bits(value: object) -> object:
    """What can be seen of a value but its identity.  All NaNs count as one: which of two a sum of NaNs gives is
    not promised."""
    if isinstance(value, np.ndarray):
        strides = tuple(s if n > 1 else None for s, n in zip(value.strides, value.shape)) if value.size else ()
        return ("array", value.dtype.char, value.shape, strides, _bytes(value), value.base is None)
    if isinstance(value, np.generic):
        return ("strong", value.dtype.char, _bytes(np.asarray(value)))
    if isinstance(value, list):
        return ("list", tuple(map(bits, value)))
    if isinstance(value, (float, complex)):
        return (type(value), _bytes(np.asarray(value)))
    return (type(value), value)


def _bytes(value: np.ndarray) -> bytes:
    value = np.array(value, order="C")
    if value.dtype.kind == "c":
        value = value.reshape(value.shape + (1,)).view(value.real.dtype)
    if value.dtype.kind == "f":
        value[np.isnan(value)] = np.nan
    return value.tobytes()


def sharing(values: list[object], inputs: list[object]) -> object:
    """Which arrays are one object, and which share memory."""
    arrays = [value for value in [*values, *inputs] if isinstance(value, np.ndarray)]
    return [(a is b, np.may_share_memory(a, b)) for k, a in enumerate(arrays) for b in arrays[:k]]


def objects(exit: Exit, values: list[object]) -> list[object]:
    """What the recipes of ``exit`` make of its values, in order; constants and the like are left out."""
    made: dict[Recipe, np.ndarray] = {}
    found: list[object] = []

    def visit(recipe: Recipe) -> None:
        if isinstance(recipe, FromValue):
            found.append(values[recipe.index])
        elif isinstance(recipe, Build) and recipe.kind == "array":
            if recipe not in made:
                char, order, lengths = (item.obj for item in recipe.items[:3])
                elements = [values[item.index] for item in recipe.items[3:]]
                made[recipe] = np.array(np.array(elements, char).reshape(lengths), order=order)
            found.append(made[recipe])
        elif isinstance(recipe, Build):
            for item in recipe.items:
                visit(item)

    for recipe in exit_recipes(exit):
        visit(recipe)
    return found


def outcome(graph: Graph, inputs: list[object]) -> object:
    """The exit, the bits of what it hands back, and what is one object."""
    exit, values = run(graph, inputs, OPS, PY_FUNCTIONS)
    found = objects(graph.exits[exit], values)
    return exit, [bits(value) for value in found], sharing(found, inputs)
