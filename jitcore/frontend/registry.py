"""The table of instruction handlers.

Job: ``handles`` registers a handler for canonical operations, ``HANDLERS`` finds it.  Invariants: one handler
an operation; a handler changes the running frame and the builder through the machine only.  The handler
modules (``handlers_*``) fill the table, ``machine`` reads it.

A handler is called with the machine and the instruction, ``frame.index`` already behind it.  If it raises
``Unsupported`` or ``Leaves`` the machine puts the operand stack back and makes the exit, so a handler may
pop first, but must not have changed anything else.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jitcore.bytecode import Instr

if TYPE_CHECKING:
    from jitcore.frontend.machine import Machine

Handler = Callable[["Machine", Instr], None]

HANDLERS: dict[str, Handler] = {}

#: Canonical operations that no region contains, and why.
LEFT: dict[str, str] = {
    "LOAD_NAME": "only in class bodies and modules",
    "STORE_NAME": "only in class bodies and modules",
    "DELETE_NAME": "only in class bodies and modules",
    "LOAD_BUILD_CLASS": "making a class",
    "DELETE_GLOBAL": "deleting a global",
}


def handles(*ops: str) -> Callable[[Handler], Handler]:
    """Register a handler for ``ops``."""
    def register(handler: Handler) -> Handler:
        for op in ops:
            assert op not in HANDLERS and op not in LEFT, op
            HANDLERS[op] = handler
        return handler
    return register
