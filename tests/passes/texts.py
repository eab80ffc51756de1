"""Text in, text out: the bodies of small graphs before and after a pass."""
from __future__ import annotations

from collections.abc import Callable

from jitcore.ir.graph import Graph
from jitcore.ir.text import parse_graph, print_graph
from jitcore.ir.verify import verify

EXIT_0 = "exit 0: restart\n"


def graph_of(body: str) -> Graph:
    """The graph of a body: inputs, one or more blocks, exits but the first."""
    lines = body.strip("\n").splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    lines = [line[indent:] for line in lines]
    at = next((k for k, line in enumerate(lines) if line.startswith("exit ")), len(lines))
    graph = parse_graph("region 'test' ''\n" + "\n".join(lines[:at]) + "\n" + EXIT_0 + "\n".join(lines[at:]) + "\n")
    verify(graph)
    return graph


def after(body: str, apply: Callable[[Graph], int]) -> tuple[str, int]:
    """The body after a pass, and the pass's count.  The graph is valid before and after."""
    graph = graph_of(body)
    count = apply(graph)
    verify(graph)
    text = print_graph(graph)
    return text.replace("region 'test' ''\n", "").replace(EXIT_0, ""), count


def normal(body: str) -> str:
    """A body as ``after`` prints it."""
    return after(body, lambda graph: 0)[0]


def expect(before: str, apply: Callable[[Graph], int], wanted: str) -> None:
    """``apply`` turns ``before`` into ``wanted``, and counts rewrites if and only if they differ."""
    found, count = after(before, apply)
    wanted = normal(wanted)
    assert found == wanted, f"found:\n{found}\nwanted:\n{wanted}"
    assert (count > 0) == (normal(before) != wanted), f"{count} rewrites counted"


def unchanged(before: str, apply: Callable[[Graph], int]) -> None:
    """``apply`` leaves ``before`` alone."""
    expect(before, apply, before)
