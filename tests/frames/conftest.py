"""These tests make regions by hand: the compiler's handlers must not take part."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from jitcore import _core


@pytest.fixture(autouse=True)
def no_compiler() -> Iterator[None]:
    miss, settle = _core.set_miss_handler(None), _core.set_settle_handler(None)
    yield
    _core.set_miss_handler(miss)
    _core.set_settle_handler(settle)
