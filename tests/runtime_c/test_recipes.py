"""Objects rebuilt from sources and words: values, types, identity, references and what is refused."""
from __future__ import annotations

import struct
import sys
from types import CellType, FunctionType, MethodType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitcore import _core
from jitcore.guards.pack import pack_exit
from jitcore.ir import recipe as r
from jitcore.ir.graph import Exit, Graph
from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, OBJECT, strong

UNBOUND = object()
DTYPES = "?bBhHiIlLqQefdFD"


def build(spec, sources=(), words=b"", func=None):
    return _core.build_recipe(spec, tuple(sources), words, UNBOUND, func)


def test_python_numbers():
    words = struct.pack("qqdddq", -2**63, 2**63 - 1, -0.0, 1.5, float("inf"), 1)
    got = build((("word", 0, "i"), ("word", 1, "i"), ("word", 2, "d"), ("word", 3, "D"), ("word", 5, "?")), (), words)
    assert got == (-2**63, 2**63 - 1, 0.0, complex(1.5, float("inf")), True)
    assert [type(o) for o in got] == [int, int, float, complex, bool]
    assert str(got[2]) == "-0.0"


@pytest.mark.parametrize("char", DTYPES)
def test_numpy_scalars_keep_type_and_bits(char):
    dtype = np.dtype(char)
    for data in (bytes(range(16)), bytes(range(239, 255)), bytes(16)):
        raw = data[:dtype.itemsize] if char != "?" else data[:1].replace(data[:1], bytes([data[0] != 0]))
        word = raw + bytes(-len(raw) % 8)
        got, = build((("np", 0, char),), (), word)
        assert type(got) is dtype.type and got.tobytes() == raw


def test_bools_are_the_singletons():
    got = build((("np", 0, "?"), ("np", 1, "?")), (), struct.pack("qq", 1, 0))
    assert got[0] is np.True_ and got[1] is np.False_


def test_sources_and_objects_are_the_very_objects():
    a = np.zeros(3)
    got = build((("src", 0), ("word", 0, "o"), ("src", 1), ("null",)), (a, UNBOUND), struct.pack("P", id(a)))
    assert got[0] is a and got[1] is a and got[2] is UNBOUND and got[3] is UNBOUND


def test_every_kind_of_object():
    one, two, three = ("const", 1), ("const", 2), ("const", 3)

    def f(self):
        return self

    kinds = ("tuple", "list", "dict", "set", "slice", "range", "method", "cell", "cell", "iter", "tuple", "dict")
    items = ((one, two), (one, two), (one, two), (one, two), (one, two, three), (one, two, three),
             (("const", f), one), (two,), (("null",),), (("const", [4, 5]),), (), ())
    got = build(tuple(("build", kind, tuple(item)) for kind, item in zip(kinds, items)))
    assert got[:7] == ((1, 2), [1, 2], {1: 2}, {1, 2}, slice(1, 2, 3), range(1, 2, 3), MethodType(f, 1))
    assert got[7] == CellType(2)
    with pytest.raises(ValueError):
        got[8].cell_contents  # noqa: B018
    assert list(got[9]) == [4, 5] and got[10:] == ((), {})


class Sequence:
    """Iterated by index."""

    def __getitem__(self, i):
        return (5, 6, 7)[i]

    def __len__(self):
        return 3


@pytest.mark.parametrize("index", [0, 1, 2, 3])
def test_iterators_are_where_they_were(index):
    for sequence in ([5, 6, 7], (5, 6, 7), b"abc", np.arange(3), Sequence(), []):
        found, back = build((("build", "iter_at", (("const", sequence), ("const", index))),
                             ("build", "reversed_at", (("const", sequence), ("const", index)))))
        assert type(found) is type(iter(sequence)) and type(back) is type(reversed(sequence))
        assert list(found) == list(sequence)[index:]
        assert list(back) == ([] if index >= len(sequence) else list(sequence)[index::-1])
    for array in (np.arange(4).reshape(2, 2), np.arange(6).reshape(2, 3).T, np.zeros((0, 2)), np.ones(())):
        flat, = build((("build", "flat_at", (("const", array), ("const", index))),))
        assert type(flat) is np.flatiter and flat.base is array and flat.index == index
        assert list(flat) == list(array.flat)[index:]


@pytest.mark.parametrize("char", DTYPES)
def test_arrays_of_elements(char):
    dtype = np.dtype(char)
    words = -(-dtype.itemsize // 8)
    for lengths in ((1,), (2,), (5,), (2, 3), (3, 1, 2)):
        for order in "CF":
            want = np.array(np.arange(1, np.prod(lengths) + 1).reshape(lengths).astype(dtype), order=order)
            raw = b"".join(one.tobytes().ljust(8 * words, b"\0") for one in want.ravel())
            head = (("const", char), ("const", order), ("const", lengths))
            items = tuple(("np", words * k, char) for k in range(want.size))
            got, again, inside = build((("memo", 0, ("build", "array", head + items)), ("ref", 0),
                                        ("build", "list", (("ref", 0),))), (), raw)
            assert got is again is inside[0] and type(got) is np.ndarray
            assert got.dtype.char == char and got.shape == lengths and got.strides == want.strides
            assert got.tobytes() == want.tobytes() and got.flags.owndata and got.flags.writeable


def test_what_is_no_array_is_refused():
    d, C, item = ("const", "d"), ("const", "C"), ("np", 0, "d")
    for parts in ((), (d, C), (d, C, ("const", (1,))), (d, C, ("const", (2,)), item), (d, C, ("const", ()), item),
                  (d, C, ("const", (1,)), ("np", 0, "f")), (d, C, ("const", (1,)), ("word", 0, "d")),
                  (d, C, ("const", (-1, -1)), item), (d, C, ("const", 1), item), (d, C, ("const", ("1",)), item),
                  (("const", "dd"), C, ("const", (1,)), item), (("const", "!"), C, ("const", (1,)), item),
                  (("src", 0), C, ("const", (1,)), item), (d, ("const", 3), ("const", (1,)), item),
                  (d, C, ("const", (2**40, 2**40)), item), (d, C, ("const", (1000,)), *[item] * 1000)):
        with pytest.raises(ValueError):
            build((("build", "array", parts),), (None,), bytes(8))


def test_enumerate_and_zip():
    inner = ("build", "iter_at", (("src", 0), ("const", 1)))
    for number in (0, -3, 2**61):
        found, = build((("build", "enumerate", (inner, ("const", number))),), ([7, 8, 9],))
        assert type(found) is enumerate and list(found) == [(number, 8), (number + 1, 9)]
    for strict in (False, True):
        for n in (0, 1, 2, 15, 16, 40):
            items = (("const", strict), *(inner for _ in range(n)))
            found, = build((("build", "zip", items),), ([7, 8, 9],))
            assert type(found) is zip and list(found) == ([(8,) * n, (9,) * n] if n else [])
            assert len(found.__reduce__()) == (3 if strict else 2)
    short = ("build", "iter_at", (("src", 0), ("const", 2)))
    found, = build((("build", "zip", (("const", True), inner, short)),), ([7, 8, 9],))
    assert next(found) == (8, 9)
    with pytest.raises(ValueError, match="shorter"):
        next(found)
    for kind, items in (("iter_at", (("const", 5), ("const", 0))), ("reversed_at", (("const", {1}), ("const", 0))),
                        ("iter_at", (("const", []), ("const", "x"))), ("flat_at", (("const", []), ("const", 0))),
                        ("iter_at", (("const", {}), ("const", 0))), ("zip", (("const", False), ("const", 1)))):
        with pytest.raises((TypeError, SystemError, ValueError)):
            build((("build", kind, items),))


def test_what_may_be_one_thing_or_another_or_nothing():
    spec = (("build", "either", (("word", 0, "?"), ("word", 2, "d"), ("word", 1, "?"), ("src", 0))), ("word", 2, "d"))
    for flags, source, wanted in (((1, 0), "x", 2.5), ((0, 1), "x", "x"), ((0, 0), "x", UNBOUND),
                                  ((0, 1), UNBOUND, UNBOUND)):
        assert build(spec, (source,), struct.pack("qqd", *flags, 2.5)) == (wanted, 2.5)
    for wrong in (("build", "tuple", (spec[0],)), ("memo", 0, spec[0]), ("build", "either", (("word", 0, "?"),))):
        with pytest.raises(ValueError):
            build((wrong,), ("x",), struct.pack("qqd", 1, 1, 2.5))


def test_an_unbound_local_in_a_cell_is_an_empty_cell():
    cell, = build((("build", "cell", (("src", 0),)),), (UNBOUND,))
    with pytest.raises(ValueError):
        cell.cell_contents  # noqa: B018


def test_shared_recipes_are_shared_objects():
    graph = Graph()
    values = (graph.new_value(FLOAT), graph.new_value(strong("float32")))
    number = r.FromValue(0)
    inner = r.Build("list", (number, r.FromValue(1)))
    outer = r.Build("tuple", (inner, inner, number))
    spec, _ = pack_exit(Exit("leave", values, locals=(outer, inner, number), stack=(r.Build("dict", (number, inner)),)))
    got = build(spec[1], (), struct.pack("df4x", 2.5, 1.5))
    assert got[0] == ([2.5, 1.5], [2.5, 1.5], 2.5)
    assert got[0][0] is got[0][1] is got[1] and got[0][2] is got[2] is got[1][0]
    assert got[3][2.5] is got[1] and next(iter(got[3])) is got[2]


def test_many_memos():
    graph = Graph()
    values = tuple(graph.new_value(INT) for _ in range(100))
    numbers = [r.FromValue(i) for i in range(100)]
    spec, words = pack_exit(Exit("leave", values, locals=tuple(numbers), stack=tuple(numbers)))
    got = build(spec[1], (), struct.pack("100q", *range(10**6, 10**6 + 100)))
    assert words == 100 and got[:100] == tuple(range(10**6, 10**6 + 100))
    assert all(a is b for a, b in zip(got[:100], got[100:]))


class Unhashable:
    __hash__ = None


def test_an_error_leaves_nothing_behind():
    watched = [object() for _ in range(3)]
    unhashable = Unhashable()
    parts = tuple(("const", o) for o in watched)
    spec = (("build", "tuple", parts), ("memo", 0, ("build", "list", parts)), ("src", 0),
            ("build", "dict", (("const", 1), ("ref", 0), ("const", unhashable), ("const", 2))))
    before = [sys.getrefcount(o) for o in [*watched, unhashable]]
    for _ in range(20):
        with pytest.raises(TypeError, match="unhashable"):
            build(spec, (watched[0],))
    assert [sys.getrefcount(o) for o in [*watched, unhashable]] == before
    with pytest.raises(SystemError, match="NULL"):
        build((("build", "tuple", (("const", 1), ("src", 0))),), (UNBOUND,))
    with pytest.raises(SystemError, match="NULL"):
        build((("build", "slice", (("const", 1), ("src", 0), ("const", 1))),), (UNBOUND,))
    with pytest.raises(TypeError):
        build((("build", "range", (("const", 1.5), ("const", 2), ("const", 1))),))


def test_references_are_exact():
    a = np.zeros(3)
    spec = (("memo", 0, ("build", "tuple", (("src", 0), ("word", 0, "o")))), ("ref", 0), ("const", a))
    before = sys.getrefcount(a)
    for _ in range(20):
        build(spec, (a,), struct.pack("P", id(a)))
    assert sys.getrefcount(a) == before


@pytest.mark.parametrize("spec", [
    1, (1,), ((),), (("what",),), (("src",),), (("src", -1),), (("word", 0, "z"),), (("word", -1, "i"),),
    (("np", 0, "g"),),
    (("np", 0, "O"),), (("ref", 0),), (("memo", 1, ("const", 1)),), (("build", "what", ()),), (("build", "slice", ()),),
    (("build", "dict", (("const", 1),)),), (("build", "tuple", (("null",),)),), (("memo", 0, ("null",)),),
    (("build", "tuple", 1),), ((1, 2),),
])
def test_malformed_recipes_are_refused(spec):
    with pytest.raises((ValueError, TypeError)):
        build(spec)


def test_a_deep_recipe_is_refused():
    spec = ("const", 1)
    for _ in range(300):
        spec = ("build", "tuple", (spec,))
    with pytest.raises(ValueError):
        build((spec,))


TYPES = {"int": INT, "float": FLOAT, "bool": BOOL, "complex": COMPLEX, "object": OBJECT}
numbers_ = st.one_of(
    st.tuples(st.just("int"), st.integers(-2**63, 2**63 - 1)), st.tuples(st.just("float"), st.floats()),
    st.tuples(st.just("bool"), st.booleans()),
    st.tuples(st.just("complex"), st.complex_numbers()),
    st.tuples(st.just("object"), st.sampled_from([None, "s", np.arange(2)])),
    st.tuples(st.sampled_from(["float32", "int16", "uint8", "complex64", "complex128", "longlong"]),
              st.integers(0, 99)))


@settings(max_examples=300, deadline=None)
@given(st.lists(numbers_, max_size=8), st.data())
def test_packed_exits_give_back_what_went_in(values, data):
    graph = Graph()
    types = [TYPES.get(kind) or strong(kind) for kind, _ in values]
    objects, words = [], b""
    for kind, value in values:
        made = value if kind in TYPES else np.dtype(kind).type(value)
        objects.append(made)
        raw = (struct.pack("q", value) if kind in ("int", "bool") else struct.pack("d", value) if kind == "float"
               else struct.pack("dd", value.real, value.imag) if kind == "complex"
               else struct.pack("P", id(value)) if kind == "object" else made.tobytes())
        words += raw + bytes(-len(raw) % 8)
    known = [(r.FromValue(i), made) for i, made in enumerate(objects)] + [(r.Const("c"), "c")]
    for _ in range(data.draw(st.integers(0, 6))):
        parts = [known[i] for i in data.draw(st.lists(st.integers(0, len(known) - 1), max_size=4))]
        kind = data.draw(st.sampled_from(["tuple", "list"]))
        made = {"tuple": tuple, "list": list}[kind](value for _, value in parts)
        known.append((r.Build(kind, tuple(recipe for recipe, _ in parts)), made))
    spec, _ = pack_exit(Exit("leave", tuple(graph.new_value(t) for t in types), locals=tuple(k for k, _ in known)))
    got = build(spec[1], (), words)
    assert repr(got) == repr(tuple(value for _, value in known))
    assert len({id(o) for o in got if isinstance(o, list)}) == sum(isinstance(v, list) for _, v in known)


def _parts(func):
    null = ("null",)
    return [("const", func.__code__), null, null, null, null, null]


def test_functions_are_as_make_function_makes_them():
    def plain(x, y=1, *, z=2):
        """What it does."""
        return x, y, z, DTYPES

    defaults, kwdefaults, notes = (5,), {"z": 6}, {"x": int, "return": "text"}
    parts = _parts(plain)
    parts[2:4] = ("const", defaults), ("const", kwdefaults)
    parts[5] = ("const", notes)
    made, again = build((("build", "function", tuple(parts)),) * 2, (), b"", plain)
    assert made is not again and type(made) is FunctionType and made(1) == (1, 5, 6, DTYPES)
    assert made.__defaults__ is defaults and made.__kwdefaults__ is kwdefaults and made.__annotations__ == notes
    for name in ("__code__", "__globals__", "__name__", "__qualname__", "__module__", "__doc__", "__builtins__"):
        assert getattr(made, name) == getattr(plain, name), name
    assert made.__closure__ is None and made.__dict__ == {}
    bare, = build((("build", "function", tuple(_parts(plain))),), (), b"", plain)
    assert bare.__defaults__ is bare.__kwdefaults__ is None and bare.__annotations__ == {}


def test_globals_are_those_of_a_function():
    other = FunctionType(compile("0", "", "eval"), {"__name__": "elsewhere"})
    parts = _parts(lambda: DTYPES)
    parts[1] = ("src", 0)
    made, = build((("build", "function", tuple(parts)),), (other,), b"", test_python_numbers)
    assert made.__globals__ is other.__globals__ and made.__module__ == "elsewhere"
    for func in (None, 3):
        with pytest.raises(SystemError, match="needs a function"):
            build((("build", "function", tuple(_parts(lambda: 0))),), (), b"", func)


def test_a_function_in_its_own_closure():
    def outer(n):
        def fact(k):
            return 1 if k < n else k * fact(k - 1)
        return fact

    like = outer(2)
    fact, n = r.Build("cell", (r.NULL,)), r.Build("cell", (r.Const(2),))
    closure = r.Build("tuple", (fact, n))
    func = r.Build("function", (r.Const(like.__code__), r.NULL, r.NULL, r.NULL, closure, r.NULL, fact))
    spec, _ = pack_exit(Exit("leave", (), locals=(r.Build("last", (func, fact)), n, func)))
    for _ in range(3):
        cell, number, made = build(spec[1], (), b"", like)
        assert made.__closure__ == (cell, number) and made.__closure__[0] is cell and cell.cell_contents is made
        assert made(5) == 120
        number.cell_contents = 6
        assert made(5) == 1


def test_cells_of_a_closure():
    def outer(a, b):
        return lambda: (a, b)

    own, other = outer(1, 2), outer(3, 4)
    got = build((("build", "free", (("const", 1), ("null",))), ("build", "free", (("const", 0), ("src", 0)))), (other,),
                b"", own)
    assert got[0] is own.__closure__[1] and got[1] is other.__closure__[0]
    for index, func in ((2, own), (-1, own), (0, build), (0, None)):
        with pytest.raises((SystemError, OverflowError)):
            build((("build", "free", (("const", index), ("null",))),), (), b"", func)


def test_parts_that_make_no_function_are_refused():
    code = test_python_numbers.__code__
    watched = {1: 2}
    before = sys.getrefcount(watched), sys.getrefcount(code)
    null = ("null",)

    def const(obj):
        return "const", obj

    inner = next(c for c in test_cells_of_a_closure.__code__.co_consts if hasattr(c, "co_code"))
    with_free = next(c for c in inner.co_consts if hasattr(c, "co_code"))
    bad = [[const(3), null, null, null, null, null], [const(code), null, const([1]), null, null, null],
           [const(code), null, null, const(()), null, null],
           [const(code), null, null, null, const((CellType(),)), null],
           [const(with_free), null, null, null, null, null], [const(with_free), null, null, null, const((1, 2)), null],
           [const(code), null, null, null, null, const(())], [const(code), null, null, null, null, null, const(1)]]
    for parts in bad:
        with pytest.raises(SystemError, match="do not fit"):
            build((("const", watched), ("build", "function", tuple(parts))), (), b"", build)
    with pytest.raises(ValueError, match="cannot build"):
        build((("build", "function", (const(code), null)),), (), b"", build)
    del bad, parts
    assert (sys.getrefcount(watched), sys.getrefcount(code)) == before
