"""The graph as text, and back.

Job: ``print_graph`` writes typed SSA text for people, ``parse_graph`` reads it.  Invariants:
``print_graph(parse_graph(text)) == text`` for every printed text, and the parsed graph is the
same up to the objects that the reader supplies.  Anyone may call; nothing depends on the form.

A node is ``%7: float64[2C] (%3, %4) = ew.multiply.dd->d %1, %2 !0  ; line 12``: result, type,
lengths, operation with its main attributes, operands, further attributes in braces, the exit it
may take, the source line.  ``@k`` is an object of the table, ``vK`` value K of an exit boxed,
``sK`` source K of the guard program, ``#n=`` names a recipe that is used again as ``#n`` (one object).
"""
from __future__ import annotations

import re
import types
from collections.abc import Iterable, Sequence

import numpy as np

from jitcore.ir.graph import Block, Exit, Graph, Node, Terminator, Value
from jitcore.ir.literal import Scanner, literal_text, number_text
from jitcore.ir.recipe import NULL, Build, Const, FromSource, FromValue, Null, Recipe
from jitcore.ir.types import ObjectType, ScalarType, Type, parse_type

#: Attributes that are written behind the opcode's name, with dots.
DOTTED: dict[str, tuple[str, ...]] = {
    "ew": ("op", "sig"), "reduce": ("op", "sig"), "py": ("fn",), "idx": ("fn",), "cast": ("dtype",),
    "view": ("kind",), "copy": ("order",), "list_call": ("fn",),
}
#: The fields of an exit that hold recipes, in packed order.
_RECIPES = ("locals", "stack", "operands", "inner")
_SCALAR_TYPES = {"?": bool, "l": int, "q": int, "d": float, "D": complex}


class Unresolved:
    """Stands for an object of a text that was parsed without it."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __repr__(self) -> str:
        return f"<unresolved {self.label}>"


def describe(obj: object) -> str:
    """A short name of any object, without running its code and without addresses."""
    if isinstance(obj, Unresolved):
        return obj.label
    if isinstance(obj, (types.FunctionType, types.BuiltinFunctionType, type)):
        module = getattr(obj, "__module__", None)
        name = f"{module}.{obj.__qualname__}" if isinstance(module, str) else obj.__qualname__
        kind = "class" if isinstance(obj, type) else "function"
        return f"{kind} {name}"
    if type(obj) is types.ModuleType:
        return f"module {obj.__name__}"
    if type(obj) is np.ufunc:
        return f"ufunc {obj.__name__}"
    if isinstance(obj, np.dtype):
        return f"dtype {obj.str}"
    if type(obj) is np.ndarray:
        return f"ndarray {obj.dtype.str} {obj.shape}"
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


# -- printing -------------------------------------------------------------------------------------
class _Printer:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.objects: list[object] = list(graph.objects)

    def reference(self, obj: object) -> int:
        for index, known in enumerate(self.objects):
            if known is obj:
                return index
        self.objects.append(obj)
        return len(self.objects) - 1

    def literal(self, value: object) -> str:
        return literal_text(value, self.reference)

    def graph_lines(self) -> list[str]:
        graph = self.graph
        body: list[str] = []
        for value in graph.inputs:
            body.append(f"input {definition(value)}")
        for block in graph.blocks:
            params = f"({', '.join(definition(p) for p in block.params)})" if block.params else ""
            body.append(f"b{block.id}{params}:")
            body.extend("  " + self.node(node) for node in block.nodes)
            if block.terminator is not None:
                body.append("  " + terminator_text(block.terminator))
        for index, exit in enumerate(graph.exits):
            body.append(f"exit {index}: {self.exit(exit)}")
        head = [f"region {graph.name!r} {graph.file!r}"]
        for index, obj in enumerate(self.objects):
            kind = "object" if index < len(graph.objects) else "constant"
            head.append(f"{kind} @{index}  ; {describe(obj)}")
        return head + body

    def node(self, node: Node) -> str:
        text = f"{definition(node.result)} = " if node.result is not None else ""
        attrs = dict(node.attrs)
        dotted = [attrs.pop(name) for name in DOTTED.get(node.op, ()) if isinstance(attrs.get(name), str)]
        text += ".".join([node.op, *dotted])
        if node.op == "const" and node.result is not None and _is_number_of(attrs.get("value"), node.result.type):
            text += " " + number_text(attrs.pop("value"))
        if node.op == "object" and isinstance(attrs.get("index"), int):
            text += f" @{attrs.pop('index')}"
        if node.operands:
            text += " " + ", ".join(map(repr, node.operands))
        if attrs:
            text += " {" + ", ".join(f"{name}={self.literal(value)}" for name, value in attrs.items()) + "}"
        if node.exit is not None:
            text += f" !{node.exit}"
        return text + _line(node.line)

    def exit(self, exit: Exit) -> str:
        parts = [exit.kind]
        if exit.unit:
            parts.append(f"unit={exit.unit}")
        if exit.next_unit:
            parts.append(f"next={exit.next_unit}")
        if exit.target is not None:
            parts.append(f"to={exit.target!r}")
        if exit.site:
            parts.append(f"site={exit.site!r}")
        if exit.site_arg is not None:
            parts.append(f"arg={self.literal(exit.site_arg)}")
        if exit.values:
            parts.append(f"values({', '.join(map(repr, exit.values))})")
        shared = _shared(exit)
        labels: dict[int, int] = {}

        def recipe(r: Recipe) -> str:
            if id(r) in labels:
                return f"#{labels[id(r)]}"
            label = ""
            if id(r) in shared:
                labels[id(r)] = len(labels)
                label = f"#{labels[id(r)]}="
            if isinstance(r, Build):
                return f"{label}{r.kind}({', '.join(map(recipe, r.items))})"
            if isinstance(r, FromValue):
                return f"{label}v{r.index}"
            if isinstance(r, FromSource):
                return f"s{r.source}"
            if isinstance(r, Null):
                return "null"
            assert isinstance(r, Const), r
            plain = type(r.obj) in (bool, int, float, complex, str, bytes) or r.obj is None or r.obj is Ellipsis
            return self.literal(r.obj) if plain else f"@{self.reference(r.obj)}"

        if exit.frames:
            parts.append(f"frames={self.literal(exit.frames)}")
        for name in _RECIPES:
            items = getattr(exit, name)
            if items:
                parts.append(f"{name}[{', '.join(map(recipe, items))}]")
        if exit.result is not None:
            parts.append(f"result={recipe(exit.result)}")
        if exit.reason:
            parts.append(f"reason={exit.reason!r}")
        return " ".join(parts) + _line(exit.line)


def _is_number_of(value: object, type_: Type) -> bool:
    """True if the untyped text of ``value`` and ``type_`` together tell the value."""
    return isinstance(type_, ScalarType) and type(value) is scalar_class(type_)


def scalar_class(type_: ScalarType) -> type:
    """The Python or NumPy class of a scalar of ``type_``."""
    return _SCALAR_TYPES.get(type_.dtype.char, object) if type_.weak else type_.dtype.type


def _shared(exit: Exit) -> set[int]:
    """Ids of the recipes used more than once that make an object."""
    seen: set[int] = set()
    twice: set[int] = set()

    def visit(recipe: Recipe) -> None:
        if isinstance(recipe, (FromValue, Build)):
            if id(recipe) in seen:
                twice.add(id(recipe))
                return
            seen.add(id(recipe))
        if isinstance(recipe, Build):
            for item in recipe.items:
                visit(item)

    for recipe in exit_recipes(exit):
        visit(recipe)
    return twice


def exit_recipes(exit: Exit) -> Iterable[Recipe]:
    """The outermost recipes of an exit."""
    for name in _RECIPES:
        yield from getattr(exit, name)
    if exit.result is not None:
        yield exit.result


def definition(value: Value) -> str:
    """``%7: float64[2C] (%3, %4)``."""
    shape = f" ({', '.join(map(repr, value.shape))})" if value.shape else ""
    return f"{value!r}: {value.type}{shape}"


def _line(line: int) -> str:
    return f"  ; line {line}" if line else ""


def terminator_text(terminator: Terminator) -> str:
    """The text of a block's end."""
    text = terminator.kind
    if terminator.exit is not None:
        text += f" {terminator.exit}"
    if terminator.cond is not None:
        text += f" {terminator.cond!r}"
    if terminator.targets:
        text += " " + ", ".join(f"b{block.id}({', '.join(map(repr, args))})" for block, args in terminator.targets)
    return text + _line(terminator.line)


def node_text(node: Node, graph: Graph | None = None) -> str:
    """The text of one node, for messages."""
    return _Printer(graph or Graph()).node(node)


def print_graph(graph: Graph) -> str:
    """The text of ``graph``.  Works on graphs that ``ir.verify`` would refuse, too."""
    return "\n".join(_Printer(graph).graph_lines()) + "\n"


def object_table(graph: Graph) -> list[object]:
    """The objects that ``@k`` stands for in ``print_graph(graph)``, to be given to ``parse_graph``."""
    printer = _Printer(graph)
    printer.graph_lines()
    return printer.objects


# -- parsing --------------------------------------------------------------------------------------
class _Parser:
    def __init__(self, text: str, objects: Sequence[object]) -> None:
        self.lines = [line.rstrip() for line in text.splitlines()]
        self.graph = Graph()
        self.objects = list(objects)
        self.labels: dict[int, Unresolved] = {}
        self.values: dict[int, Value] = {}
        self.defined: set[int] = set()
        self.blocks: dict[int, Block] = {}

    def object(self, index: int) -> object:
        if index < len(self.objects):
            return self.objects[index]
        return self.labels.setdefault(index, Unresolved(f"@{index}"))

    def parse(self) -> Graph:
        block: Block | None = None
        for number, line in enumerate(self.lines, 1):
            try:
                block = self.line(line, block)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
        missing = sorted(set(self.values) - self.defined)
        if missing:
            raise ValueError(f"used but not defined: {', '.join(f'%{k}' for k in missing)}")
        for empty in self.blocks.values():
            if empty not in self.graph.blocks:
                raise ValueError(f"no block {empty!r}")
        self.graph._next_value = max(self.values, default=-1) + 1
        self.graph._next_block = max(self.blocks, default=-1) + 1
        return self.graph

    def line(self, line: str, block: Block | None) -> Block | None:
        """Parse one line; returns the block that the next line belongs to."""
        if not line.strip() or line.lstrip().startswith(";"):
            return block
        code, comment = _split_comment(line)
        scan = Scanner(code, self.object)
        source_line = int(comment[5:]) if re.fullmatch(r"line \d+", comment) else 0
        if line.startswith(" "):
            if block is None:
                raise ValueError(f"a node outside of a block: {line!r}")
            self.body(scan, block, source_line)
            return block
        head = scan.kind("name")
        if head == "region":
            self.graph.name = str(scan.literal())
            self.graph.file = str(scan.literal())
        elif head in ("object", "constant"):
            scan.expect("@")
            index = scan.integer()
            obj = self.object(index)
            if isinstance(obj, Unresolved):
                obj.label = comment or obj.label
            if head == "object":
                if index != len(self.graph.objects):
                    raise ValueError(f"object @{index} is out of turn")
                self.graph.objects.append(obj)
        elif head == "input":
            self.graph.inputs.append(self.definition(scan))
        elif head == "exit":
            index = scan.integer()
            if index != len(self.graph.exits):
                raise ValueError(f"exit {index} is out of turn")
            scan.expect(":")
            self.graph.exits.append(self.exit(scan, source_line))
            block = None
        elif re.fullmatch(r"b\d+", head):
            block = self.block(head)
            if block in self.graph.blocks:
                raise ValueError(f"block {head} is defined twice")
            self.graph.blocks.append(block)
            if scan.take("("):
                while not scan.take(")"):
                    block.params.append(self.definition(scan))
                    scan.take(",")
            scan.expect(":")
        else:
            raise ValueError(f"unknown line {line!r}")
        if scan.rest():
            raise scan.fail("the end of the line")
        return block

    def block(self, name: str) -> Block:
        index = int(name[1:])
        return self.blocks.setdefault(index, Block(index))

    def use(self, scan: Scanner) -> Value:
        scan.expect("%")
        index = scan.integer()
        return self.values.setdefault(index, Value(index, ObjectType()))

    def uses(self, scan: Scanner, end: str) -> tuple[Value, ...]:
        found = []
        while not scan.take(end):
            found.append(self.use(scan))
            scan.take(",")
        return tuple(found)

    def definition(self, scan: Scanner) -> Value:
        value = self.use(scan)
        if value.id in self.defined:
            raise ValueError(f"{value!r} is defined twice")
        self.defined.add(value.id)
        scan.expect(":")
        value.type = parse_type(self.type_text(scan))
        if scan.take("("):
            value.shape = self.uses(scan, ")")
        return value

    def type_text(self, scan: Scanner) -> str:
        text = scan.kind("name")
        if scan.take("["):
            text += f"[{self.type_text(scan) if text == 'list' else f'{scan.integer()}' + scan.kind('name')}]"
            scan.expect("]")
        return text

    def body(self, scan: Scanner, block: Block, line: int) -> None:
        if block.terminator is not None:
            raise ValueError(f"{scan.rest()!r} behind the end of {block!r}")
        result = None
        if scan.peek()[1] == "%":
            result = self.definition(scan)
            scan.expect("=")
        word = scan.word()
        if result is None and word in ("exit", "jump", "branch"):
            block.terminator = self.terminator(scan, word, line)
        else:
            op, *dotted = word.split(".")
            names = DOTTED.get(op, ())
            if len(dotted) > len(names) and names:   # an op's own name may have dots
                head = len(dotted) - len(names) + 1
                dotted = [".".join(dotted[:head]), *dotted[head:]]
            node = Node(op, (), dict(zip(names, dotted)), None, line)
            if result is not None:
                node.result, result.node = result, node
            self.operands(scan, node)
            block.nodes.append(node)
        if scan.rest():
            raise scan.fail("the end of the line")

    def operands(self, scan: Scanner, node: Node) -> None:
        if node.op == "const" and node.result is not None and scan.peek()[1] not in ("{", "%", ""):
            assert isinstance(node.result.type, ScalarType)
            node.attrs["value"] = scan.number(scalar_class(node.result.type))
        if node.op == "object" and scan.take("@"):
            node.attrs["index"] = scan.integer()
        found = []
        while scan.peek()[1] == "%":
            found.append(self.use(scan))
            if not scan.take(","):
                break
        node.operands = tuple(found)
        if scan.take("{"):
            while not scan.take("}"):
                name = scan.kind("name")
                scan.expect("=")
                node.attrs[name] = scan.literal()
                scan.take(",")
        if scan.take("!"):
            node.exit = scan.integer()

    def terminator(self, scan: Scanner, kind: str, line: int) -> Terminator:
        end = Terminator(kind, line=line)
        if kind == "exit":
            end.exit = scan.integer()
            return end
        if kind == "branch":
            end.cond = self.use(scan)
        while scan.rest():
            target = self.block(scan.kind("name"))
            scan.expect("(")
            end.targets.append((target, self.uses(scan, ")")))
            scan.take(",")
        return end

    def exit(self, scan: Scanner, line: int) -> Exit:
        exit = Exit(scan.kind("name"), line=line)
        shared: dict[int, Recipe] = {}
        while scan.rest():
            name = scan.kind("name")
            if name == "values":
                scan.expect("(")
                exit.values = self.uses(scan, ")")
            elif name in _RECIPES:
                scan.expect("[")
                items = []
                while not scan.take("]"):
                    items.append(self.recipe(scan, shared))
                    scan.take(",")
                setattr(exit, name, tuple(items))
            elif name == "to":
                scan.expect("=")
                exit.target = self.block(scan.kind("name"))
            elif name in ("unit", "next", "site", "arg", "reason", "result", "frames"):
                scan.expect("=")
                field = {"next": "next_unit", "arg": "site_arg"}.get(name, name)
                setattr(exit, field, self.recipe(scan, shared) if name == "result" else scan.literal())
            else:
                raise scan.fail("a field of an exit before")
        return exit

    def recipe(self, scan: Scanner, shared: dict[int, Recipe]) -> Recipe:
        if scan.take("#"):
            label = scan.integer()
            if scan.take("="):
                shared[label] = self.recipe(scan, shared)
            if label not in shared:
                raise ValueError(f"recipe #{label} is not defined")
            return shared[label]
        kind, text = scan.peek()
        if kind == "name" and text not in ("None", "True", "False", "Ellipsis", "complex"):
            scan.next()
            if text == "null":
                return NULL
            if re.fullmatch(r"[sv]\d+", text):
                return FromSource(int(text[1:])) if text[0] == "s" else FromValue(int(text[1:]))
            scan.expect("(")
            items = []
            while not scan.take(")"):
                items.append(self.recipe(scan, shared))
                scan.take(",")
            return Build(text, tuple(items))
        return Const(scan.literal())


def _split_comment(line: str) -> tuple[str, str]:
    """The line before and behind its first ``;`` that is not inside quotes."""
    match = re.match(r"""((?:[^;'"]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*)(?:;(.*))?$""", line)
    if match is None:
        raise ValueError(f"quotes do not match in {line!r}")
    return match.group(1), (match.group(2) or "").strip()


def parse_graph(text: str, objects: Sequence[object] = ()) -> Graph:
    """The graph that prints as ``text``.

    ``objects`` is the table that ``@k`` refers to (see ``object_table``); what it lacks becomes
    an ``Unresolved``.  ``ValueError`` names the line that is wrong.
    """
    return _Parser(text, objects).parse()


Graph.printer = staticmethod(print_graph)
