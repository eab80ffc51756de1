"""try, except, else, finally and raise: the same exceptions at the same places, and the normal path native."""
from __future__ import annotations

import sys

import numpy as np
import pytest

import jitcore

from .compare import check, fresh_copy, observe, same

X = np.arange(1.0, 9.0)


class Odd(ValueError):
    pass


class Picky(Exception):
    def __init__(self, what):
        super().__init__(f"picky about {what}")
        self.what = what


def guarded(x, n):
    try:
        y = x * 2.0 + n
    except ValueError:
        y = None
    else:
        n += 1
    return y, n


def finally_returns(x, n):
    y = x
    try:
        y = x * 2.0
        if n > 2:
            return y + n
    finally:
        n += 1
    return y - n


def finally_overrides(x, n):
    for i in range(10):
        try:
            if i == n:
                return x * i
        finally:
            if i == 5:
                break       # noqa: B012
    return x - n


def finally_continues(x, n):
    t = 0.0
    for i in range(n):
        try:
            if i % 3 == 0:
                continue
            t += x[i % 8]
        finally:
            t += 0.25
    return t


def caught_in_loop(x, n):
    t, bad = 0.0, 0
    for i in range(n):
        try:
            t += x[i]
        except IndexError:
            bad += 1
    return t, bad


def caught_around_loop(x, n):
    t, i = 0.0, -1
    try:
        for i in range(n):
            t += x[i]
    except IndexError as error:
        return t, i, error.args
    else:
        t += 100.0
    finally:
        i += 1000
    return t, i


def zero_division(x, n):
    t, k = 0.0, 0
    for i in range(n):
        try:
            t += 1.0 / (i - 5)
        except ZeroDivisionError as error:
            k += 1
            print(i, error)
        finally:
            k += 2
        if i == 12:
            break
    else:
        k += 100
    return t, k


def nested(x, n):
    t = 0.0
    for i in range(n):
        try:
            try:
                t += x[i]
            except KeyError:
                t = -1.0
            finally:
                t += 0.5
        except LookupError:
            t += 0.125
    return t


def stores_halfway(x, n):
    y = np.zeros(8)
    try:
        for i in range(n):
            y[i] = x[i] * 2.0
    except IndexError:
        y[0] = -1.0
    return y


def stores_into_argument(x, n):
    for i in range(n):
        x[i] = x[i] * 2.0 + i
    return x


def positive(x, n):
    if n < 0:
        raise ValueError(f"negative {n}, {n:.2f}, {x.shape}")
    return x * n


def helper_raises(x, n):
    return positive(x, n) + 1.0


def helper_caught(x, n):
    try:
        return positive(x, n) + 1.0
    except ValueError:
        return x + 1.0


def helper_caught_and_seen(x, n):
    try:
        return positive(x, n) + 1.0
    except ValueError as error:
        return x + 1.0, error.args, str(error)


def helper_catches(x, n):
    return _catching(x, n) * 2.0


def _catching(x, n):
    try:
        if n < 0:
            raise Odd(n)
        y = x * n
    except (TypeError, ValueError):
        y = x + 1.0
    return y


def reraised(x, n):
    try:
        return positive(x, n) + 1.0
    except ValueError as error:
        raise KeyError("outer", n) from error


def context(x, n):
    try:
        return positive(x, n) + 1.0
    except ValueError:
        raise KeyError("outer", n)      # noqa: B904


def without_context(x, n):
    try:
        return positive(x, n) + 1.0
    except ValueError:
        raise KeyError("outer", n) from None


def bare(x, n):
    try:
        return positive(x, n) + 1.0
    except ValueError:
        n += 1
        raise


def wrong_handler(x, n):
    try:
        return positive(x, n) + 1.0
    except KeyError:
        return x
    finally:
        n += 1


def through_handlers(x, n):
    try:
        try:
            if n < 0:
                raise KeyError(n)
            y = x * n
        except IndexError:
            y = x
        finally:
            n -= 1
    except LookupError:
        y = x - n
    return y, n


def raised_in_handler_and_caught(x, n):
    try:
        try:
            if n < 0:
                raise KeyError(n)
            y = x * n
        except KeyError:
            raise Odd("inner")      # noqa: B904
    except Odd:
        y = x - n
    return y


def own_class(x, n):
    try:
        if n < 0:
            raise Picky(n)
        return x * n
    except Picky as error:
        return x + error.what


def asserted(x, n):
    assert n > 0
    assert n < 100, f"large {n}"
    return x * n


def raise_in_loop(x, n):
    t = 0.0
    for i in range(n):
        if x[i % 8] > n - 3:
            raise Odd(f"{i}: {t}")
        t += x[i % 8]
    return t


def raise_caught_in_loop(x, n):
    t, bad = 0.0, 0
    for i in range(n):
        try:
            if x[i % 8] > 5.0:
                raise Odd("large")
            t += x[i % 8]
        except ValueError:
            bad += 1
    return t, bad


def handled_exception_is_seen(x, n):
    try:
        if n < 0:
            raise Odd(n)
    except Odd:
        return x * 2.0, sys.exc_info()[0], sys.exc_info()[1].args
    return x * 2.0, sys.exc_info()


def absent_attribute(x, n):
    try:
        scale = x.scale
    except AttributeError:
        scale = 3.0
    return x * scale + n


def absent_key(x, n):
    table = {"a": 1.0}
    try:
        scale = table["b"]
    except KeyError:
        scale = 3.0
    return x * scale + n


def wrong_number(x, n):
    try:
        a, b = x.shape
    except ValueError:
        a, b = n, 1
    return x * a + b


def no_sequence(x, n):
    try:
        parts = tuple(n)
    except TypeError:
        parts = (n,)
    return x * parts[0]


def unbound_caught(x, n):
    try:
        z  # noqa: B018, F821
        y = None
    except UnboundLocalError:
        y = x + n
    z = y
    return z


def undefined_caught(x, n):
    try:
        return this_name_does_not_exist, x
    except NameError:
        return x * n


def unbound(x, n):
    if n > 0:
        z = x * 2.0
    y = x + 1.0
    return y + z


def deleted(x, n):
    z = x * 2.0
    if n < 0:
        del z
    return z + n


def group(x, n):
    try:
        y = x * n
        if n < 0:
            raise ExceptionGroup("several", [ValueError(1), KeyError(2)])
    except* ValueError as errors:
        y = len(errors.exceptions)
    return y


def no_result(x, n):
    for i in range(3):
        try:
            if i == n:
                raise StopIteration
        except StopIteration:
            return x * i
    return x


#: Function, arguments for which all of it is native, arguments for which it is not asked.
CASES = [
    (guarded, [2], []), (finally_returns, [1, 2, 3, 4], []), (finally_overrides, [2, 7], []),
    (finally_continues, [0, 3, 100], []), (caught_in_loop, [0, 8], [9, 30]), (caught_around_loop, [0, 8], [9]),
    (zero_division, [1, 5], [6, 30]), (nested, [8], [9, 12]), (stores_halfway, [8], [9]),
    (stores_into_argument, [8], [9]), (helper_raises, [2], [-2]), (helper_caught, [2, -2], []),
    (helper_caught_and_seen, [2], [-2]), (helper_catches, [2, -2], []), (reraised, [2], [-2]), (context, [2], [-2]),
    (without_context, [2], [-2]), (bare, [2], [-2]), (wrong_handler, [2], [-2]), (through_handlers, [2, -2], []),
    (raised_in_handler_and_caught, [2, -2], []), (own_class, [2], [-2]), (asserted, [2], [-2, 200]),
    (raise_in_loop, [100], [3, 8]), (raise_caught_in_loop, [0, 5, 100], []), (handled_exception_is_seen, [], [2, -2]),
    (absent_attribute, [2], []), (absent_key, [2], []), (wrong_number, [2], []), (no_sequence, [2], []),
    (unbound_caught, [2], []), (undefined_caught, [2], []), (unbound, [2], [-2]), (deleted, [2], [-2]),
    (group, [2], [-2]), (no_result, [1], [5]),
]


@pytest.mark.parametrize("func, native, others", CASES, ids=[case[0].__name__ for case in CASES])
def test_exceptions(func, native, others):
    for n in native:
        check(func, lambda n=n: (X.copy(), n))
    for n in others:
        check(func, lambda n=n: (X.copy(), n), native=None)


@pytest.mark.parametrize("func, native, others", CASES, ids=[case[0].__name__ for case in CASES])
def test_one_function_with_all_of_them(func, native, others):
    """Regions made for one case serve the others."""
    plain, fast = fresh_copy(func), jitcore.accelerate(fresh_copy(func))
    for n in [*native, *others] * 3:
        a, b = X.copy(), X.copy()
        first, second = observe(plain, (a, n), {}), observe(fast, (b, n), {})
        assert first.kind == second.kind and first.printed == second.printed, (n, first, second)
        same(first.value, second.value, where=f"{func.__name__}({n})")
        same(a, b)


def test_a_class_that_changes():
    class Changing(ValueError):
        pass

    made = []

    def f(x, n):
        try:
            if n < 0:
                raise Changing(n)
            return x * n
        except Changing:
            return x + 1.0

    fast = jitcore.accelerate(f)
    for _ in range(3):
        same(fast(X, -1), X + 1.0)
    assert jitcore.stats(fast).native_calls == 3
    Changing.__init__ = lambda self, n: made.append(n)
    for _ in range(3):
        same(fast(X, -1), X + 1.0)
    assert made == [-1, -1, -1]


def test_handlers_leave_no_exception_behind():
    def f(x, n):
        try:
            if n < 0:
                raise Odd(n)
        except Odd:
            n = 1
        return x * n, n

    fast = jitcore.accelerate(f)
    try:
        raise KeyError("outside")
    except KeyError:
        for _ in range(3):
            same(fast(X, -1)[0], X * 1)
            assert isinstance(sys.exc_info()[1], KeyError)
    assert sys.exc_info()[1] is None


def test_only_a_handler_that_raises_again():
    """A trace in which nothing but a certain exception is left ends, and so does the call."""
    def func(a, n):
        s = 0
        try:
            s = 2 % s
        except IndexError:
            s = 1
        finally:
            a[0] += 1
        return s

    check(func, lambda: (np.zeros(3), 2), native=None)
