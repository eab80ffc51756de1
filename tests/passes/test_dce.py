"""Dead code, by text."""
import pytest

from jitcore.passes import dce

from .texts import expect, unchanged


def body(lines: str, values: str = "%1") -> str:
    return f"""
object @0  ; function f
input %0: float64[1C] (%2)
input %1: float64
b0:
  %2: int = dim %0 {{axis=0}}
{lines}
  exit 1
exit 1: return values({values}) result=v0
"""


@pytest.mark.parametrize("line", [
    "%3: int = dim %0 {axis=0}", "%3: int = idx.add %2, %2", "%3: float64[1C] (%2) = splat %1",
    "%3: object = object @0",
    "%3: float64[1C] (%2) = ew.exp.d->d %0",                 # nobody looks for its reports
    "%3: float64[1C] (%2) = ew.negative.d->d %0 !0",         # it cannot report
    "%3: float64[1C] (%2) = ew.exp.d->d %0 {reports=()} !0",  # every kind is ignored
    "%3: int64 = cast.l %2 !0", "%3: float64 = cast.d %1 !0", "%3: bool = py.lt %2, %2 !0",
    "%3: int = stride %0 {axis=0}\n  %4: int = const 0\n  %5: float64[1C] (%2) = view.slice %0, %4, %3 {arg=0}",
])
def test_goes(line):
    expect(body(f"  {line}"), dce.run, body(""))


@pytest.mark.parametrize("line", [
    "%3: float64[1C] (%2) = ew.exp.d->d %0 !0", "%3: int64 = cast.l %1 !0", "%3: float32 = cast.f %1 !0",
    "%3: int = py.add %2, %2 !0", "same %2, %2 !0", "%3: int = bcast %2, %2 !0", "%3: int = wrap %2, %2 !0",
    "%3: float64 = call %1 {callee=0, template=(('v', 0),), kwnames=()} !0",
    "%3: float64 = reduce.add.dd->d %0 {axes=None, keepdims=False} !0",
    "%3: int = const 0\n  store %0, %1, %3",
])
def test_stays(line):
    unchanged(body(f"  {line}"), dce.run)


def test_an_exit_that_cannot_be_taken_goes_from_what_is_used():
    expect(body("  %3: float64[1C] (%2) = ew.negative.d->d %0 !0", "%3"), dce.run,
           body("  %3: float64[1C] (%2) = ew.negative.d->d %0", "%3"))


def test_operands_of_what_stays_stay():
    unchanged(body("  %3: float64[1C] (%2) = ew.negative.d->d %0\n  %4: float64[1C] (%2) = ew.exp.d->d %3 !0"), dce.run)


def test_blocks_and_exits():
    expect("""
    input %0: int
    b0:
      %1: int = const 1
      jump b2()
    b1:
      %2: int = idx.add %0, %1
      jump b2()
    b2:
      exit 2
    exit 1: leave unit=2 values(%1) locals[v0]  ; line 7
    exit 2: return values(%0) result=v0
    """, dce.run, """
    input %0: int
    b0:
      jump b2()
    b2:
      exit 2
    exit 1: restart reason='never taken'  ; line 7
    exit 2: return values(%0) result=v0
    """)
