"""What must hold of a frame for a region to be right, and how C is told.

Job: ``sources`` and ``guard`` are the words, ``pack`` turns them into what C compiles, ``reference`` says in
Python what they mean, ``explain`` says it in English.  Invariants: see each.  Used by ``frontend`` (the words),
``pipeline`` (packing) and ``runtime`` (explaining).
"""
from jitcore.guards.pack import pack, pack_guards

__all__ = ["pack", "pack_guards"]
