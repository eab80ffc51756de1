"""The graph text of traces.  ``JITCORE_BLESS=1`` writes it anew.

Places in the bytecode are taken out, so that one text serves every CPython version.
"""
from __future__ import annotations

import os
import re
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from jitcore.frontend.snapshot import Snapshot, Trace
from jitcore.frontend.trace import trace_region
from jitcore.ir.text import print_graph
from tests.bytecode.executor import _NULL, Frame

_FOLDER = Path(__file__).parent / "golden"


def fused(x, y):
    return x * y + x


def scale(v, by=2.0):
    return v * by


def inlined(x, k):
    def shift(v):
        return v + k
    return shift(scale(x)) - scale(k, by=3)


def branching(n, x):
    if n > 3:
        x = x + n
    return x, n


def sites(x, f):
    y = x * 2
    z = f(y, [x, y], key=y)
    return z


def looping(x, n):
    total = x + 1
    for _ in range(n):
        total = total * 2
    return total


_CASES: dict[str, tuple[FunctionType, tuple[Any, ...]]] = {
    "fused": (fused, (np.ones(3), np.ones(3))),
    "broadcast": (fused, (np.ones((3, 1)), np.ones(4))),
    "inlined": (inlined, (np.ones(3), 1.5)),
    "branching": (branching, (5, 2.0)),
    "sites": (sites, (1.5, object())),
    "looping": (looping, (np.ones(3), 100)),
}


def _text(func: FunctionType, args: tuple[Any, ...]) -> str:
    frame = Frame(func, args, {})
    trace = trace_region(Snapshot(func, func.__code__, 0, tuple(frame.slots), (), _NULL))
    assert isinstance(trace, Trace)
    text = print_graph(trace.graph)
    first = func.__code__.co_firstlineno
    text = re.sub(r" unit=\d+| next=\d+", "", text)
    text = re.sub(r"region '(\w+)' '.*'", r"region '\1'", text)
    text = re.sub(r"; line (\d+)", lambda m: f"; line +{int(m[1]) - first}", text)
    text = re.sub(r" stack\[.*?\]", "", text)
    guards = "".join(f"{re.sub(r' at 0x[0-9a-f]+, file .*?, line [0-9]+', '', str(guard))}\n" for guard in trace.guards)
    return f"{text}\n{guards}work {trace.work}\n"


@pytest.mark.parametrize("name", sorted(_CASES))
def test_golden(name):
    text = _text(*_CASES[name])
    path = _FOLDER / f"{name}.txt"
    if os.environ.get("JITCORE_BLESS") == "1":
        _FOLDER.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
