"""The public functions, thin.

Job: argument handling and documentation; everything is done in ``runtime`` and ``pipeline``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from jitcore import config
from jitcore.backends.cuda import driver as _driver
from jitcore.backends.cuda.array import DeviceArray
from jitcore.runtime import device as _device
from jitcore.runtime import discovery, marking
from jitcore.runtime import explain as _explain
from jitcore.runtime import stages as _stages
from jitcore.runtime import stats as _stats

F = TypeVar("F")


@overload
def accelerate(func: F, /) -> F: ...
@overload
def accelerate(*, precision: str = "default", device: str = "auto") -> Callable[[F], F]: ...
def accelerate(func: Any = None, /, *, precision: str = "default", device: str = "auto") -> Any:
    """Mark ``func``: its calls run as native code where that gives the same result.

    Returns ``func`` itself, so pickling, introspection, subclassing and wrappers see what they saw before.
    ``precision``: ``'default'`` computes transcendental functions with vectorised code; ``'numpy'`` calls NumPy's own
    inner loops, bit-identical.  ``device``: with ``'auto'`` calls that get arrays on a GPU run there, all others on the
    CPU; ``'cuda'`` takes arrays of the host there and back as well; ``'cpu'`` uses no GPU.  Marking again with other
    options replaces them.  A ``staticmethod``,
    ``classmethod``, bound method or ``functools.partial`` is returned as it is, with the function inside marked.
    Generator and coroutine functions run as they are.

    Raises ``TypeError`` for anything that is not a Python function, ``ValueError`` for an unknown option value,
    ``DeviceError`` for ``device="cuda"`` where there is no GPU, with what is missing.
    """
    options = config.Options(precision=precision, device=device)
    if device == "cuda":
        _driver.device()
    if func is None:
        return lambda f: marking.mark(f, options)
    return marking.mark(func, options)


def never(func: F) -> F:
    """Keep ``func`` an ordinary function: ``enable`` does not find it, and it is not compiled into its callers.

    A mark that it has is taken away; ``accelerate`` can set one again.  Of a class, this holds for every function in
    its body.  Returns ``func``.  Raises ``TypeError`` for anything else.
    """
    marking.never(func)
    return func


def enable(modules: Any = None, *, precision: str = "default", threshold: int | None = None) -> None:
    """Find the program's hot NumPy functions and accelerate them, with nothing marked; also undoes ``disable``.

    A function is found when ``threshold`` (default: the variable JITCORE_HOT, 100) NumPy operations have run in it,
    and its next call is compiled.  Calls of ufuncs, reductions, and reads and writes of an array's items are counted;
    operations on large arrays count for as much more as they take longer.  Loops on Python numbers alone are not
    seen: mark such functions.  Operations in the Python code of libraries count for the function that called it.

    ``modules``: modules and names of modules; a package includes what is in it.  Only their functions are found.
    Without it all but installed packages and the standard library are looked at; an empty list finds none.
    ``precision`` is that of ``accelerate``.  Calling it again changes these settings.

    Raises ``TypeError`` and ``ValueError`` for arguments of another kind.
    """
    discovery.start(modules, config.Options(precision=precision), threshold)
    marking.switch(True)


def disable() -> None:
    """Switch jitcore off: NumPy's entry points and every marked function are exactly what they were.

    Functions that ``enable`` found are forgotten; those that were marked by hand are marked again by ``enable``.
    """
    discovery.stop()
    marking.switch(False)


def explain(func: Any, *args: Any, **kwargs: Any) -> None:
    """Print what jitcore does with ``func``.

    With arguments: the region for such a call, without running it.  Regions, kernels with the source lines they
    came from, guards, and every place left to the interpreter with file, line and reason; for regions that
    have run, how often.  Raises ``TypeError`` as a call would if the arguments do not fit the signature.
    """
    print(_explain.explain(func, args, kwargs))


def trace(func: Any, *args: Any, **kwargs: Any) -> _stages.Traced:
    """The stages of compiling ``func`` for these arguments, one by one, without running it.

    ``t.graph`` (typed SSA text when printed), ``t.lower()``, then ``.as_text('kernels' | 'llvm')``, ``.compile()``,
    then ``.as_text('asm')`` and a call with arguments.  ``t.lower(device='cuda', arch='sm_90')`` gives the kernels
    for a GPU, as ``.as_text('kernels' | 'llvm' | 'ptx')``, on any machine.  Raises ``NotCompilable`` (with the
    reason) where there is no region.
    """
    return _stages.trace(func, args, kwargs)


def to_device(x: Any) -> DeviceArray:
    """A ``DeviceArray`` with the elements of ``x``: a copy of an array of the host, the same memory for what CuPy,
    torch or Numba have on a GPU.

    ``x``: anything that ``numpy.asarray`` takes, of a dtype among bool, integers, float16 to float64, complex64 and
    complex128, or an object with ``__cuda_array_interface__`` or ``__dlpack__``.  Raises ``TypeError`` for other
    dtypes, ``DeviceError`` where there is no GPU, ``MemoryError`` naming sizes.
    """
    return _device.to_device(x)


def synchronize() -> None:
    """Wait until the GPU has done all that it was given.  Reports of overflow and the like come now, by NumPy's rules.

    Raises ``DeviceError`` for what has failed there.
    """
    _device.synchronize()


disabled = marking.disabled
stats = _stats.stats

config.set_up_logging()
marking.start()
