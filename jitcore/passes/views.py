"""View propagation: views of views become views, operations seen through a view become operations on views.

Job, first: a view of a view becomes a view of the array (offsets add up, strides are its own), a
view that shows its whole array as it is becomes the array, where only elements are read; a store of a view
into itself goes.

Job, second: where the result of an ``ew`` or ``cast`` is used by one view alone, and that view by
elementwise operations alone, take the view of the operands instead.  The operation then computes only
the elements that are wanted and fuses with its users, instead of filling an array.

Invariants of the second, and why it is exact: operands and result are contiguous in the same order, have the
same lengths and items of one size, so that byte offsets and strides are the same for all of them.
Neither the result nor the view can be seen outside.  Fewer elements are computed only where the
operation reports nothing.  Users are elementwise: no element depends on the order in memory.
"""
from __future__ import annotations

from jitcore.ir.build import count_uses, insert_before, replace_uses, type_key
from jitcore.ir.graph import Block, Graph, Node, Value
from jitcore.ir.layout import elementwise_layout
from jitcore.ir.types import INT, ArrayType
from jitcore.passes.effects import escaping, has_stores, is_array

#: Kinds of views that show every element once.
_WHOLE = ("transpose", "newaxis", "reshape")


def run(graph: Graph) -> int:
    """Propagate views in place; returns the number of rewrites."""
    total = _compose(graph)
    if has_stores(graph):
        return total
    while _once(graph):
        total += 1
    return total


def _compose(graph: Graph) -> int:
    """Views of views, and views that change nothing."""
    seen = escaping(graph)
    replaced: dict[Value, Value] = {}
    count = 0
    for block in graph.blocks:
        for node in list(block.nodes):
            if replaced:
                node.operands = tuple(replaced.get(value, value) for value in node.operands)
            if node.op == "assign" and _are_one(*node.operands):
                block.nodes.remove(node)
                count += 1
                continue
            if node.op != "view" or node.result is None:
                continue
            inner = node.operands[0].node
            if inner is not None and inner.op == "view":
                first, second = inner.operands[1], node.operands[1]
                if _is_zero(first):
                    offset = second
                elif _is_zero(second):
                    offset = first
                else:
                    added = insert_before(graph, block, node, "idx", (first, second), INT, fn="add")
                    assert added.result is not None
                    offset = added.result
                node.operands = (inner.operands[0], offset, *node.operands[2:])
                # The kind says whether elements are left out or repeated, in either of the two.
                kinds = (inner.attrs["kind"], node.attrs["kind"])
                node.attrs["kind"] = next((kind for kind in ("broadcast", "slice") if kind in kinds), kinds[1])
                node.attrs["arg"] = (inner.attrs["arg"], node.attrs["arg"])
                if inner.attrs.get("readonly"):
                    node.attrs["readonly"] = True
                count += 1
            source = node.operands[0]
            if node.result not in seen and _shows_all(node, source):
                replaced[node.result] = source
                block.nodes.remove(node)
                count += 1
    replace_uses(graph, replaced)
    return count


def _are_one(target: Value, value: Value) -> bool:
    """True if both show the same elements of one array: what ``a[i] += x`` stores in the end is there already."""
    a, b = target.node, value.node
    return (a is not None and b is not None and a.op == b.op == "view" and a.operands == b.operands
            and target.shape == value.shape and type_key(target.type) == type_key(value.type))


def _is_zero(value: Value) -> bool:
    return value.node is not None and value.node.op == "const" and value.node.attrs["value"] == 0


def _shows_all(view: Node, source: Value) -> bool:
    """True if the view has its array's type, lengths, strides and beginning."""
    assert view.result is not None
    if type_key(view.result.type) != type_key(source.type) or view.result.shape != source.shape:
        return False
    return _is_zero(view.operands[1]) and all(
        stride.node is not None and stride.node.op == "stride" and stride.node.operands[0] is source
        and stride.node.attrs["axis"] == axis for axis, stride in enumerate(view.operands[2:]))


def _once(graph: Graph) -> bool:
    uses = count_uses(graph)
    seen = escaping(graph)
    users: dict[Value, list[Node]] = {}
    for node in graph.nodes():
        for value in node.operands:
            users.setdefault(value, []).append(node)
    for block in graph.blocks:
        for node in block.nodes:
            if node.op == "view" and _fits(node, uses, users, seen, block):
                _move(graph, block, node, users)
                return True
    return False


def _fits(view: Node, uses: dict[Value, int], users: dict[Value, list[Node]], seen: set[Value], block: Block) -> bool:
    source, result = view.operands[0], view.result
    made = source.node
    assert result is not None and isinstance(result.type, ArrayType)
    if made is None or made.op not in ("ew", "cast") or source in seen or result in seen or not users.get(result):
        return False
    places = [k for k, node in enumerate(block.nodes) if node is made or node is view]
    if len(places) != 2:
        return False  # the operation is in another block: it would run on other paths
    if made.exit is not None and any(
            node.exit not in (None, made.exit) for node in block.nodes[places[0]:places[1]]):
        return False  # another exit would be taken first
    if any(user.op not in ("ew", "cast") for user in users[result]):
        return False
    arrays = [value for value in made.operands if is_array(value)]
    asked = [user for user in users[source] if user.op in ("stride", "dim")]
    if len(asked) + 1 != uses[source] or not arrays:
        return False  # something else needs the whole result
    if view.attrs["kind"] == "broadcast" or (made.exit is not None and view.attrs["kind"] not in _WHOLE):
        return False  # each element would be computed again and again; or not all of them
    return _alike(source, arrays) and sum(_filled(value, uses, seen) for value in arrays) <= 1


def _alike(source: Value, arrays: list[Value]) -> bool:
    """True if result and operands have the same lengths, order and size of items: the same offsets and strides."""
    type_ = source.type
    assert isinstance(type_, ArrayType)
    return type_.layout != "A" and all(
        isinstance(value.type, ArrayType) and value.type.layout == type_.layout and value.shape == source.shape
        and value.type.dtype.itemsize == type_.dtype.itemsize for value in arrays)


def _filled(value: Value, uses: dict[Value, int], seen: set[Value]) -> int:
    """How many arrays must be filled so that a view of ``value`` can be taken.  Without the view behind it, the
    operation fills one; there is nothing gained if its operands then fill two."""
    made = value.node
    if made is None or made.op not in ("ew", "cast"):
        return 0
    arrays = [operand for operand in made.operands if is_array(operand)]
    if uses[value] > 1 or value in seen or not arrays or not _alike(value, arrays):
        return 1
    return sum(_filled(operand, uses, seen) for operand in arrays)


def _move(graph: Graph, block: Block, view: Node, users: dict[Value, list[Node]]) -> None:
    source, result = view.operands[0], view.result
    assert result is not None and source.node is not None and isinstance(result.type, ArrayType)
    made = source.node
    operands: list[Value] = []
    first = next(value for value in made.operands if is_array(value))
    for user in users[source]:
        if user.op in ("stride", "dim"):
            user.operands = (first,)
    for value in made.operands:
        if not is_array(value):
            operands.append(value)
            continue
        assert isinstance(value.type, ArrayType)
        type_ = ArrayType(value.type.dtype, result.type.ndim, result.type.layout)
        node = insert_before(graph, block, view, "view", (value, *view.operands[1:]), type_, shape=result.shape,
                             **view.attrs)
        assert node.result is not None
        operands.append(node.result)
    layout = elementwise_layout(operands, result.shape)
    type_ = ArrayType(result.type.dtype, result.type.ndim, layout)
    # It stands for a view: users order their axes as they would for that.
    attrs = {**made.attrs, "like": made.operands.index(first)} if layout != "C" else made.attrs
    moved = insert_before(graph, block, view, made.op, tuple(operands), type_, shape=result.shape, exit=made.exit,
                          **attrs)
    moved.line = made.line
    assert moved.result is not None
    replace_uses(graph, {result: moved.result})
    block.nodes = [node for node in block.nodes if node is not view and node is not made]
