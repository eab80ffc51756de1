"""The graph's opcodes: one declaration each.

Job: say for every opcode what it takes, gives and when it exits.  ``ir.verify`` checks nodes
against this table and ``ir.interp`` runs it.  Invariant: an opcode that is not here cannot be in a
graph.

All ``int`` operands are weak Python ints in 64 bits.  "exit" below is ``Node.exit``.
"""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Opcode:
    """``attrs`` are the required attribute names; ``exit`` is 'no', 'may' or 'must'."""

    name: str
    doc: str
    attrs: tuple[str, ...] = ()
    exit: str = "no"
    pure: bool = True


_TABLE = (
    # -- constants ---------------------------------------------------------------------------
    Opcode("const", "A scalar constant.  attr value: a Python or NumPy scalar.", ("value",)),
    Opcode("object", "An object constant.  attr index: into Graph.objects.", ("index",)),
    # -- numbers -----------------------------------------------------------------------------
    Opcode("py", "A Python operation on weak scalars (or a comparison and truth test of any scalar)."
           "  attr fn: a name in ops.python.  Exits where Python would raise, where an int result"
           " leaves 64 bits, or where the result has another type.", ("fn",), "may"),
    Opcode("idx", "Index arithmetic that cannot overflow.  attr fn: add sub mul max min satsub"
           " (max(a - b, 0)) floordiv mod (b > 0).", ("fn",)),
    Opcode("unbox", "A strong scalar made weak (float(x), int(x), bool(x), item()), value kept;"
           " or a weak one made strong of its own dtype.  No conversion of kind."),
    # -- shapes ------------------------------------------------------------------------------
    Opcode("dim", "The length of axis attr axis of an array.", ("axis",)),
    Opcode("stride", "The stride in bytes of axis attr axis of an array.", ("axis",)),
    Opcode("bcast", "The broadcast length of two lengths; exits when they do not fit.", (), "must"),
    Opcode("same", "Exits unless two ints are equal.", (), "must"),
    Opcode("wrap", "operands index, length: the index counted from the front; exits out of range.", (), "must"),
    Opcode("check", "Exits unless the bool (weak) operand is true.", (), "must"),
    Opcode("finite", "Whether all operands, float or complex scalars, are finite; may say no where their sum or a"
           " product of them overflows."),
    Opcode("asks_under", "Whether the errstate in force asks for reports of underflow: the same all through a region."),
    Opcode("poll", "On a loop's way back: exits when the interpreter has to serve a signal or a pending call.",
           (), "must", False),
    # -- elementwise -------------------------------------------------------------------------
    Opcode("ew", "An elementwise operation.  attrs op: a key of ops.table; sig: its loop signature such as"
           " 'dd->d'.  Operands are arrays or scalars already of the loop's dtypes (use cast); an array"
           " result has the broadcast shape, all-scalar operands give a strong scalar.  Exits where NumPy"
           " would report (attr reports of the op) under the errstate in force.", ("op", "sig"), "may"),
    Opcode("cast", "Elementwise conversion to attr dtype (a dtype char).  Exits where NumPy would report or a"
           " weak int does not fit.  A scalar operand gives a strong scalar.  With attr order ('K') an array has the"
           " memory order of a copy; attr like is as for ew.", ("dtype",), "may"),
    Opcode("splat", "An array of the result's shape filled with one scalar of its dtype.  With attr like (True) an"
           " array of layout F has the memory order of a copy of one."),
    Opcode("pack", "operands one scalar of the result's dtype for each element, in C order: a new array of them, whose"
           " lengths are constants."),
    Opcode("iota", "operands start, step (scalars of the result's dtype): start + i*step, one axis."),
    # -- reductions --------------------------------------------------------------------------
    Opcode("reduce", "ufunc.reduce over attr axes (sorted tuple of ints, all axes for None) with attr keepdims;"
           " attrs op, sig as for ew.  A second operand is the initial value.  Gives an array, or a strong"
           " scalar when no axis is left.  Exits on reports and, without identity, on empty axes.",
           ("op", "sig", "axes", "keepdims"), "may"),
    # -- memory ------------------------------------------------------------------------------
    Opcode("view", "A strided view of an array: operands array, byte offset, then one stride (bytes) an axis;"
           " the result's shape are its lengths.  attr kind: 'slice', 'transpose', 'reshape', 'newaxis',"
           " 'broadcast'; attr arg says which (for passes and readers).  With attr"
           " readonly (True) it must not be written to, even where the array may be.", ("kind", "arg")),
    Opcode("load", "operands array, one wrapped index an axis: the element as a strong scalar.", (), "no"),
    Opcode("copy", "A new array with the operand's elements in memory order attr order ('C', 'F', 'K').", ("order",)),
    Opcode("writable", "Exits unless the array (for a view, the array that it is taken from) may be written to.", (),
           "must"),
    Opcode("store", "operands array, value (scalar), one wrapped index an axis: writes an element."
           "  attr back (True): the number that was there; such stores are not made one wide one, so that the numbers"
           " are not read as one either, which waits for the narrow stores of the trip before.", (), "no", False),
    Opcode("assign", "operands target (array), value: writes a scalar or the elements of an array, broadcast, into all"
           " of the target, as if the value had been complete before.  Exits, with nothing written, where elements of"
           " the target may share memory (its axes do not lie one inside another), and where NumPy copies one axis in"
           " place onto another that it overlaps with another stride in the same direction.", (), "must", False),
    Opcode("point", "Does nothing.  Its exit is the one for all that fails behind it, up to the next node that writes"
           " memory, and has no exit of its own (kernels: they run late).", (), "must", False),
    Opcode("draw", "operands object, numbers: a random number from a NumPy generator, which it changes.  attr callee:"
           " index into Graph.objects of an ops.random.Draw.  Exits before anything is drawn where the generator is"
           " in use.",
           ("callee",), "must", False),
    # -- lists: references to memory that the region made --------------------------------------
    Opcode("list_new", "An empty list; exits when there is no memory.", (), "must", False),
    Opcode("list_fill", "operands value, n: a list of n times the value, none for n < 0; exits when there is no"
           " memory.", (), "must", False),
    Opcode("list_len", "The length of a list.", (), "no", False),
    Opcode("list_get", "operands list, wrapped index: the item.", (), "no", False),
    Opcode("list_set", "operands list, value, wrapped index: replaces an item.", (), "no", False),
    Opcode("list_append", "operands list, value; exits when there is no memory.", (), "must", False),
    Opcode("list_pop", "operands list, wrapped index: the item goes, those behind it move up.", (), "no", False),
    Opcode("list_call", "An operation on a whole list.  attr fn: a name in ir.lists.  Exits, with nothing changed, when"
           " there is no memory and where ir.lists says so.", ("fn",), "must", False),
    # -- Python's sequences --------------------------------------------------------------------
    Opcode("count", "The number of items of an exact list, tuple or bytes object.", ()),
    Opcode("item", "operands object, index (in range): an item of an exact list or tuple, attr of, as an object that"
           " the sequence keeps.", ("of",)),
    Opcode("byte", "operands object, index (in range): an item of an exact bytes object."),
    Opcode("number", "An object's number; exits unless it is of exactly the result's type, and fits.", (), "must"),
    Opcode("extent", "operand object: the length of axis attr axis of it; exits unless it is an exact array with attr"
           " ndim axes.", ("axis", "ndim"), "must"),
    Opcode("array", "operand object: itself, an array of the result's type, whose shape are its extents; exits unless"
           " it is one.", (), "must"),
    # -- generic -----------------------------------------------------------------------------
    Opcode("call", "Calls a known C function that runs no Python code.  attr callee: index into Graph.objects;"
           " attr template: the argument tuple, where ('v', k) is operand k boxed, ('c', obj) a constant, ('t',"
           " items) a tuple of such and ('l', items) a list;"
           " attr kwnames: names of the trailing ones.  An array or scalar result type is checked; exits if it"
           " differs or if the call raises (nothing may have happened then).  With attr strict (True) what NumPy would"
           " report (underflow where that is asked for) counts as raising.", ("callee", "template", "kwnames"),
           "must", True),
)

OPCODES: dict[str, Opcode] = {op.name: op for op in _TABLE}

#: Opcodes that write into arrays: what reads memory is not moved across them.
WRITES = frozenset({"store", "assign"})
#: Opcodes after which nothing that stands before them can be begun anew.
EFFECTS = WRITES | {"draw"}
