"""The public functions, thin.

Job: argument handling and documentation; everything is done in ``runtime`` and ``pipeline``.
"""
from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, overload

from jitcore import config
from jitcore.runtime import explain as _explain
from jitcore.runtime import marking
from jitcore.runtime import stages as _stages
from jitcore.runtime import stats as _stats

F = TypeVar("F")


@overload
def accelerate(func: F, /) -> F: ...
@overload
def accelerate(*, precision: str = "default") -> Callable[[F], F]: ...
def accelerate(func: Any = None, /, *, precision: str = "default") -> Any:
    """Mark ``func``: its calls run as native code where that gives the same result.

    Returns ``func`` itself, so pickling, introspection, subclassing and wrappers see what they saw before.
    ``precision``: ``'default'`` computes transcendental functions with vectorised code; ``'numpy'`` calls NumPy's own
    inner loops, bit-identical.  Marking again with other options replaces them.  A ``staticmethod``,
    ``classmethod``, bound method or ``functools.partial`` is returned as it is, with the function inside marked.
    Generator and coroutine functions run as they are.

    Raises ``TypeError`` for anything that is not a Python function, ``ValueError`` for an unknown option value.
    """
    options = config.Options(precision=precision)
    if func is None:
        return lambda f: marking.mark(f, options)
    return marking.mark(func, options)


def never(func: F) -> F:
    """Make ``func`` an ordinary function again, also where it would be found by itself; returns it."""
    inner = getattr(func, "__func__", func)
    if not isinstance(inner, FunctionType):
        raise TypeError(f"never expects a Python function, not {type(func).__name__}")
    marking.unmark(inner)
    return func


def disable() -> None:
    """Switch jitcore off: every marked function is exactly what it was before it was marked."""
    marking.switch(False)


def enable() -> None:
    """Switch jitcore on again after ``disable``."""
    marking.switch(True)


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
    then ``.as_text('asm')`` and a call with arguments.  Raises ``NotCompilable`` (with the
    reason) where there is no region.
    """
    return _stages.trace(func, args, kwargs)


disabled = marking.disabled
stats = _stats.stats

config.set_up_logging()
marking.start()
