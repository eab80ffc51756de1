"""Locals that nothing reads any more, across the places where paths meet.

Job: ``DeadLocals`` takes dead locals out of the states that meet, so that paths meet whatever is in them, and finds at
the end what each exit has to put there.  Invariants: a ``Dead`` stands for what a local has at the beginning of a
block, and only frames' slots hold one; each jump to that block has noted what it brings.  ``resolve`` runs once, when
all paths have ended; it gives block parameters to those values that exits hand back and that differ by the way the
block was reached: a number for each type of number, and, where a local may have something else or nothing, a bool that
says so.  Used by ``meeting`` and ``exits``.

Source of the method: M. Braun et al., "Simple and Efficient Construction of Static Single Assignment Form", CC 2013
(operands are added when a block's predecessors are known; a phi that has one value is none).
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jitcore.bytecode.liveness import Facts
from jitcore.frontend.matching import number_type, plain
from jitcore.frontend.state import Frame, State
from jitcore.frontend.values import Abstract, Cell, Known, Scalar, Unbound
from jitcore.guards.sources import Constant
from jitcore.ir.build import type_key
from jitcore.ir.graph import Block, Exit, Value
from jitcore.ir.recipe import NULL, Build, Const, FromSource, FromValue, Recipe
from jitcore.ir.types import BOOL, ScalarType

if TYPE_CHECKING:
    from collections.abc import Callable

    from jitcore.frontend.builder import Builder

MAX_KINDS = 16      # of what one local may have

Slot = tuple[int, int]      # the frame's number, the local's
Key = tuple[object, ...]    # equal for what one block parameter, or none, can stand for


class Dead(Abstract):
    """What the local ``slot`` has at the beginning of ``block``; nothing reads it."""

    __slots__ = ("block", "slot")

    def __init__(self, block: Block, slot: Slot) -> None:
        super().__init__()
        self.block, self.slot = block, slot


@dataclass(frozen=True, eq=False)
class Pending(Recipe):
    """The recipe of a dead local until ``DeadLocals.resolve``."""

    value: Dead


@dataclass(frozen=True, slots=True)
class _Leaf:
    """What a path brings: a number of the graph, or an object that is there anyway (``recipe``)."""

    key: Key
    identity: Key
    type: ScalarType | None = None
    number: Abstract | None = None
    recipe: Recipe = NULL


#: An unbound local, and one whose object is not kept.
_NOTHING = _Leaf(("nothing",), ("nothing",))

#: What stands for a dead local in states that are compared.
_ASIDE = Unbound()


class _Phi:
    """The parameters that a block has for one dead local: by what it may have, a flag and a number."""

    def __init__(self) -> None:
        self.kinds: dict[Key, _Leaf] = {}
        self.flags: dict[Key, Value] = {}
        self.numbers: dict[Key, Value] = {}


class DeadLocals:
    """The dead locals of one trace: what each jump to a block brings."""

    def __init__(self, builder: Builder, facts_of: Callable[[Frame], Facts]) -> None:
        self._builder, self._facts_of = builder, facts_of
        self._into: dict[Block, list[tuple[Block, dict[Slot, Abstract]]]] = {}
        self._dead: dict[tuple[Block, Slot], Dead] = {}
        self._constants: dict[tuple[Block, Key], Value] = {}

    # -- while tracing --------------------------------------------------------------------------------
    def take_out(self, state: State) -> dict[Slot, Abstract]:
        """Takes the dead locals out of ``state``, which does not differ by them afterwards."""
        found: dict[Slot, Abstract] = {}
        for depth, frame in enumerate(state.frames):
            facts = self._facts_of(frame)
            live = facts.live[frame.index]
            if frame is not state.frame:        # its handlers may catch what the call raises
                live |= facts.live[frame.code.at(frame.instr.unit)]
            for i in range(frame.code.code.co_nlocals):
                if not live >> i & 1:
                    found[depth, i] = frame.locals[i]
                    frame.locals[i] = _ASIDE
        return found

    def put_back(self, state: State, found: dict[Slot, Abstract]) -> None:
        """Undoes ``take_out``."""
        for (depth, i), value in found.items():
            state.frames[depth].locals[i] = value

    def enter(self, block: Block, state: State, slots: Iterable[Slot]) -> None:
        """``state`` begins in ``block``."""
        for depth, i in slots:
            dead = self._dead[block, (depth, i)] = Dead(block, (depth, i))
            state.frames[depth].locals[i] = dead

    def jump(self, start: Block, block: Block, found: dict[Slot, Abstract]) -> None:
        """A path jumps from ``start`` to ``block`` with these locals."""
        self._into.setdefault(block, []).append((start, found))

    # -- at the end -----------------------------------------------------------------------------------
    def resolve(self) -> None:
        """Puts recipes in the place of all that are pending."""
        exits = [exit for exit in self._builder.graph.exits if any(isinstance(r, Pending) for r in _recipes(exit))]
        wanted = [r.value for exit in exits for r in _recipes(exit) if isinstance(r, Pending)]
        self._brought: dict[Dead, list[tuple[Block, _Leaf | Dead]]] = {}
        while wanted:
            dead = wanted.pop()
            if dead not in self._brought:
                self._brought[dead] = [(start, self._seen(found[dead.slot])) for start, found in self._into[dead.block]]
                wanted += [value for _, value in self._brought[dead] if isinstance(value, Dead)]
        self._same = self._reduced()
        self._phis = {dead: _Phi() for dead, same in self._same.items() if same is dead}
        self._find_kinds()
        for phi in self._phis.values():
            self._trim(phi)
        self._add_parameters()
        for exit in exits:
            self._finish(exit)

    def _seen(self, value: Abstract) -> _Leaf | Dead:
        """``value`` as what can be told apart at an exit."""
        if isinstance(value, Dead):
            return value
        known = plain(value)
        if isinstance(value, Unbound):
            return _NOTHING
        if value.source is not None and not isinstance(value.source, Constant):
            if isinstance(known, Known) and not isinstance(known.obj, (bool, int, float, complex, str)):
                return _object(known.obj)       # guarded by identity
            if isinstance(value, Cell):
                return _NOTHING
            key = ("source", value.source)
            return _Leaf(key, key, recipe=FromSource(self._builder.source_index(value.source)))
        kind = number_type(known)
        if kind is not None:
            identity = ("value", known.value) if isinstance(known, Scalar) else ("constant", *_bits(_obj(known)))
            return _Leaf(("number", *type_key(kind)), identity, kind, known)
        if isinstance(known, Known):
            return _object(known.obj)
        return _NOTHING

    def _reduced(self) -> dict[Dead, _Leaf | Dead]:
        """For each dead local the one thing that all ways bring, or itself."""
        same: dict[Dead, _Leaf | Dead] = {}
        changed = True
        while changed:
            changed = False
            for dead, brought in self._brought.items():
                if same.get(dead) is dead:
                    continue
                ones = {}
                for _, value in brought:
                    one = same.get(value) if isinstance(value, Dead) else value
                    if one is not None and one is not dead:
                        ones[one if isinstance(one, Dead) else one.identity] = one
                if not ones:
                    continue
                new = next(iter(ones.values())) if len(ones) == 1 else dead
                old = same.get(dead)
                if old is None or _identity(old) != _identity(new):
                    same[dead] = new
                    changed = True
        return same

    def _find_kinds(self) -> None:
        changed = True
        while changed:
            changed = False
            for dead, phi in self._phis.items():
                for _, value in self._brought[dead]:
                    for leaf in self._kinds_of(value):
                        if leaf.key not in phi.kinds:
                            phi.kinds[leaf.key] = leaf
                            changed = True

    def _kinds_of(self, value: _Leaf | Dead) -> list[_Leaf]:
        one = self._same[value] if isinstance(value, Dead) else value
        return list(self._phis[one].kinds.values()) if isinstance(one, Dead) else [one]

    def _trim(self, phi: _Phi) -> None:
        """With more kinds than are told apart, what is left over is taken as nothing."""
        for key in [k for k in phi.kinds if k != _NOTHING.key][MAX_KINDS:]:
            del phi.kinds[key]
            phi.kinds[_NOTHING.key] = _NOTHING

    def _add_parameters(self) -> None:
        """Parameters of blocks, and what each jump brings for them.  Locals that are bound together share a flag."""
        shared: dict[int, Value] = {}
        classes = self._flag_classes()
        added: dict[Block, list[tuple[Dead, Key, bool]]] = {}
        for dead, phi in self._phis.items():
            order = added.setdefault(dead.block, [])
            for key, leaf in phi.kinds.items():
                number = classes.get((dead, key))
                if number is not None:
                    if number not in shared:
                        shared[number] = self._builder.graph.add_param(dead.block, BOOL)
                        order.append((dead, key, True))
                    phi.flags[key] = shared[number]
                if leaf.type is not None:
                    phi.numbers[key] = self._builder.graph.add_param(dead.block, leaf.type)
                    order.append((dead, key, False))
        for block, order in added.items():
            for i, (start, _) in enumerate(self._into[block]):
                self._extend(start, block, [self._argument(start, self._brought[dead][i][1], dead, key, flag)
                                            for dead, key, flag in order])

    def _flag_classes(self) -> dict[tuple[Dead, Key], int]:
        """The flags that are needed, by number: those with the same one are equal wherever the block is come from."""
        flags = [(dead, key) for dead, phi in self._phis.items() for key in phi.kinds
                 if key != _NOTHING.key and len(phi.kinds) > 1]
        numbers: dict[tuple[Dead, Key], int] = dict.fromkeys(flags, 0)
        count = 0
        while True:
            seen: dict[Key, int] = {}
            finer = {}
            for dead, key in flags:
                brought = (self._bound(value, key) for _, value in self._brought[dead])
                about = (dead.block, numbers[dead, key],
                         *(what if isinstance(what, bool) else ("flag", numbers[what, key]) for what in brought))
                finer[dead, key] = seen.setdefault(about, len(seen))
            numbers = finer
            if len(seen) == count:
                return numbers
            count = len(seen)

    def _bound(self, value: _Leaf | Dead, key: Key) -> Dead | bool:
        """Whether ``value`` is of the kind ``key``: known, or as a flag of that dead local says."""
        one = self._same[value] if isinstance(value, Dead) else value
        if isinstance(one, _Leaf):
            return one.key == key
        kinds = self._phis[one].kinds
        return key in kinds if len(kinds) == 1 or key not in kinds else one

    def _extend(self, start: Block, block: Block, args: list[Value]) -> None:
        assert start.terminator is not None
        (target, before), = start.terminator.targets
        assert target is block
        start.terminator.targets[0] = (target, (*before, *args))

    def _argument(self, start: Block, value: _Leaf | Dead, dead: Dead, key: Key, flag: bool) -> Value:
        if flag:
            bound = self._bound(value, key)
            return self._constant(start, bound) if isinstance(bound, bool) else self._phis[bound].flags[key]
        one = self._same[value] if isinstance(value, Dead) else value
        type = self._phis[dead].kinds[key].type
        assert type is not None
        if isinstance(one, Dead):
            number = self._phis[one].numbers.get(key)
            return self._constant(start, _zero(type)) if number is None else number
        if one.key == key and isinstance(one.number, Scalar):
            return one.number.value
        known = one.number if one.key == key else None
        return self._constant(start, _zero(type) if known is None else _obj(known))

    def _constant(self, block: Block, obj: object) -> Value:
        """A constant at the end of ``block``, made once for the dead locals."""
        key = (block, _bits(obj))
        if key not in self._constants:
            assert block.terminator is not None
            self._builder.block, self._builder.line = block, block.terminator.line
            self._constants[key] = self._builder.const(obj)
        return self._constants[key]

    def _finish(self, exit: Exit) -> None:
        values = list(exit.values)

        def read(value: Value) -> Recipe:
            values.append(value)
            return FromValue(len(values) - 1)

        def recipe(pending: Recipe) -> Recipe:
            if not isinstance(pending, Pending):
                return pending
            one = self._same[pending.value]
            if isinstance(one, _Leaf):
                return read(one.number.value) if isinstance(one.number, Scalar) else _made(one)
            phi, items = self._phis[one], list[Recipe]()
            for key, leaf in phi.kinds.items():
                if key == _NOTHING.key:
                    continue
                made = read(phi.numbers[key]) if key in phi.numbers else leaf.recipe
                if key not in phi.flags:
                    return made
                items += [read(phi.flags[key]), made]
            return Build("either", tuple(items)) if items else NULL

        exit.locals = tuple(map(recipe, exit.locals))
        exit.stack = tuple(map(recipe, exit.stack))
        exit.inner = tuple(map(recipe, exit.inner))
        exit.values = tuple(values)


def _recipes(exit: Exit) -> tuple[Recipe, ...]:
    return (*exit.locals, *exit.stack, *exit.inner)


def _object(obj: object) -> _Leaf:
    return _Leaf(("object", id(obj)), ("object", id(obj)), recipe=Const(obj))


def _made(leaf: _Leaf) -> Recipe:
    return leaf.recipe if leaf.number is None else Const(_obj(leaf.number))


def _obj(value: Abstract) -> object:
    assert isinstance(value, Known)
    return value.obj


def _bits(obj: object) -> Key:
    """Equal for the same numbers, signs of zeros and bits of NaNs included."""
    return type(obj), np.asarray(obj).tobytes()


def _zero(type: ScalarType) -> object:
    zero = type.dtype.type(0)
    return zero.item() if type.weak else zero


def _identity(one: _Leaf | Dead) -> object:
    return one if isinstance(one, Dead) else one.identity
