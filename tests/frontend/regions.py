"""A dispatcher in Python: runs functions through traces, without C.

``call`` does what the C dispatcher does with regions: it traces the frame's state, checks the guards by their Python
definition, runs the graph in ``ir.interp``, rebuilds objects from recipes, performs CALL sites, and goes on in an
interpreter of canonical bytecode where a region leaves.  Its result must be the function's.
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from jitcore.frontend.snapshot import Refusal, Snapshot, Trace
from jitcore.frontend.trace import trace_region
from jitcore.guards import guard as g
from jitcore.guards.reference import FrameValues, Program, input_of, read
from jitcore.ir.graph import Exit
from jitcore.ir.interp import run as run_graph
from jitcore.ir.recipe import Build, Const, FromSource, FromValue, Null, Recipe
from jitcore.ir.verify import verify
from jitcore.ops.python import PY
from jitcore.ops.table import OPS
from tests.bytecode import executor

PY_FUNCTIONS: dict[str, Callable[..., object]] = {name: op.function for name, op in PY.items()}
NULL = executor._NULL
MAX_REGIONS = 60

_BINARY = ("add", "and_", "floordiv", "lshift", "matmul", "mul", "mod", "or_", "pow", "rshift", "sub", "truediv", "xor")
_COMPARE = ("lt", "le", "eq", "ne", "gt", "ge")
_CONVERT = (lambda v: v, str, repr, ascii)


class Run:
    """One call of ``func``, and what happened: ``traces`` by unit, ``events`` in order."""

    def __init__(self, func: FunctionType, *args: Any, traces: dict[int, list[Any]] | None = None,
                 **kwargs: Any) -> None:
        self.func = func
        self.frame = executor.Frame(func, args, kwargs)
        self.traces = {} if traces is None else traces
        self.events: list[str] = []

    def go(self) -> Any:
        unit = 0
        for _ in range(MAX_REGIONS):
            trace = self.region(unit)
            if isinstance(trace, Refusal):
                self.events.append(f"refused: {trace.reason}")
                return self.interpret(unit)
            found = self.enter(trace, unit)
            exit, objects = found
            self.events.append(f"{exit.kind}{' ' + exit.site if exit.site else ''}")
            if exit.kind == "return":
                return objects[0]
            if exit.kind == "restart":
                return self.interpret(unit)
            self.rebuild(exit, objects)
            if exit.kind == "leave":
                return self.interpret(exit.unit)
            operands = objects[len(exit.locals) + len(exit.stack):]
            try:
                results = perform(self.func, exit, operands, self.frame.slots)
            except Exception as error:
                return self.interpret(exit.unit, error)
            if results is None:
                raise AssertionError("a site that hands over")
            self.frame.push(*results)
            unit = exit.next_unit
        return self.interpret(unit)

    def region(self, unit: int) -> Trace | Refusal:
        locals = tuple(self.frame.slots)
        values = FrameValues(self.func, locals + tuple(self.frame.stack), NULL)
        for trace, program in self.traces.get(unit, ()):
            if program.check(values)[0] == 0:
                return trace  # type: ignore[no-any-return]
        trace = trace_region(Snapshot(self.func, self.func.__code__, unit, locals, tuple(self.frame.stack), NULL))
        program = Program(trace.guards, trace.sources)
        failed = program.check(values)[0]
        assert failed == 0, f"a fresh trace's own guard fails: {trace.guards[failed - 1:failed]}"
        if isinstance(trace, Trace):
            verify(trace.graph)
        self.traces.setdefault(unit, []).append((trace, program))
        return trace

    def enter(self, trace: Trace, unit: int) -> tuple[Exit, list[Any]]:
        values = FrameValues(self.func, tuple(self.frame.slots) + tuple(self.frame.stack), NULL)
        versions = {guard.source: guard.type for guard in trace.guards if isinstance(guard, (g.TypeVersion, g.TypeIs))}
        inputs = [input_of(guard, read(guard.source, values, versions)) for guard in trace.guards
                  if isinstance(guard, g.Loading)]
        index, out = run_graph(trace.graph, inputs, OPS, PY_FUNCTIONS)
        exit = trace.graph.exits[index]
        sources = [read(source, values, versions) for source in trace.sources]
        recipes = [exit.result] if exit.kind == "return" else [*exit.locals, *exit.stack, *exit.operands]
        memo: dict[int, Any] = {}
        return exit, [build(self.func, recipe, sources, out, memo) for recipe in recipes if recipe is not None]

    def rebuild(self, exit: Exit, objects: list[Any]) -> None:
        n = len(exit.locals)
        assert n == len(self.frame.slots)
        self.frame.slots = objects[:n]
        closure = self.func.__closure__ or ()
        for i, cell in enumerate(closure):
            if self.frame.slots[n - len(closure) + i] is NULL:
                self.frame.slots[n - len(closure) + i] = cell
        self.frame.stack = objects[n:n + len(exit.stack)]

    def interpret(self, unit: int, error: BaseException | None = None) -> Any:
        """Go on as the interpreter does, at ``unit``; with ``error`` raised by the instruction there."""
        frame = self.frame
        index = frame.code.at(unit)
        while True:
            instr = frame.code.instructions[index]
            try:
                if error is not None:
                    raise error
                to = frame.step(instr)
            except executor._Return as result:
                return result.args[0]
            except BaseException as raised:
                error = None
                handler = frame.code.handler(instr.op_unit)
                if handler is None:
                    raise
                del frame.stack[handler.depth:]
                frame.stack += [instr.op_unit, raised] if handler.lasti else [raised]
                index = frame.code.at(handler.target)
                continue
            index = index + 1 if to is None else frame.code.at(to)


def build(func: FunctionType, recipe: Recipe, sources: list[Any], values: list[Any], memo: dict[int, Any]) -> Any:
    """The object that ``recipe`` describes, in a region of ``func``."""
    if id(recipe) not in memo:
        memo[id(recipe)] = _build(func, recipe, sources, values, memo)
    return memo[id(recipe)]


def _build(func: FunctionType, recipe: Recipe, sources: list[Any], values: list[Any], memo: dict[int, Any]) -> Any:
    match recipe:
        case Const(obj=obj):
            return obj
        case Null():
            return NULL
        case FromSource(source=source):
            return sources[source]
        case FromValue(index=index):
            return values[index]
        case Build(kind=kind, items=items):
            made = [build(func, item, sources, values, memo) for item in items]
            if kind == "instance":
                obj = object.__new__(made[0])
                for name, value in zip(made[1::2], made[2::2]):
                    object.__setattr__(obj, name, value)
                return obj
            if kind == "function":
                return _function(func, *made)
            if kind == "free":
                return ((func if made[1] is NULL else made[1]).__closure__ or ())[made[0]]
            if kind == "last":
                return made[1]
            if kind == "dict":
                return dict(zip(made[::2], made[1::2]))
            if kind == "cell":
                return CellType() if made[0] is NULL else CellType(made[0])
            if kind == "method":
                return MethodType(*made)
            if kind in ("iter_at", "reversed_at"):
                found = iter(made[0]) if kind == "iter_at" else reversed(made[0])
                found.__setstate__(made[1])
                return found
            if kind == "flat_at":
                found = made[0].flat
                for _ in range(made[1]):
                    next(found)
                return found
            if kind == "array":
                char, order, lengths, *elements = made
                return np.array(np.array(elements, char).reshape(lengths), order=order)
            if kind == "either":
                return next((value for flag, value in zip(made[::2], made[1::2]) if flag), NULL)
            if kind == "zip":
                return zip(*made[1:], strict=made[0])
            makers = {"tuple": tuple, "list": list, "set": set, "iter": lambda v: iter(v[0]),
                      "enumerate": lambda v: enumerate(*v)}
            return makers[kind](made) if kind in makers else {"slice": slice, "range": range}[kind](*made)
    raise AssertionError(recipe)


def _function(own: FunctionType, code: CodeType, base: Any, defaults: Any, kwdefaults: Any, closure: Any,
              annotations: Any, *cells: CellType) -> FunctionType:
    base = own if base is NULL else base
    made = FunctionType(code, base.__globals__, None, None if defaults is NULL else defaults,
                        () if closure is NULL else closure)
    made.__kwdefaults__ = None if kwdefaults is NULL else kwdefaults
    made.__annotations__ = {} if annotations is NULL else annotations
    for cell in cells:
        cell.cell_contents = made
    return made


def perform(func: FunctionType, exit: Exit, ops: list[Any], slots: list[Any]) -> list[Any] | None:
    """What ``csrc/calls.c`` does for a site in a frame with these ``slots``: the objects that it pushes."""
    arg = exit.site_arg
    match exit.site:
        case "call":
            args = ops[1 if ops[1] is not NULL else 2:]
            names = arg or ()
            return [ops[0](*args[:len(args) - len(names)], **dict(zip(names, args[len(args) - len(names):])))]
        case "call_ex":
            assert type(ops[1]) is tuple
            return [ops[0](*ops[1], **({} if ops[2] is NULL else ops[2]))]
        case "getattr":
            return [getattr(ops[0], arg)]
        case "getattr_null":
            return [getattr(ops[0], arg), NULL]
        case "before_with":
            return [ops[0].__exit__, ops[0].__enter__()]
        case "setattr":
            setattr(ops[1], arg, ops[0])
            return []
        case "delattr":
            delattr(ops[0], arg)
            return []
        case "getitem":
            return [ops[0][ops[1]]]
        case "setitem":
            ops[1][ops[2]] = ops[0]
            return []
        case "delitem":
            del ops[0][ops[1]]
            return []
        case "binary":
            name = _BINARY[arg % 13].rstrip("_")
            return [getattr(operator, _BINARY[arg] if arg < 13 else "i" + name)(*ops)]
        case "unary":
            return [getattr(operator, arg + "_" if arg == "not" else arg)(*ops)]
        case "compare" | "compare_bool":
            found = getattr(operator, _COMPARE[arg])(*ops)
            return [bool(found) if exit.site == "compare_bool" else found]
        case "contains":
            return [(ops[0] in ops[1]) != bool(arg)]
        case "is_true":
            return [bool(ops[0])]
        case "format":
            return [format(_CONVERT[arg](ops[0]), "" if ops[1] is NULL else ops[1])]
        case "convert":
            return [_CONVERT[arg](ops[0])]
        case "build_string":
            return ["".join(ops)]
        case "store_global":
            func.__globals__[arg] = ops[0]
            return []
        case "store_cell":
            slots[arg].cell_contents = ops[0]
            return []
        case "import_name":
            return [__import__(arg, func.__globals__, None, ops[1], ops[0])]
        case "iter":
            return [iter(ops[0])]
        case "unpack_sequence":
            assert type(ops[0]) in (tuple, list) and len(ops[0]) == arg
            return list(reversed(ops[0]))
    raise AssertionError(f"no site {exit.site}")
