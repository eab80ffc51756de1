"""Every opcode of the running CPython has one place in its table, and the tables speak only canonical operations."""
from __future__ import annotations

import dis
import re
from pathlib import Path

import pytest

import jitcore.bytecode
from jitcore.bytecode.canonical import OPS
from jitcore.bytecode.decode import VERSION
from jitcore.bytecode.tables import SHARED, SHARED_LEFT

assert VERSION is not None
_PARTS = {"translate": VERSION.translate, "folded": VERSION.folded, "left": VERSION.left, "absent": VERSION.absent}


@pytest.mark.parametrize("opname", sorted(dis.opmap))
def test_opcode_has_one_place(opname):
    places = [part for part, names in _PARTS.items() if opname in names]
    assert len(places) == 1, f"{opname} is in {places or 'no part'} of the table of this CPython"


@pytest.mark.parametrize("part", sorted(_PARTS))
def test_no_invented_opcode(part):
    assert set(_PARTS[part]) <= set(dis.opmap)


@pytest.mark.parametrize("part", ["folded", "left", "absent"])
def test_reasons_are_given(part):
    assert all(len(reason) > 10 for reason in _PARTS[part].values())


def test_shared_part_is_in_the_table():
    assert {name: VERSION.translate[name] for name in SHARED} == SHARED
    assert SHARED_LEFT.items() <= VERSION.left.items()


@pytest.mark.parametrize("op", sorted(OPS))
def test_canonical_operation_is_made_by_a_table(op):
    """An operation that no version produces would be dead weight in the front end."""
    folder = Path(jitcore.bytecode.__file__).parent
    text = "".join((folder / name).read_text() for name in ("tables.py", "v311.py", "v312.py", "v313.py"))
    assert re.search(rf'(Step|plain|number|flag|named|forward|backward|_two)\((?:"\w+", )?"{op}"', text), op
