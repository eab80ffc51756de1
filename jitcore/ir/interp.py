"""The graph's meaning: an interpreter over NumPy.

Job: ``run`` executes a graph and so defines it; tests compare every other execution with it, and
constant folding evaluates single nodes through ``evaluate``.  Invariants: inputs are not changed
except by ``store``; what a type or a length promises is checked (``WrongRun``).  The table of
elementwise operations is an argument, since ``ops`` lies above this package.

Floating-point reports: a node with an exit takes it when NumPy reports one of the kinds in its
optional attribute ``reports`` (by default ``divide``, ``over`` and ``invalid``, which NumPy warns
of by default), less those of its optional attribute ``quiet`` (bits: 1 divide, 2 over, 4 under, 8
invalid); a node without an exit reports nothing.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.lib.array_utils import byte_bounds

from jitcore.ir.graph import Block, Graph, Node, Terminator, Value
from jitcore.ir.lists import EVALUATORS, Refuses
from jitcore.ir.rules import signature
from jitcore.ir.text import node_text, scalar_class
from jitcore.ir.types import ArrayType, ListType, ScalarType, Type

DEFAULT_REPORTS = ("divide", "over", "invalid")

#: Elementwise operations for which NumPy has no ufunc.
OWN_OPS: dict[str, Callable[..., Any]] = {
    "where": np.where,
    "real": lambda x: np.array(np.real(x), order="K"),
    "imag": lambda x: np.array(np.imag(x), order="K"),
}


class OpLike(Protocol):
    """What the interpreter needs of an entry of ``ops.table.OPS``."""

    @property
    def ufunc(self) -> Any: ...


PyFunction = Callable[..., object]


class WrongRun(AssertionError):
    """A run contradicts what the graph says of itself."""


class TakesExit(Exception):
    """A node takes its exit."""


class Context:
    """What ``evaluate`` needs besides operands: the tables and the graph's objects."""

    def __init__(self, ops: Mapping[str, OpLike], py: Mapping[str, PyFunction],
                 objects: Sequence[object] = ()) -> None:
        self.ops, self.py, self.objects = ops, py, objects


def type_matches(value: object, type_: Type) -> bool:
    """True if ``value`` is what a graph value of ``type_`` stands for."""
    if isinstance(type_, ScalarType):
        return type(value) is scalar_class(type_) and (type(value) is not int or -2**63 <= value < 2**63)
    if isinstance(type_, ArrayType):
        if type(value) is not np.ndarray or value.ndim != type_.ndim or value.dtype != type_.dtype:
            return False
        return type_.layout == "A" or bool(value.flags.c_contiguous if type_.layout == "C"
                                           else value.flags.f_contiguous)
    if isinstance(type_, ListType):
        return type(value) is list and all(type_matches(item, type_.item) for item in value)
    return True


def evaluate(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    """The result of ``node`` for these operands; raises ``TakesExit`` where it takes its exit.

    ``shape`` are the result's lengths.  An exit is raised whether the node has one or not, except
    for floating-point reports, which a node without an exit does not make.
    """
    return _EVALUATORS[node.op](node, operands, shape, context)


# -- numbers --------------------------------------------------------------------------------------
def _const(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    return node.attrs["value"]


def _object(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    return context.objects[node.attrs["index"]]


def _py(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    assert node.result is not None
    try:
        with np.errstate(all="raise"):
            value = context.py[node.attrs["fn"]](*operands)
    except (ArithmeticError, ValueError, TypeError):
        raise TakesExit from None
    if not type_matches(value, node.result.type):
        raise TakesExit
    return value


_IDX: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "max": max, "min": min,
    "satsub": lambda a, b: max(a - b, 0), "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
}


def _idx(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    value = _IDX[node.attrs["fn"]](*operands)
    if not -2**63 <= value < 2**63:
        raise WrongRun(f"index arithmetic overflows: {node_text(node)} of {operands}")
    return value


def _unbox(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    assert node.result is not None and isinstance(node.result.type, ScalarType)
    return scalar_class(node.result.type)(operands[0])


# -- shapes ---------------------------------------------------------------------------------------
def _dim(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    return operands[0].shape[node.attrs["axis"]]


def _stride(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    return operands[0].strides[node.attrs["axis"]]


def _bcast(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    a, b = operands
    if a != b and a != 1 and b != 1:
        raise TakesExit
    return b if a == 1 else a


def _same(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    if operands[0] != operands[1]:
        raise TakesExit


def _wrap(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    index, length = operands
    if not -length <= index < length:
        raise TakesExit
    return index + length if index < 0 else index


def _check(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    if not operands[0]:
        raise TakesExit


def _finite(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    return bool(np.all(np.isfinite(operands)))


def _asks_under(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    return np.geterr()["under"] != "ignore"


def _writable(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    if not operands[0].flags.writeable:
        raise TakesExit


def _poll(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    """Nobody interrupts."""


# -- elementwise ----------------------------------------------------------------------------------
def _errstate(node: Node) -> np.errstate:
    if node.exit is None:
        return np.errstate(all="ignore")
    settings: dict[str, Any] = dict.fromkeys(("divide", "over", "under", "invalid"), "ignore")
    settings.update(dict.fromkeys(node.attrs.get("reports", DEFAULT_REPORTS), "raise"))
    quiet = node.attrs.get("quiet", 0)
    kinds = ("divide", "over", "under", "invalid")
    settings.update((kind, "ignore") for bit, kind in enumerate(kinds) if quiet >> bit & 1)
    return np.errstate(**settings)


def _boxed(value: Any, type_: Type) -> Any:
    """``value`` as an array or as a scalar, as the type says; NumPy blurs the two for no axes."""
    if isinstance(type_, ArrayType):
        return np.asarray(value)
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _ew(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    assert node.result is not None
    name = node.attrs["op"]
    try:
        with _errstate(node):
            if name in OWN_OPS:
                value = OWN_OPS[name](*operands)
            else:
                value = context.ops[name].ufunc(*operands, signature=node.attrs["sig"])
    except (FloatingPointError, ValueError):
        raise TakesExit from None
    if isinstance(value, tuple):
        value = value[node.attrs.get("output", 0)]
    return _boxed(value, node.result.type)


def _cast(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    value, dtype = operands[0], np.dtype(node.attrs["dtype"])
    try:
        with _errstate(node):
            if isinstance(value, (np.ndarray, np.generic)):
                # Dropping an imaginary part makes a warning that errstate does not rule: not a report.
                if value.dtype.kind == "c" and dtype.kind not in "cb":
                    value = value.real
                return value.astype(dtype)
            return np.array(value, dtype=dtype)[()]
    except (FloatingPointError, OverflowError, ValueError, TypeError):
        raise TakesExit from None


def _splat(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    assert node.result is not None and isinstance(node.result.type, ArrayType)
    order = "F" if node.result.type.layout == "F" else "C"
    return np.full(shape, operands[0], dtype=node.result.type.dtype, order=order)  # type: ignore[call-overload]


def _pack(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    assert node.result is not None and isinstance(node.result.type, ArrayType)
    made = np.array(operands, dtype=node.result.type.dtype).reshape(shape)
    return np.array(made, order="F" if node.result.type.layout == "F" else "C")


def _iota(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    assert node.result is not None and isinstance(node.result.type, ArrayType)
    dtype = node.result.type.dtype
    start, step = np.array(operands[0], dtype=dtype), np.array(operands[1], dtype=dtype)
    with np.errstate(all="ignore"):
        steps = np.multiply(np.arange(shape[0]).astype(dtype), step, dtype=dtype)
        return np.add(start, steps, dtype=dtype)


def _reduce(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    assert node.result is not None
    function = context.ops[node.attrs["op"]].ufunc
    if function is None:
        function = getattr(np, node.attrs["op"])
    array, axes, keepdims = operands[0], node.attrs["axes"], node.attrs["keepdims"]
    dtype = np.dtype(signature(node.attrs["sig"])[1][0])
    try:
        with _errstate(node):
            if isinstance(function, np.ufunc):
                extra = {"initial": operands[1]} if len(operands) > 1 else {}
                value = function.reduce(array, axis=axes, dtype=dtype, keepdims=keepdims, **extra)
            else:
                axis = axes[0] if axes is not None and len(axes) == 1 else axes
                value = function(array, axis=axis, keepdims=keepdims)
    except (FloatingPointError, ValueError):
        raise TakesExit from None
    return _boxed(value, node.result.type)


# -- memory ---------------------------------------------------------------------------------------
class _Window:
    """Lends memory to ``np.asarray`` by the array interface."""

    def __init__(self, base: np.ndarray, address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.base = base
        self.__array_interface__ = {"data": (address, not base.flags.writeable), "shape": shape, "strides": strides,
                                    "typestr": base.dtype.str, "version": 3}


def _view(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    base, offset, *strides = operands
    if any(length < 0 for length in shape):
        raise WrongRun(f"negative length {shape}: {node_text(node)}")
    address = base.__array_interface__["data"][0]
    if 0 not in shape:
        low, high = byte_bounds(base)
        first = address + offset + sum(min(0, s * (n - 1)) for s, n in zip(strides, shape))
        last = address + offset + sum(max(0, s * (n - 1)) for s, n in zip(strides, shape)) + base.itemsize
        if first < low or last > high:
            raise WrongRun(f"view outside of its array: {node_text(node)} of {operands[1:]}")
        address += offset
    return np.asarray(_Window(base, address, shape, tuple(strides)))


def _load(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    array, *index = operands
    if not all(0 <= k < n for k, n in zip(index, array.shape)):
        raise WrongRun(f"index {index} outside of {array.shape}: {node_text(node)}")
    return array[tuple(index)]


def _copy(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    return operands[0].copy(order=node.attrs["order"])


def _store(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    array, value, *index = operands
    if not all(0 <= k < n for k, n in zip(index, array.shape)):
        raise WrongRun(f"index {index} outside of {array.shape}: {node_text(node)}")
    array[tuple(index)] = value


def _draw(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    draw: Any = context.objects[node.attrs["callee"]]
    return draw.method(*operands)


def _assign(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    target, value = operands
    if _folded(target) or (target.ndim == 1 and isinstance(value, np.ndarray) and np.may_share_memory(target, value)
                           and target.strides != value.strides and target.strides[0] * value.strides[0] >= 0):
        raise TakesExit
    target[...] = np.array(value)


def _folded(array: np.ndarray) -> bool:
    """Whether the axes of an array do not lie one inside another, so that elements may share memory."""
    extent = array.itemsize
    for step, length in sorted((abs(s), n) for s, n in zip(array.strides, array.shape) if n != 1):
        if step < extent:
            return array.size > 0
        extent += step * (length - 1)
    return False


def _point(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    """Where others leave; nothing by itself."""

def _count(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    return len(operands[0])


def _item(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    sequence, index = operands
    if not 0 <= index < len(sequence):
        raise WrongRun(f"an index out of range: {node_text(node)} of {index}")
    return sequence[index]


def _number(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    assert node.result is not None
    if not type_matches(operands[0], node.result.type):
        raise TakesExit
    return operands[0]


def _extent(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    if type(operands[0]) is not np.ndarray or operands[0].ndim != node.attrs["ndim"]:
        raise TakesExit
    return operands[0].shape[node.attrs["axis"]]


def _filled(template: tuple[Any, ...], operands: Sequence[Any]) -> list[Any]:
    made = {"t": tuple, "l": list}
    return [operands[item] if kind == "v" else made[kind](_filled(item, operands)) if kind in made else item
            for kind, item in template]


def _call(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    function: Any = context.objects[node.attrs["callee"]]
    items = _filled(node.attrs["template"], operands)
    names = node.attrs["kwnames"]
    split = len(items) - len(names)
    under = "ignore" if np.geterr()["under"] == "ignore" else "raise"
    settings: dict[str, Any] = {"all": "raise", "under": under} if node.attrs.get("strict") else {}
    try:
        with np.errstate(**settings):
            value = function(*items[:split], **dict(zip(names, items[split:])))
    except Exception:
        raise TakesExit from None
    if node.result is not None and not type_matches(value, node.result.type):
        raise TakesExit
    return value


def _list(node: Node, operands: Sequence[Any], shape: tuple[int, ...], context: Context) -> Any:
    try:
        return EVALUATORS[node.op](node, *operands)
    except Refuses:
        raise TakesExit from None
    except IndexError:
        raise WrongRun(f"index outside of the list: {node_text(node)} of {operands}") from None


_EVALUATORS: dict[str, Callable[[Node, Sequence[Any], tuple[int, ...], Context], Any]] = {
    "const": _const, "object": _object, "py": _py, "idx": _idx, "unbox": _unbox, "dim": _dim, "stride": _stride,
    "bcast": _bcast, "same": _same, "wrap": _wrap, "check": _check,
    "finite": _finite, "asks_under": _asks_under,
    "poll": _poll, "writable": _writable, "ew": _ew, "cast": _cast, "splat": _splat, "pack": _pack,
    "iota": _iota, "reduce": _reduce, "view": _view, "load": _load, "copy": _copy, "store": _store,
    "assign": _assign, "point": _point,
    "count": _count, "item": _item, "byte": _item, "number": _number, "draw": _draw, "call": _call,
    "extent": _extent, "array": _number,
    **dict.fromkeys(EVALUATORS, _list),
}


# -- running --------------------------------------------------------------------------------------
class _Run:
    def __init__(self, graph: Graph, inputs: Sequence[Any], context: Context, fuel: int) -> None:
        self.graph, self.context, self.fuel = graph, context, fuel
        self.values: dict[Value, Any] = {}
        if len(inputs) != len(graph.inputs):
            raise WrongRun(f"{len(graph.inputs)} inputs are asked for, {len(inputs)} are given")
        for value, given in zip(graph.inputs, inputs):
            self.set(value, given)

    def set(self, value: Value, given: Any) -> None:
        if not type_matches(given, value.type):
            shown = f"{given.dtype} {given.shape} {given.strides}" if isinstance(given, np.ndarray) else repr(given)
            raise WrongRun(f"{value!r}: {value.type} is {type(given).__name__} {shown}")
        self.values[value] = given

    def lengths(self, value: Value) -> None:
        """Check an array's lengths against those that the graph knows by now."""
        if isinstance(value.type, ArrayType):
            for axis, length in enumerate(value.shape):
                known = self.values.get(length)
                if known is not None and known != self.values[value].shape[axis]:
                    raise WrongRun(f"{value!r} has length {self.values[value].shape[axis]} on axis {axis}, "
                                   f"but {length!r} is {known}")

    def leave(self, exit: int) -> tuple[int, list[Any]]:
        return exit, [self.values[value] for value in self.graph.exits[exit].values]

    def step(self, node: Node) -> None:
        operands = [self.values[value] for value in node.operands]
        for value in node.operands:
            self.lengths(value)
        shape: tuple[int, ...] = ()
        if node.result is not None and node.op in ("splat", "pack", "iota", "view"):
            shape = tuple(self.values[length] for length in node.result.shape)
        value = evaluate(node, operands, shape, self.context)
        if node.result is not None:
            self.set(node.result, value)
            self.lengths(node.result)

    def go(self) -> tuple[int, list[Any]]:
        block = self.graph.blocks[0]
        while True:
            for node in block.nodes:
                try:
                    self.step(node)
                except TakesExit:
                    if node.exit is None:
                        raise WrongRun(f"fails without an exit: {node_text(node)}") from None
                    exit = self.graph.exits[node.exit]
                    if exit.target is None:
                        return self.leave(node.exit)
                    block = self.enter(exit.target, exit.values)
                    break
            else:
                end = block.terminator
                assert end is not None
                if end.exit is not None:
                    return self.leave(end.exit)
                block = self.enter(*end.targets[self.choice(end)])

    def enter(self, block: Block, args: tuple[Value, ...]) -> Block:
        given = [self.values[arg] for arg in args]
        for param, value in zip(block.params, given):
            self.set(param, value)
        for param in block.params:
            self.lengths(param)
        self.fuel -= 1
        if self.fuel < 0:
            raise WrongRun("the graph runs too long")
        return block

    def choice(self, end: Terminator) -> int:
        return 0 if end.cond is None or self.values[end.cond] else 1


def run(graph: Graph, inputs: Sequence[Any], ops: Mapping[str, OpLike], py: Mapping[str, PyFunction] | None = None,
        fuel: int = 1_000_000) -> tuple[int, list[Any]]:
    """Execute ``graph``: the index of the exit it takes and the exit's values.

    ``inputs`` belong to ``graph.inputs`` in order: Python numbers for weak scalars, NumPy scalars
    for strong ones, arrays of the very dtype, ndim and layout.  ``ops`` maps names to objects with
    a ``ufunc``, ``py`` names to functions.  At most ``fuel`` blocks are entered.  ``WrongRun`` if
    the graph's types, lengths or claims do not hold.
    """
    return _Run(graph, inputs, Context(ops, py or {}, graph.objects), fuel).go()
