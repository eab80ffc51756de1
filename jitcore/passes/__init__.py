"""The passes over the graph, in order.

Job: ``run(graph)`` rewrites a graph in place until nothing changes.  Each pass is a module with
``run(graph) -> int``, the number of its rewrites.  Invariant: every pass keeps what ``ir.interp``
gives for every input, to the bit, exits included.  Called by ``pipeline``.
"""
from __future__ import annotations

from collections.abc import Callable

from jitcore.ir.dominance import in_order, reverse_postorder
from jitcore.ir.graph import Graph
from jitcore.ir.verify import InvalidGraph
from jitcore.ir.verify import verify as check
from jitcore.passes import algebraic, constfold, cse, dce, elements, fastloops, params, views

#: Name and function of every pass, in the order in which they run.
PASSES: tuple[tuple[str, Callable[[Graph], int]], ...] = (
    ("params", params.run),
    ("constfold", constfold.run),
    ("cse", cse.run),
    ("algebraic", algebraic.run),
    ("views", views.run),
    ("elements", elements.run),
    ("dce", dce.run),
)

#: Rounds after which a graph is taken as it is: a bound on compile time, not reached in practice.
MAX_ROUNDS = 8


def run(graph: Graph, verify: bool = False, leave_out: frozenset[str] = frozenset()) -> int:
    """Run all passes but those to ``leave_out`` until none changes anything; returns the number of rewrites.

    With ``verify``, the graph is checked before and after every pass, and ``InvalidGraph`` names
    the pass that broke it.
    """
    total = 0
    if verify:
        check(graph)
    for _ in range(MAX_ROUNDS):
        changed = 0
        for name, apply in PASSES:
            count = apply(graph) if name not in leave_out else 0
            changed += count
            if verify and count:
                _check_after(graph, name)
        total += changed
        if not changed:
            break
    return total


def finish(graph: Graph, verify: bool = False) -> int:
    """What is done once, behind ``run``: versions of loops, and blocks in an order in which back ends can go through
    them: a value that took another's place by dominance may stand in a block that was listed later."""
    made = fastloops.run(graph)
    if not in_order(graph):
        place = {block: k for k, block in enumerate(reverse_postorder(graph))}
        graph.blocks.sort(key=lambda block: place.get(block, len(place)))
    if verify and made:
        _check_after(graph, "fastloops")
    return made


def _check_after(graph: Graph, name: str) -> None:
    try:
        check(graph)
    except InvalidGraph as error:
        raise InvalidGraph(error.invariant, f"after {name}: {error}") from error
