"""The CPU back end: LLVM IR through llvmlite.  ``lower`` makes text, ``compile`` machine code."""
from jitcore.backends.base import Compiled, Lowered
from jitcore.backends.cpu.jit import compile
from jitcore.backends.cpu.lower import lower

__all__ = ["Compiled", "Lowered", "compile", "lower"]
