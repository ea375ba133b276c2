"""The dialect: a legalised function as the text of an LLVM module.

The entry point is `i8(ptr job, ptr scratch)`; it runs a chunk of groups and gives 1, or 0 where none is left. A job
is words of 64 bits (`words.JobWord`), a pointer for each binding, then the parameter block. Scratch
holds the arrays of one group that are not on the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import ClassVar

from ruda_core.artifact import ParameterLayout
from ruda_core.capabilities import Target
from ruda_core.codegen.dialect import Dialect
from ruda_core.dtypes import DType, i32
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_cpu.analysis.forms import Forms
from ruda_cpu.analysis.layout import Layout
from ruda_cpu.analysis.normal import normal, row_strides, with_dense_rows
from ruda_cpu.analysis.plan import Control, Node, Once, Region, plan
from ruda_cpu.analysis.turns import in_turns
from ruda_cpu.analysis.variance import written_arrays
from ruda_cpu.render.expressions import Cell
from ruda_cpu.render.frame import Frame
from ruda_cpu.render.memory import Jump
from ruda_cpu.render.regions import Regions
from ruda_cpu.render.writer import MEMORY, REGISTER, constant, constant_text
from ruda_cpu.target import BASELINE, WIDTH
from ruda_cpu.words import JobWord

_STACK = 16 << 10
"""Bytes of the stack that values across regions may take, and as many for shared arrays."""
_ATTRIBUTES = (
    "nounwind",
    '"prefer-vector-width"="512"',
    '"no-trapping-math"="true"',
    '"no-builtin-memcpy"',  # calls for a group's few lines cost more than the loops that they replace
    '"no-builtin-memset"',
)
_SHORT = 24
"""Statements of a loop around barriers that is worth a copy for each turn."""


class CpuDialect(Dialect):
    """LLVM text."""

    name: ClassVar[str] = "cpu"
    baseline: ClassVar[Target] = BASELINE

    def render(self, function: ir.Function, layout: ParameterLayout, entry: str) -> str:
        function = normal(function)
        dense = with_dense_rows(function)
        if dense is function:
            module = Module(function, layout)
            return assemble([module.define(entry, "")], [module])
        first = Module(dense, layout)
        fast = first.define("dense", "internal ")
        second = Module(function, layout, after=first)
        slow = second.define("strided", "internal ")
        return assemble([fast, slow, _choice(function, layout, entry)], [first, second])


def assemble(functions: list[str], modules: list[Module]) -> str:
    """The text of a module; its first line says how much scratch it needs."""
    last = modules[-1]  # later ones continue the numbering of metadata and constants
    declarations = dict.fromkeys(d for m in modules for d in m.w.declarations)
    parts = [
        f"; scratch {max(m.scratch for m in modules)}",
        *last.w.globals,
        *functions,
        *declarations,
        f"attributes #0 = {{ {' '.join(_ATTRIBUTES)} }}",
        *(f"!{k} = {text}" for k, text in enumerate(last.w.metadata)),
    ]
    return "\n".join(parts) + "\n"


def _choice(function: ir.Function, layout: ParameterLayout, entry: str) -> str:
    """An entry point that takes the dense code where every tensor's rows are dense."""
    lines = []
    at = {(s.kind, s.name, s.axis): (s, o) for s, o in zip(layout.slots, layout.offsets, strict=True)}
    every = "true"
    for k, (array, axis) in enumerate(row_strides(function)):
        slot, offset = at["stride", array.name, axis]
        offset += 8 * (len(JobWord) + len(function.bindings))
        t = REGISTER[slot.dtype]
        lines += [
            f"  %p{k} = getelementptr inbounds i8, ptr %job, i64 {offset}",
            f"  %s{k} = load {t}, ptr %p{k}, align {slot.nbytes}",
            f"  %c{k} = icmp eq {t} %s{k}, 1",
            f"  %d{k} = and i1 {every}, %c{k}",
        ]
        every = f"%d{k}"
    return "\n".join(
        [
            f"define i8 @{entry}(ptr %job, ptr noalias %scratch) #0 {{",
            *lines,
            f"  br i1 {every}, label %yes, label %no",
            "yes:\n  %y = tail call i8 @dense(ptr %job, ptr %scratch)\n  ret i8 %y",
            "no:\n  %n = tail call i8 @strided(ptr %job, ptr %scratch)\n  ret i8 %n\n}",
        ]
    )


def scratch_bytes(text: str) -> int:
    """Bytes of scratch that a rendered module needs; from its first line."""
    return int(text.split("\n", 1)[0].rpartition(" ")[2])


class Module(Regions):
    """One function's module."""

    def __init__(
        self, function: ir.Function, layout: ParameterLayout, *, after: Module | None = None
    ) -> None:
        turns = in_turns(function)
        function, self._jumps = turns.function, turns.jumps
        super().__init__(function, layout, plan(function, turns.outside))
        if after is not None:
            self.w.globals, self.w.metadata = list(after.w.globals), list(after.w.metadata)
        self.layout = Layout.of(function.dim)
        self.versions = after is None  # any strides are rare, and not worth compiling longer for
        self.interrupted = len(self.plan.regions) > 1
        self.forms, self.lets = Forms({}), {}
        zero = constant(i32, 0)
        self.group_frame = Frame("group", (zero, zero, zero), zero, "0")
        self.frame = self.group_frame
        self.pointers: dict[ir.Array, str] = {}
        self.elements: dict[ir.Array, DType] = {}
        self.strides, self.exits, self.torn, self.rows = {}, [], [], {}
        self.written = written_arrays(function) | frozenset(function.in_space("shared", "local"))
        self.scratch = 0
        """Bytes that a thread needs."""
        self._cleared = self._stack = 0
        self.on_stack = {}

    def define(self, name: str, linkage: str) -> str:
        """The function's definition."""
        self._header()
        self._memory()
        for symbol in sorted((s for s in self.plan.group if s.mutable), key=lambda s: s.name):
            self.cells[symbol] = Cell(self.w.variable(REGISTER[symbol.type.scalar.name]), False)
        self._groups()
        first, body = self.w.text_of(self.w.entry), self.w.text_of(self.w.lines)
        head = f"define {linkage}i8 @{name}(ptr %job, ptr noalias %scratch) #0 {{\nentry:\n"
        return f"{head}{first}\n  br label %take\n{body}\n}}"

    def _job_word(self, index: int, llvm_type: str = "i64") -> str:
        where = self.w.ins(f"getelementptr inbounds i64, ptr %job, i64 {index}")
        return self.w.ins(f"load {llvm_type}, ptr {where}, align 8")

    def _header(self) -> None:
        f = self.function
        with self.w.into(self.w.entry):
            self._total, self._chunk = self._job_word(JobWord.GROUPS), self._job_word(JobWord.CHUNK)
            for axis in range(3):
                count = self._job_word(JobWord.X + axis)
                self.group_values["workgroup_count", axis] = count
                self.group_values["size", axis] = self.w.ins(f"mul nuw nsw i64 {count}, {f.dim[axis]}")
            at = len(JobWord) + len(f.bindings)
            self.w.add(f"%params = getelementptr inbounds i64, ptr %job, i64 {at}")

    def _memory(self) -> None:
        f = self.function
        for k, binding in enumerate(f.bindings):
            with self.w.into(self.w.entry):
                base = self._job_word(len(JobWord) + k, "ptr")
            for array in binding.arrays:
                self.elements[array] = binding.dtype
                self.pointers[array] = base
                if self._has_offset(array):
                    with self.w.into(self.w.entry):
                        offset = self.index64(self._slot("offset", array.name, 0, f.index))
                        self.pointers[array] = self._element(base, binding.dtype, offset)
        for array in f.in_space("shared", "local"):
            dtype = array.dtype.scalar
            count = prod(array.shape) * array.dtype.lanes * (f.units if array.space == "local" else 1)
            self.elements[array] = dtype
            size = count * dtype.itemsize
            if array.space == "shared" and size + sum(self.on_stack.values()) <= _STACK:
                self.pointers[array] = self._share(dtype, count)
                self.on_stack[array] = size
            else:
                self.pointers[array] = self._take(dtype, count)
        self._cleared = self.scratch
        for symbol in self.plan.kept:
            self.kept[symbol] = self._keep(symbol.type.scalar, f.units + WIDTH)
        for array in f.in_space("constant"):
            self._constant(array)

    def _share(self, dtype: DType, count: int) -> str:
        """A shared array on the stack, for the reason that values across regions are kept there."""
        pointer = self.w.variable(f"[{count} x {MEMORY[dtype.name]}]")
        with self.w.into(self.w.entry):  # what LLVM knows to be undefined could be two things at once
            self._zero(pointer, count * dtype.itemsize)
        return pointer

    def _zero(self, pointer: str, size: int) -> None:
        self.w.call(
            "void",
            "llvm.memset.p0.i64",
            ("ptr", pointer),
            ("i8", "0"),
            ("i64", str(size)),
            ("i1", "false"),
        )

    def _take(self, dtype: DType, count: int) -> str:
        at = self.scratch
        self.scratch += -(-count * dtype.itemsize // 64) * 64
        with self.w.into(self.w.entry):
            return self.w.ins(f"getelementptr inbounds i8, ptr %scratch, i64 {at}")

    def _keep(self, dtype: DType, count: int) -> str:
        """An array for values across regions. On the stack, while there is room, LLVM sees that nothing else
        points to it and leaves in registers what fits there."""
        self._stack += count * dtype.itemsize
        if self._stack > _STACK:
            return self._take(dtype, count)
        return self.w.variable(f"[{count} x {MEMORY[dtype.name]}]")

    def _constant(self, array: ir.Array) -> None:
        dtype = array.dtype.scalar
        t = MEMORY[dtype.name]
        texts = [str(int(v)) if dtype.kind == "bool" else constant_text(dtype, v) for v in array.values]
        name = f"@constant{len(self.w.globals)}"
        values = ", ".join(f"{t} {text}" for text in texts)
        self.w.globals.append(
            f"{name} = internal unnamed_addr constant [{len(texts)} x {t}] [{values}], align 64"
        )
        self.elements[array], self.pointers[array] = dtype, name

    # Groups ------------------------------------------------------------------------------------

    def _groups(self) -> None:
        """Take a chunk of groups and run them; 1 if there was one."""
        w = self.w
        with w.into(w.entry):
            counter = w.ins(f"getelementptr inbounds i64, ptr %job, i64 {JobWord.DONE}")
        w.place("take")
        begin = w.ins(f"atomicrmw add ptr %job, i64 {self._chunk} monotonic")
        w.branch(w.ins(f"icmp ult i64 {begin}, {self._total}"), "chunk", "none")
        w.place("chunk")
        end = w.call(
            "i64",
            "llvm.umin.i64",
            ("i64", w.ins(f"add nuw i64 {begin}, {self._chunk}")),
            ("i64", self._total),
        )
        w.jump("group")
        w.place("group")
        w.add(f"%wg = phi i64 [ {begin}, %chunk ], [ %wg.next, %next ]")
        self._positions()
        if self.function.mode == "validate":
            for array, size in self.on_stack.items():
                self._zero(self.pointers[array], size)
            if self._cleared:
                self._zero("%scratch", self._cleared)
        self._nodes(self.plan.nodes)
        w.jump("next")
        w.place("next")
        w.add("%wg.next = add nuw i64 %wg, 1")
        w.branch(w.ins(f"icmp ult i64 %wg.next, {end}"), "group", "ran")
        w.place("ran")
        ran = w.ins(f"sub nuw i64 {end}, {begin}")
        w.add(f"atomicrmw add ptr {counter}, i64 {ran} release")
        w.add("ret i8 1")
        w.place("none")
        w.add("ret i8 0")

    def _positions(self) -> None:
        counts = [self.group_values["workgroup_count", axis] for axis in range(3)]
        x = self.w.ins(f"urem i64 %wg, {counts[0]}")
        rows = self.w.ins(f"udiv i64 %wg, {counts[0]}")
        y = self.w.ins(f"urem i64 {rows}, {counts[1]}")
        z = self.w.ins(f"udiv i64 {rows}, {counts[1]}")
        self.group_values["workgroup_pos", None] = "%wg"
        for axis, pos in enumerate((x, y, z)):
            self.group_values["workgroup_pos", axis] = pos
            start = self.w.ins(f"mul nuw nsw i64 {pos}, {self.function.dim[axis]}")
            self.group_values["workgroup_start", axis] = start

    def _nodes(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            self.frame = self.group_frame
            if isinstance(node, Region):
                saved = self.exits
                self.region(node)
                self.exits = saved
            elif isinstance(node, Once):
                self.stmt(node.stmt)
            else:
                self._control(node)

    def _control(self, node: Control) -> None:
        stmt = node.stmt

        def child(k: int) -> Callable[[], None]:
            return lambda: self._nodes(node.children[k])

        if isinstance(stmt, ir.If):
            self.if_else(stmt.cond, child(0), child(1) if stmt.orelse else None)
        elif isinstance(stmt, ir.Block):
            self.block(stmt, child(0))
        elif isinstance(stmt, ir.For) and stmt in self._jumps:
            step, stride = self._jumps[stmt]
            outer, self.jump = self.jump, Jump(stmt.symbol, self.index64(self.expr(step)), stride)
            self.loop(stmt, child(0))
            self.jump = outer
        else:
            self.loop(stmt, child(0), self._unrolled(stmt))

    def _unrolled(self, stmt: ir.Loop | ir.For) -> str:
        """Metadata for short loops around barriers: where LLVM finds the number of turns, say of a tree's
        halvings, each turn's loop over units then has known bounds."""
        if not isinstance(stmt, ir.Loop) or sum(1 for _ in walk(stmt.body)) > _SHORT:
            return ""
        full = self.w.meta('!{!"llvm.loop.unroll.full"}')
        return ", !llvm.loop " + self.w.meta(f"distinct !{{{{self}}, {full}}}")
