"""CPython's bytecode as one canonical instruction stream.

Job: hide the differences between CPython 3.11, 3.12 and 3.13.  Invariant: nothing above this package
knows a CPython version's instructions.  The front end calls ``decode``; see ``canonical`` for what
comes out.
"""
from jitcore.bytecode.decode import Code, Handler, Instr, decode

__all__ = ["Code", "Handler", "Instr", "decode"]
