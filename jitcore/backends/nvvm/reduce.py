"""Reductions on the device, in NumPy's order of additions.

Job: ``emit_tree``, ``emit_fold`` and ``emit_combine``, the kernel functions from which ``schedule`` makes a reduction.

NumPy's order (``csrc/blocks.c``).  Axes of one kind that are neighbours join; the last one is the inner loop.  Where
it is reduced, each run of it is summed pairwise, and these sums are added one by one to the result, which begins with
a start; where it is kept, elements are added to the results one by one.  Pairwise: up to 128 elements eight running
sums, ``((r0+r1)+(r2+r3))+((r4+r5)+(r6+r7))``, then what is left one by one; more are halved, the first half rounded
down to a multiple of 8.

``tree``: rows of ``length`` elements each (the last one ends at ``total``).  The halvings of a row are a tree whose
leaves have at most 128 elements, at most ``levels`` below the root.  Leaves are numbered by the turns on the way to
them, 0 for the first half, from 0 to ``2**levels - 1``; a leaf that is reached earlier has the number that continues
with zeros, and numbers without a leaf stand for -0.0, to which and from which adding changes no number.  So any tree
is a complete one.  Eight lanes of a warp make a leaf: lane k adds the elements k, k + 8, k + 16... as NumPy's k-th
running sum; exchanging sums with the lanes whose number differs by 1, 2 and 4 adds them in NumPy's order (which of
two is added to which makes no difference); then what is left over goes through all lanes in turn.  Such a group takes
``2**each`` leaves that are neighbours one after another, and adds what makes a whole as it comes, like a binary
counter; exchanging over 8 and 16 lanes adds the groups of a warp.  What is left of a row's tree is stored,
``2**(levels - each - 2)`` sums, of which ``combine`` makes one in the same way, with one lane for a leaf.

``fold``: a thread for each result, over elements numbered ``((r0 K0 + k0) R1 + r1) K1 + k1`` by their places along
two reduced and two kept axes: NumPy's order where the inner axis is kept, the order in which sums of rows are added,
and the only order of a product of floats, which NumPy does not split.

Minimum, maximum, logical and bit operations and ints may go in any order, and take the same way, with what changes
nothing in place of -0.0.  No result depends on timing: nothing is added atomically, and no thread waits for another
block.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from llvmlite import ir

from jitcore.backends.cpu.loops import Unsupported, register_types
from jitcore.backends.cpu.reduce import start_value
from jitcore.backends.nvvm import reports
from jitcore.backends.nvvm.access import Flat, Strided
from jitcore.backends.nvvm.body import Body, Notes, flat_address, scalar_argument
from jitcore.backends.nvvm.emit import I32, Code, Param, Var, i32
from jitcore.backends.nvvm.functions import DeviceBuilder
from jitcore.kernels.ir import Reduction
from jitcore.kernels.reductions import NO_IDENTITY
from jitcore.ops.builder import FLOATS, Scalar
from jitcore.ops.op import INVALID, OVER

#: The most that ``each`` may be, and how many elements of a fold are read at a time.
MOST_EACH, _AHEAD = 6, 4
#: The NaN (its bits, as an int) that stands for a zero of unknown sign on the way to a minimum or maximum.
_MIXED = {"f": ("I", 0x7FC5A5A5), "d": ("L", 0x7FF8_5A5A_5A5A_5A5A)}


def neutral(r: Reduction) -> float:
    """What changes no number that it is combined with."""
    return -0.0 if r.op == "add" and r.dtype in FLOATS else start_value(r.op, r.dtype)


def in_order(r: Reduction) -> bool:
    """Whether elements must be taken one by one."""
    return r.op == "multiply" and r.dtype in FLOATS


def params_of_rows() -> list[Param]:
    return [Param(name, "i32") for name in ("rows", "length", "total", "levels", "each", "begins")]


class _Reducing:
    """What the three have in common: combining two numbers, with what that reports, and storing results."""

    def __init__(self, code: Code, reductions: list[Reduction], checked: bool) -> None:
        self.code, self.reductions, self.checked = code, reductions, checked
        self.notes = Notes(code)
        self.s = DeviceBuilder(code.b)

    def combined(self, r: Reduction, x: Scalar, y: Scalar, where: ir.Value | None = None) -> Scalar:
        """``x op y``, in NumPy's way for ``reduce``; what it reports counts only ``where``."""
        s = self.s
        if r.op in ("minimum", "maximum"):
            if r.dtype == "?":
                return s.and_(x, y) if r.op == "minimum" else s.or_(x, y)
            if r.dtype in FLOATS:
                return self._extreme(r, x, y)
            return s.select(s.cmp("<" if r.op == "minimum" else ">", x, y), x, y)
        name = {"add": "add", "multiply": "mul", "logical_and": "and_", "logical_or": "or_", "bitwise_and": "and_",
                "bitwise_or": "or_", "bitwise_xor": "xor"}[r.op]
        result: Scalar = getattr(s, name)(x, y)
        if self.checked and r.exit is not None and r.dtype in FLOATS:
            word = reports.kinds(s, r.op, result, [x, y], frozenset({INVALID, OVER}), r.quiet)
            if word is not None and where is not None:
                word = s.ir.select(where, word, i32(0))
            self.notes.add(word)
        return result

    def _extreme(self, r: Reduction, x: Scalar, y: Scalar) -> Scalar:
        """The first NaN, else the lesser or greater.  Where zeros of both signs meet it is ``_MIXED``."""
        s = self.s
        kind, zero = _MIXED[r.dtype][0], s.const(r.dtype, 0)
        odd_x, odd_y = self._is_mixed(x), self._is_mixed(y)
        x, y = s.select(odd_x, zero, x), s.select(odd_y, zero, y)
        wins = s.cmp("<" if r.op == "minimum" else ">", x, y)
        result = s.select(s.or_(wins, s.isnan(x)), x, y)
        unlike = s.and_(s.cmp("==", x, y), s.cmp("!=", s.bits(x, kind), s.bits(y, kind)))
        odd = s.and_(s.cmp("==", result, zero), s.or_(unlike, s.or_(odd_x, odd_y)))
        return s.bits(s.select(odd, s.const(*_MIXED[r.dtype]), s.bits(result, kind)), r.dtype)

    def _is_mixed(self, x: Scalar) -> Scalar:
        kind, bits = _MIXED[x.dtype]
        return self.s.cmp("==", self.s.bits(x, kind), self.s.const(kind, bits))

    def element(self, r: Reduction, x: Scalar) -> Scalar:
        """An element as something to combine: the one NaN that means something else becomes another."""
        if r.op in NO_IDENTITY and r.dtype in FLOATS:
            return self.s.select(self._is_mixed(x), self.s.const(r.dtype, math.nan), x)
        return x

    def result(self, r: Reduction, x: Scalar, final: ir.Value) -> Scalar:
        """What is stored: where it is ``final`` a zero of unknown sign is +0, which is noted."""
        if r.op not in NO_IDENTITY or r.dtype not in FLOATS:
            return x
        odd = self.s.and_(self._is_mixed(x), Scalar("?", final))
        self.notes.add(self.s.ir.select(odd.raw, i32(reports.MIXED_ZEROS), i32(0)))
        return self.s.select(odd, self.s.const(r.dtype, 0), x)

    def chosen(self, where: ir.Value, x: Scalar, y: Scalar) -> Scalar:
        return self.s.select(Scalar("?", where), x, y)

    def starts(self) -> list[Scalar]:
        return [self.s.const(r.dtype, neutral(r)) for r in self.reductions]

    def variables(self) -> list[Var]:
        kinds = [register_types(r.dtype)[0] for r in self.reductions]
        return [self.code.var(kind, x.raw) for kind, x in zip(kinds, self.starts())]

    def values(self, variables: list[Var]) -> list[Scalar]:
        return [Scalar(r.dtype, v.get()) for r, v in zip(self.reductions, variables)]

    def set(self, variables: list[Var], values: list[Scalar]) -> None:
        for variable, value in zip(variables, values):
            variable.set(value.raw)

    def shuffled(self, x: Scalar, lane: ir.Value, how: str) -> Scalar:
        return replace(x, raw=self.code.shuffled(x.raw, lane, how))

    def finish(self, values: list[Scalar], at: ir.Value, begins: ir.Value, here: ir.Value) -> None:
        """Stores results number ``at`` where ``here`` holds, combined with the starts if ``begins``."""
        code, b = self.code, self.code.b
        with b.if_then(here):
            for k, (r, x) in enumerate(zip(self.reductions, values)):
                start = scalar_argument(self.s, code, f"start{k}", r.dtype)
                result = self.chosen(begins, self.combined(r, start, x, begins), x)
                result = self.result(r, result, begins)
                self.s.store(result, flat_address(code, code.arg[f"dest{k}"], r.dtype, at))
        self.notes.finish()
        b.ret_void()


def _ahead(body: Body) -> int:
    """Elements that a thread reads before it computes: fewer where there is much to remember of each."""
    return 1 if body.heavy else _AHEAD // 2 if body.checked else _AHEAD


class _Elements:
    """The operands of the reductions at some numbers; all are read before anything else is done."""

    def __init__(self, reducing: _Reducing, body: Body, access: Flat | Strided) -> None:
        self.reducing, self.body, self.access = reducing, body, access
        self.fixed = body.fixed(reducing.code)

    def __call__(self, numbers: list[ir.Value]) -> list[list[Scalar]]:
        code, body = self.reducing.code, self.body
        places = [self.access.addresses(code, at) for at in numbers]
        loaded = [{o.index: body.load(code, o, where[o.name]) for o in body.inputs} for where in places]
        found = []
        for where, read, at in zip(places, loaded, numbers):
            values = body.compute(code, read, self.fixed, at, self.reducing.notes)
            for o in body.outputs:
                body.store(code, where[o.name], values[o.index])
            found.append([self.reducing.element(r, values[r.arg]) for r in self.reducing.reductions])
        return found


def _params_of_results(reductions: list[Reduction]) -> list[Param]:
    found = [Param(f"dest{k}", "ptr") for k in range(len(reductions))]
    return found + [Param(f"start{k}", r.dtype) for k, r in enumerate(reductions)]


# -- trees ------------------------------------------------------------------------------------------

class _Tree(_Reducing):
    """``2**bits`` lanes make a leaf, by ``leaf(row, number)``."""

    def __init__(self, code: Code, reductions: list[Reduction], checked: bool, bits: int) -> None:
        super().__init__(code, reductions, checked)
        self.bits = bits
        b = code.b
        self.levels, self.each = code.arg["levels"], code.arg["each"]
        self.thread, _ = code.thread()
        self.lane = b.and_(self.thread, i32(31))
        self.first = b.shl(b.lshr(self.thread, i32(bits)), self.each)     # leaf of this group
        self.row = b.lshr(self.first, self.levels)
        self.inside = b.icmp_unsigned("<", self.row, code.arg["rows"])

    def run(self, leaf: Callable[[ir.Value], list[Scalar]]) -> None:
        """``leaf(i)``: the values of the group's leaf number ``i``."""
        code, b = self.code, self.code.b
        waiting = [self.variables() for _ in range(MOST_EACH)]
        total, i = self.variables(), code.var(I32, i32(0))
        count = b.shl(i32(1), self.each)
        with code.loop(lambda: b.icmp_unsigned("<", i.get(), count), "leaves"):
            number = i.get()
            now = leaf(number)
            carried: ir.Value = ir.Constant(ir.IntType(1), 1)
            for level in range(MOST_EACH):
                whole = b.icmp_unsigned("!=", b.and_(number, i32(1 << level)), i32(0))
                joins, waits = b.and_(carried, whole), b.and_(carried, b.not_(whole))
                before = self.values(waiting[level])
                self.set(waiting[level], [self.chosen(waits, x, y) for x, y in zip(now, before)])
                now = [self.chosen(joins, self.combined(r, y, x, joins), x)
                       for r, x, y in zip(self.reductions, now, before)]
                carried = joins
            self.set(total, now)
            i.set(b.add(number, i32(1)))
        values = self.values(total)
        done = self.each
        for bit in range(self.bits, 5):
            more = b.icmp_unsigned("<", done, self.levels)
            values = [self.chosen(more, self.combined(r, x, self.shuffled(x, i32(1 << bit), "bfly"), more), x)
                      for r, x in zip(self.reductions, values)]
            done = b.select(more, b.add(done, i32(1)), done)
        lanes = b.shl(i32(1 << self.bits), b.sub(done, self.each))        # that share a value
        leads = b.icmp_unsigned("==", b.and_(self.lane, b.sub(lanes, i32(1))), i32(0))
        self.finish(values, b.lshr(self.first, done), b.icmp_unsigned("!=", code.arg["begins"], i32(0)),
                    b.and_(leads, self.inside))


class _Rows(_Tree):
    """The leaves of rows of elements."""

    def __init__(self, code: Code, body: Body, access: Flat | Strided) -> None:
        super().__init__(code, body.kernel.reductions, body.checked, 3)
        self.elements, self.ahead = _Elements(self, body, access), _ahead(body)
        b = code.b
        self.member = b.and_(self.thread, i32(7))
        self.begin = b.mul(self.row, code.arg["length"])
        rest = b.sub(code.arg["total"], self.begin)
        length = b.select(b.icmp_unsigned("<", rest, code.arg["length"]), rest, code.arg["length"])
        self.off, self.size = code.var(I32, i32(0)), code.var(I32, b.select(self.inside, length, i32(0)))
        number = b.and_(self.first, b.sub(b.shl(i32(1), self.levels), i32(1)))
        self._descend(self.off, self.size, number, self.levels, self.each)
        self.top = self.off.get(), self.size.get()
        # Whether a row may have elements that no running sum takes: the same for all threads.
        odd = b.or_(code.arg["length"], code.arg["total"])
        self.ragged = b.icmp_unsigned("!=", b.and_(odd, i32(7)), i32(0))

    def _descend(self, off: Var, size: Var, number: ir.Value, level: ir.Value, until: ir.Value) -> None:
        """From a node to one below it, by the bits of ``number``; without a leaf there the size is 0."""
        code, b = self.code, self.code.b
        at = code.var(I32, level)
        with code.loop(lambda: b.icmp_unsigned(">", at.get(), until), "down"):
            below = b.sub(at.get(), i32(1))
            second = b.icmp_unsigned("!=", b.and_(b.lshr(number, below), i32(1)), i32(0))
            whole, splits = size.get(), b.icmp_unsigned(">", size.get(), i32(128))
            half = b.and_(b.lshr(whole, i32(1)), i32(-8))
            half = b.select(splits, half, whole)
            off.set(b.add(off.get(), b.select(second, half, i32(0))))
            size.set(b.select(second, b.sub(whole, half), half))
            at.set(below)

    def leaf(self, number: ir.Value) -> list[Scalar]:
        code, b = self.code, self.code.b
        off, size = code.var(I32, self.top[0]), code.var(I32, self.top[1])
        self._descend(off, size, number, self.each, i32(0))
        start, count = b.add(self.begin, off.get()), size.get()
        sums = self.variables()

        def add(numbers: list[ir.Value]) -> None:
            for elements in self.elements(numbers):
                self.set(sums, [self.combined(r, x, y)
                                for r, x, y in zip(self.reductions, self.values(sums), elements)])

        even = b.and_(count, i32(-8))
        code.strided_loops(b.add(start, self.member), b.add(start, even), i32(8),
                           self.ahead, add, "sums")
        values = self.values(sums)
        for bit in range(3):
            values = [self.combined(r, x, self.shuffled(x, i32(1 << bit), "bfly"))
                      for r, x in zip(self.reductions, values)]
        self.set(sums, values)
        with b.if_then(self.ragged):
            self._left_over(sums, b.add(start, even), b.sub(count, even))
        return self.values(sums)

    def _left_over(self, sums: list[Var], start: ir.Value, count: ir.Value) -> None:
        """Elements behind the running sums: lane k reads the k-th, and all lanes add them in turn."""
        b = self.code.b
        mine = self.variables()
        with b.if_then(b.icmp_unsigned("<", self.member, count)):
            self.set(mine, self.elements([b.add(start, self.member)])[0])
        group = b.and_(self.lane, i32(24))
        for k in range(7):
            there = b.icmp_unsigned("<", i32(k), count)
            values = []
            for r, x, own in zip(self.reductions, self.values(sums), self.values(mine)):
                other = self.shuffled(own, b.or_(group, i32(k)), "idx")
                values.append(self.chosen(there, self.combined(r, x, other, there), x))
            self.set(sums, values)


class _Combine(_Tree):
    """The leaves are numbers in memory, one a lane."""

    def __init__(self, code: Code, reductions: list[Reduction], checked: bool) -> None:
        super().__init__(code, reductions, checked, 0)
        self.count = code.b.shl(code.arg["rows"], self.levels)

    def leaf(self, number: ir.Value) -> list[Scalar]:
        code, b = self.code, self.code.b
        at = b.add(self.first, number)
        found = self.variables()
        with b.if_then(b.icmp_unsigned("<", at, self.count)):
            self.set(found, [self.s.load(r.dtype, flat_address(code, code.arg[f"src{k}"], r.dtype, at))
                             for k, r in enumerate(self.reductions)])
        return self.values(found)


def emit_tree(module: ir.Module, symbol: str, body: Body, access: Flat | Strided) -> tuple[Param, ...]:
    """Sums of rows, or parts of them."""
    if any(in_order(r) for r in body.kernel.reductions):
        raise Unsupported("a product of floats is one chain of multiplications, in NumPy's order")
    code = Code(module, symbol, [*body.params(), *access.params(), *_params_of_results(body.kernel.reductions),
                                 *params_of_rows(), Param("flags", "ptr")], roomy=True)
    tree = _Rows(code, body, access)
    tree.run(tree.leaf)
    return code.params


def emit_combine(module: ir.Module, symbol: str, reductions: list[Reduction], checked: bool) -> tuple[Param, ...]:
    """Trees over numbers in memory."""
    names = [Param(f"src{k}", "ptr") for k in range(len(reductions))]
    code = Code(module, symbol, [*names, *_params_of_results(reductions),
                                 *(p for p in params_of_rows() if p.name not in ("length", "total")),
                                 Param("flags", "ptr")], roomy=True)
    tree = _Combine(code, reductions, checked)
    tree.run(tree.leaf)
    return code.params


# -- one by one -------------------------------------------------------------------------------------

class _Fold(_Reducing):
    def run(self, elements: Callable[[list[ir.Value]], list[list[Scalar]]], ahead: int) -> None:
        code, b = self.code, self.code.b
        r0, k0, r1, k1 = (code.arg[name] for name in ("R0", "K0", "R1", "K1"))
        thread, _ = code.thread()
        here = b.icmp_unsigned("<", thread, b.mul(k0, k1))
        sums = self.variables()
        for k, (r, variable) in enumerate(zip(self.reductions, sums)):
            variable.set(scalar_argument(self.s, code, f"start{k}", r.dtype).raw)

        def add(numbers: list[ir.Value]) -> None:
            for found in elements(numbers):
                self.set(sums, [self.combined(r, x, y)
                                for r, x, y in zip(self.reductions, self.values(sums), found)])

        outer = code.var(I32, i32(0))
        with b.if_then(here):
            major, minor = b.udiv(thread, k1), b.urem(thread, k1)
            with code.loop(lambda: b.icmp_unsigned("<", outer.get(), r0), "outer"):
                base = b.add(b.mul(b.add(b.mul(outer.get(), k0), major), b.mul(r1, k1)), minor)
                code.strided_loops(base, b.add(base, b.mul(r1, k1)), k1, ahead, add, "inner")
                outer.set(b.add(outer.get(), i32(1)))
            for k, (r, x) in enumerate(zip(self.reductions, self.values(sums))):
                x = self.result(r, x, here)
                self.s.store(x, flat_address(code, code.arg[f"dest{k}"], r.dtype, thread))
        self.notes.finish()
        b.ret_void()


_AXES = [Param(name, "i32") for name in ("R0", "K0", "R1", "K1")]


def emit_fold(module: ir.Module, symbol: str, body: Body, access: Flat | Strided) -> tuple[Param, ...]:
    """Results to which elements are added one by one."""
    code = Code(module, symbol, [*body.params(), *access.params(), *_params_of_results(body.kernel.reductions), *_AXES,
                                 Param("flags", "ptr")], roomy=True)
    fold = _Fold(code, body.kernel.reductions, body.checked)
    fold.run(_Elements(fold, body, access), _ahead(body))
    return code.params


def emit_gather(module: ir.Module, symbol: str, reductions: list[Reduction], checked: bool) -> tuple[Param, ...]:
    """The same for numbers in memory, the sums of rows."""
    names = [Param(f"src{k}", "ptr") for k in range(len(reductions))]
    code = Code(module, symbol, [*names, *_params_of_results(reductions), *_AXES, Param("flags", "ptr")],
                roomy=True)
    fold = _Fold(code, reductions, checked)

    def elements(numbers: list[ir.Value]) -> list[list[Scalar]]:
        return [[fold.s.load(r.dtype, flat_address(code, code.arg[f"src{k}"], r.dtype, at))
                 for k, r in enumerate(reductions)] for at in numbers]

    fold.run(elements, max(1, _AHEAD // len(reductions)))
    return code.params
