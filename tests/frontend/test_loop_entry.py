"""Regions that begin inside a loop: the iterator on the operand stack is the loop's, from where it is."""
from __future__ import annotations

import numpy as np
import pytest

from jitcore.frontend.snapshot import Snapshot, Trace
from jitcore.frontend.trace import trace_region
from jitcore.guards import guard as g
from tests.frontend.regions import NULL, Run
from tests.parity.compare import same


class Inside(Run):
    """A call that goes on compiled when it comes to its ``times``-th ``op``."""

    def stop(self, op, times):
        """Runs until then; where the frame is: unit, locals and stack."""
        index = 0
        while True:
            instr = self.frame.code.instructions[index]
            times -= instr.op == op
            if times == 0:
                return instr.unit, tuple(self.frame.slots), tuple(self.frame.stack)
            to = self.frame.step(instr)
            index = index + 1 if to is None else self.frame.code.at(to)

    def go_from(self, op, times):
        unit, _, _ = self.stop(op, times)
        trace = self.region(unit)
        assert isinstance(trace, Trace), trace.reason
        exit, objects = self.enter(trace, unit)
        if exit.kind == "return":
            return trace, exit, objects[0]
        self.rebuild(exit, objects)
        return trace, exit, self.interpret(exit.unit)


def ranges(n, step):
    s = 0
    for i in range(3, n, step):
        if i % 7 == 5:
            continue
        s = s * 3 % 1009 + i
    else:
        s += 100_000
    return s, i


def nested(n):
    s = 0.5
    for i in range(n):
        for j in range(i, n, 2):
            s += i * j
            if j > 6:
                break
    return s


def fails(a, n):
    s = 0.0
    for i in range(n):
        s += a[i]
    return s


@pytest.mark.parametrize("op", ["FOR_ITER", "STORE_FAST", "JUMP_BACKWARD"])
@pytest.mark.parametrize("times", [2, 3, 5])
def test_a_range_goes_on(op, times):
    for n, step in ((30, 1), (31, 4), (-30, -3)):
        trace, exit, result = Inside(ranges, n, step).go_from(op, times)
        assert exit.kind == "return" and result == ranges(n, step)
        if op == "FOR_ITER":
            loads = [guard for guard in trace.guards if isinstance(guard, g.LoadRange)]
            assert [load.part for load in loads] == [0, 1, 2] and all(load.down == (step < 0) for load in loads)
            assert sum(isinstance(guard, g.Alone) for guard in trace.guards) == 1
    _, exit, result = Inside(nested, 9).go_from(op, 4 * times)
    assert exit.kind == "return" and result == nested(9)


@pytest.mark.parametrize("times", [1, 2, 5])
def test_the_iterator_is_made_again_where_the_loop_fails(times):
    a = np.arange(6.0)
    run = Inside(fails, a, 9)
    with pytest.raises(IndexError):
        run.go_from("FOR_ITER", times)
    assert run.frame.slots[run.frame.code.names.index("i")] == 6
    _, exit, result = Inside(fails, a, 6).go_from("FOR_ITER", times)
    assert exit.kind == "return"
    same(result, fails(a, 6))


def test_one_region_serves_every_place():
    run = Inside(ranges, 40, 3)
    trace, _, _ = run.go_from("FOR_ITER", 2)
    for n, step, times in ((40, 3, 4), (90, 5, 1), (9, 1, 7)):
        again = Inside(ranges, n, step, traces=run.traces)
        found, _, result = again.go_from("FOR_ITER", times)
        assert result == ranges(n, step)
        assert found is trace or times == 1 or times == 7       # at the end `i` is bound, at the start it is not


def shares(n):
    it = iter(range(n))
    s = 0
    for i in it:
        s += i * next(it, 0)
    return s


def test_an_iterator_that_a_local_has_too_is_left():
    found = trace_region(Snapshot(shares, shares.__code__, *Inside(shares, 9).stop("FOR_ITER", 2), NULL))
    assert not any(isinstance(guard, (g.LoadRange, g.Alone)) for guard in found.guards)
    others = Snapshot(fails, fails.__code__, *Inside(fails, np.zeros(9), 9).stop("FOR_ITER", 2), NULL)
    assert any(isinstance(guard, g.Alone) for guard in trace_region(others).guards)
    others.shared = frozenset((0,))
    assert not any(isinstance(guard, g.Alone) for guard in trace_region(others).guards)


def over(xs):
    s = 0
    for x in xs:
        if x == 3:
            continue
        s = s * 3 % 1009 + x
    else:
        s += 100
    return s, x


def counted(xs, ys):
    s = 0.0
    for i, (x, y) in enumerate(zip(xs, ys), 3):
        s += i * x - y
    return s, i


def strictly(xs, ys):
    s = 0.0
    for x, y in zip(xs, ys, strict=True):
        s += x - y
    return s


def backwards(xs):
    s = 0
    for x in reversed(xs):
        s = s * 3 % 1009 + x
    return s, x


NUMBERS = {"list": list(range(9)), "tuple": tuple(range(2, 13)), "bytes": b"some bytes", "array": np.arange(3, 12),
           "floats": [0.5 * k for k in range(9)], "reals": np.arange(8.0), "strided": np.arange(20)[::-2],
           "narrow": np.arange(9, dtype="i4"), "numpy": [np.float32(k) for k in range(9)]}


@pytest.mark.parametrize("op", ["FOR_ITER", "JUMP_BACKWARD"])
@pytest.mark.parametrize("kind", NUMBERS)
def test_sequences_go_on(kind, op):
    xs = NUMBERS[kind]
    for func, args in ((over, (xs,)), (backwards, (xs,)), (counted, (xs, NUMBERS["floats"])),
                       (counted, (range(20), xs)), (strictly, (xs, xs))):
        expected = func(*args)
        for times in (1, 2, 6):
            if times > 1 or op != "FOR_ITER":
                trace, exit, result = Inside(func, *args).go_from(op, times)
                assert exit.kind == "return"
                same(result, expected)
                assert any(isinstance(guard, g.Alone) for guard in trace.guards)


def test_a_list_that_shrank_has_come_to_its_end():
    for func, times, seen in ((over, 5, [1, 2, 4, 5]), (backwards, 2, [9])):
        run = Inside(func, [1, 2, 4, 5, 6, 9])
        unit, slots, _ = run.stop("FOR_ITER", times)
        del slots[0][2:]
        trace = run.region(unit)
        exit, objects = run.enter(trace, unit)
        assert exit.kind == "return"
        same(objects[0], func(seen))


def fails_at(xs, ys):
    s = 0.0
    for i, (x, y) in enumerate(zip(xs, ys)):  # noqa: B007
        s += x / y
    return s, i


@pytest.mark.parametrize("zero", [2, 3, 6])
@pytest.mark.parametrize("times", [1, 2])
def test_iterators_are_made_again(zero, times):
    ys = [float(k - zero) for k in range(7)]
    run = Inside(fails_at, NUMBERS["floats"], ys)
    with pytest.raises(ZeroDivisionError):
        run.go_from("FOR_ITER", times)
    assert run.frame.slots[run.frame.code.names.index("i")] == zero


def test_an_item_of_another_type_is_left_to_the_interpreter():
    ys = [float(k + 1) for k in range(7)]
    run = Inside(fails_at, NUMBERS["floats"], ys)
    trace, _, _ = run.go_from("FOR_ITER", 2)
    for k, item in ((2, 5), (4, 2**70), (6, True), (5, 1j), (3, np.float64(2))):
        xs = NUMBERS["floats"][:k] + [item] + NUMBERS["floats"][k:]
        again = Inside(fails_at, xs, ys, traces=run.traces)
        found, exit, result = again.go_from("FOR_ITER", 2)
        assert found is trace and exit.kind == "leave"
        same(result, fails_at(xs, ys))
    again = Inside(fails_at, [*NUMBERS["floats"], "x"], ys, traces=run.traces)      # not reached
    assert again.go_from("FOR_ITER", 2)[1].kind == "return"


def flat(a):
    s = 0.0
    for i, x in enumerate(a.flat):
        s = s * 0.5 + i * x
    return s, x


@pytest.mark.parametrize("times", [2, 5])
def test_flat_goes_on(times):
    for a in (np.arange(12.0).reshape(3, 4), np.arange(24.0).reshape(4, 3, 2).T, np.arange(6)):
        trace, exit, result = Inside(flat, a).go_from("FOR_ITER", times)
        assert exit.kind == "return" and any(isinstance(guard, g.LoadPosition) for guard in trace.guards)
        same(result, flat(a))
