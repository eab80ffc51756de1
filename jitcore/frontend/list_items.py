"""Iteration over lists of run-time length: by index, with the length asked for each time, as CPython's iterator does.

Job: tell ``iteration`` of ``TypedList``.  Imported by ``handlers``.
"""
from __future__ import annotations

from jitcore.frontend import lists
from jitcore.frontend.iteration import Indexable, register
from jitcore.frontend.machine import Machine
from jitcore.frontend.values import Abstract, Scalar, TypedList
from jitcore.ir.graph import Value


class _ListItems(Indexable):
    def length(self, m: Machine, value: Abstract) -> Abstract:
        assert isinstance(value, TypedList)
        return Scalar(lists.length(m, value))

    def item(self, m: Machine, value: Abstract, index: Value) -> Abstract:
        assert isinstance(value, TypedList)
        return lists.item_at(m, value, index)


_LISTS = _ListItems()
register(TypedList, lambda m, value: _LISTS)
