"""Two calls of a vector function side by side become one of twice the width, with the same results."""
from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from jitcore.backends.math import FUNCTIONS
from jitcore.backends.math.link import link, paired
from jitcore.backends.scalar_libm import has_fma
from tests.ops.harness import Program, machine

SIZES = {"d": ("double", 8), "f": ("float", 4)}


def module_text(name: str, dtype: str, lanes: int, calls: list[str]) -> str:
    """A function that loads ``%a`` and ``%b`` (with two arguments also ``%c``, ``%d``), and stores ``%x`` and ``%y``."""
    real, size = SIZES[dtype]
    kind = f"<{lanes} x {real}>"
    arity = FUNCTIONS[name].arity
    function = f"@jc.math.{name}.{dtype}.v{lanes}"
    lines = [f"declare {kind} {function}({', '.join([kind] * arity)})", "define void @run(ptr %in, ptr %out) {"]
    for number, value in enumerate("abcd"[:2 * arity]):
        lines += [f"  %p{value} = getelementptr i8, ptr %in, i64 {number * lanes * size}",
                  f"  %{value} = load {kind}, ptr %p{value}, align {size}"]
    lines += [call.replace("CALL", f"tail call {kind} {function}").replace("KIND", kind) for call in calls]
    lines += [f"  store {kind} %x, ptr %out, align {size}",
              f"  %po = getelementptr i8, ptr %out, i64 {lanes * size}",
              f"  store {kind} %y, ptr %po, align {size}", "  ret void", "}"]
    return "\n".join(lines) + "\n"


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
@pytest.mark.parametrize("name", ["tanh", "sin", "atan2"])
def test_a_pair_gives_what_each_gives(name: str, dtype: str, lanes: int) -> None:
    """With ordinary numbers, and with a rare one in either half."""
    arity = FUNCTIONS[name].arity
    calls = (["  %x = CALL(KIND %a, KIND %c)", "  %y = CALL(KIND %b, KIND %d)"] if arity == 2 else
             ["  %x = CALL(KIND %a)", "  %y = CALL(KIND %b)"])
    text = module_text(name, dtype, lanes, calls)
    assert f"@jc.math.{name}.{dtype}.v{2 * lanes}(" in paired(text) and paired(text).count("call") == 1
    program = Program(vector=False)
    program.add("one", dtype * arity, dtype, lambda b, *x: b.call_math(name, *x))
    program.compile(vectorise=False)
    rng = np.random.default_rng(lanes)
    for rare in (None, 0, 2 * lanes - 1):
        args = rng.uniform(-3, 3, 2 * lanes * arity).astype(dtype)
        if rare is not None:
            args[rare] = np.nan
        want, _ = program.run("one", *args.reshape(arity, -1))
        ulps = np.abs(run(text, args, 2 * lanes) - want) / np.spacing(np.abs(want))
        # Beside a rare number the others take the long way, which may round differently.
        assert (ulps[~np.isnan(want)] <= (0 if rare is None else 1)).all()
        assert (np.isnan(ulps) == np.isnan(want)).all()


@pytest.mark.parametrize("name, calls", [
    pytest.param("tanh", ["  %x = CALL(KIND %a)", "  %y = CALL(KIND %x)"], id="one needs the other"),
    pytest.param("tanh", ["  %x = CALL(KIND %a)", "  %z = fadd KIND %x, %b", "  %y = CALL(KIND %b)"], id="not adjacent"),
    pytest.param("hypot", ["  %x = CALL(KIND %a, KIND %c)", "  %y = CALL(KIND %b, KIND %d)"], id="faster alone"),
])
def test_what_is_left_alone(name: str, calls: list[str]) -> None:
    text = module_text(name, "d", 4, calls)
    assert paired(text) == text


def test_three_calls_are_a_pair_and_one() -> None:
    """A name that begins with that of another result is no use of it."""
    text = module_text("tanh", "d", 4, ["  %x1 = CALL(KIND %a)", "  %x = CALL(KIND %b)", "  %y = CALL(KIND %x1)"])
    after = paired(text)
    assert after.count("call <8 x double>") == 1 and after.count("call <4 x double>") == 1
    args = np.linspace(-2, 2, 8)
    np.testing.assert_allclose(run(text, args, 8), np.concatenate([np.tanh(args[4:]), np.tanh(np.tanh(args[:4]))]),
                               rtol=1e-15)
