"""The text form: it reads back as the same graph, to the bit, and refuses what it would not write."""
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jitcore.ir.build import structurally_equal
from jitcore.ir.graph import Exit, Graph, Terminator
from jitcore.ir.literal import same_value, scalar_bits
from jitcore.ir.recipe import NULL, Build, Const, FromSource, FromValue
from jitcore.ir.text import Unresolved, object_table, parse_graph, print_graph
from jitcore.ir.types import COMPILED_DTYPES, COMPLEX, FLOAT, INT, array, dtype_name, parse_type, strong

from .programs import programs

TEXT = """\
region 'axpy' 'model.py'
object @0  ; ufunc add
constant @1  ; class builtins.int
input %0: float64[2C] (%2, %3)
input %1: float64[1C] (%3)
b0:
  %2: int = dim %0 {axis=0}
  %3: int = dim %0 {axis=1}
  %4: float64[2C] (%2, %3) = ew.add.dd->d %0, %1 !0  ; line 12
  %5: float32 = const 0.1
  %6: float32 = const nan(0x7fc00001)
  %7: complex = const (1.0, -0.0)
  %8: object = object @0
  %9: bool = py.lt %2, %3  ; line 13
  branch %9 b1(%2), b2()  ; line 13
b1(%10: int, %11: float64[1C] (%10)):
  jump b2()
b2:
  %12: float64 = reduce.add.dd->d %4 {axes=None, keepdims=False} !2
  %13: float64 = call %12 {callee=0, template=(('v', 0), ('c', @1), ('c', np.float64(2.0))), kwnames=('out',)} !0
  exit 1
exit 0: restart
exit 1: return unit=4 values(%4, %5) locals[s0, #0=v1, null] stack[@1, 'a;b', None, -3] result=tuple(v0, #0) \
reason="x'y"  ; line 3
exit 2: call unit=10 next=12 site='getattr' arg='shape' values(%2) locals[list(), v0] operands[s1]
"""


def test_reads_back():
    graph = parse_graph(TEXT)
    assert print_graph(graph) == TEXT
    node = graph.blocks[0].nodes[2]
    assert (node.op, node.attrs, node.exit, node.line) == ("ew", {"op": "add", "sig": "dd->d"}, 0, 12)
    assert node.result.shape == (graph.blocks[0].nodes[0].result, graph.blocks[0].nodes[1].result)
    assert graph.exits[1].result.items[1] is graph.exits[1].locals[1]
    assert graph.exits[1].stack[1].obj == "a;b"


def test_objects():
    graph = parse_graph(TEXT)
    assert isinstance(graph.objects[0], Unresolved)
    graph = parse_graph(TEXT, [np.add, int])
    assert graph.objects == [np.add] and graph.exits[1].stack[0].obj is int
    assert object_table(graph) == [np.add, int]
    assert print_graph(graph) == TEXT


def test_a_name_never_runs_an_objects_code():
    class Loud:
        def __repr__(self):
            raise RuntimeError

    graph = Graph()
    graph.add_object(Loud())
    assert "constant" not in print_graph(graph)
    assert "Loud" in print_graph(graph) and "0x" not in print_graph(graph)


def constant_graph(value, type_):
    graph = Graph("constants")
    block = graph.new_block()
    graph.add_exit(Exit("restart"))
    graph.add(block, "const", (), type_, value=value)
    graph.add(block, "dim", (), INT, axis=value)          # the same value as an ordinary attribute
    block.terminator = Terminator("exit", exit=0)
    return graph


def constants():
    for value in (0.0, -0.0, 0.1, 1e308, 5e-324, float("inf"), float("-inf"), float("nan"), -float("nan"), 1e16):
        yield value, FLOAT
    for value in (0, -1, 2**63 - 1, -2**63):
        yield value, INT
    yield complex(-0.0, float("nan")), COMPLEX
    yield complex(float("inf"), -0.0), COMPLEX
    for char in COMPILED_DTYPES:
        dtype = np.dtype(char)
        bits = np.arange(1, 1 + dtype.itemsize, dtype=np.uint8).tobytes()
        for value in (dtype.type(0), dtype.type(1), *(np.frombuffer(bits, dtype=dtype) if char != "?" else ())):
            yield value, strong(char)
        if dtype.kind in "fc":
            for x in (-0.0, np.nan, -np.inf, 0.1):
                yield dtype.type(x), strong(char)
            yield np.frombuffer(b"\xff" * dtype.itemsize, dtype=dtype)[0], strong(char)


@pytest.mark.parametrize("value, type_", list(constants()), ids=str)
def test_constants_keep_their_bits(value, type_):
    graph = constant_graph(value, type_)
    text = print_graph(graph)
    again = parse_graph(text)
    assert print_graph(again) == text
    for node in again.blocks[0].nodes:
        for found in node.attrs.values():
            assert scalar_bits(found) == scalar_bits(value)
    assert structurally_equal(graph, again)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_every_float32_is_read_back(bits):
    value = np.uint32(bits).view(np.float32)
    graph = constant_graph(value, strong("f"))
    found = parse_graph(print_graph(graph)).blocks[0].nodes[0].attrs["value"]
    assert scalar_bits(found) == scalar_bits(value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
                    lambda inner: st.lists(inner, max_size=3).map(tuple)))
@settings(max_examples=100, deadline=None)
def test_attributes_are_read_back(value):
    graph = constant_graph(0, INT)
    graph.blocks[0].nodes[1].attrs["axis"] = value
    if isinstance(value, (str, bytes)):
        graph.exits[0].site_arg = value
    again = parse_graph(print_graph(graph))
    assert same_value(again.blocks[0].nodes[1].attrs["axis"], value)
    assert same_value(again.exits[0].site_arg, graph.exits[0].site_arg)


@pytest.mark.parametrize("char", COMPILED_DTYPES)
def test_types_are_read_back(char):
    for type_ in (strong(char), array(char, 2, "F"), array(char, 0)):
        assert parse_type(str(type_)).dtype.char == char
    assert np.dtype(dtype_name(np.dtype(char))).char == char


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_graphs_are_read_back(program):
    graph, _ = program
    text = print_graph(graph)
    again = parse_graph(text, object_table(graph))
    assert print_graph(again) == text
    assert structurally_equal(graph, again)


def test_shared_recipes_stay_shared():
    graph = constant_graph(0, INT)
    one, two = FromValue(0), FromValue(0)
    inner = Build("list", (one,))
    graph.add_exit(Exit("leave", (graph.blocks[0].nodes[0].result,), 2, 0, (inner, one, two, NULL, inner),
                        (FromSource(3), Const(...))))
    exit = parse_graph(print_graph(graph)).exits[1]
    assert exit.locals[0] is exit.locals[4] and exit.locals[0].items[0] is exit.locals[1]
    assert exit.locals[1] is not exit.locals[2] and exit.locals[3] is NULL
    assert exit.stack[0].source == 3 and exit.stack[1].obj is ...


def change(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize("old, new", [
    ("add.dd", "subtract.dd"), ("!0  ; line 12", "!2  ; line 12"), ("line 12", "line 14"), ("const 0.1", "const 0.2"),
    ("0x7fc00001", "0x7fc00002"), ("-0.0)", "0.0)"), ("%0, %1 !0", "%1, %0 !0"), ("b1(%2)", "b1(%3)"),
    ("axes=None", "axes=()"), ("v0, #0)", "v0, v1)"), ("'a;b'", "'a;c'"), ("s1", "s2"), ("unit=10", "unit=12"),
    ("list()", "tuple()"), ("float64[2C] (%2, %3) =", "float64[2A] (%2, %3) ="), ("(%2, %3) = ew", "(%3, %3) = ew"),
])
def test_structural_equality_sees(old, new):
    assert structurally_equal(parse_graph(TEXT, [np.add, int]), parse_graph(TEXT, [np.add, int]))
    assert not structurally_equal(parse_graph(TEXT, [np.add, int]), parse_graph(change(TEXT, old, new), [np.add, int]))


def test_structural_equality_ignores_numbers():
    assert structurally_equal(parse_graph(TEXT, [np.add, int]), parse_graph(TEXT.replace("%9", "%99"), [np.add, int]))


@pytest.mark.parametrize("old, new, message", [
    ("  exit 1\n", "  exit 1\n  exit 1\n", "behind the end"),
    ("%5: float32 = const 0.1", "%4: float32 = const 0.1", "defined twice"),
    ("%0, %1 !0", "%0, %77 !0", "not defined: %77"),
    ("jump b2()", "jump b7()", "no block b7"),
    ("float32 = const 0.1", "flout32 = const 0.1", "flout32"),
    ("exit 2: call", "exit 3: call", "out of turn"),
    ("'a;b'", "'a;b", "quotes"),
    ("const 0.1", "const 0.1 0.2", "end of the line"),
    ("arg='shape'", "urg='shape'", "a field of an exit"),
    ("#0=v1", "v1", "#0 is not defined"),
    ("complex = const (1.0, -0.0)", "complex = const 1.0", "expected"),
])
def test_wrong_text_is_refused(old, new, message):
    with pytest.raises(ValueError, match=message):
        parse_graph(change(TEXT, old, new))
