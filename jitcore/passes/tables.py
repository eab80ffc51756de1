"""What the passes know of operations: the op table and Python's scalar functions, for evaluation.

Job: bind the tables of ``ops`` to the interpreter of ``ir``, and tell which exits can be taken.
Invariant: read only.  Used by the passes alone.
"""
from __future__ import annotations

import numpy as np

from jitcore.ir.graph import Graph, Node
from jitcore.ir.interp import DEFAULT_REPORTS, OWN_OPS, Context
from jitcore.ir.types import ArrayType, ScalarType
from jitcore.ops.dtypes import cast_reports, cast_warns
from jitcore.ops.op import Op
from jitcore.ops.python import PY, can_exit
from jitcore.ops.table import OPS

PY_FUNCTIONS = {name: op.function for name, op in PY.items()}


def context(graph: Graph) -> Context:
    """What ``ir.interp.evaluate`` needs for nodes of ``graph``."""
    return Context(OPS, PY_FUNCTIONS, graph.objects)


def evaluable(node: Node) -> bool:
    """True if the operation may be run at compile time: NumPy's own, no user's."""
    if node.op != "ew":
        return True
    name = node.attrs["op"]
    op: Op | None = OPS.get(name)
    return name in OWN_OPS or (op is not None and op.ufunc is not None
                               and getattr(np, op.ufunc.__name__, None) is op.ufunc)


def can_take_exit(node: Node) -> bool:
    """False if no run can take the node's exit."""
    if node.exit is None:
        return False
    wanted = frozenset(node.attrs.get("reports", DEFAULT_REPORTS))
    if node.op == "ew":
        op = OPS.get(node.attrs["op"])
        sig = node.attrs["sig"]
        return op is None or op.foreign or sig in op.raises or bool(op.reports_for(sig) & wanted)
    if node.op == "cast":
        type_ = node.operands[0].type
        target = np.dtype(node.attrs["dtype"])
        assert isinstance(type_, (ScalarType, ArrayType))
        if isinstance(type_, ScalarType) and type_.weak:
            return not (type_.dtype == target or type_.dtype.kind == "b")
        return cast_warns(type_.dtype, target) or bool(cast_reports(type_.dtype, target) & wanted)
    if node.op == "py":
        try:
            return can_exit(node.attrs["fn"], tuple(value.type for value in node.operands))
        except LookupError:
            return True
    return True
