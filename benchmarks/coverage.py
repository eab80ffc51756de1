"""Call every public name of NumPy inside accelerated functions, compare with plain NumPy, and count how each ran.

    python benchmarks/coverage.py                   all names; prints the counts, writes docs/coverage.md
    python benchmarks/coverage.py --only ufuncs     one group, nothing is written
    python benchmarks/coverage.py --name np.sort    one name with the reasons, nothing is written

The page has a section for each NumPy release; a run replaces that of the NumPy that it finds.
"""
from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("JITCORE_OPTIMISE", "0")      # LLVM's passes take most of the time, and decide nothing here

import numpy_names
from numpy_names import page
from numpy_names.measure import Outcome, measure
from numpy_names.worlds import Sample

PAGE = Path(__file__).resolve().parent.parent / "docs" / "coverage.md"

Found = dict[str, dict[str, list[tuple[Sample, Outcome]]]]


def walk(only: str = "", name: str = "", say: bool = False) -> Found:
    """Group -> name -> its samples and what they gave.  ``say``: print what is not in a region as it is found."""
    found: Found = {}
    for group, names in numpy_names.groups().items():
        if only not in ("", group):
            continue
        start = time.perf_counter()
        found[group] = {}
        for n in names:
            if name not in ("", n):
                continue
            twin = next((other for other in found[group] if numpy_names.same_object(group, other, n)), None)
            if twin is not None:
                found[group][n] = found[group][twin]
                continue
            outcomes = found[group][n] = [(sample, measure(sample)) for sample in numpy_names.samples(group, n)]
            for sample, outcome in outcomes:
                if say and (name or outcome.why):
                    print(f"{n:20} {outcome.how:15} {sample.text}  [{sample.world}]  {outcome.why}", flush=True)
                if outcome.wrong:
                    print(f"DIFFERENT: {sample.text} [{sample.world}]: {outcome.wrong}", flush=True)
        print(f"{group}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", choices=["", *numpy_names.GROUPS], help="one group")
    parser.add_argument("--name", default="", help="one name, such as np.sort or sort")
    parser.add_argument("--why", action="store_true", help="say why names are not in a region")
    options = parser.parse_args()
    found = walk(options.only, options.name.rpartition(".")[2], options.why or bool(options.name))
    section = page.section({group: {name: page.verdict(outcomes) for name, outcomes in names.items()}
                            for group, names in found.items()})
    print(page.counts(section))
    if not options.only and not options.name:
        PAGE.write_text(page.replaced(PAGE.read_text() if PAGE.exists() else "", section), encoding="utf-8")
    return int(any(outcome.wrong for names in found.values() for outcomes in names.values() for _, outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
