"""Standing rules: file length, docstrings, where internals and variables may be read, README's commands."""
from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_LIMIT = 500
_PYTHON = [path for folder in ("jitcore", "tests", "examples", "benchmarks") for path in (_ROOT / folder).rglob("*.py")]
_PYTHON.append(_ROOT / "setup.py")
_C = sorted([*(_ROOT / "csrc").glob("*.c"), *(_ROOT / "csrc").glob("*.h")])
_TEXT = sorted([*_ROOT.glob("*.md"), *(_ROOT / "docs").rglob("*.md"), _ROOT / ".ci" / "run"])


def _id(path: Path) -> str:
    return str(path.relative_to(_ROOT))


@pytest.mark.parametrize("path", [*sorted(_PYTHON), *_C, *_TEXT], ids=_id)
def test_file_length(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= _LIMIT, f"{_id(path)} has {lines} lines"


@pytest.mark.parametrize("path", sorted(_PYTHON), ids=_id)
def test_module_docstring(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not tree.body or ast.get_docstring(tree), f"{_id(path)} does not say what it is for"


@pytest.mark.parametrize("path", _C, ids=_id)
def test_c_file_says_what_it_is_for(path):
    assert path.read_text(encoding="utf-8").lstrip().startswith("/*")


@pytest.mark.parametrize("path", [path for path in sorted(_PYTHON) if "jitcore" in path.parts[-3:-1]
                                  or (_ROOT / "jitcore") in path.parents], ids=_id)
def test_environment_is_read_in_one_place(path):
    if path.name != "config.py":
        assert not re.search(r"\bos\.(environ|getenv)\b", path.read_text(encoding="utf-8")), _id(path)


@pytest.mark.parametrize("path", _C, ids=_id)
def test_cpython_internals_stay_in_compat_headers(path):
    if not path.name.endswith("_compat.h"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'#\s*include\s*[<"](internal/|pycore_)', text), _id(path)
        assert "Py_BUILD_CORE" not in text, _id(path)


def test_the_map_names_every_c_file():
    text = (_ROOT / "csrc" / "jitcore.h").read_text(encoding="utf-8")
    for path in _C:
        if path.name != "jitcore.h" and path.suffix == ".c":
            assert path.name in text, f"csrc/jitcore.h does not mention {path.name}"


def test_versions_agree():
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = (_ROOT / "jitcore" / "__init__.py").read_text(encoding="utf-8")
    assert f'__version__ = "{project["version"]}"' in source
    assert f"## {project['version']}" in (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_variables_are_documented():
    """``docs/variables.md`` repeats the table of ``config.py``."""
    from jitcore import config

    text = (_ROOT / "docs" / "variables.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(JITCORE\w*)` \| (?:`(.*?)`)? ?\|", text, re.MULTILINE))
    assert rows == {name: default for name, (default, _) in config.VARIABLES.items()}


def test_readme_has_the_two_commands():
    """``.ci/run`` takes the second from here; each is one line."""
    commands = re.findall(r"^    (python -m venv .*)$", (_ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == 2
    assert "examples/" in commands[0] and "pytest" in commands[1]
