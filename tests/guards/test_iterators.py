"""Iterators on the operand stack: what guards read of them in C, against what the iterators say of themselves."""
from __future__ import annotations

import numpy as np
import pytest

from jitcore import _core
from jitcore.guards import explain, iterators
from jitcore.guards import guard as g
from jitcore.guards import sources as s
from jitcore.guards.pack import pack_guards
from jitcore.guards.reference import FrameValues, Program

UNBOUND = object()
FAR = 2**61


class Own:
    """A sequence by index."""

    def __getitem__(self, i):
        return [5, 6, 7][i]

    def __len__(self):
        return 3


LIST, TUPLE, BYTES, ARRAY, OWN = [1, 2, 3], (1.0, 2.0, 3.0), b"abc", np.arange(3.0), Own()
MAKERS = {
    "range": lambda: iter(range(3, 20, 4)), "down": lambda: iter(range(20, 3, -4)), "empty": lambda: iter(range(0)),
    "far": lambda: iter(range(-FAR, FAR, FAR)), "too far": lambda: iter(range(FAR + 1, FAR + 9, 3)),
    "long": lambda: iter(range(2**70, 2**70 + 4)), "end too far": lambda: iter(range(FAR - 1, 2**62, 2**61)),
    "widest": lambda: iter(range(-2**63, 2**63 - 1, 2**62)), "back": lambda: reversed(range(9, 30, 5)),
    "list": lambda: iter(LIST), "tuple": lambda: iter(TUPLE), "bytes": lambda: iter(BYTES),
    "array": lambda: iter(ARRAY), "own": lambda: iter(OWN), "reversed list": lambda: reversed(LIST),
    "reversed tuple": lambda: reversed(TUPLE),
    "flat": lambda: np.arange(3.0).flat, "flat of none": lambda: np.zeros((2, 0)).flat,
    "flat of one": lambda: np.zeros(()).flat,
    "reversed array": lambda: reversed(ARRAY), "enumerate": lambda: enumerate(LIST, -1),
    "enumerate far": lambda: enumerate(LIST, FAR - 1), "enumerate long": lambda: enumerate(LIST, 2**80),
    "zip": lambda: zip(LIST, TUPLE), "strict": lambda: zip(LIST, TUPLE, strict=True), "no zip": lambda: zip(),
    "dict": lambda: iter({1: 2, 3: 4}), "str": lambda: iter("abc"), "map": lambda: map(int, LIST),
    "nothing": lambda: None, "number": lambda: 1,
}
TYPES = [*iterators.BACKWARDS, enumerate, zip]


def gone(name, steps):
    it = MAKERS[name]()
    for _ in range(steps):
        if hasattr(it, "__next__"):
            next(it, None)
    return it


def both(guards, obj, sources=()):
    frame = FrameValues(both, [obj], UNBOUND)
    expected = Program(guards, sources).check(frame)
    got = _core.Guards(pack_guards(guards, sources)).check(both, (obj,), UNBOUND)
    assert got[:2] == expected[:2], (guards, obj)
    if expected[2] is not None:
        assert all(a is b for a, b in zip(got[2], expected[2])), (guards, obj)
    elif expected[0] <= len(guards):
        text = explain.describe(guards[expected[0] - 1], both, [obj], UNBOUND)
        assert ": " in text and not text.endswith("as expected")
    return expected


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("name", MAKERS)
def test_c_reads_what_the_iterator_says(name, steps):
    it = s.Local(0, "it")
    held = 0
    guards = [g.LoadRange(it, part, down) for part in range(3) for down in (False, True)]
    guards += [g.LoadPosition(it, kind) for kind in TYPES] + [g.StrictIs(it, strict) for strict in (False, True)]
    for guard in guards:
        held += both([guard], gone(name, steps))[0] == 0
        assert explain.expectation(guard)
    assert held <= 3
    both([], gone(name, steps), [s.Iterated(it)])
    both([], gone(name, steps), [s.Item(s.Iterated(it), 0)])
    both([g.TypeIs(s.Iterated(it), type(iter(LIST)))], gone(name, steps))


def test_numbers_are_those_of_the_rest():
    it = s.Local(0)
    for name, rest in (("range", range(7, 23, 4)), ("down", range(16, 0, -4)), ("back", range(24, 4, -5))):
        guards = [g.LoadRange(it, part, rest.step < 0) for part in range(3)]
        words = both(guards, gone(name, 1))[1]
        assert np.frombuffer(words, np.int64).tolist() == [rest.start, rest.stop, rest.step]
    for name, position in (("list", 2), ("bytes", 2), ("array", 2), ("reversed tuple", 0), ("enumerate", 1)):
        obj = gone(name, 2)
        assert np.frombuffer(both([g.LoadPosition(it, type(obj))], obj)[1], np.int64).tolist() == [position]


def test_an_object_that_others_have_is_not_alone():
    program = _core.Guards(pack_guards([g.Alone(s.Local(0))]))
    assert program.check(both, (iter(LIST),), UNBOUND)[0] == 0
    kept = iter(LIST)
    assert program.check(both, (kept,), UNBOUND)[0] == 1
    inner = _core.Guards(pack_guards([g.Alone(s.Local(0)), g.Alone(s.Iterated(s.Local(0)))]))
    assert inner.check(both, (enumerate(LIST),), UNBOUND)[0] == 0
    assert inner.check(both, (enumerate(kept),), UNBOUND)[0] == 2
    part = s.Item(s.Iterated(s.Local(0)), 1)
    inner = _core.Guards(pack_guards([g.TypeIs(s.Local(0), zip), g.Alone(part)]))
    assert inner.check(both, (zip(LIST, LIST),), UNBOUND)[0] == 0
    assert inner.check(both, (zip(LIST, kept),), UNBOUND)[0] == 2
    assert inner.check(both, (zip(LIST),), UNBOUND)[0] == 2


def test_guards_that_make_no_sense_are_refused():
    for spec in (("load_range", 0, 0, 0, 3, 0), ("load_range", 0, 0, 0, -1, 0), ("load_position", 0, 0, 0, int)):
        with pytest.raises(ValueError):
            _core.Guards((1, 1, 1, (("local", 0, 0, 0), spec)))
