"""Marking functions, and switching everything off and on.

Job: ``accelerate``, ``never``, ``disabled``, and what ``enable`` and ``disable`` do with marks.  Invariants: a marked
function stays the same object; switched off, every marked function is exactly what it was before.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from jitcore import _core, config
from jitcore.errors import REASONS
from jitcore.ops.table import note_replaced
from jitcore.runtime import compiler
from jitcore.runtime.records import (
    all_records,
    find_record,
    forget_function,
    forget_inlined,
    forget_regions,
    found_functions,
    marked_functions,
    record_of,
    remember_function,
)

_off = 0
_switched_off = False


def start() -> None:
    """Connect C with the compiler."""
    _core.set_miss_handler(compiler.on_miss)
    _core.set_settle_handler(compiler.negative_settled)
    _core.set_loop_handler(_loop_replaced)


def _loop_replaced(ufunc: np.ufunc, types: tuple[int, ...], before: int, after: int) -> None:
    """Called from C when an extension has replaced an inner loop of a ufunc: all that was compiled may contain it."""
    note_replaced(ufunc, types, before, after)
    for record in all_records():
        if record.by_hand or record.found:
            forget_regions(record)
            code = record.code()
            for func in marked_functions() if code is not None and not is_off() else ():
                if func.__code__ is code:
                    _core.mark(func)        # it may have been left alone


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
    record.by_hand, record.found, record.never = True, "", False
    if record.options != options:
        record.options = options
        forget_regions(record)
    remember_function(func)
    if not record.left_alone:
        _core.set_active(code, True)
        if not is_off():
            _core.mark(func)
    return target


def mark_found(func: FunctionType, options: config.Options, how: str) -> bool:
    """Mark a function that discovery found.  False for one that has an entry of its own."""
    record = record_of(func.__code__)
    try:
        _core.mark(func)
    except ValueError:
        return False
    if record.options != options:
        record.options = options
        forget_regions(record)
    record.found = record.found or how
    _core.set_active(func.__code__, True)
    remember_function(func, found=True)
    return True


def unmark_found() -> None:
    """Functions that discovery marked are ordinary functions again, and what was compiled for them is gone."""
    for func in found_functions():
        _core.unmark(func)
        forget_function(func)
    for record in all_records():
        if record.found:
            record.found = ""
            record.options = config.Options()
            forget_regions(record)
            code = record.code()
            if code is not None:
                _core.set_active(code, False)       # a watch for its back edges ends


def never(target: Any) -> None:
    """Make what ``target`` is or wraps an ordinary function for good; of a class, every function in its body."""
    if isinstance(target, type):
        for value in list(vars(target).values()):
            parts = (value.fget, value.fset, value.fdel) if isinstance(value, property) else (value,)
            for part in parts:
                inner = getattr(part, "__func__", part)
                if isinstance(inner, FunctionType):
                    never(inner)
        return
    func = getattr(target, "__func__", target)
    if not isinstance(func, FunctionType):
        raise TypeError(f"never expects a Python function or a class, not {type(target).__name__}")
    record = record_of(func.__code__)
    record.by_hand, record.found, record.never = False, "", True
    forget_regions(record)
    forget_inlined(func.__code__)
    for other in marked_functions():
        if other.__code__ is func.__code__:
            _core.unmark(other)
            forget_function(other)


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
    _core.pause_discovery(is_off())
    for func in marked_functions():
        if is_off():
            _core.unmark(func)
        else:
            record = find_record(func.__code__)
            if record is None or not record.left_alone:
                _core.mark(func)
