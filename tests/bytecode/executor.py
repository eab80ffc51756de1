"""Runs canonical instructions on real objects, by their definition in ``canonical`` alone.

What it gives must be what CPython gives for the function: that tests the tables' meaning and not only their form.
Slow, complete for functions without generator instructions, and of no use outside of tests.
"""
from __future__ import annotations

import builtins
import inspect
import operator
import types
from typing import Any

from jitcore.bytecode import Instr, decode

_NULL: Any = type("Null", (), {"__repr__": lambda self: "NULL"})()
_CONVERSIONS = {"str": str, "repr": repr, "ascii": ascii, "": lambda value: value}
_ATTRIBUTES = {"defaults": "__defaults__", "kwdefaults": "__kwdefaults__", "annotations": "__annotations__"}


def run(func: types.FunctionType, *args: Any, **kwargs: Any) -> Any:
    """``func(*args, **kwargs)``."""
    return Frame(func, args, kwargs).run()


class _Return(Exception):
    pass


class Frame:
    """One call."""

    def __init__(self, func: types.FunctionType, args: tuple, kwargs: dict) -> None:
        self.func, self.code = func, decode(func.__code__)
        bound = inspect.signature(func).bind(*args, **kwargs)
        bound.apply_defaults()
        self.slots: list[Any] = [_NULL] * len(self.code.names)
        for name, value in bound.arguments.items():
            self.slots[self.code.names.index(name)] = value
        self.stack: list[Any] = []
        self.handled: list[Any] = []            # exceptions being handled, innermost last

    def run(self) -> Any:
        index = 0
        while True:
            instr = self.code.instructions[index]
            try:
                unit = self.step(instr)
            except _Return as result:
                return result.args[0]
            except BaseException as error:
                handler = self.code.handler(instr.op_unit)
                if handler is None:
                    raise
                del self.stack[handler.depth:]
                if handler.lasti:
                    self.stack.append(instr.op_unit)
                self.stack.append(error)
                index = self.code.at(handler.target)
                continue
            index = index + 1 if unit is None else self.code.at(unit)

    def step(self, instr: Instr) -> int | None:
        """Performs ``instr``; the unit that it jumps to, if it does."""
        return getattr(self, f"do_{instr.op.lower()}")(instr.arg, instr)

    def pop(self, n: int) -> list[Any]:
        items = self.stack[len(self.stack) - n:]
        del self.stack[len(self.stack) - n:]
        return items

    def push(self, *items: Any) -> None:
        self.stack.extend(items)

    # -- the frame and the stack -----------------------------------------------------------
    def do_nop(self, arg, instr): ...

    do_resume = do_nop
    do_copy_free_vars = do_nop

    def do_pop_top(self, arg, instr):
        self.stack.pop()

    def do_push_null(self, arg, instr):
        self.push(_NULL)

    def do_copy(self, arg, instr):
        self.push(self.stack[-arg])

    def do_swap(self, arg, instr):
        self.stack[-1], self.stack[-arg] = self.stack[-arg], self.stack[-1]

    # -- locals ----------------------------------------------------------------------------
    def do_load_const(self, arg, instr):
        self.push(arg)

    def do_load_fast(self, arg, instr):
        if self.slots[arg] is _NULL and self.code.names[arg] in (self.func.__code__.co_freevars):
            self.slots[arg] = self.cell(arg)
        if self.slots[arg] is _NULL:
            raise UnboundLocalError(self.code.names[arg])
        self.push(self.slots[arg])

    def do_load_fast_and_clear(self, arg, instr):
        self.push(self.slots[arg])
        self.slots[arg] = _NULL

    def do_store_fast(self, arg, instr):
        self.slots[arg] = self.stack.pop()

    def do_delete_fast(self, arg, instr):
        if self.slots[arg] is _NULL:
            raise UnboundLocalError(self.code.names[arg])
        self.slots[arg] = _NULL

    def do_make_cell(self, arg, instr):
        value = self.slots[arg]
        self.slots[arg] = types.CellType() if value is _NULL else types.CellType(value)

    def cell(self, arg):
        n_free = len(self.func.__code__.co_freevars)
        position = arg - (len(self.slots) - n_free)
        return self.func.__closure__[position] if position >= 0 else self.slots[arg]

    def do_load_deref(self, arg, instr):
        self.push(self.cell(arg).cell_contents)

    def do_store_deref(self, arg, instr):
        self.cell(arg).cell_contents = self.stack.pop()

    def do_delete_deref(self, arg, instr):
        del self.cell(arg).cell_contents

    # -- names and attributes ----------------------------------------------------------------
    def do_load_global(self, arg, instr):
        names = self.func.__globals__
        value = names[arg.name] if arg.name in names else getattr(builtins, arg.name)
        null = [_NULL] * arg.push_null
        self.push(*null, value) if arg.null_first else self.push(value, *null)

    def do_store_global(self, arg, instr):
        self.func.__globals__[arg] = self.stack.pop()

    def do_delete_global(self, arg, instr):
        del self.func.__globals__[arg]

    def do_load_attr(self, arg, instr):
        self.push(getattr(self.stack.pop(), arg))

    def do_load_method(self, arg, instr):
        self.push_method(self.stack.pop(), arg)

    def push_method(self, obj, arg):
        value = getattr(obj, arg.name)
        if isinstance(value, types.MethodType):
            self.push(value.__func__, value.__self__)
        else:
            self.push(*((_NULL, value) if arg.null_first else (value, _NULL)))

    def do_load_super_attr(self, arg, instr):
        cls, owner, instance = self.pop(3)
        assert cls is super
        if arg.method:
            self.push_method(super(owner, instance), arg)
        else:
            self.push(getattr(super(owner, instance), arg.name))

    def do_store_attr(self, arg, instr):
        value, obj = self.pop(2)
        setattr(obj, arg, value)

    def do_delete_attr(self, arg, instr):
        delattr(self.stack.pop(), arg)

    def do_load_build_class(self, arg, instr):
        self.push(builtins.__build_class__)

    def do_load_assertion_error(self, arg, instr):
        self.push(AssertionError)

    def do_import_name(self, arg, instr):
        level, fromlist = self.pop(2)
        self.push(__import__(arg, self.func.__globals__, None, fromlist, level))

    def do_import_from(self, arg, instr):
        self.push(getattr(self.stack[-1], arg))

    # -- operations --------------------------------------------------------------------------
    def do_unary(self, arg, instr):
        self.push(getattr(operator, f"__{arg}__")(self.stack.pop()))

    def do_binary(self, arg, instr):
        self.push(getattr(operator, f"__{'i' * arg.inplace}{arg.op}__")(*self.pop(2)))

    def do_compare(self, arg, instr):
        value = getattr(operator, f"__{arg.op}__")(*self.pop(2))
        self.push(bool(value) if arg.to_bool else value)

    def do_is(self, arg, instr):
        a, b = self.pop(2)
        self.push((a is b) != arg)

    def do_contains(self, arg, instr):
        item, container = self.pop(2)
        self.push((item in container) != arg)

    def do_to_bool(self, arg, instr):
        self.push(bool(self.stack.pop()))

    def do_subscr(self, arg, instr):
        self.push(operator.getitem(*self.pop(2)))

    def do_store_subscr(self, arg, instr):
        value, obj, key = self.pop(3)
        obj[key] = value

    def do_delete_subscr(self, arg, instr):
        operator.delitem(*self.pop(2))

    def do_slice(self, arg, instr):
        obj, start, stop = self.pop(3)
        self.push(obj[start:stop])

    def do_store_slice(self, arg, instr):
        value, obj, start, stop = self.pop(4)
        obj[start:stop] = value

    def do_get_len(self, arg, instr):
        self.push(len(self.stack[-1]))

    # -- building ----------------------------------------------------------------------------
    def do_build_tuple(self, arg, instr):
        self.push(tuple(self.pop(arg)))

    def do_build_list(self, arg, instr):
        self.push(self.pop(arg))

    def do_build_set(self, arg, instr):
        self.push(set(self.pop(arg)))

    def do_build_map(self, arg, instr):
        items = self.pop(2 * arg)
        self.push(dict(zip(items[::2], items[1::2])))

    def do_build_const_key_map(self, arg, instr):
        keys = self.stack.pop()
        self.push(dict(zip(keys, self.pop(arg))))

    def do_build_string(self, arg, instr):
        self.push("".join(self.pop(arg)))

    def do_build_slice(self, arg, instr):
        self.push(slice(*self.pop(arg)))

    def do_list_to_tuple(self, arg, instr):
        self.push(tuple(self.stack.pop()))

    def do_list_append(self, arg, instr):
        value = self.stack.pop()
        self.stack[-arg].append(value)

    def do_set_add(self, arg, instr):
        value = self.stack.pop()
        self.stack[-arg].add(value)

    def do_map_add(self, arg, instr):
        key, value = self.pop(2)
        self.stack[-arg][key] = value

    def do_list_extend(self, arg, instr):
        value = self.stack.pop()
        self.stack[-arg].extend(value)

    def do_set_update(self, arg, instr):
        value = self.stack.pop()
        self.stack[-arg].update(value)

    def do_dict_update(self, arg, instr):
        value = self.stack.pop()
        self.stack[-arg].update(value)

    def do_dict_merge(self, arg, instr):
        value = self.stack.pop()
        target = self.stack[-arg]
        if target.keys() & value.keys():
            raise TypeError("multiple values for keyword argument")
        target.update(value)

    def do_format(self, arg, instr):
        spec = self.stack.pop() if arg.spec else ""
        self.push(format(_CONVERSIONS[arg.conversion](self.stack.pop()), spec))

    def do_convert_value(self, arg, instr):
        self.push(_CONVERSIONS[arg](self.stack.pop()))

    def do_unpack_sequence(self, arg, instr):
        items = list(self.stack.pop())
        if len(items) != arg:
            raise ValueError("wrong number of values to unpack")
        self.push(*reversed(items))

    def do_unpack_ex(self, arg, instr):
        items = list(self.stack.pop())
        rest = len(items) - arg.after
        if rest < arg.before:
            raise ValueError("not enough values to unpack")
        self.push(*reversed([*items[:arg.before], items[arg.before:rest], *items[rest:]]))

    def do_make_function(self, arg, instr):
        code = self.stack.pop()
        attributes = dict(zip(arg, self.pop(len(arg))))
        closure = attributes.pop("closure", None)
        if closure is None and code.co_freevars:        # 3.13: SET_FUNCTION_ATTRIBUTE brings it
            self.push(code)
            return
        self.push(types.FunctionType(code, self.func.__globals__, closure=closure))
        self.set_attributes(attributes)

    def set_attributes(self, attributes):
        for name, value in attributes.items():
            if name == "annotations" and isinstance(value, tuple):
                value = dict(zip(value[::2], value[1::2]))
            setattr(self.stack[-1], _ATTRIBUTES[name], value)

    def do_set_function_attribute(self, arg, instr):
        value, function = self.pop(2)
        if arg == "closure":
            code = function if isinstance(function, types.CodeType) else function.__code__
            self.push(types.FunctionType(code, self.func.__globals__, closure=value))
            return
        if isinstance(function, types.CodeType):        # the closure comes first in CPython's order
            raise AssertionError("an attribute before the closure")
        self.push(function)
        self.set_attributes({arg: value})

    # -- calls -------------------------------------------------------------------------------
    def callee(self, null_first):
        """The callable and the arguments that come before the others."""
        first, second = self.pop(2)
        if first is _NULL:
            assert null_first
            return second, ()
        if second is _NULL:
            assert not null_first
            return first, ()
        return first, (second,)

    def do_call(self, arg, instr):
        self.call(arg, arg.kwnames)

    def do_call_kw(self, arg, instr):
        self.call(arg, self.stack.pop())

    def call(self, arg, names):
        items = self.pop(arg.nargs)
        callee, own = self.callee(arg.null_first)
        split = arg.nargs - len(names)
        self.push(callee(*own, *items[:split], **dict(zip(names, items[split:]))))

    def do_call_ex(self, arg, instr):
        kwargs = self.stack.pop() if arg.kwargs else {}
        args = self.stack.pop()
        callee, own = self.callee(arg.null_first)
        self.push(callee(*own, *args, **kwargs))

    # -- control -----------------------------------------------------------------------------
    def do_jump(self, arg, instr):
        return instr.target

    do_jump_backward = do_jump

    def do_pop_jump_if_true(self, arg, instr):
        return instr.target if self.stack.pop() else None

    def do_pop_jump_if_false(self, arg, instr):
        return None if self.stack.pop() else instr.target

    def do_pop_jump_if_none(self, arg, instr):
        return instr.target if self.stack.pop() is None else None

    def do_pop_jump_if_not_none(self, arg, instr):
        return None if self.stack.pop() is None else instr.target

    def do_jump_if_true_or_pop(self, arg, instr):
        if self.stack[-1]:
            return instr.target
        self.stack.pop()

    def do_jump_if_false_or_pop(self, arg, instr):
        if not self.stack[-1]:
            return instr.target
        self.stack.pop()

    def do_get_iter(self, arg, instr):
        self.push(iter(self.stack.pop()))

    def do_for_iter(self, arg, instr):
        try:
            self.push(next(self.stack[-1]))
        except StopIteration:
            self.stack.pop()
            return instr.target

    def do_return_value(self, arg, instr):
        raise _Return(self.stack.pop())

    # -- exceptions, with, match -------------------------------------------------------------
    def do_raise(self, arg, instr):
        items = self.pop(arg)
        if not items:
            raise self.handled[-1]
        if len(items) == 2:
            raise items[0] from items[1]
        raise items[0]

    def do_reraise(self, arg, instr):
        raise self.stack.pop()

    def do_push_exc_info(self, arg, instr):
        error = self.stack.pop()
        self.push(self.handled[-1] if self.handled else None, error)
        self.handled.append(error)

    def do_pop_except(self, arg, instr):
        self.stack.pop()
        self.handled.pop()

    def do_check_exc_match(self, arg, instr):
        cls = self.stack.pop()
        self.push(isinstance(self.stack[-1], cls))

    def do_before_with(self, arg, instr):
        manager = self.stack.pop()
        self.push(manager.__exit__, manager.__enter__())

    def do_with_except_start(self, arg, instr):
        error = self.stack[-1]
        self.push(self.stack[-4](type(error), error, error.__traceback__))

    def do_match_mapping(self, arg, instr):
        self.push(isinstance(self.stack[-1], dict))

    def do_match_sequence(self, arg, instr):
        self.push(isinstance(self.stack[-1], list | tuple))

    def do_match_keys(self, arg, instr):
        obj, keys = self.stack[-2:]
        self.push(tuple(obj[key] for key in keys) if all(key in obj for key in keys) else None)

    def do_match_class(self, arg, instr):
        obj, cls, names = self.pop(3)
        if not isinstance(obj, cls):
            self.push(None)
            return
        names = (*getattr(cls, "__match_args__", ())[:arg], *names)
        self.push(tuple(getattr(obj, name) for name in names))
