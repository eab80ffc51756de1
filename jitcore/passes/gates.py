"""The gate in front of a loop's two versions.

Job: ``Gate`` emits what ``passes.bounds`` asks for: first whether the numbers are small enough to compute with, then
whether the fast version may run, and for how many trips.  Invariants: the gate has no effect and takes no exit;
its arithmetic cannot overflow.  Used by ``passes.fastloops`` alone.
"""
from __future__ import annotations

from typing import Any

from jitcore.ir.graph import Block, Graph, Node, Terminator, Value
from jitcore.ir.types import BOOL, INT, Type
from jitcore.passes import bounds as limits
from jitcore.passes.bounds import Bounds, Counter, number
from jitcore.passes.carried import Carried
from jitcore.passes.drift import Form


class Gate:
    """``block`` takes the arguments of ``head``; ``asked`` (or ``None``) says whether underflow is asked for, ``sides``
    what comparisons of numbers that are known here must say."""

    def __init__(self, graph: Graph, head: Block, bounds: Bounds, counter: Counter | None, asked: Value | None,
                 sides: dict[Value, bool]) -> None:
        self.graph, self.head, self.bounds, self.counter, self.asked = graph, head, bounds, counter, asked
        self.sides = sides
        self.block = self.into = graph.new_block()
        self.params = tuple(graph.add_param(self.block, param.type) for param in head.params)
        self.now = dict(zip(head.params, self.params))
        self.line = head.terminator.line if head.terminator is not None else 0
        self._constants: dict[tuple[Block, int], Value] = {}

    # -- emitting -----------------------------------------------------------------------------------
    def _emit(self, op: str, operands: tuple[Value, ...], type: Type = INT, **attrs: Any) -> Value:
        found = self.graph.add(self.into, op, operands, type, line=self.line, **attrs).result
        assert found is not None
        return found

    def _idx(self, fn: str, x: Value, y: Value) -> Value:
        return self._emit("idx", (x, y), fn=fn)

    def _compare(self, fn: str, x: Value, y: Value) -> Value:
        return self._emit("py", (x, y), BOOL, fn=fn)

    def _const(self, n: int) -> Value:
        key = self.into, n
        if key not in self._constants:
            self._constants[key] = self._emit("const", (), value=n)
        return self._constants[key]

    def _at(self, leaf: Value) -> Value:
        """A leaf's value at the gate."""
        n = number(leaf)
        return self._const(n) if n is not None else self.now.get(leaf, leaf)

    def _form(self, whole: Form) -> Value:
        """The largest number that a form can be now."""
        plus = [(leaf, k) for leaf, k in whole.terms if k > 0]
        minus = [(leaf, -k) for leaf, k in whole.terms if k < 0]
        found: Value | None = None
        for fn, terms in (("add", plus), ("sub", minus)):
            for leaf, k in terms:
                term = self._at(leaf) if k == 1 else self._idx("mul", self._at(leaf), self._const(k))
                found = term if found is None and fn == "add" else self._idx(
                    fn, self._const(0) if found is None else found, term)
        if found is None:
            return self._const(whole.high)
        return found if whole.high == 0 else self._idx("add", found, self._const(whole.high))

    def _all(self, conditions: list[Value]) -> Value | None:
        whole: Value | None = None
        for condition in conditions:
            whole = condition if whole is None else self._emit("py", (whole, condition), BOOL, fn="and")
        return whole

    def _branch(self, condition: Value, target: Block, args: tuple[Value, ...]) -> None:
        self.into.terminator = Terminator("branch", cond=condition, line=self.line,
                                          targets=[(target, args), (self.head, self.params)])

    def _load(self, node: Node, forms: tuple[Form, ...]) -> Value:
        """The element that ``node`` loads on the first trip; ``forms``: its indices, exact."""
        assert node.result is not None
        return self._emit("load", (node.operands[0], *map(self._form, forms)), node.result.type)

    # -- the gate -----------------------------------------------------------------------------------
    def finish(self, front: Block, params: tuple[Value, ...], left: Value | None, carried: Carried) -> Value:
        """Ends in jumps to ``front`` or the head; returns the condition, in ``front``, that a trip is left."""
        small: list[Value] = []
        if self.asked is not None:
            small.append(self._emit("py", (self.asked,), BOOL, fn="not"))
        for comparison, holds in self.sides.items():
            node = comparison.node
            assert node is not None
            said = self._compare(node.attrs["fn"], *map(self._at, node.operands))
            small.append(said if holds else self._emit("py", (said,), BOOL, fn="not"))
        for leaf, bits in self.bounds.leaves.items():
            value = self._at(leaf)
            small.append(self._compare("le", value, self._const(1 << bits)))
            if leaf not in self.bounds.known:
                small.append(self._compare("ge", value, self._const(-(1 << bits))))
        first = self._all(small)
        if first is not None:
            second = self.graph.new_block()
            self._branch(first, second, ())
            self.into = second
        conditions = [self._compare("le", self._form(whole), self._const(0)) for whole in self.bounds.must]
        trips = self._const(limits.CHUNK)
        for whole, growth in self.bounds.limits:
            room = self._idx("sub", self._const(0), self._form(whole))
            if growth != 1:
                room = self._idx("floordiv", room, self._const(growth))
            trips = self._idx("min", trips, self._idx("add", room, self._const(1)))
        args = self.params if left is None else (*self.params, trips)
        end: Value | None = None
        counter = self.counter
        if counter is not None:
            step = number(counter.step)
            way = trips if step == 1 else self._idx("mul", trips, self._at(counter.step))
            reached = self._idx("add", self._at(counter.param), way)
            end = self._idx("min" if counter.up else "max", self._at(counter.stop), reached)
        whole_condition = self._all(conditions)
        if carried.loads:
            going = self._compare("gt", trips, self._const(0)) if end is None else self._goes_on(self.params, end)
            whole_condition = self._all([*conditions, going])
            loading = self.graph.new_block()
            assert whole_condition is not None
            self._branch(whole_condition, loading, ())
            self.into = loading
            args += tuple(self._load(node, forms) for node, forms in carried.loads.items())
            self.into.terminator = Terminator("jump", targets=[(front, args)], line=self.line)
        elif whole_condition is None:
            self.into.terminator = Terminator("jump", targets=[(front, args)], line=self.line)
        else:
            self._branch(whole_condition, front, args)
        self.into = front
        if counter is None:
            assert left is not None
            return self._compare("gt", left, self._const(0))
        assert end is not None
        return self._goes_on(params, end)

    def _goes_on(self, params: tuple[Value, ...], end: Value) -> Value:
        """Whether the counter, among the values of the head's parameters, has not come to ``end``."""
        assert self.counter is not None
        position = params[self.head.params.index(self.counter.param)]
        return self._compare("lt" if self.counter.up else "gt", position, end)
