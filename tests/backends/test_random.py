"""Random graphs: native code gives what the graph's interpreter gives, bit for bit, or leaves.

``JITCORE_EXAMPLES`` sets how many are drawn.
"""
from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, given, settings

from jitcore import passes
from jitcore.ir.graph import Graph
from jitcore.ir.text import print_graph

from ..ir.outcomes import bits, objects, outcome, sharing
from ..ir.programs import programs
from .harness import Native

EXAMPLES = int(os.environ.get("JITCORE_EXAMPLES", "60"))


def only_restarts(graph: Graph) -> None:
    """A region without effects hands over at its entry wherever that is."""
    for node in graph.nodes():
        if node.exit is not None:
            node.exit = 0


def check(graph: Graph, inputs: list[object]) -> bool:
    """Compares; whether native code got through where the interpreter did."""
    only_restarts(graph)
    exit, values, shared = outcome(graph, inputs)
    passes.run(graph)
    native = Native(graph, "numpy")         # the bits of what is not exact inline, too
    for _ in range(4):                      # a run may make a checked variant and leave
        got, found = native(*inputs)
        if got == exit:
            break
    try:
        if got != 0 or exit == 0:
            assert got == exit
            handed = objects(graph.exits[got], found)
            assert [bits(value) for value in handed] == values
            assert sharing(handed, inputs) == shared
    except AssertionError as error:
        raise AssertionError(f"{print_graph(graph)}\n{native.plan}\ninputs: {inputs}\n{found}\n{error}") from error
    return got == exit


def test_native_is_interpreted() -> None:
    went = []

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck),
              phases=[Phase.explicit, Phase.generate, Phase.target])
    @given(programs())
    def property(program: tuple[Graph, list[object]]) -> None:
        went.append(check(*program))

    property()
    assert sum(went) >= 0.9 * len(went), "native code leaves without need"
