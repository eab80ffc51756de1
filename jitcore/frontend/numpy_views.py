"""Views of arrays: shapes, strides and offsets without copying.

Job: ``make_view`` and the reshaping operations.  Invariants: a view is a new object whose ``base`` is the array that
owns the memory as far as the region knows, as in NumPy; an array made inside that has a view is never updated
in place again; layouts are promised only where every run has them.  Used by ``frontend.numpy_*``.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitcore.frontend.numpy_args import known_int, normalized
from jitcore.frontend.numpy_shapes import all_equal, lengths_of
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Abstract, Array, Known, Scalar
from jitcore.ir.graph import Value
from jitcore.ir.types import BOOL, INT, array


def make_view(m: Any, base: Array, kind: str, arg: object, shape: Sequence[Value], strides: Sequence[Value],
              layout: str, offset: Value | None = None, kept: bool = True, readonly: bool = False) -> Array:
    """A view of ``base`` with these lengths and strides in bytes, ``offset`` bytes behind its first element.  ``kept``:
    it may live on.  ``readonly``: it must not be written to even where ``base`` may."""
    lengths = lengths_of(m)
    start = offset if offset is not None else lengths.const(0)
    type = array(base.type.dtype, len(shape), "C" if not shape else layout)
    attrs: dict[str, Any] = {"readonly": True} if readonly else {}
    value = m.builder.emit("view", (base.value, start, *strides), type, shape=tuple(shape), kind=kind, arg=arg, **attrs)
    owner = base.base if base.base is not None else base
    for one in (base, owner):
        if kept and one.source is None:
            one.shared = True
    return Array(value, None, lengths.hints(shape), owner, base.readonly or readonly)


def packed_strides(m: Any, shape: Sequence[Value], itemsize: int) -> list[Value]:
    """Strides of a C-contiguous array."""
    lengths = lengths_of(m)
    stride = lengths.const(itemsize)
    found: list[Value] = []
    for length in reversed(shape):
        found.append(stride)
        stride = lengths.idx("mul", stride, length)
    return found[::-1]


def strides_of(m: Any, operand: Array) -> list[Value]:
    """Strides of an array: from its lengths where it is C-contiguous, else from the array."""
    lengths = lengths_of(m)
    return [lengths.stride(operand.value, axis) for axis in range(operand.type.ndim)]


def transpose(m: Any, operand: Array, axes: Sequence[int] | None = None) -> Array:
    """``operand.transpose(axes)``; None reverses."""
    ndim = operand.type.ndim
    order = tuple(range(ndim))[::-1] if axes is None else tuple(normalized(a, ndim) for a in axes)
    if sorted(order) != list(range(ndim)):
        raise Unsupported("axes that do not match the array")
    lengths = lengths_of(m)
    shape, strides = lengths.shape(operand), strides_of(m, operand)
    layout = operand.type.layout
    if order == tuple(range(ndim))[::-1] and order != tuple(range(ndim)):
        # A C-contiguous array with one long axis is both; its transpose is too, so 'C' gives 'F' at most.
        layout = {"C": "F", "F": "C"}.get(layout, "A")
    elif order != tuple(range(ndim)):
        layout = "A"
    return make_view(m, operand, "transpose", order, [shape[k] for k in order], [strides[k] for k in order],
                     "C" if ndim <= 1 and operand.type.layout == "C" else layout)


def length_argument(m: Any, value: Abstract) -> Value | None:
    """A length given by the program: None for -1.  Exits at run time where it is negative."""
    value = m.force(value)
    lengths = lengths_of(m)
    if isinstance(value, Known):
        number = known_int(m, value, "a length")
        if number < -1:
            raise Unsupported("a negative length")
        return None if number == -1 else lengths.const(number)
    if isinstance(value, Scalar) and value.type.dtype.kind == "i":
        length = value.value if value.type.weak else m.builder.emit("unbox", (value.value,), INT)
        if value.hint is not None and type(value.hint) is int and value.hint < 0:
            if value.hint != -1 or not value.type.weak:
                raise Unsupported("a negative length")
            m.pin(value)
            return None
        length = lengths.canonical(length)
        if not lengths.is_length(length):
            ok = m.builder.emit("py", (length, lengths.const(0)), BOOL, fn="ge")
            m.builder.emit_check("check", (ok,))
            lengths.assume_length(length)
        lengths.note(length, value.hint)
        return length
    raise Unsupported("a length that is no int")


def reshape(m: Any, operand: Array, wanted: Sequence[Abstract]) -> Array:
    """``operand.reshape(wanted)`` in C order, where that is a view for every run."""
    lengths = lengths_of(m)
    before = lengths.shape(operand)
    target = [length_argument(m, item) for item in wanted]
    if operand.type.layout != "C":
        raise Unsupported("reshaping an array that is not C-contiguous")
    if target.count(None) > 1:
        raise Unsupported("more than one unknown length")
    total = lengths.product(before)
    known = lengths.product([n for n in target if n is not None])
    given = None not in target
    if not given:
        target[target.index(None)] = _missing(m, before, [n for n in target if n is not None], total, known)
    shape = [n for n in target if n is not None]
    kept = [n for n in before if lengths.number(n) != 1]
    if not all_equal(kept, [n for n in shape if lengths.number(n) != 1]):
        lengths.require_equal(lengths.product(shape), total)
    if given and len(before) == len(shape) and all(
            a is b or lengths.hint(a) == lengths.hint(b) is not None for a, b in zip(before, shape)):
        for a, b in zip(before, shape):         # NumPy keeps the strides, those of axes of one element too
            lengths.require_equal(a, b)
        return make_view(m, operand, "reshape", None, before, strides_of(m, operand), "C")
    return make_view(m, operand, "reshape", None, shape, packed_strides(m, shape, operand.type.dtype.itemsize), "C")


def _missing(m: Any, before: Sequence[Value], target: Sequence[Value], total: Value, known: Value) -> Value:
    """The length that -1 stands for: what is left when equal lengths are struck out, or a quotient."""
    lengths = lengths_of(m)
    rest = list(before)
    for length in target:
        match = next((k for k, n in enumerate(rest) if n is length), None)
        if match is None and lengths.number(length) != 1:
            break
        if match is not None:
            del rest[match]
    else:
        if all(lengths.number(n) not in (None, 0) for n in target) or not target:
            return lengths.product(rest)
        _require_positive(m, known)             # NumPy refuses -1 beside a length of 0
        return lengths.product(rest)
    _require_positive(m, known)
    quotient = lengths.idx("floordiv", total, known)
    lengths.require_equal(lengths.idx("mul", quotient, known), total)
    return quotient


def _require_positive(m: Any, length: Value) -> None:
    lengths = lengths_of(m)
    number = lengths.number(length)
    if number is not None and number > 0:
        return
    if lengths.hint(length) == 0:
        raise Unsupported("an unknown length beside a length of 0")
    ok = m.builder.emit("py", (length, lengths.const(0)), BOOL, fn="gt")
    m.builder.emit_check("check", (ok,))


def squeeze(m: Any, operand: Array, axes: Sequence[int] | None) -> Array:
    """``operand.squeeze(axes)``; without axes only lengths that are 1 in every run may be there."""
    lengths = lengths_of(m)
    shape, strides = lengths.shape(operand), strides_of(m, operand)
    if axes is None:
        if any(lengths.number(n) is None for n in shape):
            raise Unsupported("squeeze() of lengths that are not known")
        axes = [k for k, n in enumerate(shape) if lengths.number(n) == 1]
    for axis in axes:
        lengths.require_equal(shape[axis], lengths.const(1))
    keep = [k for k in range(operand.type.ndim) if k not in axes]
    layout = operand.type.layout
    if layout == "F" and len(keep) <= 1:
        layout = "A"
    return make_view(m, operand, "slice", "squeeze", [shape[k] for k in keep], [strides[k] for k in keep], layout)
