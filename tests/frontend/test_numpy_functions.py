"""Whole functions over NumPy's own Python code, traced and run by the graph's interpreter, against plain calls."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend.numpy_fake import same
from tests.frontend.regions import Run


def outcome(function: Callable[..., Any], *args: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(*args)
        except Exception as error:
            found = error
    return found, [str(w.message) for w in caught]


def matrix(shape=(3, 4), char="d"):
    n = int(np.prod(shape))
    return ((np.arange(n) * 7) % 11 - 4).reshape(shape).astype(char)


def mean(x):
    return x.mean(), np.mean(x, axis=0), x.mean(axis=1, keepdims=True)


def spread(x):
    return np.std(x, axis=1), x.var(ddof=1), np.var(x, axis=0, keepdims=True)


def extremes(x):
    return x.min(), np.max(x, axis=0), np.amin(x, axis=(0, 1)), np.ptp(x, axis=1), np.argmax(x), x.argmin(axis=0)


def truths(x):
    return (x > 0).any(), np.all(x > -9, axis=0), np.sum(x > 1), np.count_nonzero(x)


def products(x):
    return np.prod(x, axis=0), x.prod(), np.sum(x, axis=(0, 1)), np.sum(x, dtype=np.float32)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def stencil(x):
    inner = x[1:-1, 1:-1]
    return inner + 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * inner)


def differences(x):
    return np.diff(x), np.diff(x, axis=0), x[::-1] - x, np.diff(x[0], n=2)


def clipped(x):
    return np.clip(x, -1, 2), x.clip(0), np.clip(x, None, x.mean()), np.maximum(x, 0)


def made(x):
    own = np.zeros_like(x)
    own += x
    own *= 2
    return own, np.ones(x.shape), np.full(x.shape, 2.5), np.empty(0), np.zeros((2, x.shape[0]), dtype=x.dtype)


def reshaped(x):
    flat = x.reshape(-1)
    return flat, x.T, np.transpose(x)[None], x.ravel() + 1, np.expand_dims(x, 1), np.swapaxes(x, 0, 1), x[:, None] * x


def chosen(x):
    return np.where(x > 0, x, -x), np.where(x > 0, 1, 0).sum(), np.select([x > 1], [x], 0)


def rounded(x):
    return np.round(x / 3, 2), np.floor(x / 2), np.rint(x / 4), x // 2, x % 3, np.sign(x)


def linear(x):
    return x @ x.T, np.dot(x, x[0]), x[0] @ x[1], np.linalg.norm(x), np.outer(x[0], x[1])


def copies(x):
    y = x.copy()
    y += 1
    z = np.array(x)
    return y, z, np.asarray(x) is x, x.astype(np.float32), np.copy(x), np.ascontiguousarray(x) is x


def powers(x):
    return x**2, (x * x) ** 0.5, np.square(x), np.abs(x) ** 1.5, x**3


def scalars(x):
    total = x.sum()
    return total * 2, total / 3, -total, float(total), np.sqrt(abs(total)), total > 1, x[0, 0] + x[-1, -1], x[1, 2]


def attributes(x):
    return x.shape, x.ndim, x.size, x.dtype, x.nbytes, x.T.shape, x.real is x, len(x), x.shape[0] * 2


def ranges(x):
    n = x.shape[0]
    return (
        np.arange(n),
        np.arange(1, n),
        np.arange(n, dtype=float) / n,
        np.arange(0.0, 1.0, 0.25),
        x[0] * np.arange(x.shape[1]),
    )


def cumulated(x):
    return np.cumsum(x, axis=1), x.cumsum(), np.argsort(x, axis=0), np.array([x[0, 0], 2.0, x[1, 1]])


NATIVE = [
    mean,
    spread,
    extremes,
    truths,
    products,
    softmax,
    stencil,
    differences,
    clipped,
    made,
    reshaped,
    linear,
    copies,
    powers,
    scalars,
    attributes,
    ranges,
    cumulated,
    rounded,
]
INPUTS = {
    "float64": matrix(),
    "float32": matrix(char="f"),
    "int64": matrix(char="l"),
    "int8": matrix(char="b"),
    "F order": matrix((4, 3)).T,
    "strided": matrix((6, 8))[::2, ::2],
    "bool": matrix() > 0,
}


@pytest.mark.parametrize("function", [*NATIVE, chosen], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", INPUTS)
def test_functions(function, kind) -> None:
    x = INPUTS[kind]
    want, _ = outcome(function, x)
    traces: dict[int, list[Any]] = {}
    run = Run(function, x, traces=traces)
    got, _ = outcome(lambda: run.go())
    compare(got, want)
    if function in NATIVE and kind == "float64":
        assert run.events == ["return"], (run.events, [left.reason for t, _ in traces[0] for left in t.left])
    if x.flags.c_contiguous and kind.startswith("float"):
        others = [
            matrix((5, 6)),
            matrix((3, 3)),
            matrix((2, 2)),
            matrix((1, 4)),
            matrix((0, 4)),
            matrix((3, 0)),
            matrix() * np.nan,
            np.full((3, 4), np.inf),
            matrix() * 1e200,
        ]
        for other in others:
            with np.errstate(all="ignore"):
                other = other.astype(x.dtype)
            want, _ = outcome(function, other)
            got, _ = outcome(lambda: Run(function, other, traces=traces).go())  # noqa: B023
            compare(got, want)


def compare(got: Any, want: Any) -> None:
    if isinstance(want, Exception):
        assert type(got) is type(want) and str(got) == str(want)
        return
    assert not isinstance(got, Exception), got
    assert not (text := same(got, want, 8)), text


def test_one_trace_serves_all_lengths() -> None:
    traces: dict[int, list[Any]] = {}
    for shape in [(3, 4), (5, 6), (2, 2), (50, 3), (7, 1), (1, 1)]:
        for function in (softmax, mean):
            x = matrix(shape)
            compare(
                outcome(lambda: Run(function, x, traces=traces if function is mean else {}).go())[0],  # noqa: B023
                outcome(function, x)[0],
            )
    assert len(traces[0]) == 1
