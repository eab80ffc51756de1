"""Common subexpressions, by text."""
from jitcore.passes import cse

from .texts import expect, unchanged


def body(lines: str, values: str) -> str:
    return f"""
input %0: float64[1C] (%2)
input %1: float64
b0:
  %2: int = dim %0 {{axis=0}}
{lines}
  exit 1
exit 1: return values({values}) result=v0
exit 2: leave unit=4 values(%1) locals[v0]
"""


def test_scalars_and_unseen_arrays():
    expect(body("""
  %3: float64[1C] (%2) = ew.exp.d->d %0
  %4: float64[1C] (%2) = ew.exp.d->d %0
  %5: float64[1C] (%2) = ew.add.dd->d %3, %4
  %6: float64 = ew.exp.d->d %1
  %7: float64 = ew.exp.d->d %1""", "%5, %6, %7"), cse.run, body("""
  %3: float64[1C] (%2) = ew.exp.d->d %0
  %5: float64[1C] (%2) = ew.add.dd->d %3, %3
  %6: float64 = ew.exp.d->d %1""", "%5, %6, %6"))


def test_one_of_two_arrays_may_be_seen():
    expect(body("""
  %3: float64[1C] (%2) = ew.exp.d->d %0
  %4: float64[1C] (%2) = ew.exp.d->d %0
  %5: float64[1C] (%2) = ew.add.dd->d %3, %3""", "%4, %5"), cse.run, body("""
  %3: float64[1C] (%2) = ew.exp.d->d %0
  %5: float64[1C] (%2) = ew.add.dd->d %3, %3""", "%3, %5"))


def test_two_arrays_that_are_seen_stay_two():
    unchanged(body("""
  %3: float64[1C] (%2) = ew.exp.d->d %0
  %4: float64[1C] (%2) = ew.exp.d->d %0""", "%3, %4"), cse.run)


def test_an_array_is_seen_through_its_view():
    unchanged(body("""
  %3: float64[1C] (%2) = ew.exp.d->d %0
  %4: float64[1C] (%2) = ew.exp.d->d %0
  %5: int = const 0
  %6: int = const 8
  %7: float64[1C] (%2) = view.slice %3, %5, %6 {arg=0}""", "%7, %4"), cse.run)


def test_third_equal_array():
    expect(body("""
  %3: float64[1C] (%2) = ew.exp.d->d %0
  %4: float64[1C] (%2) = ew.exp.d->d %0
  %5: float64[1C] (%2) = ew.exp.d->d %0
  %6: float64[1C] (%2) = ew.sqrt.d->d %3""", "%4, %5, %6"), cse.run, body("""
  %3: float64[1C] (%2) = ew.exp.d->d %0
  %5: float64[1C] (%2) = ew.exp.d->d %0
  %6: float64[1C] (%2) = ew.sqrt.d->d %3""", "%3, %5, %6"))


def test_exits():
    # The first passed, so the second passes, whatever exit it has; but one that looks for nothing vouches for nothing.
    expect(body("""
  %3: float64 = ew.exp.d->d %1 !0
  %4: float64 = ew.exp.d->d %1 !2
  %5: float64 = ew.exp.d->d %1""", "%3, %4, %5"), cse.run, body("""
  %3: float64 = ew.exp.d->d %1 !0""", "%3, %3, %3"))
    unchanged(body("""
  %3: float64 = ew.exp.d->d %1
  %4: float64 = ew.exp.d->d %1 !0""", "%3, %4"), cse.run)
    expect(body("  same %2, %2 !0\n  same %2, %2 !2", "%1"), cse.run, body("  same %2, %2 !0", "%1"))


def test_attributes_and_constants():
    unchanged(body("""
  %3: float64 = const 0.0
  %4: float64 = const -0.0
  %5: int = const 0
  %6: bool = const False
  %7: float = const 0.0
  %8: float32 = cast.f %1
  %9: float64 = cast.d %8
  %10: float64 = ew.exp.d->d %1 {reports=('over',)} !0
  %11: float64 = ew.exp.d->d %1 {reports=('invalid',)} !0""", "%1"), cse.run)


def test_order_of_operands():
    expect(body("""
  %3: int = const 1
  %4: int = bcast %2, %3 !0
  %5: int = bcast %3, %2 !0
  %6: int = idx.add %2, %3
  %7: int = idx.add %3, %2
  %8: int = idx.sub %2, %3
  %9: int = idx.sub %3, %2""", "%4, %5, %6, %7, %8, %9"), cse.run, body("""
  %3: int = const 1
  %4: int = bcast %2, %3 !0
  %6: int = idx.add %2, %3
  %8: int = idx.sub %2, %3
  %9: int = idx.sub %3, %2""", "%4, %4, %6, %6, %8, %9"))


def test_stores():
    unchanged(body("""
  %3: float64[1C] (%2) = ew.exp.d->d %0
  %4: int = const 0
  %5: float64 = load %3, %4
  store %3, %1, %4
  %6: float64 = load %3, %4
  %7: float64[1C] (%2) = ew.sqrt.d->d %3
  %8: float64[1C] (%2) = splat %1
  %9: float64[1C] (%2) = splat %1""", "%5, %6"), cse.run)


def test_calls_stay():
    unchanged("""
    object @0  ; function f
    input %0: float64
    b0:
      %1: float64 = call %0 {callee=0, template=(('v', 0),), kwnames=()} !0
      %2: float64 = call %0 {callee=0, template=(('v', 0),), kwnames=()} !0
      exit 1
    exit 1: return values(%1, %2) result=v0
    """, cse.run)


def test_dominance():
    expect("""
    input %0: int
    input %1: bool
    b0:
      %2: int = idx.add %0, %0
      branch %1 b1(), b2()
    b1:
      %3: int = idx.add %0, %0
      %4: int = idx.mul %0, %0
      jump b3(%3, %4)
    b2:
      %5: int = idx.mul %0, %0
      jump b3(%2, %5)
    b3(%6: int, %7: int):
      %8: int = idx.mul %0, %0
      exit 1
    exit 1: return values(%6, %7, %8) result=v0
    """, cse.run, """
    input %0: int
    input %1: bool
    b0:
      %2: int = idx.add %0, %0
      branch %1 b1(), b2()
    b1:
      %4: int = idx.mul %0, %0
      jump b3(%2, %4)
    b2:
      %5: int = idx.mul %0, %0
      jump b3(%2, %5)
    b3(%6: int, %7: int):
      %8: int = idx.mul %0, %0
      exit 1
    exit 1: return values(%6, %7, %8) result=v0
    """)
