"""Code objects to decode: the samples, and much of the standard library and NumPy."""
from __future__ import annotations

import importlib
import importlib.util
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jitcore.bytecode import Code, decode

_MODULES = (
    "argparse", "ast", "asyncio.base_events", "asyncio.taskgroups", "asyncio.tasks", "contextlib", "dataclasses", "dis",
    "email.message", "enum", "functools", "inspect", "json.decoder", "_pydecimal", "pathlib", "statistics", "tempfile",
    "traceback", "typing", "unittest.mock",
    "numpy._core.fromnumeric", "numpy._core._methods", "numpy._core.numeric", "numpy._core.shape_base",
    "numpy.lib._function_base_impl", "numpy.lib._nanfunctions_impl", "numpy.lib._index_tricks_impl",
    "numpy.linalg._linalg", "numpy.fft._pocketfft", "numpy.polynomial.polynomial", "numpy.ma.core",
)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _nested(const)


@cache
def corpus() -> tuple[tuple[types.CodeType, Code], ...]:
    """Every code object of the modules' source files, compiled anew, and what it decodes to."""
    paths = [Path(__file__).with_name("samples.py")]
    for name in _MODULES:
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin is not None, name
        paths.append(Path(spec.origin))
    codes: list[types.CodeType] = []
    for path in paths:
        codes += _nested(compile(path.read_text(encoding="utf-8"), str(path), "exec"))
    return tuple((code, decode(code)) for code in codes)
