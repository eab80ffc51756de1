"""Functions of vector math in LLVM modules.

Job: ``declare``, which a hook calls for a module under construction, and ``link``, which gives an optimised module the
definitions of those that it calls, and inlines them.  In between the loop vectoriser has replaced calls by calls of
vector variants, which it finds by an attribute of the scalar function (LLVM's vector function ABI), as it does for C
libraries; ``link`` then makes calls side by side into one (``joined``).

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
_SYMBOL = re.compile(r"@(jc\.math\.(\w+)\.([fd])(?:\.v(\d+))?(?:\.by(\d+))?)\(")


def symbol(name: str, dtype: str, lanes: int = 1, parts: int = 1) -> str:
    return f"jc.math.{name}.{dtype}" + (f".v{lanes}" if lanes > 1 else "") + (f".by{parts}" if parts > 1 else "")


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
    """Symbol, name, dtype, lanes and parts of the functions that a module of this text calls."""
    return sorted(set(_SYMBOL.findall("\n".join(line for line in text.splitlines() if " call " in line))))


@cache
def definition(name: str, dtype: str, lanes: int, parts: int, fma: bool, quiet: bool = True) -> str:
    """The text of a module that defines the function; ``parts``: how many vectors its vectors are joined from, which
    the code for rare arguments, as it need not be fast, takes one after the other.  ``quiet``: its comparisons raise no
    flag for NaN, which is for machines that have flags."""
    made = _defined(name, dtype, lanes, parts, fma)
    return quiet_compares(made) if quiet else made


def _defined(name: str, dtype: str, lanes: int, parts: int, fma: bool) -> str:
    function = FUNCTIONS[name]
    module = ir.Module()
    kind = register_type(dtype, lanes)
    type_ = ir.FunctionType(kind, [kind] * function.arity)
    made = ir.Function(module, type_, symbol(name, dtype, lanes, parts))
    for attribute in ("alwaysinline", "nounwind"):
        made.attributes.add(attribute)
    b = ir.IRBuilder(made.append_basic_block("entry"))
    kit = Kit(b, dtype, fma, lanes)
    args = [Num(kit, a) for a in made.args]
    if function.usual is None or function.rare is None:
        b.ret(function.full(kit, *args).raw)
        return str(module)
    narrow = register_type(dtype, lanes // parts)
    full = ir.Function(module, ir.FunctionType(narrow, [narrow] * function.arity), made.name + ".full")
    full.linkage = "internal"
    for attribute in ("noinline", "cold", "nounwind"):
        full.attributes.add(attribute)
    inside = Kit(ir.IRBuilder(full.append_basic_block("entry")), dtype, fma, lanes // parts)
    inside.ir.ret(function.full(inside, *(Num(inside, a) for a in full.args)).raw)
    rare, usual, done = (made.append_basic_block(n) for n in ("rare", "usual", "done"))
    branch = b.cbranch(function.rare(kit, *args).anywhere(), rare, usual)
    branch.set_weights([1, 10000])
    b.position_at_end(rare)
    slow = _by_parts(b, full, made.args, lanes, parts)
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


def _by_parts(b: ir.IRBuilder, function: ir.Function, args: list[ir.Value], lanes: int, parts: int) -> ir.Value:
    """The results of a function of narrower vectors."""
    def taken(first: ir.Value, second: ir.Value, start: int, count: int) -> ir.Value:
        return b.shuffle_vector(first, second, ir.Constant(ir.VectorType(ir.IntType(32), count),
                                                           list(range(start, start + count))))

    if parts == 1:
        return b.call(function, args)
    size = lanes // parts
    found = [b.call(function, [taken(a, ir.Constant(a.type, ir.Undefined), size * part, size) for a in args])
             for part in range(parts)]
    while len(found) > 1:
        size *= 2
        found = [taken(low, high, 0, size) for low, high in zip(found[::2], found[1::2])]
    return found[0]


def _group(calls: list[re.Match[str] | None]) -> int:
    """How many calls at the beginning of a list can be one: a power of 2, at most as many as the function is fastest
    with.  None may need the result of another."""
    first = calls[0]
    if first is None:
        return 1
    count, results = 1, [first["result"]]
    for call in calls[1:FUNCTIONS[first["name"]].together]:
        used = call and any(re.search(re.escape(result) + r"(?![\w.])", call["args"]) for result in results)
        if call is None or used or call["symbol"] != first["symbol"]:
            break
        count += 1
        results.append(call["result"])
    return 1 << (count.bit_length() - 1)


def _mask(first: int, count: int) -> str:
    return f"<{count} x i32> <" + ", ".join(f"i32 {first + i}" for i in range(count)) + ">"


def _joined(calls: list[re.Match[str]], unique: str) -> tuple[list[str], str]:
    """The lines in place of calls, and the declaration of what they call."""
    lanes, real = int(calls[0]["lanes"]), calls[0]["real"]
    narrow, wide = f"<{lanes} x {real}>", f"<{len(calls) * lanes} x {real}>"
    lines, args = [], []
    for number, parts in enumerate(zip(*(call["args"].split(", " + narrow) for call in calls))):
        values, count = [part.removeprefix(narrow).strip() for part in parts], lanes
        while len(values) > 1:
            kind = f"<{count} x {real}>"
            wider: list[str] = []
            for a, b in zip(values[::2], values[1::2]):
                wider.append(f"{unique}.{number}.{count}.{len(wider)}")
                lines.append(f"  {wider[-1]} = shufflevector {kind} {a}, {kind} {b}, {_mask(0, 2 * count)}")
            values, count = wider, 2 * count
        args.append(f"{wide} {values[0]}")
    name = symbol(calls[0]["name"], calls[0]["dtype"], len(calls) * lanes, len(calls))
    lines.append(f"  {unique} = call {wide} @{name}({', '.join(args)})")
    for number, call in enumerate(calls):
        mask = _mask(number * lanes, lanes)
        lines.append(f"  {call['result']} = shufflevector {wide} {unique}, {wide} poison, {mask}")
    return lines, f"declare {wide} @{name}({', '.join([wide] * len(args))})"


def joined(text: str) -> str:
    """The module with two or four calls of a vector variant, one right after the other, made into one that is as much
    wider.

    The loop vectoriser interleaves iterations and puts what they call side by side.  The code of a wide call alternates
    between its parts, so that each waits less for its own results, and asks once whether any argument is rare.
    """
    before = text.splitlines()
    calls = [_CALL.match(line) for line in before]
    after: list[str] = []
    wanted: set[str] = set()
    at = 0
    while at < len(before):
        count = _group(calls[at:at + 4])
        if count > 1:
            lines, declaration = _joined([call for call in calls[at:at + count] if call], f"%jc.joined.{at}")
            after += lines
            wanted.add(declaration)
        else:
            after.append(before[at])
        at += count
    return "\n".join([*after, *sorted(wanted)]) + "\n"


def link(module: llvm.ModuleRef, target: llvm.TargetMachine, fma: bool) -> llvm.ModuleRef:
    """Defines and inlines what the module, which must be optimised already, calls of these functions."""
    text = joined(str(module))
    if "%jc.joined." in text:
        module = llvm.parse_assembly(text)
    found = called(text)
    if not found:
        return module
    for whole, name, dtype, lanes, parts in found:
        module.link_in(llvm.parse_assembly(definition(name, dtype, int(lanes or 1), int(parts or 1), fma)))
        module.get_function(whole).linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    return module
