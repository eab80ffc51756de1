"""``any`` and ``all``.

Job: their rules.  Invariant: items whose truth is known and decides end the search, as in CPython; asking the others
for theirs has no effect.  Imported by ``handlers``.
"""
from __future__ import annotations

from jitcore.frontend import iteration, lists, operations, python_ops
from jitcore.frontend.builtin_calls import Rule, rule
from jitcore.frontend.machine import Machine
from jitcore.frontend.values import Abstract, Known


def _quantifier(wanted: bool) -> Rule:
    def found(m: Machine, args: list[Abstract], kwargs: dict[str, Abstract]) -> Abstract:
        if (whole := lists.whole(args[0])) is not None:
            return lists.quantified(m, whole, not wanted)
        open_values: list[Abstract] = []
        for value in iteration.items(m, args[0], 1000)[0]:
            truth = operations.truth_value(m, value)
            if isinstance(truth, Known) and truth.obj is wanted:
                return truth
            if not isinstance(truth, Known):
                open_values.append(truth)
        return _joined(m, open_values, wanted) if open_values else Known(not wanted)
    return found


def _joined(m: Machine, truths: list[Abstract], wanted: bool) -> Abstract:
    """Whether one of several bools is ``wanted``, as any() (True) or all() (False) tells."""
    found = truths[0]
    for other in truths[1:]:
        found = python_ops.apply(m, "or" if wanted else "and", found, other)
    return found


rule(any, 1, 1)(_quantifier(True))
rule(all, 1, 1)(_quantifier(False))
