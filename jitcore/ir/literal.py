"""Literals of the graph's text form: scalars to the bit, tuples, references to objects.

Job: write and read the values of attributes and recipes.  Invariant: reading what was written
gives a value of the same type with the same bits; whatever is no number, text or tuple of such is
written as ``@k``, an index into a table of objects that the text's reader must be given.  Used by
``ir.text`` alone, except ``same_value`` and ``scalar_bits``, which anyone may call.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Callable

import numpy as np

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>b?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))
    |(?P<float>-?(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|inf\b|0x[01]\.[0-9a-f]+p[+-]\d+))
    |(?P<int>-?\d+)
    |(?P<bits>nan\(0x[0-9a-f]+\)|nan\b)
    |(?P<arrow>->)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<punct>[%@!#:=,(){}\[\].;]))""", re.VERBOSE)

_PLAIN = (bool, int, float, complex)
#: Names of Python's own scalar types and of NumPy's, by which a literal tells its type.
_MAKERS: dict[str, type] = {t.__name__: t for t in _PLAIN}
for _char in "?bBhHiIlLqQefdgFDG":
    _type = np.dtype(_char).type
    _MAKERS.setdefault(f"np.{_type.__name__}", _type)
_NAMES = {t: name for name, t in _MAKERS.items()}


def scalar_bits(value: object) -> tuple[type, object]:
    """A hashable key that tells scalars apart by type and bit pattern (``-0.0``, NaN payloads)."""
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    if isinstance(value, (float, complex)):
        return type(value), np.asarray(value).tobytes()
    return type(value), value


def same_value(a: object, b: object) -> bool:
    """True if two attribute values are the same: scalars by bits, tuples by items, else by identity."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b))
    if isinstance(a, (*_PLAIN, np.generic)):
        return scalar_bits(a) == scalar_bits(b)
    if isinstance(a, (str, bytes)):
        return a == b
    return False


def _float_text(value: float | np.floating) -> str:
    """Text from which ``_float`` makes the same bits."""
    kind = type(value)
    if np.isnan(value):
        if scalar_bits(value) == scalar_bits(kind("nan")):
            return "nan"
        size = np.dtype(kind).itemsize
        return f"nan(0x{int.from_bytes(np.asarray(value).tobytes(), 'little'):0{2 * size}x})"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(float(value)) if kind is float else str(value)
    if "." not in text and "e" not in text:
        text += ".0"
    # The shortest decimal of a narrow float is read through a double: take hexadecimal should that round twice.
    return text if scalar_bits(_float(kind, text)) == scalar_bits(value) else float(value).hex()


def _float(kind: type, text: str) -> float | np.floating:
    if text.startswith("nan("):
        bits = int(text[4:-1], 16)
        array: np.ndarray = np.frombuffer(bits.to_bytes(np.dtype(kind).itemsize, "little"), dtype=kind)
        return float(array[0]) if kind is float else array[0]
    return kind(float.fromhex(text) if "0x" in text else text)


def number_text(value: object) -> str:
    """A scalar without its type: ``True``, ``-3``, ``0.1``, ``nan``, ``(1.0, -0.0)``."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (complex, np.complexfloating)):
        return f"({_float_text(value.real)}, {_float_text(value.imag)})"
    assert isinstance(value, (float, np.floating)), value
    return _float_text(value)


def literal_text(value: object, reference: Callable[[object], int]) -> str:
    """Any attribute value; ``reference`` gives the index of an object that has no literal."""
    kind = type(value)
    if value is None or value is Ellipsis:
        return repr(value)
    if kind in (str, bytes):
        return repr(value)
    if kind is tuple:
        items = [literal_text(item, reference) for item in value]  # type: ignore[attr-defined]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if kind in (bool, int, float):
        return number_text(value)
    if kind in _NAMES:
        text = number_text(value)
        return f"{_NAMES[kind]}{text if text.startswith('(') else f'({text})'}"
    return f"@{reference(value)}"


class Scanner:
    """A line's tokens, taken from the front.  ``ValueError`` says what was expected where."""

    def __init__(self, line: str, objects: Callable[[int], object]) -> None:
        self.line, self.position, self.objects = line, 0, objects

    def rest(self) -> str:
        return self.line[self.position:].strip()

    def fail(self, expected: str) -> ValueError:
        return ValueError(f"expected {expected} at {self.rest()[:40]!r} in {self.line!r}")

    def peek(self) -> tuple[str, str]:
        """The kind and text of the next token, ``('end', '')`` at the end."""
        match = _TOKEN.match(self.line, self.position)
        if match is None:
            if self.rest():
                raise self.fail("a token")
            return "end", ""
        kind = match.lastgroup
        assert kind is not None
        return kind, match.group(kind)

    def next(self) -> tuple[str, str]:
        token = self.peek()
        match = _TOKEN.match(self.line, self.position)
        if match is not None:
            self.position = match.end()
        return token

    def take(self, text: str) -> bool:
        """Take the token ``text`` if it comes next."""
        if self.peek()[1] == text and self.peek()[0] not in ("string", "end"):
            self.next()
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise self.fail(repr(text))

    def kind(self, kind: str) -> str:
        """The text of the next token, which must be of ``kind``."""
        if self.peek()[0] != kind:
            raise self.fail(kind)
        return self.next()[1]

    def integer(self) -> int:
        return int(self.kind("int"))

    def word(self) -> str:
        """The characters up to the next space: an operation's dotted name."""
        match = re.compile(r"\s*(\S+)").match(self.line, self.position)
        if match is None:
            raise self.fail("a word")
        self.position = match.end()
        return match.group(1)

    def number(self, kind: type) -> object:
        """A scalar of the Python or NumPy type ``kind`` from its untyped text."""
        if issubclass(kind, (complex, np.complexfloating)):
            part = float if kind is complex else kind(0).real.__class__
            self.expect("(")
            real = self._real(part)
            self.expect(",")
            imag = self._real(part)
            self.expect(")")
            if kind is complex:
                assert isinstance(real, float) and isinstance(imag, float)
                return complex(real, imag)
            pair = np.array([real, imag], dtype=part)
            return pair.view(kind)[0]
        return self._real(kind)

    def _real(self, kind: type) -> object:
        token, text = self.next()
        if issubclass(kind, (bool, np.bool_)) and text in ("True", "False"):
            return kind(text == "True")
        if issubclass(kind, (int, np.integer)) and not issubclass(kind, bool) and token == "int":
            return kind(int(text))
        if issubclass(kind, (float, np.floating)) and token in ("float", "int", "bits"):
            return _float(kind, text)
        raise self.fail(f"a {kind.__name__} before")

    def literal(self) -> object:
        """The inverse of ``literal_text``."""
        token, text = self.peek()
        if token == "string":
            return ast.literal_eval(self.next()[1])
        if token == "int":
            return int(self.next()[1])
        if token in ("float", "bits"):
            return _float(float, self.next()[1])
        if self.take("@"):
            return self.objects(self.integer())
        if self.take("("):
            items = []
            while not self.take(")"):
                items.append(self.literal())
                if not self.take(","):
                    self.expect(")")
                    break
            return tuple(items)
        if token == "name":
            self.next()
            if text in ("None", "True", "False", "Ellipsis"):
                return {"None": None, "True": True, "False": False, "Ellipsis": Ellipsis}[text]
            if text == "np":
                self.expect(".")
                text = "np." + self.kind("name")
            if text in _MAKERS:
                if self.peek()[1] == "(" and issubclass(_MAKERS[text], (complex, np.complexfloating)):
                    return self.number(_MAKERS[text])
                self.expect("(")
                value = self.number(_MAKERS[text])
                self.expect(")")
                return value
        raise self.fail("a literal")
