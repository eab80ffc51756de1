"""Kinds of faults that NumPy's own tests have brought to light, each with the right value."""
from __future__ import annotations

import ctypes
import functools
import inspect
import pickle
import warnings

import numpy as np
import numpy._core._umath_tests as loops
import pytest
from numpy._core.overrides import array_function_dispatch

import jitcore
from jitcore.ops import table
from jitcore.runtime.records import find_record

from .compare import check, fresh_copy, same


def brief(x):
    return repr(x).split(" at ")[0]


def other_dtype(x, dtype):
    a = np.array(x, dtype=np.longdouble)
    b = np.array(a, dtype=dtype)
    return b * 2.0 + b


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32])
def test_array_of_what_is_not_compiled(dtype):
    """An array of a dtype that no region holds is converted by NumPy."""
    check(other_dtype, lambda: (np.arange(-4.0, 9.0), dtype), native=None)


def of_objects(value, dtype):
    return np.array(value, dtype=dtype) * 2.0, np.full((3,), value, dtype=dtype) + 1.0


@pytest.mark.parametrize("value", ["7", None, "no number", object(), b"3", np.str_("2.5"), np.datetime64(3, "D")],
                         ids=brief)
def test_array_of_an_object(value):
    check(of_objects, lambda: (value, np.float64), native=None)


def joined(a, n, k):
    b = a + [7.0] * n
    return sum(b) * 2.5 + 3.5 * k, len(b)


def test_long_lists_are_not_looked_at_item_by_item():
    """Each item with a guard of its own: compiling took minutes for some thousand of them."""
    fast = jitcore.accelerate(fresh_copy(joined))
    for n in (3, 30, 2_000):
        a = [1.5] * n
        same(joined(a, n, 2.5), fast(a, n, 2.5))
    assert jitcore.stats(fast).native_calls >= 1
    record = find_record(fast.__code__)
    assert all(len(entry.stages.trace.guards) < 600 for entry in record.entries if entry.stages is not None)


def nested(rows, k):
    total = 0.0
    for row in rows:
        a, b, c, d = row
        total += a * k + b * k - c * k + d
    return total


def test_many_objects_are_not_read_one_by_one():
    rows = tuple((float(i), 2.0, 3.0, i * 0.5) for i in range(900))
    check(nested, lambda: (rows, 1.5), native=None)


def attributes_are_there(x, n):
    y = n * 2.0 + n * n - n / 3 + n
    return (y, hasattr(x, "__name__"), hasattr(x, "mro"), hasattr(x, "__bases__"), hasattr(x, "__module__"),
            hasattr(x, "__doc__"), hasattr(x, "__signature__"), hasattr(x, "__wrapped__"), hasattr(x, "nin"),
            hasattr(x, "real"), hasattr(x, "__getitem__"), getattr(x, "__qualname__", "none"), getattr(x, "ndim", -1))


@pytest.mark.parametrize("x", [1, 2.5, 1j, True, "a", [1, 2], (1,), {"a": 1}, {1}, None, np.zeros(3), np.float64(2),
                               np.bool_(True), np.dtype("d"), np.add, np.log, np.mean, len, int, np.float64, np,
                               slice(1), range(3), fresh_copy, fresh_copy.__get__(1)], ids=brief)
def test_hasattr(x):
    """What a class has, its objects need not have: attributes of the metaclass, of an object's own dict."""
    check(attributes_are_there, lambda: (x, 2.0), native=None)


def test_an_attribute_of_a_ufunc_that_changes():
    def f(x):
        return getattr(np.add, "remark", 0.0) + x * 2.0
    fast = jitcore.accelerate(fresh_copy(f))
    x = np.arange(3.0)
    same(f(x), fast(x))
    for value in (1.0, 2.0):
        np.add.remark = value
        try:
            same(f(x), fast(x))
        finally:
            del np.add.remark
    same(f(x), fast(x))


def test_a_property_may_raise_attribute_error():
    class WithProperty:
        there = True

        @property
        def value(self):
            if not self.there:
                raise AttributeError("not now")
            return 3.0

    def f(obj, x):
        return x * 2.0 + getattr(obj, "value", 1.0), hasattr(obj, "value")
    plain, fast = fresh_copy(f), jitcore.accelerate(fresh_copy(f))
    obj, x = WithProperty(), np.arange(3.0)
    for there in (True, False, True):
        obj.there = there
        same(plain(obj, x), fast(obj, x))


def test_a_descriptor_that_answers_for_the_object_alone():
    def f(x):
        found = getattr(np.expm1, "__signature__", None)            # some releases of NumPy have none
        return x * 2.0, found is not None and inspect.signature(np.expm1) == found, hasattr(np.expm1, "__signature__")
    same(f(np.ones(2)), jitcore.accelerate(fresh_copy(f))(np.ones(2)))


def foreign(x, y):
    return loops.always_error(x, x) * 2.0 + y


def foreign_ignored(x, y):
    with np.errstate(all="ignore"):
        return loops.always_error(x, y).sum()


def foreign_store(x, y):
    y[:] = loops.always_error(x, x) + 1.0


def foreign_number(x, y):
    return loops.always_error_unary(1.5) + x * y


@pytest.mark.parametrize("func", [foreign, foreign_ignored, foreign_store, foreign_number])
@pytest.mark.parametrize("make", [lambda: (np.arange(3.0), np.ones(3)),
                                  lambda: (np.arange(6000.0)[::2], np.ones(3000))],
                         ids=["few", "many"])
def test_a_loop_that_is_not_numpys_raises(func, make):
    """Inner loops of other ufuncs can set exceptions: native code looks for them, NumPy raises them."""
    counts = check(func, make, native=None)
    assert counts.compiles >= 1


def cached(obj, n):
    return obj.value * n + n * n - n / 3.0 + n


def test_a_cached_property_that_is_deleted():
    """What the instance has goes before the descriptor of its class, which is asked again when it is gone."""
    class Cached:
        def __init__(self, start):
            self.start = start
            self.computed = 0

        @functools.cached_property
        def value(self):
            self.computed += 1
            return self.start + self.computed

    seen = []
    for func in (fresh_copy(cached), jitcore.accelerate(fresh_copy(cached))):
        obj = Cached(1.0)
        told = [func(obj, 2.0), func(obj, 3.0)]
        del obj.value
        seen.append([*told, func(obj, 2.0), obj.computed])
    assert seen[0] == seen[1]


def test_limits_of_a_dtype():
    def f(x):
        return x * np.finfo(np.float64).tiny, x + np.finfo(x.dtype).eps, np.finfo("f").max
    check(f, lambda: (np.arange(1.0, 4.0),), native=None)


def negated(x):
    return np.negative(x) * 2.0 + (-x).sum()


_LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
#: Where ``PyUFunc_ReplaceLoopBySignature`` is in the table of C functions that NumPy gives to extensions.
_REPLACE = 30


@_LOOP
def all_42(args, lengths, steps, data):
    out, step = (ctypes.cast(words, ctypes.POINTER(ctypes.c_ssize_t))[1] for words in (args, steps))
    for k in range(ctypes.cast(lengths, ctypes.POINTER(ctypes.c_ssize_t))[0]):
        ctypes.c_double.from_address(out + k * step).value = 42.0


def put_loop(ufunc, loop):
    """Puts an inner loop for ``d->d`` into ``ufunc``, as an extension does; gives the one before."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    functions = ctypes.cast(pointer(np._core._multiarray_umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    replace = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int),
                                ctypes.POINTER(ctypes.c_void_p))(functions[_REPLACE])
    before, double = ctypes.c_void_p(), np.dtype("d").num
    assert replace(ufunc, loop, (ctypes.c_int * 2)(double, double), ctypes.byref(before)) == 0
    return before


def test_a_loop_of_numpys_that_is_replaced():
    """An extension may put its own inner loop into a ufunc, and take it out again."""
    fast, x = jitcore.accelerate(fresh_copy(negated)), np.arange(1.0, 4.0)
    same(negated(x), fast(x))
    saved = put_loop(np.negative, ctypes.cast(all_42, ctypes.c_void_p))
    try:
        assert np.negative(x)[0] == 42.0
        same(negated(x), fast(x))
        same(negated(x), fast(x))
    finally:
        put_loop(np.negative, saved)
    same(negated(x), fast(x))
    assert not table.is_altered(table.OPS["negative"])
    native = jitcore.stats(fast).native_calls
    same(negated(x), fast(x))
    assert jitcore.stats(fast).native_calls == native + 1


def written(x, y):
    a, _ = np.broadcast_arrays(x, y)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        a[1, 1] = 10.0
        a[2, 2] = 20.0
    return [(str(w.message), w.filename, w.lineno) for w in seen], x


def test_arrays_that_warn_when_they_are_written_to():
    """NumPy warns once, and compiling does not ask for what would make it warn."""
    check(written, lambda: (np.arange(3.0), np.ones((3, 3))), native=None)


def about_dtype(x):
    y = x * 2
    return y, repr(x), x.dtype.fields is None, x.dtype.metadata is None, x.copy(), x[::-1].dtype, x.dtype


@pytest.mark.parametrize("dtype", ["i4", np.dtype(("i4", [("a", "i2"), ("b", "i2")])),
                                   np.dtype("i4", metadata={"a": 1}),
                                   pickle.loads(pickle.dumps(np.dtype("i4")))], ids=brief)
def test_dtypes_with_more_to_them(dtype):
    def make():
        return (np.arange(4).astype(dtype),)
    plain, fast = fresh_copy(about_dtype), jitcore.accelerate(fresh_copy(about_dtype))
    same(fast(np.arange(4, dtype="i4")), plain(np.arange(4, dtype="i4")))
    for _ in range(2):
        a, b = plain(*make()), fast(*make())
        same(a, b)
        assert [str(x.dtype) for x in (a[0], a[4])] == [str(x.dtype) for x in (b[0], b[4])]
        assert [x.dtype.metadata for x in (a[0], a[4])] == [x.dtype.metadata for x in (b[0], b[4])]

    def made(n):
        return np.zeros(n, dtype), np.ones(n).astype(dtype), np.arange(n, dtype=dtype)
    for a, b in zip(made(3), jitcore.accelerate(fresh_copy(made))(3)):
        same(a, b)
        assert str(a.dtype) == str(b.dtype) and a.dtype.metadata == b.dtype.metadata


def too_large(n):
    np.empty(n, dtype=np.uint8)
    return n


@pytest.mark.parametrize("n", [np.iinfo(np.intp).max, np.iinfo(np.intp).max // 2])
def test_an_array_that_no_memory_holds(n):
    """Also where nothing reads it."""
    def f():
        np.empty(n, dtype=np.uint8)
    check(f, tuple, native=None)
    check(too_large, lambda: (int(n),), native=None)


def named(x, dtype):
    return x.astype(dtype) * 2


@pytest.mark.parametrize("dtype", ["f4", "float32", "<f4", "=f4", "single", "f", "d", "int", "long", "longlong", "intp",
                                   "no dtype", "a", ">f4", "q", "uint", "bool", "?", "e", np.str_("f4")], ids=brief)
def test_dtypes_by_name(dtype):
    check(named, lambda: (np.arange(3.0), dtype), native=None)


@pytest.mark.parametrize("made", [
    "np.arange(6, dtype='>i4').reshape(2, 3)", "np.zeros(6, dtype='>i4')", "np.full(3, 2, dtype='>f8')",
    "np.array([1, 2], dtype='>i2')", "np.linspace(0, 1, 5, dtype='>f8')", "np.concatenate((x, x), dtype='>f8')",
    "np.frombuffer(bytes(16), '>f8')", "x.astype('>f8')", "x.view('>i8')",
    "np.empty_like(x, dtype='>f8').clip(3, 3)", "np.arange(3, dtype=np.dtype('i4', metadata={'a': 1}))"])
def test_arrays_of_swapped_bytes_are_made(made):
    scope = {"np": np}
    exec(f"def f(x):\n    y = x * 2 + x\n    return y, {made} * 2, y + 1", scope)
    check(scope["f"], lambda: (np.arange(3.0),), native=None)


@pytest.mark.parametrize("made", [
    "np.array([n, 2], dtype='2i')", "np.array([n, 2], dtype=np.dtype('2i'))", "np.array((n, 2), dtype='i4,i4')",
    "np.array([(n, 2)], dtype='i4,f8')", "np.full(2, (n, 1), dtype='i4,f8')", "np.asarray([n], dtype='3f4')",
    "np.array(['1', str(n)], dtype='2i')", "np.zeros(2, dtype='2i')", "np.array([n, 2.5], dtype='c8')"])
def test_arrays_of_structured_dtypes(made):
    """To them lists and tuples are different things."""
    scope = {"np": np}
    exec(f"def f(x, n):\n    return x * 2 + x, {made}", scope)
    check(scope["f"], lambda: (np.arange(3.0), 7), native=None)


def contains_itself(x):
    items = []
    items.append(items)
    return x * 2, np.array([items, items], dtype=object).shape, items[0] is items


def test_a_list_that_contains_itself():
    check(contains_itself, lambda: (np.ones(3),), native=False)


def test_compiling_shows_no_warning_again():
    """What is shown once a place is forgotten when somebody touches the filters."""
    def f(x):
        warnings.warn("once", UserWarning, stacklevel=1)
        return x.astype("f4") * 2

    def run(func):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("default")
            for n in (1, 2, 3):
                func(np.zeros((1,) * n))
            return len(seen)
    f.__globals__.pop("__warningregistry__", None)
    assert run(fresh_copy(f)) == 1
    f.__globals__.pop("__warningregistry__", None)
    assert run(jitcore.accelerate(fresh_copy(f))) == 1


def ranged(start, stop, step):
    return np.arange(start, stop, step) * 2.0


@pytest.mark.parametrize("step", [np.inf, -np.inf, 1e300, -1e300, 0.5, -2.5, 10, np.nan])
@pytest.mark.parametrize("stop", [0.0, 1e-300, 2.5, -3])
@pytest.mark.parametrize("start", [0, 0.0, 1.5])
def test_range_whose_length_vanishes(start, stop, step):
    check(ranged, lambda: (start, stop, step), native=None)
    check(ranged, lambda: (start, 2.5, 0.5), native=None)


def copied_for_nothing(x):
    np.array(x)
    return x.shape


def test_a_copy_that_no_memory_holds():
    fast, huge = jitcore.accelerate(fresh_copy(copied_for_nothing)), np.broadcast_to(np.uint8(0), 2**62)
    for x in (huge, np.ones(3), huge):
        if x is huge:
            with pytest.raises(MemoryError):
                fast(x)
        else:
            assert fast(x) == (3,)


class Duck:
    """Answers for NumPy's functions."""

    def __array_function__(self, func, types, args, kwargs):
        return f"duck {func.__name__} {len(args)}"


class Later:
    """Comes to answer for them while the program runs."""


def made_inside(x):
    return np.mean(Duck()), np.sum(x) * 2.0, np.concatenate([x, Duck()]), np.clip(x, 0.0, 1.0)


def given(x, duck):
    return np.ndim(duck), np.full_like(duck, 2.0), x * 2.0


def test_objects_that_numpy_dispatches_on():
    check(made_inside, lambda: (np.arange(3.0),), native=None)
    check(given, lambda: (np.arange(3.0), Duck()), native=None)


def test_a_class_that_numpy_comes_to_dispatch_on():
    plain, fast, x = fresh_copy(given), jitcore.accelerate(fresh_copy(given)), np.arange(3.0)
    for _ in range(2):
        same(plain(x, 1.0), fast(x, 1.0))
        assert str(plain(x, Later())[0]) == str(fast(x, Later())[0])
    Later.__array_function__ = Duck.__array_function__
    try:
        same(plain(x, Later()), fast(x, Later()))
    finally:
        del Later.__array_function__
    assert str(plain(x, Later())[0]) == str(fast(x, Later())[0])


def test_dispatchers_that_are_not_numpys():
    """What finds the arguments to dispatch on is a function that may do anything."""
    asked = []

    def find(x):
        asked.append(x)
        return (x,)

    @array_function_dispatch(find)
    def double(x):
        return x * 2.0

    def f(x):
        return double(x) + 1.0
    fast = jitcore.accelerate(fresh_copy(f))
    for n in (1, 2, 3):
        same(fast(np.ones(2)), np.full(2, 3.0))
        assert len(asked) == n

    def only_like(*, like=None):
        return 1.0
    with_like = array_function_dispatch()(only_like)

    def g():
        return with_like(like=234) * 2.0
    with pytest.raises(TypeError):
        jitcore.accelerate(fresh_copy(g))()
