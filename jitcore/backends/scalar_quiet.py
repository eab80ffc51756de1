"""Quiet comparisons: a NaN that is compared must not look like an invalid operation.

Job: ``quiet_compares``, a rewriting of optimised LLVM IR text.  For ``fcmp`` with ``<`` or ``<=`` x86 back ends choose
the signalling instruction in vector code and in selects, which sets the INVALID flag for any NaN.  The
same is made of ``==`` with an infinity, which is ``>=``.  The flags would then be useless as the filter for NumPy's
reports, and data with NaN slow.  Only LLVM's constrained comparison
intrinsic has the quiet form; the loop vectoriser does not know it, so it is put in afterwards.
What carries ``MARK`` may set flags: code for single numbers, which would pay for it with jumps in place of choices.
Invariants: results are unchanged; only float and double comparisons of ordering and with infinities are touched.
Used by the CPU back end between optimisation and code generation.
"""
from __future__ import annotations

import re

#: The kind of metadata on comparisons that may signal.
MARK = "jc.signals"
_FCMP = re.compile(
    r"^(?P<head>\s*%\S+ = )fcmp (?P<pred>[ou][lg][te]|(?:oeq|une)(?=.*0x[7Ff][Ff][Ff]0000000000000)) "
    r"(?P<type>float|double|<\d+ x (?:float|double)>) (?P<operands>.+)$", re.MULTILINE)
_SHORT = {"float": "f32", "double": "f64"}


def _operands(text: str) -> tuple[str, str, str]:
    """The two operands of an instruction, and what follows them (metadata)."""
    depth, parts, start = 0, [], 0
    for position, character in enumerate(text):
        if character in "(<{[":
            depth += 1
        elif character in ")>}]":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    parts.append(text[start:].strip())
    return parts[0], parts[1], "".join(f", {p}" for p in parts[2:])


def quiet_compares(text: str) -> str:
    """The module with each ordering comparison of floats made quiet."""
    declared: dict[str, str] = {}

    def replace(match: re.Match[str]) -> str:
        kind = match["type"]
        if f"!{MARK} " in match["operands"]:
            return match[0]
        first, second, rest = _operands(match["operands"])
        if kind in _SHORT:
            suffix, result = _SHORT[kind], "i1"
        else:
            lanes, _, element = kind[1:-1].partition(" x ")
            suffix, result = f"v{lanes}{_SHORT[element]}", f"<{lanes} x i1>"
        name = f"llvm.experimental.constrained.fcmp.{suffix}"
        declared[name] = f"declare {result} @{name}({kind}, {kind}, metadata, metadata)"
        return (f'{match["head"]}call {result} @{name}({kind} {first}, {kind} {second}, metadata !"{match["pred"]}", '
                f'metadata !"fpexcept.strict"){rest}')

    rewritten = _FCMP.sub(replace, text)
    return rewritten + "".join(f"\n{line}\n" for line in declared.values())
