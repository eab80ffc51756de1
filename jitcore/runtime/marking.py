"""Marking functions, and switching everything off and on.

Job: ``accelerate``, ``disable``, ``enable``, ``disabled``.  Invariants: a marked function stays the same
object; switched off, every marked function is exactly what it was before.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import Any

from jitcore import _core, config
from jitcore.errors import REASONS
from jitcore.runtime import compiler
from jitcore.runtime.records import find_record, marked_functions, record_of, remember_function

_off = 0
_switched_off = False


def start() -> None:
    """Connect C with the compiler."""
    _core.set_miss_handler(compiler.on_miss)
    _core.set_settle_handler(compiler.negative_settled)


def mark(target: Any, options: config.Options) -> Any:
    """Mark what ``target`` is or wraps; returns ``target`` itself.  ``TypeError`` if there is no function in it."""
    func = target
    while not isinstance(func, FunctionType):
        if isinstance(func, (staticmethod, classmethod, MethodType)):
            func = func.__func__
        elif isinstance(func, functools.partial):
            func = func.func
        else:
            raise TypeError(f"accelerate expects a Python function (or a method, staticmethod, classmethod or "
                            f"functools.partial of one), not {type(func).__name__}: {func!r}")
    code = func.__code__
    if inspect.isgeneratorfunction(func) or inspect.iscoroutinefunction(func) or inspect.isasyncgenfunction(func):
        config.LOGGERS["leave"].info("%s: %s", func.__qualname__, REASONS["generator"])
        return target
    record = record_of(code)
    if record.options != options:
        record.options = options
        record.entries.clear()
        record.left_alone = ""
        _core.remove_regions(code)
        _core.set_active(code, True)
    remember_function(func)
    if not is_off() and not record.left_alone:
        _core.mark(func)
    return target


def unmark(func: FunctionType) -> None:
    """Make ``func`` an ordinary function again."""
    _core.unmark(func)


def is_off() -> bool:
    """Whether jitcore is switched off now."""
    return _switched_off or _off > 0


def switch(on: bool) -> None:
    """Switch all marked functions on or off, until switched again."""
    global _switched_off
    _switched_off = not on
    _apply()


@contextmanager
def disabled() -> Iterator[None]:
    """Within the block, marked functions run as plain Python functions (in every thread)."""
    global _off
    _off += 1
    _apply()
    try:
        yield
    finally:
        _off -= 1
        _apply()


def _apply() -> None:
    for func in marked_functions():
        if is_off():
            _core.unmark(func)
        else:
            record = find_record(func.__code__)
            if record is None or not record.left_alone:
                _core.mark(func)
