"""Reads PTX text: functions, instructions, memory that it declares.

``flatten`` makes one list of instructions of an entry and the functions that it calls: a call is replaced by the
function's instructions, with registers and labels of their own.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field


class PtxError(AssertionError):
    """The text, or a run of it, breaks a rule."""


@dataclass(frozen=True)
class Instr:
    """``guard``: the predicate and whether it is negated.  ``args``: operands; braces are tuples."""

    op: tuple[str, ...]
    args: tuple[object, ...]
    guard: tuple[str, bool] | None = None

    def __str__(self) -> str:
        return f"{'.'.join(self.op)} {self.args}"


@dataclass
class Function:
    name: str
    params: list[tuple[str, str]]
    body: list[Instr | str] = field(default_factory=list)       # a string is a label
    registers: dict[str, str] = field(default_factory=dict)      # prefix -> type
    local: dict[str, int] = field(default_factory=dict)
    threads: int = 1024


@dataclass
class Code:
    """What runs: instructions in order, and where labels are."""

    name: str
    params: list[tuple[str, str]]
    instrs: list[Instr] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)      # register -> type
    local: dict[str, tuple[int, int]] = field(default_factory=dict)      # name -> offset, size
    local_size: int = 0
    threads: int = 1024


_HEAD = re.compile(r"(?:\.visible\s+\.entry|\.func)\s+(\([^)]*\)\s*)?([\w$]+)\s*\(([^)]*)\)([^{;]*)\{", re.S)
_DATA = re.compile(r"\.(global|shared)\s+\.align\s+(\d+)\s+\.b8\s+([\w$]+)\[(\d+)\](?:\s*=\s*\{([^}]*)\})?;")


class Module:
    """``functions`` by name; ``data``: constant bytes by name; ``shared``: bytes of shared memory by name."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"//[^\n]*", "", text)
        self.version = _found(r"\.version\s+(\S+)", text)
        self.arch = _found(r"\.target\s+(\w+)", text)
        self.functions: dict[str, Function] = {}
        self.data: dict[str, bytes] = {}
        self.shared: dict[str, tuple[int, int]] = {}
        if ".extern" in text:
            raise PtxError("something is not defined: " + _found(r"(\.extern[^;]*)", text))
        for space, align, name, size, values in _DATA.findall(text):
            if space == "shared":
                self.shared[name] = int(align), int(size)
            else:
                given = bytes(int(v) for v in values.split(",") if v.strip())
                self.data[name] = given + bytes(int(size) - len(given))
        for head in _HEAD.finditer(text):
            self._function(head, text)

    def _function(self, head: re.Match[str], text: str) -> None:
        depth, at = 1, head.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        params = [_param(p) for p in head[3].split(",") if p.strip()]
        function = Function(head[2], params)
        limit = re.search(r"\.maxntid\s+(\d+)", head[4])
        if limit:
            function.threads = int(limit[1])
        for statement in _statements(text[head.end():at - 1]):
            self._statement(function, statement)
        self.functions[head[2]] = function

    def _statement(self, function: Function, statement: str) -> None:
        if statement.endswith(":"):
            function.body.append(statement[:-1])
        elif match := re.match(r"\.reg\s+\.(\w+)\s+%(\w+?)<\d+>$", statement):
            function.registers[match[2]] = match[1]
        elif match := re.match(r"\.reg\s+\.(\w+)\s+%(\w+)$", statement):
            function.registers[match[2]] = match[1]
        elif match := re.match(r"\.local\s+\.align\s+\d+\s+\.b8\s+(\w+)\[(\d+)\]$", statement):
            function.local[match[1]] = int(match[2])
        elif not statement.startswith("."):
            function.body.append(_instr(statement))

    def flatten(self, name: str) -> Code:
        """An entry with all that it calls."""
        entry = self.functions[name]
        code = Code(name, entry.params, threads=entry.threads)
        self._add(code, entry, "")
        return code

    def _add(self, code: Code, function: Function, prefix: str) -> None:
        """``prefix`` makes names of this call its own."""
        for local, size in function.local.items():
            code.local[prefix + local] = code.local_size, size
            code.local_size += -(-size // 64) * 64
        own = {name for name, _ in function.params}

        def renamed(arg: object) -> object:
            if isinstance(arg, tuple):
                return tuple(renamed(a) for a in arg)
            assert isinstance(arg, str)
            if arg.startswith("["):
                return f"[{renamed(arg[1:-1])}]"
            base, plus, offset = arg.partition("+")
            if base.startswith("%"):
                kind = function.registers.get(base[1:]) or function.registers.get(base[1:].rstrip("0123456789"))
                if kind is None:
                    return arg          # a special register
                code.registers[prefix + base] = kind
            elif not (base.startswith("$") or base in function.local or base in own
                      or re.match(r"(param|retval|func_retval)\d+$", base)):
                return arg
            return prefix + base + plus + offset

        calls = 0
        for item in function.body:
            if isinstance(item, str):
                code.labels[prefix + item] = len(code.instrs)
            elif item.op[0] == "call":
                (result,), callee, given = item.args if isinstance(item.args[0], tuple) else ((None,), *item.args)
                called = self.functions[callee]
                inside = f"{prefix}{calls}:{len(code.instrs)}:"
                calls += 1
                for (param, _), arg in zip(called.params, given):
                    code.instrs.append(Instr(("copy",), (inside + param, prefix + arg)))
                self._add(code, called, inside)
                code.labels[inside + "end"] = len(code.instrs)
                if result is not None:
                    code.instrs.append(Instr(("copy",), (prefix + result, inside + "func_retval0")))
            elif item.op[0] == "ret" and prefix:
                code.instrs.append(Instr(("bra",), (prefix + "end",), item.guard and (prefix + item.guard[0],
                                                                                     item.guard[1])))
            else:
                guard = item.guard and (renamed(item.guard[0]), item.guard[1])
                code.instrs.append(Instr(item.op, tuple(renamed(a) for a in item.args), guard))


def _param(text: str) -> tuple[str, str]:
    """Name and type of a parameter; one that is bytes (a float16) is a word of as many."""
    name, kind = text.split()[-1], text.split()[1].lstrip(".")
    if kind == "align":
        name, _, size = name.rstrip("]").partition("[")
        kind = f"b{8 * int(size)}"
    return name, kind


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[1] if match else ""


def _statements(body: str) -> list[str]:
    """Split at semicolons, colons of labels, and the braces around a call."""
    body = re.sub(r"^\s*[{}]\s*$", "", body, flags=re.M)
    body = re.sub(r"^\s*\{\s*(?=\.reg|\.param)", "", body, flags=re.M)
    found = []
    for part in body.split(";"):
        part = part.strip().rstrip("}").strip() if part.strip() == "}" else part.strip()
        while match := re.match(r"([\w$]+):\s*", part):
            found.append(match[1] + ":")
            part = part[match.end():]
        if part:
            found.append(part)
    return found


def _instr(statement: str) -> Instr:
    match = re.match(r"(?:@(!?)(%\w+)\s+)?([\w.]+)\s*(.*)$", statement, re.S)
    assert match is not None, statement
    guard = (match[2], bool(match[1])) if match[2] else None
    return Instr(tuple(match[3].split(".")), tuple(_args(match[4])), guard)


def _args(text: str) -> list[object]:
    found: list[object] = []
    for token in re.findall(r"\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|[^,\s]+", text):
        if token[0] in "{(":
            found.append(tuple(t.strip() for t in token[1:-1].split(",")))
        else:
            found.append(token)
    return found
