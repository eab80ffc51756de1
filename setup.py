"""Builds the extension module; everything else is in pyproject.toml."""
import os
import sysconfig
from glob import glob

import numpy
from setuptools import Extension, setup

_FLAGS = ["-O2", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter",
          "-Wno-missing-field-initializers", "-Wno-cast-function-type"]
if os.environ.get("JITCORE_WERROR") == "1":
    _FLAGS.append("-Werror")
if os.environ.get("JITCORE_DEBUG_BUILD") == "1":
    _FLAGS += ["-O0", "-g", "-UNDEBUG"]

_INCLUDE = sysconfig.get_path("include")

setup(
    ext_modules=[
        Extension(
            "jitcore._core",
            sources=sorted(glob("csrc/*.c")),
            depends=sorted(glob("csrc/*.h")),
            include_dirs=["csrc", numpy.get_include(), os.path.join(_INCLUDE, "internal")],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
                           ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION")],
            extra_compile_args=_FLAGS,
        )
    ]
)
