"""The builder: graph, guards, sources and exits of one region while it is traced.

Job: the one object through which the front end writes its results.  Invariants: inputs are read at
most once a source; guards are appended in the order in which they must be evaluated; exit 0 is the
restart exit.  Only ``frontend`` uses it.
"""
from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ref

import numpy as np

from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.snapshot import Left, Loop
from jitcore.frontend.values import (
    Abstract,
    Array,
    Cell,
    FoundSequence,
    Function,
    Known,
    Lazy,
    Method,
    Opaque,
    Range,
    Scalar,
    Unbound,
    is_number,
)
from jitcore.guards.guard import (
    DimsEqual,
    FunctionIs,
    Guard,
    IsObject,
    LengthIs,
    Load,
    LoadArray,
    LoadObject,
    TypeIs,
    ValueIs,
)
from jitcore.guards.sources import Attr, Closure, Source
from jitcore.ir.build import replace_uses
from jitcore.ir.graph import Block, Exit, Graph, Node, Value
from jitcore.ir.types import COMPILED_DTYPES, INT, OBJECT, ArrayType, Type, array, is_plain_dtype, parse_type, strong

#: Types whose objects are guarded by identity when the front end must know them.
_BY_IDENTITY = (ModuleType, type, np.ufunc, np.dtype, type(len), type(np.ndarray.sum), type(None), type(...),
                type(NotImplemented), type(np.mean))


#: The flag in ``flags.num``; asking for ``flags.writeable`` makes NumPy warn about some arrays.
_WRITEABLE = 0x0400

#: Operations on arrays that cannot fail for want of memory.
_WITHOUT_MEMORY = frozenset({"dim", "stride", "view", "load", "object"})


class Builder:
    """Grows one region.  ``block`` is the block that nodes are appended to at present."""

    def __init__(self, name: str, file: str, opaque: frozenset[CodeType] = frozenset(),
                 varying: frozenset[Source] = frozenset()) -> None:
        self.graph = Graph(name, file)
        self.entry = self.graph.new_block()
        self.block: Block = self.entry
        self.guards: list[Guard] = []
        self.sources: list[Source] = []
        self._numbers: dict[Source, int] = {}
        self.left: list[Left] = []
        self.loops: list[Loop] = []
        self.line = 0
        self.graph.add_exit(Exit("restart", reason="the interpreter decides"))
        #: Gives the exit of a check that fails in the present instruction.
        self.failing: Callable[[], int] = lambda: 0
        self.failing_array: Callable[[], int] = lambda: 0
        #: The kinds of reports, as bits, that the region itself has put on ignore.
        self.quiet: Callable[[], int] = lambda: 0
        self._opaque, self._varying = opaque, varying
        self._by_source: dict[Source, Abstract] = {}
        self._dims: dict[tuple[Source, int], Value] = {}
        self._dim_owner: dict[Value, tuple[Source, int]] = {}
        self._alias: dict[Value, Value] = {}
        self._prologue: list[Node] = []
        self._writable: set[Value] = set()
        self._objects: dict[Source, Value] = {}

    # -- sources and guards -------------------------------------------------------------------
    def source_index(self, source: Source) -> int:
        """The number of ``source``, for ``recipe.FromSource``."""
        number = self._numbers.get(source)
        if number is None:
            number = self._numbers[source] = len(self.sources)
            self.sources.append(source)
        return number

    def guard(self, guard: Guard) -> None:
        self.source_index(guard.source)
        self.guards.append(guard)

    def force(self, value: Abstract) -> Abstract:
        """``value`` with enough guards that its kind and type are known."""
        if not isinstance(value, Lazy):
            return value
        if value.forced is None:
            assert value.source is not None
            known = self._by_source.get(value.source)
            value.forced = known if known is not None else self._read(value.obj, value.source)
            self._by_source[value.source] = value.forced
        return value.forced

    def _read(self, obj: object, source: Source) -> Abstract:
        kind = type(obj)
        if kind is bool or kind is float or kind is complex or (kind is int and -2**63 <= obj < 2**63):  # type: ignore[operator]
            self.guard(Load(source, kind.__name__))
            return Scalar(self._input(parse_type(kind.__name__)), source, obj)
        if kind is str and source not in self._varying:
            self.guard(ValueIs(source, obj))  # type: ignore[arg-type]
            return Known(obj, source)
        if isinstance(obj, np.generic) and is_number(obj) and obj.dtype.char not in "qQ":  # np.longlong is not np.int64
            type_ = strong(obj.dtype)
            self.guard(Load(source, str(type_)))
            return Scalar(self._input(type_), source, obj)
        if kind is np.ndarray:
            return self._read_array(obj, source)  # type: ignore[arg-type]
        if kind is tuple or kind is list:
            self.guard(TypeIs(source, kind))
            return self._sequence(obj, source)  # type: ignore[arg-type]
        if isinstance(obj, range) and all(-2**63 <= n < 2**63 for n in (obj.start, obj.stop, obj.step)):
            self.guard(TypeIs(source, range))
            start, stop, step = (Lazy(getattr(obj, part), Attr(source, part)) for part in ("start", "stop", "step"))
            return Range(start, stop, step, source)
        if isinstance(obj, FunctionType) and obj.__code__ not in self._opaque:
            self.guard(FunctionIs(source, obj.__code__, obj.__defaults__, obj.__kwdefaults__))
            cells = tuple(
                Cell(UNREAD if is_empty(cell) else Lazy(cell.cell_contents, Closure(i, name, source)), name,
                     Closure(i, name, source))
                for i, (name, cell) in enumerate(zip(obj.__code__.co_freevars, obj.__closure__ or ())))
            defaults = tuple(known_or_opaque(d) for d in obj.__defaults__ or ())
            kwdefaults = {k: known_or_opaque(v) for k, v in (obj.__kwdefaults__ or {}).items()}
            return Function(obj.__code__, obj.__globals__, cells, defaults, kwdefaults, obj, source)
        if kind is MethodType and isinstance(obj.__func__, FunctionType):  # type: ignore[attr-defined]
            self.guard(TypeIs(source, MethodType))
            method = Method(Lazy(obj.__func__, Attr(source, "__func__")), Lazy(obj.__self__, Attr(source, "__self__")))  # type: ignore[attr-defined]
            method.source = source
            return method
        if isinstance(obj, _BY_IDENTITY) and source not in self._varying:
            self.guard(IsObject(source, obj))
            return Known(obj, source)
        self.guard(TypeIs(source, kind))
        return Opaque(None, kind, source, obj)

    def _sequence(self, obj: tuple[object, ...] | list[object], source: Source) -> Abstract:
        this = ref(self)

        def guard_length() -> None:
            builder = this()
            assert builder is not None
            builder.guard(LengthIs(source, len(obj)))
        return FoundSequence(type(obj).__name__, obj, source, guard_length)

    def _read_array(self, obj: np.ndarray, source: Source) -> Abstract:
        flags, dtype = obj.flags, obj.dtype
        if dtype.char not in COMPILED_DTYPES or not is_plain_dtype(dtype) or not flags.aligned or obj.ndim > 8:
            self.guard(TypeIs(source, np.ndarray))
            return Opaque(None, np.ndarray, source, obj)
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        self.guard(LoadArray(source, dtype.char, obj.ndim, layout))
        value = self._input(array(dtype, obj.ndim, layout))
        dims = []
        for axis in range(obj.ndim):
            node = Node("dim", (value,), {"axis": axis}, None, self.line)
            node.result = self.graph.new_value(INT, node)
            self._prologue.append(node)
            dims.append(node.result)
            self._dim_owner[node.result] = (source, axis)
        value.shape = tuple(dims)
        return Array(value, source, tuple(obj.shape), readonly=not flags.num & _WRITEABLE)

    def _input(self, type: Type) -> Value:
        return self.graph.add_input(type)

    def object_input(self, value: Opaque) -> Value:
        """A graph value for an opaque object read from a source."""
        if value.value is None:
            assert value.source is not None
            value.value = self.object_at(value.source)
        return value.value

    def object_at(self, source: Source) -> Value:
        """A graph value for the object at ``source``."""
        found = self._objects.get(source)
        if found is None:
            self.guard(LoadObject(source))
            found = self._objects[source] = self._input(OBJECT)
        return found

    def pin(self, value: Scalar) -> Known:
        """A scalar's snapshot value, guarded (rule: values that decide types).  Raises if there is none."""
        if value.source is None or not isinstance(value.hint, (bool, int)):
            raise CannotPin
        self.guard(ValueIs(value.source, value.hint))
        return Known(value.hint, value.source)

    # -- nodes ----------------------------------------------------------------------------------
    def emit(self, op: str, /, operands: tuple[Value, ...] = (), type: Type | None = None, *,
             shape: tuple[Value, ...] = (), exit: int | None = None, **attrs: Any) -> Value:
        """Append a node with a result; ``exit=0`` is the restart exit, or for operations on numbers the exit that
        ``failing`` gives."""
        arrays = isinstance(type, ArrayType) or type == OBJECT or any(
            isinstance(value.type, ArrayType) for value in operands)
        if exit == 0:
            exit = self.failing_array() if arrays else self.failing()
        elif arrays and op not in _WITHOUT_MEMORY:
            self.failing_array()
        if exit is not None and op in ("ew", "cast", "reduce") and (quiet := self.quiet()):
            attrs["quiet"] = quiet
        node = self.graph.add(self.block, op, operands, type, shape=shape, exit=exit, line=self.line, **attrs)
        assert node.result is not None
        return node.result

    def emit_check(self, op: str, operands: tuple[Value, ...], exit: int = 0, exact: bool = False) -> None:
        """Append a check.  ``exit=0`` is the exit that ``failing`` gives, unless it is ``exact``."""
        if exit == 0 and not exact:
            exit = self.failing()
        self.graph.add(self.block, op, operands, None, exit=exit, line=self.line)

    def emit_effect(self, op: str, operands: tuple[Value, ...], exit: int | None = None) -> None:
        """Append a node that only does something."""
        self.graph.add(self.block, op, operands, None, exit=exit, line=self.line)

    def emit_change(self, op: str, operands: tuple[Value, ...], **attrs: Any) -> None:
        """Append a node that changes a list of the region's own, if it does not take its exit."""
        self.graph.add(self.block, op, operands, None, exit=self.failing(), line=self.line, **attrs)

    def require_writable(self, array: Array) -> None:
        """A check that an array may be written to: once at entry for an input."""
        if array.source is None:
            self.graph.add(self.block, "writable", (array.value,), None, exit=self.failing(), line=self.line)
        elif array.value not in self._writable:
            self._writable.add(array.value)
            self._prologue.append(Node("writable", (array.value,), {}, 0, self.line))

    def const(self, obj: object) -> Value:
        """A graph constant: weak for a Python number, strong for a NumPy scalar.  Raises ``Unsupported`` for an int
        beyond 64 bits."""
        if type(obj) is int and not -2**63 <= obj < 2**63:
            raise Unsupported("an int beyond 64 bits")
        kind = parse_type(type(obj).__name__) if type(obj) in (bool, int, float, complex) else strong(obj.dtype)  # type: ignore[attr-defined]
        return self.emit("const", (), kind, value=obj)

    def index(self, n: int) -> Value:
        return self.const(int(n))

    def as_value(self, value: Abstract) -> Value:
        """The graph value of a number, array or opaque object."""
        value = self.force(value)
        if isinstance(value, (Scalar, Array)):
            return value.value
        if isinstance(value, Known) and is_number(value.obj):
            return self.const(value.obj)
        if isinstance(value, Opaque):
            return self.object_input(value)
        raise TypeError(f"no graph value for {type(value).__name__}")

    def unify(self, a: Value, b: Value, hint_a: int | None, hint_b: int | None) -> Value | None:
        """One value for two input lengths that are equal in the snapshot, guarded; else None."""
        if a is b:
            return a
        if hint_a is None or hint_a != hint_b or a not in self._dim_owner or b not in self._dim_owner:
            return None
        (source_a, axis_a), (source_b, axis_b) = self._dim_owner[a], self._dim_owner[b]
        self.guard(DimsEqual(source_b, axis_b, source_a, axis_a))
        self._alias[b] = a
        return a

    def canonical(self, dim: Value) -> Value:
        """The length that stands for ``dim`` after ``unify``."""
        while dim in self._alias:
            dim = self._alias[dim]
        return dim

    def finish(self) -> Graph:
        """The graph, complete: lengths that were found equal are one value."""
        self.entry.nodes[:0] = self._prologue
        replace_uses(self.graph, self._alias)
        return self.graph


class CannotPin(Exception):
    """A value cannot be guarded to a constant."""


UNREAD = Unbound()


def is_empty(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def known_or_opaque(obj: object) -> Abstract:
    """A default value, fixed by the guard on the function's defaults."""
    return Known(obj)
