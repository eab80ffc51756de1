"""Asking functions leaves the program's warnings as they are."""
import warnings

import numpy as np
import pytest

import jitcore
from jitcore.frontend.samples import no_warnings


def test_warnings_raise_inside_only():
    before = list(warnings.filters)
    with pytest.raises(UserWarning), no_warnings():
        warnings.warn("asked", stacklevel=1)
    assert list(warnings.filters) == before


def test_what_was_shown_once_is_not_shown_again():
    def f(x):
        for _ in range(2):
            warnings.warn("once", stacklevel=1)
            y = np.concatenate((x, x))
            z = np.sort(y)[::-1] + np.frexp(x)[0][0]
        return z

    fast = jitcore.accelerate(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            fast(np.ones(3))
    assert len(caught) == 1
