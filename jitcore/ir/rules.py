"""What each opcode asks of its operands and says of its result.

Job: ``check_node`` raises ``BrokenRule`` where a node's operand types (I5) or result type (I6)
do not fit its opcode.  Invariant: there is one rule for each opcode of ``ir.opcodes``.  Called by
``ir.verify`` alone, which checks everything that needs more than the node.
"""
from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from jitcore.ir.graph import Graph, Node, Value
from jitcore.ir.layout import elementwise_layout
from jitcore.ir.lists import BrokenList, check_list
from jitcore.ir.opcodes import OPCODES
from jitcore.ir.text import scalar_class
from jitcore.ir.types import BOOL, COMPILED_DTYPES, INT, ArrayType, ObjectType, ScalarType, Type

IDX_FUNCTIONS = ("add", "sub", "mul", "max", "min", "satsub", "floordiv", "mod")
VIEW_KINDS = ("slice", "transpose", "reshape", "newaxis", "broadcast")


class BrokenRule(Exception):
    """A node does not fit its opcode; ``invariant`` is I4, I5 or I6."""

    def __init__(self, invariant: str, message: str) -> None:
        self.invariant = invariant
        super().__init__(message)


def _i5(ok: bool, message: str) -> None:
    if not ok:
        raise BrokenRule("I5", message)


def _i6(ok: bool, message: str) -> None:
    if not ok:
        raise BrokenRule("I6", message)


def _attr(ok: bool, message: str) -> None:
    if not ok:
        raise BrokenRule("I4", message)


def _count(node: Node, count: int) -> None:
    _i5(len(node.operands) == count, f"{node.op} takes {count} operands, not {len(node.operands)}")


def _ints(values: tuple[Value, ...], what: str) -> None:
    for value in values:
        _i5(value.type == INT, f"{what} {value!r} is {value.type}, not int")


def _result(node: Node, expected: Type | None) -> None:
    found = node.result.type if node.result is not None else None
    _i6(found == expected, f"the result is {found}, but {node.op} gives {expected or 'none'} here")


def _array(value: Value) -> ArrayType:
    _i5(isinstance(value.type, ArrayType), f"{value!r} is {value.type}, not an array")
    assert isinstance(value.type, ArrayType)
    return value.type


def _scalar(value: Value) -> ScalarType:
    _i5(isinstance(value.type, ScalarType), f"{value!r} is {value.type}, not a number")
    assert isinstance(value.type, ScalarType)
    return value.type


def _result_array(node: Node) -> ArrayType:
    _i6(node.result is not None and isinstance(node.result.type, ArrayType), f"{node.op} gives an array")
    assert node.result is not None and isinstance(node.result.type, ArrayType)
    return node.result.type


def _dtype(char: object) -> np.dtype:
    _attr(isinstance(char, str) and len(char) == 1 and char in COMPILED_DTYPES, f"{char!r} is no dtype character")
    return np.dtype(str(char))


def signature(sig: object) -> tuple[str, str]:
    """Dtype characters of a loop's inputs and outputs."""
    _attr(isinstance(sig, str) and sig.count("->") == 1, f"{sig!r} is no loop signature")
    inputs, outputs = str(sig).split("->")
    _attr(bool(outputs) and all(c in COMPILED_DTYPES for c in inputs + outputs), f"{sig!r} is no loop signature")
    return inputs, outputs


def _layout(node: Node, arrays: tuple[Value, ...]) -> None:
    assert node.result is not None
    claimed = _result_array(node).layout
    known = elementwise_layout(arrays, node.result.shape)
    _i6(claimed in (known, "A"), f"the layout is claimed to be {claimed}, but only {known} is sure")


# -- rules ----------------------------------------------------------------------------------------
def _const(node: Node, graph: Graph) -> None:
    _count(node, 0)
    _i6(node.result is not None and isinstance(node.result.type, ScalarType), "const gives a scalar")
    assert node.result is not None and isinstance(node.result.type, ScalarType)
    kind = scalar_class(node.result.type)
    value = node.attrs["value"]
    _i6(type(value) is kind, f"a constant {node.result.type} must be a {kind.__name__}, not {type(value).__name__}")
    _attr(type(value) is not int or -2**63 <= value < 2**63, "the constant does not fit 64 bits")


def _object(node: Node, graph: Graph) -> None:
    _count(node, 0)
    index = node.attrs["index"]
    _attr(isinstance(index, int) and 0 <= index < len(graph.objects), f"there is no object {index!r}")
    _result(node, ObjectType())


def _py(node: Node, graph: Graph) -> None:
    _attr(isinstance(node.attrs["fn"], str), "fn is not a name")
    for value in node.operands:
        _scalar(value)
    _i6(node.result is not None and isinstance(node.result.type, ScalarType) and node.result.type.weak,
        "py gives a weak scalar")


def _idx(node: Node, graph: Graph) -> None:
    _attr(node.attrs["fn"] in IDX_FUNCTIONS, f"unknown index function {node.attrs['fn']!r}")
    _count(node, 2)
    _ints(node.operands, "operand")
    _result(node, INT)


def _unbox(node: Node, graph: Graph) -> None:
    _count(node, 1)
    source = _scalar(node.operands[0])
    _i6(node.result is not None and isinstance(node.result.type, ScalarType), "unbox gives a scalar")
    assert node.result is not None and isinstance(node.result.type, ScalarType)
    target = node.result.type
    _i6(source.weak != target.weak, "unbox makes a strong scalar weak or a weak one strong")
    if source.weak:
        _i6(source.dtype == target.dtype, f"a weak {source} is made strong as {source.dtype}")
    else:
        kinds = {"b": "b", "i": "i", "u": "i", "f": "f", "c": "c"}
        _i6(kinds[source.dtype.kind] == target.dtype.kind, f"{source} has no weak counterpart {target}")
        _i5(not (source.dtype.kind == "u" and source.dtype.itemsize == 8), f"a {source} may not fit 64 bits signed")


def _axis(node: Node, graph: Graph) -> None:
    _count(node, 1)
    array = _array(node.operands[0])
    axis = node.attrs["axis"]
    _attr(type(axis) is int and 0 <= axis < array.ndim, f"{array} has no axis {axis!r}")
    _result(node, INT)


def _two_ints(node: Node, graph: Graph) -> None:
    _count(node, 2)
    _ints(node.operands, "operand")
    _result(node, None if node.op == "same" else INT)


def _check(node: Node, graph: Graph) -> None:
    _count(node, 1)
    _i5(node.operands[0].type == BOOL, f"{node.operands[0]!r} is {node.operands[0].type}, not a weak bool")
    _result(node, None)


def _finite(node: Node, graph: Graph) -> None:
    for value in node.operands:
        _i5(_scalar(value).dtype.kind in "fc", f"{value!r} is {value.type}, not a float or complex number")
    _result(node, BOOL)


def _asks_under(node: Node, graph: Graph) -> None:
    _count(node, 0)
    _result(node, BOOL)


def _ew(node: Node, graph: Graph) -> None:
    inputs, outputs = signature(node.attrs["sig"])
    _attr(isinstance(node.attrs["op"], str), "op is not a name")
    _count(node, len(inputs))
    for value, char in zip(node.operands, inputs):
        type_ = value.type
        _i5(isinstance(type_, (ArrayType, ScalarType)), f"{value!r} is {type_}")
        assert isinstance(type_, (ArrayType, ScalarType))
        _i5(type_.dtype == np.dtype(char), f"{value!r} is {type_}, but the loop {node.attrs['sig']} takes {char}")
        _i5(not (isinstance(type_, ScalarType) and type_.weak), f"{value!r} is weak: cast it")
    output = node.attrs.get("output", 0)
    _attr(type(output) is int and 0 <= output < len(outputs), f"the loop has no output {output!r}")
    _elementwise_result(node, np.dtype(outputs[output]))


def _writable(node: Node, graph: Graph) -> None:
    _count(node, 1)
    _array(node.operands[0])
    _result(node, None)


def _poll(node: Node, graph: Graph) -> None:
    _count(node, 0)
    _result(node, None)


def _elementwise_result(node: Node, dtype: np.dtype) -> None:
    arrays = tuple(value for value in node.operands if isinstance(value.type, ArrayType))
    if not arrays:
        _result(node, ScalarType(dtype, False))
        return
    type_ = _result_array(node)
    ndim = max(_array(value).ndim for value in arrays)
    _i6(type_.dtype == dtype and type_.ndim == ndim,
        f"the result is {type_}, but {node.op} gives {ArrayType(dtype, ndim, type_.layout)}")
    _layout(node, arrays)


def _cast(node: Node, graph: Graph) -> None:
    _count(node, 1)
    if not isinstance(node.operands[0].type, ArrayType):
        _scalar(node.operands[0])
    _elementwise_result(node, _dtype(node.attrs["dtype"]))


def _splat(node: Node, graph: Graph) -> None:
    _count(node, 1)
    type_ = _result_array(node)
    _i5(_scalar(node.operands[0]).dtype == type_.dtype, f"{node.operands[0]!r} is {node.operands[0].type}")


def _pack(node: Node, graph: Graph) -> None:
    type_ = _result_array(node)
    assert node.result is not None
    for value in node.operands:
        _i5(_scalar(value) == ScalarType(type_.dtype, False), f"{value!r} is {value.type}, the result {type_}")
    lengths = [length.node.attrs["value"] for length in node.result.shape
               if length.node is not None and length.node.op == "const"]
    _i6(len(lengths) == type_.ndim and prod(lengths) == len(node.operands) and type_.layout != "A",
        f"{len(node.operands)} elements for an array of {lengths}")


def _iota(node: Node, graph: Graph) -> None:
    _count(node, 2)
    type_ = _result_array(node)
    for value in node.operands:
        _i5(_scalar(value).dtype == type_.dtype, f"{value!r} is {value.type}, the result {type_}")
    _i6(type_.ndim == 1 and type_.layout == "C", "iota gives one axis")


def _reduce(node: Node, graph: Graph) -> None:
    _, outputs = signature(node.attrs["sig"])
    _i5(len(node.operands) in (1, 2), "reduce takes an array and at most an initial value")
    array = _array(node.operands[0])
    if len(node.operands) == 2:
        _i5(not _scalar(node.operands[1]).weak, "the initial value is weak: cast it")
    axes, keepdims = node.attrs["axes"], node.attrs["keepdims"]
    _attr(type(keepdims) is bool, "keepdims is not a bool")
    if axes is None:
        axes = tuple(range(array.ndim))
    _attr(type(axes) is tuple and all(type(a) is int and 0 <= a < array.ndim for a in axes)
          and list(axes) == sorted(set(axes)), f"{axes!r} are no axes of {array}")
    ndim = array.ndim if keepdims else array.ndim - len(axes)
    dtype = np.dtype(outputs[0])
    if ndim == 0:
        _result(node, ScalarType(dtype, False))
        return
    type_ = _result_array(node)
    _i6(type_.dtype == dtype and type_.ndim == ndim, f"the result is {type_}, but has {ndim} axes of {dtype}")
    _i6(type_.layout == "A" or ndim == 1 or type_.layout == array.layout,
        f"the layout is claimed to be {type_.layout}, that of the operand is {array.layout}")


def _view(node: Node, graph: Graph) -> None:
    type_ = _result_array(node)
    _count(node, 2 + type_.ndim)
    source = _array(node.operands[0])
    _i6(source.dtype == type_.dtype, "a view has the dtype of its array")
    _ints(node.operands[1:], "operand")
    _attr(node.attrs["kind"] in VIEW_KINDS, f"unknown kind of view {node.attrs['kind']!r}")


def _load(node: Node, graph: Graph) -> None:
    array = _array(node.operands[0]) if node.operands else None
    _i5(array is not None, "load takes an array")
    assert array is not None
    _count(node, 1 + array.ndim)
    _ints(node.operands[1:], "index")
    _result(node, ScalarType(array.dtype, False))


def _copy(node: Node, graph: Graph) -> None:
    _count(node, 1)
    array = _array(node.operands[0])
    type_ = _result_array(node)
    order = node.attrs["order"]
    _attr(order in ("C", "F", "K"), f"unknown order {order!r}")
    _i6(type_.dtype == array.dtype and type_.ndim == array.ndim, f"the copy of {array} is {type_}")
    sure = array.layout if order == "K" else order
    if array.ndim <= 1:
        sure = "C"
    _i6(type_.layout in (sure, "A"), f"the layout is claimed to be {type_.layout}, but only {sure} is sure")


def _store(node: Node, graph: Graph) -> None:
    _i5(len(node.operands) >= 2, "store takes an array and a value")
    array = _array(node.operands[0])
    _count(node, 2 + array.ndim)
    _i5(_scalar(node.operands[1]).dtype == array.dtype, "the stored value has another dtype than the array")
    _ints(node.operands[2:], "index")
    _result(node, None)


def _draw(node: Node, graph: Graph) -> None:
    index = node.attrs["callee"]
    _attr(type(index) is int and 0 <= index < len(graph.objects), f"there is no object {index!r}")
    _i5(bool(node.operands) and isinstance(node.operands[0].type, ObjectType), "draw takes an object and numbers")
    for value in node.operands[1:]:
        _scalar(value)
    _i6(node.result is not None and isinstance(node.result.type, ScalarType), "draw gives a number")


def _assign(node: Node, graph: Graph) -> None:
    _count(node, 2)
    array, value = _array(node.operands[0]), node.operands[1]
    if isinstance(value.type, ArrayType):
        _i5(value.type.dtype == array.dtype, "the stored array has another dtype than its target")
        _i5(value.type.ndim <= array.ndim, "the stored array has more axes than its target")
    else:
        _i5(_scalar(value) == ScalarType(array.dtype, False), "the stored value has another type than its target")
    _result(node, None)


def _point(node: Node, graph: Graph) -> None:
    _count(node, 0)
    _result(node, None)

def _object_operand(node: Node, indices: int) -> None:
    _count(node, 1 + indices)
    value = node.operands[0]
    _i5(isinstance(value.type, ObjectType), f"{value!r} is {value.type}, not an object")
    _ints(node.operands[1:], "index")


def _count_items(node: Node, graph: Graph) -> None:
    _object_operand(node, 0)
    _result(node, INT)


def _item(node: Node, graph: Graph) -> None:
    _object_operand(node, 1)
    _attr(node.attrs["of"] in ("list", "tuple"), f"no items of a {node.attrs['of']!r}")
    _result(node, ObjectType())


def _byte(node: Node, graph: Graph) -> None:
    _object_operand(node, 1)
    _result(node, INT)


def _number(node: Node, graph: Graph) -> None:
    _object_operand(node, 0)
    _i6(node.result is not None and isinstance(node.result.type, ScalarType), "number gives a scalar")


def _call(node: Node, graph: Graph) -> None:
    index = node.attrs["callee"]
    _attr(type(index) is int and 0 <= index < len(graph.objects), f"there is no object {index!r}")
    template, names = node.attrs["template"], node.attrs["kwnames"]
    _attr(type(template) is tuple and type(names) is tuple and len(names) <= len(template),
          "template and kwnames are tuples")
    _template(node, template)


def _template(node: Node, template: tuple[object, ...]) -> None:
    for item in template:
        _attr(type(item) is tuple and len(item) == 2 and item[0] in ("v", "c", "t", "l"), f"{item!r} in a template")
        assert isinstance(item, tuple)
        if item[0] == "v":
            _attr(type(item[1]) is int and 0 <= item[1] < len(node.operands), f"there is no operand {item[1]!r}")
        elif item[0] in ("t", "l"):
            _attr(type(item[1]) is tuple, f"{item!r} in a template")
            _template(node, item[1])


def _extent(node: Node, graph: Graph) -> None:
    _object_operand(node, 0)
    axis, ndim = node.attrs["axis"], node.attrs["ndim"]
    _attr(type(axis) is int and type(ndim) is int and 0 <= axis < ndim, "an axis of the array")
    _result(node, INT)


def _array_of(node: Node, graph: Graph) -> None:
    _object_operand(node, 0)
    _i6(node.result is not None and isinstance(node.result.type, ArrayType), "array gives an array")


def _list(node: Node, graph: Graph) -> None:
    try:
        check_list(node)
    except BrokenList as error:
        raise BrokenRule("I5", str(error)) from None


_RULES: dict[str, Callable[[Node, Graph], None]] = {
    "const": _const, "object": _object, "py": _py, "idx": _idx, "unbox": _unbox, "dim": _axis, "stride": _axis,
    "bcast": _two_ints, "same": _two_ints, "wrap": _two_ints, "check": _check,
    "finite": _finite, "asks_under": _asks_under,
    "poll": _poll, "writable": _writable, "ew": _ew, "cast": _cast,
    "splat": _splat, "pack": _pack, "iota": _iota, "reduce": _reduce, "view": _view, "load": _load, "copy": _copy,
    "assign": _assign, "point": _point,
    "store": _store, "draw": _draw, "count": _count_items, "item": _item, "byte": _byte, "number": _number,
    "extent": _extent, "array": _array_of,
    "call": _call,
    **dict.fromkeys((op for op in OPCODES if op.startswith("list_")), _list),
}
assert _RULES.keys() == OPCODES.keys()


def check_node(node: Node, graph: Graph) -> None:
    """Raise ``BrokenRule`` unless ``node`` fits its opcode, which must be known."""
    _RULES[node.op](node, graph)
