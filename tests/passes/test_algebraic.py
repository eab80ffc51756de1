"""Every algebraic rule: where it fires, the near miss where it does not, and that it is exact to the bit."""
import numpy as np
import pytest

from jitcore.ir.interp import run
from jitcore.ir.types import dtype_name
from jitcore.ops.table import OPS
from jitcore.passes import algebraic

from .texts import expect, graph_of, unchanged

#: rule -> cases in which it fires.  ``x`` and ``y`` are arrays of the first dtype, ``k`` is the constant.
FIRES = {
    "neutral_float": [
        ("multiply dd->d x k", 1.0), ("multiply ff->f k x", 1.0), ("divide ee->e x k", 1.0),
        ("subtract dd->d x k", 0.0),
        ("add dd->d x k", -0.0), ("add ff->f k x", -0.0)],
    "neutral_int": [
        ("add ll->l x k", 0), ("add BB->B k x", 0), ("subtract hh->h x k", 0), ("multiply LL->L k x", 1),
        ("floor_divide ii->i x k", 1), ("power ll->l x k", 1), ("bitwise_or bb->b x k", 0),
        ("bitwise_xor ll->l k x", 0),
        ("left_shift ll->l x k", 0), ("right_shift BB->B x k", 0)],
    "and_all_ones": [("bitwise_and ll->l x k", -1), ("bitwise_and BB->B k x", 255),
                     ("bitwise_and LL->L x k", 2**64 - 1)],
    "neutral_bool": [
        ("logical_and ??->? x k", True), ("logical_or ??->? k x", False), ("multiply ??->? x k", True),
        ("add ??->? x k", False), ("bitwise_and ??->? x k", True), ("bitwise_or ??->? x k", False),
        ("bitwise_xor ??->? x k", False), ("logical_xor ??->? k x", False)],
    "twice_is_none": [("negative d->d (negative d->d x)", None), ("negative b->b (negative b->b x)", None),
                      ("negative L->L (negative L->L x)", None), ("conjugate D->D (conjugate D->D x)", None),
                      ("negative F->F (negative F->F x)", None)],
    "not_not": [("invert l->l (invert l->l x)", None), ("invert ?->? (invert ?->? x)", None),
                ("logical_not ?->? (logical_not ?->? x)", None)],
    "twice_is_once": [("absolute d->d (absolute d->d x)", None), ("absolute b->b (absolute b->b x)", None),
                      ("floor d->d (ceil d->d x)", None), ("rint f->f (trunc f->f x)", None),
                      ("fabs d->d (fabs d->d x)", None), ("ceil e->e (rint e->e x)", None)],
    "absolute_of_negative": [("absolute d->d (negative d->d x)", None), ("absolute b->b (negative b->b x)", None)],
    "positive": [("positive d->d x", None), ("positive l->l x", None)],
    "power_two": [("power dd->d x k", 2.0), ("power ff->f x k", 2.0), ("power ee->e x k", 2.0), ("power ll->l x k", 2),
                  ("power BB->B x k", 2)],
    "divide_by_power_of_two": [("divide dd->d x k", 2.0), ("divide dd->d x k", -0.125), ("divide ff->f x k", 1024.0),
                               ("divide dd->d x k", 2.0**-1000), ("divide dd->d x k", 2.0**1022)],
    "where_decided": [("where ?dd->d b x x", None), ("where ?dd->d k x y", True), ("where ?dd->d k y x", False)],
    "of_itself": [("maximum dd->d x x", None), ("minimum ll->l x x", None), ("fmax ff->f x x", None),
                  ("fmin ??->? x x", None)],
    "with_itself": [("bitwise_and ll->l x x", None), ("bitwise_or ??->? x x", None)],
    "cast_to_same": [("cast d d x", None), ("cast f f (cast f d x)", None), ("cast b b (cast b l x)", None),
                     ("cast F F (cast F D x)", None)],
}
#: rule -> near misses.
MISSES = {
    "neutral_float": [
        ("add dd->d x k", 0.0),                     # -0.0 + 0.0 is 0.0
        ("subtract dd->d x k", -0.0), ("subtract dd->d k x", 0.0), ("multiply dd->d x k", 0.0),
        ("multiply dd->d x k", -1.0), ("divide dd->d k x", 1.0), ("multiply DD->D x k", 1.0)],
    "neutral_int": [
        ("subtract ll->l k x", 0), ("multiply ll->l x k", 0), ("floor_divide ll->l k x", 1), ("power ll->l k x", 1),
        ("left_shift ll->l k x", 0), ("add ll->l x k", 1), ("divide ll->d x k", 1)],
    "and_all_ones": [("bitwise_and ll->l x k", 255), ("bitwise_and BB->B x k", 127), ("bitwise_or ll->l x k", -1)],
    "neutral_bool": [("logical_and ??->? x k", False), ("logical_or ??->? x k", True), ("logical_xor ??->? x k", True),
                     ("logical_and dd->? x k", 1.0), ("subtract dd->d k x", 0.0)],
    "twice_is_none": [("negative d->d (absolute d->d x)", None), ("reciprocal d->d (reciprocal d->d x)", None)],
    "not_not": [("logical_not ?->? (logical_not d->? x)", None), ("invert l->l (negative l->l x)", None)],
    "twice_is_once": [("floor d->d (absolute d->d x)", None), ("absolute d->d (fabs d->d x)", None),
                      ("absolute D->d x", None), ("negative d->d (floor d->d x)", None)],
    "absolute_of_negative": [("absolute D->d (negative D->D x)", None), ("square d->d (negative d->d x)", None)],
    "positive": [("negative d->d x", None)],
    "power_two": [("power dd->d x k", 3.0), ("power dd->d x y", None), ("power DD->D x k", 2.0),
                  ("power dd->d k x", 2.0)],
    "divide_by_power_of_two": [
        ("divide dd->d x k", 3.0), ("divide dd->d k x", 2.0), ("divide ee->e x k", 2.0), ("divide dd->d x k", 0.0),
        ("divide dd->d x k", 2.0**1023),            # the reciprocal is subnormal
        ("divide dd->d x k", np.inf), ("divide dd->d x k", np.nan), ("divide dd->d x k", 2.0**-1030),
        ("divide ff->f x k", 2.0**127), ("divide DD->D x k", 2.0)],
    "where_decided": [("where ?dd->d b x y", None)],
    "of_itself": [("maximum dd->d x y", None), ("add dd->d x x", None)],
    "with_itself": [("bitwise_xor ll->l x x", None), ("bitwise_and ll->l x y", None)],
    "cast_to_same": [("cast d f x", None), ("cast d d (cast d f x)", None), ("cast l l (cast l d x)", None),
                     ("cast f D x", None), ("cast f l (cast f d x)", None)],
}


class Lines:
    """Writes an expression such as ``add dd->d (negative d->d x) k`` as nodes over one-axis arrays."""

    def __init__(self, text: str, constant: object, result_seen: bool = False) -> None:
        self.words = text.replace("(", " ( ").replace(")", " ) ").split()
        self.constant, self.lines, self.next = constant, [], 10
        self.dtype = ""
        self.result = self.expression()

    def value(self, char: str) -> str:
        word = self.words[0]
        if word == "(":
            self.words.pop(0)
            result = self.expression()
            assert self.words.pop(0) == ")"
            return result
        self.words.pop(0)
        if word != "k":
            if word in "xy":
                self.dtype = char
            return {"x": "%0", "y": "%1", "b": "%2"}[word]
        kind = np.dtype(char).type(self.constant)
        name = "bool_" if char == "?" else dtype_name(np.dtype(char))
        number = f"({kind.real!s}, {kind.imag!s})" if char in "FD" else str(kind)
        self.lines.append(f"  %{self.next}: {name} = const {number if number[-1] != '.' else number + '0'}")
        self.next += 1
        return f"%{self.next - 1}"

    def expression(self) -> str:
        op, sig = self.words.pop(0), self.words.pop(0)
        if op == "cast":
            source, target = sig, self.words.pop(0)
            operands, text = [self.value(source)], f"cast.{target}"
            if operands[0] == "%0" and source != target:
                self.dtype = source
        else:
            inputs, target = sig.split("->")
            operands, text = [self.value(char) for char in inputs], f"ew.{op}.{sig}"
        self.lines.append(f"  %{self.next}: {dtype_name(np.dtype(target))}[1C] (%3) = {text} {', '.join(operands)} !0")
        self.next += 1
        return f"%{self.next - 1}"


def body(text: str, constant: object) -> str:
    """The expression, used once inside so that its value is never seen itself."""
    expression = Lines(text, constant)
    dtype = dtype_name(np.dtype(expression.dtype))
    last = expression.lines[-1].split(":")[1].split("[")[0].strip()
    char = np.dtype(last).char
    use, sig, other = "square", f"{char}->{char}", ""
    if char in "FD":
        use = "conjugate"
    elif char == "?":
        use, sig, other = "logical_xor", "??->?", ", %2"
    return (f"input %0: {dtype}[1C] (%3)\ninput %1: {dtype}[1C] (%3)\ninput %2: bool[1C] (%3)\nb0:\n"
            f"  %3: int = dim %0 {{axis=0}}\n" + "\n".join(expression.lines) +
            f"\n  %50: {last}[1C] (%3) = ew.{use}.{sig} {expression.result}{other}\n  exit 1\n"
            "exit 1: return values(%50) result=v0\n")


def cases(table):
    return [pytest.param(name, *case, id=f"{name}: {case[0]} {case[1]}") for name, rows in table.items()
            for case in rows]


def only(name, monkeypatch):
    """Leave one rule in force."""
    table = {op: [rule for rule in rules if rule.name == name] for op, rules in algebraic._BY_OP.items()}
    monkeypatch.setattr(algebraic, "_BY_OP", table)


def test_every_rule_has_cases():
    names = {rule.name for rule in algebraic.RULES}
    assert names == FIRES.keys() == MISSES.keys()


@pytest.mark.parametrize("name, text, constant", cases(FIRES))
def test_fires_and_is_exact(name, text, constant, monkeypatch):
    only(name, monkeypatch)
    before, graph = graph_of(body(text, constant)), graph_of(body(text, constant))
    assert algebraic.run(graph) >= 1
    inputs = [*samples(graph.inputs[0].type.dtype), np.resize([True, False, False], 4096)]
    # The use of the result would hide payloads: look at the rewritten value itself.
    seen = [values_of(g, inputs) for g in (before, graph)]
    assert seen[0].dtype == seen[1].dtype and seen[0].tobytes() == seen[1].tobytes()


@pytest.mark.parametrize("name, text, constant", cases(MISSES))
def test_near_miss(name, text, constant, monkeypatch):
    only(name, monkeypatch)
    unchanged(body(text, constant), algebraic.run)


def values_of(graph, inputs):
    """What the last operation but one gives: the operand of the use at the end."""
    use = graph.blocks[0].nodes[-1]
    graph.exits[1].values = use.operands[:1]
    graph.blocks[0].nodes.pop()
    for node in graph.nodes():
        node.exit = None
    exit, values = run(graph, inputs, OPS)
    assert exit == 1
    return values[0]


def samples(dtype):
    """Two arrays of many bit patterns, special ones first; NaNs are quiet."""
    rng = np.random.default_rng(1)
    data = rng.integers(0, 256, (2, 4096 * dtype.itemsize), dtype=np.uint8)
    if dtype.char == "?":
        data &= 1
    x, y = data.view(dtype)
    if dtype.kind in "fc":
        real = dtype.type(0).real.dtype
        for array in (x, y):
            parts = array.view(real)
            bits = parts.view(f"u{real.itemsize}")
            bits[np.isnan(parts)] |= np.array(1 << (np.finfo(real).nmant - 1), bits.dtype)
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, -1.5, 2.5, np.finfo(real).tiny,
                   np.finfo(real).smallest_subnormal, np.finfo(real).max]
        x.view(real)[:len(special)] = special
        ordinary = rng.standard_normal(1000).astype(real)
        x.view(real)[100:1100] = ordinary
    elif dtype.kind in "iu":
        x[:4] = [0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min]
    return x, y


def whole(lines: str, values: str) -> str:
    return f"""
input %0: float64[1C] (%3)
input %1: float64[2A] (%3, %3)
b0:
  %3: int = dim %0 {{axis=0}}
  %4: float64 = const 1.0
{lines}
  exit 1
exit 1: return values({values}) result=v0
"""


def test_an_input_is_not_given_for_a_new_array():
    # ``y = x * 1`` is a new array: whoever writes into it does not write into x.
    unchanged(whole("  %5: float64[1C] (%3) = ew.multiply.dd->d %0, %4", "%5"), algebraic.run)


def test_a_value_made_here_is_given():
    expect(whole("  %5: float64[1C] (%3) = ew.exp.d->d %0\n  %6: float64[1C] (%3) = ew.multiply.dd->d %5, %4", "%6"),
           algebraic.run, whole("  %5: float64[1C] (%3) = ew.exp.d->d %0", "%5"))


def test_one_array_is_not_given_twice():
    unchanged(whole("  %5: float64[1C] (%3) = ew.exp.d->d %0\n  %6: float64[1C] (%3) = ew.multiply.dd->d %5, %4",
                    "%5, %6"), algebraic.run)
    expect(whole("  %5: float64[1C] (%3) = ew.exp.d->d %0\n  %6: float64[1C] (%3) = ew.multiply.dd->d %5, %4\n"
                 "  %7: float64[1C] (%3) = ew.divide.dd->d %5, %4", "%6, %7"), algebraic.run,
           whole("  %5: float64[1C] (%3) = ew.exp.d->d %0\n  %7: float64[1C] (%3) = ew.divide.dd->d %5, %4", "%5, %7"))


def test_order_in_memory():
    # The product is compact, its operand may be strided: a reduction over two axes sees that.
    unchanged(whole("  %5: float64[2A] (%3, %3) = ew.multiply.dd->d %1, %4\n"
                    "  %6: float64 = reduce.add.dd->d %5 {axes=None, keepdims=False} !0", "%6"), algebraic.run)


def test_stores():
    unchanged(whole("  %5: float64[1C] (%3) = ew.exp.d->d %0\n  %6: float64[1C] (%3) = ew.multiply.dd->d %5, %4\n"
                    "  %7: int = const 0\n  store %5, %4, %7", "%6"), algebraic.run)
    unchanged(whole("  %5: float64[1C] (%3) = ew.exp.d->d %0\n  %6: float64[1C] (%3) = ew.multiply.dd->d %5, %4\n"
                    "  %7: int = const 0\n  store %5, %4, %7\n  %8: float64[1C] (%3) = ew.sqrt.d->d %6", "%8"),
              algebraic.run)


def test_broadcasting_is_kept():
    # max(x, y) of one value is that value, but not where the result has more elements.
    unchanged("""
    input %0: float64[1C] (%3)
    input %1: bool[2C] (%4, %3)
    b0:
      %3: int = dim %0 {axis=0}
      %4: int = dim %1 {axis=0}
      %5: float64[2C] (%4, %3) = ew.where.?dd->d %1, %0, %0
      %6: float64[2C] (%4, %3) = ew.exp.d->d %5
      exit 1
    exit 1: return values(%6) result=v0
    """, algebraic.run)


def test_broadcast_lengths_are_kept():
    unchanged("""
    input %0: float64[2C] (%3, %4)
    input %1: bool[2C] (%5, %4)
    b0:
      %3: int = dim %0 {axis=0}
      %4: int = dim %0 {axis=1}
      %5: int = dim %1 {axis=0}
      %6: float64[2C] (%5, %4) = ew.where.?dd->d %1, %0, %0
      %7: float64[2C] (%5, %4) = ew.exp.d->d %6
      exit 1
    exit 1: return values(%7) result=v0
    """, algebraic.run)


@pytest.mark.parametrize("char", "dfe")
def test_numpy_squares_for_the_exponent_two(char):
    """The reason of ``power_two``, for every kind of inner loop that NumPy may choose, with reports."""
    x, _ = samples(np.dtype(char))
    two = np.dtype(char).type(2)
    with np.errstate(all="ignore"):
        for part in (x, x[:1], x[:2], x[:7], x[::3], x[::-2], x.reshape(64, 64).T[::2, 1::3], x[:0]):
            assert np.power(part, two).tobytes() == np.square(part).tobytes()
        for number in x[:2000]:
            assert np.power(number, two).tobytes() == np.square(number).tobytes()
    for number in (np.finfo(char).max, np.inf, np.nan, np.finfo(char).tiny):
        reports = []
        for function in (lambda v: np.power(v, two), np.square):
            found = []
            with np.errstate(all="call", call=lambda kind, flag, found=found: found.append(kind)):
                function(np.full(5, number, dtype=char))
            reports.append([kind for kind in found if kind != "underflow"])
        assert reports[0] == reports[1]
