"""What fuses with what: plans in text."""
from __future__ import annotations

from textwrap import dedent

import numpy as np

from jitcore.ir.graph import Exit, Terminator, Value
from jitcore.kernels import Plan, plan
from jitcore.ops.table import OPS

from ..backends.harness import INT, Maker, array, strong

X = np.zeros((3, 4))
ROW = np.zeros(4)


def planned(m: Maker, *results: Value) -> Plan:
    m.block.terminator = Terminator("exit", exit=m.graph.add_exit(Exit("return", results)))
    return plan(m.graph, OPS)


def sizes(p: Plan) -> list[tuple[int, int]]:
    return [(len(k.outputs), len(k.reductions)) for k in p.kernels()]


def test_text() -> None:
    m = Maker(X, ROW, np.float64(2))
    a, b, c = m.inputs
    t = m.ew("multiply", m.ew("subtract", a, b, line=3), c, line=4)
    p = planned(m, m.ew("exp", t, line=5), m.reduce("add", t, (1,)))
    assert str(p) == dedent("""\
        b0:
          host %1: int = dim(%0) axis=0
          host %2: int = dim(%0) axis=1
          kernel 0 over (%1, %2) C  # lines 3, 4, 5
            e0: d = element %0(%1, %2) float64[2C]
            e1: d = element %3(%2) float64[1C]
            e2: d = subtract.dd->d(e0, e1)  # reports: exit 0, line 3
            e3: d = scalar %4
            e4: d = multiply.dd->d(e2, e3)  # reports: exit 0, line 4
            e5: d = exp.d->d(e4)  # reports: exit 0, line 5
            %7: float64[2C] = store e5
            %8: float64[1C] = add.dd->d of e4 over axes (1,)  # reports: exit 0
        """)


def test_broadcast_of_a_result_is_stored_first() -> None:
    """exp of a row is computed once a row, not once an element."""
    m = Maker(X, ROW)
    a, b = m.inputs
    p = planned(m, m.ew("add", a, m.ew("exp", b)))
    assert sizes(p) == [(1, 0), (1, 0)]
    assert [len(k.shape) for k in p.kernels()] == [1, 2]


def test_several_outputs_share_a_kernel() -> None:
    m = Maker(X, X)
    a, b = m.inputs
    t = m.ew("multiply", a, b)
    p = planned(m, t, m.ew("add", t, a), m.ew("less", t, b), m.reduce("maximum", t), m.reduce("add", t))
    assert sizes(p) == [(3, 2)]


def test_other_axes_and_orders_do_not_share() -> None:
    m = Maker(X, np.asfortranarray(X))
    a, b = m.inputs
    p = planned(m, m.reduce("add", a, (0,)), m.reduce("add", a, (1,)), m.ew("add", a, a), m.ew("add", b, b))
    assert sorted(sizes(p)) == [(0, 1), (1, 0), (1, 1)]
    assert sorted(k.layout for k in p.kernels()) == ["C", "C", "F"]


def test_views_and_calls_need_arrays() -> None:
    m = Maker(ROW)
    a, = m.inputs
    t = m.ew("add", a, a)
    step = m.node("stride", t, type=INT, axis=0)
    half = m.node("view", t, m.const(0, INT), step, type=array("d", 1, "A"), shape=t.shape, kind="slice", arg=None)
    u = m.ew("multiply", half, t)
    index = m.graph.add_object(np.sort)
    s = m.node("call", u, type=array("d", 1, "C"), shape=u.shape, callee=index, template=(("v", 0),), kwnames=(),
               exit=0)
    p = planned(m, m.ew("add", s, u))
    assert [getattr(step, "op", "kernel") for step in p.steps[m.block]] == \
        ["dim", "kernel", "stride", "const", "view", "kernel", "call", "kernel"]


def test_dear_values_are_stored_and_cheap_ones_computed_again() -> None:
    def softmax_like(op: str) -> list[tuple[int, int]]:
        m = Maker(ROW)
        e = m.ew(op, m.inputs[0])
        return sizes(planned(m, m.ew("divide", e, m.reduce("add", e))))

    assert softmax_like("exp") == [(1, 1), (1, 0)]
    assert softmax_like("negative") == [(0, 1), (1, 0)]


def test_reports_are_kept() -> None:
    """An operation that nobody reads but that NumPy would report about runs all the same."""
    m = Maker(ROW)
    a, = m.inputs
    m.ew("divide", a, a)
    m.ew("multiply", a, a, exit=None)
    p = planned(m, a)
    assert sizes(p) == [(0, 0)] and [i.op for i in p.kernels()[0].body if i.op] == ["divide"]
    assert p.kernels()[0].exit == 0


def test_what_numpy_reduces() -> None:
    """No certain order: the operand is stored and the node stays with the host."""
    strided = np.zeros((6, 8))[::2, ::2]
    m = Maker(strided, np.zeros(4, "F"), np.zeros((3, 4), "f"))
    a, z, s = m.inputs
    p = planned(m, m.reduce("add", m.ew("add", a, a)), m.reduce("add", z), m.reduce("add", s, (0,), sig="dd->d"))
    assert sizes(p) == [(1, 0)]
    assert [n.op for n in p.steps[m.block] if hasattr(n, "op")].count("reduce") == 3


def test_stores_end_what_waits() -> None:
    m = Maker(ROW, 0)
    a, i = m.inputs
    fresh = m.node("copy", a, type=array("d", 1, "C"), shape=a.shape, order="C")
    before = m.ew("add", fresh, fresh)
    m.node("store", fresh, m.const(np.float64(9)), i)
    p = planned(m, m.ew("multiply", before, fresh))
    assert [getattr(s, "op", "kernel") for s in p.steps[m.block]] == ["dim", "const", "kernel", "store", "kernel"]
    assert sizes(p) == [(2, 0), (1, 0)]


def test_values_of_other_blocks_are_stored() -> None:
    m = Maker(ROW)
    a, = m.inputs
    t = m.ew("add", a, a)
    first, second = m.block, m.graph.new_block()
    first.terminator = Terminator("jump", targets=[(second, ())])
    m.block = second
    p = planned(m, m.ew("multiply", t, a))
    assert [len(s) for s in p.steps.values()] == [2, 1] and sizes(p) == [(1, 0), (1, 0)]


def test_numbers_of_any_shape_fuse() -> None:
    m = Maker(X, ROW, np.float64(2))
    a, b, c = m.inputs
    full = m.node("splat", c, type=array("d", 1, "C"), shape=b.shape)
    p = planned(m, m.ew("add", a, full))
    assert sizes(p) == [(1, 0)] and [i.kind for i in p.kernels()[0].body] == ["element", "scalar", "ew"]
    assert strong("d") == c.type
