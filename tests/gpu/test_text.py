"""The text of device code: what is in it, what must not be, what is refused, and that CUDA's assembler takes it.

``JITCORE_BLESS=1`` writes the golden texts anew.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
import pytest

import jitcore
from jitcore.backends.cpu.loops import Unsupported
from jitcore.backends.math import FUNCTIONS
from jitcore.backends.nvvm import ptx
from jitcore.errors import NotCompilable

_FOLDER = Path(__file__).parent / "golden"
_PTXAS = shutil.which("ptxas")


def text_of(function: Callable[..., Any], *args: Any, stage: str = "ptx", arch: str = "sm_90") -> str:
    return jitcore.trace(function, *args).lower(device="cuda", arch=arch).as_text(stage)


def fused(x, y):
    return x * y + x


def rows(x):
    return x.sum(axis=1)


def column(x, y):
    x[:, 1:] = y


_GOLDEN: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "fused": (fused, (np.ones(3, "f"), np.ones(3, "f"))),
    "rows": (rows, (np.ones((3, 4)),)),
    "column": (column, (np.ones((3, 4), "f"), np.ones((3, 3), "f"))),
}


def _plain(text: str) -> str:
    """Without the functions that look for reports."""
    head, *functions = text.split("\t// .globl\t")
    return head + "".join(function for function in functions if not function.split("\n")[0].endswith("_checked"))


@pytest.mark.parametrize("name", sorted(_GOLDEN))
def test_golden(name):
    function, args = _GOLDEN[name]
    path = _FOLDER / f"{name}.ptx"
    if os.environ.get("JITCORE_BLESS") == "1":
        _FOLDER.mkdir(exist_ok=True)
        path.write_text(f"// llvmlite {llvmlite.__version__}\n{_plain(text_of(function, *args))}")
    version, _, want = path.read_text().partition("\n")
    if version != f"// llvmlite {llvmlite.__version__}":
        pytest.skip(f"the text is that of another LLVM: {version[3:]}")
    assert _plain(text_of(function, *args)) == want


def test_stages():
    lowered = jitcore.trace(fused, np.ones(3), np.ones(3)).lower(device="cuda", arch="sm_80")
    assert ".target sm_80" in lowered.as_text("ptx") and "ptx_kernel" in lowered.as_text("llvm")
    assert lowered.as_text("kernels").startswith("b0:")
    with pytest.raises(ValueError, match="'kernels', 'llvm' and 'ptx', not 'asm'"):
        lowered.as_text("asm")


def test_what_cannot_be_asked_for():
    traced = jitcore.trace(fused, np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="'cpu' or 'cuda'"):
        traced.lower(device="tpu")
    with pytest.raises(ValueError, match=r"sm_75.*not 'sm_35'"):
        traced.lower(device="cuda", arch="sm_35")


def test_an_llvm_without_the_target_is_named(monkeypatch):
    monkeypatch.setattr(ptx, "_available", lambda: "this build of llvmlite cannot make PTX (none)")
    with pytest.raises(NotCompilable, match="cannot make PTX"):
        text_of(fused, np.ones(3), np.ones(3))


_REFUSED = [
    (lambda x: np.logaddexp(x, x), "has no scalar code"), (lambda x: (x * 1j) * x, "has no scalar code"),
    (lambda x: np.sort(x) + 1, "NumPy does it, on the host"),
    (lambda x: x.astype("e").sum(), "NumPy does it, on the host"),
    (lambda x: (x * 2).prod() + x.sum(), None),
]


@pytest.mark.parametrize("index", range(len(_REFUSED)))
def test_what_is_no_device_code_is_named_with_the_reason(index):
    function, reason = _REFUSED[index]
    for stage in ("kernels", "ptx"):
        text = text_of(function, np.ones(3), stage=stage)
        if reason is None:
            assert "not on the device" not in text
        else:
            assert re.search(f"not on the device: .*{reason}", text), text


def test_functions_of_the_c_library_are_refused():
    missing = {"arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh"}
    for ufunc, name in missing.items():
        text = text_of(lambda x: getattr(np, ufunc)(x), np.ones(3), stage="kernels")    # noqa: B023
        assert (f"{name} comes from the C library" in text) is (name not in FUNCTIONS)


def test_precision_of_numpy_refuses_what_has_other_bits():
    @jitcore.accelerate(precision="numpy")
    def function(x):
        return np.exp(x)

    assert "may not have other bits than NumPy's" in text_of(function, np.ones(3), stage="kernels")


@pytest.mark.parametrize("capability, arch", [
    ((7, 5), "sm_75"), ((8, 0), "sm_80"), ((8, 6), "sm_80"), ((8, 9), "sm_80"), ((9, 0), "sm_90"), ((10, 3), "sm_100"),
    ((12, 1), "sm_120")])
def test_the_architecture_for_a_device(capability, arch):
    assert ptx.architecture_for(capability) == arch


def test_a_device_that_is_too_old():
    with pytest.raises(Unsupported, match=r"7\.0 is older"):
        ptx.architecture_for((7, 0))


@pytest.mark.parametrize("code, name", [
    ("%y = call double @llvm.exp.f64(double %x)", "llvm.exp.f64"),
    ("%y = call double @llvm.exp2.f64(double %x)", "llvm.exp2.f64"),
    ("%y = call double @llvm.minnum.f64(double %x, double %x)", "minnum"), ("%y = frem double %x, 3.0", "frem"),
    ("%y = fadd fast double %x, 3.0", "fast"), ("%y = call float @llvm.nvvm.ex2.approx.f(float %x)", "ex2"),
])
def test_intrinsics_that_are_not_known_to_be_exact_are_refused(code, name):
    with pytest.raises(Unsupported, match=name):
        ptx.refuse_inexact(code)


def test_intrinsics_that_are_exact_pass():
    for code in ("call double @llvm.fma.f64(double %x)", "call <2 x float> @llvm.sqrt.v2f32(<2 x float> %x)",
                 "call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1)",
                 "call { i64, i1 } @llvm.sadd.with.overflow.i64(i64 1)"):
        ptx.refuse_inexact(code)


def test_each_exact_intrinsic_is_one_instruction():
    """What the list says of floats is what this LLVM makes."""
    made = {"fabs": "abs", "sqrt": "sqrt.rn", "floor": "cvt.rmi", "ceil": "cvt.rpi", "trunc": "cvt.rzi",
            "rint": "cvt.rni", "fma": "fma.rn", "copysign": "copysign"}
    assert made.keys() | {"is.fpclass"} == ptx.EXACT
    arity = {"fma": 3, "copysign": 2}
    for name, instruction in made.items():
        for kind, suffix in (("float", "f32"), ("double", "f64")):
            count = arity.get(name, 1)
            args = ", ".join(f"{kind} %x{k}" for k in range(count))
            text = f"""define ptx_kernel void @k(ptr addrspace(1) %p, {args}) {{
  %y = call {kind} @llvm.{name}.{suffix}({args})
  store {kind} %y, ptr addrspace(1) %p
  ret void
}}
declare {kind} @llvm.{name}.{suffix}({", ".join([kind] * count)})
"""
            assert re.search(rf"\t{instruction}\.{suffix}", ptx.assemble(ptx.optimise(text, "sm_90"), "sm_90"))


def test_nothing_is_contracted_or_approximated():
    text = text_of(lambda x, y: (x * y + x / y, np.sqrt(x) - x * x), np.ones(3, "f"), np.ones(3, "f"))
    assert "mul.rn.f32" in text and "div.rn.f32" in text and "sqrt.rn.f32" in text
    assert not re.search(r"fma|\.approx|\.ftz|\.full", text)


@pytest.mark.parametrize("dtype", "?hefdFD")
def test_vectors_are_of_16_bytes(dtype):
    text = text_of(lambda x, y: np.where(x == y, x, y), np.ones(3, dtype), np.ones(3, dtype))
    widths = {"v4.b32": 16, "v2.b64": 16}
    assert any(f"ld.global.nc.{width}" in text for width in widths)
    assert any(f"st.global.{width}" in text for width in widths)


def test_elements_are_counted_with_32_bits():
    assert not re.search(r"mul\.lo\.s64|div\.|rem\.", text_of(fused, np.ones(3, "f"), np.ones(3, "f")))
    assert not re.search(r"\b(div|rem)\.", text_of(fused, np.ones((3, 4)), np.ones((3, 1))))


# -- the assembler ----------------------------------------------------------------------------------

def _floats(x, y):
    return fused(x, y), np.where(x < y, np.floor(x), y), (x * 2).sum(), x.max(), x.astype("l"), x.astype("e")


def _functions(x, y):
    return np.exp(x), np.log(x) + np.sin(y), np.fmod(x, y)


def _powers(x, y):
    return x ** 2.5, np.arctan2(x, y)


def _ints(x, y):
    return x // y, x % 7, x << y, x ** 3, (x & y).sum(), x.min(), (x > y).any()


def _planes(x, y):
    x[:, ::2] = y[:, ::2] * 2
    return x * y[0], x.sum(axis=0), x.sum(axis=1), x.max(axis=1), x.T + y.T, x.prod(axis=0)


def _halves(x, y):
    return x + y, x.astype("d") * 2, x < y


#: Functions with kernels of every kind, their arguments, and how many registers a thread may take.
_KINDS: dict[str, tuple[Callable[..., Any], Callable[[], Any], int]] = {
    "fused": (fused, lambda: np.ones(9, "f"), 48), "rows": (lambda x, y: x.sum(axis=1), lambda: np.ones((4, 6)), 80),
    "floats": (_floats, lambda: np.ones(9, "f"), 128), "doubles": (_floats, lambda: np.ones(9, "d"), 144),
    "functions": (_functions, lambda: np.ones(9, "d"), 128), "powers": (_powers, lambda: np.ones(9, "d"), 128),
    "ints": (_ints, lambda: np.ones(9, "l"), 128),
    "planes": (_planes, lambda: np.ones((4, 6)), 80), "halves": (_halves, lambda: np.ones(9, "e"), 64),
    "complex": (lambda x, y: (x + y, x == y, -x), lambda: np.ones(9, "D"), 64),
}
_QUICK = [("fused", "sm_90"), ("rows", "sm_90"), ("floats", "sm_90"), ("functions", "sm_90"), ("powers", "sm_90"),
          ("planes", "sm_75"), ("halves", "sm_80"), ("fused", "sm_100"), ("ints", "sm_120")]
_ALL = [(name, arch) for name in _KINDS for arch in ptx.ARCHITECTURES]


def _assembles(name: str, arch: str, folder: Path) -> None:
    if _PTXAS is None:
        pytest.skip("ptxas is not installed")
    function, make, most = _KINDS[name]
    text = text_of(function, make(), make(), arch=arch)
    assert "not on the device" not in text
    (folder / "k.ptx").write_text(text)
    done = subprocess.run([_PTXAS, "-v", f"-arch={arch}", str(folder / "k.ptx"), "-o", str(folder / "k.cubin")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", done.stderr)]
    assert len(registers) == text.count(".visible .entry")
    assert max(registers) <= most, registers
    assert not re.search(r"[1-9]\d* bytes spill", done.stderr), done.stderr


@pytest.mark.parametrize("name, arch", _QUICK)
def test_ptxas(name, arch, tmp_path):
    _assembles(name, arch, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name, arch", [pair for pair in _ALL if pair not in _QUICK])
def test_ptxas_takes_all_kinds_everywhere(name, arch, tmp_path):
    _assembles(name, arch, tmp_path)
