"""Each site does what the instruction does: results, exceptions, the state behind it."""
from __future__ import annotations

import operator
import sys
import types
from typing import Any

import pytest

from jitcore import _core
from tests.frames.support import (
    NULL,
    after,
    assert_no_leak,
    call,
    call_of,
    const,
    exiting,
    marked,
    n_slots,
    objects,
    region,
    slots,
    src,
    traceback,
    unit_of,
)


def three(a: Any, b: Any, c: Any) -> Any:
    return stand_in(a, b, c)


def effect(a: Any, b: Any, c: Any) -> Any:
    stand_in(a, b, c)
    return a


def stand_in(*args: Any) -> Any:
    raise AssertionError("the site is performed instead")


def perform(site: str, operands: tuple[Any, ...], arg: Any = None, args: tuple[Any, ...] = (None, None, None)) -> Any:
    """The result of the site on operands (recipes over the arguments) in place of the call in ``three``."""
    unit, following = call_of(three, "stand_in")
    e = call((src(0), src(1), src(2)), (), operands, unit, following, site, arg)
    with marked(three, (0, region(exiting(0), objects(0, 1, 2), e))):
        result = three(*args)
        assert _core.counters(three.__code__)["site_calls"] == 1
        return result


def do(site: str, operands: tuple[Any, ...], arg: Any = None, args: tuple[Any, ...] = (None, None, None)) -> Any:
    """The same for a site without a result."""
    unit, following = call_of(effect, "stand_in")
    behind = unit_of(effect, "POP_TOP")
    e = call((src(0), src(1), src(2)), (), operands, unit, behind + 1, site, arg)
    assert following == behind
    with marked(effect, (0, region(exiting(0), objects(0, 1, 2), e))):
        return effect(*args)


def same(site: str, operands: tuple[Any, ...], arg: Any, args: tuple[Any, ...], plain: Any) -> None:
    """The site and ``plain()`` give the same result, or the same exception from the line of the site."""
    try:
        expected = plain()
    except Exception as error:
        with pytest.raises(type(error)) as e:
            perform(site, operands, arg, args)
        assert e.value.args == error.args
        assert ("three", three.__code__.co_firstlineno + 1) in traceback(e.value.__traceback__)
    else:
        result = perform(site, operands, arg, args)
        assert type(result) is type(expected) and result == expected


BINARY = ["add", "and_", "floordiv", "lshift", "matmul", "mul", "mod", "or_", "pow", "rshift", "sub", "truediv", "xor"]


@pytest.mark.parametrize("number", range(26))
def test_binary(number: int) -> None:
    name = BINARY[number % 13]
    if number >= 13:
        name = "i" + name.rstrip("_")
    function = getattr(operator, name)
    pairs = [(7, 2), (7.5, 2), ([1], [2]), ("%d", 3), (1, 0), (1, "x"), ({1}, {2})]
    for a, b in pairs:
        if isinstance(a, list | set):
            a, b = (list(a), list(b)) if isinstance(a, list) else (set(a), set(b))
            expected = type(a)(a)
            same("binary", (src(0), src(1)), number, (a, b, 0), lambda: function(expected, b))     # noqa: B023
        else:
            same("binary", (src(0), src(1)), number, (a, b, 0), lambda: function(a, b))     # noqa: B023


def test_inplace_changes_the_object() -> None:
    a = [1]
    assert perform("binary", (src(0), src(1)), 13, (a, [2], 0)) is a
    assert a == [1, 2]


@pytest.mark.parametrize("name, function", [("neg", operator.neg), ("pos", operator.pos), ("invert", operator.invert),
                                            ("not", operator.not_)])
def test_unary(name: str, function: Any) -> None:
    for a in (3, 2.5, "", [1], None):
        same("unary", (src(0),), name, (a, 0, 0), lambda: function(a))     # noqa: B023


@pytest.mark.parametrize("number, function", list(enumerate([
    operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge])))
def test_compare(number: int, function: Any) -> None:
    import numpy as np
    for a, b in ((1, 2), ("a", "a"), (1, "a"), (None, None)):
        same("compare", (src(0), src(1)), number, (a, b, 0), lambda: function(a, b))     # noqa: B023
        same("compare_bool", (src(0), src(1)), number, (a, b, 0), lambda: bool(function(a, b)))     # noqa: B023
    x = np.arange(3)
    assert (perform("compare", (src(0), src(1)), number, (x, 1, 0)) == function(x, 1)).all()
    same("compare_bool", (src(0), src(1)), number, (x, 1, 0), lambda: bool(function(x, 1)))


def test_calls() -> None:
    def f(*args: Any, **kw: Any) -> Any:
        return args, kw
    assert perform("call", (const(f), NULL, src(0), src(1)), None, (1, 2, 3)) == ((1, 2), {})
    assert perform("call", (const(f), NULL)) == ((), {})
    assert perform("call", (const(f), src(0), src(1)), None, (1, 2, 3)) == ((1, 2), {})
    assert perform("call", (const(f), src(0)), None, (1, 2, 3)) == ((1,), {})
    assert perform("call", (const(f), NULL, src(0), src(1)), ("k",), (1, 2, 3)) == ((1,), {"k": 2})
    assert perform("call", (const(f), src(2), src(0), src(1)), ("j", "k"), (1, 2, 3)) == ((3,), {"j": 1, "k": 2})
    assert perform("call_ex", (const(f), const((1, 2)), NULL)) == ((1, 2), {})
    assert perform("call_ex", (const(f), const((1,)), const({"a": 1}))) == ((1,), {"a": 1})
    number: Any = 3
    same("call", (src(0), NULL), None, (number, 0, 0), lambda: number())
    same("call", (const(int), NULL, src(0)), None, ("x", 0, 0), lambda: int("x"))


def test_attributes_and_items() -> None:
    class Thing:
        x = 1
    t = Thing()
    assert perform("getattr", (src(0),), "x", (t, 0, 0)) == 1
    same("getattr", (src(0),), "nothing", (t, 0, 0), lambda: t.nothing)                     # type: ignore[attr-defined]
    assert do("setattr", (src(1), src(0)), "y", (t, 5, 0)) is t
    assert t.y == 5                                                                         # type: ignore[attr-defined]
    do("delattr", (src(0),), "y", (t, 5, 0))
    assert not hasattr(t, "y")
    with pytest.raises(AttributeError):
        do("delattr", (src(0),), "y", (t, 5, 0))
    with pytest.raises(AttributeError):
        do("setattr", (src(1), src(0)), "y", (3, 5, 0))
    d: dict[str, Any] = {"a": 1}
    assert perform("getitem", (src(0), src(1)), None, (d, "a", 0)) == 1
    same("getitem", (src(0), src(1)), None, (d, "b", 0), lambda: d["b"])
    same("getitem", (src(0), src(1)), None, ([1, 2], slice(0, 1), 0), lambda: [1])
    do("setitem", (src(2), src(0), src(1)), None, (d, "b", 7))
    assert d == {"a": 1, "b": 7}
    do("delitem", (src(0), src(1)), None, (d, "a", 0))
    assert d == {"b": 7}
    with pytest.raises(KeyError):
        do("delitem", (src(0), src(1)), None, (d, "a", 0))
    with pytest.raises(TypeError):
        do("setitem", (src(2), src(0), src(1)), None, ((), 0, 7))


def test_tests() -> None:
    class Bad:
        def __bool__(self) -> bool:
            raise ValueError("neither")
    for a in (0, 1, "", [0], None, Bad()):
        same("is_true", (src(0),), None, (a, 0, 0), lambda: bool(a))     # noqa: B023
    for item, where in ((1, [1]), (2, [1]), ("a", "abc"), (1, "abc"), (1, 5)):
        same("contains", (src(0), src(1)), 0, (item, where, 0), lambda: item in where)      # noqa: B023
        same("contains", (src(0), src(1)), 1, (item, where, 0), lambda: item not in where)      # noqa: B023
    for a in ([1, 2], "abc", 5):
        same("len", (src(0),), None, (a, 0, 0), lambda: len(a))     # noqa: B023


def test_text() -> None:
    for a in (3, 2.5, "é", None, [1]):
        same("format", (src(0), NULL), 0, (a, 0, 0), lambda: f"{a}")     # noqa: B023
        same("format", (src(0), NULL), 1, (a, 0, 0), lambda: f"{a!s}")     # noqa: B023
        same("format", (src(0), NULL), 2, (a, 0, 0), lambda: f"{a!r}")     # noqa: B023
        same("format", (src(0), NULL), 3, (a, 0, 0), lambda: f"{a!a}")     # noqa: B023
        same("format", (src(0), const(".3f")), 0, (a, 0, 0), lambda: f"{a:.3f}")     # noqa: B023
        same("convert", (src(0),), 2, (a, 0, 0), lambda: repr(a))     # noqa: B023
    assert perform("build_string", (const("a"), src(0), const("c")), None, ("b", 0, 0)) == "abc"
    assert perform("build_string", ()) == ""


def celled(a: Any, b: Any, c: Any) -> Any:
    stand_in(lambda: a, b, c)
    return a


class Finalized:
    def __init__(self, act: Any) -> None:
        self.act = act

    def __del__(self) -> None:
        self.act()


def test_cells() -> None:
    unit, behind = call_of(celled, "stand_in")[0], unit_of(celled, "POP_TOP")
    cell, seen = types.CellType(1), []
    e = call((src(0), src(1), src(2)), (), (src(1),), unit, behind + 1, "store_cell", 0)
    with marked(celled, (0, region(exiting(0), objects(0, 1, 2), e))):
        assert celled(cell, 5, 0) == 5 and cell.cell_contents == 5
        cell.cell_contents = Finalized(lambda: seen.append(cell.cell_contents))
        assert celled(cell, 6, 0) == 6 and seen == [6]
        assert celled(types.CellType(), 7, 0) == 7
        assert_no_leak(lambda: celled(cell, [8], 0), (cell, celled), 3000)
        with pytest.raises(SystemError, match="finds no cell"):
            celled(3, 5, 0)
    e = call((src(0), src(1), src(2)), (), (src(1),), unit, behind + 1, "store_cell", 1000)
    with marked(celled, (0, region(exiting(0), objects(0, 1, 2), e))), pytest.raises(SystemError, match="no cell"):
        celled(cell, 5, 0)


def test_names() -> None:
    do("store_global", (src(0),), "stored_by_a_site", (5, 0, 0))
    assert globals()["stored_by_a_site"] == 5
    do("delete_global", (), "stored_by_a_site", (5, 0, 0))
    assert "stored_by_a_site" not in globals()
    assert perform("import_name", (const(0), const(None)), "os.path") is __import__("os")
    assert perform("import_name", (const(0), const(("join",))), "os.path") is __import__("os").path
    same("import_name", (const(0), const(None)), "no_such_module", (0, 0, 0), lambda: __import__("no_such_module"))


def test_iter() -> None:
    assert list(perform("iter", (src(0),), None, ([1, 2], 0, 0))) == [1, 2]
    same("iter", (src(0),), None, (5, 0, 0), lambda: iter(5))                               # type: ignore[call-overload]


def unpacked(a: Any) -> Any:
    x, y = a
    return x, y


@pytest.mark.parametrize("value", [(1, 2), [3, 4], "ab", {"k": 1, "l": 2}, (1,), (1, 2, 3), 5, iter("xy")])
def test_unpack_leaves_what_only_the_interpreter_can_say(value: Any) -> None:
    unit = unit_of(unpacked, "UNPACK_SEQUENCE")
    locals = slots(unpacked, NULL, a=src(0))
    e = call(locals, (), (src(0),), unit, after(unpacked, unit), "unpack_sequence", 2)

    def run(f: Any) -> Any:
        try:
            return f(value if not hasattr(value, "__next__") else iter("xy"))
        except (TypeError, ValueError) as error:
            return type(error), error.args, traceback(error.__traceback__)[1:]
    plain = run(unpacked)
    with marked(unpacked, (0, region(exiting(0), objects(0), e))):
        assert run(unpacked) == plain


def called(a: Any) -> Any:
    return a.x(1)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="NULL lies below the callable")
@pytest.mark.parametrize("value", [types.SimpleNamespace(x=str), types.SimpleNamespace(), 5])
def test_an_attribute_that_is_called(value: Any) -> None:
    unit = unit_of(called, "LOAD_ATTR")
    e = call(slots(called, NULL, a=src(0)), (), (src(0),), unit, after(called, unit), "getattr_null", "x")
    plain = outcome(called, value)
    with marked(called, (0, region(exiting(0), objects(0), e))):
        assert outcome(called, value) == plain


def inside(a: Any) -> Any:
    with a as v:
        v.append(a.n // a.d)
    return v


class Manager:
    def __init__(self, d: int = 1, enters: bool = True) -> None:
        self.n, self.d, self.enters = 6, d, enters
        self.log: list[Any] = []

    def __enter__(self) -> list[Any]:
        if not self.enters:
            raise KeyError("shut")
        return self.log

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        self.log.append((kind, str(value), trace and trace.tb_lineno))
        return self.d == 0


class Half:
    __enter__ = Manager.__enter__


class Broken(Manager):
    @property
    def __exit__(self) -> Any:      # type: ignore[override]
        raise OSError("broken")


@pytest.mark.parametrize("make", [Manager, lambda: Manager(0), lambda: Manager(enters=False), Half, Broken, object])
def test_with(make: Any) -> None:
    unit = unit_of(inside, "BEFORE_WITH")
    e = call(slots(inside, NULL, a=src(0)), (), (src(0),), unit, after(inside, unit), "before_with")
    plain = outcome(inside, make())
    with marked(inside, (0, region(exiting(0), objects(0), e))):
        assert outcome(inside, make()) == plain


def outcome(f: Any, *args: Any) -> Any:
    try:
        return f(*args)
    except Exception as error:
        return type(error), error.args, traceback(error.__traceback__)[1:]


def test_errors_in_sites_do_not_leak() -> None:
    class Bad:
        def __add__(self, other: Any) -> Any:
            raise ValueError("no")
    bad = Bad()
    unit, following = call_of(three, "stand_in")
    e = call((src(0), src(1), src(2)), (), (src(0), src(1)), unit, following, "binary", 0)
    with marked(three, (0, region(exiting(0), objects(0, 1, 2), e))):
        def run() -> None:
            try:
                three(bad, 2, 3)
            except ValueError:
                pass
        assert_no_leak(run, (bad, three, three.__code__))
    assert n_slots(three) == 3


def test_every_site_is_tested_here() -> None:
    with open(__file__) as file:
        text = file.read()
    assert [name for name in _core.SITES if f'"{name}"' not in text] == []
