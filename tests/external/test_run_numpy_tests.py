"""The runner of NumPy's tests finds what it is for: differences, crashes, hangs, and runs that show nothing."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from . import run_numpy_tests

_RUNNER = Path(__file__).with_name("run_numpy_tests.py")

#: A file that the runner is given: one of its tests is skipped and one is expected to fail, since the outcomes of such
#: tests are compared too.
_SAME = '''
import warnings
import numpy as np
import pytest

@pytest.mark.parametrize("n", [3, 40])
def test_passes(n):
    assert (np.arange(n) * 2.0).sum() == n * (n - 1)

def test_warns():
    with np.errstate(all="warn"):
        np.float64(1.0) / np.zeros(2)
    print("warned")

@pytest.mark.skip(reason="not here")      # for the runner, which compares the reasons of skips
def test_skipped():
    assert False

@pytest.mark.xfail(reason="known")        # for the runner, which compares this outcome as any other
def test_fails_as_expected():
    assert np.ones(3).sum() == 4

def test_fails():
    assert np.ones(3).sum() == 5
'''

_OTHER = '''
import os, sys, warnings
import numpy as np
FAST = "jitcore" in sys.modules or "numpy_plugin" in sys.modules and sys.modules["numpy_plugin"]._MODE is not None

def test_passes():
    assert (np.arange(4) * 2.0).sum() == 12

def test_outcome():
    assert not FAST

def test_crash():
    if FAST:
        os.abort()

def test_hang():
    while FAST:
        pass

def test_warning():
    if not FAST:
        warnings.warn("only plain")

def test_output():
    print(FAST)

def test_last():
    assert (np.arange(4) * 3.0).sum() == 18
'''


def _run(folder: Path, source: str, *arguments: str) -> tuple[int, str, dict]:
    (folder / "test_sample.py").write_text(source, encoding="utf-8")
    report = folder / "report.json"
    done = subprocess.run([sys.executable, str(_RUNNER), "test_sample.py", "--root", str(folder), "--json", str(report),
                           *arguments], capture_output=True, text=True, timeout=500)
    assert done.returncode in (0, 1, 2), done.stderr
    return done.returncode, done.stdout, json.loads(report.read_text(encoding="utf-8"))


def test_the_same(tmp_path):
    status, text, report = _run(tmp_path, _SAME, "--repeat", "2")
    assert status == 0, text
    told = report["files"]["test_sample.py"]
    assert told["plain"] == told["accelerated"] == {"passed": 3, "skipped": 1, "xfailed": 1, "failed": 1}
    assert told["functions"]["native"] == 1 and told["functions"]["not called"] == 1
    assert told["stats"]["native_calls"] >= 2
    assert report["table"][-1][:2] == ["all", "6"] and "every test did the same" in text


def test_differences(tmp_path):
    status, text, report = _run(tmp_path, _OTHER, "--timeout", "3")
    assert status == 1
    told = report["files"]["test_sample.py"]
    assert told["processes"] == 3 and not told["trouble"]
    found = {d["test"].split("::")[1]: d for d in told["differences"]}
    assert list(found) == ["test_outcome", "test_crash", "test_hang", "test_warning", "test_output"]
    assert found["test_crash"]["accelerated"] == "died (SIGABRT)" and found["test_hang"]["accelerated"] == "hung"
    assert found["test_outcome"]["accelerated"].startswith("failed (") and found["test_outcome"]["plain"] == "passed"
    assert found["test_warning"]["details"]["warnings"][0][0][:2] == ["UserWarning", "only plain"]
    assert found["test_warning"]["details"]["warnings"][1] == []
    assert "test_hang" in text and "5 differences" in text


@pytest.mark.parametrize("bad, native, status", [(0, 3, 0), (2, 3, 1), (0, 0, 2), (1, 0, 2)])
def test_verdict(bad, native, status):
    assert run_numpy_tests.verdict(bad, native) == status


def test_default_files_are_installed():
    """A NumPy with its tests has every file that is run without being named."""
    options = run_numpy_tests.parser().parse_args([])
    if not (run_numpy_tests.NUMPY / "_core" / "tests").is_dir():
        # Some distributions leave them out; then there is no file to choose, and nothing to be said of the choice.
        pytest.skip("this NumPy was installed without its tests")
    assert len(run_numpy_tests.chosen_files(options)) >= len(run_numpy_tests.DEFAULT) - 2
