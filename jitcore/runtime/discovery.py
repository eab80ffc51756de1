"""Finding hot functions without marks: what ``enable`` starts and ``disable`` ends.

Job: say which functions may be found, and mark those that C (csrc/discovery.c) has counted enough NumPy operations for.
Invariants: while nothing is found nothing is changed but NumPy's entry points; ``stop`` takes back every mark that was
made here, and no other; a failure here never reaches the user's program (unless JITCORE_STRICT=1).  An operation counts
for the innermost function that may be found: what NumPy's or a library's own Python code does, for its caller.
"""
from __future__ import annotations

import atexit
import inspect
import logging
import os
import site
import sys
import sysconfig
import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType

import numpy as np

from jitcore import _core, config
from jitcore.runtime import marking, signals
from jitcore.runtime.compiler import is_foreign
from jitcore.runtime.records import all_records, find_record

#: What C does with the code of a function: the enumeration in csrc/discovery.c.
COUNTED, THROUGH, NEVER = 0, 2, 3
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_GENERATORS = (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
               | inspect.CO_ITERABLE_COROUTINE)
_PARTS = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")
_UFUNC_MODULES = ("numpy", "numpy._core.umath", "numpy.linalg._umath_linalg", "scipy.special")
_log = config.LOGGERS["found"]


@dataclass(frozen=True)
class Search:
    """What is looked for.  ``names``: modules and packages, None for all that is not somebody else's."""

    names: tuple[str, ...] | None
    options: config.Options
    threshold: int


_search: Search | None = None
_began = 0.0


def start(modules: object, options: config.Options, threshold: int | None) -> None:
    """Look for hot functions in ``modules`` (None: everywhere but in installed packages), after what was looked for
    before has ended.  The same again changes nothing."""
    global _search, _began
    search = Search(_names(modules), options, config.hot() if threshold is None else threshold)
    if search.threshold < 1:
        raise ValueError(f"threshold must be at least 1, not {search.threshold}")
    if search == _search:
        return
    stop()
    if search.names == ():
        return
    if not _began:
        atexit.register(_core.stop_discovery)       # what runs while modules are torn down is not looked at
    _search, _began = search, time.perf_counter()
    _core.set_discovery_handlers(judge, on_hot)
    _core.start_discovery(_ufuncs(), search.threshold)


def stop() -> None:
    """NumPy's entry points are what they were, and so is every function that was found."""
    global _search
    if _search is not None:
        _search = None
        _core.stop_discovery()
        marking.unmark_found()


def _names(modules: object) -> tuple[str, ...] | None:
    if modules is None:
        return None
    if isinstance(modules, (str, ModuleType)):
        modules = (modules,)
    if not isinstance(modules, Iterable):
        raise TypeError(f"modules must be modules or their names, not {type(modules).__name__}")
    names = set()
    for module in modules:
        if not isinstance(module, (str, ModuleType)):
            raise TypeError(f"modules must be modules or their names, not {type(module).__name__}")
        names.add(module if isinstance(module, str) else module.__name__)
    return tuple(sorted(names))


def _ufuncs() -> tuple[np.ufunc, ...]:
    found = {}
    for name in _UFUNC_MODULES:
        module = sys.modules.get(name)
        for value in list(vars(module).values()) if module is not None else ():
            if isinstance(value, np.ufunc):
                found[id(value)] = value
    return tuple(found.values())


def _installed_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {site.getusersitepackages(), os.path.dirname(os.path.dirname(os.path.abspath(np.__file__)))
                + os.sep + "numpy", os.path.dirname(os.path.abspath(os.__file__))}
    folders |= {os.path.realpath(folder) for folder in folders}
    return tuple(os.path.abspath(folder) + os.sep for folder in folders)


_INSTALLED = _installed_folders()


def verdict(func: FunctionType) -> tuple[int, str]:
    """What becomes of operations in ``func``, and why they are not counted for it (empty if they are)."""
    code = func.__code__
    file = code.co_filename
    if file.startswith("<") and isinstance(own := func.__globals__.get("__file__"), str):
        file = own              # made at run time, by a module that has a file
    path = file if file.startswith("<") else os.path.abspath(file)
    record = find_record(code)
    if path.startswith(_HERE):
        return NEVER, "it is a part of jitcore"
    if record is not None and record.never:
        return NEVER, "it was given to jitcore.never"
    if not _is_looked_at(func, path):
        return THROUGH, "its module is not one of those that enable() looks at; operations in it count for its caller"
    if code.co_name in _PARTS:
        return THROUGH, "it is a part of another function"
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return NEVER, "it is the body of a module or a class"
    if code.co_flags & _GENERATORS:
        return NEVER, "generators and coroutines run as they are"
    return COUNTED, ""


def _is_looked_at(func: FunctionType, path: str) -> bool:
    names = _search.names if _search is not None else None
    if names is not None:
        module = func.__globals__.get("__name__")
        return isinstance(module, str) and any(module == name or module.startswith(name + ".") for name in names)
    return not (path.startswith(("<frozen", *_INSTALLED)) or "site-packages" in path or "dist-packages" in path)


def judge(func: FunctionType, _: int) -> int:
    """Called from C for the function of a code object that it meets for the first time."""
    try:
        return verdict(func)[0]
    except Exception as error:
        return _failed(func, error)


def on_hot(func: FunctionType, n: int) -> int:
    """Called from C when ``n`` operations were counted for the code of ``func``, which is running; again for each other
    function with that code once one was marked.  0: not to be marked; -1: marked; else after so many more."""
    with signals.put_off():
        try:
            return _find(func, n)
        except Exception as error:
            return _failed(func, error)


def _failed(func: FunctionType, error: Exception) -> int:
    if config.strict or is_foreign(error):
        raise error
    _log.exception("%s: not found, for a failure inside jitcore", func.__qualname__)
    return NEVER


def _find(func: FunctionType, n: int) -> int:
    search, record = _search, find_record(func.__code__)
    if search is None or (record is not None and (record.never or record.left_alone or record.by_hand)):
        return 0
    if _core.is_marked(func):
        return -1
    first = record is None or not record.found
    if marking.is_off() or (first and _is_spent()):
        return max(n, search.threshold)
    if not marking.mark_found(func, search.options, f"by enable(), after {n} NumPy operations in it"):
        return 0
    code = func.__code__
    if first:
        _core.watch_loops(code)         # a loop that it is in now
    if first and _log.isEnabledFor(logging.INFO):
        _log.info("%s (%s:%d): found after %d NumPy operations in it",
                  code.co_qualname, os.path.basename(code.co_filename), code.co_firstlineno, n)
    return -1


def _is_spent() -> bool:
    """Whether functions that were found have taken their share of the program's time."""
    spent = sum(record.compile_seconds for record in all_records() if record.found)
    return spent > config.FOUND_SECONDS + config.FOUND_SHARE * (time.perf_counter() - _began)


def describe(func: FunctionType) -> str:
    """Why ``func`` has not been marked: a line for ``explain``."""
    code: CodeType = func.__code__
    if _search is None:
        return "not marked"
    kind, reason = verdict(func)
    heat = _core.heat(code)
    if kind != COUNTED:
        return f"not marked: {reason}"
    if heat is None:
        return "not marked: no NumPy operation was seen in it since enable()"
    return f"not marked: {heat[1]} NumPy operations were seen in it since enable(), {heat[2]} make it hot"
