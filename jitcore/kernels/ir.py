"""Kernels: fused loop nests as data, and the plan that schedules them.

Job: what ``kernels.planner`` hands to the back ends.  A ``Kernel`` says what is computed for every
element of one shape; nothing in it knows the machine, so that CPU and GPU read the same.
Invariants: ``body`` is in SSA order (an instruction's arguments are smaller indices); every array
input broadcasts to ``shape``; outputs have exactly ``shape``; all reductions of a kernel have the same
axes; at most one output where ``layout`` is ``'A'`` and there is more than one axis; a kernel with a store
has nothing else.  Made by ``planner``, read by ``backends``.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from jitcore.ir.graph import Block, Graph, Node, Value
from jitcore.ir.types import ArrayType

#: Instructions that compute; the others only bring a number into the loop.
COMPUTING = frozenset({"ew", "cast"})


@dataclass(frozen=True)
class Instr:
    """One scalar operation on the elements at an index.

    ``kind``: ``'element'`` (of array ``value``, broadcast), ``'scalar'`` (``value``, the same for all),
    ``'ew'`` (``op`` with ``sig`` on ``args``), ``'cast'`` (``args[0]`` to ``dtype``), ``'iota'``
    (``args[0] + i*args[1]``; one axis), ``'copy'`` (``args[0]`` in the memory order of a copy of it).  ``value`` is the
    graph value that it computes or reads.
    ``dtype`` is a canonical character.  ``exit`` is the exit to take on a report, if there is one; ``quiet`` are kinds
    of reports, as bits, that are ignored.
    """

    kind: str
    dtype: str
    args: tuple[int, ...]
    value: Value
    op: str = ""
    sig: str = ""
    exit: int | None = None
    line: int = 0
    quiet: int = 0


@dataclass(frozen=True)
class Output:
    """``value`` is a new array filled with instruction ``arg``."""

    value: Value
    arg: int


@dataclass(frozen=True)
class Store:
    """Instruction ``arg`` goes into the array ``target``, which exists; all of it is complete before that."""

    target: Value
    arg: int


@dataclass(frozen=True)
class Reduction:
    """``op`` with ``sig`` over ``axes`` of instruction ``arg``, in memory order of ``Kernel.layout``.

    ``dtype`` is the dtype that is accumulated in (``arg`` is of it already).  ``initial`` is the
    start, a scalar, or ``None``.  ``value`` is the result: a scalar if no axis is left, else an array.
    ``buffered``: NumPy's iterator converts the elements, a buffer at a time; each is summed pairwise, these sums one
    by one.
    """

    value: Value
    arg: int
    op: str
    sig: str
    dtype: str
    axes: tuple[int, ...]
    keepdims: bool
    initial: Value | None
    exit: int | None
    line: int = 0
    buffered: bool = False
    quiet: int = 0


@dataclass
class Kernel:
    """A loop nest over ``shape`` (length values, ``int``).

    ``layout`` is the memory order of outputs and of the operand of reductions: ``'C'``, ``'F'`` or
    ``'A'`` (NumPy's K order at run time; ``order`` then lists the array instructions' nodes from which
    it follows).  ``exit`` is the exit for whatever fails, ``None`` for the restart.
    """

    number: int
    shape: tuple[Value, ...]
    layout: str
    body: list[Instr] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    reductions: list[Reduction] = field(default_factory=list)
    store: Store | None = None
    exit: int | None = None

    @property
    def quiet(self) -> int:
        """The kinds of reports, as bits, that all operations with an exit ignore."""
        found = 15
        for exit, quiet in (*((i.exit, i.quiet) for i in self.body), *((r.exit, r.quiet) for r in self.reductions)):
            if exit is not None:
                found &= quiet
        return found

    def arrays(self) -> list[int]:
        """The indices of ``'element'`` instructions, one an input array."""
        return [i for i, instr in enumerate(self.body) if instr.kind == "element"]

    def scalars(self) -> list[int]:
        return [i for i, instr in enumerate(self.body) if instr.kind == "scalar"]

    def lines(self) -> list[int]:
        """The source lines that the kernel came from, sorted."""
        found = {i.line for i in self.body if i.kind in COMPUTING} | {r.line for r in self.reductions}
        return sorted(found - {0})

    def is_flat(self, index: int) -> bool:
        """Whether array input ``index`` has the kernel's shape and memory order statically: its elements
        lie one after another in the order of the loop."""
        return same_order(self.body[index].value, self.shape, self.layout)

    def __str__(self) -> str:
        shape = ", ".join(map(repr, self.shape))
        lines = ", ".join(map(str, self.lines()))
        text = [f"kernel {self.number} over ({shape}) {self.layout}" + (f"  # lines {lines}" if lines else "")]
        for index, instr in enumerate(self.body):
            text.append(f"  e{index}: {instr.dtype} = {_instr(instr)}{_tail(instr.exit, instr.line, instr.quiet)}")
        for output in self.outputs:
            text.append(f"  {output.value!r}: {output.value.type} = store e{output.arg}")
        if self.store is not None:
            text.append(f"  assign e{self.store.arg} to {self.store.target!r} {self.store.target.type}")
        for r in self.reductions:
            start = f" from {r.initial!r}" if r.initial is not None else ""
            keep = " keepdims" if r.keepdims else ""
            keep += " buffered" if r.buffered else ""
            text.append(f"  {r.value!r}: {r.value.type} = {r.op}.{r.sig} of e{r.arg} over axes {r.axes}{keep}{start}"
                        f"{_tail(r.exit, r.line, r.quiet)}")
        return "\n".join(text)


def same_order(value: Value, shape: tuple[Value, ...], layout: str) -> bool:
    """Whether an array's elements lie one after another in the order of a loop over ``shape``."""
    type = value.type
    if not isinstance(type, ArrayType) or value.shape != shape or (layout == "A" and type.ndim > 1):
        return False
    return type.layout == layout or (type.ndim <= 1 and type.layout != "A")


def _instr(instr: Instr) -> str:
    args = ", ".join(f"e{a}" for a in instr.args)
    if instr.kind == "element":
        shape = ", ".join(map(repr, instr.value.shape))
        return f"element {instr.value!r}({shape}) {instr.value.type}"
    if instr.kind == "scalar":
        return f"scalar {instr.value!r}"
    if instr.kind == "ew":
        return f"{instr.op}.{instr.sig}({args})"
    return f"{instr.kind}({args})"


def _tail(exit: int | None, line: int, quiet: int = 0) -> str:
    notes = [] if exit is None else [f"reports: exit {exit}" + f" but for {quiet}" * (quiet > 0)]
    if line:
        notes.append(f"line {line}")
    return "  # " + ", ".join(notes) if notes else ""


Step = Node | Kernel


@dataclass
class Plan:
    """What is done in every block, in order: host nodes and kernels.

    A ``reduce`` node among the host steps is done by NumPy on the operand, which is an array then.
    """

    graph: Graph
    steps: dict[Block, list[Step]] = field(default_factory=dict)

    def kernels(self) -> list[Kernel]:
        return [s for steps in self.steps.values() for s in steps if isinstance(s, Kernel)]

    def __str__(self) -> str:
        text: list[str] = []
        for block, steps in self.steps.items():
            text.append(f"{block!r}:")
            for step in steps:
                lines = str(step).split("\n") if isinstance(step, Kernel) else [host_text(step)]
                text += ["  " + line for line in lines]
        return "\n".join(text) + "\n"


def host_text(node: Node) -> str:
    """One line about a host step."""
    result = f"{node.result!r}: {node.result.type} = " if node.result is not None else ""
    attrs = " ".join(f"{key}={value!r}" for key, value in node.attrs.items() if key in _SHOWN)
    operands = ", ".join(map(repr, node.operands))
    return f"host {result}{node.op}({operands}) {attrs}".rstrip() + _tail(node.exit, node.line)


_SHOWN = ("op", "sig", "fn", "value", "axis", "axes", "dtype", "kind", "order")
