"""PTX's instructions on numbers, as the PTX manual has them, over NumPy arrays with one element a thread."""
from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .fma import fma
from .ptx import PtxError

_WIDTH = re.compile(r"[bsuf](\d+)$")
_NAN32, _NAN16 = np.uint32(0x7FFFFFFF), np.uint16(0x7FFF)
_COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
            "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal}
_ROUND = {"rni": np.rint, "rmi": np.floor, "rpi": np.ceil, "rzi": np.trunc}
_LOGIC = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}

Op = tuple[str, ...]
Args = tuple[Any, ...]


def width_of(kind: str) -> int:
    """Bits of a type of PTX."""
    return 8 if kind == "pred" else int(_WIDTH.match(kind)[1])      # type: ignore[index]


def type_of(kind: str) -> np.dtype:
    letter = {"b": "u", "u": "u", "s": "i", "f": "f"}[kind[0]]
    return np.dtype(f"{letter}{width_of(kind) // 8}")


def _is_float(kind: str) -> bool:
    return kind[0] == "f"


class Arithmetic(ABC):
    """What instructions compute; a subclass says where operands come from and where results go."""

    carry: np.ndarray
    n: int

    @abstractmethod
    def value(self, arg: Any, kind: str, lanes: np.ndarray) -> np.ndarray:
        """An operand's values, of a type."""

    @abstractmethod
    def put(self, arg: Any, values: np.ndarray, lanes: np.ndarray) -> None:
        """A register's new values."""

    def put_float(self, arg: Any, values: np.ndarray, lanes: np.ndarray) -> None:
        """A result of arithmetic: NaN of 32 and 16 bits is the canonical one."""
        if values.dtype == np.float32:
            values = np.where(np.isnan(values), _NAN32, values.view(np.uint32))
        elif values.dtype == np.float16:
            values = np.where(np.isnan(values), _NAN16, values.view(np.uint16))
        self.put(arg, values, lanes)

    def _read(self, args: Args, kind: str, lanes: np.ndarray) -> list[np.ndarray]:
        return [self.value(a, kind, lanes) for a in args]

    @staticmethod
    def _exact(op: Op) -> None:
        """Floats must be rounded to nearest, with subnormal numbers."""
        if "approx" in op or "ftz" in op or "full" in op or not {"rn"} & set(op):
            raise PtxError(f"{'.'.join(op)} is not exact")

    # -- sums and products --------------------------------------------------------------------------
    def do_add(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self._sum(op, args, lanes, 1)

    def do_sub(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self._sum(op, args, lanes, -1)

    def do_addc(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self._sum(op, args, lanes, 1, carried=True)

    def do_subc(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self._sum(op, args, lanes, -1, carried=True)

    def _sum(self, op: Op, args: Args, lanes: np.ndarray, sign: int, carried: bool = False) -> None:
        x, y = self._read(args[1:], op[-1], lanes)
        if _is_float(op[-1]):
            self._exact(op)
            self.put_float(args[0], x + y if sign > 0 else x - y, lanes)
            return
        if not hasattr(self, "carry"):
            self.carry = np.zeros(self.n, bool)
        raw = f"u{x.dtype.itemsize}"
        p, q = x.view(raw), y.view(raw)
        more = self.carry[lanes].astype(raw) if carried else np.zeros(len(lanes), raw)
        first = p + q if sign > 0 else p - q
        over = first < p if sign > 0 else p < q
        total = first + more if sign > 0 else first - more
        over |= (total < first) if sign > 0 else (first < more)
        if "cc" in op:
            self.carry[lanes] = over
        self.put(args[0], total, lanes)

    def do_mul(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        x, y = self._read(args[1:], op[-1], lanes)
        if _is_float(op[-1]):
            self._exact(op)
            self.put_float(args[0], x * y, lanes)
        else:
            self.put(args[0], self._product(op, x, y), lanes)

    @staticmethod
    def _product(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if "lo" in op:
            return x * y
        size = x.dtype.itemsize
        if size < 8:
            wide = x.astype(f"{x.dtype.kind}{2 * size}") * y.astype(f"{x.dtype.kind}{2 * size}")
            return wide if "wide" in op else (wide >> wide.dtype.type(8 * size)).astype(x.dtype)
        if "hi" in op and x.dtype.kind == "u":
            return np.array([int(a) * int(b) >> 64 for a, b in zip(x, y)], np.uint64)
        raise PtxError(f"unknown product {op}")

    def do_mad(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        x, y = self._read(args[1:3], op[-1], lanes)
        product = self._product(op, x, y)
        z = self.value(args[3], f"{op[-1][0]}{8 * product.dtype.itemsize}", lanes)
        self.put(args[0], product + z, lanes)

    def do_fma(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self._exact(op)
        self.put_float(args[0], fma(*self._read(args[1:], op[-1], lanes)), lanes)

    def do_div(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        x, y = self._read(args[1:], op[-1], lanes)
        if _is_float(op[-1]):
            self._exact(op)
            self.put_float(args[0], x / y, lanes)
            return
        self.put(args[0], self._divided(x, y)[0], lanes)

    def do_rem(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self.put(args[0], self._divided(*self._read(args[1:], op[-1], lanes))[1], lanes)

    @staticmethod
    def _divided(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Towards zero.  A division by zero gives anything: all bits."""
        by = np.where(y == 0, y.dtype.type(1), y)
        quotient = x // by
        if x.dtype.kind == "i":
            quotient = quotient + ((x - quotient * by != 0) & ((x < 0) != (by < 0)))
        quotient = np.where(y == 0, ~y.dtype.type(0), quotient).astype(x.dtype)
        return quotient, (x - quotient * y).astype(x.dtype)

    def do_sqrt(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self._exact(op)
        self.put_float(args[0], np.sqrt(self.value(args[1], op[-1], lanes)), lanes)

    def do_rcp(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self._exact(op)
        x = self.value(args[1], op[-1], lanes)
        self.put_float(args[0], x.dtype.type(1) / x, lanes)

    def do_neg(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        (self.put_float if _is_float(op[-1]) else self.put)(args[0], -self.value(args[1], op[-1], lanes), lanes)

    def do_abs(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        (self.put_float if _is_float(op[-1]) else self.put)(args[0], np.abs(self.value(args[1], op[-1], lanes)), lanes)

    def do_copysign(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        sign, size = self._read(args[1:], op[-1], lanes)
        self.put(args[0], np.copysign(size, sign), lanes)

    def do_min(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self._extreme(op, args, lanes, np.minimum)

    def do_max(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self._extreme(op, args, lanes, np.maximum)

    def _extreme(self, op: Op, args: Args, lanes: np.ndarray, choose: np.ufunc) -> None:
        x, y = self._read(args[1:], op[-1], lanes)
        if not _is_float(op[-1]):
            self.put(args[0], choose(x, y), lanes)
            return
        # A number wins over NaN, and -0 is less than +0.
        smaller = choose is np.minimum
        found = np.where(np.isnan(x), y, np.where(np.isnan(y), x, choose(x, y)))
        zeros = (x == 0) & (y == 0)
        negative = (np.signbit(x) | np.signbit(y)) if smaller else (np.signbit(x) & np.signbit(y))
        found = np.where(zeros, np.where(negative, -0.0, 0.0), found).astype(x.dtype)
        self.put_float(args[0], found, lanes)

    # -- bits ---------------------------------------------------------------------------------------
    def _logic(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self.put(args[0], _LOGIC[op[0]](*self._read(args[1:], op[-1], lanes)), lanes)

    do_and = do_or = do_xor = _logic

    def do_not(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self.put(args[0], ~self.value(args[1], op[-1], lanes), lanes)

    def do_shl(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self._shift(op, args, lanes, np.left_shift)

    def do_shr(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self._shift(op, args, lanes, np.right_shift)

    def _shift(self, op: Op, args: Args, lanes: np.ndarray, shift: np.ufunc) -> None:
        x, by = self.value(args[1], op[-1], lanes), self.value(args[2], "u32", lanes)
        bits = 8 * x.dtype.itemsize
        out = (x >> x.dtype.type(bits - 1)) if op[-1][0] == "s" else np.zeros_like(x)
        self.put(args[0], np.where(by >= bits, out, shift(x, np.minimum(by, bits - 1).astype(x.dtype))), lanes)

    def do_shf(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        low, high, by = (self.value(a, "u32", lanes).astype(np.uint64) for a in args[1:4])
        by = by & np.uint64(31) if "wrap" in op else np.minimum(by, np.uint64(32))
        both = low | high << np.uint64(32)
        moved = both << by >> np.uint64(32) if op[1] == "l" else both >> by
        self.put(args[0], moved.astype(np.uint32), lanes)

    def do_bfe(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        x, at, count = self.value(args[1], op[-1], lanes), int(args[2]), int(args[3])
        if op[-1][0] != "u":
            raise PtxError(f"unknown {op}")
        self.put(args[0], x >> x.dtype.type(at) & x.dtype.type((1 << count) - 1), lanes)

    def do_bfi(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        x, y = self._read(args[1:3], op[-1], lanes)
        at, mask = int(args[3]), ((1 << int(args[4])) - 1) << int(args[3])
        kind = x.dtype.type
        self.put(args[0], x << kind(at) & kind(mask) | y & ~kind(mask), lanes)

    def do_popc(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        self.put(args[0], np.bitwise_count(self.value(args[1], op[-1], lanes)).astype(np.uint32), lanes)

    def do_clz(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        x = self.value(args[1], op[-1], lanes)
        bits = 8 * x.dtype.itemsize
        self.put(args[0], np.array([bits - int(v).bit_length() for v in x], np.uint32), lanes)

    # -- comparing and converting -------------------------------------------------------------------
    def do_setp(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        x, y = self._read(args[1:3], op[-1], lanes)
        how = op[1]
        if not _is_float(op[-1]):
            found = _COMPARE[how](x, y)
        elif how in ("num", "nan"):
            found = (np.isnan(x) | np.isnan(y)) ^ (how == "num")
        else:
            odd = np.isnan(x) | np.isnan(y)
            found = _COMPARE[how[:2]](x, y)
            found = found | odd if how[2:] == "u" else found & ~odd
        self.put(args[0], found, lanes)

    def do_cvt(self, op: Op, args: Args, lanes: np.ndarray) -> None:
        target, source = op[-2], op[-1]
        if target == "f16x2":
            high, low = (x.astype(np.float16).view(np.uint16).astype(np.uint32)
                         for x in self._read(args[1:], "f32", lanes))
            self.put(args[0], high << np.uint32(16) | low, lanes)
            return
        x, kind = self.value(args[1], source, lanes), type_of(target)
        if "ftz" in op or "sat" in op:
            raise PtxError(f"{op} is not exact")
        if _is_float(source) and _is_float(target):
            rounding = next((_ROUND[name] for name in op if name in _ROUND), None)
            if rounding is not None:
                x = rounding(x)
            self.put_float(args[0], x.astype(kind), lanes)
        elif _is_float(source):
            rounding = next(_ROUND[name] for name in op if name in _ROUND)
            self.put(args[0], self._clamped(rounding(x), kind), lanes)
        elif _is_float(target):
            self.put_float(args[0], self._from_ints(x, kind), lanes)
        else:
            self.put(args[0], x.astype(kind), lanes)

    @staticmethod
    def _clamped(x: np.ndarray, kind: np.dtype) -> np.ndarray:
        """Numbers that do not fit become the nearest that does, NaN 0."""
        info = np.iinfo(kind)
        inside = (x >= info.min) & (x < float(info.max) + 1)
        found = np.where(inside, x, 0).astype(kind)
        least, most = np.array([info.min, info.max], kind)
        return np.where(inside | np.isnan(x), found, np.where(x < 0, least, most))

    @staticmethod
    def _from_ints(x: np.ndarray, kind: np.dtype) -> np.ndarray:
        """Rounded once: NumPy converts wide ints to half precision through single."""
        if kind.itemsize > 2 or x.dtype.itemsize < 4:
            return x.astype(kind)
        return x.astype(np.float64).astype(kind)        # far fewer than 53 bits matter: larger ints are infinite
