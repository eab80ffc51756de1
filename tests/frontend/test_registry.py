"""Every canonical operation is handled or left, none twice."""
from __future__ import annotations

import pytest

from jitcore.bytecode.canonical import OPS
from jitcore.frontend import handlers  # noqa: F401
from jitcore.frontend.registry import HANDLERS, LEFT


@pytest.mark.parametrize("op", sorted(OPS))
def test_operation_is_handled_or_left(op):
    assert (op in HANDLERS) != (op in LEFT), f"{op}: write a handler, or list it in registry.LEFT with the reason"


def test_nothing_else_is_listed():
    assert set(HANDLERS) | set(LEFT) <= set(OPS)
