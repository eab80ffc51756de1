"""Memory does not grow over very many uses."""
from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from jitcore import _core
from jitcore.guards import guard as g
from jitcore.guards import sources as s
from jitcore.guards.pack import pack_guards

from . import native

STATM = Path("/proc/self/statm")
pytestmark = pytest.mark.skipif(not STATM.exists(), reason="no way to ask for the memory in use")


class Model:
    def __init__(self):
        self.rate = 1.0

    def method(self):
        return 1


def resident():
    return int(STATM.read_text().split()[1]) * 4096


def refused(error, act, *args):
    try:
        act(*args)
    except error:
        return
    raise AssertionError("not refused")


def grows(act, times):
    for _ in range(times // 10):
        act()
    before = resident()
    for _ in range(times):
        act()
    return resident() - before


MODEL = [g.TypeVersion(s.Local(0), Model), g.Load(s.Attr(s.Local(0), "rate"), "float"),
         g.LoadObject(s.Attr(s.Local(0), "method")), g.IsObject(s.Global("np"), np),
         g.LoadArray(s.Local(1), "d", 1, "C")]


def test_a_million_checks():
    program = _core.Guards(pack_guards(MODEL))
    frame = (Model(), np.zeros(3))
    assert grows(lambda: program.nanoseconds(resident, frame, 1000), 1000) < 2**20
    assert grows(lambda: program.check(resident, (frame[1], frame[1]), None), 20_000) < 2**20


def test_programs_come_and_go():
    function = g.FunctionIs(s.Global("resident"), resident.__code__, None, None)
    spec = pack_guards([*MODEL, function, g.TypeIs(s.Local(0), Model)])
    bad = (*spec[:3], (*spec[3], ("what", 0, 0)))
    assert grows(lambda: _core.Guards(spec), 20_000) < 2**20
    assert grows(lambda: refused(ValueError, _core.Guards, bad), 5_000) < 2**20


def test_recipes():
    a = np.zeros(3)
    spec = (("memo", 0, ("build", "list", (("word", 0, "d"), ("word", 1, "o"), ("np", 0, "d")))), ("ref", 0),
            ("build", "dict", (("const", 1), ("ref", 0))), ("build", "iter", (("ref", 0),)),
            ("build", "cell", (("src", 0),)))
    words = struct.pack("dP", 1.5, id(a))
    assert grows(lambda: _core.build_recipe(spec, (a,), words, None), 20_000) < 2**20
    bad = (*spec, ("build", "range", (("const", 1.5),) * 3))
    assert grows(lambda: refused(TypeError, _core.build_recipe, bad, (a,), words, None), 5_000) < 2**20


def test_arrays_and_views():
    assert grows(lambda: native.empty("d", (10,)), 20_000) < 2**20
    assert grows(lambda: native.empty_strided("d", (3, 2), (8, 24)), 20_000) < 2**20
    base = np.zeros(10)
    where = base.__array_interface__["data"][0]
    assert grows(lambda: native.view(base, "d", (2,), (8,), where), 20_000) < 2**20
    assert grows(lambda: native.empty("d", (100_000,)), 5_000) < 2**20
