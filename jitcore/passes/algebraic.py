"""Algebraic rules that are exact: the same bits, the same reports, for every operand.

Job: ``RULES``, one function each, with the dtypes for which it is exact, and the pass that applies
them.  Invariants: a rule holds for signed zeros, infinities, quiet NaNs with their payloads and
integers that wrap around.  (A signalling NaN is the exception that NumPy's own loops make too: what
becomes of it depends on the loop.)  What would make one array of two that can be seen is not done.

Adding a rule: a function with ``@rule``, and in ``tests/passes/test_algebraic.py`` a case in which
it fires and a near miss in which it does not.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitcore.ir.build import erase, insert_before, replace_uses, type_key
from jitcore.ir.dominance import reverse_postorder
from jitcore.ir.graph import Block, Graph, Node, Value
from jitcore.ir.literal import scalar_bits
from jitcore.ir.types import ArrayType, ScalarType, strong
from jitcore.passes.effects import escaping, has_stores, is_array, is_fresh

FLOATS, COMPLEX, INTS, BOOL = "efd", "FD", "bBhHiIlLqQ", "?"


class Site:
    """A node that a rule looks at: its operands' constants, and the means to rewrite it."""

    def __init__(self, graph: Graph, block: Block, node: Node, constants: dict[Value, Any]) -> None:
        self.graph, self.block, self.node, self.constants = graph, block, node, constants

    @property
    def op(self) -> str:
        return self.node.attrs["op"] if self.node.op == "ew" else self.node.op

    @property
    def sig(self) -> str:
        return self.node.attrs.get("sig", "")

    def constant(self, k: int) -> Any:
        """Operand ``k`` as a number, ``None`` if it is not a constant scalar."""
        return self.constants.get(self.node.operands[k])

    def inner(self, k: int, op: str) -> Node | None:
        """The ``ew`` node of ``op`` with this very signature that defines operand ``k``."""
        node = self.node.operands[k].node
        if node is not None and node.op == "ew" and (node.attrs["op"], node.attrs["sig"]) == (op, self.sig):
            return node
        return None

    def rewrite(self, op: str, sig: str, operands: tuple[Value, ...]) -> None:
        """Make the node another elementwise operation, with the same result and exit."""
        self.node.attrs.update(op=op, sig=sig)
        self.node.operands = operands

    def new_constant(self, value: np.generic) -> Value:
        node = insert_before(self.graph, self.block, self.node, "const", (), strong(value.dtype), value=value)
        assert node.result is not None
        self.constants[node.result] = value
        return node.result


#: What a rule gives: a value that equals the result, ``True`` if it rewrote the node, or ``None``.
Outcome = Value | bool | None


@dataclass(frozen=True)
class Rule:
    """``dtypes`` are those of the operation's first input for which the rule is exact."""

    name: str
    ops: frozenset[str]
    dtypes: str
    apply: Callable[[Site], Outcome]


RULES: list[Rule] = []


def rule(ops: str, dtypes: str) -> Callable[[Callable[[Site], Outcome]], Callable[[Site], Outcome]]:
    """Register a rule for the named operations and dtypes."""

    def register(apply: Callable[[Site], Outcome]) -> Callable[[Site], Outcome]:
        RULES.append(Rule(apply.__name__, frozenset(ops.split()), dtypes, apply))
        return apply

    return register


def _is(value: Any, char: str, wanted: Any) -> bool:
    """True if ``value`` is the number ``wanted`` of dtype ``char``, to the bit."""
    return value is not None and scalar_bits(np.asarray(value).astype(char)[()]) == scalar_bits(
        np.dtype(char).type(wanted))


def _all_ones(char: str) -> int:
    info = np.iinfo(char)
    return -1 if info.min < 0 else int(info.max)


# op -> (the neutral number, on which sides).  Floats: +0.0 is not neutral for add (-0.0 + 0.0 is 0.0).
_FLOAT_NEUTRAL: dict[str, tuple[Any, str]] = {
    "multiply": (1.0, "lr"), "divide": (1.0, "r"), "subtract": (0.0, "r"), "add": (-0.0, "lr")}
_INT_NEUTRAL: dict[str, tuple[Any, str]] = {
    "add": (0, "lr"), "subtract": (0, "r"), "multiply": (1, "lr"), "floor_divide": (1, "r"), "power": (1, "r"),
    "bitwise_or": (0, "lr"), "bitwise_xor": (0, "lr"), "left_shift": (0, "r"), "right_shift": (0, "r")}
_BOOL_NEUTRAL: dict[str, tuple[Any, str]] = {
    "add": (False, "lr"), "multiply": (True, "lr"), "logical_and": (True, "lr"), "logical_or": (False, "lr"),
    "bitwise_and": (True, "lr"), "bitwise_or": (False, "lr"), "bitwise_xor": (False, "lr"),
    "logical_xor": (False, "lr")}


def _neutral(site: Site, table: dict[str, tuple[Any, str]]) -> Outcome:
    char = site.sig[0]
    if site.sig != f"{char}{char}->{char}":
        return None
    wanted, sides = table[site.op]
    if "r" in sides and _is(site.constant(1), char, wanted):
        return site.node.operands[0]
    if "l" in sides and _is(site.constant(0), char, wanted):
        return site.node.operands[1]
    return None


@rule(" ".join(_FLOAT_NEUTRAL), FLOATS)
def neutral_float(site: Site) -> Outcome:
    """x*1, x/1, x-(+0), x+(-0)."""
    return _neutral(site, _FLOAT_NEUTRAL)


@rule(" ".join(_INT_NEUTRAL), INTS)
def neutral_int(site: Site) -> Outcome:
    """x+0, x-0, x*1, x//1, x**1, x|0, x^0, x<<0, x>>0."""
    return _neutral(site, _INT_NEUTRAL)


@rule("bitwise_and", INTS)
def and_all_ones(site: Site) -> Outcome:
    """x & -1."""
    return _neutral(site, {"bitwise_and": (_all_ones(site.sig[0]), "lr")})


@rule(" ".join(_BOOL_NEUTRAL), BOOL)
def neutral_bool(site: Site) -> Outcome:
    """x and True, x or False; add and multiply are or and and."""
    return _neutral(site, _BOOL_NEUTRAL)


@rule("negative conjugate", FLOATS + COMPLEX + INTS)
def twice_is_none(site: Site) -> Outcome:
    """-(-x): the sign bit, or the wrapping negative, twice."""
    inner = site.inner(0, site.op)
    return None if inner is None else inner.operands[0]


@rule("invert logical_not", INTS + BOOL)
def not_not(site: Site) -> Outcome:
    """~~x; not not x of a bool."""
    if site.op == "logical_not" and site.sig != "?->?":
        return None
    inner = site.inner(0, site.op)
    return None if inner is None else inner.operands[0]


@rule("absolute fabs floor ceil trunc rint", FLOATS + INTS)
def twice_is_once(site: Site) -> Outcome:
    """abs(abs(x)), and rounding of what is rounded (by any rounding): an integral float stays, with its zero's sign."""
    rounding = ("floor", "ceil", "trunc", "rint")
    same = rounding if site.op in rounding else (site.op,)
    if site.sig != f"{site.sig[0]}->{site.sig[0]}":
        return None
    return site.node.operands[0] if any(site.inner(0, op) for op in same) else None


@rule("absolute", FLOATS + "bhilq")
def absolute_of_negative(site: Site) -> Outcome:
    """abs(-x) is abs(x), for the smallest integer as well (both wrap)."""
    inner = site.inner(0, "negative")
    if inner is None:
        return None
    site.rewrite("absolute", site.sig, inner.operands)
    return True


@rule("positive", FLOATS + COMPLEX + INTS)
def positive(site: Site) -> Outcome:
    """+x."""
    return site.node.operands[0]


@rule("power", FLOATS + INTS)
def power_two(site: Site) -> Outcome:
    """x**2 is x*x: NumPy's float loops multiply themselves where the exponent is one number 2, and integers wrap
    around in both.  Not so for complex, nor for an array of exponents."""
    char = site.sig[0]
    if site.sig != f"{char}{char}->{char}" or not _is(site.constant(1), char, 2):
        return None
    site.rewrite("square", f"{char}->{char}", site.node.operands[:1])
    return True


@rule("divide", "fd")
def divide_by_power_of_two(site: Site) -> Outcome:
    """x / 2**k is x * 2**-k: both round the same real number, if divisor and reciprocal are normal."""
    char, divisor = site.sig[0], site.constant(1)
    if divisor is None or site.sig != f"{char}{char}->{char}" or not np.isfinite(divisor) or divisor == 0:
        return None
    kind = np.dtype(char).type
    tiny = np.finfo(char).tiny
    with np.errstate(all="ignore"):
        reciprocal = kind(1) / kind(divisor)
    if abs(np.frexp(divisor)[0]) != 0.5 or abs(divisor) < tiny or not tiny <= abs(reciprocal) < np.inf:
        return None
    if divisor == 1:
        return None
    site.rewrite("multiply", site.sig, (site.node.operands[0], site.new_constant(reciprocal)))
    return True


@rule("where", BOOL)
def where_decided(site: Site) -> Outcome:
    """where with a constant condition, or between one value and itself."""
    _, yes, no = site.node.operands
    if yes is no:
        return yes
    known = site.constant(0)
    return None if known is None else (yes if known else no)


@rule("maximum minimum fmax fmin", FLOATS + INTS + BOOL)
def of_itself(site: Site) -> Outcome:
    """max(x, x), NaN included."""
    return site.node.operands[0] if site.node.operands[0] is site.node.operands[1] else None


@rule("bitwise_and bitwise_or", INTS + BOOL)
def with_itself(site: Site) -> Outcome:
    """x & x, x | x."""
    return site.node.operands[0] if site.node.operands[0] is site.node.operands[1] else None


@rule("cast", FLOATS + COMPLEX + INTS + BOOL)
def cast_to_same(site: Site) -> Outcome:
    """A conversion to the dtype at hand, and one back from a wider dtype of the same kind."""
    source = site.node.operands[0]
    result = site.node.result
    assert result is not None
    if type_key(source.type) == type_key(result.type):
        return source
    inner = source.node
    if inner is None or inner.op != "cast":
        return None
    first, wide = inner.operands[0].type, source.type
    assert isinstance(first, (ScalarType, ArrayType)) and isinstance(wide, (ScalarType, ArrayType))
    if type_key(first) == type_key(result.type) and first.dtype.kind == wide.dtype.kind and np.can_cast(
            first.dtype, wide.dtype, "safe"):
        return inner.operands[0]
    return None


_BY_OP: dict[str, list[Rule]] = {}
for _rule in RULES:
    for _op in _rule.ops:
        _BY_OP.setdefault(_op, []).append(_rule)


def _first_dtype(node: Node) -> str:
    if node.op == "ew":
        return node.attrs["sig"][0]
    type_ = node.operands[0].type
    return type_.dtype.char if isinstance(type_, (ScalarType, ArrayType)) else ""


class _Pass:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.stores = has_stores(graph)
        self.seen = escaping(graph)
        self.constants: dict[Value, Any] = {}
        self.replaced: dict[Value, Value] = {}
        self.dead: list[Node] = []
        self.count = 0

    def now(self, value: Value) -> Value:
        while value in self.replaced:
            value = self.replaced[value]
        return value

    def run(self) -> int:
        for block in reverse_postorder(self.graph):
            for node in list(block.nodes):
                node.operands = tuple(map(self.now, node.operands))
                if node.op == "const" and node.result is not None:
                    self.constants[node.result] = node.attrs["value"]
                elif node.op in ("ew", "cast") and not node.attrs.get("output"):
                    self.node(block, node)
        replace_uses(self.graph, self.replaced)
        erase(self.graph, self.dead)
        return self.count

    def node(self, block: Block, node: Node) -> None:
        site = Site(self.graph, block, node, self.constants)
        for rule_ in _BY_OP.get(site.op, ()):
            if site.op != (node.attrs["op"] if node.op == "ew" else node.op) or site.op not in rule_.ops:
                continue
            if _first_dtype(node) not in rule_.dtypes:
                continue
            found = rule_.apply(site)
            if isinstance(found, Value):
                if self.replace(node, self.now(found)):
                    return
            elif found:
                self.count += 1

    def replace(self, node: Node, value: Value) -> bool:
        """Put ``value`` for the node's result, if it is of the very type and no sharing can be seen."""
        result = node.result
        assert result is not None
        if type_key(result.type) != type_key(value.type) or tuple(map(self.now, result.shape)) != tuple(
                map(self.now, value.shape)):
            return False
        if is_array(result):
            # With layout A two arrays of one type may be ordered differently in memory, which a reduction sees; with
            # F, the strides of their axes of one element may differ.
            assert isinstance(result.type, ArrayType)
            if self.stores or result.type.layout != "C":
                return False
            if result in self.seen:
                if value in self.seen or not is_fresh(value):
                    return False
                self.seen.add(value)
        self.replaced[result] = value
        self.dead.append(node)
        self.count += 1
        return True


def run(graph: Graph) -> int:
    """Apply the rules in place; returns the number of rewrites."""
    return _Pass(graph).run()
