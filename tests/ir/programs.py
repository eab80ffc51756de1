"""Random graphs with inputs to run them on, for property tests of text, verifier and passes.

``programs()`` draws valid graphs: scalars, lengths, broadcasting, views, reductions, exits in the middle, a branch or a
loop.
"""
from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from jitcore.ir.graph import Block, Exit, Graph, Value
from jitcore.ir.layout import elementwise_layout
from jitcore.ir.recipe import NULL, Build, Const, FromSource, FromValue
from jitcore.ir.types import BOOL, COMPLEX, FLOAT, INT, ArrayType, ListType, ScalarType, array, strong

BINARY = {
    "d": ["add", "subtract", "multiply", "divide", "maximum", "power"], "f": ["add", "subtract", "multiply", "divide"],
    "l": ["add", "subtract", "multiply", "bitwise_and", "floor_divide", "left_shift"],
    "B": ["add", "multiply", "bitwise_or", "bitwise_xor"], "?": ["logical_and", "logical_or", "bitwise_xor"],
    "D": ["add", "multiply"],
}
UNARY = {"d": ["negative", "absolute", "sqrt", "floor", "rint"], "f": ["negative", "absolute", "ceil"],
         "l": ["negative", "absolute", "invert"], "B": ["invert", "negative"], "?": ["logical_not"],
         "D": ["negative", "conjugate"]}
SPECIAL = {"d": [0.0, -0.0, 1.0, 2.0, 0.5, -3.0, 4.0, np.inf, np.nan, 1e308], "f": [0.0, -0.0, 1.0, 2.0, 0.25, 1e38],
           "l": [0, 1, -1, 2, 7, 2**63 - 1], "B": [0, 1, 2, 255], "?": [False, True], "D": [1, 1j, -2.5 + 0j]}
LENGTHS = [0, 1, 2, 3, 5]


class _Maker:
    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.graph = Graph("random", "random.py")
        self.pool: list[Value] = []
        self.inputs: list[object] = []
        self.block: Block = self.graph.new_block()
        self.graph.add_exit(Exit("restart"))
        self.line = 1

    # -- choosing -----------------------------------------------------------------------------
    def pick(self, options: list) -> object:
        return self.draw(st.sampled_from(options))

    def recent(self, values: list[Value]) -> Value:
        """One of ``values``, more often one of the last, so that operations form chains."""
        return self.pick(values[-3:] if self.chance(60) else values)

    def dtype(self, known) -> str | None:
        """A dtype of ``known`` of which there is an array or a strong scalar."""
        there = self.of(lambda t: isinstance(t, (ArrayType, ScalarType)) and not getattr(t, "weak", False)
                        and t.dtype.char in known)
        return self.recent(there).type.dtype.char if there else None

    def chance(self, percent: int) -> bool:
        return self.draw(st.integers(0, 99)) < percent

    def of(self, test) -> list[Value]:
        return [value for value in self.pool if test(value.type)]

    def weak(self, type_) -> list[Value]:
        return self.of(lambda t: t == type_)

    def arrays(self) -> list[Value]:
        return self.of(lambda t: isinstance(t, ArrayType))

    def numbers(self, char: str) -> list[Value]:
        """Arrays and strong scalars of a dtype."""
        return self.of(lambda t: isinstance(t, (ArrayType, ScalarType)) and t.dtype.char == char
                       and not getattr(t, "weak", False))

    def exit(self) -> int:
        """The restart exit, or a new one with some of the values at hand."""
        if self.chance(60):
            return 0
        values = tuple(self.draw(st.lists(st.sampled_from(self.pool), max_size=3)))
        recipes = tuple(FromValue(k) for k in range(len(values)))
        return self.graph.add_exit(Exit("leave", values, 2 * self.line, 0, recipes, reason="half way", line=self.line))

    # -- making -------------------------------------------------------------------------------
    def emit(self, op: str, operands: tuple[Value, ...] = (), type=None, /, **more) -> Value | None:
        self.line += 1
        more.setdefault("line", self.line)
        node = self.graph.add(self.block, op, operands, type, **more)
        if node.result is not None:
            self.pool.append(node.result)
        return node.result

    def const(self, value: object, type) -> Value:
        return self.emit("const", (), type, value=value)

    def elements(self, char: str, shape: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng(self.draw(st.integers(0, 99)))
        options = np.array(SPECIAL[char] + [3, 5, 6], dtype=char)
        return rng.choice(options, shape)

    def input_array(self) -> None:
        char = self.pick(list(BINARY))
        ndim = self.pick([0, 1, 1, 2, 2])
        shape = tuple(self.pick(LENGTHS) for _ in range(ndim))
        layout = self.pick(["C", "F", "A"]) if ndim == 2 else self.pick(["C", "A"]) if ndim else "C"
        if self.chance(40):
            char = "d"
        data = self.elements(char, shape)
        if layout == "F":
            data = np.asfortranarray(data)
        elif layout == "A":
            data = np.repeat(np.repeat(data, 2, axis=0), 2, axis=-1)[::2][..., ::2]
        value = self.graph.add_input(array(char, ndim, layout))
        self.inputs.append(data)
        dims = []
        for axis in range(ndim):
            dims.append(self.emit("dim", (value,), INT, axis=axis))
        value.shape = tuple(dims)
        self.pool.append(value)

    def input_scalar(self) -> None:
        type_, value = self.pick([(INT, 3), (INT, -2), (FLOAT, 0.5), (FLOAT, -0.0), (BOOL, True), (COMPLEX, 1 - 2j),
                                  (strong("d"), np.float64(2.5)), (strong("l"), np.int64(4)),
                                  (strong("f"), np.float32(-1.5))])
        self.pool.append(self.graph.add_input(type_))
        self.inputs.append(value)

    def broadcast(self, a: Value, b: Value) -> tuple[Value, ...]:
        shape = []
        ndim = max(len(a.shape), len(b.shape))
        for axis in range(-ndim, 0):
            x = a.shape[axis] if -axis <= len(a.shape) else None
            y = b.shape[axis] if -axis <= len(b.shape) else None
            shape.append(x if y is None or x is y else y if x is None
                         else self.emit("bcast", (x, y), INT, exit=self.exit()))
        return tuple(shape)

    def elementwise(self, op: str, sig: str, operands: tuple[Value, ...], exit: int | None) -> None:
        arrays = [value for value in operands if isinstance(value.type, ArrayType)]
        out = sig[-1]
        if not arrays:
            self.emit("ew", operands, strong(out), exit=exit, op=op, sig=sig)
            return
        shape = arrays[0].shape
        for other in arrays[1:]:
            left = Value(-1, array("d", len(shape)), None, shape)
            shape = self.broadcast(left, other)
        self.emit("ew", operands, array(out, len(shape), elementwise_layout(arrays, shape)), shape=shape, exit=exit,
                  op=op, sig=sig)

    def step(self) -> None:
        getattr(self, "make_" + self.pick([
            "const", "idx", "py", "check", "binary", "binary", "binary", "binary", "unary", "unary", "cast", "where",
            "view", "view", "seen_through", "reduce", "splat", "load", "again", "compare", "copy", "list",
            "list_change", "pack", "pack", "whole", "put"]))()

    def lists(self) -> list[Value]:
        return self.of(lambda t: isinstance(t, ListType))

    def make_list(self) -> None:
        items = self.of(lambda t: t in (INT, FLOAT, strong("d")) or t == ListType(INT))
        if not items:
            return
        item, ints = self.recent(items), self.weak(INT)
        if ints and self.chance(50):
            three = self.emit("idx", (self.pick(ints), self.const(3, INT)), INT, fn="min")
            self.emit("list_fill", (item, three), ListType(item.type), exit=self.exit())
        else:
            made = self.emit("list_new", (), ListType(item.type), exit=self.exit())
            self.emit("list_append", (made, item), exit=self.exit())

    def make_list_change(self) -> None:
        if not self.lists():
            return
        target = self.recent(self.lists())
        items = self.of(lambda t: t == target.type.item)
        length = self.emit("list_len", (target,), INT)
        what = self.pick(["get", "set", "append", "reverse", "copy", "pop", "find"])
        if what == "append" and items:
            self.emit("list_append", (target, self.pick(items)), exit=self.exit())
        elif what == "reverse":
            self.emit("list_call", (target,), exit=self.exit(), fn="reverse")
        elif what == "copy":
            limits = (self.pick(self.weak(INT)), self.pick(self.weak(INT)), self.const(self.pick([1, -1, 2]), INT))
            self.emit("list_call", (target, *limits), target.type, exit=self.exit(), fn="slice")
        elif what == "find" and items and target.type.item == INT:
            self.emit("list_call", (target, self.pick(items)), INT, exit=self.exit(), fn="find")
        else:
            index = self.emit("wrap", (self.pick(self.weak(INT)), length), INT, exit=self.exit())
            if what == "get":
                self.emit("list_get", (target, index), target.type.item)
            elif what == "pop":
                self.emit("list_pop", (target, index))
            elif items:
                self.emit("list_set", (target, self.pick(items), index))

    def make_const(self) -> None:
        char = self.pick(list(SPECIAL))
        value = self.pick(SPECIAL[char])
        if self.chance(30):
            type_, obj = self.pick([(INT, self.pick([0, 1, 2])), (FLOAT, 1.0), (BOOL, True), (INT, 1)])
            self.const(obj, type_)
        else:
            self.const(np.dtype(char).type(value), strong(char))

    def make_idx(self) -> None:
        ints = self.weak(INT)
        if len(ints) < 2:
            return
        fn = self.pick(["add", "sub", "max", "min", "satsub"])
        self.emit("idx", (self.pick(ints), self.pick(ints)), INT, fn=fn)

    def make_py(self) -> None:
        type_ = self.pick([INT, FLOAT])
        values = self.weak(type_)
        if values:
            fn = self.pick(["add", "sub", "mul", "lt", "eq"])
            result = BOOL if fn in ("lt", "eq") else type_
            self.emit("py", (self.pick(values), self.pick(values)), result, exit=self.exit(), fn=fn)

    def make_check(self) -> None:
        conditions, ints = self.weak(BOOL), self.weak(INT)
        if conditions and self.chance(50):
            self.emit("check", (self.pick(conditions),), exit=self.exit())
        elif ints:
            a = self.pick(ints)
            self.emit("same", (a, self.pick([a, a, self.pick(ints)])), exit=self.exit())

    def make_binary(self) -> None:
        char = self.dtype(BINARY)
        if char is not None:
            numbers = self.numbers(char)
            a, b = self.recent(numbers), self.recent(numbers)
            if self.chance(30):
                b = self.const(np.dtype(char).type(self.pick(SPECIAL[char])), strong(char))
                a, b = (b, a) if self.chance(30) else (a, b)
            op = self.pick(BINARY[char])
            exit = self.pick([None, None, None, self.exit()])
            if op == "left_shift" or (op == "floor_divide" and exit is None):
                exit = None if op == "left_shift" else 0
            self.elementwise(op, f"{char}{char}->{char}", (a, b), exit)

    def make_compare(self) -> None:
        char = self.pick(["d", "l", "B"])
        numbers = self.numbers(char)
        if numbers:
            self.elementwise("less", f"{char}{char}->?", (self.pick(numbers), self.pick(numbers)), None)

    def make_unary(self) -> None:
        char = self.dtype(UNARY)
        if char is not None:
            self.elementwise(self.pick(UNARY[char]), f"{char}->{char}", (self.recent(self.numbers(char)),),
                             self.pick([None, None, None, 0]))

    def make_cast(self) -> None:
        numbers = self.of(lambda t: isinstance(t, (ArrayType, ScalarType)) and t.dtype.kind != "c")
        if not numbers:
            return
        value, char = self.recent(numbers), self.pick(["d", "f", "l", "?", "e", "h"])
        if isinstance(value.type, ScalarType):
            self.emit("cast", (value,), strong(char), exit=self.pick([None, self.exit()]) if not value.type.weak
                      else self.exit(), dtype=char)
        else:
            layout = elementwise_layout((value,), value.shape)
            self.emit("cast", (value,), array(char, value.type.ndim, layout), shape=value.shape,
                      exit=self.pick([None, self.exit()]), dtype=char)

    def make_where(self) -> None:
        char = self.pick(["d", "l"])
        numbers, conditions = self.numbers(char), self.numbers("?")
        if numbers and conditions:
            self.elementwise("where", f"?{char}{char}->{char}",
                             (self.pick(conditions), self.pick(numbers), self.pick(numbers)), None)

    def make_view(self) -> None:
        arrays = [value for value in self.arrays() if value.type.ndim in (1, 2)]
        if not arrays:
            return
        source = self.recent(arrays)
        ndim, layout = source.type.ndim, source.type.layout
        strides = [self.emit("stride", (source,), INT, axis=axis) for axis in range(ndim)]
        shape, zero = list(source.shape), self.const(0, INT)
        kind = self.pick(["transpose", "newaxis", "slice", "reverse"])
        if kind == "transpose":
            layout = {"C": "F", "F": "C", "A": "A"}[layout] if ndim == 2 else layout
            # A C array of one row is F as well: the order of its transpose is known, its class is not.
            self.emit("view", (source, zero, *strides[::-1]), array(source.type.dtype, ndim, layout),
                      shape=tuple(shape[::-1]), kind="transpose", arg=tuple(range(ndim))[::-1])
        elif kind == "newaxis":
            if ndim == 2:
                return
            layout = "C" if layout == "C" else "A"
            self.emit("view", (source, zero, zero, *strides), array(source.type.dtype, 2, layout),
                      shape=(self.const(1, INT), *shape), kind="newaxis", arg=0)
        elif kind == "slice":
            one = self.const(1, INT)
            length = self.emit("idx", (shape[0], one), INT, fn="satsub")
            start = self.emit("idx", (shape[0], length), INT, fn="sub")
            offset = self.emit("idx", (start, strides[0]), INT, fn="mul")
            layout = "C" if layout == "C" else "A"
            self.emit("view", (source, offset, *strides), array(source.type.dtype, ndim, layout),
                      shape=(length, *shape[1:]), kind="slice", arg=(1, None, None))
        else:
            one = self.const(1, INT)
            last = self.emit("idx", (shape[0], one), INT, fn="satsub")
            offset = self.emit("idx", (last, strides[0]), INT, fn="mul")
            down = self.emit("idx", (zero, strides[0]), INT, fn="sub")
            self.emit("view", (source, offset, down, *strides[1:]), array(source.type.dtype, ndim, "A"),
                      shape=tuple(shape), kind="slice", arg=(None, None, -1))

    def make_seen_through(self) -> None:
        """An operation, a view of its result, an operation on the view."""
        arrays = [value for value in self.numbers("d") if isinstance(value.type, ArrayType) and value.type.ndim]
        if arrays:
            source = self.recent(arrays)
            self.elementwise(self.pick(["negative", "exp", "sqrt"]), "d->d", (source,), self.pick([None, None, 0]))
            made = self.pool[-1]
            keep, self.pool = self.pool, [made, *self.weak(INT)]
            self.make_view()
            keep += [value for value in self.pool if value not in keep]
            self.pool = keep
            if isinstance(self.pool[-1].type, ArrayType):
                self.elementwise("multiply", "dd->d", (self.pool[-1], self.pick([self.pool[-1], source])
                                                       if self.pool[-1].shape == source.shape else self.pool[-1]), None)

    def make_reduce(self) -> None:
        arrays = [value for value in self.arrays() if value.type.dtype.char in "dl" and value.type.ndim]
        if not arrays:
            return
        source = self.pick(arrays)
        char, ndim = source.type.dtype.char, source.type.ndim
        op = self.pick(["add", "maximum"])
        axes, keepdims = self.pick([None, (0,)]), False
        left = ndim - (ndim if axes is None else 1)
        attrs = {"op": op, "sig": f"{char}{char}->{char}", "axes": axes, "keepdims": keepdims, "exit": self.exit()}
        if left == 0:
            self.emit("reduce", (source,), strong(char), **attrs)
        else:
            self.emit("reduce", (source,), array(char, left, "C"), shape=source.shape[1:], **attrs)

    def make_splat(self) -> None:
        scalars = self.of(lambda t: isinstance(t, ScalarType) and not t.weak)
        lengths = [value for other in self.arrays() for value in other.shape]
        if scalars and lengths:
            value = self.pick(scalars)
            self.emit("splat", (value,), array(value.type.dtype, 1), shape=(self.pick(lengths),))

    def make_load(self) -> None:
        arrays = [value for value in self.arrays() if value.type.ndim == 1]
        ints = self.weak(INT)
        if arrays and ints:
            source = self.pick(arrays)
            index = self.emit("wrap", (self.pick(ints), source.shape[0]), INT, exit=self.exit())
            self.emit("load", (source, index), strong(source.type.dtype))

    def length(self, number: int) -> Value:
        """A constant length: the same value wherever it is asked for."""
        for node in self.graph.blocks[0].nodes:
            if node.op == "const" and node.result.type == INT and node.attrs["value"] == number:
                return node.result
        node = self.graph.add(self.graph.blocks[0], "const", (), INT, value=number)
        self.graph.blocks[0].nodes.insert(0, self.graph.blocks[0].nodes.pop())
        return node.result

    def make_pack(self) -> None:
        """A small array of numbers."""
        char = self.dtype(BINARY)
        numbers = self.of(lambda t: t == strong(char)) if char is not None else []
        if numbers:
            shape = self.pick([(2,), (2,), (3,), (1,), (2, 2), (1, 2)])
            layout = self.pick(["C", "F"]) if shape == (2, 2) else "C"
            items = tuple(self.recent(numbers) for _ in range(int(np.prod(shape))))
            self.emit("pack", items, array(char, len(shape), layout), shape=tuple(map(self.length, shape)))

    def small(self) -> list[Value]:
        return [value for value in self.arrays() if value.node is not None and value.node.op in ("pack", "ew", "copy")
                and value.shape and all(n.node is not None and n.node.op == "const" for n in value.shape)]

    def make_whole(self) -> None:
        """Small arrays with one another, and an element of one by its number."""
        if self.small():
            a = self.recent(self.small())
            fits = [b for b in self.small() if b.shape == a.shape and b.type.dtype == a.type.dtype]
            char, b = a.type.dtype.char, self.recent(fits)
            self.elementwise(self.pick(BINARY[char][:3]), f"{char}{char}->{char}", (a, b), self.exit()) \
                if char != "?" else None
            indices = tuple(self.length(self.pick([0, n.node.attrs["value"] - 1])) for n in a.shape)
            self.emit("load", (a, *indices), strong(char))

    def make_put(self) -> None:
        """Something stored into a small array that the graph made."""
        if self.small() and self.chance(30):
            target = self.recent(self.small())
            sources = [v for v in self.small() if v.shape == target.shape and v.type.dtype == target.type.dtype]
            numbers = self.of(lambda t: t == strong(target.type.dtype.char))
            if self.chance(50):
                self.emit("assign", (target, self.pick(sources)), exit=self.exit())
            elif numbers:
                self.emit("store", (target, self.pick(numbers), *(self.length(0) for _ in target.shape)))

    def make_copy(self) -> None:
        arrays = self.arrays()
        if arrays:
            source = self.pick(arrays)
            layout = source.type.layout if source.type.ndim > 1 else "C"
            self.emit("copy", (source,), array(source.type.dtype, source.type.ndim, layout), shape=source.shape,
                      order="K")

    def make_again(self) -> None:
        """A node that stands in the block already, once more."""
        nodes = [node for node in self.block.nodes if node.result is not None and node.op not in ("const", "dim")]
        if nodes:
            node = self.pick(nodes)
            self.emit(node.op, node.operands, node.result.type, shape=node.result.shape,
                      exit=self.pick([node.exit, None if node.op in ("ew", "cast", "idx", "view", "stride", "splat",
                                                                     "load", "copy", "unbox") else node.exit]),
                      **node.attrs)

    def steps(self, least: int, most: int) -> None:
        for _ in range(self.draw(st.integers(least, most))):
            self.step()

    def finish(self) -> None:
        values = tuple(self.recent(self.pool) for _ in range(self.draw(st.integers(1, 4))))
        items = [FromValue(k) for k in range(len(values))]
        result = Build("tuple", (*items, items[0], Const(None), Const("a;'b\""), Const(1.5), FromSource(0), NULL))
        index = self.graph.add_exit(Exit("return", values, 4, result=result, line=9))
        self.graph.add_exit(Exit("call", values[:1], 6, 8, (FromSource(0), NULL), (), None, "getattr", (FromValue(0),),
                                 "name", "never reached"))
        self.graph.blocks[-1].terminator = self.end("exit", exit=index)

    @staticmethod
    def end(kind: str, **more):
        from jitcore.ir.graph import Terminator
        return Terminator(kind, **more)

    def flow(self) -> None:
        """A diamond, a loop, or nothing."""
        kind = self.pick(["none", "none", "diamond", "loop"])
        scalars = self.of(lambda t: isinstance(t, ScalarType)) + 2 * self.small()
        if kind == "none" or not scalars:
            return
        carried = self.pick(scalars)

        def alike() -> Value:
            return self.pick([value for value in self.pool if value.type == carried.type
                              and value.shape == carried.shape])

        outer = list(self.pool)
        if kind == "diamond":
            condition = self.pick(self.weak(BOOL) or [self.const(True, BOOL)])
            top, sides, ends = self.block, [], []
            for _ in range(2):
                self.block = self.graph.new_block()
                sides.append(self.block)
                self.pool = list(outer) + ([condition] if condition not in outer else [])
                self.steps(0, 4)
                ends.append((self.block, alike()))
            top.terminator = self.end("branch", cond=condition, targets=[(side, ()) for side in sides])
            join = self.graph.new_block()
            for block, value in ends:
                block.terminator = self.end("jump", targets=[(join, (value,))])
            self.pool = [*outer, self.graph.add_param(join, carried.type, carried.shape)]
            self.block = join
            return
        zero, one, stop = self.const(0, INT), self.const(1, INT), self.const(3, INT)
        outer = list(self.pool)
        top, header = self.block, self.graph.new_block()
        count, value = self.graph.add_param(header, INT), self.graph.add_param(header, carried.type, carried.shape)
        top.terminator = self.end("jump", targets=[(header, (zero, carried))])
        self.block, self.pool = header, [*outer, count, value]
        more = self.emit("py", (count, stop), BOOL, fn="lt")
        body, after = self.graph.new_block(), self.graph.new_block()
        header.terminator = self.end("branch", cond=more, targets=[(body, ()), (after, ())])
        inside = list(self.pool)
        self.block = body
        self.steps(0, 4)
        following = self.emit("py", (count, one), INT, exit=0, fn="add")
        body.terminator = self.end("jump", targets=[(header, (following, alike()))])
        self.block, self.pool = after, inside


@st.composite
def programs(draw: st.DrawFn) -> tuple[Graph, list[object]]:
    """A valid graph and inputs for it."""
    maker = _Maker(draw)
    for _ in range(draw(st.integers(1, 2))):
        maker.input_array()
    for _ in range(draw(st.integers(0, 2))):
        maker.input_scalar()
    maker.steps(3, 14)
    maker.flow()
    maker.steps(1, 6)
    maker.finish()
    return maker.graph, maker.inputs
