"""Graphs built by hand, run natively through ctypes: the tests' own dispatcher."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from jitcore import _core
from jitcore.backends.cpu import compile, lower
from jitcore.backends.cpu.loops import Unsupported
from jitcore.ir.graph import Exit, Graph, Terminator, Value
from jitcore.ir.layout import elementwise_layout, exit_words
from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, ArrayType, ListType, ScalarType, array, strong
from jitcore.kernels import plan
from jitcore.ops.builder import canonical
from jitcore.ops.table import OPS

__all__ = ["BOOL", "COMPLEX", "FLOAT", "INT", "Exit", "Graph", "Maker", "Native", "Unsupported", "array",
           "layout_of", "strong"]


_box = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(_core.symbols()["jc_tlist_box"])


class Context(ctypes.Structure):
    """jc_ctx of csrc/jitcore.h."""

    _fields_ = [("inputs", ctypes.c_void_p), ("out", ctypes.c_void_p), ("own", ctypes.c_void_p),
                ("kernels", ctypes.c_int64), ("calls", ctypes.c_int64)]


def layout_of(x: np.ndarray) -> str:
    return "C" if x.flags.c_contiguous else "F" if x.flags.f_contiguous else "A"


class Maker:
    """Builds a graph of one block (or more) for concrete arguments."""

    def __init__(self, *args: Any, share: bool = True) -> None:
        self.graph = Graph("test")
        self.graph.add_exit(Exit("restart"))
        self.block = self.graph.new_block()
        self.lengths: dict[int, Value] = {}
        self.inputs = [self._input(a, share) for a in args]

    def _input(self, a: Any, share: bool) -> Value:
        if not isinstance(a, np.ndarray):
            kinds = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX}
            return self.graph.add_input(kinds[type(a)] if type(a) in kinds else strong(a.dtype))
        value = self.graph.add_input(array(a.dtype, a.ndim, layout_of(a)))
        dims = []
        for axis, n in enumerate(a.shape):
            if share and n in self.lengths and n != 1:
                dims.append(self.lengths[n])
                continue
            node = self.graph.add(self.block, "dim", (value,), INT, axis=axis)
            assert node.result is not None
            dims.append(self.lengths.setdefault(n, node.result) if share and n != 1 else node.result)
        value.shape = tuple(dims)
        return value

    def node(self, opcode: str, *operands: Value, type: Any = None, shape: tuple[Value, ...] = (),
             exit: int | None = None, line: int = 0, **attrs: Any) -> Any:
        node = self.graph.add(self.block, opcode, operands, type, shape=shape, exit=exit, line=line)
        node.attrs.update(attrs)
        return node.result

    def const(self, value: Any, type: Any = None) -> Value:
        return self.node("const", type=type or strong(np.asarray(value).dtype), value=value)

    def shape(self, *values: Value) -> tuple[Value, ...]:
        """The broadcast shape."""
        arrays = [v for v in values if isinstance(v.type, ArrayType)]
        result: list[Value] = []
        for axis in range(-max((len(v.shape) for v in arrays), default=0), 0):
            length: Value | None = None
            for v in arrays:
                if len(v.shape) >= -axis:
                    mine = v.shape[axis]
                    length = mine if length is None or length is mine else \
                        self.node("bcast", length, mine, type=INT, exit=0)
            assert length is not None
            result.append(length)
        return tuple(result)

    def ew(self, op: str, *operands: Value, line: int = 0, exit: int | None = 0) -> Value:
        """An elementwise node with NumPy's own loop choice; casts are put in."""
        ufunc = OPS[op].ufunc
        chars = [canonical(v.type.dtype.char) for v in operands]     # type: ignore[attr-defined]
        if ufunc is None:
            assert op == "where"
            kind = np.result_type(*[np.dtype(c) for c in chars[1:]])
            dtypes = (np.dtype("?"), kind, kind, kind)
        else:
            dtypes = ufunc.resolve_dtypes((*[np.dtype(c) for c in chars], None))
        wanted = [canonical(d.char) for d in dtypes]
        cast = [v if c == w else self.cast(v, w) for v, c, w in zip(operands, chars, wanted)]
        sig = "".join(wanted[:-1]) + "->" + wanted[-1]
        shape = self.shape(*cast)
        arrays = [v for v in cast if isinstance(v.type, ArrayType)]
        type = array(wanted[-1], len(shape), elementwise_layout(arrays, shape)) if arrays else strong(wanted[-1])
        return self.node("ew", *cast, type=type, shape=shape, op=op, sig=sig, line=line, exit=exit)

    def cast(self, v: Value, dtype: str) -> Value:
        type = strong(dtype) if isinstance(v.type, ScalarType) else array(dtype, len(v.shape), (
            elementwise_layout([v], v.shape)))
        return self.node("cast", v, type=type, shape=v.shape, dtype=dtype, exit=0)

    def reduce(self, op: str, v: Value, axes: tuple[int, ...] | None = None, keepdims: bool = False,
               sig: str | None = None, initial: Value | None = None) -> Value:
        assert isinstance(v.type, ArrayType)
        axes = tuple(range(v.type.ndim)) if axes is None else axes
        have = v.type.dtype
        ufunc = OPS[op].ufunc
        assert ufunc is not None
        if sig is None:
            kind = ufunc.reduce(np.ones(1, have)).dtype.char
            sig = f"{kind}{kind}->{kind}"
        dims = [self.const(1, INT) if a in axes else d for a, d in enumerate(v.shape)] if keepdims else \
            [d for a, d in enumerate(v.shape) if a not in axes]
        out = canonical(sig[-1])
        layout = v.type.layout if len(dims) > 1 else "C"
        type = array(out, len(dims), layout) if dims else strong(out)
        operands = (v,) if initial is None else (v, initial)
        return self.node("reduce", *operands, type=type, shape=tuple(dims), op=op, sig=sig, axes=axes,
                         keepdims=keepdims, exit=0)

    def finish(self, *results: Value, precision: str = "default") -> Native:
        """Ends in a return exit and compiles."""
        index = self.graph.add_exit(Exit("return", tuple(results)))
        self.block.terminator = Terminator("exit", exit=index)
        return Native(self.graph, precision)


class Native:
    """A compiled graph that can be called with arguments."""

    def __init__(self, graph: Graph, precision: str = "default") -> None:
        self.graph = graph
        self.plan = plan(graph, OPS)
        self.lowered = lower(graph, self.plan, OPS, "test", precision=precision)
        self.compiled = compile(self.lowered)
        self.function = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(self.compiled.address)
        self.kernels = self.calls = 0

    def __call__(self, *args: Any) -> tuple[int, list[Any]]:
        """The exit's index and its values."""
        words = (ctypes.c_int64 * (2 * len(args) + 1))()
        at = 0
        for a, value in zip(args, self.graph.inputs):
            if isinstance(value.type, ScalarType):
                kind = "l" if value.type == BOOL else value.type.dtype
                raw = np.array(a, kind).tobytes()
                ctypes.memmove(ctypes.addressof(words) + 8 * at, raw, len(raw))
                at += 2 if len(raw) == 16 else 1
            else:
                words[at] = id(a)
                at += 1
        out = (ctypes.c_int64 * (self.lowered.n_out + 1))()
        own = (ctypes.c_void_p * (self.lowered.n_own + 1))()
        context = Context(ctypes.addressof(words), ctypes.addressof(out), ctypes.addressof(own), 0, 0)
        exit = self.function(ctypes.addressof(context))
        self.kernels, self.calls = context.kernels, context.calls
        results: list[Any] = []
        for value, at in zip(self.graph.exits[exit].values, exit_words(self.graph)[0][exit]):
            if isinstance(value.type, ScalarType):
                size = value.type.dtype.itemsize
                raw = ctypes.string_at(ctypes.addressof(out) + 8 * at, size)
                number = np.frombuffer(raw, value.type.dtype)[0]
                results.append(number.item() if value.type.weak else number)
            elif isinstance(value.type, ListType):
                results.append(_box(out[at]))
            else:
                results.append(ctypes.cast(out[at], ctypes.py_object).value)
        for slot in own:
            if slot:
                ctypes.pythonapi.Py_DecRef(ctypes.py_object(ctypes.cast(slot, ctypes.py_object).value))
        return exit, results
