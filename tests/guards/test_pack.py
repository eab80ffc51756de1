"""Packing: numbering, order of reads, words, and what is refused."""
from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
import pytest

from jitcore.guards import guard as g
from jitcore.guards import sources as s
from jitcore.guards.pack import pack, pack_exit, pack_guards
from jitcore.ir import recipe as r
from jitcore.ir.graph import Exit, Graph
from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, OBJECT, array, strong


@dataclass
class FakeTrace:
    graph: Graph
    guards: list[g.Guard] = field(default_factory=list)
    sources: list[s.Source] = field(default_factory=list)


def test_sources_keep_their_numbers_and_new_ones_follow():
    x, y, z = s.Local(0, "x"), s.Local(1, "y"), s.Global("z")
    n_sources, n_words, n_guards, ops = pack_guards([g.Load(z, "int"), g.LoadArray(y, "d", 1, "C")], [x, y])
    assert (n_sources, n_words, n_guards) == (3, 2, 2)
    assert ops == (("global", 0, 2, "z"), ("load_int", 0, 2, 0), ("local", 1, 1, 1),
                   ("load_array", 1, 1, 1, np.dtype("d").num, 1, "C"), ("local", 2, 0, 0), ("present", 2, 0))


def test_a_base_is_read_before_what_hangs_on_it_and_after_its_guards():
    class Model:
        pass

    model = s.Local(0, "self")
    rate = s.Attr(model, "rate")
    _, _, _, ops = pack_guards([g.TypeVersion(model, Model), g.Load(rate, "float")])
    assert [op[0] for op in ops] == ["local", "type_version", "attr", "load_float"]
    assert ops[2] == ("attr", 1, 1, 0, "rate", Model)


def test_an_attribute_without_a_version_guard_is_a_module_attribute():
    np_module = s.Global("np")
    _, _, _, ops = pack_guards([g.TypeIs(np_module, ModuleType), g.IsObject(s.Attr(np_module, "exp"), np.exp)])
    assert ops[2][-1] is None


def test_complex_takes_two_words():
    sources = [s.Local(i) for i in range(4)]
    guards = [g.Load(sources[0], "complex"), g.Load(sources[1], "complex128"), g.Load(sources[2], "complex64"),
              g.LoadObject(sources[3])]
    _, n_words, _, ops = pack_guards(guards)
    assert n_words == 6
    assert [op[3] for op in ops if op[0].startswith("load")] == [0, 2, 4, 5]


def test_what_compiled_code_cannot_hold_is_refused():
    with pytest.raises(ValueError, match=r"longdouble|float128"):
        pack_guards([g.Load(s.Local(0), "longdouble")])
    with pytest.raises(ValueError, match="object"):
        pack_guards([g.LoadArray(s.Local(0), "O", 1, "C")])


def test_guards_must_load_what_the_graph_takes():
    graph = Graph()
    graph.add_input(FLOAT)
    with pytest.raises(ValueError, match="int"):
        pack(FakeTrace(graph, [g.Load(s.Local(0), "int")]))
    pack(FakeTrace(graph, [g.Load(s.Local(0), "float")]))


def _values(*types):
    graph = Graph()
    return tuple(graph.new_value(type) for type in types)


def test_exit_words():
    values = _values(INT, COMPLEX, strong("float32"), strong("complex128"), BOOL, array("d", 1), OBJECT)
    recipes = tuple(r.FromValue(i) for i in range(len(values)))
    spec, words = pack_exit(Exit("leave", values, unit=7, locals=recipes[:4], stack=recipes[4:], reason="why", line=3))
    assert words == 9
    assert spec == ("leave", (("word", 0, "i"), ("word", 1, "D"), ("np", 3, "f"), ("np", 4, "D"), ("word", 6, "?"),
                              ("word", 7, "o"), ("word", 8, "o")), 4, 3, 0, 7, 0, "", None, "why", 3, ())


def test_one_recipe_twice_is_one_object():
    values = _values(FLOAT, array("d", 1))
    number, whole = r.FromValue(0), r.FromValue(1)
    pair = r.Build("tuple", (number, whole))
    spec, _ = pack_exit(Exit("call", values, locals=(pair, number), stack=(whole,), operands=(pair, r.NULL)))
    memo = ("memo", 1, ("word", 0, "d"))
    assert spec[1] == (("memo", 0, ("build", "tuple", (memo, ("word", 1, "o")))), ("ref", 1), ("word", 1, "o"),
                       ("ref", 0), ("null",))
    assert spec[2:5] == (2, 1, 2)


def test_a_return_has_its_result_alone():
    spec, _ = pack_exit(Exit("return", _values(INT), locals=(r.NULL,), result=r.FromValue(0)))
    assert spec[1] == (("word", 0, "i"),)
    with pytest.raises(ValueError, match="result"):
        pack_exit(Exit("return"))


@pytest.mark.parametrize("bad", [r.FromSource(1), r.FromValue(0), r.Build("tuple", (r.FromSource(-1),))])
def test_recipes_must_name_what_is_there(bad):
    graph = Graph()
    graph.add_exit(Exit("leave", locals=(bad,)))
    with pytest.raises(ValueError, match="of"):
        pack(FakeTrace(graph, [], [s.Local(0)]))


def test_n_out_is_that_of_the_widest_exit():
    graph = Graph()
    graph.add_exit(Exit("restart"))
    graph.add_exit(Exit("return", _values(COMPLEX), result=r.FromValue(0)))
    guards, exits, n_out = pack(FakeTrace(graph))
    assert n_out == 2 and guards == (0, 0, 0, ()) and exits[0][:2] == ("restart", ())


def test_what_holds_objects_is_told_apart_by_them():
    a, b = [1], [1]
    assert s.Constant(a) == s.Constant(a) and s.Constant(a) != s.Constant(b)
    assert g.IsObject(s.Local(0), a) != g.IsObject(s.Local(0), b)
    assert s.Attr(s.Constant(a), "x") != s.Attr(s.Constant(b), "x")
    assert s.Local(0, "x") == s.Local(0, "x") and len({s.Local(0), s.Local(0), s.Global("x")}) == 2
    _, _, _, ops = pack_guards([g.LoadObject(s.Constant(a)), g.LoadObject(s.Constant(b))])
    assert ops[0][3] is a and ops[2][3] is b
