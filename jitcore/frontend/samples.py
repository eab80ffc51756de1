"""Calls of real functions while the compiler works: to learn what they give.

Job: ``no_warnings``.  Invariant: the program's own filters of warnings, and what was shown once already, stay as they
are: ``warnings.catch_warnings`` would make Python forget the latter.  Used by the modules that ask functions.
"""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_EVERY: Any = ("error", None, Warning, None, 0)


@contextmanager
def no_warnings() -> Iterator[None]:
    """Warnings are exceptions inside, of this thread as long as nothing inside runs Python code."""
    filters: Any = warnings.filters
    filters.insert(0, _EVERY)
    try:
        yield
    finally:
        filters.remove(_EVERY)
