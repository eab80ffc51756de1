"""The interpreter: each opcode against NumPy or Python said another way, exits, and claims that do not hold."""
import numpy as np
import pytest

from jitcore.ir.interp import WrongRun, run
from jitcore.ir.text import parse_graph
from jitcore.ir.verify import verify
from jitcore.ops.table import OPS
from jitcore.passes.tables import PY_FUNCTIONS


def go(body: str, *inputs, objects=()):
    """Run a body whose exit 1 is its regular end; exit 2 is there for the taking."""
    graph = parse_graph(f"region 'test' ''\n{body}\nexit 0: restart\nexit 1: return values({go.values}) result=v0\n"
                        "exit 2: leave unit=2\n", objects)
    verify(graph)
    return run(graph, list(inputs), OPS, PY_FUNCTIONS)


def result(lines: str, *inputs, head: str = "", value: str = "%9", objects=()):
    go.values = value
    head = head or "\n".join(f"input %{k}: {kind(x)}" for k, x in enumerate(inputs))
    axes = inputs[0].ndim if inputs and isinstance(inputs[0], np.ndarray) else 0
    dims = "".join(f"\n  %{20 + axis}: int = dim %0 {{axis={axis}}}" for axis in range(axes))
    exit, values = go(f"{head}\nb0:{dims}\n  {lines}\n  exit 1", *inputs, objects=objects)
    return values[0] if exit == 1 else f"exit {exit}"


def kind(x):
    if isinstance(x, np.ndarray):
        layout = "C" if x.flags.c_contiguous else "F" if x.flags.f_contiguous else "A"
        lengths = ", ".join(f"%{20 + axis}" for axis in range(x.ndim))
        return f"{x.dtype.name}[{x.ndim}{layout}]" + (f" ({lengths})" if x.ndim else "")
    return type(x).__name__ if not isinstance(x, np.bool_) else "bool_"


def same(a, b):
    assert type(a) is type(b), (a, b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)
    else:
        assert a == b or (a != a and b != b)


X = np.arange(12.0).reshape(3, 4)
V = np.array([4, -7, 9])

CASES = [
    ("%9: float64 = const 2.5", (), np.float64(2.5)),
    ("%9: int = py.add %0, %1 !2", (3, 4), 7),
    ("%9: int = py.add %0, %1 !2", (2**63 - 1, 1), "exit 2"),
    ("%9: float = py.truediv %0, %1 !2", (1.0, 0.0), "exit 2"),
    ("%9: float = py.pow %0, %1 !2", (-8.0, 1 / 3), "exit 2"),           # a complex number
    ("%9: bool = py.lt %0, %1", (3, 4.5), True),
    ("%9: int = idx.add %0, %1", (3, 4), 7), ("%9: int = idx.sub %0, %1", (3, 4), -1),
    ("%9: int = idx.mul %0, %1", (3, 4), 12), ("%9: int = idx.max %0, %1", (3, 4), 4),
    ("%9: int = idx.min %0, %1", (3, 4), 3), ("%9: int = idx.satsub %0, %1", (3, 4), 0),
    ("%9: int = idx.satsub %0, %1", (9, 4), 5), ("%9: int = idx.floordiv %0, %1", (-9, 4), -3),
    ("%9: float = unbox %0", (np.float32(0.5),), 0.5), ("%9: int = unbox %0", (np.uint8(200),), 200),
    ("%9: float64 = unbox %0", (0.5,), np.float64(0.5)), ("%9: bool = unbox %0", (np.True_,), True),
    ("%9: int = dim %0 {axis=1}", (X,), 4), ("%9: int = stride %0 {axis=0}", (X,), 32),
    ("%9: int = bcast %0, %1 !2", (1, 4), 4), ("%9: int = bcast %0, %1 !2", (4, 1), 4),
    ("%9: int = bcast %0, %1 !2", (1, 0), 0), ("%9: int = bcast %0, %1 !2", (3, 4), "exit 2"),
    ("same %0, %1 !2\n  %9: int = const 1", (3, 4), "exit 2"), ("same %0, %1 !2\n  %9: int = const 1", (3, 3), 1),
    ("check %0 !2\n  %9: int = const 1", (False,), "exit 2"), ("check %0 !2\n  %9: int = const 1", (True,), 1),
    ("%9: int = wrap %0, %1 !2", (-1, 4), 3), ("%9: int = wrap %0, %1 !2", (3, 4), 3),
    ("%9: int = wrap %0, %1 !2", (4, 4), "exit 2"), ("%9: int = wrap %0, %1 !2", (-5, 4), "exit 2"),
    ("%9: float64[2C] (%20, %21) = ew.add.dd->d %0, %1", (X, np.float64(1)), X + 1),
    ("%9: float64 = ew.add.dd->d %0, %1", (np.float64(1), np.float64(2)), np.float64(3)),
    ("%9: float64[2C] (%20, %21) = ew.divide.dd->d %0, %1 !2", (X, np.float64(0)), "exit 2"),
    ("%9: float64 = ew.divide.dd->d %0, %1", (np.float64(1), np.float64(0)), np.float64(np.inf)),
    ("%9: float64 = ew.divide.dd->d %0, %1 {reports=('over',)} !2", (np.float64(1), np.float64(0)), np.float64(np.inf)),
    ("%9: float64 = ew.multiply.dd->d %0, %0 !2", (np.float64(1e200),), "exit 2"),
    ("%9: float64 = ew.multiply.dd->d %0, %0 !2", (np.float64(1e-200),), np.float64(0)),    # underflow is ignored
    ("%9: float64 = ew.multiply.dd->d %0, %0 {reports=('under',)} !2", (np.float64(1e-200),), "exit 2"),
    ("%9: int64[1C] (%20) = ew.floor_divide.ll->l %0, %1 !2", (V, np.int64(0)), "exit 2"),
    ("%9: int64[1C] (%20) = ew.power.ll->l %0, %1 !2", (V, np.int64(-1)), "exit 2"),        # NumPy raises
    ("%9: float64 = ew.where.?dd->d %0, %1, %2", (np.True_, np.float64(1), np.float64(2)), np.float64(1)),
    ("%9: float64[2C] (%20, %21) = ew.where.?dd->d %1, %0, %2", (X, np.False_, np.float64(2)), X * 0 + 2),
    ("%9: float64 = ew.modf.d->dd %0 {output=1}", (np.float64(2.5),), np.float64(2)),
    ("%9: float64 = ew.imag.D->d %0", (np.complex128(1 - 2j),), np.float64(-2)),
    ("%9: float32[2C] (%20, %21) = cast.f %0", (X,), X.astype("f4")),
    ("%9: int8 = cast.b %0 !2", (300,), "exit 2"), ("%9: int8 = cast.b %0 !2", (-3,), np.int8(-3)),
    ("%9: float32 = cast.f %0 !2", (1e300,), "exit 2"), ("%9: float32 = cast.f %0", (1e300,), np.float32(np.inf)),
    ("%9: int64 = cast.l %0 !2", (np.float64(np.nan),), "exit 2"), ("%9: int64 = cast.l %0 !2", (np.float64(-2.7),),
                                                                    np.int64(-2)),
    # NumPy reads a Python int through a double: two roundings.
    ("%9: float32 = cast.f %0", ((2**24 + 1) * 2**30 + 1,), np.float32(float((2**24 + 1) * 2**30 + 1))),
    ("%9: float64[2C] (%20, %20) = splat %1", (V, np.float64(7)), np.full((3, 3), 7.0)),
    ("%9: int64[1C] (%20) = iota %1, %2", (V, np.int64(5), np.int64(-2)), np.array([5, 3, 1])),
    ("%9: float64[1C] (%21) = reduce.add.dd->d %0 {axes=(0,), keepdims=False}", (X,), X.sum(0)),
    ("%9: float64[2C] (%20, %8) = reduce.add.dd->d %0 {axes=(1,), keepdims=True}", (X,), X.sum(1, keepdims=True)),
    ("%9: float64 = reduce.maximum.dd->d %0 {axes=None, keepdims=False}", (X,), X.max()),
    ("%9: float64 = reduce.maximum.dd->d %0 {axes=None, keepdims=False} !2", (X[:0],), "exit 2"),
    ("%9: float64 = reduce.maximum.dd->d %0, %1 {axes=None, keepdims=False} !2", (X[:0], np.float64(3)), np.float64(3)),
    ("%9: float64 = reduce.add.dd->d %0 {axes=None, keepdims=False} !2", (np.array([np.inf, -np.inf]),), "exit 2"),
    ("%9: float64[2A] (%20, %21) = copy.K %0", (X[:, ::-1],), X[:, ::-1]),
    ("%9: float64[2F] (%20, %21) = copy.F %0", (X,), X),
    ("%9: float64 = load %0, %1, %2", (X, 1, 2), X[1, 2]),
    ("%9: float64[1A] (%20) = view.slice %0, %7, %6 {arg=0}", (X,), X[:, 3]),
    ("%9: float64[2F] (%21, %20) = view.transpose %0, %5, %8, %6 {arg=(1, 0)}", (X,), X.T),
    ("%9: object = object @0", (), len),
    ("%9: int = call %1, %0 {callee=0, template=(('v', 1),), kwnames=()} !2", (X, 1), 3),
    ("%9: int = call %0 {callee=0, template=(('v', 0),), kwnames=()} !2", (1,), "exit 2"),
    ("%9: float = call %0 {callee=0, template=(('v', 0),), kwnames=()} !2", (X,), "exit 2"),
]


OBJECTS = [
    ("%9: int = count %0", ([1, 2.0], 0), 2), ("%9: int = byte %0, %1", (b"ab", 1), 98),
    ("%9: object = item %0, %1 {of='list'}", ([1, "x"], 1), "x"),
    ("%9: object = item %0, %1 {of='tuple'}", (("y", 2), 0), "y"),
    ("%9: float = number %0 !2", (2.5, 0), 2.5), ("%9: float = number %0 !2", (2, 0), "exit 2"),
    ("%9: int = number %0 !2", (True, 0), "exit 2"), ("%9: int = number %0 !2", (2**63, 0), "exit 2"),
    ("%9: float64 = number %0 !2", (np.float64(2), 0), np.float64(2)),
    ("%9: float = number %0 !2", (np.float64(2), 0), "exit 2"),
]


@pytest.mark.parametrize("line, inputs, expected", OBJECTS)
def test_python_sequences(line, inputs, expected):
    same(result(line, *inputs, head="input %0: object\ninput %1: int"), expected)


@pytest.mark.parametrize("lines, inputs, wanted", CASES)
def test_opcode(lines, inputs, wanted):
    extra = ""
    if "%8" in lines:
        extra = f"%8: int = const {8 if 'transpose' in lines else 1}\n  "
    if "view." in lines:
        extra += "%7: int = const 24\n  %6: int = const 32\n  %5: int = const 0\n  "
    head = "object @0  ; len\n" + "\n".join(f"input %{k}: {kind(x)}" for k, x in enumerate(inputs))
    found = result(extra + lines, *inputs, head=head, objects=[len])
    same(found, wanted)


def test_a_view_shares_memory_and_a_copy_does_not():
    x = X.copy()
    view = result("%8: int = const 8\n  %7: int = const 0\n  %9: float64[1C] (%21) = view.slice %0, %7, %8 {arg=0}", x)
    assert np.shares_memory(view, x)
    view[1] = 99
    assert x[0, 1] == 99
    assert not np.shares_memory(result("%9: float64[2C] (%20, %21) = copy.C %0", x), x)


def test_store():
    x = X.copy()
    result("%9: int = const 1\n  store %0, %1, %9, %9", x, np.float64(-1))
    assert x[1, 1] == -1 and x.sum() == X.sum() - X[1, 1] - 1


def test_assign_reads_all_before_it_writes():
    x = np.arange(6.0)
    lines = ("%9: int = const 1\n  %8: int = const 8\n  %7: int = const 0\n  %6: int = idx.sub %20, %9\n"
             "  %5: float64[1A] (%6) = view.slice %0, %8, %8 {arg=0}\n"
             "  %4: float64[1A] (%6) = view.slice %0, %7, %8 {arg=0}\n  assign %5, %4 !0")
    result(lines, x)
    assert x.tolist() == [0, 0, 1, 2, 3, 4]


def test_assign_into_shared_elements_exits():
    x = np.zeros((1, 4))
    lines = ("%9: int = const 0\n  %8: int = const 8\n"
             "  %7: float64[2A] (%21, %21) = view.broadcast %0, %9, %9, %8 {arg=0}\n  assign %7, %1 !0")
    assert result(lines, x, np.float64(1)) == "exit 0" and not x.any()


LOOP = """\
region 'sum of squares' ''
input %0: int
b0:
  %1: int = const 0
  %2: int = const 1
  jump b1(%1, %1)
b1(%3: int, %4: int):
  %5: bool = py.lt %3, %0
  branch %5 b2(), b3()
b2:
  %6: int = py.mul %3, %3 !0
  %7: int = py.add %4, %6 !2
  %8: int = py.add %3, %2 !0
  jump b1(%8, %7)
b3:
  exit 1
exit 0: restart
exit 1: return values(%4) result=v0
exit 2: leave unit=2 values(%3, %4) locals[v0, v1]
"""


def test_loop():
    graph = parse_graph(LOOP)
    verify(graph)
    assert run(graph, [5], OPS, PY_FUNCTIONS) == (1, [30])
    assert run(graph, [-5], OPS, PY_FUNCTIONS) == (1, [0])
    with pytest.raises(WrongRun, match="too long"):
        run(graph, [10**9], OPS, PY_FUNCTIONS, fuel=100)


def test_exit_in_a_loop_has_the_values_of_that_moment():
    graph = parse_graph(LOOP.replace("%2: int = const 1", "%2: int = const 1\n  %9: int = const 9223372036854775800")
                        .replace("jump b1(%1, %1)", "jump b1(%1, %9)"))
    # 2**63 - 8 + 0 + 1 + 4 fits 64 bits, with 9 it does not.
    assert run(graph, [5], OPS, PY_FUNCTIONS) == (2, [3, 2**63 - 3])


@pytest.mark.parametrize("lines, inputs, message", [
    ("%9: float64[2F] (%20, %21) = splat %1", (np.zeros((2, 2)), 1.0), "needs"),
    ("%9: int = idx.mul %1, %1", (X, 2**40), "overflows"),
    ("%9: float64 = load %0, %1, %1", (X, 3), "outside"),
    ("%9: float64 = load %0, %1, %1", (X, -1), "outside"),
    ("store %0, %2, %1, %1\n  %9: int = const 0", (X, 4, np.float64(0)), "outside"),
    ("%8: int = const 8\n  %9: float64[2C] (%20, %20) = view.slice %0, %8, %8, %1 {arg=0}", (X, 2000), "outside"),
    ("%9: float64[1C] (%21) = reduce.add.dd->d %0 {axes=(1,), keepdims=False}", (X,), "has length 3"),
    ("%9: float64[2C] (%21, %20) = ew.negative.d->d %0", (X,), "has length"),
    ("%9: float64[2C] (%20, %21) = ew.power.dd->d %0, %1", (X,), "inputs are asked for"),
])
def test_claims_that_do_not_hold(lines, inputs, message):
    if message == "needs":
        # Contiguity in the wrong order: a C array given where an F one is promised.
        with pytest.raises(WrongRun, match=r"float64\[2F\]"):
            result("%9: int = const 0", X, head="input %0: float64[2F] (%20, %21)")
        return
    head = ""
    if message.startswith("inputs"):
        head = "input %0: float64[2C] (%20, %21)\ninput %1: float64"
    with pytest.raises(WrongRun, match=message):
        result(lines, *inputs, head=head)


def test_layout_claims():
    f = np.asfortranarray(X)
    claim = "%9: float64[2C] (%20, %21) = reduce.add.dd->d %0 {axes=(), keepdims=False}"
    text = ("region 'r' ''\ninput %0: float64[2A] (%20, %21)\nb0:\n  %20: int = dim %0 {axis=0}\n"
            f"  %21: int = dim %0 {{axis=1}}\n  {claim}\n  exit 0\nexit 0: restart\n")
    with pytest.raises(WrongRun, match=r"float64\[2C\]"):
        run(parse_graph(text), [f], OPS, PY_FUNCTIONS)
    assert run(parse_graph(text), [X], OPS, PY_FUNCTIONS) == (0, [])


def test_a_failure_without_an_exit_is_an_error():
    with pytest.raises(WrongRun, match="without an exit"):
        result("%9: int64[1C] (%20) = ew.power.ll->l %0, %1", V, np.int64(-1))
