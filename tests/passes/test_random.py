"""Every pass keeps what the interpreter gives, on random graphs: bits, exits, memory order, identity."""
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from jitcore import passes
from jitcore.ir.text import object_table, parse_graph, print_graph
from jitcore.ir.verify import verify

from ..ir.outcomes import outcome
from ..ir.programs import programs

PHASES = [Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink]
quick = settings(max_examples=80, deadline=None, derandomize=True, phases=PHASES,
                 suppress_health_check=list(HealthCheck))


def check(graph, inputs, apply):
    verify(graph)
    text = print_graph(graph)
    expected = outcome(graph, inputs)
    count = apply(graph)
    try:
        verify(graph)
        assert outcome(graph, inputs) == expected
    except AssertionError as error:
        raise AssertionError(f"before:\n{text}\nafter:\n{print_graph(graph)}\ninputs: {inputs}\n{error}") from error
    if count == 0:
        assert print_graph(graph) == text, "a pass rewrote without counting"


@pytest.mark.parametrize("name, apply", passes.PASSES)
def test_one_pass(name, apply):
    @quick
    @given(programs())
    def property(program):
        check(*program, apply)

    property()


@pytest.mark.slow
def test_many_random_graphs():
    """``test_all_passes`` checks some of these in every run."""
    @settings(quick, max_examples=3000, derandomize=False)
    @given(programs())
    def property(program):
        check(*program, lambda graph: passes.run(graph, verify=True))

    property()


@quick
@given(programs())
def test_all_passes(program):
    graph, inputs = program
    check(graph, inputs, lambda g: passes.run(g, verify=True))
    text = print_graph(graph)
    assert passes.run(graph) == 0, f"not settled:\n{text}"
    again = parse_graph(text, object_table(graph))
    assert print_graph(again) == text
