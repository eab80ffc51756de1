"""Elementwise kernels against NumPy: shapes, memory orders, broadcasting, dtypes, reports."""
from __future__ import annotations

import numpy as np
import pytest

from jitcore.ir.graph import Terminator
from jitcore.ops.table import OPS

from .harness import BOOL, INT, Exit, Graph, Maker, Native, Unsupported, array, strong

RNG = np.random.default_rng(11)
LENGTHS = [0, 1, 2, 3, 7, 8, 15, 16, 17, 33, 100, 511, 512, 513, 1025, 4099]


def same(got: object, want: object) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)
    assert got.tobytes() == want.tobytes()
    assert all(g == w for g, w, n in zip(got.strides, want.strides, got.shape) if n > 1) or got.size == 0


def sample(shape: tuple[int, ...], dtype: str = "d") -> np.ndarray:
    if dtype == "?":
        return RNG.random(shape) < 0.5
    if dtype in "fdeFD":
        x = RNG.standard_normal(shape)
        return (x + 1j * RNG.standard_normal(shape)).astype(dtype) if dtype in "FD" else x.astype(dtype)
    return RNG.integers(1, 100, shape).astype(dtype)


def arrange(x: np.ndarray, how: str) -> np.ndarray:
    """The same elements in another memory order."""
    if how in "CF":
        return np.array(x, order=how)
    if how == "neg":
        wide = np.empty(x.shape, x.dtype)
        view = wide[tuple(slice(None, None, -1) for _ in x.shape)]
    elif how == "gap":
        view = np.empty(tuple(2 * n for n in x.shape), x.dtype)[tuple(slice(None, None, 2) for _ in x.shape)]
    else:       # 'mid': axes in an order that is neither C nor F
        order = [1, 0, *range(2, x.ndim)] if x.ndim > 2 else list(range(x.ndim))[::-1]
        base = np.empty([x.shape[k] for k in order], x.dtype)
        view = base.transpose(np.argsort(order))
    view[...] = x
    return view


def chain(m: Maker, a: object, b: object) -> object:
    return m.ew("subtract", m.ew("multiply", a, b), m.ew("add", a, a))


def test_lengths_are_run_time_values() -> None:
    m = Maker(sample((5,)), sample((5,)))
    f = m.finish(chain(m, *m.inputs))
    for n in LENGTHS:
        x, y = sample((n,)), sample((n,))
        exit, got = f(x, y)
        assert exit == 1 and f.kernels == 1
        same(got[0], x * y - (x + x))


@pytest.mark.parametrize("left", ["C", "F", "neg", "gap", "mid"])
@pytest.mark.parametrize("right", ["C", "F", "gap", "mid"])
def test_memory_orders(left: str, right: str) -> None:
    shape = (3, 4, 5)
    x, y = arrange(sample(shape), left), arrange(sample(shape), right)
    m = Maker(x, y)
    f = m.finish(chain(m, *m.inputs))
    for shape in [(3, 4, 5), (2, 3, 700), (70, 3, 2), (130, 1, 9)]:
        x, y = arrange(sample(shape), left), arrange(sample(shape), right)
        if [v.type.layout for v in m.inputs] != ["C" if a.flags.c_contiguous else "F" if a.flags.f_contiguous else "A"
                                                 for a in (x, y)]:
            continue
        exit, got = f(x, y)
        assert exit == 1
        same(got[0], x * y - (x + x))


@pytest.mark.parametrize("shapes", [((3, 4), (4,)), ((3, 4), (3, 1)), ((3, 1), (1, 4)), ((4,), (3, 1)),
                                    ((2, 3, 4), (3, 1)), ((2, 1, 4), (3, 1)), ((1,), (5,)), ((3, 4), ())])
@pytest.mark.parametrize("order", "CF")
def test_broadcasting(shapes: tuple[tuple[int, ...], ...], order: str) -> None:
    x, y = (np.array(sample(s), order=order) for s in shapes)
    m = Maker(x, y)
    f = m.finish(chain(m, *m.inputs))
    for factor in (1, 3, 200):
        grown = [tuple(n * factor if n > 1 else 1 for n in s) for s in shapes]
        if max(map(len, grown)) == 3 and factor == 200:
            continue
        x, y = (np.array(sample(s), order=order) for s in grown)
        exit, got = f(x, y)
        assert exit == 1
        same(got[0], x * y - (x + x))
    exit, got = f(*(np.array(sample(tuple(0 if n == 4 else n for n in s)), order=order) for s in shapes))


def test_lengths_that_do_not_fit() -> None:
    m = Maker(sample((3,)), sample((4,))[:3], share=False)
    f = m.finish(chain(m, *m.inputs))
    assert f(sample((3,)), sample((4,)))[0] == 0
    x, y = sample((1,)), sample((4,))
    same(f(x, y)[1][0], x * y - (x + x))
    same(f(y, x)[1][0], y * x - (y + y))


@pytest.mark.parametrize("dtype", list("?bBhHiIlLefdFD"))
def test_dtypes(dtype: str) -> None:
    x, y = sample((5,), dtype), sample((5,), dtype)
    m = Maker(x, y)
    a, b = m.inputs
    f = m.finish(m.ew("add", a, b), m.ew("multiply", a, b), m.ew("equal", a, b), m.ew("maximum", a, b))
    for n in (0, 1, 5, 64, 1000):
        x, y = sample((n,), dtype), sample((n,), dtype)
        exit, got = f(x, y)
        assert exit == 1 and f.kernels == 1
        for g, w in zip(got, (x + y, x * y, x == y, np.maximum(x, y))):
            same(g, w)


@pytest.mark.parametrize("source", list("?bHilLfd"))
@pytest.mark.parametrize("target", list("?bHilLefdD"))
def test_casts(source: str, target: str) -> None:
    x = np.abs(sample((40,), source)) if source != "?" else sample((40,), source)
    m = Maker(x)
    f = m.finish(m.cast(m.inputs[0], target))
    exit, got = f(x)
    assert exit == 1
    same(got[0], x.astype(target))


def test_casts_that_c_does_not_define() -> None:
    m = Maker(sample((4,)))
    f = m.finish(m.cast(m.inputs[0], "l"), m.cast(m.inputs[0], "B"))
    assert f(np.array([1.5, -0.5, 255.9]))[0] == 1
    for bad in (np.nan, np.inf, 1e19, -1e19, 256.0, -1.0):
        assert f(np.array([1.5, bad]))[0] == 0


def test_scalars_and_several_outputs() -> None:
    x = sample((300,))
    m = Maker(x, 2.5, 3)
    a, c, k = m.inputs
    t = m.ew("multiply", a, m.node("unbox", c, type=strong("d")))
    u = m.ew("add", t, m.node("cast", k, type=strong("d"), dtype="d"))
    f = m.finish(t, u, m.ew("greater", u, t))
    exit, got = f(x, 2.5, 3)
    assert exit == 1 and f.kernels == 1 and len(f.plan.kernels()) == 1
    for g, w in zip(got, (x * 2.5, x * 2.5 + 3, x * 2.5 + 3 > x * 2.5)):
        same(g, w)


def test_reports_are_decided_by_operation() -> None:
    m = Maker(sample((4,)), sample((4,)))
    a, b = m.inputs
    f = m.finish(m.ew("divide", a, b), m.ew("less", a, b))
    fine = np.array([1.0, 2.0, 4.0])
    assert f(fine, fine)[0] == 1
    assert f(np.array([1.0, 0.0]), np.array([2.0, 0.0]))[0] == 0
    # NaN raises the flag in a compare; the second look finds nothing that NumPy would report.
    x = np.array([1.0, np.nan, np.inf] * 10)
    exit, got = f(x, np.full(30, 2.0))
    exit, got = f(x, np.full(30, 2.0))
    assert exit == 1
    same(got[0], x / 2.0)
    for bad in ([np.inf, np.inf], [1e308, 1e-10], [1.0, 0.0]):
        assert f(np.array([1.0, bad[0]]), np.array([1.0, bad[1]]))[0] == 0
        exit, _ = f(x, np.full(30, 2.0))
        assert exit == 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        exit, got = f(np.array([1.0, 0.0]), np.array([0.0, 0.0]))
        assert exit == 1 and got[0][0] == np.inf and np.isnan(got[0][1])


def test_underflow_is_reported_where_asked() -> None:
    m = Maker(sample((4,)), np.float64(1))
    a, c = m.inputs
    f = m.finish(m.ew("multiply", a, a), m.ew("multiply", c, c))
    small = np.array([1.0, 1e-200])
    assert f(small, np.float64(1e-200))[0] == 1
    with np.errstate(under="warn"):
        assert f(small, np.float64(1))[0] == 0
        assert f(np.ones(3), np.float64(1e-200))[0] == 0
        assert f(np.ones(3), np.float64(1))[0] == 1


def test_unread_results_report() -> None:
    """What nobody reads is computed for its report; and what is the same for all elements too."""
    m = Maker(sample((4,)), sample((4,)))
    a, b = m.inputs
    m.ew("divide", a, b)
    f = m.finish(m.ew("add", a, a))
    ones = np.ones(600)
    assert f(ones, ones)[0] == 1 and f(ones, np.r_[ones[1:], 0.0])[0] == 0
    m = Maker(sample((4,)))
    a, = m.inputs
    one, none = (m.node("splat", m.const(np.float64(c)), type=array("d", 1), shape=a.shape) for c in (1, 0))
    f = m.finish(m.ew("add", a, m.ew("divide", one, none)))
    assert f(ones)[0] == 0


def test_blocks() -> None:
    """Operations without a lowering run as NumPy's own loops inside the kernel."""
    m = Maker(sample((4,)), sample((4,)))
    a, b = m.inputs
    t = m.ew("logaddexp", m.ew("multiply", a, a), b)
    f = m.finish(m.ew("add", m.ew("spacing", t), a), m.reduce("add", t))
    assert len(f.plan.kernels()) == 1
    for n in LENGTHS:
        x, y = sample((n,)), sample((n,))
        exit, got = f(x, y)
        assert exit == 1 and f.kernels == 1
        want = np.logaddexp(x * x, y)
        same(got[0], np.spacing(want) + x)
        same(got[1], want.sum())


def test_reports_of_blocks_are_numpys() -> None:
    """The flags of NumPy's own loops decide, whatever the compares beside them raise."""
    m = Maker(sample((4,)), sample((4,)))
    a, b = m.inputs
    f = m.finish(m.ew("logaddexp", a, b))
    x, y = np.full(40, np.nan), np.ones(40)
    with pytest.warns(RuntimeWarning):      # NumPy reports NaN operands here
        np.logaddexp(x, y)
    assert [f(x, y)[0] for _ in range(3)] == [0, 0, 0] and f(y, y)[0] == 1
    m = Maker(sample((4,)))
    f = m.finish(m.ew("arccos", m.inputs[0]), m.ew("less", m.inputs[0], m.inputs[0]), precision="numpy")
    x = np.array([np.nan, 0.5, 2.0] * 20)
    assert [f(x)[0] for _ in range(3)] == [0, 0, 0]
    x[2::3] = 0.1
    exit, got = f(x)
    assert exit == 1
    same(got[0], np.arccos(x))


def test_precision_numpy() -> None:
    x = sample((1000,))
    m = Maker(x)
    f = m.finish(m.ew("multiply", m.ew("exp", m.ew("sin", m.inputs[0])), m.inputs[0]), precision="numpy")
    exit, got = f(x)
    assert exit == 1 and f.kernels == 1
    same(got[0], np.exp(np.sin(x)) * x)


@pytest.mark.parametrize("op", [name for name, op in OPS.items()
                                if op.ufunc is not None and op.nin < 3 and op.nout == 1])
def test_every_ufunc(op: str) -> None:
    """Values within the promised bound for each op of the table, on a plain chain."""
    ufunc = OPS[op].ufunc
    done = 0
    for dtype in "?ilfd":
        try:
            sig = ufunc.resolve_dtypes((*[np.dtype(dtype)] * ufunc.nin, None))
        except TypeError:
            continue
        if any(d.char not in "?bBhHiIlLefdFD" for d in sig):
            continue
        x = np.abs(sample((70,), dtype)) % 3 if dtype != "?" else sample((70,), dtype)
        m = Maker(x)
        try:
            f = m.finish(m.ew(op, *[m.inputs[0]] * ufunc.nin))
        except Unsupported:
            continue
        with np.errstate(all="ignore"):
            want = ufunc(*[x] * ufunc.nin)
            exit, got = f(x)
        if exit == 0:
            assert OPS[op].reports | OPS[op].int_reports
            continue
        done += 1
        if OPS[op].exact:
            np.testing.assert_array_equal(got[0], want)
        else:
            np.testing.assert_allclose(got[0], want, rtol=4e-6 if want.dtype.itemsize < 8 else 2e-15)
    assert done or op in ("ldexp", "matmul"), op


def test_branches_and_params() -> None:
    """Two blocks that hand an array and a number to a third."""
    x = sample((6,))
    m = Maker(x, 1)
    a, n = m.inputs
    graph: Graph = m.graph
    entry = m.block
    cond = m.node("py", n, m.const(0, INT), type=BOOL, fn="gt", exit=0)
    then, other, join = (graph.new_block() for _ in range(3))
    entry.terminator = Terminator("branch", cond=cond, targets=[(then, ()), (other, ())])
    p = graph.add_param(join, array("d", 1), a.shape)
    q = graph.add_param(join, INT)
    m.block = then
    then.terminator = Terminator("jump", targets=[(join, (m.ew("add", a, a), m.const(7, INT)))])
    m.block = other
    other.terminator = Terminator("jump", targets=[(join, (a, n))])
    m.block = join
    r = m.ew("multiply", p, a)
    index = graph.add_exit(Exit("return", (r, q, p)))
    join.terminator = Terminator("exit", exit=index)
    f = Native(graph)
    exit, got = f(x, 3)
    same(got[0], (x + x) * x)
    assert got[1] == 7
    assert exit == 1
    exit, got = f(x, -3)
    assert exit == 1
    same(got[0], x * x)
    assert got[1] == -3 and got[2] is x


def test_loop() -> None:
    """A loop that carries an array: objects of earlier rounds are released."""
    x = sample((6,))
    m = Maker(x, 1)
    a, n = m.inputs
    graph = m.graph
    entry = m.block
    zero = m.const(0, INT)
    head, body, done = (graph.new_block() for _ in range(3))
    p, i = graph.add_param(head, array("d", 1), a.shape), graph.add_param(head, INT)
    entry.terminator = Terminator("jump", targets=[(head, (a, zero))])
    m.block = head
    cond = m.node("py", i, n, type=BOOL, fn="lt", exit=0)
    head.terminator = Terminator("branch", cond=cond, targets=[(body, ()), (done, ())])
    m.block = body
    nxt = m.node("py", i, m.const(1, INT), type=INT, fn="add", exit=0)
    body.terminator = Terminator("jump", targets=[(head, (m.ew("add", p, a), nxt))])
    done.terminator = Terminator("exit", exit=graph.add_exit(Exit("return", (p, i))))
    f = Native(graph)
    for rounds in (0, 1, 5):
        exit, got = f(x, rounds)
        assert exit == 1
        want = x
        for _ in range(rounds):
            want = want + x
        same(got[0], want)
        assert got[1] == rounds and f.kernels == rounds


def test_every_half_is_widened_exactly() -> None:
    """All 65,536, and none of them raises a flag: the kernel hands over for nothing."""
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    for char in "fd":
        for part in (x, x[:1], x[31:48], x[1:][::3]):
            m = Maker(part)
            got = m.finish(m.cast(m.inputs[0], char))
            for _ in range(3):
                exit, (result,) = got(part)
                assert exit == 1
                expected = part.astype(char)
                nan = np.isnan(expected)
                assert (np.isnan(result) == nan).all() and result[~nan].tobytes() == expected[~nan].tobytes()
