"""Signals while the compiler works.

Job: keep Python's signal handlers out of a compilation.  They run in the main thread between any two bytecodes, also
inside destructors and callbacks of the compiler's libraries, where the exception of a handler would be lost.
Invariants: nothing is lost, delivery is only put off; faults of the process itself are never held back.  A handler
that raises all the same, between two of these steps, is not the compiler's: ``compiler`` passes its exception on.
"""
from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NEVER_HELD = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGKILL", "SIGSTOP", "SIGCONT"}
_HELD = {number for number in signal.valid_signals()
         if not (isinstance(number, signal.Signals) and number.name in _NEVER_HELD)}


@contextmanager
def put_off() -> Iterator[None]:
    """Within the block, in the main thread, signals wait.  What their handlers raise is raised at its end."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    # Another thread may receive them all the same; then Python calls the handler here.
    came: list[int] = []
    handlers = {number: handler for number in _HELD if callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for late in came:
            signal.raise_signal(late)
