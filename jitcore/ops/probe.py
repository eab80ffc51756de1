"""Bits are probed, not believed: lowerings compared with the installed NumPy.

Job: ``verified``, which drops from an op each exact lowering that does not give NumPy's bits on a sample of
special values; NumPy's own loop (block) or a call then serves.  Invariants: a dropped lowering is logged.
Used by ``ops.table`` once, when it is imported.

The lowering is carried out by ``ops.evaluate``, without a compiler: what may change with NumPy's version or
with the machine that its loops were dispatched for is the *rule* (which of two zeros ``maximum`` gives, what
``clip`` does with equal bounds, special exponents), not IEEE arithmetic.  On a NumPy release line on which the
whole table is tested only the rules that depend on the machine are probed, about 10 ms; on any other all
are, about 0.1 s once a process.
"""
from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from jitcore.ops.builder import INTS, ITEMSIZE, PART, Lowering
from jitcore.ops.evaluate import ArrayBuilder
from jitcore.ops.op import Op

_LOG = logging.getLogger("jitcore.compile")

#: NumPy release lines on which the tests compare the whole table.
TESTED = ("2.4.", "2.5.")
#: Ops whose loops NumPy dispatches by machine with results that could differ.
MACHINE_DEPENDENT = ("maximum", "minimum", "fmax", "fmin", "clip", "power", "sign", "rint")


def _sample(dtype: str) -> np.ndarray:
    if dtype == "?":
        return np.array([False, True])
    if dtype in INTS:
        bits = 8 * ITEMSIZE[dtype]
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 7, bits - 1, bits, info.max, info.max - 1, info.min, info.min + 1]
        return np.array(values + ([-1, -2, -7] if info.min else []), dtype)
    if dtype in PART:
        part = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan], PART[dtype])
        re, im = np.meshgrid(part, part)
        out = np.empty(re.size, dtype)
        out.real, out.imag = re.ravel(), im.ravel()
        return out
    limits = np.finfo(dtype)
    half = np.array([0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 7.0, 100.25, limits.max, limits.tiny, limits.smallest_subnormal,
                     np.inf, np.nan], dtype)
    return np.concatenate([half, -half])


def _same_bits(got: np.ndarray, want: np.ndarray) -> bool:
    if got.dtype != want.dtype:
        return False
    part = np.dtype(PART.get(got.dtype.char, got.dtype))
    p, q = got.view(part), want.view(part)
    word = np.dtype(f"u{part.itemsize}")
    same = p.view(word) == q.view(word)
    if part.kind == "f":
        same |= (p != p) & (q != q)
    return bool(same.all())


def agrees(function: Callable[..., np.ndarray], sig: str, lowering: Lowering, scalars: Iterable[int] = ()) -> bool:
    """Whether a lowering has the bits of ``function`` on special values, odd and even positions alike.

    Operands at ``scalars`` are scalars.  Where the lowering bails nothing is compared.
    """
    inputs, _, output = sig.partition("->")
    fixed = sorted(scalars)
    free = [i for i in range(len(inputs)) if i not in fixed]
    grids = [g.ravel() for g in np.meshgrid(*(_sample(inputs[i]) for i in free))]
    choices = [_sample(inputs[i])[::3] if inputs[i] in INTS else np.array([0.0, -0.0, 1.0, np.nan], inputs[i])
               for i in fixed]
    for chosen in itertools.product(*choices):
        operands: list[np.ndarray] = [np.empty(0)] * len(inputs)
        for position, grid in zip(free, grids):
            operands[position] = grid
        for position, value in zip(fixed, chosen):
            operands[position] = np.array(value)
        with np.errstate(all="ignore"):
            b = ArrayBuilder()
            result = b.unwrap(lowering(b, *(b.wrap(o) for o in operands)), grids[0].shape)
            keep = np.ones(grids[0].shape, bool)
            for condition in b.bails:
                keep &= ~condition
            if not keep.all():
                operands = [o[keep] if o.ndim else o for o in operands]
                result = result[keep]
            want = np.asarray(function(*operands)).astype(output, copy=False)
        if not _same_bits(result, want):
            return False
    return True


def verified(op: Op) -> Op:
    """The op without the exact lowerings that NumPy contradicts."""
    if op.ufunc is None or not (op.name in MACHINE_DEPENDENT or not np.__version__.startswith(TESTED)):
        return op
    inline = {sig: fn for sig, fn in op.inline.items()
              if not _needed(op, sig) or agrees(op.ufunc, sig, fn)}
    uniform = {sig: (scalars, fn) for sig, (scalars, fn) in op.uniform.items()
               if not op.exact or agrees(op.ufunc, sig, fn, scalars)}
    for sig in (op.inline.keys() - inline.keys()) | (op.uniform.keys() - uniform.keys()):
        _LOG.warning("op %s, %s: NumPy %s gives other bits here; its own loop serves", op.name, sig, np.__version__)
    if len(inline) == len(op.inline) and len(uniform) == len(op.uniform):
        return op
    return replace(op, inline=inline, uniform=uniform)


def _needed(op: Op, sig: str) -> bool:
    """Exact ones; of ops that are dispatched by machine only those of floats."""
    if not op.exact_for(sig):
        return False
    return not np.__version__.startswith(TESTED) or sig[0] in "efd"
