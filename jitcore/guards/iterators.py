"""Iterators taken apart, in Python: where they are and what they go over.

Job: what ``csrc/iterator_compat.h`` reads from memory, as the iterators themselves say it (``__reduce__``, which gives
the parts and changes nothing).  Invariants: only exact types of CPython's own are asked, so no code of the user's runs.
Used by ``guards.reference`` and ``frontend``.
"""
from __future__ import annotations

from typing import Any

import numpy as np

_NOTHING: list[int] = []
RANGE = type(iter(range(0)))
LIST, TUPLE, BYTES = type(iter(_NOTHING)), type(iter(())), type(iter(b""))
SEQUENCE = type(iter(np.zeros(1)))
LIST_REVERSED = type(reversed(_NOTHING))

#: Iterators that go by index over a sequence, and whether backwards.
BACKWARDS: dict[type, bool] = {LIST: False, TUPLE: False, BYTES: False, SEQUENCE: False, reversed: True,
                               LIST_REVERSED: True, np.flatiter: False}

#: Numbers that are counted in loops lie within.
FAR = 2**61


def _parts(obj: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = obj.__reduce__()
    return found


def iterated(obj: object) -> object | None:
    """What an iterator goes over: a sequence, an iterator (``enumerate``) or a tuple of iterators (``zip``).  None for
    other objects, and where it is used up."""
    if type(obj) is np.flatiter:
        return obj.base
    if type(obj) in BACKWARDS:
        parts = _parts(obj)
        used_up = len(parts) < 3 or (type(obj) is LIST_REVERSED and parts[2] < 0)
        return None if used_up else parts[1][0]
    if type(obj) is enumerate:
        return _parts(obj)[1][0]
    return _parts(obj)[1] if type(obj) is zip else None


def position(obj: object) -> int | None:
    """The index of an iterator's next item, of ``enumerate`` its next number; None where there is none."""
    if type(obj) is np.flatiter:
        found = obj.index
    elif type(obj) in BACKWARDS and iterated(obj) is not None:
        found = _parts(obj)[2]
    elif type(obj) is enumerate:
        found = _parts(obj)[1][1]
    elif type(obj) is zip:
        found = len(_parts(obj)[1])
    else:
        return None
    return found if -FAR <= found <= FAR else None


def rest_of_range(obj: object) -> range | None:
    """What an iterator over a range still gives, None where its numbers are large or it is none."""
    if type(obj) is not RANGE:
        return None
    parts = _parts(obj)
    whole = parts[1][0]
    rest: range = whole[parts[2] if len(parts) == 3 and parts[2] else 0:]
    numbers = (rest.start, rest.start + len(rest) * rest.step, rest.step)
    return range(*numbers) if all(-FAR <= n <= FAR for n in numbers) else None


def is_strict(obj: object) -> bool | None:
    """Whether a zip is strict, None for other objects."""
    return len(_parts(obj)) == 3 if type(obj) is zip else None
