"""What a back end gives: code as text, and code that runs.

Job: the two data structures between ``backends`` and ``pipeline``.  Invariants: ``Lowered`` is plain
data (text and addresses); ``Compiled`` keeps everything alive that its machine code refers to.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jitcore.kernels.ir import Plan


@dataclass(frozen=True)
class Part:
    """A piece of code of its own: LLVM IR, its function, and what it refers to."""

    symbol: str
    llvm: str
    symbols: dict[str, int]
    keepalive: tuple[object, ...]


@dataclass(frozen=True)
class Lowered:
    """A region as LLVM IR.  ``symbol`` is its function, ``int32 (jc_ctx *)``.

    ``n_out`` counts words of exit values, ``n_own`` the slots for owned references; ``symbols`` are the
    addresses that the code refers to by name; ``keepalive`` the objects behind addresses in it.
    ``has_work`` says whether it runs a kernel or computes with numbers.  ``checked[k]`` makes the code of a
    kernel's checked variant, which is compiled when first asked for: the code then calls the function at
    ``<symbol>.hook`` with ``k`` and expects the variant's address at ``<symbol>.checked<k>`` later on.
    """

    symbol: str
    llvm: str
    plan: Plan
    n_out: int
    n_own: int
    has_work: bool
    checked: tuple[Callable[[], Part], ...] = ()
    symbols: dict[str, int] = field(default_factory=dict)
    keepalive: tuple[object, ...] = ()

    def as_text(self, stage: str) -> str:
        """``'kernels'`` or ``'llvm'``; ``KeyError`` for another stage."""
        return {"kernels": lambda: str(self.plan), "llvm": lambda: self.llvm}[stage]()


@dataclass(frozen=True)
class Compiled:
    """Machine code at ``address``; ``asm()`` gives it as assembly text."""

    address: int
    lowered: Lowered
    asm: Callable[[], str]
    seconds: float
    keepalive: tuple[Any, ...]

    def as_text(self, stage: str) -> str:
        """``'kernels'``, ``'llvm'`` or ``'asm'``."""
        return self.asm() if stage == "asm" else self.lowered.as_text(stage)
