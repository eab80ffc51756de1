"""Functions of vector math in LLVM modules.

Job: ``declare``, which a hook calls for a module under construction, and ``link``, which gives an optimised module the
definitions of those that it calls, and inlines them.  In between the loop vectoriser has replaced calls by calls of
vector variants, which it finds by an attribute of the scalar function (LLVM's vector function ABI), as it does for C
libraries; ``link`` then makes two calls side by side into one of twice the width (``paired``).

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
_CALL = re.compile(r"^\s*(?P<result>%[\w.]+) = (?:tail )?call <(?P<lanes>\d+) x (?P<real>double|float)> "
                   r"@(?P<symbol>jc\.math\.(?P<name>\w+)\.(?P<dtype>[fd])\.v\d+)\((?P<args>.*?)\)(?: #\d+)?$")
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


@cache
def definition(name: str, dtype: str, lanes: int, fma: bool) -> str:
    """The text of a module that defines the function."""
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
        return quiet_compares(str(module))
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
    return quiet_compares(str(module))


def _joinable(first: re.Match[str], second: re.Match[str]) -> bool:
    """Whether these are calls of one function that is faster in pairs, the second without the result of the first."""
    return (first["symbol"] == second["symbol"] and FUNCTIONS[first["name"]].paired
            and not re.search(re.escape(first["result"]) + r"(?![\w.])", second["args"]))


def _joined(first: re.Match[str], second: re.Match[str], unique: str) -> tuple[list[str], str]:
    """The lines in place of two calls, and the declaration of what they call."""
    lanes, real = int(first["lanes"]), first["real"]
    narrow, wide = f"<{lanes} x {real}>", f"<{2 * lanes} x {real}>"
    *indices, = (f"i32 {i}" for i in range(2 * lanes))
    lines, args = [], []
    for number, pair in enumerate(zip(*(call["args"].split(", " + narrow) for call in (first, second)))):
        a, b = (arg.removeprefix(narrow) for arg in pair)
        lines.append(f"  {unique}.{number} = shufflevector {narrow}{a}, {narrow}{b}, "
                     f"<{2 * lanes} x i32> <{', '.join(indices)}>")
        args.append(f"{wide} {unique}.{number}")
    name = symbol(first["name"], first["dtype"], 2 * lanes)
    lines.append(f"  {unique} = call {wide} @{name}({', '.join(args)})")
    for call, half in ((first, indices[:lanes]), (second, indices[lanes:])):
        lines.append(f"  {call['result']} = shufflevector {wide} {unique}, {wide} poison, "
                     f"<{lanes} x i32> <{', '.join(half)}>")
    return lines, f"declare {wide} @{name}({', '.join([wide] * len(args))})"


def paired(text: str) -> str:
    """The module with two calls of a vector variant, one right after the other, made into one of twice the width.

    The loop vectoriser interleaves iterations and puts what they call side by side.  The code of a pair alternates
    between the two, so that one waits less for its own results, and asks once whether any argument is rare.
    """
    before = text.splitlines()
    calls = [_CALL.match(line) for line in before] + [None]
    after: list[str] = []
    wanted: set[str] = set()
    at = 0
    while at < len(before):
        first, second = calls[at:at + 2]
        if first and second and _joinable(first, second):
            lines, declaration = _joined(first, second, f"%jc.pair.{at}")
            after += lines
            wanted.add(declaration)
            at += 2
        else:
            after.append(before[at])
            at += 1
    known = {match[1] for line in before if line.startswith("declare") for match in _SYMBOL.finditer(line)}
    after += sorted(line for line in wanted if not known.intersection(m[0] for m in _SYMBOL.findall(line)))
    return "\n".join(after) + "\n"


def link(module: llvm.ModuleRef, target: llvm.TargetMachine, fma: bool) -> llvm.ModuleRef:
    """Defines and inlines what the module, which must be optimised already, calls of these functions."""
    text = paired(str(module))
    if "%jc.pair." in text:
        module = llvm.parse_assembly(text)
    found = sorted(set(_SYMBOL.findall("\n".join(line for line in text.splitlines() if " call " in line))))
    if not found:
        return module
    for whole, name, dtype, lanes in found:
        module.link_in(llvm.parse_assembly(definition(name, dtype, int(lanes or 1), fma)))
        module.get_function(whole).linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    return module
