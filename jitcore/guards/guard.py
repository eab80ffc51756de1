"""Guards: what must hold of a source for cached code to be right.

Job: the declarations that the front end records while it looks at values.  Invariants: a guard is
a value and names exactly one source; checking one has no effect.  A ``Loading`` guard also fills one or two
machine words of the region's inputs.  ``guards.pack`` packs them for C.
"""
from __future__ import annotations

from dataclasses import dataclass

from jitcore.guards.sources import Source


@dataclass(frozen=True, eq=False)      # kinds that hold objects compare by identity, the others by their fields
class Guard:
    """Base of all guards."""

    source: Source


@dataclass(frozen=True)
class TypeIs(Guard):
    """The object's type is exactly ``type``."""

    type: type


@dataclass(frozen=True, eq=False)
class IsObject(Guard):
    """The object is ``obj`` (held weakly where it can be)."""

    obj: object


@dataclass(frozen=True)
class ValueIs(Guard):
    """An exact ``int``, ``bool`` or ``str`` equal to ``value``."""

    value: int | bool | str


@dataclass(frozen=True)
class LengthIs(Guard):
    """An exact tuple, list or dict of ``length`` items."""

    length: int


@dataclass(frozen=True)
class Absent(Guard):
    """Reading the source finds nothing (an unbound local, a missing attribute or key)."""


@dataclass(frozen=True, eq=False)
class TypeVersion(Guard):
    """The object's type is ``type`` and has not been changed since (its version tag holds)."""

    type: type


@dataclass(frozen=True, eq=False)
class ClassVersion(Guard):
    """The object is the class ``cls`` itself, which has not been changed since (its version tag holds)."""

    cls: type


@dataclass(frozen=True, eq=False)
class FunctionIs(Guard):
    """A Python function with this ``code`` and these very ``defaults`` and ``kwdefaults`` objects."""

    code: object
    defaults: object
    kwdefaults: object


@dataclass(frozen=True)
class DimsEqual(Guard):
    """Axis ``axis`` of the array at ``source`` is as long as axis ``other_axis`` of that at ``other``."""

    axis: int
    other: Source
    other_axis: int


@dataclass(frozen=True)
class Alone(Guard):
    """Nobody but its place (a slot of the frame, or the object that it was read from) has the object."""


@dataclass(frozen=True)
class StrictIs(Guard):
    """An exact ``zip`` that is ``strict``, or is not."""

    strict: bool


class Loading(Guard):
    """Base of the guards that fill an input."""


@dataclass(frozen=True)
class Load(Loading):
    """Type check and unboxing of a number into input words.

    ``kind`` is ``'int'`` (fails beyond 64 bits), ``'float'``, ``'bool'``, ``'complex'`` (exact
    Python types) or a NumPy dtype name (a scalar of exactly that type).
    """

    kind: str


@dataclass(frozen=True)
class LoadArray(Loading):
    """An exact aligned native ndarray of ``dtype`` char, ``ndim`` and layout 'C', 'F' or 'A'.

    'F' means Fortran- and not C-contiguous, 'A' means neither, so an array has exactly one layout.
    """

    dtype: str
    ndim: int
    layout: str


@dataclass(frozen=True)
class LoadObject(Loading):
    """Any object, handed to native code as a pointer."""


@dataclass(frozen=True)
class LoadRange(Loading):
    """A number of an exact ``range_iterator``: its next item, its end or its step (``part`` 0, 1 or 2).

    Fails where a number is beyond 61 bits.  ``down``: the step is negative.
    """

    part: int
    down: bool


@dataclass(frozen=True)
class LoadPosition(Loading):
    """The index of the next item of an exact ``type``, an iterator that goes by index: over a list, a tuple, bytes or
    another sequence, or backwards.  Of ``enumerate``, the next number.  Fails where it is used up, or beyond 61 bits.
    """

    type: type
