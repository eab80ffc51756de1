"""jitcore: a just-in-time compiler for the NumPy code people already have.

    import jitcore

    @jitcore.accelerate
    def f(x, w): ...

``f`` stays the function it was; its calls run as fused native code with the results, types, warnings and exceptions
that CPython and NumPy give.  See ``docs/architecture.md`` for how, and ``jitcore.explain`` for what became of a
function.
"""
from jitcore import _support
from jitcore.errors import JitcoreError, NotCompilable

__version__ = "0.1.0"

if _support.USABLE:
    from jitcore.api import accelerate, disable, disabled, enable, explain, never, stats, trace
else:
    from jitcore._support import (  # type: ignore[no-redef]
        accelerate,
        disable,
        disabled,
        enable,
        explain,
        never,
        stats,
        trace,
    )

__all__ = [
    "JitcoreError", "NotCompilable", "__version__", "accelerate", "disable", "disabled", "enable", "explain", "never",
    "stats", "trace",
]
