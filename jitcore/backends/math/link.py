"""Functions of vector math in LLVM modules.

Job: ``declare``, which a hook calls for a module under construction, and ``link``, which gives an optimised module the
definitions of those that it calls, and inlines them.  In between the loop vectoriser has replaced calls by calls of
vector variants, which it finds by an attribute of the scalar function (LLVM's vector function ABI), as it does for C
libraries.

Invariants: a definition's text is made once a process for each format and number of lanes; comparisons in it are
quiet already.  Linked functions are internal, so that nothing is left of them but what was inlined and the code for
rare arguments.  Used by the math hooks of the back ends and by what compiles their modules.
"""
from __future__ import annotations

import re
from functools import cache

import llvmlite.binding as llvm
from llvmlite import ir

from jitcore.backends.math import FUNCTIONS
from jitcore.backends.math.kit import Kit, Num, register_type
from jitcore.backends.scalar_quiet import quiet_compares

#: Vectors that definitions can be asked for.
LANES = (2, 4, 8, 16)
#: What the names of these functions begin with.
MARK = "jc.math."
_SYMBOL = re.compile(r"@(jc\.math\.(\w+)\.([fd])(?:\.v(\d+))?)\(")


def symbol(name: str, dtype: str, lanes: int = 1) -> str:
    return f"jc.math.{name}.{dtype}" + (f".v{lanes}" if lanes > 1 else "")


def declare(module: ir.Module, name: str, dtype: str) -> tuple[ir.Function, list[ir.Function]]:
    """The scalar function, and its vector variants, which ``llvm.compiler.used`` must keep for the vectoriser."""
    arity = FUNCTIONS[name].arity
    made = []
    for lanes in (1, *LANES):
        kind = register_type(dtype, lanes)
        made.append(ir.Function(module, ir.FunctionType(kind, [kind] * arity), symbol(name, dtype, lanes)))
    scalar, variants = made[0], made[1:]
    mapping = ",".join(f"_ZGV_LLVM_N{lanes}{'v' * arity}_{scalar.name}({variant.name})"
                       for lanes, variant in zip(LANES, variants))
    scalar.attributes.add("nounwind")
    for text in ("willreturn", "memory(none)", f'"vector-function-abi-variant"="{mapping}"'):
        set.add(scalar.attributes, text)        # llvmlite's own list does not know them
    return scalar, variants


def called(text: str) -> list[tuple[str, ...]]:
    """Symbol, name, dtype and lanes of the functions that a module of this text calls."""
    return sorted(set(_SYMBOL.findall("\n".join(line for line in text.splitlines() if " call " in line))))


@cache
def definition(name: str, dtype: str, lanes: int, fma: bool, quiet: bool = True) -> str:
    """The text of a module that defines the function.  ``quiet``: its comparisons raise no flag for NaN, which is for
    machines that have flags."""
    made = _defined(name, dtype, lanes, fma)
    return quiet_compares(made) if quiet else made


def _defined(name: str, dtype: str, lanes: int, fma: bool) -> str:
    function = FUNCTIONS[name]
    module = ir.Module()
    kind = register_type(dtype, lanes)
    type_ = ir.FunctionType(kind, [kind] * function.arity)
    made = ir.Function(module, type_, symbol(name, dtype, lanes))
    for attribute in ("alwaysinline", "nounwind"):
        made.attributes.add(attribute)
    b = ir.IRBuilder(made.append_basic_block("entry"))
    kit = Kit(b, dtype, fma, lanes)
    args = [Num(kit, a) for a in made.args]
    if function.usual is None or function.rare is None:
        b.ret(function.full(kit, *args).raw)
        return str(module)
    full = ir.Function(module, type_, made.name + ".full")
    full.linkage = "internal"
    for attribute in ("noinline", "cold", "nounwind"):
        full.attributes.add(attribute)
    inside = Kit(ir.IRBuilder(full.append_basic_block("entry")), dtype, fma, lanes)
    inside.ir.ret(function.full(inside, *(Num(inside, a) for a in full.args)).raw)
    rare, usual, done = (made.append_basic_block(n) for n in ("rare", "usual", "done"))
    branch = b.cbranch(function.rare(kit, *args).anywhere(), rare, usual)
    branch.set_weights([1, 10000])
    b.position_at_end(rare)
    slow = b.call(full, made.args)
    b.branch(done)
    b.position_at_end(usual)
    fast = function.usual(kit, *args).raw
    b.branch(done)
    b.position_at_end(done)
    result = b.phi(kind)
    result.add_incoming(slow, rare)
    result.add_incoming(fast, usual)
    b.ret(result)
    return str(module)


def link(module: llvm.ModuleRef, target: llvm.TargetMachine, fma: bool) -> llvm.ModuleRef:
    """Defines and inlines what the module, which must be optimised already, calls of these functions."""
    found = called(str(module))
    if not found:
        return module
    for whole, name, dtype, lanes in found:
        module.link_in(llvm.parse_assembly(definition(name, dtype, int(lanes or 1), fma)))
        module.get_function(whole).linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    return module
