"""Handlers: globals, attributes, imports."""
from __future__ import annotations

import builtins
import sys
from types import ModuleType

from jitcore.bytecode import Instr
from jitcore.frontend import attributes, instances
from jitcore.frontend.calls import PENDING, deliver_null, perform
from jitcore.frontend.machine import Machine
from jitcore.frontend.objects import constant, read
from jitcore.frontend.protocol import Leaves, Raises, Redirect, Unsupported
from jitcore.frontend.registry import handles
from jitcore.frontend.values import UNBOUND, Abstract, Instance, Known, Method, NativeMethod
from jitcore.guards.guard import Absent
from jitcore.guards.sources import Global, ModuleGlobal, Source


def global_value(m: Machine, name: str) -> Abstract:
    """What a global's name means in the running frame."""
    frame = m.frame
    namespace = frame.func.globals
    base = frame.func.globals_source
    source: Source = Global(name) if base is None else ModuleGlobal(base, name)
    scope = namespace if name in namespace else _builtins(namespace)
    if name not in scope:
        if not frame.constant_globals:
            m.guard(Absent(source))
        raise Raises(NameError, f"name {name} is not defined")
    if frame.constant_globals:
        return constant(m, scope[name])
    return read(m, scope[name], source)


def _builtins(namespace: dict[str, object]) -> dict[str, object]:
    """The builtins that a function with these globals was made with."""
    found = namespace.get("__builtins__", builtins)
    return vars(found) if found is builtins else found  # type: ignore[return-value]


@handles("LOAD_GLOBAL")
def load_global(m: Machine, instr: Instr) -> None:
    value = global_value(m, instr.arg.name)
    frame = m.frame
    if instr.arg.push_null and instr.arg.null_first:
        frame.push(UNBOUND)
    frame.push(value)
    if instr.arg.push_null and not instr.arg.null_first:
        frame.push(UNBOUND)


@handles("STORE_GLOBAL")
def store_global(m: Machine, instr: Instr) -> None:
    raise Unsupported(f"a store to global {instr.arg}")


@handles("LOAD_ATTR")
def load_attr(m: Machine, instr: Instr) -> None:
    obj = m.frame.pop()
    found = attributes.get(m, obj, instr.arg)
    if isinstance(found, Redirect):
        result = perform(m, found)
        if result is not PENDING:
            m.frame.push(result)
        return
    m.frame.push(m.made(found))


@handles("LOAD_METHOD")
def load_method(m: Machine, instr: Instr) -> None:
    frame = m.frame
    obj = frame.pop()
    null_first = instr.arg.null_first
    found = attributes.get(m, obj, instr.arg.name)
    if isinstance(found, Redirect):
        result = perform(m, found, "null_first" if null_first else "null_last")
        if result is not PENDING:
            deliver_null(frame, result, null_first)
        return
    if isinstance(found, Method):
        frame.push(found.func)
        frame.push(found.self_value)
        return
    descriptor = attributes.method_descriptor(m, found) if isinstance(found, NativeMethod) else None
    if descriptor is not None:
        frame.push(Known(descriptor))
        frame.push(obj)
        return
    deliver_null(frame, m.made(found), null_first)


@handles("LOAD_SUPER_ATTR")
def load_super_attr(m: Machine, instr: Instr) -> None:
    frame = m.frame
    made, cls, obj = (m.force(v) for v in frame.pop_n(3))
    if not isinstance(made, Known) or made.obj is not super:
        raise Leaves("super is another function here")
    found = attributes.of_super(m, cls, obj, instr.arg.name)
    if instr.arg.method:
        frame.push(found.func)
        frame.push(found.self_value)
    else:
        frame.push(found)


@handles("STORE_ATTR")
def store_attr(m: Machine, instr: Instr) -> None:
    value, obj = m.frame.pop_n(2)
    obj = m.force(obj)
    if not isinstance(obj, Instance):
        raise Unsupported(f"a store to attribute {instr.arg}")
    setter = instances.store(m, obj, instr.arg, value)
    if setter is not None:
        perform(m, setter, "drop")


@handles("DELETE_ATTR")
def delete_attr(m: Machine, instr: Instr) -> None:
    obj = m.force(m.frame.pop())
    if not isinstance(obj, Instance):
        raise Unsupported(f"deleting attribute {instr.arg}")
    instances.delete(m, obj, instr.arg)


@handles("LOAD_ASSERTION_ERROR")
def load_assertion_error(m: Machine, instr: Instr) -> None:
    m.frame.push(Known(AssertionError))


@handles("IMPORT_NAME")
def import_name(m: Machine, instr: Instr) -> None:
    """NumPy's own code imports what is there already; all else may run code."""
    module = sys.modules.get(instr.arg)
    level, names = (m.force(v) for v in m.frame.stack[-2:])
    plain = isinstance(level, Known) and level.obj == 0 and isinstance(module, ModuleType)
    if not (plain and m.frame.constant_globals):
        raise Unsupported(f"import of {instr.arg}")
    m.frame.pop_n(2)
    if isinstance(names, Known) and names.obj is None:
        module = sys.modules[instr.arg.partition(".")[0]]
    m.frame.push(Known(module))


@handles("IMPORT_FROM")
def import_from(m: Machine, instr: Instr) -> None:
    module = m.force(m.frame.stack[-1])
    if not isinstance(module, Known) or type(module.obj) is not ModuleType:
        raise Leaves(f"import of {instr.arg} from an object")
    found = attributes.get(m, module, instr.arg)
    assert not isinstance(found, Redirect)
    m.frame.push(found)
