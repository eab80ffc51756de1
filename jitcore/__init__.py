"""jitcore: a just-in-time compiler for the NumPy code people already have.

    import jitcore

    @jitcore.accelerate
    def f(x, w): ...

``f`` stays the function it was; its calls run as fused native code with the results, types, warnings and exceptions
that CPython and NumPy give.  See ``docs/architecture.md`` for how, and ``jitcore.explain`` for what became of a
function.
"""
from jitcore import _support
from jitcore.errors import DeviceError, JitcoreError, NotCompilable

__version__ = "0.1.0"

if _support.USABLE:
    from jitcore.api import (
        DeviceArray,
        accelerate,
        disable,
        disabled,
        enable,
        explain,
        never,
        stats,
        synchronize,
        to_device,
        trace,
    )
else:
    from jitcore._support import (  # type: ignore[no-redef,assignment]
        DeviceArray,
        accelerate,
        disable,
        disabled,
        enable,
        explain,
        never,
        stats,
        synchronize,
        to_device,
        trace,
    )

__all__ = [
    "DeviceArray", "DeviceError", "JitcoreError", "NotCompilable", "__version__", "accelerate", "disable", "disabled",
    "enable", "explain", "never", "stats", "synchronize", "to_device", "trace",
]
