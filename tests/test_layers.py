"""The rooms of ``jitcore/`` import downwards only, without cycles, and never inside functions."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGE = _ROOT / "jitcore"

#: From the top down; a room may import itself and what stands below it.
_ROOMS = ("__main__", "__init__", "api", "runtime", "pipeline", "frontend", "backends", "kernels", "passes", "guards",
          "bytecode", "ops", "ir", "_support", "config", "errors")

#: Distributions that may be missing, and so may be imported where they are used.
_OPTIONAL = {"cuda", "nvidia", "scipy"}

#: (module, import) pairs inside functions that have a reason.
_ALLOWED = {("jitcore._support", "jitcore._core")}      # finds out whether the extension can be used at all

_MODULES = {".".join(path.relative_to(_ROOT).with_suffix("").parts): path for path in sorted(_PACKAGE.rglob("*.py"))}


def _resolve(target: str, name: str) -> str:
    """``from target import name`` as a module: the submodule if there is one."""
    submodule = f"{target}.{name}"
    if submodule in _MODULES or f"{submodule}.__init__" in _MODULES or submodule == "jitcore._core":
        return submodule
    return target


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _imports(module: str, types_too: bool = True) -> Iterator[tuple[str, int, bool]]:
    """(imported module, line, inside a function) for each import of ``module``."""
    tree = ast.parse(_MODULES[module].read_text(encoding="utf-8"))
    if not types_too:
        tree.body = [node for node in tree.body if not _for_types_only(node)]
    inside = {id(node) for function in ast.walk(tree)
              if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
              for node in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, id(node) in inside
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: relative import"
            for alias in node.names:
                yield _resolve(node.module or "", alias.name), node.lineno, id(node) in inside


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def _own(name: str) -> bool:
    return name == "jitcore" or (name.startswith("jitcore.") and name != "jitcore._core")


@pytest.mark.parametrize("module", sorted(_MODULES))
def test_imports_go_down(module):
    assert _room(module) in _ROOMS, f"{module} is in no room of the house"
    rank = _ROOMS.index(_room(module))
    for name, line, _ in _imports(module):
        if _own(name):
            assert _ROOMS.index(_room(name)) >= rank, f"{module}:{line} imports {name}, which stands above it"


@pytest.mark.parametrize("module", sorted(_MODULES))
def test_no_imports_inside_functions(module):
    for name, line, inside in _imports(module):
        if inside and (module, name) not in _ALLOWED:
            assert name.partition(".")[0] in _OPTIONAL, f"{module}:{line} imports {name} inside a function"


def test_no_cycles():
    names = {module.removesuffix(".__init__"): module for module in _MODULES}
    graph = {name: sorted({target for target, _, inside in _imports(module, types_too=False)
                           if target in names and not inside} - {name})
             for name, module in names.items()}
    state: dict[str, int] = {}

    def visit(name: str, path: list[str]) -> None:
        if state.get(name) == 2:
            return
        assert state.get(name) != 1, "import cycle: " + " -> ".join([*path[path.index(name):], name])
        state[name] = 1
        for target in graph[name]:
            visit(target, [*path, name])
        state[name] = 2

    for name in graph:
        visit(name, [])


def test_front_end_and_back_ends_do_not_know_each_other():
    for module in _MODULES:
        if _room(module) in ("frontend", "backends"):
            other = "backends" if _room(module) == "frontend" else "frontend"
            assert not [name for name, _, _ in _imports(module) if name.startswith(f"jitcore.{other}")], module


def test_only_the_bytecode_room_knows_instructions():
    """``dis``, ``opcode`` and the version tables stay behind ``decode``."""
    for module in _MODULES:
        if _room(module) != "bytecode":
            for name, line, _ in _imports(module):
                assert name not in ("dis", "opcode"), f"{module}:{line} imports {name}"
                assert not name.startswith(("jitcore.bytecode.v3", "jitcore.bytecode.tables")), f"{module}:{line}"
