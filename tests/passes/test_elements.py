"""Small arrays as their elements, by text."""
from jitcore.ir.build import structurally_equal
from jitcore.ir.text import print_graph
from jitcore.ir.verify import verify
from jitcore.passes import elements

from .texts import after, graph_of, unchanged


def gives(before: str, wanted: str) -> None:
    """The pass turns ``before`` into ``wanted``, but for the numbers of values."""
    graph = graph_of(before)
    assert elements.run(graph) > 0
    verify(graph)
    assert structurally_equal(graph, graph_of(wanted)), f"found:\n{print_graph(graph)}\nwanted:\n{wanted}"


HEAD = """
input %0: float64
input %1: float64[1A] (%2)
input %20: int
b0:
  %2: int = dim %1 {axis=0}
  %3: int = const 2
  %4: int = const 0
  %5: int = const 1
"""


def body(lines: str, exit: str = "values(%9) result=v0") -> str:
    return f"{HEAD}{lines}\n  exit 1\nexit 1: return {exit}\nexit 2: restart reason='another'\n"


PAIR = "  %6: float64[1C] (%3) = pack %0, %0\n"


def test_each_element():
    gives(body(PAIR + """
  %7: float64[1C] (%3) = ew.add.dd->d %6, %0 !2
  %9: float64[1C] (%3) = ew.multiply.dd->d %7, %7""".strip("\n")), body("""
  %23: float64 = ew.add.dd->d %0, %0 !2
  %24: float64 = ew.add.dd->d %0, %0 !2
  %25: float64 = ew.multiply.dd->d %23, %23
  %26: float64 = ew.multiply.dd->d %24, %24""".strip("\n"), "values(%25, %26) result=array('d', 'C', (2,), v0, v1)"))


def test_one_array_stays_one():
    text, _ = after(body(PAIR, "values(%6, %6, %0) result=tuple(v0, v1, list(v0), v2)"), elements.run)
    assert "values(%0, %0, %0) result=tuple(#0=array('d', 'C', @0, v0, v1), #0, list(#0), v2)" in text


def test_an_operand_from_outside_is_read_where_it_is_used():
    """Its length is 2 or 1."""
    gives(body(PAIR + """
  %7: int = bcast %2, %3 !0
  %9: float64[1C] (%3) = ew.add.dd->d %6, %1""".strip("\n")), body("""
  %7: int = bcast %2, %3 !0
  %40: int = const 0
  %41: float64 = load %1, %40
  %43: int = const 1
  %44: int = idx.sub %2, %43
  %45: int = idx.min %43, %44
  %46: float64 = load %1, %45
  %42: float64 = ew.add.dd->d %0, %41
  %47: float64 = ew.add.dd->d %0, %46""".strip("\n"), "values(%42, %47) result=array('d', 'C', (2,), v0, v1)"))


def test_elements_by_number_and_views():
    gives(body(PAIR.replace("%0, %0", "%0, %30").replace("  %6", "  %30: float64 = const 1.5\n  %6") + """
  %7: int = stride %6 {axis=0}
  %8: int = idx.sub %4, %7
  %10: float64[1A] (%3) = view.slice %6, %7, %8 {arg=(None, None, -1)}
  %11: float64 = load %10, %4
  %12: float64 = load %6, %5""".strip("\n"), "values(%11, %12) result=tuple(v0, v1)"), body("""
  %30: float64 = const 1.5
  %7: int = const 8
  %8: int = idx.sub %4, %7""".strip("\n"), "values(%30, %30) result=tuple(v0, v1)"))


def test_what_is_written_to_is_in_memory():
    gives(body("""
  %6: float64[1C] (%3) = splat %0
  store %6, %0, %4
  %9: float64[1C] (%3) = ew.add.dd->d %6, %0""".strip("\n"), "values(%9, %6) result=tuple(v0, v1)"), body("""
  %6: float64[1C] (%3) = pack %0, %0
  store %6, %0, %4
  %40: int = const 0
  %41: float64 = load %6, %40
  %42: int = const 1
  %43: float64 = load %6, %42
  %44: float64 = ew.add.dd->d %41, %0
  %45: float64 = ew.add.dd->d %43, %0""".strip("\n"),
        "values(%44, %45, %6) result=tuple(array('d', 'C', (2,), v0, v1), v2)"))


def test_a_view_that_is_seen_needs_its_array():
    text, _ = after(body(PAIR + """
  %7: int = stride %6 {axis=0}
  %9: float64[1A] (%5) = view.slice %6, %7, %7 {arg=(1, None, None)}""".strip("\n")), elements.run)
    assert "pack" in text and "view.slice" in text


def test_an_index_that_varies_needs_memory():
    unchanged(body(PAIR + "  %8: int = wrap %20, %3 !0\n  %9: float64 = load %6, %8"), elements.run)


def test_large_and_unknown_lengths_stay():
    unchanged(body("  %8: int = const 10\n  %9: float64[1C] (%8) = splat %0"), elements.run)
    unchanged(body("  %9: float64[1C] (%2) = splat %0"), elements.run)


def test_an_operation_that_is_not_sure_to_be_alike_stays():
    unchanged(body(PAIR + "  %9: float64[1C] (%3) = ew.exp.d->d %6 !0"), elements.run)


def test_a_store_of_elements():
    gives(body(PAIR + "  same %2, %3 !2\n  assign %1, %6 !2", "result=s0"), body("""
  same %2, %3 !2
  %30: int = stride %1 {axis=0}
  %31: int = const 8
  %32: bool = py.ge %30, %31
  %33: int = const -8
  %34: bool = py.le %30, %33
  %35: bool = py.or %32, %34
  check %35 !2
  %36: int = const 0
  store %1, %0, %36
  %37: int = const 1
  store %1, %0, %37""".strip("\n"), "result=s0"))
    unchanged(body(PAIR + "  assign %1, %6 !2", "result=s0"), elements.run)      # the length may be another


LOOP = """
input %0: float64
input %1: int
b0:
  %2: int = const 2
  %3: int = const 0
  %4: int = const 1
  %5: float64[1C] (%2) = pack %0, %0
  jump b1(%3, %5{first})
b1(%6: int, %7: float64[1C] (%2){param}):
  %8: bool = py.lt %6, %1
  branch %8 b2(), b3()
b2:
  %9: int = py.add %6, %4 !0
  %10: float64[1C] (%2) = ew.add.dd->d %7, %0
  jump b1(%9, %10{following})
b3:
  exit 1
exit 1: return values({values}) result=tuple({recipes})
"""


def test_a_loop_carries_elements():
    text, _ = after(LOOP.format(first="", param="", following="", values="%7, %6", recipes="v0, v1"), elements.run)
    assert "[1C]" not in text and "array('d', 'C', @0, v0, v1), v2" in text


def test_two_names_that_may_be_one_array_stay():
    """The array of the trip before, which is the same one at first."""
    former = LOOP.format(first=", %5", param=", %12: float64[1C] (%2)", following=", %7", values="%7, %12",
                         recipes="v0, v1")
    text, _ = after(former, elements.run)
    assert "%12: float64[1C] (%2)" in text and "pack" in text
    text, _ = after(LOOP.format(first="", param="", following="", values="%7, %5", recipes="v0, v1"), elements.run)
    assert "%7: float64[1C] (%2)" in text


def test_a_graph_that_would_grow_too_much_keeps_its_larger_arrays():
    lines = "  %30: int = const 9\n  %31: float64[1C] (%30) = splat %0\n  %32: float64[1C] (%3) = splat %0\n"
    lines += "".join(f"  %{k}: float64[1C] (%{30 if k < 300 else 3}) = ew.add.dd->d %{31 if k < 300 else 32}, %0\n"
                     for k in range(100, 400))
    graph = graph_of(body(lines, "values(%299, %399) result=tuple(v0, v1)"))
    assert elements.run(graph) > 0
    assert {node.op for node in graph.nodes() if node.result is not None and node.result.shape} == {"ew", "splat"}
    assert "array('d', 'C', @0" in str(graph) and "[1C] (%30) = ew" in str(graph)
