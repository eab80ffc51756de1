"""Every invariant: graphs that break it are refused by its name, the same graph unbroken is not."""
import pytest
from hypothesis import HealthCheck, given, settings

from jitcore.ir.graph import Exit, Graph, Terminator
from jitcore.ir.opcodes import OPCODES
from jitcore.ir.text import parse_graph, print_graph
from jitcore.ir.types import INT
from jitcore.ir.verify import InvalidGraph, verify

from .programs import programs

GOOD = """\
region 'good' ''
object @0  ; function f
input %0: float64[2C] (%3, %4)
input %1: float64[2F] (%5, %6)
input %2: float
b0:
  %3: int = dim %0 {axis=0}
  %4: int = dim %0 {axis=1}
  %5: int = dim %1 {axis=0}
  %6: int = dim %1 {axis=1}
  %7: int = bcast %3, %5 !0
  %8: int = bcast %4, %6 !0
  %9: float64[2A] (%7, %8) = ew.add.dd->d %0, %1 !1
  %10: float64 = cast.d %2
  %11: float64[2C] (%3, %4) = ew.multiply.dd->d %0, %10
  %12: int = stride %0 {axis=1}
  %13: int = const 0
  %14: float64[1A] (%4) = view.slice %0, %13, %12 {arg=0}
  %15: float64[1C] (%4) = reduce.add.dd->d %0 {axes=(0,), keepdims=False}
  %16: int = wrap %13, %3 !0
  %17: int = wrap %13, %4 !0
  %18: float64 = load %0, %16, %17
  writable %11 !0
  store %11, %18, %16, %17
  point !1
  assign %11, %18 !1
  %19: float64[2F] (%3, %4) = copy.F %0
  %20: float64[1C] (%3) = splat %18
  %56: int = const 2
  %57: float64[1C] (%56) = pack %18, %18
  %21: float64[1C] (%3) = iota %18, %18
  %22: bool = py.lt %2, %2
  %23: float = unbox %18
  check %22 !0
  same %3, %3 !0
  poll !0
  %64: bool = finite %18
  check %64 !4
  %35: bool = asks_under
  %24: object = object @0
  %25: float64 = call %24, %9 {callee=0, template=(('v', 0), ('v', 1)), kwnames=('x',)} !0
  %26: uint64 = cast.L %18 !0
  %27: int = count %24
  %28: object = item %24, %16 {of='list'}
  %29: float64 = number %28 !0
  %33: int = byte %24, %16
  %62: int = extent %24 {axis=0, ndim=1} !0
  %63: float64[1C] (%62) = array %24 !0
  %46: float = draw %24, %2 {callee=0} !0
  %51: list[float64] = list_new !0
  %52: list[list[float64]] = list_fill %51, %3 !0
  list_append %51, %18 !0
  %53: float64 = list_get %51, %16
  list_set %51, %53, %16
  list_pop %52, %16
  %54: int = list_len %52
  %55: list[float64] = list_call.slice %51, %3, %4, %13 !0
  branch %22 b1(%3, %20), b2()
b1(%30: int, %31: float64[1C] (%30)):
  %32: int = idx.add %30, %3
  jump b2()
b2:
  exit 2
exit 0: restart
exit 1: leave unit=4 values(%0, %8) locals[v0, slice(v1, None, null)]
exit 2: return values(%9) result=dict('a', v0)
exit 3: call unit=2 next=4 site='call' arg=1 operands[s0]
exit 4: goto to=b2
"""


def broken(old, new):
    assert old in GOOD, old
    return parse_graph(GOOD.replace(old, new, 1))


def test_a_valid_graph_passes():
    graph = parse_graph(GOOD)
    assert print_graph(graph) == GOOD
    verify(graph)
    used = {node.op for node in graph.nodes()}
    assert used == OPCODES.keys(), f"the example lacks {OPCODES.keys() - used}"


BROKEN = [
    ("I5", "list_append %51, %18 !0", "list_append %51, %10 !0".replace("%10", "%3")),
    ("I5", "list_set %51, %53, %16", "list_set %52, %53, %16"),
    ("I5", "%53: float64 = list_get", "%53: float = list_get"),
    ("I5", "list_call.slice %51, %3, %4, %13", "list_call.slice %51, %3, %4"),
    ("I5", "list_call.slice", "list_call.unknown"),
    ("I4", "list_new !0", "list_new"),
    ("I2", "bcast %3, %5 !0", "bcast %3, %8 !0"),
    ("I2", "(%7, %8) = ew", "(%7, %12) = ew"),
    ("I2", "values(%0, %8)", "values(%0, %9)"),
    ("I2", "  exit 2", "  %40: int = idx.add %32, %3\n  exit 2"),
    ("I2", "values(%9) result", "values(%32) result"),
    ("I2", "jump b2()", "jump b3()\nb3:\n  branch %43 b2(), b2()\nb4:\n  %43: bool = const True\n  jump b2()"),
    ("I2", "(%3, %4)\ninput", "(%3, %32)\ninput"),
    ("I2", "branch %22 b1(%3, %20)", "branch %22 b1(%32, %20)"),
    ("I3", "  jump b2()\n", ""),
    ("I3", "jump b2()", "jump b0()"),
    ("I3", "jump b2()", "jump b2(), b2()"),
    ("I3", "b0:", "b0(%40: int):"),
    ("I4", "= dim %0 {axis=0}", "= dim %0"),
    ("I4", "cast.d %2", "kast.d %2"),
    ("I4", "bcast %3, %5 !0", "bcast %3, %5"),
    ("I4", "splat %18", "splat %18 !0"),
    ("I4", "of='list'", "of='dict'"),
    ("I4", "number %28 !0", "number %28"),
    ("I4", "{axis=1}", "{axis=2}"),
    ("I4", "dd->d", "dd=>d"),
    ("I4", "idx.add", "idx.pow"),
    ("I4", "copy.F", "copy.Q"),
    ("I4", "object @0\n  %25", "object @1\n  %25"),
    ("I4", "('v', 1))", "('v', 2))"),
    ("I4", "view.slice", "view.ravel"),
    ("I4", "axes=(0,)", "axes=(2,)"),
    ("I4", "cast.d %2", "cast.g %2"),
    ("I4", "callee=0", "callee=5"),
    ("I4", "{callee=0}", "{callee=5}"),
    ("I5", "draw %24, %2", "draw %2, %2"),
    ("I5", "draw %24, %2", "draw %24, %0"),
    ("I6", "%46: float = draw", "%46: float64[1C] (%3) = draw"),
    ("I4", "axes=(0,)", "axes=(0, 0)"),
    ("I5", "%0, %10\n", "%0, %2\n"),
    ("I5", "add.dd->d %0, %1", "add.dd->d %0"),
    ("I5", "add.dd->d", "add.fd->d"),
    ("I5", "dim %1 {axis=0}", "dim %2 {axis=0}"),
    ("I5", "same %3, %3", "same %3, %2"),
    ("I5", "check %22", "check %3"),
    ("I5", "load %0, %16, %17", "load %0, %16"),
    ("I5", "store %11, %18, %16", "store %11, %3, %16"),
    ("I5", "assign %11, %18", "assign %11, %3"),
    ("I5", "assign %11, %18", "assign %15, %11"),
    ("I4", "assign %11, %18 !1", "assign %11, %18"),
    ("I5", "point !1", "point %3 !1"),
    ("I5", "view.slice %0, %13, %12", "view.slice %0, %13"),
    ("I5", "cast.d %2", "cast.d %2, %2"),
    ("I5", "splat %18", "splat %3"),
    ("I5", "count %24", "count %3"),
    ("I5", "item %24, %16", "item %24, %18"),
    ("I5", "byte %24, %16", "byte %24"),
    ("I5", "number %28", "number %27"),
    ("I5", "iota %18, %18", "iota %18, %13"),
    ("I5", "idx.add %30, %3", "idx.add %30, %2"),
    ("I5", "py.lt %2, %2", "py.lt %2, %0"),
    ("I5", "const 0\n", "const 0\n  %42: uint64 = const 1\n  %41: int = unbox %42\n"),
    ("I6", "%10: float64 = cast.d", "%10: float32 = cast.d"),
    ("I6", "float64[2A] (%7, %8)", "float64[2C] (%7, %8)"),
    ("I6", "float64[2A] (%7, %8)", "float64[1A] (%7)"),
    ("I6", "%18: float64 = load", "%18: float = load"),
    ("I6", "float64[2F] (%3, %4) = copy.F", "float64[2C] (%3, %4) = copy.F"),
    ("I6", "%13: int = const 0", "%13: int64 = const {value=0}"),
    ("I6", "%23: float = unbox", "%23: int = unbox"),
    ("I6", "float64[1C] (%4) = reduce", "float64[2C] (%4, %4) = reduce"),
    ("I6", "%22: bool = py.lt", "%22: bool_ = py.lt"),
    ("I6", "%27: int = count", "%27: float = count"),
    ("I6", "%28: object = item", "%28: int = item"),
    ("I6", "%29: float64 = number", "%29: object = number"),
    ("I6", "float64[1C] (%3) = iota", "float64[1F] (%3) = iota"),
    ("I7", "float64[2A] (%7, %8)", "float64[2A] (%7)"),
    ("I7", "float64[1C] (%3) = splat", "float64[1C] (%18) = splat"),
    ("I7", "%10: float64 = cast", "%10: float64 (%3) = cast"),
    ("I8", "exit 0: restart", "exit 0: leave"),
    ("I8", "bcast %3, %5 !0", "bcast %3, %5 !9"),
    ("I8", "  exit 2", "  exit 7"),
    ("I9", "locals[v0, slice", "locals[v2, slice"),
    ("I9", "slice(v1, None, null)", "slice(v1, None)"),
    ("I9", "slice(v1, None, null)", "slike(v1, None, null)"),
    ("I9", "leave unit=4", "vanish unit=4"),
    ("I9", "result=dict('a', v0)", "reason='none'"),
    ("I9", "leave unit=4", "leave unit=4 result=v0"),
    ("I9", "site='call' ", ""),
    ("I9", "leave unit=4", "leave unit=4 operands[v0]"),
    ("I9", "dict('a', v0)", "dict(v0)"),
    ("I9", "dict('a', v0)", "either(v0)"),
    ("I9", "dict('a', v0)", "either('a', v0)"),
    ("I9", "dict('a', v0)", "tuple(either(v0, v0))"),
    ("I6", "pack %18, %18", "pack %18"),
    ("I5", "pack %18, %18", "pack %18, %2"),
    ("I6", "(%56) = pack", "(%3) = pack"),
    ("I9", "dict('a', v0)", "iter_at(v0)"),
    ("I9", "dict('a', v0)", "array('d', 'C', (1,), v0)"),
    ("I9", "dict('a', v0)", "zip()"),
    ("I9", "exit 0: restart", "exit 0: restart values(%0)"),
    ("I9", "operands[s0]", "operands[tuple(v0)]"),
    ("I5", "finite %18", "finite %13"),
    ("I6", "%64: bool = finite", "%64: int = finite"),
    ("I6", "%35: bool = asks_under", "%35: int = asks_under"),
    ("I9", "goto to=b2", "goto"),
    ("I10", "goto to=b2", "goto to=b1 values(%3)"),
    ("I11", "b1(%3, %20), b2()", "b1(%3, %20), b1(%3, %20)"),
    ("I10", "branch %22", "branch %3"),
    ("I10", "b1(%3, %20)", "b1(%3)"),
    ("I10", "b1(%3, %20)", "b1(%3, %0)"),
    ("I10", "b1(%3, %20)", "b1(%4, %20)"),
]


@pytest.mark.parametrize("invariant, old, new", BROKEN)
def test_broken_graphs_are_refused(invariant, old, new):
    with pytest.raises(InvalidGraph) as caught:
        verify(broken(old, new))
    assert caught.value.invariant == invariant, caught.value


def test_every_invariant_has_a_case():
    import jitcore.ir.verify as module

    documented = {word for word in module.__doc__.split() if word[0] == "I" and word[1:].isdigit()}
    assert documented == {case[0] for case in BROKEN} | {"I1"}


def test_i1():
    graph = parse_graph(GOOD)
    node = graph.blocks[0].nodes[4]
    graph.blocks[0].nodes.append(node)
    with pytest.raises(InvalidGraph, match="I1"):
        verify(graph)
    graph = parse_graph(GOOD)
    graph.blocks[0].nodes[4].result.node = None
    with pytest.raises(InvalidGraph, match="I1"):
        verify(graph)


def test_uses_of_another_graph():
    graph, other = parse_graph(GOOD), parse_graph(GOOD)
    graph.add(graph.blocks[2], "idx", (other.blocks[0].nodes[0].result,) * 2, INT, fn="add")
    with pytest.raises(InvalidGraph, match="I2: operand %3 is not defined"):
        verify(graph)


def test_empty_graph():
    with pytest.raises(InvalidGraph, match="I3"):
        verify(Graph())
    graph = Graph()
    graph.add_exit(Exit("restart"))
    block = graph.new_block()
    block.terminator = Terminator("exit", exit=0)
    verify(graph)
    graph.blocks.append(block)
    with pytest.raises(InvalidGraph, match="listed twice"):
        verify(graph)


def test_message_shows_the_place():
    with pytest.raises(InvalidGraph) as caught:
        verify(broken("dim %1 {axis=0}", "dim %2 {axis=0}"))
    text = str(caught.value)
    assert "> %5: int = dim %2 {axis=0}" in text and "  %4: int = dim %0 {axis=1}" in text


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_graphs_are_valid(program):
    verify(program[0])
