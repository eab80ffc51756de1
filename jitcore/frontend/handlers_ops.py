"""Handlers: operators, comparisons, subscripts."""
from __future__ import annotations

from jitcore.bytecode import Instr
from jitcore.frontend import operations, operators
from jitcore.frontend.calls import PENDING, perform
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import is_same
from jitcore.frontend.protocol import Redirect, Unsupported
from jitcore.frontend.registry import handles
from jitcore.frontend.values import Abstract, Known, Scalar, Slice
from jitcore.ir.types import BOOL


def push(m: Machine, found: Abstract | Redirect) -> None:
    """Push a result, or do the call that gives it."""
    result = perform(m, found) if isinstance(found, Redirect) else found
    if result is not PENDING:
        m.frame.push(result)


@handles("UNARY")
def unary(m: Machine, instr: Instr) -> None:
    push(m, operations.unary(m, instr.arg, m.frame.pop()))


@handles("BINARY")
def binary(m: Machine, instr: Instr) -> None:
    a, b = m.frame.pop_n(2)
    push(m, operations.binary(m, instr.arg.op, a, b, instr.arg.inplace))


@handles("COMPARE")
def compare(m: Machine, instr: Instr) -> None:
    a, b = (m.force(v) for v in m.frame.pop_n(2))
    if operations.asks_class(a, b):
        perform(m, operators.compare(m, instr.arg.op, a, b), "bool" if instr.arg.to_bool else "operator")
        return
    found = operations.compare(m, instr.arg.op, a, b)
    m.frame.push(operations.truth_value(m, found) if instr.arg.to_bool else found)


@handles("IS")
def is_(m: Machine, instr: Instr) -> None:
    a, b = (m.force(v) for v in m.frame.pop_n(2))
    same = is_same(m, a, b)
    if same is not None:
        m.frame.push(Known(same is not instr.arg))
        return
    for value, other in ((a, b), (b, a)):
        if isinstance(value, Scalar) and value.type == BOOL and isinstance(other, Known):
            wanted = (other.obj is True) is not instr.arg
            push(m, value if wanted else operations.unary(m, "not", value))
            return
    raise Unsupported("identity of objects that is not known")


@handles("CONTAINS")
def contains(m: Machine, instr: Instr) -> None:
    item, container = m.frame.pop_n(2)
    m.frame.push(operations.contains_value(m, item, container, not instr.arg))


@handles("TO_BOOL")
def to_bool(m: Machine, instr: Instr) -> None:
    m.frame.push(operations.truth_value(m, m.frame.pop()))


@handles("SUBSCR")
def subscr(m: Machine, instr: Instr) -> None:
    obj, key = m.frame.pop_n(2)
    push(m, operations.getitem(m, obj, key))


@handles("SLICE")
def slice_(m: Machine, instr: Instr) -> None:
    obj, start, stop = m.frame.pop_n(3)
    push(m, operations.getitem(m, obj, Slice(start, stop, Known(None))))


@handles("STORE_SUBSCR")
def store_subscr(m: Machine, instr: Instr) -> None:
    value, obj, key = m.frame.pop_n(3)
    operations.setitem(m, obj, key, value)


@handles("STORE_SLICE")
def store_slice(m: Machine, instr: Instr) -> None:
    value, obj, start, stop = m.frame.pop_n(4)
    operations.setitem(m, obj, Slice(start, stop, Known(None)), value)


@handles("DELETE_SUBSCR")
def delete_subscr(m: Machine, instr: Instr) -> None:
    obj, key = m.frame.pop_n(2)
    operations.delitem(m, obj, key)
