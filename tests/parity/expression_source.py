"""Random straight-line programs of array expressions, written while plain NumPy carries them out.

Job: ``Expressions(rng, exact)``, whose ``source`` is a function ``f`` of arrays, NumPy scalars and Python numbers, and
whose ``arguments(n)`` are new and equal ones at each call.  What raises is seldom kept.  Where ``exact`` does not hold,
nothing is computed from results that may differ in their last bits.
"""
from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

DTYPES = "?bhilBHILefdFD"
BINARY = ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "<", "<=", "==", "!=", ">", ">=", "**")
UFUNCS = ("maximum", "minimum", "fmax", "fmin", "copysign", "logical_and", "logical_xor", "fmod", "remainder", "gcd",
          "add", "subtract", "less", "equal", "heaviside", "floor_divide", "nextafter")
UNARY = ("negative", "absolute", "square", "sign", "rint", "floor", "ceil", "trunc", "isnan", "isfinite", "logical_not",
         "signbit", "conjugate", "sqrt", "invert", "positive", "reciprocal", "real", "imag", "nan_to_num", "spacing",
         "round")
#: What jitcore computes in its own way.
CLOSE = ("exp", "log", "sin", "cos", "tanh", "log1p", "expm1", "arctan", "cbrt", "exp2", "log2", "sinh", "arcsin")
REDUCTIONS = ("sum", "prod", "min", "max", "any", "all", "mean", "argmax", "argmin", "std", "var")
WHOLE = ("np.concatenate([{x}, {x}], axis={axis})", "np.stack([{x}, {x}])", "np.diff({x}, axis={axis})",
         "np.roll({x}, 1, axis={axis})", "np.sort({x}, axis={axis})", "np.argsort({x}, axis={axis}, kind='stable')",
         "np.repeat({x}, 2, axis={axis})", "np.cumsum({x}, axis={axis})", "np.cumprod({x}, axis={axis})",
         "np.count_nonzero({x}, axis={axis})", "np.outer({x}, {x})", "np.nonzero({x})", "np.asfortranarray({x})",
         "np.ascontiguousarray({x})", "np.array({x})", "np.array({x}, order='F')", "{x}.copy()", "{x}.copy('K')",
         "np.zeros_like({x})", "np.full_like({x}, 2)", "np.ones({x}.shape, order='F')", "np.tile({x}, 2)",
         "np.trace({x})", "np.atleast_2d({x})", "np.take({x}, [0], axis={axis})", "np.isin({x}, {x})",
         "np.divmod({x}, 3)[0]", "np.empty({x}.shape).shape", "{x}.flags.f_contiguous", "{x}.flatten()",
         "np.average({x}, axis={axis})")
INPLACE = ("+=", "-=", "*=", "/=", "//=", "%=", "&=", "|=", "^=", "<<=", "**=")


@dataclass
class Name:
    """A variable: what plain NumPy had in it, and whether its last bits may differ."""

    text: str
    value: Any
    close: bool = False

    @property
    def ndim(self) -> int:
        return self.value.ndim if isinstance(self.value, np.ndarray) else 0


class Expressions:
    def __init__(self, rng: random.Random, exact: bool) -> None:
        self.rng, self.exact = rng, exact
        self.calm = rng.random() < 0.75
        self.makers = [self._maker(k) for k in range(rng.randint(2, 4))]
        self.names = [Name(f"x{k}", value) for k, value in enumerate(self.arguments(0))]
        self.scope: dict[str, Any] = {"np": np, **{name.text: name.value for name in self.names}}
        self.lines: list[str] = []
        self.made = 0
        for _ in range(rng.randint(2, 7)):
            self._statement()
        results = [name.text for name in self.names[len(self.makers):]]
        kept = [text for text in results if text == results[-1] or rng.random() < 0.5]
        self.lines.append(f"return {', '.join(kept)}," if kept else "return None")
        names = ", ".join(f"x{k}" for k in range(len(self.makers)))
        self.source = f"def f({names}):\n" + "".join(f"    {line}\n" for line in self.lines)

    # -- arguments ------------------------------------------------------------------------------
    def _maker(self, k: int) -> Any:
        rng = self.rng
        if k and rng.random() < 0.25:
            what = rng.choice([True, 3, -2, 0, 1, 2.5, -0.0, 1.5j, 200, 7, "b", "L", "e", "f", "d", "F", "?", "i"])
            return lambda n: what if not isinstance(what, str) else np.dtype(what).type(n + 2)
        if k and rng.random() < 0.15:           # another view of the first argument's memory
            part = rng.choice(["[1:]", "[:-1]", "[::-1]", ".T", "[...]", "[:1]"])
            return part
        dtype, dropped = rng.choice(DTYPES), 0 if not k else rng.choice([0, 0, 0, 1, 2])
        ones, order, seed = [rng.random() < 0.2 for _ in range(3)], rng.choice("CCCFRSTNBP"), rng.random()
        return dtype, dropped, ones, order, seed

    def arguments(self, n: int) -> tuple[Any, ...]:
        """Equal ones for equal ``n``; for another one the lengths are others."""
        if not hasattr(self, "ndim"):
            self.ndim = self.rng.choice([1, 1, 2, 2, 2, 3])
            self.lengths = [tuple(self.rng.choice([0, 1, 2, 3, 4, 5]) or self.rng.choice([0, 3])
                                  for _ in range(self.ndim)) for _ in range(3)]
        found: list[Any] = []
        for maker in self.makers:
            if isinstance(maker, tuple):
                found.append(self._array(self.lengths[n], *maker))
            elif isinstance(maker, str):
                found.append(eval(f"x{maker}", {"x": found[0]}))
            else:
                found.append(maker(n))
        return tuple(found)

    def _array(self, lengths: tuple[int, ...], char: str, dropped: int, ones: list[bool], order: str,
               seed: float) -> Any:
        shape = tuple(1 if one else n for one, n in zip(ones, lengths))[min(dropped, len(lengths) - 1):]
        dtype, rng, size = np.dtype(char), random.Random(f"{seed} {lengths}"), 4 ** len(shape) * int(np.prod(shape)) + 8
        if dtype.kind == "b":
            numbers: list[Any] = [False, True]
        elif self.calm:
            numbers = [1, 2, 3, 5, 6, 7] if dtype.kind in "iu" else [0.5, 1.0, 1.25, 2.0, 3.0, 4.5]
        elif dtype.kind in "iu":
            numbers = [0, 1, 2, 3, np.iinfo(dtype).max, np.iinfo(dtype).min]
        else:
            numbers = [0.0, -0.0, 1.5, -2.0, 3.0, np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny]
        pool = np.array(rng.choices(numbers, k=size), dtype=dtype)
        if dtype.kind == "c":
            pool.imag = rng.choices(numbers, k=size)
        n = int(np.prod(shape))
        if n == 0:
            return np.zeros(shape, dtype)       # strides of arrays without elements are NumPy's secret
        if order == "P" and len(shape) > 1:     # the axes in another order
            axes = rng.sample(range(len(shape)), len(shape))
            return pool[:n].reshape([shape[a] for a in axes]).transpose(np.argsort(axes))
        if order == "B":
            return np.broadcast_to(pool[:n // shape[0]].reshape(1, *shape[1:]) if shape[0] else pool[:1], shape)
        if order in "RSTN":
            step = {"R": -1, "S": 2, "T": 2, "N": -2}[order]
            big = pool[:2 ** len(shape) * n].reshape([2 * length for length in shape],
                                                     order="F" if order == "T" else "C")
            return big[tuple(slice(None, None, step) if abs(step) == 2 else slice(None, -1 - length, -1)
                             for length in shape)]
        return np.array(pool[:n].reshape(shape), order="F" if order == "F" else "C")

    # -- statements -----------------------------------------------------------------------------
    def _statement(self) -> None:
        for _ in range(12):
            before = [(name, name.close) for name in self.names]
            line, target, close = self._line()
            if line and self._runs(line, target, close):
                return
            for name, was in before:
                name.close = was

    def _runs(self, line: str, target: str, close: bool) -> bool:
        """Carries out a line, and keeps it unless it raises (mostly) or makes too much."""
        scope = dict(self.scope)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                exec(line, scope)
            except (TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError):
                if self.rng.random() < 0.97:
                    return False
                self.lines.append(line)
                return True
        if target:
            value = scope[target]
            if isinstance(value, np.ndarray) and (value.size > 5000 or value.ndim > 4):
                return False
            self.scope[target] = value
            self.names.append(Name(target, value, close))
            self.made += 1
        self.lines.append(line)
        return True

    def _name(self, arrays: bool = False, close: bool = False) -> Name:
        fit = [name for name in self.names if (not arrays or isinstance(name.value, np.ndarray))
               and (close or self.exact or not name.close)]
        late = [name for name in fit if name.text.startswith("v")]
        return self.rng.choice(late if late and self.rng.random() < 0.6 else fit or self.names[:1])

    def _operand(self) -> str:
        roll = self.rng.random()
        if roll < 0.2:
            return self.rng.choice(
                ["2", "3", "1", "0.5", "2.0", "True", "1j", "np.float32(2)", "np.int8(3)", "7", "-1"])
        return self._view(self._name()) if roll < 0.35 else self._name().text

    def _axis(self, name: Name) -> int:
        return self.rng.randrange(-name.ndim, name.ndim) if name.ndim else 0

    def _view(self, name: Name) -> str:
        rng, text = self.rng, name.text
        if not isinstance(name.value, np.ndarray):
            return text
        roll = rng.randrange(14)
        if roll < 6:
            items = [rng.choice([":", "1:", ":-1", "::2", "::-1", ":1", "0", "-1", "None", "..."])
                     for _ in range(max(name.ndim, 1))]
            return f"{text}[{', '.join(items)}]"
        return (f"{text}.T", f"{text}.ravel()", f"{text}.reshape(-1)", f"np.flip({text}, {self._axis(name)})",
                f"np.expand_dims({text}, {self._axis(name)})", f"{text}.swapaxes(0, -1)", f"{text}.squeeze()",
                f"np.broadcast_to({text}, (2, *{text}.shape))")[roll - 6]

    def _line(self) -> tuple[str, str, bool]:
        """A statement, the name that it binds, and whether that may differ in its last bits."""
        rng, target = self.rng, f"v{self.made}"
        kind = rng.randrange(20)
        if kind < 6:
            a, b, op = self._operand(), self._operand(), rng.choice(BINARY)
            if op == "**" and not self.exact:
                return f"{target} = {a} ** {rng.choice(['2', '3', '0.5', b])}", target, True
            return f"{target} = {a} {op} {b}", target, False
        if kind == 6:
            return f"{target} = np.{rng.choice(UFUNCS)}({self._operand()}, {self._operand()})", target, False
        if kind == 7:
            return f"{target} = np.{rng.choice(UNARY)}({self._operand()})", target, False
        if kind == 8:
            return f"{target} = np.{rng.choice(CLOSE)}({self._operand()})", target, True
        if kind == 9:
            a, b, c, d = (self._operand() for _ in range(4))
            return f"{target} = np.where({a} > {b}, {c}, {d})", target, False
        if kind == 10:
            return f"{target} = np.clip({self._operand()}, {self._operand()}, {self._operand()})", target, False
        if kind == 11:
            return f"{target} = {self._name(True).text}.astype({rng.choice(DTYPES)!r})", target, False
        if kind == 12:
            name = self._name(True, close=True)
            return f"{target} = {self._view(name)}", target, name.close
        if kind < 15:
            name = self._name(True)
            keep = rng.choice(["", ", keepdims=True"])
            axis = rng.choice([f"axis={self._axis(name)}", f"axis={self._axis(name)}", "axis=None", "axis=(0, -1)"])
            how = rng.choice([f"{name.text}.{{}}({axis}{keep})", f"np.{{}}({name.text}, {axis}{keep})"])
            return f"{target} = {how.format(rng.choice(REDUCTIONS))}", target, False
        if kind == 15:
            name = self._name(True)
            return f"{target} = {rng.choice(WHOLE).format(x=name.text, axis=self._axis(name))}", target, False
        return self._change()

    def _change(self) -> tuple[str, str, bool]:
        """A statement that writes into an array; views of it have the same bits, or not the same ones, from then on."""
        rng, name = self.rng, self._name(True)
        if not isinstance(name.value, np.ndarray):
            return "", "", False
        text, operand = name.text, self._operand()
        part = rng.choice(["", self._slices(name), self._slices(name)])
        roll = rng.randrange(6)
        if roll == 0:
            function = rng.choice(["add", "subtract", "multiply", "maximum"])
            return f"np.{function}({operand}, {self._operand()}, out={text}{part})", "", False
        if roll == 1:
            return f"{text}{part or '[...]'} = {operand}", "", False
        if roll == 2:                            # itself, moved
            one, other = rng.choice([("[1:]", "[:-1]"), ("[:-1]", "[1:]"), ("[::-1]", ""), ("", "[::-1]"),
                                     ("[...]", ".T"), ("", "[:1]"), ("[1:]", "[:1]")])
            return f"{text}{one} {rng.choice(['+=', '-=', '=', '*=']) if one else '+='} {text}{other}", "", False
        op = rng.choice(INPLACE)
        return ("", "", False) if op == "**=" and not self.exact else (f"{text}{part} {op} {operand}", "", False)

    def _slices(self, name: Name) -> str:
        items = [self.rng.choice([":", "1:", ":-1", "::2", "::-1", ":1", "0"])
                 for _ in range(self.rng.randint(1, max(name.ndim, 1)))]
        return f"[{', '.join(items)}]"
