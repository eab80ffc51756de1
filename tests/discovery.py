"""What the tests of ``enable`` share: nothing is left behind, calls until a function is hot."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

import jitcore
from jitcore import _core
from jitcore.runtime import discovery

UFUNCS = discovery._ufuncs()


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Before and after the block the same pointers lie in NumPy's tables, and no counter is left."""
    jitcore.enable(modules=[])
    before = _core._testing_entries(UFUNCS)
    assert len(before) > 100 and _core._testing_heats() == 0
    try:
        yield
    finally:
        jitcore.disable()
        after = _core._testing_entries(UFUNCS)
        heats = _core._testing_heats()
        jitcore.enable(modules=[])
    assert after == before and heats == 0


@jitcore.never
def warm(func, *args, calls=30):
    """Calls ``func`` and gives the last result."""
    for _ in range(calls):
        result = func(*args)
    return result


@jitcore.never
def is_native(func, *args):
    """Whether a call of ``func`` runs natively to its end."""
    before = jitcore.stats(func).native_calls
    func(*args)
    return jitcore.stats(func).native_calls == before + 1
