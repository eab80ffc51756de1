"""What a trace finds out about lists, for the next attempt at the same region.

Job: ``Learned`` for a site at which lists are made, ``Relisted`` to start again with that known, ``note`` to take
it up.  Invariant: what is noted for a site changes a bounded number of times, so tracing ends.  Used by ``lists``,
``meeting`` and ``trace``.
"""
from __future__ import annotations

from dataclasses import dataclass

from jitcore.ir.build import type_key
from jitcore.ir.types import Type

#: The instruction that makes a list, in each frame: code object and index.
Site = tuple[tuple[object, int], ...]


@dataclass(frozen=True)
class Learned:
    """Lists of a site are of run-time length with items of type ``item`` (None: of several types, so they are not).

    ``inner`` are the sites of lists in them; ``guessed`` says that only empty lists were seen.
    """

    item: Type | None
    inner: tuple[Site | None, ...] = ()
    guessed: bool = False


class Relisted(Exception):
    """Trace again with ``found``.  ``conflict``: a list got an item of another type than was learned."""

    def __init__(self, found: dict[Site, Learned], conflict: bool = False) -> None:
        super().__init__()
        self.found, self.conflict = found, conflict


def note(known: dict[Site, Learned], change: Relisted) -> bool:
    """Take up what was found; False if nothing is new."""
    before = dict(known)
    for site, new in change.found.items():
        old = known.get(site)
        if old is None:
            known[site] = new if not change.conflict else Learned(None)
        elif old.item is None:
            continue
        elif new.item is None or type_key(new.item) != type_key(old.item):
            known[site] = Learned(new.item, new.inner) if old.guessed else Learned(None)
    return known != before
