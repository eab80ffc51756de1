"""The canonical text of the samples.  ``JITCORE_BLESS=1`` writes it anew."""
from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path

import pytest

from jitcore.bytecode import decode

from . import samples

_FOLDER = Path(__file__).parent / "golden" / f"{sys.version_info[0]}.{sys.version_info[1]}"


def _text(code):
    """With lines counted from the function's own, so that the samples can move."""
    def relative(match):
        number = int(match[1])
        return f"{number - code.co_firstlineno if number else 0:>5}"

    return re.sub(r"^ *(\d+)(?= [ >] )", relative, str(decode(code)), flags=re.MULTILINE)


@pytest.mark.parametrize("name", sorted(samples.GOLDEN))
def test_golden(name):
    text = _text(samples.GOLDEN[name].__code__)
    path, made_by = _FOLDER / f"{name}.txt", _FOLDER / "VERSION"
    if os.environ.get("JITCORE_BLESS") == "1":
        _FOLDER.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        made_by.write_text(platform.python_version() + "\n")
    if text != path.read_text() and made_by.read_text().strip() != platform.python_version():
        # Patch releases differ in the bytecode they make: the text holds for the one that it was blessed with, and
        # what it means is tested on every release by running it (test_meaning).
        pytest.skip(f"CPython {platform.python_version()} compiles this unlike {made_by.read_text().strip()}")
    assert text == path.read_text()
