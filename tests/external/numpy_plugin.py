"""A pytest plugin: accelerates the test functions that it runs, and writes down what each test did.

Job: what ``run_numpy_tests.py`` loads (``-p numpy_plugin``) into each of its child processes.  Invariants: a record is
on disk before the test that follows begins, so that a process that dies has told which test it died in; without a mode
jitcore is not imported at all.  Its settings are one JSON text in the variable NUMPY_TESTS.
"""
from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Generator, Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest

_settings: dict[str, Any] = json.loads(os.environ["NUMPY_TESTS"])
_MODE: str | None = _settings["mode"]
_LOG = open(_settings["log"], "a", encoding="utf-8", buffering=1)
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")
_TEMPORARY = re.compile(r"pytest-of-\w+/pytest-\d+|/tmp/tmp\w+")

_marked: list[FunctionType] = []
_seen: dict[str, dict[str, Any]] = {}


def _write(**record: Any) -> None:
    _LOG.write(json.dumps(record) + "\n")
    _LOG.flush()


def _plain_text(text: str) -> str:
    """Text without what differs from process to process."""
    return _TEMPORARY.sub("TEMP", _ADDRESS.sub("0x", text))


# ---- what is accelerated ---------------------------------------------------------------------------------------------
def _layers(func: object) -> Iterator[FunctionType]:
    """The functions that a test consists of: itself, and what decorators have wrapped."""
    seen: set[int] = set()
    waiting = [func]
    while waiting:
        func = waiting.pop()
        func = getattr(func, "__func__", func)
        if not isinstance(func, FunctionType) or id(func) in seen:
            continue
        seen.add(id(func))
        yield func
        waiting += [getattr(func, "__wrapped__", None), getattr(getattr(func, "hypothesis", None), "inner_test", None)]


def _own_functions(module: ModuleType) -> Iterator[FunctionType]:
    """Every function that ``module`` defines: its own, those of its classes, and inside what wraps them."""
    waiting: list[object] = list(vars(module).values())
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, type):
            if value.__module__ == module.__name__:
                waiting += vars(value).values()
            continue
        if isinstance(value, property):
            waiting += [value.fget, value.fset, value.fdel]
        for func in _layers(getattr(value, "_fixture_function", value)):
            if func.__globals__ is vars(module):
                yield func


def _mark(func: FunctionType) -> None:
    import jitcore

    if any(func is other for other in _marked):
        return
    if inspect.isgeneratorfunction(func) or inspect.iscoroutinefunction(func) or inspect.isasyncgenfunction(func):
        return
    jitcore.accelerate(func, **({"precision": _settings["precision"]} if _settings["precision"] else {}))
    _marked.append(func)




def _keep_everything() -> None:
    """Regions are made, kept and entered whether or not anything is gained by them."""
    from jitcore.frontend import trace

    work_of = trace.work_of
    trace.work_of = lambda graph, entry: max(1, work_of(graph, entry))


def _accelerate(items: list[pytest.Item]) -> None:
    import jitcore
    from jitcore import _support

    assert _support.USABLE, _support.OBSTACLE
    if _settings["eager"]:
        _keep_everything()
    modules = {}
    for item in items:
        if isinstance(item, pytest.Function):
            modules[item.module.__name__] = item.module
            for func in _layers(item.function):
                _mark(func)
    if _MODE in ("modules", "enable"):
        for module in modules.values():
            for func in _own_functions(module):
                _mark(func)
    if _MODE == "enable":
        jitcore.enable(["numpy", *modules], threshold=_settings["threshold"])


# ---- what pytest calls -----------------------------------------------------------------------------------------------
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    done, only = set(_settings["done"]), set(_settings["only"])
    items[:] = [item for item in items if item.nodeid not in done
                and (not only or item.nodeid in only or item.nodeid.split("[")[0] in only)]
    if _MODE is not None:
        _accelerate(items)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """A test is run several times, so that what was compiled in the first run is met again; those that count
    references have runs before, until one passes."""
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    for _ in range(10 if pyfuncitem.nodeid.split("[")[0] in _settings["before"] else 0):
        try:
            pyfuncitem.obj(**arguments)
            break
        except AssertionError:
            continue
    for _ in range(_settings["repeat"] - 1):
        pyfuncitem.obj(**arguments)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Around all that pytest does for a test: it hands over the warnings last."""
    _seen[item.nodeid] = {"phases": {}, "warnings": [], "output": {}}
    _write(event="start", test=item.nodeid)
    result = yield
    _write(event="end", test=item.nodeid, **_seen.pop(item.nodeid))
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    told: dict[str, str] = {"outcome": report.outcome}
    if hasattr(report, "wasxfail"):
        told["xfail"] = report.wasxfail
    if isinstance(report.longrepr, tuple):
        told["reason"] = _plain_text(report.longrepr[2])
    elif report.longrepr is not None:
        crash = getattr(report.longrepr, "reprcrash", None)
        told["error"] = _plain_text(f"{crash.path}:{crash.lineno}: {crash.message}" if crash is not None
                                    else str(report.longrepr))
        told["traceback"] = _plain_text(str(report.longrepr))[-6000:]
    record = _seen[report.nodeid]
    record["phases"][report.when] = told
    record["seconds"] = record.get("seconds", 0.0) + report.duration
    record["output"].update({name: _plain_text(text) for name, text in report.sections})


def pytest_warning_recorded(warning_message: Any, when: str, nodeid: str) -> None:
    if when == "runtest" and nodeid in _seen:
        place = os.path.basename(warning_message.filename)
        _seen[nodeid]["warnings"].append([warning_message.category.__name__, _plain_text(str(warning_message.message)),
                                          f"{place}:{warning_message.lineno}"])


def pytest_sessionfinish(exitstatus: int) -> None:
    _write(event="finish", status=int(exitstatus), **_count())


# ---- what ran where --------------------------------------------------------------------------------------------------
def _count() -> dict[str, Any]:
    """How the marked functions ran: each counts for the best that its code did."""
    if _MODE is None:
        return {}
    import jitcore

    ways = dict.fromkeys(("native", "sites", "regions", "left alone", "interpreted", "not called"), 0)
    for func in {id(func.__code__): func for func in _marked}.values():     # equal code objects are not one
        ways[_way(func.__code__, jitcore.stats(func))] += 1
    total = jitcore.stats()
    names = ("calls", "native_calls", "site_calls", "kernels", "compiles", "guard_misses", "leaves", "found")
    return {"functions": ways, "stats": {name: getattr(total, name) for name in names},
            "compile_seconds": total.compile_seconds, "python": sys.version.split()[0]}


def _way(code: Any, stats: Any) -> str:
    from jitcore.runtime.records import find_record

    record = find_record(code)
    if stats.native_calls:
        return "native"
    if stats.site_calls:
        return "sites"
    if stats.compiles:
        return "regions"
    if record is not None and record.left_alone:
        return "left alone"
    return "interpreted" if stats.calls else "not called"
