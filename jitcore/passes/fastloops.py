"""Fast versions of loops: trips that need no test of indices, overflow and pending events.

Job: ``run`` puts a *gate* in front of each innermost loop of scalars and elements, and of each that contains loops and
stores nothing in them (``nests``).  The gate finds out for how many
trips (at most ``CHUNK``) every index lies in its array and no counter overflows, and lets a copy of the loop do those
without these tests; then one trip of the loop as it was follows, which polls, and the gate is asked again.  So whatever
can fail fails in the original loop, at its instruction and with its state.

Invariants: the copy does what the loop would do; a trip that finds a check of its own failing before anything was
stored goes back to its beginning in the original loop (a ``goto`` exit), so that reports of floating-point arithmetic
are looked for where values end up, not after each operation; behind a store checks leave with exact state, as ever.
Run once, after all other passes.
"""
from __future__ import annotations

from jitcore.ir.dominance import dominators, predecessors, reverse_postorder, successors
from jitcore.ir.graph import Block, Graph, Node, Terminator, Value
from jitcore.ir.types import BOOL, INT, ArrayType, ListType, ScalarType
from jitcore.ops.op import SPREADING, UNDER
from jitcore.ops.table import OPS
from jitcore.passes import dce
from jitcore.passes.bounds import WATCHED, Bounds, Counter, counter_of
from jitcore.passes.carried import Carried
from jitcore.passes.drift import Motion, never_negative
from jitcore.passes.gates import Gate
from jitcore.passes.loops import Copy, Loop, Repair, goto, innermost, is_constant, jump, loops_of, redirect
from jitcore.passes.nests import Nest, nests
from jitcore.passes.spread import Spread, spreading
from jitcore.passes.undo import Undo, finite, worth

#: Nodes that a loop may have at most, and how many for each test that is saved.
MOST_NODES, NODES_A_TEST = 500, 60
_SCALAR = frozenset(("const", "object", "py", "idx", "unbox", "dim", "stride", "wrap", "check", "poll", "ew", "cast",
                     "load", "store", "same", "view", "writable", "count", "item", "byte", "number"))
#: Operations that report exactly where the result is infinite or NaN and no operand is (or where it is tiny).
_TOLD_BY_RESULT = frozenset(("add", "subtract", "multiply", "divide", "true_divide", "square", "sqrt"))


def run(graph: Graph) -> int:
    """Make fast versions in place; returns how many."""
    loops = loops_of(graph)
    found = nests(graph, loops, _fits) + [Nest(graph, loop, []) for loop in innermost(loops) if _fits(loop)]
    made = 0
    for nest in found:
        made += _Version(graph, nest).make()
    if made:
        graph.blocks = reverse_postorder(graph)
        dce.run(graph)
    return made


def _fits(loop: Loop) -> bool:
    """Whether the loop computes with numbers and elements only."""
    nodes = [node for block in loop.blocks for node in block.nodes]
    params = (param for block in loop.blocks for param in block.params)
    if len(nodes) > MOST_NODES or any(isinstance(param.type, (ArrayType, ListType)) for param in params):
        return False
    return any(node.op == "poll" for node in nodes) and all(
        node.op in _SCALAR and (node.op == "view" or node.result is None or not isinstance(node.result.type, ArrayType))
        for node in nodes)


def _may_be_tiny(node: Node) -> bool:
    """Whether NumPy can report underflow of the operation."""
    if node.exit is None or node.op not in ("ew", "cast"):
        return False
    return node.op == "cast" or node.attrs["op"] not in OPS or UNDER in OPS[node.attrs["op"]].reports_for(
        node.attrs["sig"])


class _Version:
    """Makes the fast version of one loop."""

    def __init__(self, graph: Graph, nest: Nest) -> None:
        self.graph, self.nest, self.loop = graph, nest, nest.loop
        self.counter: Counter | None = counter_of(self.loop)
        known = self._known()
        inner = {param: counter for param, counter in nest.counters.items() if param in known}
        self.bounds = Bounds(Motion(self.loop, inner), self.counter, known, inner)
        self.polls: set[Block] = set()
        self.decided: dict[Block, int] = {}

    def _known(self) -> set[Value]:
        args: dict[Value, list[Value]] = {}
        values: set[Value] = set()
        for block in self.graph.blocks:
            values.update(block.params)
            values.update(node.result for node in block.nodes if node.result is not None)
            assert block.terminator is not None
            for target, given in block.terminator.targets:
                for param, arg in zip(target.params, given):
                    args.setdefault(param, []).append(arg)
        for exit in self.graph.exits:
            if exit.target is not None:
                for param, arg in zip(exit.target.params, exit.values):
                    args.setdefault(param, []).append(arg)
        return never_negative(values, args)

    # -- what is saved --------------------------------------------------------------------------------
    def make(self) -> int:
        saved = 0
        size = 0
        above = dominators(self.graph)
        self.polls = self.nest.polls(lambda loop, counter: counter.param in self.bounds.inner
                                     and self.bounds.few(counter.stop, above[loop.head]))
        self.decided = self.nest.decided(above)
        for block in self._alive():
            branched = any(block not in above[latch] for latch in self.loop.latches)
            for node in block.nodes:
                size += 1
                if block not in self.polls if node.op == "poll" else node.exit is not None and (
                        self.bounds.settles(node, above[block], branched) or self._told_by_result(node)):
                    saved += 1
        if size > NODES_A_TEST * saved or any(isinstance(v.type, (ArrayType, ListType)) for v in self._leaving()):
            return 0
        self._build()
        return 1

    def _alive(self) -> list[Block]:
        """The blocks that a trip of the copy may come to."""
        found, work = {self.loop.head}, [self.loop.head]
        while work:
            block = work.pop()
            targets = successors(block)
            if block in self.decided:
                targets = [targets[self.decided[block]]]
            for target in targets:
                if target in self.loop.inside and target not in found:
                    found.add(target)
                    work.append(target)
        return [block for block in self.loop.blocks if block in found]

    def _told_by_result(self, node: Node) -> bool:
        return (node.op == "ew" and node.attrs["op"] in _TOLD_BY_RESULT and node.result is not None
                and isinstance(node.result.type, ScalarType) and node.result.type.dtype.char in "fdFD")

    # -- making it --------------------------------------------------------------------------------------
    def _build(self) -> None:
        graph, loop, head = self.graph, self.loop, self.loop.head
        carried = Carried(graph, loop, self.bounds, bool(self.nest.inner))
        sources = predecessors(graph.blocks)[head]
        sides = {block.terminator.cond: side == 0 for block, side in self.decided.items()
                 if block.terminator is not None and block.terminator.cond is not None}
        gate = Gate(graph, head, self.bounds, self.counter, self._asks_under(), sides)
        for source in sources:
            redirect(source, head, gate.block)
        self.gate_block = gate.block
        copy = Copy(graph, loop)
        front = graph.new_block()                   # the copy's head: are there trips left?
        params = tuple(graph.add_param(front, param.type) for param in head.params)
        inner = copy.blocks[head]
        inner.params.clear()
        copy.values.update(zip(head.params, params))
        self.retry, self.params = goto(graph, head, params), params
        self.tails: dict[Block, Block] = {}
        left = None if self.counter is not None else graph.add_param(front, INT)
        test = gate.finish(front, params, left, carried)
        self.carried = carried.parameters(front)
        step: tuple[Value, ...] = ()
        line = head.terminator.line if head.terminator is not None else 0
        front.terminator = Terminator("branch", cond=test, targets=[(inner, ()), (head, params)], line=line)
        if left is not None:
            one = graph.add(inner, "const", (), INT, value=1, line=line).result
            assert one is not None
            fewer = graph.add(inner, "idx", (left, one), INT, fn="sub", line=line).result
            assert fewer is not None
            step = (fewer,)
        self._watch(copy, inner, line)
        self.spread = Spread(graph, loop)
        stored = self._stored()
        self.sinks: dict[Block, dict[Value, None]] = {}
        self.lasting: dict[Block, list[Value]] = {}
        self.begun: set[Block] = set()
        for block in loop.blocks:
            self.begun.add(block)
            self._block(copy, block, stored)
        step += copy.all(tuple(carried.store.operands[1] for _ in self.carried))
        self._ends(copy, front, step)

    def _watch(self, copy: Copy, inner: Block, line: int) -> None:
        """Goes back where a number that the trip begins with is not small."""
        for value in self.bounds.watched:
            sides: list[Value] = []
            for fn, bound in (("le", 1 << WATCHED), ("ge", -1 << WATCHED)):
                limit = self.graph.add(inner, "const", (), INT, value=bound, line=line).result
                assert limit is not None
                side = self.graph.add(inner, "py", (copy.values[value], limit), BOOL, fn=fn, line=line).result
                assert side is not None
                sides.append(side)
            small = self.graph.add(inner, "py", tuple(sides), BOOL, fn="and", line=line).result
            assert small is not None
            self.graph.add(inner, "check", (small,), None, exit=self.retry, line=line)

    def _stored(self) -> dict[Block, bool]:
        """Whether a trip may have stored something when it comes to each block."""
        found: dict[Block, bool] = {}
        now = {self.loop.head: False}
        while found != now:                         # inner loops go back to blocks further up
            found = dict(now)
            for block in self.loop.blocks:
                assert block.terminator is not None
                behind = now[block] or any(node.op == "store" for node in block.nodes)
                for target, _ in block.terminator.targets:
                    if target in self.loop.inside and target is not self.loop.head:
                        now[target] = now.get(target, False) or behind
        return found

    def _asks_under(self) -> Value | None:
        """Whether underflow is asked for, computed once, in the entry block; ``None`` if that makes no difference."""
        if not any(_may_be_tiny(node) for block in self.loop.blocks for node in block.nodes):
            return None
        entry = self.graph.blocks[0]
        node = next((node for node in entry.nodes if node.op == "asks_under"), None)
        if node is None:
            node = self.graph.add(entry, "asks_under", (), BOOL)
        return node.result

    def _block(self, copy: Copy, block: Block, stored: dict[Block, bool]) -> None:
        """Copies the nodes of ``block``, less what the gate has settled."""
        into, behind = copy.blocks[block], stored[block]
        sinks = {} if behind else self.sinks.get(block, {})
        for param in () if behind else self._lasting(block):
            sinks[copy.values[param]] = None
        put_off: list[Node | None] = [None] if sinks else []

        undo = None if behind or not worth(block, self._told, self._sure) else Undo(
            self.graph, self.loop.head, self.params)

        def look(line: int) -> None:
            if len(put_off) == 1 and put_off[0] is not None and put_off[0].result in sinks:
                self._own_look(put_off[0])          # costs no more, and infinities that are no report stay here
            elif sinks:
                self.graph.add(into, "check", (finite(self.graph, into, sinks, line),), exit=self.retry, line=line)
            sinks.clear()
            put_off.clear()

        for node in block.nodes:
            if node.op == "poll":
                if block in self.polls:
                    assert node.exit is not None
                    copy.node(node, into, copy.exit(node.exit) if behind else self.retry)
                continue
            if node in self.carried:
                assert node.result is not None
                copy.values[node.result] = self.carried[node]
                continue
            settled = self.bounds.settled(node)
            if settled is not None:
                self._settled(copy, node, into, settled)
                continue
            if node.op == "store" and undo is not None:
                undo.keep(copy, node, into)
            elif node.op == "store":
                look(node.line)
                behind = True
            exit = node.exit
            if exit is not None:
                exit = copy.exit(exit) if behind else self.retry
            if exit is not None and not behind and self.spread.told(node, block):
                self.spread.unchecked(copy, node, into, sinks)
                put_off.append(None)
                continue
            told = exit is not None and not behind and self._told_by_result(node)
            new = copy.node(node, into, None if told else exit)
            if new.op in ("ew", "cast") and new.exit is not None:
                self._own_look(new, new.exit)
            if new.op == "ew":
                for k in SPREADING.get(new.attrs["op"], ()):
                    if told:
                        sinks.pop(self.spread.root(new.operands[k]), None)
            self.spread.name(new)
            if not behind and (len(put_off) != 1 or put_off[0] is None):
                self.spread.absorbs(new, sinks)
            if new.op == "py" and new.exit == self.retry and new.attrs["fn"] in ("int", "round"):
                weak = new.operands[0].node             # exits unless its operand is finite
                if weak is not None and weak.op == "unbox":
                    sinks.pop(weak.operands[0], None)
            if told and new.result is not None:
                sinks[new.result] = None
                put_off.append(new)
        assert block.terminator is not None
        alone = len(block.terminator.targets) == 1 or any(block is inner.head for inner in self.nest.inner)
        for value in list(sinks) if alone else ():  # what is handed on is looked at where it ends up
            ends = [self._handed_on(copy, value, target, args) for target, args in block.terminator.targets
                    if not stored.get(target, True)]
            if None not in ends and len(ends) == len(block.terminator.targets):
                sinks.pop(value)
                for end in filter(None, ends):
                    self.sinks.setdefault(end[0], {})[end[1]] = None
        if undo is not None and sinks:
            self.tails[block] = undo.finish(into, sinks, block.terminator.line)
        else:
            look(block.terminator.line)

    def _lasting(self, head: Block) -> list[Value]:
        """Numbers that an inner loop hands on and that are looked at behind it."""
        if head not in self.lasting:
            self.lasting[head] = self.nest.lasting(head, spreading)
        return self.lasting[head]

    def _handed_on(self, copy: Copy, value: Value, target: Block,
                   args: tuple[Value, ...]) -> tuple[Block, Value] | None:
        """What ``value`` is in ``target``, if it can be looked at there."""
        known = next((param for param, arg in zip(target.params, copy.all(args)) if arg is value), None)
        if target in self.begun and known not in self._lasting(target):
            return None
        if known is not None:
            return target, copy.values[known]
        return (target, value) if len(self.nest.sources[target]) == 1 else None

    def _told(self, node: Node) -> bool:
        return node.exit is not None and self.bounds.settled(node) is None and self._told_by_result(node)

    def _sure(self, node: Node) -> bool:
        return (node.op == "poll" and not self.polls) or self.bounds.settled(node) is not None

    def _own_look(self, node: Node, exit: int | None = None) -> None:
        """Lets ``node`` look at its own reports; that of underflow is the gate's."""
        node.exit = self.retry if exit is None else exit
        node.attrs["reports"] = ("divide", "over", "invalid")

    def _settled(self, copy: Copy, node: Node, into: Block, settled: str) -> None:
        """A node whose check always holds in the copy."""
        assert node.result is not None
        if settled == "wrap":
            copy.values[node.result] = copy.all(node.operands)[0]
            return
        new = copy.node(node, into, None)
        new.op, new.attrs = "idx", {"fn": settled}
        new.operands = tuple(self._as_int(value, into) for value in new.operands)

    def _as_int(self, value: Value, into: Block) -> Value:
        if value.type == INT:
            return value
        found = self.graph.add(into, "py", (value,), INT, fn="int").result
        assert found is not None
        into.nodes.insert(-1, into.nodes.pop())
        return found

    def _ends(self, copy: Copy, front: Block, step: tuple[Value, ...]) -> None:
        """The copy's jumps: ways back to ``front``, ways out through blocks that both versions share."""
        graph, loop = self.graph, self.loop
        outside = self._used_outside()
        above = dominators(graph)
        home = {value: block for block in loop.blocks for value in [*block.params, *(
            node.result for node in block.nodes if node.result is not None)]}
        places: dict[Block, dict[Value, Value]] = {}
        latch = front
        if sum(target is self.gate_block for block in loop.blocks if block.terminator is not None
               for target, _ in block.terminator.targets) > 1:      # one way back: LLVM makes two loops of two
            latch = graph.new_block()
            params = tuple(graph.add_param(latch, param.type) for param in loop.head.params)
            jump(latch, front, (*params, *step))
            step = ()
        for block in loop.blocks:
            end, into = block.terminator, self.tails.get(block, copy.blocks[block])
            assert end is not None
            if block is loop.head and self.counter is not None:     # the test has been made
                jump(into, copy.blocks[self.counter.body], copy.all(self.counter.args), end.line)
                continue
            if block in self.decided:
                target, args = end.targets[self.decided[block]]
                jump(into, copy.blocks[target], copy.all(args), end.line)
                continue
            exit = None if end.exit is None else copy.exit(end.exit)
            new = Terminator(end.kind, exit, None if end.cond is None else copy.all((end.cond,))[0], [], end.line)
            for k, (target, args) in enumerate(end.targets):
                if target is self.gate_block:
                    new.targets.append((latch, (*copy.all(args), *step)))
                elif target in loop.inside:
                    new.targets.append((copy.blocks[target], copy.all(args)))
                else:
                    carried = [v for v in outside if home[v] in above[block] and not is_constant(v)]
                    carried += [v for v in args if v in home and v not in carried]
                    both = graph.new_block()
                    own = {v: graph.add_param(both, v.type) for v in carried}
                    jump(both, target, tuple(own.get(v, v) for v in args), end.line)
                    end.targets[k] = (both, tuple(carried))
                    new.targets.append((both, copy.all(tuple(carried))))
                    places[both] = own
            into.terminator = new
        if places and outside:
            graph.blocks = reverse_postorder(graph)
            Repair(graph, loop, places).run(set(outside))

    def _leaving(self) -> list[Value]:
        """What the loop defines and hands on."""
        ends = [block.terminator for block in self.loop.blocks if block.terminator is not None]
        args = [v for end in ends for target, args in end.targets if target not in self.loop.inside for v in args]
        return self._used_outside() + [v for v in args if v in self.loop.defined]

    def _used_outside(self) -> list[Value]:
        """What the loop defines and something behind it uses, in order of definition."""
        graph, loop = self.graph, self.loop
        used: set[Value] = set()
        for block in graph.blocks:
            if block in loop.inside:
                continue
            for node in block.nodes:
                used.update(node.uses())
                used.update(graph.exit_uses(node.exit))
            end = block.terminator
            if end is not None:
                used.update(end.uses())
                used.update(graph.exit_uses(end.exit))
        return [value for block in loop.blocks for value in
                [*block.params, *(node.result for node in block.nodes if node.result is not None)] if value in used]
