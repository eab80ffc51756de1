"""np.errstate inside functions: what is reported, what is ignored, and what the thread's own errstate is meanwhile."""
from __future__ import annotations

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, observe, same

X = np.arange(1.0, 9.0)


def divided(x, n):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = x / (x - n)
    return y + 1.0


def divided_inside_and_outside(x, n):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = x / (x - n)
    z = x / (x - n)
    return y, z


def overflow_is_not_ignored(x, n):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = (x * 1e300) / (x - n) * 1e300
    return y


def all_ignored(x, n):
    with np.errstate(all="ignore"):
        y = (x * 1e308 * n) - (x * 1e308 * n)
        z = np.sqrt(x - n) + (x * 1e-308) * 1e-10
    return y, z


def invalid_only(x, n):
    with np.errstate(invalid="ignore"):
        y = np.sqrt(x - n)
        z = x / (x - n)
    return y, z


def nested(x, n):
    with np.errstate(divide="ignore"):
        with np.errstate(invalid="ignore"):
            y = (x - n) / (x - n)
        z = x / (x - n)
        w = np.sqrt(x - n)
    return y, z, w


def helper(x, n):
    return positive_root(x, n) + x / 3.0


def positive_root(x, n):
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(x > n, np.sqrt(x - n), 0.0) / (x - n)


def scalars(x, n):
    t = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(8):
            t = t + x[i] / (x[i] - n) * 0.0
    return t


def sums(x, n):
    with np.errstate(all="ignore"):
        y = (x / (x - n)).sum(), (x * 1e308).sum()
    return y


def raised_inside(x, n):
    try:
        with np.errstate(all="ignore"):
            y = x / (x - n)
            if n > 2.0:
                raise ValueError(n)
    except ValueError:
        y = x / (x - n)
    return y


def left_inside(x, n):
    with np.errstate(all="ignore"):
        y = x / (x - n)
        print(np.geterr())
        z = y / (x - n)
    print(np.geterr())
    return y, z


def fails_inside(x, n):
    with np.errstate(all="ignore"):
        y = x / (x - n)
        return y[int(n) * 4]


def kept(x, n):
    state = np.errstate(divide="ignore")
    with state:
        y = x / (x - n)
    with state:
        y = y / (x - n)
    return y


def raises(x, n):
    with np.errstate(divide="raise"):
        return x / (x - n)


def warns(x, n):
    with np.errstate(all="warn"):
        return x / (x - n)


@np.errstate(all="ignore")
def decorated(x, n):
    return x / (x - n)


def uses_decorated(x, n):
    return decorated(x, n) + 1.0


FUNCTIONS = [divided, divided_inside_and_outside, overflow_is_not_ignored, all_ignored, invalid_only, nested, helper,
             scalars, sums, raised_inside, left_inside, fails_inside, kept, raises, warns, uses_decorated]


@pytest.mark.parametrize("func", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("outer", [None, "raise", "warn", "ignore"])
def test_errstate(func, outer):
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for n in (20.0, 2.0, 3.0, 20.0, 2.0):
        with np.errstate(**({} if outer is None else {"all": outer})):
            before = np.geterr()
            first, second = observe(plain, (X.copy(), n), {}), observe(fast, (X.copy(), n), {})
            assert np.geterr() == before
        assert first.kind == second.kind, (n, first, second)
        same(first.value, second.value, where=f"{func.__name__}({n})")
        assert first.warnings == second.warnings, (n, first.warnings, second.warnings)
        assert first.printed == second.printed


@pytest.mark.parametrize("func", [divided, all_ignored, helper, sums])
def test_ignored_reports_stay_native(func):
    """The first report compiles the variant that looks at each operation, and leaves; later ones are native."""
    fast = jitcore.accelerate(fresh_copy(func))
    with np.errstate(under="ignore"):
        for _ in range(5):
            fast(X, 2.0)
    assert jitcore.stats(fast).native_calls >= 4 and jitcore.stats(fast).site_calls == 0


@pytest.mark.parametrize("func", [divided, divided_inside_and_outside, nested, invalid_only, helper, scalars,
                                  raised_inside])
def test_native_without_sites(func):
    assert check(func, lambda: (X.copy(), -1.0)).site_calls == 0
