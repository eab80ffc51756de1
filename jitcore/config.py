"""Every option and environment variable of jitcore, in one table.

Job: read the environment once, at import, and hold the options of marked functions.  Invariants: no
other module reads an environment variable.  Any module may import this one.
"""
from __future__ import annotations

import logging
import os
from dataclasses import dataclass

#: name -> (default, meaning); ``docs/variables.md`` repeats this table.
VARIABLES = {
    "JITCORE": ("1", "0 makes the package inert: accelerate returns functions untouched"),
    "JITCORE_STRICT": ("0", "1 lets failures inside the compiler raise, and verifies the graph after each pass"),
    "JITCORE_HOT": ("100", "enable() marks a function after so many NumPy operations in it"),
    "JITCORE_OPTIMISE": ("2", "how far LLVM optimises native code, 0 to 3: for tests, less is slower code"),
    "JITCORE_MATH": ("own", "libm computes exp, log, sin... with the C library and its vector functions, within 4 ulp"),
    "JITCORE_LOG": ("", "comma-separated: found, compile, guards, leave, graph, kernels, llvm, asm; printed to stderr"),
}

PRECISIONS = ("default", "numpy")
DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class Options:
    """Options of one marked function.

    ``precision``: 'default' computes transcendental functions inline (vectorised), 'numpy' calls NumPy's own inner
    loops, bit-identical throughout.  ``device``: 'auto' runs calls with arrays on a device there, 'cuda' those with
    arrays of the host as well, 'cpu' none.
    """

    precision: str = "default"
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.device not in DEVICES:
            raise ValueError(f"device must be one of {DEVICES}, not {self.device!r}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {PRECISIONS}, not {self.precision!r}")


def variable(name: str) -> str:
    """The value of a variable of the table."""
    return os.environ.get(name, VARIABLES[name][0])


#: Limits of the compiler: what bounds compile time and memory.
#: A function's compilations come at once as long as they took less than this together; then they have to be asked for.
COMPILE_SECONDS = 1.0
MAX_REGIONS_PER_ENTRY = 64
MAX_REGIONS_PER_CODE = 512

#: Functions that enable() finds are marked while their compilation has taken no more than this: seconds, and a share of
#: the time since enable().
FOUND_SECONDS = 1.0
FOUND_SHARE = 0.1

inert = variable("JITCORE") == "0"
strict = variable("JITCORE_STRICT") == "1"
#: LLVM's level of optimisation; an unknown value counts as the usual one.
optimise_level = {"0": 0, "1": 1, "3": 3}.get(variable("JITCORE_OPTIMISE"), 2)
#: Whether exp, log, sin... are jitcore's own functions.
own_math = variable("JITCORE_MATH") != "libm"
log_topics = frozenset(topic.strip() for topic in variable("JITCORE_LOG").split(",") if topic.strip())

LOGGERS = {topic: logging.getLogger(f"jitcore.{topic}")
           for topic in ("found", "compile", "guards", "leave", "graph", "kernels", "llvm", "asm")}


def hot() -> int:
    """After how many operations ``enable()`` marks a function."""
    text = variable("JITCORE_HOT")
    try:
        return max(1, int(text))
    except ValueError:
        logging.getLogger("jitcore").warning("JITCORE_HOT must be a number, not %r", text)
        return int(VARIABLES["JITCORE_HOT"][0])


def set_up_logging() -> None:
    """Print the topics named in JITCORE_LOG to stderr."""
    unknown = log_topics - LOGGERS.keys()
    if unknown:
        logging.getLogger("jitcore").warning("JITCORE_LOG: unknown topics %s; known: %s",
                                             sorted(unknown), sorted(LOGGERS))
    for topic in log_topics & LOGGERS.keys():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("jitcore.%(topic)s: %(message)s", defaults={"topic": topic}))
        LOGGERS[topic].addHandler(handler)
        LOGGERS[topic].setLevel(logging.DEBUG)
        LOGGERS[topic].propagate = False
