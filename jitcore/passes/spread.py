"""Operations on floats whose failure shows in what is computed from them.

Job: ``Spread`` lets the fast version of a loop drop the checks of Python's division, square root and power, where the
result goes into arithmetic that hands infinities and NaN on: a division by zero gives one of these, the root of a
negative number NaN, a power that is too large infinity.  Invariants: what failed makes one of ``sinks`` infinite or
NaN.  Used by ``passes.fastloops`` and, for what operations hand on, ``passes.nests``.
"""
from __future__ import annotations

from jitcore.ir.graph import Block, Graph, Node, Value
from jitcore.ir.types import FLOAT, ScalarType
from jitcore.ops.op import SPREADING
from jitcore.passes.loops import Copy, Loop

#: The same for Python's floats.
_PYTHON = {"add": (0, 1), "sub": (0, 1), "mul": (0, 1), "truediv": (0,), "neg": (0,), "pos": (0,), "float": (0,),
           "abs": (0,)}
#: What fails by giving infinity or NaN: NumPy's operation with the same result; a power is C's.
_AS_NUMPY = {"truediv": "divide", "math.sqrt": "sqrt"}


def _spreading(node: Node) -> tuple[int, ...]:
    """At which positions an infinite operand or NaN makes the result of a Python operation one of these."""
    if node.attrs["fn"] in ("pow", "c.pow"):
        exponent = node.operands[1].node
        return (0,) if exponent is not None and exponent.op == "const" and exponent.attrs["value"] > 0 else ()
    return _PYTHON.get(node.attrs["fn"], ())


def spreading(node: Node) -> tuple[int, ...]:
    """The positions at which an infinite operand or NaN makes the float that ``node`` gives one of these."""
    if node.result is None or not isinstance(node.result.type, ScalarType) or node.result.type.dtype.char not in "fd":
        return ()
    if node.op == "ew":
        return SPREADING.get(node.attrs["op"], ())
    return _spreading(node) if node.op == "py" else (0,) if _renames(node) else ()


class Spread:
    """Of one loop.  ``same``: for values of the copy that are other names of a number, that number."""

    def __init__(self, graph: Graph, loop: Loop) -> None:
        self.graph = graph
        self.same: dict[Value, Value] = {}
        self._users: dict[Value, list[tuple[Block, Node, int]]] = {}
        for block in loop.blocks:
            for node in block.nodes:
                for k, value in enumerate(node.operands):
                    self._users.setdefault(value, []).append((block, node, k))
        self._changing = loop.defined

    def root(self, value: Value) -> Value:
        return self.same.get(value, value)

    def name(self, new: Node) -> None:
        """Notes that ``new`` gives its operand another type only."""
        if _renames(new) and new.result is not None:
            self.same[new.result] = self.root(new.operands[0])

    def absorbs(self, new: Node, sinks: dict[Value, None]) -> bool:
        """Whether a Python operation of the copy spreads what is among ``sinks``; then its result is there instead."""
        if new.op != "py" or new.result is None or new.result.type != FLOAT:
            return False
        found = [self.root(new.operands[k]) for k in _spreading(new)]
        if not any(value in sinks for value in found):
            return False
        for value in found:
            sinks.pop(value, None)
        sinks[new.result] = None
        return True

    def told(self, node: Node, block: Block) -> bool:
        """Whether the failure of a Python operation of the loop shows in what follows it in its block."""
        if node.op != "py" or node.result is None or node.attrs["fn"] not in (*_AS_NUMPY, "pow") or any(
                value.type != FLOAT for value in (node.result, *node.operands)):
            return False
        decisive = node.operands[0 if node.attrs["fn"] == "pow" else -1]
        if decisive not in self._changing or (decisive.node is not None and decisive.node.op == "const"):
            return False                        # LLVM moves the check out of the loop
        return self._goes_on(node.result, block)

    def _goes_on(self, value: Value, block: Block) -> bool:
        for home, node, k in self._users.get(value, ()):
            if home is not block:
                continue
            if _renames(node) and node.result is not None:
                if self._goes_on(node.result, block):
                    return True
            elif node.op == "ew" and node.exit is not None and k in SPREADING.get(node.attrs["op"], ()) \
                    and node.result is not None and isinstance(node.result.type, ScalarType):
                return True
            elif node.op == "py" and node.result is not None and node.result.type == FLOAT \
                    and k in _spreading(node) and self._goes_on(node.result, block):
                return True
        return False

    def unchecked(self, copy: Copy, node: Node, into: Block, sinks: dict[Value, None]) -> None:
        """Emits ``node`` without its check, as NumPy's or C's operation; its result is a sink."""
        assert node.result is not None
        if node.attrs["fn"] == "pow":
            new = copy.node(node, into, None)
            new.attrs = {"fn": "c.pow"}
            assert new.result is not None
            self.absorbs(new, sinks)
            sinks[new.result] = None
            return
        strong = ScalarType(FLOAT.dtype, False)
        args = tuple(self._unbox(value, strong, into, node.line) for value in copy.all(node.operands))
        name = _AS_NUMPY[node.attrs["fn"]]
        found = self.graph.add(into, "ew", args, strong, op=name, sig="d" * len(args) + "->d", line=node.line).result
        assert found is not None
        copy.values[node.result] = self._unbox(found, FLOAT, into, node.line)
        for k in SPREADING[name]:
            sinks.pop(self.root(args[k]), None)
        sinks[found] = None

    def _unbox(self, value: Value, type: ScalarType, into: Block, line: int) -> Value:
        found = self.graph.add(into, "unbox", (value,), type, line=line).result
        assert found is not None
        self.same[found] = self.root(value)
        return found


def _renames(node: Node) -> bool:
    """Whether a node makes a float of the same value and size of its operand."""
    if node.op not in ("unbox", "cast") or node.result is None:
        return False
    types = node.result.type, node.operands[0].type
    return all(isinstance(type, ScalarType) and type.dtype == FLOAT.dtype for type in types)
