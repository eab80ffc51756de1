"""Fusion: graph to loop nests.  See docs/architecture.md, "Plan"."""
from jitcore.kernels.ir import Instr, Kernel, Output, Plan, Reduction
from jitcore.kernels.planner import plan

__all__ = ["Instr", "Kernel", "Output", "Plan", "Reduction", "plan"]
