"""View propagation, by text."""
import numpy as np

from jitcore.ir.interp import run
from jitcore.ops.table import OPS
from jitcore.passes import views

from .texts import expect, graph_of, unchanged


def body(lines: str, values: str = "%12", layout: str = "C") -> str:
    return f"""
input %0: float64[2{layout}] (%2, %3)
input %1: float64
b0:
  %2: int = dim %0 {{axis=0}}
  %3: int = dim %0 {{axis=1}}
  %4: int = const 0
{lines}
  exit 1
exit 1: return values({values}) result=v0
exit 2: leave unit=2
"""


TRANSPOSED = """
  %5: float64[2C] (%2, %3) = ew.add.dd->d %0, %1 !0
  %6: int = stride %5 {axis=0}
  %7: int = stride %5 {axis=1}
  %8: float64[2F] (%3, %2) = view.transpose %5, %4, %7, %6 {arg=(1, 0)}
  %12: float64[2F] (%3, %2) = ew.exp.d->d %8 !0"""


def test_transpose():
    expect(body(TRANSPOSED), views.run, body("""
  %6: int = stride %0 {axis=0}
  %7: int = stride %0 {axis=1}
  %13: float64[2F] (%3, %2) = view.transpose %0, %4, %7, %6 {arg=(1, 0)}
  %14: float64[2F] (%3, %2) = ew.add.dd->d %13, %1 {like=0} !0
  %12: float64[2F] (%3, %2) = ew.exp.d->d %14 !0"""))


def test_same_results():
    graph, moved = graph_of(body(TRANSPOSED)), graph_of(body(TRANSPOSED))
    assert views.run(moved) == 1
    for shape in ((3, 4), (1, 4), (4, 1), (0, 3)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        (exit, (a,)), (other, (b,)) = (run(g, [x, np.float64(2)], OPS) for g in (graph, moved))
        assert exit == other == 1 and a.strides == b.strides and a.tobytes() == b.tobytes()


SLICED = """
  %5: float64[2C] (%2, %3) = ew.add.dd->d %0, %1{exit}
  %6: int = stride %5 {{axis=0}}
  %7: int = stride %5 {{axis=1}}
  %9: int = const 1
  %10: int = idx.satsub %2, %9
  %8: float64[2C] (%10, %3) = view.slice %5, %6, %6, %7 {{arg=(1, None, None)}}
  %12: float64[2C] (%10, %3) = ew.exp.d->d %8"""


def test_slice_only_without_reports():
    # Elements outside of the slice would no longer be looked at.
    unchanged(body(SLICED.format(exit=" !0")), views.run)
    expect(body(SLICED.format(exit="")), views.run, body("""
  %6: int = stride %0 {axis=0}
  %7: int = stride %0 {axis=1}
  %9: int = const 1
  %10: int = idx.satsub %2, %9
  %13: float64[2C] (%10, %3) = view.slice %0, %6, %6, %7 {arg=(1, None, None)}
  %14: float64[2C] (%10, %3) = ew.add.dd->d %13, %1
  %12: float64[2C] (%10, %3) = ew.exp.d->d %14"""))


def test_what_is_seen_stays():
    unchanged(body(TRANSPOSED, "%8"), views.run)          # its base is the operation's result
    unchanged(body(TRANSPOSED, "%5, %12"), views.run)


def test_other_uses_need_the_whole():
    unchanged(body(TRANSPOSED + "\n  %11: float64[2C] (%2, %3) = ew.exp.d->d %5", "%11, %12"), views.run)


def test_a_reduction_sees_the_order():
    unchanged(body(TRANSPOSED.replace("float64[2F] (%3, %2) = ew.exp.d->d %8 !0",
                                      "float64 = reduce.add.dd->d %8 {axes=None, keepdims=False} !0")), views.run)


def test_strided_operands_have_other_strides():
    unchanged(body(TRANSPOSED.replace("%5: float64[2C]", "%5: float64[2A]").replace("2F] (%3, %2)", "2A] (%3, %2)"),
                   layout="A"), views.run)


def test_items_of_another_size():
    unchanged(body(TRANSPOSED.replace("float64[2C] (%2, %3) = ew.add.dd->d", "bool[2C] (%2, %3) = ew.less.dd->?")
                   .replace("float64[2F] (%3, %2) = view", "bool[2F] (%3, %2) = view")
                   .replace("float64[2F] (%3, %2) = ew.exp.d->d %8 !0", "bool[2F] (%3, %2) = ew.logical_not.?->? %8")),
              views.run)


def test_an_exit_in_between_comes_first():
    check = "  same %2, %3 !2\n  %8:"
    unchanged(body(TRANSPOSED.replace("  %8:", check)), views.run)


def test_stores():
    unchanged(body(TRANSPOSED + "\n  store %12, %1, %4, %4"), views.run)


def test_chain():
    """The view moves up through a chain, one operation after the other."""
    graph = graph_of(body(TRANSPOSED.replace("ew.add.dd->d %0, %1 !0", "ew.add.dd->d %15, %1 !0").replace(
        "\n  %5", "\n  %15: float64[2C] (%2, %3) = ew.sqrt.d->d %0 !0\n  %5", 1)))
    assert views.run(graph) == 2
    ops = [(node.op, node.attrs.get("op")) for node in graph.nodes() if node.op in ("ew", "view")]
    assert ops == [("view", None), ("ew", "sqrt"), ("ew", "add"), ("ew", "exp")]


def test_no_second_array_is_filled():
    """Two operands that cannot be seen through themselves would be filled instead of one result."""
    def source(first, second):
        return body(TRANSPOSED.replace("ew.add.dd->d %0, %1 !0", "ew.add.dd->d %15, %16 !0").replace(
            "\n  %5", f"\n  %15: float64[2C] (%2, %3) = {first}\n  %16: float64[2C] (%2, %3) = {second}\n  %5", 1))

    broadcast = "ew.add.dd->d %0, %20"
    row = "  %20: float64[1C] (%3) = splat %1\n  %4: int = const 0"
    unchanged(source(broadcast, broadcast).replace("  %4: int = const 0", row), views.run)
    graph = graph_of(source(broadcast, "ew.sqrt.d->d %0").replace("  %4: int = const 0", row))
    assert views.run(graph) == 2


def test_a_broadcast_view_stays():
    unchanged(body("""
  %5: float64[2C] (%2, %3) = ew.exp.d->d %0
  %6: float64[3A] (%2, %2, %3) = view.broadcast %5, %4, %4, %4, %4 {arg=0}
  %12: float64[3A] (%2, %2, %3) = ew.exp.d->d %6"""), views.run)


def test_operands_that_are_broadcast():
    unchanged(body(TRANSPOSED.replace("ew.add.dd->d %0, %1 !0", "ew.add.dd->d %0, %20 !0").replace(
        "\n  %5", "\n  %21: int = const 1\n  %20: float64[2C] (%21, %3) = splat %1\n  %5", 1)), views.run)


VIEWS = """
  %5: int = stride %0 {{axis=0}}
  %6: int = stride %0 {{axis=1}}
  %7: float64[2F] (%3, %2) = view.transpose %0, {first}, %6, %5 {{arg=(1, 0)}}
  %8: float64[2C] (%2, %3) = view.transpose %7, {second}, %5, %6 {{arg=(1, 0)}}
  %12: float64[2C] (%2, %3) = ew.exp.d->d %8"""


def test_views_of_views():
    expect(body(VIEWS.format(first="%5", second="%6")), views.run,
           body(VIEWS.format(first="%5", second="%6").replace("\n  %8:", "\n  %13: int = idx.add %5, %6\n  %8:")
                .replace("%7, %6, %5, %6 {arg=(1, 0)}", "%0, %13, %5, %6 {arg=((1, 0), (1, 0))}")))
    expect(body(VIEWS.format(first="%5", second="%4")), views.run,
           body(VIEWS.format(first="%5", second="%4").replace("%7, %4, %5, %6 {arg=(1, 0)}",
                                                                  "%0, %5, %5, %6 {arg=((1, 0), (1, 0))}")))


def test_a_view_of_everything():
    rest = VIEWS.format(first="%4", second="%4").split("\n  %8:")[0]
    expect(body(VIEWS.format(first="%4", second="%4")), views.run,
           body(rest + "\n  %12: float64[2C] (%2, %3) = ew.exp.d->d %0"))
    # A view that is given away is another object than its array.
    expect(body(VIEWS.format(first="%4", second="%4"), "%8"), views.run,
           body(VIEWS.format(first="%4", second="%4").replace("%7, %4, %5, %6 {arg=(1, 0)}",
                                                                  "%0, %4, %5, %6 {arg=((1, 0), (1, 0))}"), "%8"))


def test_a_view_of_a_slice_leaves_elements_out():
    """Or an operation whose reports matter would be moved behind it."""
    lines = """
  %9: float64[2C] (%2, %3) = ew.sqrt.d->d %0 !0
  %5: int = stride %9 {axis=0}
  %6: int = stride %9 {axis=1}
  %10: int = const 1
  %11: int = idx.satsub %2, %10
  %7: float64[2C] (%11, %3) = view.slice %9, %5, %5, %6 {arg=0}
  %8: float64[2F] (%3, %11) = view.transpose %7, %4, %6, %5 {arg=(1, 0)}
  %12: float64[2F] (%3, %11) = ew.exp.d->d %8"""
    graph = graph_of(body(lines))
    views.run(graph)
    kinds = [node.attrs["kind"] for node in graph.nodes() if node.op == "view"]
    assert kinds == ["slice", "slice"]
    assert not any(node.op == "view" and node.operands[0] is graph.inputs[0] for node in graph.nodes())
