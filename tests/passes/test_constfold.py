"""Constant folding, by text."""
import pytest

from jitcore.passes import constfold, dce

from .texts import after, expect, unchanged

RETURN = "exit 1: return values(%9) result=v0"


def scalar(lines: str) -> str:
    return "input %0: int\nb0:\n" + "\n".join("  " + line for line in lines.splitlines()) + f"\n  exit 1\n{RETURN}\n"


@pytest.mark.parametrize("before, wanted", [
    ("%1: int = const 3\n%2: int = const 4\n%9: int = py.add %1, %2 !0", "%9: int = const 7"),
    ("%1: int = const 3\n%2: int = const 4\n%9: int = idx.satsub %1, %2", "%9: int = const 0"),
    ("%1: int = const 3\n%2: int = const 2\n%9: bool = py.lt %1, %2", "%9: bool = const False"),
    ("%1: float = const 0.1\n%9: float32 = cast.f %1", "%9: float32 = const 0.1"),
    ("%1: int = const 2\n%9: int8 = cast.b %1 !0", "%9: int8 = const 2"),
    ("%1: float64 = const 2.0\n%2: float64 = const 0.5\n%9: float64 = ew.power.dd->d %1, %2 !0",
     "%9: float64 = const 1.4142135623730951"),
    ("%1: float64 = const 2.0\n%9: float = unbox %1", "%9: float = const 2.0"),
    ("%1: int = const -1\n%2: int = const 4\n%9: int = wrap %1, %2 !0", "%9: int = const 3"),
    ("%1: int = const 1\n%2: int = const 4\n%9: int = bcast %1, %2 !0", "%9: int = const 4"),
    ("%1: bool_ = const True\n%2: float32 = const 1.5\n%3: float32 = const -0.0\n"
     "%9: float32 = ew.where.?ff->f %1, %3, %2", "%9: float32 = const -0.0"),
    # Nothing looks for reports here, so the value is NumPy's without them.
    ("%1: float64 = const 1.0\n%2: float64 = const 0.0\n%9: float64 = ew.divide.dd->d %1, %2",
     "%9: float64 = const inf"),
])
def test_folds(before, wanted):
    found, count = after(scalar(before), lambda graph: constfold.run(graph) + 0 * dce.run(graph))
    assert count == 1
    assert wanted in found and "py." not in found and "ew." not in found


@pytest.mark.parametrize("before", [
    "%1: int = const 9223372036854775807\n%2: int = const 1\n%9: int = py.add %1, %2 !0",
    "%1: int = const 1\n%2: int = const 0\n%9: int = py.floordiv %1, %2 !0",
    "%1: float64 = const 1.0\n%2: float64 = const 0.0\n%9: float64 = ew.divide.dd->d %1, %2 !0",
    "%1: float64 = const 1e300\n%9: float32 = cast.f %1 !0",
    "%1: int = const 300\n%9: int8 = cast.b %1 !0",
    "%1: int = const 4\n%2: int = const 4\n%9: int = wrap %1, %2 !0",
    "%1: int = const 3\n%2: int = const 4\n%9: int = bcast %1, %2 !0",
    "%1: int = const 3\n%9: int = py.add %1, %0 !0",
    "%1: float64 = const 1.0\n%9: float64 = ew.not_an_op_of_numpy.d->d %1",
])
def test_what_would_exit_is_not_folded(before):
    unchanged(scalar(before), constfold.run)


LENGTHS = """
input %0: float64[1C] (%2)
input %1: int
b0:
  %2: int = dim %0 {axis=0}
  %3: int = const 0
  %4: int = const 1
"""


def lengths(line: str, result: str = "%9") -> str:
    return f"{LENGTHS}{line}\n  exit 1\nexit 1: return values({result}) result=v0\n"


@pytest.mark.parametrize("line, result", [
    ("idx.add %1, %3", "%1"), ("idx.add %3, %1", "%1"), ("idx.sub %1, %3", "%1"), ("idx.mul %1, %4", "%1"),
    ("idx.mul %4, %1", "%1"), ("idx.mul %1, %3", "%3"), ("idx.floordiv %1, %4", "%1"), ("idx.max %1, %1", "%1"),
    ("idx.min %1, %1", "%1"), ("idx.satsub %2, %3", "%2"), ("idx.max %2, %3", "%2"), ("idx.min %3, %2", "%3"),
    ("bcast %2, %2 !0", "%2"), ("bcast %2, %4 !0", "%2"), ("bcast %4, %2 !0", "%2"), ("dim %0 {axis=0}", "%2"),
])
def test_lengths(line, result):
    expect(lengths(f"  %9: int = {line}"), constfold.run, lengths("", result))


@pytest.mark.parametrize("line", [
    "idx.satsub %1, %3",          # an int may be negative, a length not
    "idx.max %1, %3", "idx.sub %3, %1", "idx.floordiv %4, %1", "idx.add %1, %4", "idx.mul %1, %1", "bcast %1, %2 !0",
    "bcast %2, %3 !0", "wrap %3, %2 !0"])
def test_lengths_that_stay(line):
    unchanged(lengths(f"  %9: int = {line}"), constfold.run)


def test_broadcast_is_idempotent():
    body = lengths("  %5: int = bcast %2, %1 !0\n  %6: int = bcast %5, %2 !0\n  %7: int = bcast %1, %6 !0", "%7")
    expect(body, constfold.run, lengths("  %5: int = bcast %2, %1 !0", "%5"))


def test_checks():
    body = lengths("  same %2, %2 !0\n  same %3, %3 !0\n  same %3, %4 !0\n  same %1, %2 !0\n  %6: bool = const True\n"
                   "  check %6 !0\n  %7: bool = const False\n  check %7 !0", "%2")
    expect(body, constfold.run, lengths("  same %3, %4 !0\n  same %1, %2 !0\n  %6: bool = const True\n"
                                        "  %7: bool = const False\n  check %7 !0", "%2"))


def test_dim_that_is_not_at_hand_stays():
    unchanged("""
    input %0: float64[1C] (%2)
    b0:
      %1: int = dim %0 {axis=0}
      %2: int = dim %0 {axis=0}
      exit 1
    exit 1: return values(%1) result=v0
    """, constfold.run)


def test_branch():
    expect("""
    b0:
      %0: int = const 1
      %1: int = const 2
      %2: bool = py.lt %0, %1
      branch %2 b1(%0), b1(%1)
    b1(%3: int):
      exit 1
    exit 1: return values(%3) result=v0
    """, constfold.run, """
    b0:
      %0: int = const 1
      %1: int = const 2
      %2: bool = const True
      jump b1(%0)
    b1(%3: int):
      exit 1
    exit 1: return values(%3) result=v0
    """)


def test_unboxing_there_and_back():
    expect("""
    input %0: float
    input %1: float32
    b0:
      %2: float64 = unbox %0
      %3: float = unbox %2
      %4: float = unbox %1
      %5: float64 = unbox %4
      exit 1
    exit 1: return values(%3, %5) result=v0
    """, constfold.run, """
    input %0: float
    input %1: float32
    b0:
      %2: float64 = unbox %0
      %4: float = unbox %1
      %5: float64 = unbox %4
      exit 1
    exit 1: return values(%0, %5) result=v0
    """)


def test_strides_of_views():
    before = lengths("  %5: int = stride %0 {axis=0}\n  %6: float64[1C] (%2) = view.slice %0, %3, %5 {arg=0}\n"
                     "  %7: int = stride %6 {axis=0}\n  %9: int = idx.mul %7, %1")
    expect(before, constfold.run, before.replace("  %7: int = stride %6 {axis=0}\n", "").replace("mul %7", "mul %5"))


def test_branch_on_false():
    expect("""
    b0:
      %0: int = const 1
      %1: int = const 2
      %2: bool = const False
      branch %2 b1(%0), b1(%1)
    b1(%3: int):
      exit 1
    exit 1: return values(%3) result=v0
    """, constfold.run, """
    b0:
      %0: int = const 1
      %1: int = const 2
      %2: bool = const False
      jump b1(%1)
    b1(%3: int):
      exit 1
    exit 1: return values(%3) result=v0
    """)
