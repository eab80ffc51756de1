"""What is only handed on must still be there: deleted names, attributes, cells, keys and locals."""
from __future__ import annotations

import contextlib
import io
import textwrap
import types

import numpy as np
import pytest

import jitcore

PROGRAMS = {
    "attribute": """
        class O: pass
        def note(m): print(m)
        @mark
        def f(d):
            cfg = d.a; b = d.x * 2
            note("step")
            return b * cfg
        def calls():
            d = O(); d.a = 3; d.x = np.ones(3)
            yield lambda: f(d)
            yield lambda: f(d)
            del d.a
            yield lambda: f(d)
    """,
    "global": """
        G = 5
        @mark
        def f(x): return G * (print("x") or 4) + x * 2
        def calls():
            global G
            yield lambda: f(np.ones(2))
            yield lambda: f(np.ones(2))
            del G
            yield lambda: f(np.ones(2))
    """,
    "cell": """
        def make():
            v = 5
            @mark
            def f(x): return v * (print("x") or 4) + x * 2
            def drop():
                nonlocal v
                del v
            return f, drop
        f, drop = make()
        def calls():
            yield lambda: f(np.ones(2))
            yield lambda: f(np.ones(2))
            drop()
            yield lambda: f(np.ones(2))
    """,
    "key": """
        @mark
        def f(d, x): return d["a"] * (print("x") or 4) + x * 2
        def calls():
            d = {"a": 3}
            yield lambda: f(d, np.ones(2))
            yield lambda: f(d, np.ones(2))
            d.clear()
            yield lambda: f(d, np.ones(2))
    """,
    "slot": """
        class O: __slots__ = ("a",)
        @mark
        def f(d, x): return d.a * (print("x") or 4) + x * 2
        def calls():
            d = O(); d.a = 3
            yield lambda: f(d, np.ones(2))
            yield lambda: f(d, np.ones(2))
            del d.a
            yield lambda: f(d, np.ones(2))
    """,
    "property": """
        class O:
            @property
            def w(self):
                print("w"); return 2.0
            @mark
            def f(self, x): return self.k * self.w + x * 2
        def calls():
            d = O(); d.k = 3
            yield lambda: d.f(np.ones(2))
            yield lambda: d.f(np.ones(2))
            del d.k
            yield lambda: d.f(np.ones(2))
    """,
    "local": """
        @mark
        def f(a, n):
            if n: v = 5
            print("p")
            b = a * 2
            return b, v * (print("x") or 4)
        def calls():
            for n in (1, 1, 0, 1): yield lambda: f(np.ones(2), n)
    """,
    "deleted local": """
        @mark
        def f(a, n):
            v = 5
            if n: del v
            print("p"); b = a * 2; print("q")
            w = v
            return b + 1, w
        def calls():
            for n in (0, 0, 1, 0): yield lambda: f(np.ones(2), n)
    """,
}


def run(source: str, mark) -> list[str]:
    module = types.ModuleType("program")
    module.__dict__.update(np=np, mark=mark)
    exec(textwrap.dedent(source), module.__dict__)
    seen = []
    for call in module.calls():
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                result = repr(call())
            except Exception as error:
                result = f"{type(error).__name__}: {error}"
        seen.append(f"{out.getvalue()!r} {result}")
    return seen


@pytest.mark.parametrize("name", PROGRAMS)
def test_absent(name):
    before = jitcore.stats().native_calls
    assert run(PROGRAMS[name], jitcore.accelerate) == run(PROGRAMS[name], lambda f: f)
    assert jitcore.stats().native_calls > before
