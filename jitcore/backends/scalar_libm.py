"""Functions of the C library for scalar code on x86-64: scalar ones, and glibc's vector variants.

Job: ``LibmHook``, the ``MathHook`` of the CPU back end.  A function called through ``vector`` is jitcore's own
(``backends.math``) unless the C library is asked for, or alone has it.  It carries the
attribute from which LLVM's loop vectoriser learns its vector variants (the C library's: glibc's libmvec, present from
glibc 2.22 and nearly complete from 2.35; where libmvec is absent the scalar function stays).  A function
called through ``libm`` has a symbol of its own, ``jc_libm_<name>``, so that LLVM, which knows the meaning of
``pow`` or ``log``, cannot rewrite it: these have the bits of the scalar C function.  ``pow(x, 2.0)`` is the product
where that is certain to be what the library gives.

Invariants: a vector variant is declared only if the library has it; AVX-512 variants (``_ZGVe``) only if
the machine has AVX-512F, and code that uses them must not narrow ``min-legal-vector-width``.  Used by
``backends.cpu`` and the tests of ``ops``.
"""
from __future__ import annotations

import ctypes
import ctypes.util
import math
import os
from functools import cache, lru_cache

import llvmlite.binding as llvm
from llvmlite import ir

from jitcore import config
from jitcore.backends.math import FUNCTIONS
from jitcore.backends.math.link import declare, symbol
from jitcore.backends.scalar import register_type

#: Functions of one and of two arguments that libmvec may have.
VECTOR_NAMES = {
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp",
                     "exp10", "exp2", "expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh"), 1),
    "atan2": 2, "hypot": 2, "pow": 2,
}
#: ISA letter of the vector ABI, the feature it needs, and bytes in a register.
_ISAS = (("d", "avx2", 32), ("e", "avx512f", 64))

#: The oldest glibc whose ``pow`` says how far it is off: in units of the last place 0.511, and 0.033 more as the
#: logarithm of the result grows to the largest; where it is computed with FMA 0.509 and 0.028.
_EXACT_POW = (2, 28)
#: A square between 2**-n and 2**n (n, c) whose product's error is less than c has no other ``pow``: c is less than 1
#: less how far that is off.
_ANY, _WITH_FMA = (120, 31 / 64), (48, 0.4896)
#: Numbers and their squares by ``pow`` with FMA, where that without gives another one.
_FMA_SQUARES = (
    ("0x1.f0a63b79f28c7p-8", "0x1.e1c24934ddec1p-15"), ("0x1.da48aa5d8bf31p+0", "0x1.b75895c1581f9p+1"),
    ("0x1.34d976fc194bcp+0", "0x1.749bff098b8e9p+0"), ("0x1.abe8d110e3d2fp+0", "0x1.65a13e94f8ad9p+1"),
    ("0x1.7fa3f9658eed3p+0", "0x1.1f7606a2b5fa3p+1"), ("0x1.85f7cbd5d7061p-8", "0x1.290580a96c351p-15"),
    ("0x1.4542668ea14afp-16", "0x1.9d41a99f30297p-32"), ("0x1.19ad8e83a2db8p-24", "0x1.35ee7886e8c65p-48"),
)


@lru_cache(maxsize=1)
def _libmvec() -> ctypes.CDLL | None:
    """glibc's vector library, made known to LLVM; ``None`` where there is none."""
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None
    llvm.load_library_permanently("libmvec.so.1")
    return library


@lru_cache(maxsize=1)
def _libm() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")


@lru_cache(maxsize=1)
def _features() -> frozenset[str]:
    return frozenset(name for name, on in llvm.get_host_cpu_features().items() if on)


@cache
def vector_variants(name: str, dtype: str) -> tuple[tuple[int, str], ...]:
    """``(lanes, symbol)`` of the vector variants of a function that this machine can run."""
    library, arity = _libmvec(), VECTOR_NAMES.get(name)
    if library is None or arity is None:
        return ()
    size, suffix = (4, "f") if dtype == "f" else (8, "")
    found = []
    for letter, feature, width in _ISAS:
        lanes = width // size
        symbol = f"_ZGV{letter}N{lanes}{'v' * arity}_{name}{suffix}"
        if feature in _features() and hasattr(library, symbol):
            found.append((lanes, symbol))
    return tuple(found)


@cache
def _libm_symbol(name: str) -> str:
    """Makes ``jc_libm_<name>`` known to LLVM; ``KeyError`` if the C library lacks the function."""
    try:
        function = getattr(_libm(), name)
    except AttributeError:
        raise KeyError(name) from None
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    llvm.add_symbol(f"jc_libm_{name}", address)
    return f"jc_libm_{name}"


@lru_cache(maxsize=1)
def _squares() -> tuple[tuple[int, float], ...]:
    """What is known of the error of this library's ``pow``, the most precise first; nothing where the machine does not
    tell a product's error in one step."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        known = name == "glibc" and tuple(int(part) for part in version.split(".")[:2]) >= _EXACT_POW
    except (AttributeError, OSError, ValueError):
        return ()
    if not known or not has_fma():
        return ()
    fused = all(float.fromhex(x) ** 2.0 == float.fromhex(square) for x, square in _FMA_SQUARES)
    return (_WITH_FMA, _ANY) if fused else (_ANY,)


def has_fma() -> bool:
    """Whether the machine multiplies and adds with one rounding."""
    return "fma" in _features()


def _attribute(function: ir.Function, text: str) -> None:
    """An attribute that llvmlite's own list does not know (it prints what the set holds)."""
    set.add(function.attributes, text)


class LibmHook:
    """The C library's functions for the code of one LLVM module.

    ``finish()`` must be called once, after all code is emitted: it keeps the vector variants alive.
    """

    def __init__(self, module: ir.Module, vector: bool = True, own: bool | None = None) -> None:
        self.module = module
        self.use_vector, self.own = vector, config.own_math if own is None else own
        self._variants: dict[str, ir.Function] = {}

    def vector(self, b: ir.IRBuilder, name: str, dtype: str, args: list[ir.Value]) -> ir.Value:
        if self.own and name in FUNCTIONS:
            return b.call(self._own(name, dtype), args)
        return b.call(self._declare(name, dtype, len(args)), args)

    def _own(self, name: str, dtype: str) -> ir.Function:
        """jitcore's own function, which ``math.link`` defines once the module is optimised."""
        known = self.module.globals.get(symbol(name, dtype))
        if known is not None:
            return known
        function, variants = declare(self.module, name, dtype)
        if self.use_vector:
            self._variants.update((variant.name, variant) for variant in variants)
        return function

    def _declare(self, name: str, dtype: str, arity: int) -> ir.Function:
        symbol = name + ("f" if dtype == "f" else "")
        known = self.module.globals.get(symbol)
        if known is not None:
            return known
        kind = register_type(dtype)
        function = ir.Function(self.module, ir.FunctionType(kind, [kind] * arity), symbol)
        function.attributes.add("nounwind")
        _attribute(function, "willreturn")
        _attribute(function, "memory(none)")
        variants = vector_variants(name, dtype) if self.use_vector else ()
        for lanes, variant in variants:
            wide = ir.VectorType(kind, lanes)
            self._variants[variant] = ir.Function(self.module, ir.FunctionType(wide, [wide] * arity), variant)
        if variants:
            mapping = ",".join(f"_ZGV_LLVM_N{lanes}{'v' * arity}_{symbol}({variant})" for lanes, variant in variants)
            _attribute(function, f'"vector-function-abi-variant"="{mapping}"')
        return function

    def libm(self, b: ir.IRBuilder, name: str, args: list[ir.Value]) -> ir.Value:
        if name == "pow" and _squares():
            y = args[1]
            if not isinstance(y, ir.Constant):
                return b.call(self._pow(), args)
            if y.constant == 2.0:
                return b.call(self._square(), args[:1])
        return b.call(self._scalar(name, len(args)), args)

    def _scalar(self, name: str, arity: int) -> ir.Function:
        """The C function itself."""
        symbol = _libm_symbol(name)
        function = self.module.globals.get(symbol)
        if function is None:
            kind = ir.DoubleType()
            function = ir.Function(self.module, ir.FunctionType(kind, [kind] * arity), symbol)
            function.attributes.add("nounwind")
            _attribute(function, "willreturn")
            _attribute(function, "memory(none)")
        return function

    def _inlined(self, name: str, arity: int) -> ir.Function:
        """A function of doubles that this module defines."""
        double = ir.DoubleType()
        function = ir.Function(self.module, ir.FunctionType(double, [double] * arity), name)
        function.linkage = "internal"
        function.attributes.add("alwaysinline")
        function.attributes.add("nounwind")
        return function

    def _pow(self) -> ir.Function:
        """``pow`` of an exponent that is not known."""
        known = self.module.globals.get("jc.pow")
        if known is not None:
            return known
        word = ir.IntType(64)
        function = self._inlined("jc.pow", 2)
        x, y = function.args
        entry, square, call = (function.append_basic_block(n) for n in ("entry", "square", "call"))
        b = ir.IRBuilder(entry)
        b.cbranch(b.icmp_unsigned("==", b.bitcast(y, word), ir.Constant(word, 1 << 62)), square, call)     # 2.0
        b.position_at_end(square)
        b.ret(b.call(self._square(), [x]))
        b.position_at_end(call)
        b.ret(b.call(self._scalar("pow", 2), [x, y]))
        return function

    def _square(self) -> ir.Function:
        """``pow(x, 2.0)``, which calls the library only if rounding might have gone either way.

        The product ``x * x`` is the square correctly rounded, and an FMA gives its error exactly; the product and a
        little more than 1/2c times its error round to the product only where the error is at most c.  Bits are
        compared, since a comparison of floats takes longer to decide a jump.  Inlined.  May raise
        flags that the library's would not: no flag is read behind code for single numbers, and kernels take flags for
        a hint only.
        """
        known = self.module.globals.get("jc.square")
        if known is not None:
            return known
        double, word = ir.DoubleType(), ir.IntType(64)
        function = self._inlined("jc.square", 1)
        x, = function.args
        entry, done = function.append_basic_block("entry"), function.append_basic_block("done")
        b = ir.IRBuilder(entry)
        near = b.fmul(x, x)
        error, bits = b.fma(x, x, b.fneg(near)), b.bitcast(near, word)
        size = b.lshr(bits, ir.Constant(word, 52))
        for most, close in _squares():
            moved = b.fma(error, ir.Constant(double, math.nextafter(0.5 / close, 2)), near)
            inside = b.icmp_unsigned("<", b.sub(size, ir.Constant(word, 1023 - most)), ir.Constant(word, 2 * most))
            same = b.icmp_unsigned("==", b.bitcast(moved, word), bits)
            call = function.append_basic_block("call")
            b.cbranch(b.and_(inside, same), done, call).set_weights([2000, 1])
            b.position_at_end(call)
        b.ret(b.call(self._scalar("pow", 2), [x, ir.Constant(double, 2.0)]))
        b.position_at_end(done)
        b.ret(near)
        return function

    def fmod(self, b: ir.IRBuilder, dtype: str, args: list[ir.Value]) -> ir.Value:
        return b.frem(*args)

    def finish(self) -> None:
        """Keeps the declared vector variants until the vectoriser has run."""
        if not self._variants:
            return
        pointers = [ir.FormattedConstant(ir.PointerType(), f'@"{name}"') for name in self._variants]
        kind = ir.ArrayType(ir.PointerType(), len(pointers))
        used = ir.GlobalVariable(self.module, kind, "llvm.compiler.used")
        used.linkage, used.section = "appending", "llvm.metadata"
        used.initializer = ir.Constant(kind, pointers)
