"""Fused kernels for NVIDIA GPUs: kernel IR to LLVM IR to PTX.  No GPU, driver or CUDA toolkit is needed for that."""
from jitcore.backends.nvvm.lower import DeviceCode, lower

__all__ = ["DeviceCode", "lower"]
