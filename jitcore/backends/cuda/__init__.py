"""Running kernels on an NVIDIA device through cuda-python.

``driver`` talks to CUDA, ``array`` is what users hold, ``exchange`` shares memory with other libraries, ``execute``
runs plans whose kernels ``backends.nvvm`` has made.  Nothing of CUDA is imported before a device is asked for.
"""
