"""The generated page: a section for each NumPy release, names by how they ran.

Job: from outcomes to text and back.  Invariants: the text is a function of the outcomes; ``read`` gives again what
``section`` was made of.
"""
from __future__ import annotations

import re
import textwrap

import numpy as np

from . import GROUPS
from .measure import CALL, IN_REGION, LEFT, Outcome
from .worlds import Sample

PARTLY, WRONG, MISSING = "partly", "different", "missing"
#: How a name counts, in the order of the page.
KINDS = (*IN_REGION, PARTLY, CALL, LEFT, WRONG, MISSING)

_HEAD = """# NumPy's names, counted

Written by `benchmarks/coverage.py`, which calls each public name of NumPy inside an accelerated function, between two
operations on arrays, with arguments of several dtypes and memory layouts, and compares results, memory
layouts, flags, warnings, exceptions and changed arguments with plain NumPy's. How a call ran is read from the compiled
regions. Calls that warn or raise end a region by design; they are compared and do not count. A name counts as:

* **inline**: machine code of its own, or nothing at all (a view, a constant).
* **block**: NumPy's inner loop, called on blocks inside a fused kernel.
* **function**: NumPy's C function, called from native code on whole arrays or numbers.
* **inlined Python**: NumPy's own Python code, compiled into the region.
* **partly**: some of the calls in one of these ways, others as a *call*.
* **call**: done through Python, after which the region goes on.
* **left**: for some of the arguments the interpreter runs the rest of the function.
* **different**: some result is not plain NumPy's; **missing**: there are no arguments to try it with.
"""

Verdicts = dict[str, dict[str, str]]


def verdict(outcomes: list[tuple[Sample, Outcome]]) -> str:
    """How a name counts."""
    if not outcomes:
        return MISSING
    if any(outcome.wrong for _, outcome in outcomes):
        return WRONG
    ways = {outcome.how for sample, outcome in outcomes if sample.ordinary and outcome.how}
    if not ways:
        ways = {outcome.how for _, outcome in outcomes if outcome.how}
    if LEFT in ways:
        return LEFT
    if CALL in ways or not ways:
        return PARTLY if len(ways) > 1 else CALL
    return max(ways, key=KINDS.index)


def release() -> str:
    """The NumPy release that is installed: major and minor."""
    return ".".join(np.__version__.split(".")[:2])


def section(verdicts: Verdicts) -> str:
    """The section of the installed NumPy."""
    lines = [f"## NumPy {release()}", "", f"| | names | in a region | {' | '.join(KINDS)} |",
             "|---" * (len(KINDS) + 3) + "|"]
    for group, names in verdicts.items():
        numbers = [sum(kind == found for found in names.values()) for kind in KINDS]
        inside = sum(numbers[:len(IN_REGION)])
        lines.append(f"| {GROUPS[group]} | {len(names)} | **{inside}** | {' | '.join(map(str, numbers))} |")
    for group, names in verdicts.items():
        lines += ["", f"### {GROUPS[group]} ({release()})", ""]
        for kind in KINDS:
            listed = [f"`{name}`" for name, found in names.items() if found == kind]
            if listed:
                lines += textwrap.wrap(f"* {kind}: {', '.join(listed)}", 118, subsequent_indent="  ",
                                       break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def counts(text: str) -> str:
    """The table of a section."""
    return text.partition("\n### ")[0]


def replaced(text: str, new: str) -> str:
    """The page with the section of the installed NumPy made ``new``."""
    parts = re.split(r"(?m)^(?=## NumPy )", text)[1:]
    others = [part.strip() + "\n" for part in parts if not part.startswith(f"## NumPy {release()}\n")]
    return "\n".join([_HEAD, *sorted([*others, new], key=lambda part: tuple(map(int, re.findall(r"\d+", part)[:2])))])


def read(text: str) -> Verdicts | None:
    """The verdicts in the section of the installed NumPy, None where there is none."""
    parts = [part for part in re.split(r"(?m)^(?=## NumPy )", text) if part.startswith(f"## NumPy {release()}\n")]
    if not parts:
        return None
    titles = {f"{title} ({release()})": group for group, title in GROUPS.items()}
    found: Verdicts = {}
    for block in parts[0].split("\n### ")[1:]:
        title, _, rest = block.partition("\n")
        names = found.setdefault(titles[title], {})
        for entry in re.split(r"(?m)^\* ", rest)[1:]:
            kind, _, listed = entry.partition(": ")
            # A name of two words may have been broken at the end of a line.
            names.update((" ".join(name.split()), kind) for name in re.findall(r"`([^`]+)`", listed))
    return found
