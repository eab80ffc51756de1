"""The simulated device itself: it finds what is wrong with code, and computes as PTX says."""
from __future__ import annotations

import numpy as np
import pytest

from .memory import Memory
from .ptx import Module, PtxError
from .simt import launch

_HEAD = ".version 7.8\n.target sm_90\n.address_size 64\n"


def entry(body: str, declared: str = "") -> Module:
    """A kernel ``k`` of two addresses and a number; ``%rd1``, ``%rd2`` and ``%r1`` hold them, ``%r2`` the thread."""
    return Module(f"""{_HEAD}{declared}
.visible .entry k(
	.param .u64 k_param_0,
	.param .u64 k_param_1,
	.param .u32 k_param_2
)
.maxntid 256
{{
	.reg .pred 	%p<9>;
	.reg .b32 	%r<40>;
	.reg .b64 	%rd<40>;
	ld.param.b64 	%rd1, [k_param_0];
	ld.param.b64 	%rd2, [k_param_1];
	ld.param.b32 	%r1, [k_param_2];
	mov.u32 	%r2, %tid.x;
	mul.wide.u32 	%rd3, %r2, 4;
	add.s64 	%rd4, %rd1, %rd3;
	add.s64 	%rd5, %rd2, %rd3;
{body}
	ret;
}}
""")


def run(body: str, declared: str = "", threads: int = 64, misaligned: int = 0, same: bool = False,
        blocks: int = 1) -> np.ndarray:
    memory = Memory(1 << 14)
    first = memory.allocate(4 * 64, misaligned)
    second = first if same else memory.allocate(4 * 64)
    memory.write(first, np.arange(64, dtype=np.uint32).tobytes())
    launch(entry(body, declared), "k", blocks, threads, [first, second, 64], memory)
    return np.frombuffer(memory.read(second, 256), np.uint32)


_COPY = "\tld.global.b32 %r3, [%rd4];\n\tst.global.b32 [%rd5], %r3;"
_SHARED = ".shared .align 4 .b8 buf[256];"
_NEIGHBOUR = """	mov.b32 %r4, buf;
	shl.b32 %r5, %r2, 2;
	add.s32 %r6, %r4, %r5;
	st.shared.b32 [%r6], %r2;
	BARRIER
	xor.b32 %r7, %r5, 4;
	ld.shared.b32 %r8, [%r7];
	st.global.b32 [%rd5], %r8;"""


def test_what_is_right():
    assert (run(_COPY) == np.arange(64)).all()
    assert (run(_NEIGHBOUR.replace("BARRIER", "bar.sync 0;"), _SHARED) == (np.arange(64) ^ 1)).all()
    assert (run("\tshfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\n\tst.global.b32 [%rd5], %r3;")
            == (np.arange(64) ^ 1)).all()


_WRONG = {
    "out of bounds": ("\tld.global.b32 %r3, [%rd4+4];\n\tst.global.b32 [%rd5], %r3;", {}),
    "misaligned": (_COPY, {"misaligned": 2}),
    "also writes": (_COPY.replace("ld.global", "ld.global.nc"), {"same": True}),
    "shared-memory race": (_NEIGHBOUR.replace("BARRIER", ""), {"declared": _SHARED}),
    "have ended": ("\tsetp.gt.u32 %p1, %r2, 7;\n\t@%p1 bra $L_end;\n\tbar.sync 0;\n$L_end:", {}),
    "wait elsewhere": ("\tsetp.gt.u32 %p1, %r2, 7;\n\t@%p1 bra $L_a;\n\tbar.sync 0;\n\tbra.uni $L_b;\n$L_a:\n"
                            "\tbar.sync 0;\n$L_b:", {}),
    "what another has written": ("\tst.global.b32 [%rd5], %r2;\n\txor.b32 %r4, %r2, 1;\n\tmul.wide.u32 %rd6, %r4, 4;\n"
                                 "\tadd.s64 %rd7, %rd2, %rd6;\n\tld.global.b32 %r5, [%rd7];", {}),
    "what another has read": ("\tld.global.b32 %r3, [%rd2];\n\tst.global.b32 [%rd5], %r2;", {}),
    "two threads write": ("\tst.global.b32 [%rd2], %r2;", {}),
    "maxntid": (_COPY, {"threads": 288}),
    "is not exact": ("\tdiv.approx.f32 %r3, %r2, %r2;", {}),
    "not exact": ("\tadd.rn.ftz.f32 %r3, %r2, %r2;", {}),
    "never set": ("\tadd.s32 %r3, %r9, %r2;", {}),
    "unknown instruction": ("\tfoo.b32 %r3, %r2;", {}),
}


@pytest.mark.parametrize("what", _WRONG)
def test_what_is_wrong(what):
    body, options = _WRONG[what]
    with pytest.raises(PtxError, match=what):
        run(body, **options)


def test_lanes_that_do_not_come_to_a_shuffle():
    with pytest.raises(PtxError, match="wait for others"):
        run("\tsetp.eq.s32 %p1, %r2, 3;\n\t@%p1 bra $L_end;\n\tshfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;\n$L_end:")


def test_functions_are_called():
    function = """
.func (.param .b32 func_retval0) twice(
	.param .b32 twice_param_0
)
{
	.reg .b32 	%r<3>;
	ld.param.b32 	%r1, [twice_param_0];
	add.s32 	%r2, %r1, %r1;
	st.param.b32 	[func_retval0], %r2;
	ret;
}"""
    call = """	{ // callseq 0, 0
	.param .b32 param0;
	.param .b32 retval0;
	st.param.b32 	[param0], %r2;
	call.uni (retval0), twice, (param0);
	ld.param.b32 	%r3, [retval0];
	} // callseq 0
	st.global.b32 [%rd5], %r3;"""
    assert (run(call, function) == 2 * np.arange(64)).all()


@pytest.mark.parametrize("instruction, want", [
    ("shl.b32 %r3, 1, 40", 0), ("shr.s32 %r3, -8, 40", 0xFFFFFFFF), ("shf.l.wrap.b32 %r3, 0x80000000, 1, 1", 3),
    ("prmt.b32 %r3, 0x11223344, 0x55667788, 0x7531U", 0x55771133), ("bfe.u32 %r3, 0xABCD, 4, 8", 0xBC),
    ("mul.hi.u32 %r3, 0xFFFFFFFF, 3", 2), ("mad.lo.s32 %r3, 5, 6, 7", 37), ("div.s32 %r3, -7, 2", 0xFFFFFFFD),
    ("rem.s32 %r3, -7, 2", 0xFFFFFFFF), ("popc.b32 %r3, 0xF0", 4), ("clz.b32 %r3, 1", 31),
    ("min.f32 %r3, 0f7FC00000, 0f3F800000", 0x3F800000), ("max.f32 %r3, 0f80000000, 0f00000000", 0),
    ("cvt.rzi.s32.f32 %r3, 0f7FC00000", 0), ("cvt.rzi.s32.f32 %r3, 0f7F800000", 0x7FFFFFFF),
    ("cvt.rni.f32.f32 %r3, 0f40200000", 0x40000000), ("sub.rn.f32 %r3, 0f7F800000, 0f7F800000", 0x7FFFFFFF),
    ("fma.rn.f32 %r3, 0f3F800001, 0f3F800001, 0fBF800002", 0x28800000), ("copysign.f32 %r3, 0f80000000, 0f3F800000",
                                                                       0xBF800000)])
def test_instructions(instruction, want):
    assert run(f"\t{instruction};\n\tst.global.b32 [%rd5], %r3;")[0] == want
