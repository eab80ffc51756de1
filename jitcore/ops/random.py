"""Scalar draws from NumPy's generators, by the C functions that NumPy itself calls.

Job: ``DRAWS``, by method of ``Generator``: the function in NumPy's extension module, its arguments and what they must
be.  Invariants: a draw is used only after ``is_exact`` has compared a stream of it with NumPy's own on a generator made
for that: numbers, and the state afterwards.  Where the function cannot be had nothing is native.  Used by the front end
(arguments, types) and the back end (addresses); ``ir.interp`` calls ``Draw.method``.

The functions are those of NumPy's header ``numpy/random/distributions.h``, which the extension module exports where the
platform does that; the bit generator is reached by the documented capsule.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from numpy.random import PCG64, Generator, _generator

from jitcore.ir.types import FLOAT, INT, ScalarType, strong

#: What an argument must be: any number, not below zero (nor -0.0), above zero, in (0, 1].
ANY, NOT_NEGATIVE, POSITIVE, PROBABILITY = "any", "not negative", "positive", "probability"

_ROUNDS = 24


@dataclass(frozen=True)
class Draw:
    """One method.  ``parameters``: names, defaults (``...``: none) and conditions, in order; ``symbol``: the C function
    of a bit generator and these numbers as doubles (``span``: the second one less the first).  ``bounded``: integers
    from ``low`` to ``high``, both included.  ``method`` is the definition: of a generator and the numbers."""

    name: str
    symbol: str
    parameters: tuple[tuple[str, Any, str], ...] = ()
    result: ScalarType = FLOAT
    bounded: bool = False
    span: bool = False
    samples: tuple[tuple[float, ...], ...] = field(default=())

    def method(self, owner: Any, *numbers: Any) -> Any:
        if self.bounded:
            return owner.integers(*numbers, endpoint=True)
        return getattr(owner, self.name)(*numbers)

    @property
    def address(self) -> int | None:
        return _address(self.symbol)

    def is_exact(self) -> bool:
        """Whether the C function gives NumPy's own numbers and leaves NumPy's own state."""
        return _is_exact(self)


@cache
def _module() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(_generator.__file__)
    except OSError:
        return None


@cache
def _address(symbol: str) -> int | None:
    try:
        return ctypes.cast(getattr(_module(), symbol), ctypes.c_void_p).value
    except AttributeError:
        return None


def _pointer(generator: Generator) -> int:
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found: int = read(generator.bit_generator.capsule, b"BitGenerator")
    return found


def _caller(draw: Draw) -> Callable[..., Any]:
    """The C function as a Python function of the bit generator's address and the numbers."""
    address = draw.address
    assert address is not None
    if draw.bounded:
        kinds = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_ssize_t, ctypes.c_bool, ctypes.c_void_p
        fill = ctypes.CFUNCTYPE(None, *kinds)(address)

        def bounded(bits: int, low: int, high: int) -> int:
            out = ctypes.c_int64()
            fill(bits, low % 2**64, high - low, 1, False, ctypes.addressof(out))
            return out.value

        return bounded
    number = ctypes.c_double if draw.result == FLOAT else ctypes.c_int64
    function = ctypes.CFUNCTYPE(number, ctypes.c_void_p, *[ctypes.c_double] * len(draw.parameters))(address)
    return (lambda bits, low, high: function(bits, low, high - low)) if draw.span else function


@cache
def _is_exact(draw: Draw) -> bool:
    if draw.address is None:
        return False
    ours, theirs = Generator(PCG64(20_26)), Generator(PCG64(20_26))
    call, bits = _caller(draw), _pointer(ours)
    for numbers in draw.samples or ((),):
        for _ in range(_ROUNDS):
            a, b = call(bits, *numbers), draw.method(theirs, *numbers)
            if not (a == b or (a != a and b != b)):
                return False
            kind = draw.result.dtype.type if not draw.result.weak else {"f": float, "i": int}[draw.result.dtype.kind]
            if type(b) is not kind:
                return False
    return bool(ours.bit_generator.state == theirs.bit_generator.state)


def _draw(name: str, *parameters: tuple[str, Any, str], symbol: str = "", result: ScalarType = FLOAT,
          samples: tuple[tuple[float, ...], ...] = ()) -> Draw:
    if parameters and not samples:
        samples = (tuple(0.5 for _ in parameters), tuple(3.25 + k for k, _ in enumerate(parameters)))
    return Draw(name, symbol or f"random_{name}", parameters, result, samples=samples)


_ALL = (
    _draw("random", symbol="random_standard_uniform"),
    _draw("standard_normal"),
    _draw("standard_exponential"),
    _draw("standard_cauchy"),
    _draw("normal", ("loc", 0.0, ANY), ("scale", 1.0, NOT_NEGATIVE)),
    _draw("exponential", ("scale", 1.0, NOT_NEGATIVE)),
    _draw("laplace", ("loc", 0.0, ANY), ("scale", 1.0, NOT_NEGATIVE)),
    _draw("gumbel", ("loc", 0.0, ANY), ("scale", 1.0, NOT_NEGATIVE)),
    _draw("logistic", ("loc", 0.0, ANY), ("scale", 1.0, NOT_NEGATIVE)),
    _draw("lognormal", ("mean", 0.0, ANY), ("sigma", 1.0, NOT_NEGATIVE)),
    _draw("rayleigh", ("scale", 1.0, NOT_NEGATIVE)),
    _draw("gamma", ("shape", ..., NOT_NEGATIVE), ("scale", 1.0, NOT_NEGATIVE)),
    _draw("standard_gamma", ("shape", ..., NOT_NEGATIVE)),
    _draw("beta", ("a", ..., POSITIVE), ("b", ..., POSITIVE)),
    _draw("chisquare", ("df", ..., POSITIVE)),
    _draw("f", ("dfnum", ..., POSITIVE), ("dfden", ..., POSITIVE)),
    _draw("standard_t", ("df", ..., POSITIVE)),
    _draw("vonmises", ("mu", ..., ANY), ("kappa", ..., NOT_NEGATIVE)),
    _draw("pareto", ("a", ..., POSITIVE)),
    _draw("weibull", ("a", ..., POSITIVE)),
    _draw("power", ("a", ..., POSITIVE)),
    _draw("wald", ("mean", ..., POSITIVE), ("scale", ..., POSITIVE)),
    _draw("poisson", ("lam", 1.0, NOT_NEGATIVE), result=INT, samples=((0.0,), (3.5,), (55.0,))),
    _draw("geometric", ("p", ..., PROBABILITY), result=INT, samples=((0.5,), (0.1,), (1.0,))),
    Draw("uniform", "random_uniform", (("low", 0.0, ANY), ("high", 1.0, ANY)), span=True,
         samples=((0.0, 1.0), (-0.3, 2.1))),
    Draw("integers", "random_bounded_uint64_fill", (("low", ..., ANY), ("high", ..., ANY)), strong("l"), bounded=True,
         samples=((0, 9), (-5, 5), (0, 2**31), (0, 2**32 - 1), (0, 2**32), (-2**63, 2**63 - 1), (7, 7))),
)

DRAWS: dict[str, Draw] = {draw.name: draw for draw in _ALL}

#: The methods as the class holds them, by identity: what they are is a matter of NumPy's build.
METHODS: dict[int, tuple[object, Draw]] = {
    id(found): (found, draw) for draw in _ALL for found in (vars(Generator)[draw.name],)}


def of_method(target: object) -> Draw | None:
    """The draw that a method of the class stands for, None for other objects."""
    known = METHODS.get(id(target))
    return known[1] if known is not None and known[0] is target else None
