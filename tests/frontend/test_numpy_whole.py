"""NumPy's C functions that native code calls whole: results, lengths that elements decide, what is changed in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitcore.frontend import numpy_calls, numpy_whole
from jitcore.frontend.protocol import Unsupported
from jitcore.frontend.values import Known, NativeMethod, Sequence

from .numpy_fake import Traced, check, ramp

assert numpy_whole      # fills the tables


def method(name: str, *more: Any, **kw: Any) -> Any:
    from jitcore.frontend import numpy_attrs

    def trace(m: Any, a: Any, *args: Any) -> Any:
        return numpy_attrs.call_method(m, NativeMethod(a, name), [*args, *map(Known, more)],
                                       {k: Known(v) for k, v in kw.items()})
    return trace


def plain(name: str, *more: Any, **kw: Any) -> Any:
    return lambda a, *args: getattr(a, name)(*args, *more, **kw)


@pytest.mark.parametrize("char", "?bBldDfe")
def test_methods(char) -> None:
    x, y, w = ramp((6,), char), ramp((3, 4), char), ramp((6, 8), char)[::2, ::-2]
    for name, args, kw in (("repeat", (2,), {}), ("searchsorted", (1,), {}), ("take", ((0, 2),), {"axis": 0}),
                           ("argpartition", (2,), {}), ("trace", (), {}), ("diagonal", (), {}), ("nonzero", (), {}),
                           ("reshape", (-1,), {"order": "F"}), ("swapaxes", (0, 1), {})):
        for a in (x, y, w):
            if a.ndim >= (2 if name in ("trace", "diagonal", "swapaxes") else 1):
                check(method(name, *args, **kw), plain(name, *args, **kw), (a,), may_refuse=True)
    assert check(method("nonzero"), plain("nonzero"), (x,), ((x[:0],), (np.zeros_like(x),))) is not None


def test_lengths_are_those_of_the_result() -> None:
    """What a sample of zeros and ones gives says nothing about lengths."""
    x = np.array([3, 0, 0, 5, 1])
    for more in ((x * 0,), (x + 1,), (x[:0],)):
        assert check(method("nonzero"), plain("nonzero"), (x,), (more,)) is not None
    bins = np.bincount._implementation

    def count(m: Any, a: Any) -> Any:
        return numpy_calls.call_known(m, bins, [a], {})
    assert check(count, np.bincount, (x,), ((x * 3,), (x[:1],))) is not None


def test_concatenate() -> None:
    def trace(m: Any, a: Any, b: Any) -> Any:
        return numpy_calls.call_known(m, np.concatenate, [Sequence("tuple", [a, b])], {"axis": Known(0)})
    for a, b in ((ramp((3,)), ramp((2,), "f")), (ramp((3, 2)), ramp((4, 2), "l")), (ramp((2, 3)).T, ramp((1, 2)))):
        assert check(trace, lambda a, b: np.concatenate((a, b), axis=0), (a, b)) is not None
    with pytest.raises(Unsupported):
        Traced(trace, (ramp((3,)), ramp((3, 2))))


def test_what_an_out_of_range_index_does_is_left_to_numpy() -> None:
    with pytest.raises(Unsupported):
        Traced(method("take", 9), (ramp((3,)),))
    with pytest.raises(Unsupported):
        Traced(method("take", 10**9), (ramp((3,)),))       # and no sample as large as that is made
    with pytest.raises(Unsupported):
        Traced(method("repeat", 10**12), (ramp((3,)),))


def test_ufuncs_on_whole_arrays() -> None:
    for ufunc, shapes in ((np.matmul, ((2, 3, 3), (3, 2))), (np.vecdot, ((4, 3), (3,))), (np.divmod, ((4,), (4,))),
                          (np.matvec, ((2, 3), (3,))), (np.vecmat, ((2,), (2, 3)))):
        def trace(m: Any, a: Any, b: Any, ufunc: Any = ufunc) -> Any:
            return numpy_calls.call_known(m, ufunc, [a, b], {})
        for char in "dlf":
            assert check(trace, ufunc, tuple(ramp(shape, char) + 1 for shape in shapes), ulps=2) is not None
