"""Programs in a process of their own, with the package under test."""
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import jitcore

#: In front of a child's program: an inert package would let many a test pass that tests nothing.
_CHECK = "import jitcore._support as _s; assert _s.USABLE or _s.OBSTACLE == 'JITCORE=0', _s.OBSTACLE\n"


def run_child(source: str, *args: str, check: bool = True, timeout: float = 300,
              **env: str) -> subprocess.CompletedProcess[str]:
    """Run ``source``.  Modules come from where this process found jitcore (the folder ``-c`` would put in front holds
    the sources, perhaps without the extension), then from the tests' root."""
    found = [str(Path(jitcore.__file__).resolve().parent.parent), str(Path(__file__).resolve().parent.parent)]
    path = os.pathsep.join([*found, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run([sys.executable, "-P", "-c", _CHECK + textwrap.dedent(source), *args], capture_output=True,
                          text=True, check=check, timeout=timeout, env={**os.environ, "PYTHONPATH": path, **env})
