"""What must hold where a run of trips begins, so that checks inside hold on every trip.

Job: ``Bounds`` decides for the checks of a loop whether they can be settled before it, and gathers what
that asks for: ``leaves`` that must be small numbers, forms that must not be positive (``must``), and forms that limit
the number of trips (``limits``).  Invariants: for at most ``CHUNK`` trips, within the limits, a settled check holds,
and no number that the gate computes leaves 64 bits.  Used by ``passes.fastloops`` alone.
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from jitcore.ir.graph import Block, Node, Value
from jitcore.ir.types import BOOL, INT
from jitcore.passes.drift import ZERO, Form, Motion, constant, form, plus
from jitcore.passes.loops import Loop

#: Trips without a poll.  At a microsecond each they take 16 ms.
CHUNK = 1 << 14
#: Leaves are below 2**these in size: usually, where products are settled, and for what a loop gathers.
USUAL, TIGHT, WIDE = 40, 30, 61
#: The same for what changes in no simple way, which is looked at on every trip.
WATCHED = 57
_FITS = 1 << 62


@dataclass(frozen=True)
class Counter:
    """The number that a loop counts: while ``param < stop`` (``up``) or ``param > stop`` it goes on in ``body``."""

    param: Value
    stop: Value
    step: Value
    up: bool
    body: Block
    args: tuple[Value, ...]


def counter_of(loop: Loop) -> Counter | None:
    """The loop's counter, if its head only compares it with a number from outside."""
    head, end = loop.head, loop.head.terminator
    if end is None or end.kind != "branch" or any(node.exit is not None or node.op == "store" for node in head.nodes):
        return None
    test = end.cond.node if end.cond is not None else None
    (body, args), (out, _) = end.targets
    if test is None or test.op != "py" or test.attrs["fn"] not in ("lt", "gt") or body not in loop.inside \
            or out in loop.inside or body is head:
        return None
    param, stop = test.operands
    up = test.attrs["fn"] == "lt"
    if param not in head.params or param.type != INT or stop.type != INT or not fixed(loop, stop):
        return None
    steps = set()
    for latch in loop.latches:
        assert latch.terminator is not None
        for target, given in latch.terminator.targets:
            if target is head:
                node = given[head.params.index(param)].node
                if node is None or node.op != "idx" or node.attrs["fn"] != "add" or node.operands[0] is not param:
                    return None
                steps.add(node.operands[1])
    if len(steps) != 1:
        return None
    step = steps.pop()
    known = number(step)
    if not fixed(loop, step) or (known is not None and (known == 0 or (known > 0) != up)):
        return None
    return Counter(param, stop, step, up, body, args)


def fixed(loop: Loop, value: Value) -> bool:
    """Whether the value is the same on every trip and known before the loop."""
    return value not in loop.defined or number(value) is not None


def number(value: Value) -> int | None:
    """The value of an int constant."""
    node = value.node
    return node.attrs["value"] if node is not None and node.op == "const" and value.type == INT else None


class Bounds:
    """Decides about the checks of one loop.  ``known``: ints that are never negative; ``inner``: those among them that
    inner loops count upwards."""

    def __init__(self, motion: Motion, counter: Counter | None, known: set[Value],
                 inner: dict[Value, Counter]) -> None:
        self.motion, self.counter, self.known, self.inner = motion, counter, known, inner
        #: Blocks on every way to the node in question.
        self._above: Collection[Block] = ()
        self.leaves: dict[Value, int] = {}
        #: Parameters of the head that every trip must find small: in place of checks in branches, which would keep LLVM
        #: from choosing instead of jumping.
        self.watched: dict[Value, None] = {}
        self._watching = False
        self.must: dict[Form, None] = {}
        self.limits: dict[tuple[Form, int], None] = {}
        self._settled: dict[Node, str] = {}
        if counter is not None:
            for value in (counter.param, counter.stop, counter.step):
                if number(value) is None:
                    self._small(value, USUAL)

    def settled(self, node: Node) -> str | None:
        """``'wrap'``, or the function of ``idx`` that does it without a check; ``None`` if the check stays."""
        return self._settled.get(node)

    def settles(self, node: Node, above: Collection[Block] = (), branched: bool = False) -> bool:
        """Whether the check of ``node`` can be settled before the loop; then what it takes is asked for.  ``above``:
        the blocks that dominate it; ``branched``: not every trip comes to the node."""
        found = None
        self._above, self._watching = above, branched
        if node.op == "wrap":
            found = "wrap" if self._in_range(*node.operands) else None
        elif node.op == "py" and node.result is not None and node.result.type == INT and all(
                value.type in (INT, BOOL) for value in node.operands):
            fn = node.attrs["fn"]
            if fn in ("floordiv", "mod"):
                found = fn if (number(node.operands[1]) or 0) > 0 else None
            elif fn in ("add", "sub", "mul") and self._fits(node, node.result):
                found = fn
        if found is not None:
            self._settled[node] = found
        return found is not None

    def few(self, stop: Value, above: Collection[Block]) -> bool:
        """Whether an inner loop that counts up to ``stop`` can be sure to have ``CHUNK`` trips at most."""
        self._above = above
        return self._never_positive(plus(self.motion.of(stop), constant(CHUNK), -1))

    def _last(self, leaf: Value) -> Form | None:
        """The largest number that an inner loop counts to where its body has begun."""
        counter = self.inner[leaf]
        if counter.body not in self._above:
            return None
        last = plus(self.motion.of(counter.stop), constant(1), -1)
        return None if last is None or any(other in self.inner for other in last.leaves()) else last

    # -- numbers that fit -------------------------------------------------------------------------------
    def _fits(self, node: Node, result: Value) -> bool:
        whole = self.motion.of(result)
        if whole is not None:
            ends = self._ends(whole, USUAL)
            if ends is not None and -_FITS <= ends[0] and ends[1] <= _FITS:
                self._ask(whole, USUAL)
                return True
        if node.attrs["fn"] != "mul":
            return False
        parts = [self.motion.of(value) for value in node.operands]
        ranges = [None if part is None else self._ends(part, TIGHT) for part in parts]
        if ranges[0] is None or ranges[1] is None:
            return False
        if any(abs(x * y) > _FITS for x in ranges[0] for y in ranges[1]):
            return False
        for part in parts:
            assert part is not None
            self._ask(part, TIGHT)
        return True

    def _ends(self, whole: Form, bits: int) -> tuple[int, int] | None:
        """Between what numbers a form lies if its leaves are small at the beginning."""
        low, high = whole.low, whole.high
        for leaf, k in whole.terms:
            found = self._extent(leaf, bits)
            if found is None:
                return None
            low += min(k * found[0], k * found[1])
            high += max(k * found[0], k * found[1])
        return low, high

    def _extent(self, leaf: Value, bits: int) -> tuple[int, int] | None:
        size = 1 << bits
        if leaf in self.inner:
            last = self._last(leaf)
            ends = None if last is None else self._ends(last, bits)
            return None if ends is None else (0, max(0, ends[1]))
        if leaf not in self.motion.loop.defined:
            return (0 if leaf in self.known else -size), size
        drift = self.motion.steady.get(leaf)
        if drift is not None:
            most = max(abs(drift[0]), abs(drift[1])) * CHUNK
            return None if most > size else (-size - most, size + most)
        if bits != USUAL:
            return None
        if leaf not in self.motion.gathering:
            return (-1 << WATCHED, 1 << WATCHED) if self._watching else None
        if self.counter is not None and leaf is self.counter.param:
            return -size - CHUNK * size, size + CHUNK * size
        for rest in self.motion.gathering[leaf]:
            if any(other in self.motion.gathering for other in rest.leaves()):
                return None
            ends = self._ends(rest, USUAL)
            if ends is None or max(-ends[0], ends[1]) * CHUNK > 1 << WIDE - 1:
                return None
        wide = (1 << WIDE) + (1 << WIDE - 1)
        return -wide, wide

    def _ask(self, whole: Form, bits: int) -> None:
        """The leaves of ``whole`` must be small."""
        for leaf in whole.leaves():
            if leaf in self.inner:
                last = self._last(leaf)
                assert last is not None
                self._ask(last, bits)
            elif leaf in self.motion.gathering and not (self.counter is not None and leaf is self.counter.param):
                self._small(leaf, WIDE)
                for rest in self.motion.gathering[leaf]:
                    self._ask(rest, USUAL)
            elif self._is_wild(leaf):
                self.watched[leaf] = None
            else:
                self._small(leaf, bits)

    def _is_wild(self, leaf: Value) -> bool:
        motion = self.motion
        return leaf in motion.loop.defined and leaf not in motion.steady and leaf not in motion.gathering

    def _small(self, leaf: Value, bits: int) -> None:
        self.leaves[leaf] = min(bits, self.leaves.get(leaf, bits))

    # -- indices ----------------------------------------------------------------------------------------
    def _in_range(self, index: Value, length: Value) -> bool:
        """``0 <= index < length`` on every trip."""
        x, n = self.motion.of(index), self.motion.of(length)
        return self._never_positive(plus(plus(x, n, -1), constant(1)), plus(ZERO, x, -1))

    def _never_positive(self, *forms: Form | None) -> bool:
        """Whether it can be made sure that none of ``forms`` is positive on any trip; then that is asked for."""
        found = [None if whole is None else self._negative(whole) for whole in forms]
        if None in found:
            return False
        for kind, wanted, growth in filter(None, found):
            if kind == "must":
                self.must[wanted] = None
            elif kind == "limit":
                self.limits[wanted, growth] = None
            if kind != "sure":
                for leaf in wanted.leaves():
                    if not _is_length(leaf):
                        self._small(leaf, USUAL)
        return True

    def _negative(self, whole: Form) -> tuple[str, Form, int] | None:
        """How ``whole <= 0`` can be made sure on every trip: ``sure``, ``must`` hold at the beginning, ``limit`` the
        trips by a growth; ``None`` if it cannot."""
        for leaf, k in whole.terms:                     # inner loops count from 0 or more
            if leaf in self.inner:
                part = plus(whole, Form(((leaf, 1),), 0, 0), -k)
                most = part if k < 0 else plus(part, self._last(leaf), k)
                return None if most is None else self._negative(most)
        if self._is_sure(whole):
            return "sure", whole, 0
        if any(abs(k) > (1 if _is_length(leaf) else 1 << 16) for leaf, k in whole.terms):
            return None
        counter, at_end = self.counter, whole
        if counter is not None:
            k = dict(whole.terms).get(counter.param, 0)
            if k > 0 if counter.up else k < 0:
                last = plus(self.motion.of(counter.stop), form({}, 1, 1), -1 if counter.up else 1)
                ended = plus(plus(whole, Form(((counter.param, 1),), 0, 0), -k), last, k)
                if ended is not None and self._is_sure(ended):
                    return "sure", ended, 0
                if counter.param not in self.motion.steady:
                    if ended is None:
                        return None
                    at_end = ended
        growth = 0
        for leaf, k in at_end.terms:
            if leaf not in self.motion.loop.defined:
                continue
            if counter is not None and leaf is counter.param and leaf not in self.motion.steady:
                continue                        # it moves the other way
            drift = self.motion.steady.get(leaf)
            if drift is None:
                return None
            growth += max(k * drift[0], k * drift[1])
        if not at_end.terms:
            return None
        if growth <= 0:
            return "must", at_end, 0
        return None if growth > 1 << 20 else ("limit", at_end, growth)

    def _is_sure(self, whole: Form) -> bool:
        return whole.high <= 0 and all(k < 0 and leaf in self.known for leaf, k in whole.terms)


def _is_length(value: Value) -> bool:
    """Whether the value is a length, which is less than 2**60 or so by the size of memory."""
    return value.node is not None and value.node.op in ("dim", "count", "extent")
