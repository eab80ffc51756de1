"""Exceptions that users can meet, and every reason for which code is left to the interpreter.

Job: one table of reasons, so that logs, ``explain`` and the documentation use the same words.
Invariants: importing this module imports nothing of jitcore.
"""
from __future__ import annotations


class JitcoreError(Exception):
    """Base of jitcore's own exceptions.  None of them is raised by a call of a marked function."""


class NotCompilable(JitcoreError):
    """``trace`` was asked for a function that has no region for these arguments; the text says why."""


#: kind -> what it means for the user.
REASONS = {
    "generator": "generators and coroutines run as they are",
    "no-work": "nothing but calls and objects: native code would gain nothing",
    "loop": "a loop on run-time values runs in the interpreter",
    "unsupported": "an instruction that is left to the interpreter",
    "call": "a generic operation, done through Python, after which native code goes on",
    "compiler": "a failure inside the compiler (please report it)",
    "budget": "too large for one region",
    "restarts": "every way through is handed over to the interpreter from the start",
    "thrashing": "the region handed over in more than half of its runs",
}
