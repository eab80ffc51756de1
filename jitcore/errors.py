"""Exceptions that users can meet, and every reason for which code is left to the interpreter.

Job: one table of reasons, so that logs, ``explain`` and the documentation use the same words.
Invariants: importing this module imports nothing of jitcore.
"""
from __future__ import annotations


class JitcoreError(Exception):
    """Base of jitcore's own exceptions.  A call of a marked function raises none of them, but for a
    ``DeviceError`` of a device that fails."""


class NotCompilable(JitcoreError):
    """``trace`` was asked for a function that has no region for these arguments; the text says why."""


class DeviceError(JitcoreError):
    """There is no device to run on, or it failed; the text says what is missing and how to get it."""


#: kind -> what it means for the user.
REASONS = {
    "generator": "generators and coroutines run as they are",
    "no-work": "nothing but calls and objects: native code would gain nothing",
    "loop": "a loop on run-time values runs in the interpreter",
    "unsupported": "an instruction that is left to the interpreter",
    "call": "a generic operation, done through Python, after which native code goes on",
    "compiler": "a failure inside the compiler (please report it)",
    "budget": "too large for one region",
    "device": "its operations run on the device one by one",
    "restarts": "every way through is handed over to the interpreter from the start",
    "thrashing": "the region handed over in more than half of its runs",
}
