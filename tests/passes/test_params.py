"""Parameters that always get one value, by text."""
from jitcore.passes import params

from .texts import expect, unchanged

LOOP = """
input %0: float64[1C] (%2)
input %1: int
b0:
  %2: int = dim %0 {{axis=0}}
  %3: int = const 0
  %4: int = const 1
  jump b1(%3, %2, %0)
b1(%5: int, %6: int, %7: float64[1C] (%6)):
  %8: bool = py.lt %5, %1
  branch %8 b2(), b3()
b2:
  %9: int = py.add %5, %4 !0
  jump b1(%9, {handed})
b3:
  exit 1
exit 1: return values(%7, %5) result=tuple(v0, v1)
"""


def test_what_a_loop_does_not_change():
    expect(LOOP.format(handed="%6, %7"), params.run, """
input %0: float64[1C] (%2)
input %1: int
b0:
  %2: int = dim %0 {axis=0}
  %3: int = const 0
  %4: int = const 1
  jump b1(%3)
b1(%5: int):
  %8: bool = py.lt %5, %1
  branch %8 b2(), b3()
b2:
  %9: int = py.add %5, %4 !0
  jump b1(%9)
b3:
  exit 1
exit 1: return values(%0, %5) result=tuple(v0, v1)
""")


def test_the_same_value_by_its_own_name():
    expect(LOOP.format(handed="%2, %0"), params.run, LOOP.format(handed="%6, %7").replace(
        "b1(%3, %2, %0)", "b1(%3)").replace("(%5: int, %6: int, %7: float64[1C] (%6))", "(%5: int)").replace(
        "b1(%9, %6, %7)", "b1(%9)").replace("values(%7", "values(%0").replace("{{", "{").replace("}}", "}"))


def test_another_array_stays():
    """The length is one value, the arrays are two."""
    expect(LOOP.format(handed="%2, %11").replace("  %9: int", "  %10: float64 = const 1.0\n"
           "  %11: float64[1C] (%2) = splat %10\n  %9: int"), params.run, """
input %0: float64[1C] (%2)
input %1: int
b0:
  %2: int = dim %0 {axis=0}
  %3: int = const 0
  %4: int = const 1
  jump b1(%3, %0)
b1(%5: int, %7: float64[1C] (%2)):
  %8: bool = py.lt %5, %1
  branch %8 b2(), b3()
b2:
  %10: float64 = const 1.0
  %11: float64[1C] (%2) = splat %10
  %9: int = py.add %5, %4 !0
  jump b1(%9, %11)
b3:
  exit 1
exit 1: return values(%7, %5) result=tuple(v0, v1)
""")


def test_values_of_two_ways_stay():
    unchanged("""
input %0: bool
b0:
  %1: int = const 1
  %2: int = const 2
  branch %0 b1(%1), b1(%2)
b1(%3: int):
  exit 1
exit 1: return values(%3) result=v0
""", params.run)
