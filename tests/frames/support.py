"""Hand-made regions: native functions, guard programs, exits and positions in code."""
from __future__ import annotations

import dis
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

import llvmlite.binding as llvm

from jitcore import _core

V = sys.version_info[:2]
UNBOUND = _core.UNBOUND
NULL = ("null",)
RESTART = ("restart", (), 0, 0, 0, 0, 0, "", None, "", 0)

_engines: list[Any] = []


def native(body: str, **declared: str) -> int:
    """The address of ``int32 f(ctx)`` with this body, which may use %in, %out, %own and %kernels (pointers)."""
    if not _engines:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    ir = """
    define i32 @f(ptr %ctx) {
      %in = load ptr, ptr %ctx
      %p.out = getelementptr i8, ptr %ctx, i64 8
      %out = load ptr, ptr %p.out
      %p.own = getelementptr i8, ptr %ctx, i64 16
      %own = load ptr, ptr %p.own
      %kernels = getelementptr i8, ptr %ctx, i64 24
      store i64 1, ptr %kernels
    """ + body + "\n}"
    module = llvm.parse_assembly(ir)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    _engines.append(engine)
    return engine.get_function_address("f")


_cache: dict[int, int] = {}


def exiting(k: int) -> int:
    """Native code that takes exit ``k`` at once."""
    if k not in _cache:
        _cache[k] = native(f"ret i32 {k}")
    return _cache[k]


_sums: dict[int, int] = {}


def adding(k: int = 1) -> int:
    """Native code that adds its first two inputs and takes exit ``k``."""
    if k not in _sums:
        _sums[k] = native(f"""
          %p1 = getelementptr i64, ptr %in, i64 1
          %a = load i64, ptr %in
          %b = load i64, ptr %p1
          %s = add i64 %a, %b
          store i64 %s, ptr %out
          ret i32 {k}""")
    return _sums[k]


def ints(*slots: int) -> tuple[Any, ...]:
    """A guard program: these slots hold ints; source and input word ``k`` are those of slot ``k`` of the list."""
    ops: list[Any] = []
    for k, slot in enumerate(slots):
        ops += [("local", k, k, slot), ("load_int", k, k, k)]
    return (len(slots), len(slots), len(slots), tuple(ops))


def objects(*slots: int) -> tuple[Any, ...]:
    """A guard program that reads these slots, whatever they hold."""
    ops: list[Any] = []
    for k, slot in enumerate(slots):
        ops += [("local", k, k, slot), ("load_object", k, k, k)]
    return (len(slots), len(slots), len(slots), tuple(ops))


def const(obj: object) -> tuple[Any, ...]:
    return ("const", obj)


def src(k: int) -> tuple[Any, ...]:
    return ("src", k)


def word(k: int, code: str = "i") -> tuple[Any, ...]:
    return ("word", k, code)


def ret(recipe: Any) -> tuple[Any, ...]:
    return ("return", (recipe,), 0, 0, 0, 0, 0, "", None, "", 0)


def leave(locals: Any, stack: Any, unit: int) -> tuple[Any, ...]:
    return ("leave", (*locals, *stack), len(locals), len(stack), 0, unit, 0, "", None, "reason", 1)


def call(locals: Any, stack: Any, operands: Any, unit: int, next_unit: int, site: str, arg: Any = None) -> Any:
    return ("call", (*locals, *stack, *operands), len(locals), len(stack), len(operands), unit, next_unit, site, arg,
            "", 1)


def region(address: int, guards: Any, *exits: Any, n_out: int = 1, work: int = 1, keep: Any = None) -> _core.Region:
    return _core.Region(address, guards, exits, n_out, 0, work, keep, "test")


def instructions(f: Any) -> list[dis.Instruction]:
    return list(dis.get_instructions(f))


def unit_of(f: Any, opname: str, argval: Any = ..., nth: int = 0) -> int:
    """The unit of the nth such instruction, EXTENDED_ARG included.  ``opname`` is a prefix."""
    found = instructions(f)
    hits = [k for k, i in enumerate(found)
            if i.opname.startswith(opname) and (argval is ... or i.argval == argval)]
    k = hits[nth]
    while k and found[k - 1].opname == "EXTENDED_ARG":
        k -= 1
    return found[k].offset // 2


def after(f: Any, unit: int) -> int:
    """The unit of the instruction behind the one at ``unit``."""
    return min(i.offset // 2 for i in instructions(f) if i.offset // 2 > unit)


@cache
def call_of(f: Any, name: str, nth: int = 0) -> tuple[int, int]:
    """(unit, next unit) of the CALL that belongs to the nth LOAD_GLOBAL or LOAD_DEREF of ``name``."""
    found = instructions(f)
    k = [k for k, i in enumerate(found) if i.opname.startswith("LOAD_") and i.argval == name][nth]
    while found[k].opname not in ("CALL", "CALL_KW"):
        k += 1
    return found[k].offset // 2, found[k + 1].offset // 2


def slot(f: FunctionType | CodeType, name: str) -> int:
    c = f if isinstance(f, CodeType) else f.__code__
    names = c.co_varnames + tuple(x for x in c.co_cellvars if x not in c.co_varnames) + c.co_freevars
    return names.index(name)


def n_slots(f: FunctionType) -> int:
    c = f.__code__
    return len(c.co_varnames + tuple(x for x in c.co_cellvars if x not in c.co_varnames) + c.co_freevars)


def slots(f: FunctionType, missing: Any = UNBOUND, **values: Any) -> tuple[Any, ...]:
    """All slots of a frame of ``f``: these values by name, ``missing`` elsewhere."""
    out = [missing] * n_slots(f)
    for name, value in values.items():
        out[slot(f, name)] = value
    return tuple(out)


@contextmanager
def marked(f: FunctionType, *regions: tuple[int, _core.Region]) -> Iterator[None]:
    """``f`` marked, with these (unit, region)."""
    _core.remove_regions(f.__code__)
    _core.reset_counters(f.__code__)
    for unit, r in regions:
        _core.add_region(f.__code__, unit, r)
    _core.mark(f)
    try:
        yield
    finally:
        _core.unmark(f)
        _core.remove_regions(f.__code__)


@contextmanager
def handler(h: Any) -> Iterator[None]:
    old = _core.set_miss_handler(h)
    try:
        yield
    finally:
        _core.set_miss_handler(old)


def traceback(tb: TracebackType | None) -> list[tuple[str, int]]:
    """(function, line) of a traceback, outermost first."""
    out = []
    while tb is not None:
        out.append((tb.tb_frame.f_code.co_name, tb.tb_lineno))
        tb = tb.tb_next
    return out


def frames(f: FrameType | None) -> list[FrameType]:
    out = []
    while f is not None:
        out.append(f)
        f = f.f_back
    return out


def rss() -> int:
    """Resident memory in KiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4


def assert_no_leak(run: Callable[[], Any], objects: tuple[Any, ...] = (), n: int = 30_000, kib: int = 400) -> None:
    """``n`` calls of ``run`` change no reference count of ``objects`` and hardly any memory."""
    for _ in range(min(n, 2000)):
        run()
    gc.collect()
    # The list of all objects takes memory itself.
    counts, known, before = [sys.getrefcount(o) for o in objects], len(gc.get_objects()), rss()
    for _ in range(n):
        run()
    gc.collect()
    assert [sys.getrefcount(o) for o in objects] == counts
    assert rss() - before < kib
    assert len(gc.get_objects()) - known < 20
