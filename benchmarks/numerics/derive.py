"""Derives the numbers of ``jitcore.backends.math`` and writes ``jitcore/backends/math/tables.py``.

    python benchmarks/numerics/derive.py [name...]

fits all polynomials, or those that are named and those that are new, and keeps the others.

Needs mpmath (quick with gmpy2).  Each polynomial is declared with the function that it stands for, its range, and the
weight that makes its error one of the result; ``functions.py`` beside this holds them.
"""
from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import mpmath as mp

sys.path.insert(0, str(Path(__file__).resolve().parent))
from functions import CONSTANTS, POLYNOMIALS, two_over_pi
from remez import Fit, minimax, round_to

_TARGET = Path(__file__).resolve().parents[2] / "jitcore" / "backends" / "math" / "tables.py"
_HEAD = '''"""Coefficients and constants of the vector math functions; written by ``benchmarks/numerics/derive.py``.

``POLYNOMIALS[name][dtype]``: coefficients, lowest power first, fitted by Remez' algorithm; the comment gives the
range and the
greatest error, weighted so as to be one of the result.  ``CONSTANTS[name][dtype]``: a number as an unevaluated
sum.  ``TWO_OVER_PI``: the bits of 2/pi behind the point, 32 in each word.  Read by the functions of ``backends.math``.
"""
from __future__ import annotations

'''
#: Precision of float64 and float32.
PRECISION = {"d": 53, "f": 24}


def split(value: mp.mpf, parts: tuple[int, ...]) -> tuple[float, ...]:
    """``value`` as a sum of numbers with so many bits each, greatest first, none of which is negative but the last."""
    found = []
    for bits in parts:
        part = round_to(value, bits)
        if part > value and len(found) + 1 < len(parts):
            part -= mp.ldexp(1, int(mp.floor(mp.log(value, 2))) + 1 - bits)
        found.append(part)
        value -= part
    return tuple(float(part) for part in found)


def fit(job: tuple[str, str]) -> Fit:
    name, dtype = job
    polynomial = POLYNOMIALS[name]
    return minimax(polynomial.function, polynomial.weight, polynomial.low, polynomial.high,
                   polynomial.counts["df".index(dtype)], PRECISION[dtype], polynomial.exact)


def kept(names: list[str]) -> dict[tuple[str, str], Fit]:
    """What an earlier run has written, except for these names."""
    if not names or not _TARGET.exists():
        return {}
    table: dict[str, dict[str, tuple[float, ...]]] = {}
    text = _TARGET.read_text(encoding="utf-8")
    exec(text, table)       # the module itself, which may not be importable yet
    found = {}
    for name in POLYNOMIALS:
        for dtype in "df":
            if name in table["POLYNOMIALS"] and name not in names:
                _, _, rest = text.partition(f'    "{name}": {{\n')
                _, _, rest = rest.partition("# [") if dtype == "d" else rest.partition("# [")[2].partition("# [")
                bounds, _, error = rest.partition("\n")[0].partition("]: error 2**")
                low, high = json.loads(f"[{bounds}]")
                found[name, dtype] = Fit(table["POLYNOMIALS"][name][dtype], low, high, float(error))
    return found


def main() -> None:
    lines = [_HEAD]
    fits = kept(sys.argv[1:])
    jobs = [(name, dtype) for name in POLYNOMIALS for dtype in "df" if (name, dtype) not in fits]
    with ProcessPoolExecutor(2) as pool:
        fits |= dict(zip(jobs, pool.map(fit, jobs)))
    lines.append("POLYNOMIALS: dict[str, dict[str, tuple[float, ...]]] = {\n")
    for name in POLYNOMIALS:
        lines.append(f'    "{name}": {{\n')
        for dtype in "df":
            found = fits[name, dtype]
            lines.append(f"        # [{found.low:.9g}, {found.high:.9g}]: error 2**{found.error:.1f}\n")
            print(f"{name} {dtype}: {len(found.coefficients)} coefficients, error 2**{found.error:.2f}")
            lines.append(f'        "{dtype}": (\n')
            row = "           "
            for c in found.coefficients:
                if len(row) + len(repr(c)) > 116:
                    lines.append(row + "\n")
                    row = "           "
                row += f" {c!r},"
            lines.append(row + "\n        ),\n")
        lines.append("    },\n")
    lines.append("}\n\nCONSTANTS: dict[str, dict[str, tuple[float, ...]]] = {\n")
    for name, (value, parts) in CONSTANTS.items():
        lines.append(f'    "{name}": {{\n')
        for dtype in "df":
            lines.append(f'        "{dtype}": {split(value(), parts[dtype])!r},\n')
        lines.append("    },\n")
    lines.append("}\n\nTWO_OVER_PI: tuple[int, ...] = (\n")
    words = two_over_pi()
    for at in range(0, len(words), 8):
        lines.append("    " + " ".join(f"0x{w:08X}," for w in words[at:at + 8]) + "\n")
    lines.append(")\n")
    _TARGET.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
