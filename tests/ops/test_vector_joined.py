"""Calls of a vector function side by side become one that is wider, with the same results."""
from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from jitcore.backends.math import FUNCTIONS
from jitcore.backends.math.link import joined, link
from jitcore.backends.scalar_libm import has_fma
from tests.ops.harness import Program, machine

SIZES = {"d": ("double", 8), "f": ("float", 4)}


def module_text(name: str, dtype: str, lanes: int, count: int, calls: list[str]) -> str:
    """A function that loads ``%a0``, ``%a1``... (with two arguments also ``%b0``...) and stores ``%x0``, ``%x1``..."""
    real, size = SIZES[dtype]
    kind = f"<{lanes} x {real}>"
    arity = FUNCTIONS[name].arity
    function = f"@jc.math.{name}.{dtype}.v{lanes}"
    lines = [f"declare {kind} {function}({', '.join([kind] * arity)})", "define void @run(ptr %in, ptr %out) {"]
    for number, value in enumerate(f"{v}{i}" for v in "ab"[:arity] for i in range(count)):
        lines += [f"  %p{value} = getelementptr i8, ptr %in, i64 {number * lanes * size}",
                  f"  %{value} = load {kind}, ptr %p{value}, align {size}"]
    lines += [call.replace("CALL", f"tail call {kind} {function}").replace("KIND", kind) for call in calls]
    for number in range(count):
        lines += [f"  %px{number} = getelementptr i8, ptr %out, i64 {number * lanes * size}",
                  f"  store {kind} %x{number}, ptr %px{number}, align {size}"]
    return "\n".join([*lines, "  ret void", "}"]) + "\n"


def run(text: str, args: np.ndarray, count: int) -> np.ndarray:
    target = machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = llvm.get_default_triple(), str(target.target_data)
    module = link(module, target, has_fma())
    module.verify()
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    out = np.empty(count, args.dtype)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address("run"))(
        args.ctypes.data, out.ctypes.data)
    return out


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
@pytest.mark.parametrize("dtype", "df")
@pytest.mark.parametrize("name, count", [("tanh", 2), ("tanh", 4), ("sin", 4), ("pow", 4), ("atan2", 2)])
def test_they_give_what_each_gives(name: str, count: int, dtype: str, lanes: int) -> None:
    """With ordinary numbers, and with a rare one at either end."""
    arity = FUNCTIONS[name].arity
    args = ", ".join(f"KIND %{v}#" for v in "ab"[:arity])
    text = module_text(name, dtype, lanes, count, [f"  %x# = CALL({args})".replace("#", str(i)) for i in range(count)])
    assert f"@jc.math.{name}.{dtype}.v{count * lanes}.by{count}(" in joined(text) and joined(text).count("call") == 1
    program = Program(vector=False)
    program.add("one", dtype * arity, dtype, lambda b, *x: b.call_math(name, *x))
    program.compile(vectorise=False)
    rng = np.random.default_rng(lanes)
    for rare in (None, 0, count * lanes - 1):
        numbers = rng.uniform(0.1, 3, count * lanes * arity).astype(dtype)
        if rare is not None:
            numbers[rare] = np.nan
        want, _ = program.run("one", *numbers.reshape(arity, -1))
        ulps = np.abs(run(text, numbers, count * lanes) - want) / np.spacing(np.abs(want))
        # Beside a rare number the others take the long way, which may round differently.
        assert (ulps[~np.isnan(want)] <= (0 if rare is None else 1)).all()
        assert (np.isnan(ulps) == np.isnan(want)).all()


@pytest.mark.parametrize("name, calls", [
    pytest.param("tanh", ["  %x0 = CALL(KIND %a0)", "  %x1 = CALL(KIND %x0)"], id="one needs the other"),
    pytest.param("tanh", ["  %x0 = CALL(KIND %a0)", "  %z = fadd KIND %x0, %a1", "  %x1 = CALL(KIND %a1)"],
                 id="not side by side"),
    pytest.param("hypot", ["  %x0 = CALL(KIND %a0, KIND %b0)", "  %x1 = CALL(KIND %a1, KIND %b1)"], id="faster alone"),
])
def test_what_is_left_alone(name: str, calls: list[str]) -> None:
    text = module_text(name, "d", 4, 2, calls)
    assert joined(text) == text


def test_three_calls_are_a_pair_and_one() -> None:
    """Although the third could be made before the second; and a name that begins with that of another is no use of
    it."""
    text = module_text("tanh", "d", 4, 2, ["  %x10 = CALL(KIND %a0)", "  %x1 = CALL(KIND %a1)",
                                           "  %x0 = CALL(KIND %x10)"])
    after = joined(text)
    assert after.count("call <8 x double>") == 1 and after.count("call <4 x double>") == 1
    args = np.linspace(-2, 2, 8)
    np.testing.assert_allclose(run(text, args, 8), np.concatenate([np.tanh(np.tanh(args[:4])), np.tanh(args[4:])]),
                               rtol=1e-15)
