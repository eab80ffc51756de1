"""Several frames at once: what inlined callees look like when they are handed back, against plain runs."""
from __future__ import annotations

import gc
import sys
import threading
import types
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from jitcore import _core
from tests.frames.support import (
    UNBOUND,
    assert_no_leak,
    call_of,
    frames,
    instructions,
    slots,
    traceback,
    unit_of,
)

mode: dict[str, Any] = {}


def boom(y: Any) -> int:
    if mode.get("want") == y:
        chain = []
        for f in frames(sys._getframe(1)):
            if f.f_code.co_name in ("driver", "rebuild"):
                break
            chain.append((f.f_code.co_name, f.f_lineno, f.f_lasti, {k: v for k, v in f.f_locals.items() if k != "e"}))
        mode["chain"] = [x for x in chain if x[0] != "<lambda>"]
        mode["recursion"] = _core._testing_state()
    if mode.get("keep") is not None:
        mode["keep"].append(sys._getframe(1))
    if y == mode.get("raise"):
        raise ZeroDivisionError(y)
    return 1


def h(z: Any) -> Any:
    a = z + 1
    b = [a, 10][0] + boom(z) + (
        0)
    return a + b


def g(y: Any, *, kw: Any = 5) -> Any:
    t = y * 2
    u = t + boom(y) + kw
    return u - 5


def f(n: Any, k: Any) -> Any:
    acc = 0
    for i in range(n):
        try:
            acc = acc + k * g(i)
        except ZeroDivisionError as e:
            acc = acc - 1000
            mode["caught"] = traceback(e.__traceback__)
    return acc


def g3(y: Any) -> Any:
    s = 3
    r = s * h(y) + 1
    return r


def f3(n: Any, k: Any) -> Any:
    acc = 0
    for i in range(n):
        acc = (acc, k)[0] + g3(i)
    return acc


@cache
def load(function: Any, name: str) -> int:
    """The unit where the evaluation of a call of the global ``name`` begins."""
    found = instructions(function)
    k = next(k for k, i in enumerate(found) if i.opname == "LOAD_GLOBAL" and i.argval == name)
    return found[k - 1 if found[k - 1].opname == "PUSH_NULL" else k].offset // 2


def iterator(n: int, at: int) -> Iterator[int]:
    it = iter(range(n))
    for _ in range(at + 1):
        next(it)
    return it


def two(at: int = 3, n: int = 6, k: int = 7) -> list[Any]:
    acc = sum(k * (j * 2 + 1) for j in range(at))
    return [(f, slots(f, n=n, k=k, acc=acc, i=at), (iterator(n, at), acc, k), *call_of(f, "g"), None),
            (g, slots(g, y=at, kw=5, t=at * 2), (at * 2,), load(g, "boom"), 0, None)]


def three(at: int = 3, n: int = 6, k: int = 7) -> list[Any]:
    acc = sum(3 * ((j + 1) * 2 + 1) + 1 for j in range(at))
    return [(f3, slots(f3, n=n, k=k, acc=acc, i=at), (iterator(n, at), acc), *call_of(f3, "g3"), None),
            (g3, slots(g3, y=at, s=3), (3,), *call_of(g3, "h"), None),
            (h, slots(h, z=at, a=at + 1), (at + 1,), load(h, "boom"), 0, None)]


def rebuild(spec: list[Any]) -> Any:
    return _core._testing_rebuild(spec, (6, 7))


def driver(run: Callable[[], Any]) -> Any:
    return run()


def observe(run: Callable[[], Any], **modes: Any) -> tuple[Any, ...]:
    mode.clear()
    mode.update(modes)
    try:
        result = driver(run)
    except ZeroDivisionError as e:
        tb = [x for x in traceback(e.__traceback__) if x[0] in ("f", "g", "f3", "g3", "h", "boom")]
        result = ("raised", e.args, tb)
    return result, mode.get("chain"), mode.get("caught"), mode.get("recursion")


@pytest.fixture(autouse=True)
def _warm() -> None:
    mode.clear()
    for _ in range(50):         # specialised code inlines the calls
        f(6, 7)
        f3(6, 7)


@pytest.mark.parametrize("spec, plain", [(two, f), (three, f3)])
def test_result_and_frames(spec: Any, plain: Any) -> None:
    assert observe(lambda: rebuild(spec()), want=3)[:2] == observe(lambda: plain(6, 7), want=3)[:2]


def test_recursion_is_accounted_for() -> None:
    before = _core._testing_state()
    ours, plain = observe(lambda: rebuild(three()), want=3)[3], observe(lambda: f3(6, 7), want=3)[3]
    assert 1 <= plain["recursion"] - ours["recursion"] <= 2      # `rebuild` is one frame itself
    for _ in range(200):
        rebuild(three())
    assert _core._testing_state() == before


@pytest.mark.parametrize("at", [3, 5])
def test_exception_is_caught_by_the_outer_frame(at: int) -> None:
    ours = observe(lambda: rebuild(two()), **{"raise": at})
    assert ours[:3] == observe(lambda: f(6, 7), **{"raise": at})[:3]
    assert ours[2][0][0] == "f"


def test_exception_goes_through_three_frames() -> None:
    assert observe(lambda: rebuild(three()), **{"raise": 3})[0] == observe(lambda: f3(6, 7), **{"raise": 3})[0]


def test_native_exception_in_the_inner_frame() -> None:
    spec = two()
    unit = unit_of(g, "BINARY_OP", nth=1)
    spec[1] = (g, slots(g, y=3, kw=5, t=6), (6, 1), unit, 0, ZeroDivisionError("native"))
    _, _, caught, _ = observe(lambda: rebuild(spec))
    assert caught == [("f", f.__code__.co_firstlineno + 4), ("g", g.__code__.co_firstlineno + 2)]


def first_in_try(x: Any) -> Any:
    try:
        y                                       # noqa: B018, F821
    except ValueError as e:
        return e.__traceback__.tb_lineno - first_in_try.__code__.co_firstlineno
    y = 1                                       # noqa: F841


def after_try(x: Any) -> Any:
    try:
        boom(x)
    except ValueError:
        return "wrong"
    return x.nothing


def test_native_exception_at_the_edges_of_a_try() -> None:
    unit = unit_of(first_in_try, "LOAD_FAST")
    assert _core._testing_rebuild([(first_in_try, (1, UNBOUND, UNBOUND), (), unit, 0, ValueError("native"))], (1,)) == 2
    unit = unit_of(after_try, "LOAD_FAST", "x", 1)
    with pytest.raises(ValueError) as e:
        _core._testing_rebuild([(after_try, (1,), (), unit, 0, ValueError("native"))], (1,))
    assert traceback(e.value.__traceback__)[-1] == ("after_try", after_try.__code__.co_firstlineno + 5)


def test_exception_table_is_read_as_dis_reads_it() -> None:
    import dis
    for function in (first_in_try, after_try, f, observe, test_regions_like):
        code = function.__code__
        entries = dis._parse_exception_table(code)          # type: ignore[attr-defined]
        for unit in range(len(code.co_code) // 2):
            expected = next((e.target // 2 for e in entries if e.start <= unit * 2 < e.end), -1)
            assert _core._testing_handler(code, unit) == expected


def test_regions_like(x: Any = 0) -> Any:
    """A function with a long exception table."""
    for k in range(3):
        try:
            with open(__file__) as file:
                try:
                    x += len(file.readline())
                finally:
                    x += k
        except OSError:
            raise
        else:
            x += 1
    assert x > 0


def test_inside_a_generator() -> None:
    def generate() -> Iterator[Any]:
        for j in range(3):
            yield rebuild(two()) + j
    assert list(generate()) == [f(6, 7) + j for j in range(3)]


def test_frames_that_are_kept() -> None:
    keep: list[Any] = []
    mode["keep"] = keep
    result = rebuild(two())
    mode.clear()
    inner = keep[0]
    assert inner.f_code is g.__code__ and inner.f_locals["t"] == 6
    assert inner.f_back.f_code is f.__code__ and inner.f_back.f_locals["acc"] == result
    assert inner.f_back.f_back.f_code.co_name == "rebuild"
    gc.collect()
    inner.clear()
    assert not dict(inner.f_locals)


def test_closures_cells_and_every_kind_of_parameter() -> None:
    z = 10

    def inner_call(y: Any, *a: Any, q: Any, **kw: Any) -> Any:
        def inner() -> Any:
            return y + z
        t = inner()
        return boom(t) + inner() + q + len(a) + kw["w"]

    def outer(y: Any) -> Any:
        r = [1, inner_call(y, 5, 6, q=2, w=9)]
        return r
    expected = outer(3)
    unit, following = call_of(outer, "inner_call")
    code = next(c for c in inner_call.__code__.co_consts if isinstance(c, types.CodeType))
    cell = types.CellType(3)
    made = types.FunctionType(code, globals(), "inner", None, (cell, inner_call.__closure__[0]))

    def spec() -> list[Any]:
        return [(outer, slots(outer), (1,), unit, following, None),
                (inner_call, slots(inner_call, y=cell, a=(5, 6), q=2, kw={"w": 9}, inner=made, t=13), (),
                 load(inner_call, "boom"), 0, None)]
    assert _core._testing_rebuild(spec(), (3,)) == expected
    assert_no_leak(lambda: _core._testing_rebuild(spec(), (3,)), (cell, inner_call, outer), 20_000)


def test_arguments_that_do_not_bind() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'k'"):
        _core._testing_rebuild(two(), (1,))
    assert not _core._testing_state()["evaluator"]


def test_recursion_limit() -> None:
    before = _core._testing_state()

    def deep(d: int) -> str:
        try:
            return deep(d + 1)
        except RecursionError:
            try:
                rebuild(three())
                return "fine"
            except RecursionError:
                return "recursion"
    assert deep(0) in ("fine", "recursion")
    assert _core._testing_state() == before


@pytest.mark.parametrize("spec, raising", [(two, False), (three, False), (three, True)])
def test_no_leak(spec: Any, raising: bool) -> None:
    if raising:
        mode["raise"] = 3

    def run() -> None:
        try:
            rebuild(spec())
        except ZeroDivisionError:
            pass
    assert_no_leak(run, (f, g, h, g3, f3, f.__code__, g.__code__, h.__code__))


def test_threads() -> None:
    expected, before, out = f3(6, 7), _core._testing_state(), []

    def work() -> None:
        out.append(all(rebuild(three()) == expected for _ in range(600)))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert out == [True] * 4
    assert _core._testing_state() == before
