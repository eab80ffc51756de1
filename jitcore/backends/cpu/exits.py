"""Ways out of a region function.

Job: ``Exits``: the values of an exit are written and its index is returned.  Invariants: what an exit names is written
before the return; a word holds one value in all exits that share code.  Only ``backends.cpu`` uses it.

Checks are many and seldom fail, and the values that their exits ask for are mostly the same: those of the loop that
they are in.  So every value is written at one place: a *tail* of code per graph block, which writes the values of that
block that some exit asks for, the latest first, and goes on in the tail of the block's immediate dominator.  A check
jumps into the tail of its block behind the values that do not exist yet.  A value that the exit does not ask for may
be written too; its word is then not read.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from llvmlite import ir

from jitcore.backends.cpu.checks import Checks
from jitcore.backends.cpu.emit import I32, i32, word
from jitcore.ir.dominance import immediate_dominators, repeated
from jitcore.ir.graph import Block, Value
from jitcore.ir.layout import exit_words
from jitcore.ir.types import ArrayType, ScalarType

if TYPE_CHECKING:
    from jitcore.backends.cpu.frame import Frame


class _Tail:
    """The values of one graph block in the order in which they came to be, and the places where exits come in."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        #: By the number of values to write: the code, and the exit that it is for.
        self.entries: dict[int, tuple[ir.Block, ir.Instruction]] = {}


class Exits:
    """Writes exits for ``frame``.  ``block`` is the graph block that is being emitted."""

    def __init__(self, frame: Frame) -> None:
        self.frame, graph = frame, frame.graph
        self.words, self.n_words = exit_words(graph)
        self.block: Block | None = None
        self._above = immediate_dominators(graph)
        self._loops = repeated(graph)
        home = dict.fromkeys(graph.inputs, graph.blocks[0])
        home.update((value, block) for block in graph.blocks for value in block.params)
        home.update((node.result, block) for block in graph.blocks for node in block.nodes if node.result is not None)
        #: The words of the values of each block that exits of kind ``leave`` ask for.
        self._asked: dict[Block, dict[Value, int]] = {}
        for exit, words in zip(graph.exits, self.words):
            if exit.kind == "leave":
                for value, at in zip(exit.values, words):
                    self._asked.setdefault(home[value], {})[value] = at
        self._tails: dict[Block, _Tail] = {}
        self._plain: dict[int, ir.Block] = {}
        #: Ends the LLVM block by a jump to a graph block with arguments.
        self.jump: Callable[[Block, tuple[Value, ...]], None] | None = None

    def write(self, exit: int) -> None:
        """Ends the LLVM block: writes the exit's values and returns its index."""
        self._write_all(exit, lambda value: True)
        self.frame.b.ret(i32(exit))

    def target(self, exit: int) -> ir.Block:
        """The code that a check jumps to where its exit is taken."""
        frame, taken = self.frame, self.frame.graph.exits[exit]
        if exit in self._plain:
            return self._plain[exit]
        out, back = frame.function.append_basic_block(f"exit{exit}"), frame.b.block
        frame.move_to(out)
        if taken.target is not None:        # its values are older than all checks that lead there
            assert self.jump is not None
            self.jump(taken.target, taken.values)
        elif taken.kind != "leave" or not taken.values or self.block is None:
            self.write(exit)
        else:
            self._write_all(exit, lambda value: not self._is_shared(value))
            self._go_on(self.block, i32(exit))
        if not taken.values or taken.target is not None:
            self._plain[exit] = out
        frame.move_to(back)
        return out

    def _go_on(self, block: Block | None, exit: ir.Value) -> None:
        """Jumps into the tail of ``block``, or of the nearest dominator that has one, for the values there are."""
        frame = self.frame
        while block is not None and not self._asked.get(block):
            block = self._above.get(block)
        if block is None:
            frame.b.ret(exit)
            return
        tail = self._tails.setdefault(block, _Tail())
        tail.values += [value for value in self._asked[block]
                        if value not in tail.values and value in frame.values and self._is_shared(value)]
        count = len(tail.values)
        if count not in tail.entries:
            code = frame.function.append_basic_block(f"tail.{block!r}.{count}")
            tail.entries[count] = (code, ir.IRBuilder(code).phi(I32, "exit"))
        code, chosen = tail.entries[count]
        chosen.add_incoming(exit, frame.b.block)
        frame.b.branch(code)

    def finish(self) -> None:
        """Writes the tails, when all values are there: those of dominated blocks first."""
        depth = dict.fromkeys(self._tails, 0)       # blocks that nothing reaches have no dominators
        for block in self._above:       # dominators come first
            above = self._above[block]
            depth[block] = 0 if above is None else depth[above] + 1
        for block in sorted(depth, key=lambda block: -depth[block]):
            tail = self._tails.get(block)
            if tail is None:
                continue
            counts = sorted(tail.entries, reverse=True)
            for count, below in zip(counts, [*counts[1:], 0]):
                code, chosen = tail.entries[count]
                self.frame.move_to(code)
                for value in tail.values[below:count]:
                    self._write(value, self._asked[block][value])
                if count == counts[-1]:
                    self._go_on(self._above.get(block), chosen)
                else:
                    tail.entries[below][1].add_incoming(chosen, code)
                    self.frame.b.branch(tail.entries[below][0])

    def in_loop(self) -> bool:
        """Whether the block that is being emitted may come again."""
        return self.block in self._loops

    # -- values -------------------------------------------------------------------------------------
    def _is_shared(self, value: Value) -> bool:
        """Whether a value is a register.  A view without an object is made into one on the way out."""
        return not isinstance(value.type, ArrayType) or self.frame.array(value).obj is not None

    def _write_all(self, exit: int, wanted: Callable[[Value], bool]) -> None:
        frame = self.frame
        before, waiting = dict(frame.made), frame.checks
        frame.checks = Checks(frame)        # those that wait belong to the path that goes on
        for value, at in zip(frame.graph.exits[exit].values, self.words[exit]):
            if wanted(value):
                self._write(value, at)
        frame.made, frame.checks = before, waiting

    def _write(self, value: Value, at: int) -> None:
        frame, slot = self.frame, word(self.frame.b, self.frame.out, at)
        if isinstance(value.type, ScalarType):
            frame.write_word(frame.number(value), value.type, slot)
        elif isinstance(value.type, ArrayType):
            frame.b.store(frame.object_of(frame.array(value), True), slot)
        else:
            frame.b.store(frame.values[value], slot)
