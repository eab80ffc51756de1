"""Guard programs in C against the reference evaluator, over generated programs and frames."""
from __future__ import annotations

import sys
import types
from types import FunctionType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitcore import _core
from jitcore.guards import explain, reference
from jitcore.guards import guard as g
from jitcore.guards import sources as s
from jitcore.guards.pack import pack_guards
from jitcore.guards.reference import ABSENT, FrameValues, Program, Unreadable

UNBOUND = object()


class Slotted:
    __slots__ = ("rate", "weight")

    def __init__(self) -> None:
        self.rate = 0.5


class Plain:
    scale = 3

    def __init__(self) -> None:
        self.rate = 2.5
        self.items = (1, 2.0)

    def method(self) -> int:
        return 1


class Lazy(Plain):
    def __getattr__(self, name):
        raise AssertionError("guards must not run this")


class Evil(str):
    """A key that would run code when it is compared."""

    def __eq__(self, other):
        raise AssertionError("guards must not run this")

    def __hash__(self):
        return hash("evil")


def make(x: object = 1) -> FunctionType:
    def inner(y: object = 2, *, z: object = 3) -> object:
        return x, y, z, empty

    if x is empty_marker:
        empty = 0
        del empty
    else:
        empty = 4
    return inner


empty_marker = object()
module = types.ModuleType("module")
module.exp, module.rate = np.exp, 1.5
functions = [make(1), make(np.arange(3.0)), make(empty_marker)]
changed_defaults = make(1)
changed_defaults.__defaults__ = (7,)
base = np.arange(24.0).reshape(4, 6)
bytes_ = np.zeros(65, np.uint8)

OBJECTS: list[object] = [
    0, 1, -1, 2**30, -2**30, 2**62, 2**63 - 1, -2**63, 2**63, -2**63 - 1, 10**40, True, False, 0.5, -0.0, float("nan"),
    1j, "x", "rate", "é", "".join(["ra", "te"]), None, ..., (), (1, 2.0), [1, [2]], {"rate": 1, "x": 2.0},
    {"rate": 1, 2: 3},
    {Evil("evil"): 1, "rate": 2}, {1: 2, Evil("evil"): 1}, (np.arange(3), 4), types.SimpleNamespace(rate=1),
    Slotted(), Plain(), Lazy(), Plain, module, np, np.add, np.exp, len, *functions, changed_defaults,
    functions[0].__closure__[0], functions[2].__closure__[0],
    *(dtype(1) for dtype in (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64,
                             np.longlong, np.ulonglong, np.float16, np.float32, np.float64, np.longdouble)),
    np.complex64(1 + 2j), np.complex128(3 - 4j), np.float64("nan"), np.datetime64("2001-01-01"),
    base, base.T, base[:, ::2], base[::2], base[0], base[:, 0], base.astype(np.float32), base.astype(np.int32),
    base[:1, :1], np.zeros((0, 3)), np.float64(2).reshape(()), base.astype(">f8"), base.astype("longlong"),
    base.astype("long"),
    np.ma.masked_array([1.0]), np.zeros(3).view(np.recarray), bytes_[1:].view("f8"), np.zeros(3, "O"),
    np.zeros(3, "U2"), np.zeros((4, 3)), np.zeros((2,) * 9),
]
NAMES = ["rate", "x", "weight", "scale", "method", "exp", "items", "evil", "len", "OBJECTS", "nothing_here"]
KINDS = ["int", "float", "bool", "complex", "?", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
         "uint64", "longlong", "ulonglong", "float16", "float32", "float64", "complex64", "complex128"]
TYPES = [int, float, bool, str, tuple, dict, list, np.ndarray, np.float64, Plain, Slotted, Lazy, FunctionType,
         types.ModuleType]

small = st.integers(0, 3)
locals_ = st.sampled_from([s.Local(i, name) for i, name in enumerate("abcd")])


def grow(inner):
    name = st.sampled_from(NAMES)
    return st.one_of(
        st.builds(s.Attr, inner, name), st.builds(s.Item, inner, small), st.builds(s.Key, inner, name),
        st.builds(s.ModuleGlobal, inner, name), st.builds(s.Closure, small, st.just(""), inner),
        st.builds(s.CellContent, inner), locals_)


sources_ = st.recursive(st.one_of(
    locals_, st.builds(s.Global, st.sampled_from(NAMES)), st.builds(s.Closure, st.integers(0, 1))), grow, max_leaves=3)
CONSTANTS = [s.Constant(obj) for obj in (module, functions[1], (1, 2))]


def wanted(obj: object) -> st.SearchStrategy[object]:
    """Guards that are likely to hold for an object, and some that are not."""
    choices = [("type", type(obj)), ("is", obj), ("object", None)]
    if type(obj) in (int, bool, str):
        choices += [("value", obj)] * 2
    if type(obj) in (tuple, list, dict):
        choices += [("length", len(obj))]
    if type(obj) is np.ndarray:
        dtype = obj.dtype.char if obj.dtype.char in "?bBhHiIlLqQefdFD" else "d"
        choices += [("array", (dtype, obj.ndim, layout)) for layout in (reference.array_layout(obj), "C", "A")] * 2
    if isinstance(obj, FunctionType):
        choices += [("function", (obj.__code__, obj.__defaults__, obj.__kwdefaults__))]
    if obj is ABSENT:
        choices = [("absent", None)]
    if not isinstance(obj, type):
        choices += [("version", type(obj))] * 2
    return st.sampled_from(choices)


def build(source: s.Source, kind: str, arg: object) -> g.Guard:
    return {
        "type": lambda: g.TypeIs(source, arg), "is": lambda: g.IsObject(source, arg),
        "object": lambda: g.LoadObject(source), "value": lambda: g.ValueIs(source, arg),
        "length": lambda: g.LengthIs(source, arg), "array": lambda: g.LoadArray(source, *arg),
        "function": lambda: g.FunctionIs(source, *arg), "absent": lambda: g.Absent(source),
        "version": lambda: g.TypeVersion(source, arg), "load": lambda: g.Load(source, arg),
    }[kind]()


@st.composite
def programs(draw):
    """A program, mostly one that holds for the frame that comes with it."""
    func = draw(st.sampled_from(functions))
    values = [draw(st.sampled_from([*OBJECTS, UNBOUND])) for _ in range(4)]
    frame = FrameValues(func, values, UNBOUND)
    guards: list[g.Guard] = []
    for _ in range(draw(st.integers(1, 6))):
        source = draw(st.one_of(sources_, st.sampled_from(CONSTANTS)))
        path = [source]
        while getattr(path[-1], "base", None) is not None:
            path.append(path[-1].base)
        for link in reversed(path[1:]):                 # make the path safe, as the front end does
            try:
                found = reference.read(link, frame)
            except Unreadable:
                continue
            if found is not ABSENT and not isinstance(found, (type, types.ModuleType)) and draw(st.integers(0, 9)):
                guards.append(g.TypeVersion(link, type(found)))
        try:
            obj = reference.read(source, frame)
        except Unreadable:
            obj = draw(st.sampled_from(OBJECTS))
        choice = draw(st.integers(0, 9))
        if choice == 0:
            guards.append(g.Load(source, draw(st.sampled_from(KINDS))))
        elif choice == 1:
            guards.append(g.DimsEqual(source, draw(small), draw(sources_), draw(small)))
        elif choice == 2:
            guards.append(build(source, *draw(wanted(draw(st.sampled_from(OBJECTS))))))
        else:
            guards.append(build(source, *draw(wanted(obj))))
    return guards, draw(st.lists(sources_, max_size=2)), frame


def run_both(guards, sources, frame):
    """Both evaluators' answers; None where packing refuses the program for a reason it may have."""
    program = Program(guards, sources)
    spec = pack_guards(guards, sources)
    try:
        failed, words, found = _core.Guards(spec).check(frame.func, tuple(frame.locals), UNBOUND)
    except ValueError as error:
        assert "descriptor" in str(error) or "__getattribute__" in str(error), error
        return None
    return program.check(frame), (failed, words, found if found is None else found[:len(sources)])


@settings(max_examples=300, deadline=None)
@given(programs())
def test_c_agrees_with_the_reference(case):
    guards, sources, frame = case
    answers = run_both(guards, sources, frame)
    if answers is None:
        return
    expected, got = answers
    assert got[:2] == expected[:2], (guards, sources)
    if expected[2] is not None:
        for a, b in zip(got[2], expected[2], strict=True):
            assert a is b or (type(a) is type(b) is types.MethodType and a == b)
    if expected[0] and expected[0] <= len(guards):
        text = explain.describe(guards[expected[0] - 1], frame.func, frame.locals, UNBOUND)
        assert ": " in text
        if text.endswith("as expected"):                # only where a guard on a type was left out
            with pytest.raises(Unreadable, match="version"):
                guard = guards[expected[0] - 1]
                for source in [guard.source, getattr(guard, "other", guard.source)]:
                    reference.read(source, frame, {})


@pytest.mark.parametrize("kind", KINDS)
def test_every_load_against_every_object(kind):
    for obj in OBJECTS:
        expected, got = run_both([g.Load(s.Local(0), kind)], [], FrameValues(functions[0], [obj], UNBOUND))
        assert got == expected, obj


@pytest.mark.parametrize("dtype", "?bBhHiIlLqQefdFD")
def test_every_array_guard_against_every_object(dtype):
    for obj in OBJECTS:
        for ndim in (0, 1, 2):
            for layout in "CFA":
                guard = g.LoadArray(s.Local(0), dtype, ndim, layout)
                expected, got = run_both([guard], [], FrameValues(functions[0], [obj], UNBOUND))
                assert got == expected, (obj, ndim, layout)


def holds(guards, values=(), func=functions[0]):
    return compiled(guards).check(func, tuple(values), UNBOUND)[0] == 0


def compiled(guards):
    """A program that is compiled once and asked several times."""
    return _core.Guards(pack_guards(guards))


def test_a_changed_class_is_noticed():
    class Model:
        def __init__(self):
            self.rate = 1.0

    model = s.Local(0, "self")
    program = compiled([g.TypeVersion(model, Model), g.Load(s.Attr(model, "rate"), "float")])
    obj = Model()
    assert program.check(functions[0], (obj,), UNBOUND)[0] == 0
    obj.rate = 2.0
    assert program.check(functions[0], (obj,), UNBOUND)[1] == np.float64(2.0).tobytes()
    Model.rate = property(lambda self: 5)
    assert program.check(functions[0], (obj,), UNBOUND)[0] == 1
    obj.rates = 1
    assert program.check(functions[0], (obj,), UNBOUND)[0] == 1


def test_a_changed_base_class_is_noticed():
    class Base:
        pass

    class Model(Base):
        pass

    program = compiled([g.TypeVersion(s.Local(0), Model)])
    obj = Model()
    assert program.check(functions[0], (obj,), UNBOUND)[0] == 0
    Base.anything = 1
    assert program.check(functions[0], (obj,), UNBOUND)[0] == 1


def test_globals_are_read_anew_and_found_again_after_the_table_moved():
    namespace = {"__builtins__": __builtins__, "rate": 1.0}
    exec("def f(): return rate", namespace)
    program = compiled([g.Load(s.Global("rate"), "float"), g.IsObject(s.Global("len"), len)])

    def ask():
        return program.check(namespace["f"], (), UNBOUND)

    assert ask()[0] == 0
    for i in range(300):
        namespace[f"other{i}"] = i
        namespace["rate"] = float(i)
        assert ask()[:2] == (0, np.float64(i).tobytes())
    del namespace["rate"]
    assert ask()[0] == 1
    for i in range(300):
        del namespace[f"other{i}"]
    namespace["rate"] = 5.0
    namespace[1] = 2
    assert ask()[:2] == (0, np.float64(5).tobytes())
    namespace["len"] = min
    assert ask()[0] == 2
    del namespace["len"]
    assert ask()[0] == 0


def test_a_key_that_is_equal_and_not_identical_is_found():
    name = "".join(["a", "key"])
    program = compiled([g.ValueIs(s.Key(s.Local(0), "akey"), 3)])
    for table in ({name: 3}, {1: 2, name: 3}, {"x": 1, "y": 2, name: 3}):
        for _ in range(3):
            assert program.check(functions[0], (table,), UNBOUND)[0] == 0


def test_keys_that_collide():
    table = {f"k{i}": i for i in range(1000)}
    for i in range(0, 1000, 3):
        del table[f"k{i}"]
    mixed = {**table, 0: 0}
    for i in range(1000):
        for d in (table, mixed):
            there = f"k{i}" in d
            guard = g.ValueIs(s.Key(s.Local(0), f"k{i}"), i) if there else g.Absent(s.Key(s.Local(0), f"k{i}"))
            assert holds([guard], (d,))


def test_instance_dict_shared_keys():
    obj = Plain()
    for name in ("rate", "items"):
        assert holds([g.IsObject(s.Key(s.Local(0), name), getattr(obj, name))], (obj.__dict__,))
    del obj.rate
    assert holds([g.Absent(s.Key(s.Local(0), "rate"))], (obj.__dict__,))


@pytest.mark.parametrize("name", ["prop", "computed", "shadowed"])
def test_attributes_that_code_computes_are_refused(name):
    class Computed:
        def __get__(self, obj, owner):
            raise AssertionError("guards must not run this")

    class Model:
        prop = property(lambda self: 1)
        computed = Computed()
        shadowed = classmethod(Computed())

    base_ = s.Local(0)
    with pytest.raises(ValueError, match="descriptor"):
        holds([g.TypeVersion(base_, Model), g.LoadObject(s.Attr(base_, name))], (Model(),))


def test_a_class_attribute_that_becomes_a_descriptor_fails():
    class Part:
        pass

    class Model:
        part = Part()

    source = s.Attr(s.Local(0), "part")
    guards = [g.TypeVersion(s.Local(0), Model), g.IsObject(source, Model.part)]
    program, obj = compiled(guards), Model()
    assert program.check(functions[0], (obj,), UNBOUND)[0] == 0
    Part.__get__ = lambda *args: pytest.fail("guards must not run this")
    assert program.check(functions[0], (obj,), UNBOUND)[0] == 2
    assert reference.first_failure(guards, functions[0], (obj,), UNBOUND) == 1


def test_own_getattribute_is_refused():
    class Model:
        def __getattribute__(self, name):
            raise AssertionError("guards must not run this")

    with pytest.raises(ValueError, match="__getattribute__"):
        holds([g.TypeVersion(s.Local(0), Model), g.LoadObject(s.Attr(s.Local(0), "x"))], (Model(),))


def test_identity_is_held_weakly():
    class Model:
        pass

    obj, array = Model(), np.zeros(3)
    program = compiled([g.IsObject(s.Local(0), obj), g.IsObject(s.Local(1), array), g.TypeIs(s.Local(0), Model)])
    before = sys.getrefcount(obj), sys.getrefcount(array)
    assert program.check(functions[0], (obj, array), UNBOUND)[0] == 0
    assert (sys.getrefcount(obj), sys.getrefcount(array)) == before
    del obj
    assert program.check(functions[0], (None, array), UNBOUND)[0] == 1


def test_code_is_held_weakly_and_defaults_are_compared_by_identity():
    f = make(1)
    program = compiled([g.FunctionIs(s.Local(0), f.__code__, f.__defaults__, f.__kwdefaults__)])
    assert program.check(functions[0], (f,), UNBOUND)[0] == 0
    assert program.check(functions[0], (make(2),), UNBOUND)[0] == 1          # other default objects
    f.__kwdefaults__ = {"z": 3}
    assert program.check(functions[0], (f,), UNBOUND)[0] == 1


def test_nothing_is_kept_on_success_or_failure():
    obj = Plain()
    frame = (obj, np.zeros(3), {"rate": 1.5})
    guards = [g.TypeVersion(s.Local(0), Plain), g.LoadObject(s.Attr(s.Local(0), "items")),
              g.Load(s.Key(s.Local(2), "rate"), "float"), g.LoadObject(s.Global("np")),
              g.LoadArray(s.Local(1), "d", 1, "C")]
    watched = [obj, obj.items, frame[1], np, frame[2]]
    for program in (compiled(guards), compiled([*guards, g.ValueIs(s.Attr(s.Local(0), "scale"), 99)])):
        program.check(functions[0], frame, UNBOUND)
        before = [sys.getrefcount(o) for o in watched]
        for _ in range(50):
            program.check(functions[0], frame, UNBOUND)
        assert [sys.getrefcount(o) for o in watched] == before


@pytest.mark.parametrize("spec", [
    1, (), (1, 0, 0, ()), (0, 0, 0, (("local", 0, 0, 0),)), (1, 0, 0, (("what", 0, 0),)),
    (1, 0, 0, (("absent", 0, 0),)), (1, 0, 0, (("local", 0, 0, -1),)),
    (1, 0, 0, (("local", 0, 0, 0), ("local", 0, 0, 0))),
    (1, 0, 1, (("local", 0, 0, 0), ("load_int", 0, 0, 0))),
    (1, 1, 1, (("local", 0, 0, 0), ("load_complex", 0, 0, 0))),
    (1, 1, 1, (("local", 0, 0, 0), ("load_array", 0, 0, 0, 12, 1, "X"))), (1, 0, 0, (("item", 0, 0, 0, 1),)),
    (1, 0, 1, (("local", 0, 0, 0), ("value_is", 0, 0, 1.5))), (1, 0, 1, (("local", 0, 0, 0), ("type_is", 0, 0, 1))),
    (1, 0, 0, (("local", 0, 0),)), (1, 0, 0, ((),)), (1, 0, 0, ("local",)), (1, 0, 0, (("local", "a", 0, 0),)),
])
def test_malformed_programs_are_refused(spec):
    with pytest.raises((ValueError, TypeError)):
        _core.Guards(spec)
