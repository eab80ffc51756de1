"""The examples and the README's code run as they stand, each in a process of its own, natively."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jitcore

_ROOT = Path(__file__).resolve().parent.parent
_SCRIPTS = sorted(path.name for path in (_ROOT / "examples").glob("*.py") if path.name != "report.py")


def _run(path: Path) -> str:
    # The package under test, wherever it was found, and not one that lies beside the script.
    env = {**os.environ, "PYTHONPATH": str(Path(jitcore.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-W", "error", str(path)], env=env, text=True, capture_output=True,
                          timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_examples_are_found():
    assert {"selu.py", "black_scholes.py", "equation_of_state.py", "image_pipeline.py"} <= set(_SCRIPTS)


@pytest.mark.parametrize("name", _SCRIPTS)
def test_example(name):
    """It compares itself with NumPy and fails when they differ; here, that all of it ran native."""
    out = _run(_ROOT / "examples" / name)
    native = re.findall(r"(\d) of 2 calls native, (\d+(?:\.\d+)?) fused loop", out)
    assert native and all(calls == "2" and float(kernels) >= 1 for calls, kernels in native), out


def _blocks(path: Path) -> list[tuple[str, str | None]]:
    """(code, output) for indented blocks that begin with an import; the output is the block behind a line "prints"."""
    found: list[tuple[str, str | None]] = []
    current: list[str] = []
    before = ""
    for line in [*path.read_text(encoding="utf-8").splitlines(), "end"]:
        if line.startswith("    ") or (current and not line):
            current.append(line[4:])
            continue
        block = "\n".join(current).rstrip() + "\n"
        if before == "prints" and found and current:
            found[-1] = (found[-1][0], block)
        elif block.startswith(("import ", "from ")):
            found.append((block, None))
        current = []
        before = line or before
    return found


_DOCS = sorted(str(path.relative_to(_ROOT)) for path in [_ROOT / "README.md", *_ROOT.glob("docs/*.md")])


@pytest.mark.parametrize("name", _DOCS)
def test_code_in_the_docs(name, tmp_path):
    for number, (code, output) in enumerate(_blocks(_ROOT / name)):
        script = tmp_path / f"block{number}.py"
        script.write_text(code)
        printed = _run(script)
        assert output is None or printed == output


def test_the_readme_shows_code_and_output():
    assert [output for _, output in _blocks(_ROOT / "README.md") if output]
