"""Checks that whole functions give by regions what they give plainly."""
from __future__ import annotations

import copy
from typing import Any

import numpy as np

from tests.frontend.regions import Run


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (float, np.floating)) and a != a:
        return bool(b != b)
    return bool(a == b)


def check(func: Any, *args: Any, events: str | None = None, **kwargs: Any) -> Run:
    """Runs ``func`` plainly and by regions; results, or exceptions, must be the same."""
    def outcome(call: Any) -> tuple[str, Any]:
        try:
            return "value", call()
        except NameError as error:
            return type(error).__name__, ()             # the tests' interpreter has its own words
        except Exception as error:
            return type(error).__name__, error.args
    first, second = copy.deepcopy((args, kwargs)), (args, kwargs)
    wanted = outcome(lambda: func(*first[0], **first[1]))
    run = Run(func, *second[0], **second[1])
    got = outcome(run.go)
    assert got[0] == wanted[0] and same(got[1], wanted[1]), (got, wanted, run.events)
    if events is not None:
        assert ", ".join(run.events) == events
    return run
