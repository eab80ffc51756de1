"""Executes PTX: all threads of a launch at once, as NumPy arrays with one element a thread.

Threads that stand at the same instruction take it together; those that are least far go first, so that they meet
again. Rounding and special values are those of the PTX manual: single precision gives the canonical NaN.  ``launch``
raises ``PtxError`` where a rule is broken: see ``memory``, and of what threads do together: all lanes that a shuffle
names must come to it, all threads of a block to a barrier, and between barriers no word of shared memory may be
written by one thread and read or written by another.
"""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from .arithmetic import Arithmetic, type_of, width_of
from .memory import Memory
from .ptx import Code, Instr, Module, PtxError

_LOCAL = 1 << 20            # generic addresses of local memory begin here
_NAN32 = np.uint32(0x7FFFFFFF)

def launch(module: Module, name: str, blocks: int, threads: int, args: Mapping[str, Any] | list[Any], memory: Memory,
           codes: dict[str, Code] | None = None) -> Counter[str]:
    """Runs an entry; counts instructions by name."""
    code = (codes or {}).get(name) or module.flatten(name)
    if codes is not None:
        codes[name] = code
    if threads > code.threads:
        raise PtxError(f"{threads} threads, .maxntid is {code.threads}")
    memory.begin()
    grid = _Grid(module, code, blocks, threads, list(args.values()) if isinstance(args, Mapping) else args, memory)
    with np.errstate(all="ignore"):
        grid.run()
    memory.end()
    return grid.counts


class _Grid(Arithmetic):
    def __init__(self, module: Module, code: Code, blocks: int, threads: int, args: list[Any], memory: Memory) -> None:
        self.code, self.memory, self.block, self.n = code, memory, threads, blocks * threads
        self.counts: Counter[str] = Counter()
        who = np.arange(self.n, dtype=np.int32)
        self.who, self.cta = who, who // threads
        tid = (who % threads).astype(np.uint32)
        self.warp = self.cta * (-(-threads // 32)) + tid // 32
        zero = np.zeros(self.n, np.uint32)
        self.special = {"%tid.x": tid, "%ctaid.x": self.cta.astype(np.uint32), "%laneid": tid % 32,
                        "%ntid.x": zero + threads, "%nctaid.x": zero + blocks, "%tid.y": zero, "%tid.z": zero}
        self.params: dict[str, np.ndarray] = {}
        if len(args) != len(code.params):
            raise PtxError(f"{len(args)} arguments for {len(code.params)} parameters")
        for (name, kind), value in zip(code.params, args):
            self.params[name] = np.asarray(value).astype(type_of(kind)) if not isinstance(value, np.generic) else value
        self.registers: dict[str, np.ndarray] = {}
        self.local = np.zeros((self.n, max(code.local_size, 8)), np.uint8)
        self.globals = {}
        for name, data in module.data.items():
            address = memory.allocate(len(data))
            memory.write(address, data)
            self.globals[name] = address
        self.shared_at, size = {}, 0
        for name, (align, count) in module.shared.items():
            size = -(-size // align) * align
            self.shared_at[name] = size
            size += count
        self.shared = np.full((blocks, max(8, -(-size // 8) * 8)), 0xFF, np.uint8)
        self.shared_size = size
        shape = self.shared.shape
        self.shared_writer, self.shared_reader = np.full(shape, -1), np.full(shape, -1)
        self.pc = np.zeros(self.n, np.int64)
        self.waits = np.zeros(self.n, bool)

    # -- control ------------------------------------------------------------------------------------
    def run(self) -> None:
        end = len(self.code.instrs)
        while True:
            ready = (self.pc < end) & ~self.waits
            if not ready.any():
                if not (self.pc < end).any():
                    return
                raise PtxError("threads wait for others, which have ended or wait elsewhere")
            at = int(self.pc[ready].min())
            lanes = np.flatnonzero(ready & (self.pc == at))
            self.step(self.code.instrs[at], at, lanes)

    def step(self, instr: Instr, at: int, lanes: np.ndarray) -> None:
        head = instr.op[0]
        self.counts[".".join(instr.op)] += len(lanes)
        if head in ("shfl", "bar", "barrier"):
            self.together(instr, at)
            return
        self.pc[lanes] = at + 1
        if instr.guard is not None:
            holds = self.registers[instr.guard[0]][lanes].astype(bool) ^ instr.guard[1]
            lanes = lanes[holds]
            if not len(lanes):
                return
        if head == "bra":
            self.pc[lanes] = self.code.labels[str(instr.args[-1])]
        elif head in ("ret", "exit"):
            self.pc[lanes] = len(self.code.instrs)
        else:
            method = getattr(self, f"do_{head}", None)
            if method is None:
                raise PtxError(f"unknown instruction {instr}")
            method(instr.op, instr.args, lanes)

    def together(self, instr: Instr, at: int) -> None:
        """A shuffle or a barrier, for warps and blocks that are complete; others wait."""
        group = self.warp if instr.op[0] == "shfl" else self.cta
        here = np.flatnonzero(self.pc == at)
        counts = np.bincount(group[here], minlength=int(group.max()) + 1)
        whole = np.bincount(group)
        complete = counts[group[here]] == whole[group[here]]
        self.waits[here[~complete]] = True
        lanes = here[complete]
        self.waits[lanes] = False
        self.pc[lanes] = at + 1
        if len(lanes) and instr.op[0] == "shfl":
            self.shuffle(instr, lanes)
        elif len(lanes):
            for done in np.unique(self.cta[lanes]):
                self.shared_writer[done] = self.shared_reader[done] = -1

    def shuffle(self, instr: Instr, lanes: np.ndarray) -> None:
        target, source, lane, clamp, mask = instr.args
        if (self.value(mask, "b32", lanes) != 0xFFFFFFFF).any() or (self.value(clamp, "b32", lanes) != 31).any():
            raise PtxError("only shuffles of whole warps are simulated")
        values, by = self.value(source, "b32", lanes), self.value(lane, "b32", lanes).astype(np.int64)
        own = np.arange(len(lanes)) % 32        # lanes are sorted, and warps whole
        other = {"bfly": own ^ by, "idx": by % 32, "down": own + by, "up": own - by}[instr.op[2]]
        other = np.where((other >= 0) & (other < 32), other, own)
        self.put(target, values[np.arange(len(lanes)) - own + other], lanes)

    # -- operands -----------------------------------------------------------------------------------
    def value(self, arg: Any, kind: str, lanes: np.ndarray) -> np.ndarray:
        """An operand's values, of a type of PTX."""
        width = width_of(kind)
        if arg in self.special:
            raw = self.special[arg][lanes]
        elif arg in self.registers:
            raw = self.registers[arg][lanes]
        elif arg in self.code.local:
            raw = np.full(len(lanes), self.code.local[arg][0] + _LOCAL, np.uint64)
        elif arg in self.globals or arg in self.shared_at:
            raw = np.full(len(lanes), {**self.globals, **self.shared_at}[arg], np.uint64)
        elif arg[:2] in ("0f", "0d"):
            raw = np.full(len(lanes), int(arg[2:], 16), f"u{width // 8}")
        elif re.match(r"-?(0x[0-9A-Fa-f]+|\d+)U?$", arg):
            raw = np.full(len(lanes), int(arg.rstrip("U"), 0) & ((1 << width) - 1), f"u{width // 8}")
        else:
            raise PtxError(f"{arg} was never set")
        if kind == "pred":
            return raw.astype(bool)
        want = np.dtype(f"u{width // 8}")
        return np.ascontiguousarray(raw.astype(want, copy=False)).view(type_of(kind))

    def put(self, arg: Any, values: np.ndarray, lanes: np.ndarray) -> None:
        """Sets a register, which may be wider than the value: ints are extended by their sign."""
        if arg == "_":
            return
        kind = self.code.registers.get(arg, "b64")
        size = width_of(kind) // 8
        if arg not in self.registers:
            self.registers[arg] = np.zeros(self.n, bool if kind == "pred" else f"u{size}")
        if kind != "pred" and values.dtype.kind != "i":
            values = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
        elif kind != "pred":
            values = values.astype(f"i{size}").view(f"u{size}")
        self.registers[arg][lanes] = values

    def address(self, arg: Any, lanes: np.ndarray) -> np.ndarray:
        base, _, offset = arg[1:-1].partition("+")
        return self.value(base, "u64", lanes) + np.uint64(int(offset or 0) & (2**64 - 1))

    # -- memory -------------------------------------------------------------------------------------
    def do_ld(self, op: tuple[str, ...], args: tuple[Any, ...], lanes: np.ndarray) -> None:
        kind, targets = op[-1], args[0] if isinstance(args[0], tuple) else (args[0],)
        if op[1] == "param":
            self.load_param(kind, targets, args[1], lanes)
            return
        at, size = self.address(args[1], lanes), width_of(kind) // 8
        whole = size * len(targets)
        if op[1] == "shared":
            where = self.shared_place(at, whole, lanes)
            parts = [self.shared_load(where + size * k, size, lanes) for k in range(len(targets))]
        elif op[1] == "local" or (op[1] != "global" and (at < _LOCAL + len(self.local[0])).all()):
            where = (at - np.uint64(_LOCAL)).astype(np.int64)
            if (where % whole).any() or (where + whole > self.code.local_size).any():
                raise PtxError("local memory out of bounds, or misaligned")
            parts = [self.local.reshape(self.n, -1).view(f"u{size}")[lanes, where // size + k]
                     for k in range(len(targets))]
        else:
            where = self.memory.offsets(at, whole, ".".join(op))
            parts = [self.memory.load(where + size * k, size, self.who[lanes], "nc" in op) for k in range(len(targets))]
        for target, part in zip(targets, parts):
            self.put(target, np.ascontiguousarray(part).view(type_of(kind)), lanes)

    def load_param(self, kind: str, targets: tuple[Any, ...], place: Any, lanes: np.ndarray) -> None:
        base, _, offset = place[1:-1].partition("+")
        for k, target in enumerate(targets):
            if base in self.params:
                raw = self.params[base]
                self.put(target, np.full(len(lanes), raw.view(f"u{raw.dtype.itemsize}")), lanes)
            else:
                name = f"{base}+{int(offset or 0) + k * width_of(kind) // 8}"
                self.put(target, self.value(name, f"b{width_of(kind)}", lanes), lanes)

    def do_copy(self, op: tuple[str, ...], args: tuple[Any, ...], lanes: np.ndarray) -> None:
        """What is passed between functions."""
        target, source = args
        for offset in range(0, 64, 4):
            if f"{source}+{offset}" in self.registers:
                self.put(f"{target}+{offset}", self.registers[f"{source}+{offset}"][lanes], lanes)

    def do_st(self, op: tuple[str, ...], args: tuple[Any, ...], lanes: np.ndarray) -> None:
        kind, sources = op[-1], args[1] if isinstance(args[1], tuple) else (args[1],)
        parts = [self.value(s, f"b{width_of(kind)}", lanes) for s in sources]
        size = width_of(kind) // 8
        if op[1] == "param":
            base, _, offset = args[0][1:-1].partition("+")
            for k, part in enumerate(parts):
                self.put(f"{base}+{int(offset or 0) + k * size}", part, lanes)
            return
        at, whole = self.address(args[0], lanes), size * len(parts)
        if op[1] == "shared":
            where = self.shared_place(at, whole, lanes)
            for k, part in enumerate(parts):
                self.shared_store(where + size * k, size, part, lanes)
        elif op[1] == "local" or (op[1] != "global" and (at < _LOCAL + len(self.local[0])).all()):
            where = (at - np.uint64(_LOCAL)).astype(np.int64)
            if (where % whole).any() or (where + whole > self.code.local_size).any():
                raise PtxError("local memory out of bounds, or misaligned")
            for k, part in enumerate(parts):
                self.local.view(f"u{size}")[lanes, where // size + k] = part
        else:
            where = self.memory.offsets(at, whole, ".".join(op))
            for k, part in enumerate(parts):
                self.memory.store(where + size * k, size, part, self.who[lanes])

    def shared_place(self, at: np.ndarray, size: int, lanes: np.ndarray) -> np.ndarray:
        where = at.astype(np.int64)
        if (where % size).any() or (where + size > self.shared_size).any():
            raise PtxError("shared memory out of bounds, or misaligned")
        return where

    def shared_load(self, where: np.ndarray, size: int, lanes: np.ndarray) -> np.ndarray:
        cta, who = self.cta[lanes], self.who[lanes]
        writer = self.shared_writer[cta, where]
        if ((writer != -1) & (writer != who)).any():
            raise PtxError("shared-memory race: read of what another thread wrote, without a barrier")
        reader = self.shared_reader[cta, where]
        self.shared_reader[cta, where] = np.where((reader == -1) | (reader == who), who, -2)
        return self.shared.view(f"u{size}")[cta, where // size]

    def shared_store(self, where: np.ndarray, size: int, values: np.ndarray, lanes: np.ndarray) -> None:
        cta, who = self.cta[lanes], self.who[lanes]
        for before in (self.shared_writer, self.shared_reader):
            other = before[cta, where]
            if ((other != -1) & (other != who)).any():
                raise PtxError("shared-memory race: write of what another thread used, without a barrier")
        if len(np.unique(cta.astype(np.int64) << 32 | where)) != len(where):
            raise PtxError("shared-memory race: two threads write one place")
        self.shared_writer[cta, where] = who
        self.shared.view(f"u{size}")[cta, where // size] = values

    def do_atom(self, op: tuple[str, ...], args: tuple[Any, ...], lanes: np.ndarray) -> None:
        if op[-2:] != ("or", "b32"):
            raise PtxError(f"unknown atomic {op}")
        at = self.memory.offsets(self.address(args[1], lanes), 4, "atom")
        self.put(args[0], self.memory.gather_bits(at, self.value(args[2], "b32", lanes)), lanes)

    def do_red(self, op: tuple[str, ...], args: tuple[Any, ...], lanes: np.ndarray) -> None:
        self.do_atom(op, ("_", *args), lanes)

    # -- moving -------------------------------------------------------------------------------------
    def do_mov(self, op: tuple[str, ...], args: tuple[Any, ...], lanes: np.ndarray) -> None:
        target, source = args
        kind = op[-1]
        if isinstance(target, tuple):
            part = width_of(kind) // len(target)
            whole = self.value(source, kind, lanes)
            for k, name in enumerate(target):
                self.put(name, (whole >> whole.dtype.type(part * k)).astype(f"u{part // 8}"), lanes)
        elif isinstance(source, tuple):
            part = width_of(kind) // len(source)
            total = np.zeros(len(lanes), f"u{width_of(kind) // 8}")
            for k, name in enumerate(source):
                total |= self.value(name, f"b{part}", lanes).astype(total.dtype) << total.dtype.type(part * k)
            self.put(target, total, lanes)
        else:
            self.put(target, self.value(source, kind, lanes), lanes)

    def do_cvta(self, op: tuple[str, ...], args: tuple[Any, ...], lanes: np.ndarray) -> None:
        self.put(args[0], self.value(args[1], "u64", lanes), lanes)

    def do_selp(self, op: tuple[str, ...], args: tuple[Any, ...], lanes: np.ndarray) -> None:
        kind = f"b{width_of(op[-1])}"
        self.put(args[0], np.where(self.value(args[3], "pred", lanes), self.value(args[1], kind, lanes),
                                   self.value(args[2], kind, lanes)), lanes)

    def do_prmt(self, op: tuple[str, ...], args: tuple[Any, ...], lanes: np.ndarray) -> None:
        low, high, how = (self.value(a, "b32", lanes).astype(np.uint64) for a in args[1:4])
        both, total = low | high << np.uint64(32), np.zeros(len(lanes), np.uint64)
        for k in range(4):
            pick = how >> np.uint64(4 * k) & np.uint64(15)
            byte = both >> ((pick & np.uint64(7)) * np.uint64(8)) & np.uint64(255)
            byte = np.where(pick & np.uint64(8), (byte >> np.uint64(7)) * np.uint64(255), byte)
            total |= byte << np.uint64(8 * k)
        self.put(args[0], total.astype(np.uint32), lanes)

