"""Functions on device arrays: tracing, the cache of programs, and how marked functions and NumPy's get here.

Job: ``run`` a function on the device, ``compile_region`` for a marked one, and what NumPy's functions do with
``DeviceArray``s.  Invariants: a function is traced as for host arrays of the same dtypes, shapes and strides; what
cannot run on the device raises ``TypeError`` with the reason before anything has been done.  Used by ``api`` and
``runtime.compiler``.
"""
from __future__ import annotations

import _thread
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from jitcore import config, pipeline
from jitcore.backends.cpu.loops import Unsupported
from jitcore.backends.cuda import array, driver, exchange
from jitcore.backends.cuda.array import DeviceArray
from jitcore.backends.cuda.execute import LeaveDevice, Program, unsupported
from jitcore.backends.nvvm.ptx import architecture_for
from jitcore.backends.nvvm.reports import FIRST_BAIL, KINDS
from jitcore.errors import REASONS
from jitcore.frontend.snapshot import Refusal, Snapshot, Trace
from jitcore.guards import reference
from jitcore.guards.guard import LoadArray, Loading, LoadObject, TypeIs
from jitcore.guards.sources import Local
from jitcore.ir.graph import Exit, Graph, Terminator
from jitcore.ir.recipe import Build, Const, FromSource, FromValue, Recipe
from jitcore.ir.types import OBJECT
from jitcore.passes.tables import context
from jitcore.runtime.records import record_of
from jitcore.runtime.stages import snapshot_of_call

_BUILDERS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple, "list": list, "dict": lambda items: dict(zip(items[::2], items[1::2]))}
#: Elements of small arrays are numbers of native code on the CPU: here they would be fetched one by one.
_LEFT_OUT = frozenset({"elements"})
#: Programs of one function, at most; others are run operation by operation.
_MOST = 32
#: Longer tuples and lists are not looked into for arrays.
_MOST_ITEMS = 64


@dataclass
class Entry:
    """A trace that is a program on a device, or why it is none."""

    trace: Trace
    guards: reference.Program
    program: Program | None
    refused: str = ""


_flags: dict[int, array.Memory] = {}


# -- arguments ---------------------------------------------------------------------------------------
def _is_short(value: Any) -> bool:
    """Whether arrays are looked for among the items of an argument."""
    return type(value) in (tuple, list) and len(value) <= _MOST_ITEMS


def _each(convert: Callable[[Any], Any], value: Any) -> Any:
    """An argument with what ``convert`` makes of it, or of its items; the object itself where that changes nothing."""
    if not _is_short(value):
        return convert(value)
    items = [convert(item) for item in value]
    return value if all(new is old for new, old in zip(items, value)) else type(value)(items)


def _form(value: Any) -> Any:
    """What a trace sees of an array on a device."""
    return value._form if isinstance(value, DeviceArray) else value


def _adopted(value: Any) -> Any:
    """An array of another library as ours."""
    if type(value) in (np.ndarray, int, float, bool, tuple, list):
        return value
    found = exchange.adopt(value)
    return value if found is None else found


def is_foreign(value: object) -> bool:
    """Whether an argument is another library's array on a device."""
    return hasattr(type(value), "__cuda_array_interface__") and not isinstance(value, DeviceArray)


# -- running -----------------------------------------------------------------------------------------
def run(func: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any], precision: str = "default") -> Any:
    """``func(*args, **kwargs)`` as kernels.  Raises ``LeaveDevice`` (see ``why``) where that cannot be."""
    return run_locals(snapshot_of_call(func, args, kwargs), precision)


def run_locals(snapshot: Snapshot, precision: str) -> Any:
    """A call with these locals as kernels."""
    real = tuple(_each(_adopted, value) for value in snapshot.locals)
    seen = tuple(_each(_form, value) for value in real)
    entry = _entry(snapshot, seen, precision)
    if entry.program is None:
        raise LeaveDevice(entry.refused)
    device = entry.program.device
    frame = reference.FrameValues(snapshot.func, real, snapshot.unbound)
    inputs, moved = [], False
    for guard in entry.trace.guards:
        if isinstance(guard, Loading):
            obj = reference.read(guard.source, frame)
            if isinstance(guard, LoadArray) and type(obj) is np.ndarray:
                obj, moved = array.from_host(obj, device), True
            inputs.append(obj)
    if moved and entry.program.stores:
        raise LeaveDevice("an array of the host is changed")
    flags = _flags_of(device)
    with np.errstate(all="ignore"):
        exit, values = entry.program.run(inputs, flags.pointer)
    if exit.kind != "return":
        raise LeaveDevice("the interpreter decides")
    sources = [reference.read(source, frame) for source in entry.trace.sources]
    assert exit.result is not None
    return _built(exit.result, values, sources, {})


def _entry(snapshot: Snapshot, seen: tuple[Any, ...], precision: str) -> Entry:
    device = driver.device(next((one.device for one in _flat(snapshot.locals) if isinstance(one, DeviceArray)), 0))
    asked: dict[str, Any] = dict(np.geterr())
    checked = any(asked[kind] != "ignore" for kind in KINDS)
    known: list[Entry] = record_of(snapshot.code).on_device.setdefault((device.ordinal, checked, precision), [])
    frame = reference.FrameValues(snapshot.func, seen, snapshot.unbound)
    for entry in known:
        if entry.guards.check(frame)[0] == 0:
            return entry
    if len(known) >= _MOST:
        raise LeaveDevice("too many kinds of arguments")
    made = _compiled(Snapshot(snapshot.func, snapshot.code, 0, seen, (), snapshot.unbound), device, checked, precision)
    known.append(made)
    return made


def _flat(values: Sequence[Any]) -> list[Any]:
    """The arguments, and the items of short tuples and lists among them."""
    found: list[Any] = []
    for value in values:
        found += value if _is_short(value) else [value]
    return found


def _compiled(snapshot: Snapshot, device: driver.Device, checked: bool, precision: str) -> Entry:
    traced = pipeline.trace(snapshot, leave_out=_LEFT_OUT)
    if isinstance(traced, Refusal):
        none = Trace(Graph(), traced.guards, traced.sources)
        return Entry(none, reference.Program(traced.guards, traced.sources), None, traced.reason)
    check = reference.Program(traced.guards, traced.sources)
    try:
        code = pipeline.lower_for_device(traced, config.Options(precision), architecture_for(device.capability))
        why = unsupported(traced.graph, code) or _unbuildable(traced.graph)
        program = None if why else Program(traced.graph, code, device, context(traced.graph), checked)
    except Unsupported as error:
        program, why = None, str(error)
    return Entry(traced, check, program, why)


def _unbuildable(graph: Graph) -> str:
    for exit in graph.exits:
        if exit.kind == "return" and not _is_built(exit.result):
            return "a result that is made in C"
    return ""


def _is_built(recipe: Recipe | None) -> bool:
    if isinstance(recipe, Build):
        return recipe.kind in _BUILDERS and all(map(_is_built, recipe.items))
    return isinstance(recipe, (Const, FromSource, FromValue))


def _built(recipe: Recipe, values: list[Any], sources: list[Any], made: dict[int, Any]) -> Any:
    """The object of a recipe; ``made``: those that stand in it, since the same recipe twice is the same object."""
    match recipe:
        case Const(obj=obj):
            return obj
        case FromValue(index=index):
            return values[index]
        case FromSource(source=source):
            return sources[source]
        case Build(kind=kind, items=items):
            if id(recipe) not in made:
                made[id(recipe)] = _BUILDERS[kind]([_built(item, values, sources, made) for item in items])
            return made[id(recipe)]
    raise AssertionError(recipe)


# -- reports -----------------------------------------------------------------------------------------
def _flags_of(device: driver.Device) -> array.Memory:
    """The word in which all kernels of a device gather what NumPy would report."""
    found = _flags.get(device.ordinal)
    if found is None:
        found = _flags[device.ordinal] = array.Memory(device, 4)
        device.clear(found.pointer, 4)
    return found


def check_reports(device: driver.Device) -> None:
    """Reports, as NumPy does, what kernels have met since the last look; what errstate says now counts."""
    found = _flags.get(device.ordinal)
    if found is None:
        return
    word = np.zeros(1, np.uint32)
    device.read(word.ctypes.data, found.pointer, 4)
    if word[0] == 0:
        return
    device.clear(found.pointer, 4)
    for kind, bit in KINDS.items():
        if int(word[0]) & bit:
            _report(kind)
    if int(word[0]) >> FIRST_BAIL:
        raise driver.DeviceError("an operation had no result for some elements (an integer divided by zero or raised "
                                 "to a negative power): NumPy would have raised or warned")


_TEXTS = {"divide": "divide by zero", "over": "overflow", "invalid": "invalid value"}


def _report(kind: str) -> None:
    """What ``np.errstate`` asks for."""
    asked: dict[str, Any] = dict(np.geterr())
    text, how = f"{_TEXTS[kind]} encountered on the device", asked[kind]
    if how == "warn":
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    elif how == "raise":
        raise FloatingPointError(text)
    elif how == "print":
        print(f"Warning: {text}")
    elif how in ("call", "log"):
        handler: Any = np.geterrcall()
        if how == "call":
            handler(_TEXTS[kind], KINDS[kind])
        else:
            handler.write(f"Warning: {text}\n")


# -- NumPy's functions -------------------------------------------------------------------------------
class Operations:
    """``array.operations``: each of NumPy's functions is traced like a function of the user's."""

    def ufunc(self, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(kwargs.get("out"), tuple) and len(kwargs["out"]) == 1:
            kwargs = {**kwargs, "out": kwargs["out"][0]}
        what = "function" if method == "__call__" else f"function.{method}"
        result = _operation(ufunc, what, inputs, kwargs)
        return kwargs["out"] if "out" in kwargs else result

    def function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if function in _VIEWS:
            return _views(args[0], function(args[0]._form, *args[1:], **kwargs))
        if function is np.ndarray.__getitem__:
            return _operation(function, "", args, {}, "a0[a1]")
        if function is np.astype or getattr(function, "__name__", "") == "astype":
            return _operation(function, "", args, kwargs, f"a0.astype({_listed(args[1:], kwargs, 1)})")
        return _operation(function, "function", args, kwargs)

    def store(self, target: DeviceArray, value: Any) -> None:
        _operation(np.copyto, "", (target, value), {}, _STORE)

    def reports(self, device: driver.Device) -> None:
        check_reports(device)


#: Functions that give views, or lists of them, whatever the strides.
_VIEWS = frozenset({np.squeeze, np.swapaxes, np.transpose, np.expand_dims, np.moveaxis, np.rollaxis, np.broadcast_to,
                    np.flip, np.fliplr, np.flipud, np.rot90, np.diagonal, np.split, np.array_split, np.hsplit,
                    np.vsplit, np.dsplit})


def _views(array: DeviceArray, form: Any) -> Any:
    return array._view(form) if isinstance(form, np.ndarray) else type(form)(_views(array, one) for one in form)


_STORE = "a0[...] = a1"
_wrappers: dict[tuple[Any, ...], FunctionType] = {}


def _listed(args: Sequence[Any], kwargs: dict[str, Any], first: int = 0) -> str:
    return ", ".join([f"a{k + first}" for k in range(len(args))] + [f"{name}={name}" for name in kwargs])


def _operation(function: Any, what: str, args: tuple[Any, ...], kwargs: dict[str, Any], body: str = "") -> Any:
    """One operation, as a function of its own."""
    key = function, what, len(args), tuple(kwargs), body
    wrapper = _wrappers.get(key)
    if wrapper is None:
        names = ", ".join([f"a{k}" for k in range(len(args))] + [f"{name}=None" for name in kwargs])
        scope: dict[str, Any] = {"function": function}
        text = body if body == _STORE else f"return {body or f'{what}({_listed(args, kwargs)})'}"
        exec(f"def operation({names}):\n    {text}\n", scope)
        wrapper = _wrappers[key] = scope["operation"]
    try:
        return run(wrapper, args, kwargs)
    except LeaveDevice as error:
        name = getattr(function, "__name__", str(function))
        raise TypeError(f"{name} does not run on a device for these arguments ({error or 'the interpreter decides'}): "
                        "take to_host() of the arrays") from None


# -- marked functions --------------------------------------------------------------------------------
def wants(snapshot: Snapshot, options: config.Options) -> bool:
    """Whether a call with these locals belongs to a device: arrays live there, or the function's mark says so."""
    if snapshot.unit != 0 or options.device == "cpu":
        return False
    values = _flat(snapshot.locals)
    if any(isinstance(value, DeviceArray) or is_foreign(value) for value in values):
        return True
    return options.device == "cuda" and any(type(value) is np.ndarray for value in values) and not driver.obstacle()


def compile_region(snapshot: Snapshot, options: config.Options) -> pipeline.Stages | Refusal:
    """A region that hands the function's locals to ``run_locals``, for locals of these types; why there is none where
    the function cannot run on a device for them, operation by operation then."""
    func, unbound = snapshot.func, snapshot.unbound
    bound = [k for k, value in enumerate(snapshot.locals) if value is not unbound]
    types = [TypeIs(Local(k), type(snapshot.locals[k])) for k in bound]
    try:
        seen = tuple(_each(_form, _each(_adopted, value)) for value in snapshot.locals)
        refused = _entry(snapshot, seen, options.precision).refused
    except LeaveDevice as error:
        refused = str(error)
    if refused:
        return Refusal(f"{REASONS['device']}: {refused}", snapshot.code.co_firstlineno, list(types), [])

    def enter(*values: Any) -> Any:
        locals = list(snapshot_locals)
        for k, value in zip(bound, values):
            locals[k] = value
        try:
            result = run_locals(Snapshot(func, func.__code__, 0, tuple(locals), (), unbound), options.precision)
        except KeyboardInterrupt:
            _thread.interrupt_main()        # for the interpreter, which goes on with this call
            raise
        if any(isinstance(value, DeviceArray) or is_foreign(value) for value in _flat(values)):
            return result
        return _on_host(result)

    snapshot_locals = [unbound] * len(snapshot.locals)
    graph = Graph(pipeline.region_name(snapshot), snapshot.code.co_filename)
    checks = [*types, *(LoadObject(Local(k)) for k in bound)]
    inputs = [graph.add_input(OBJECT) for _ in bound]
    block = graph.new_block()
    graph.add_exit(Exit("restart"))
    called = graph.add(block, "call", tuple(inputs), OBJECT, exit=0, callee=graph.add_object(enter),
                       template=tuple(("v", k) for k in range(len(inputs))), kwnames=())
    assert called.result is not None
    leave = graph.add_exit(Exit("return", (called.result,), result=FromValue(0)))
    block.terminator = Terminator("exit", exit=leave)
    traced = Trace(graph, checks, [], work=1)
    stages = pipeline.lower(snapshot, traced, options)
    pipeline.build(stages)
    return stages


def _on_host(result: Any) -> Any:
    if isinstance(result, DeviceArray):
        return result._fetched()
    if type(result) in (tuple, list):
        return type(result)([_on_host(item) for item in result])
    if type(result) is dict:
        return {key: _on_host(value) for key, value in result.items()}
    return result


def to_device(host: Any) -> DeviceArray:
    """See ``jitcore.to_device``."""
    found = exchange.adopt(host)
    return found if found is not None else array.from_host(np.asarray(host))


def synchronize() -> None:
    """See ``jitcore.synchronize``."""
    for device in driver.devices_in_use():
        device.synchronize()
        check_reports(device)


array.link.operations = Operations()
