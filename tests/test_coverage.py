"""Names of NumPy inside accelerated functions (``benchmarks/coverage.py``): the page is current, a part is compared.

The whole is the benchmark's own run; ``-m slow`` compares all names here.
"""
from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_PAGE = _ROOT / "docs" / "coverage.md"

#: Every how manieth name is tried here.
STEP = 9


def _load() -> tuple[Any, Any, Any]:
    """The tables; the benchmarks are no package that could be imported."""
    folder = str(_ROOT / "benchmarks")
    sys.path.insert(0, folder)
    try:
        return tuple(importlib.import_module(name) for name in (
            "numpy_names", "numpy_names.measure", "numpy_names.page"))  # type: ignore[return-value]
    finally:
        sys.path.remove(folder)


names, measure, page = _load()
ALL = [(group, name) for group, listed in names.groups().items() for name in listed]
PART = ALL[::STEP]


def written() -> dict[str, dict[str, str]]:
    """The page's section of the installed NumPy; a release that nobody has counted has none."""
    found = page.read(_PAGE.read_text(encoding="utf-8"))
    if found is None:
        pytest.skip(f"docs/coverage.md has no section for NumPy {page.release()}")
    return found


def test_the_page_has_the_names_of_this_numpy():
    found = written()
    assert {group: sorted(listed) for group, listed in found.items()} == {
        group: sorted(listed) for group, listed in names.groups().items()}


def test_the_page_reads_as_it_is_written():
    found = written()
    section = page.section(found)
    assert page.read(section) == found
    assert section in _PAGE.read_text(encoding="utf-8")


def test_the_page_says_that_nothing_is_different():
    assert not [name for listed in written().values() for name, kind in listed.items() if kind == page.WRONG]


@pytest.mark.parametrize("group, name", PART)
def test_a_part_is_the_same_and_runs_as_the_page_says(group, name):
    """In a region as before, or better; what the page calls a call may have become a part of a region unnoticed."""
    outcomes = [(sample, measure.measure(sample)) for sample in names.samples(group, name)[:4]]
    assert not [(sample.text, sample.world, outcome.wrong) for sample, outcome in outcomes if outcome.wrong]
    said = written()[group][name]
    inside = {outcome.how in measure.IN_REGION for sample, outcome in outcomes if sample.ordinary and outcome.how}
    if said in measure.IN_REGION:
        assert inside <= {True}, "docs/coverage.md is not current: run benchmarks/coverage.py"
    elif said == measure.CALL:
        assert inside <= {False}, "docs/coverage.md is not current: run benchmarks/coverage.py"


@pytest.mark.slow
@pytest.mark.parametrize("group, name", ALL)
def test_every_name_is_the_same(group, name):
    outcomes = [(sample, measure.measure(sample)) for sample in names.samples(group, name)]
    assert not [(sample.text, sample.world, outcome.wrong) for sample, outcome in outcomes if outcome.wrong]


def test_a_difference_is_seen():
    """The comparison itself: each kind of difference that it is there for."""
    import numpy as np

    a = np.arange(6.0).reshape(2, 3).copy()
    alike = measure.unlike
    assert not alike(a, a.copy())
    for other in (a + 1e-12, a.astype("f4"), np.asfortranarray(a), a.reshape(3, 2), a[:], a.tolist()):
        assert alike(a, other)
    readonly = a.copy()
    readonly.flags.writeable = False
    assert alike(a, readonly)
    assert alike(0.0, -0.0) and alike((1, 2), [1, 2]) and alike(1, 1.0) and alike(np.float64(1), 1.0)
    assert alike({"a": 1}, {"b": 1}) and alike(ValueError("a"), ValueError("b")) and alike("a", "b")
    assert not alike(float("nan"), float("nan"))
