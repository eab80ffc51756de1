"""The layout rule against NumPy: what is promised before the run holds for every shape."""
import itertools

import numpy as np
import pytest

from jitcore.ir.graph import Value
from jitcore.ir.layout import elementwise_layout
from jitcore.ir.types import INT, array

LENGTHS = (0, 1, 2, 3)


def operand(shape, layout):
    """An array of ``shape`` whose class is exactly ``layout``; ``None`` if the shape has none."""
    if layout == "C":
        return np.zeros(shape)
    if layout == "F":
        found = np.zeros(shape, order="F")
        return None if found.flags.c_contiguous else found
    found = np.zeros([2 * n for n in shape])[tuple(slice(None, None, 2) for _ in shape)]
    return None if found.flags.c_contiguous or found.flags.f_contiguous else found


@pytest.mark.parametrize("ndim, other", [(1, 1), (2, 2), (2, 1), (3, 3), (3, 2), (3, 1), (2, 0)])
def test_promises_hold(ndim, other):
    """Over all pairs of layouts, and all lengths with and without broadcasting."""
    kept = 0
    rng = np.random.default_rng(3)
    for shape in itertools.product(LENGTHS, repeat=ndim):
        lengths = {axis: Value(axis, INT) for axis in range(ndim)}
        full = tuple(lengths[axis] for axis in range(ndim))
        for broadcast in itertools.product((False, True), repeat=other):
            if ndim == 3 and other == 3 and rng.random() < 0.5:
                continue
            second = tuple(1 if b else n for b, n in zip(broadcast, shape[ndim - other:]))
            names = tuple(Value(10 + k, INT) if b else full[ndim - other + k] for k, b in enumerate(broadcast))
            for a, b in itertools.product("CFA", repeat=2):
                x, y = operand(shape, a), operand(second, b)
                if x is None or y is None:
                    continue
                values = [Value(20, array("d", ndim, a), None, full), Value(21, array("d", other, b), None, names)]
                for order in (1, -1):
                    promise = elementwise_layout(values[::order], full)
                    result = np.add(*(x, y)[::order])
                    kept += promise != "A"
                    assert promise == "A" or (promise == "C" and result.flags.c_contiguous) or (
                        promise == "F" and result.flags.f_contiguous), (shape, second, a, b, promise, result.strides)
    assert kept > 20


def test_what_is_promised():
    n, m = Value(0, INT), Value(1, INT)

    def of(layout, *shape):
        return Value(9, array("d", len(shape), layout), None, shape)

    assert elementwise_layout([of("C", n, m), of("C", m)], (n, m)) == "C"
    assert elementwise_layout([of("F", n, m), of("F", n, m)], (n, m)) == "F"
    assert elementwise_layout([of("F", n, m), of("C", n, m)], (n, m)) == "C"
    assert elementwise_layout([of("A", n, m), of("C", n, m)], (n, m)) == "C"
    assert elementwise_layout([of("F", n, m), of("C", m)], (n, m)) == "F"
    assert elementwise_layout([of("A", n)], (n,)) == "C"
    # A C operand that is broadcast leaves the order to the other one, at run time.
    assert elementwise_layout([of("F", n, m), of("C", m, m)], (n, m)) == "A"
    assert elementwise_layout([of("A", n, m)], (n, m)) == "A"
