"""Arrays: where an element is, and how accesses of neighbouring units fall together.

An index that moves evenly from unit to unit is computed for the first unit of a row or strip only; the
others follow by pointer arithmetic in 64 bits. For every access that is made this gives the same address
as the index type's own wrapping arithmetic, since what is accessed lies within the array.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from ruda_core.dtypes import BY_NAME, DType, i64
from ruda_core.ir import nodes as ir
from ruda_cpu.analysis.forms import Forms
from ruda_cpu.analysis.layout import Layout
from ruda_cpu.analysis.strides import of_builtin, stride
from ruda_cpu.render.expressions import Expressions
from ruda_cpu.render.writer import MEMORY, Value
from ruda_cpu.target import WIDTH

_RMW = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "exchange": "xchg"}
_CHOICE = {"min": "slt", "max": "sgt"}
_LINE = 64
"""Bytes that a processor reads at once."""
_AHEAD = 12 << 10
"""Bytes ahead that memory needs to answer in time, measured; a third of a small first cache."""
_TURNS_AHEAD = 2 << 10
"""The same where rows lie apart: bytes of them, in whole rows."""
_LEAD = 256
"""Bytes that the first stream of several goes before the others, measured; more gains nothing."""
_MOST_LEAD = 1 << 10
"""Bytes of a row that are read so: more at once take memory from the others."""
_MOST_AHEAD = 64
"""Lines of a row that are worth reading ahead."""
_NEAR = 1 << 16
"""Elements from one place to another that is found from it: too few to come around the index type."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an access goes."""

    kind: Literal["one", "row", "each"]
    """one: a pointer; row: a pointer to the first of a strip's neighbours; each: a strip of pointers."""
    pointer: str
    dtype: DType
    """As stored."""


@dataclass(frozen=True, slots=True)
class Jump:
    """A loop of turns that a group takes together."""

    turn: ir.Symbol
    far: str
    """i64: elements that each unit goes on in a turn."""
    stride: int
    """Elements from one unit to the next."""


class Memory(Expressions):
    """Addresses and single accesses."""

    layout: Layout
    versions: bool
    """Whether there is code without checks, for units within bounds."""
    jump: Jump | None = None
    """The loop of turns around the region at hand."""
    interrupted: bool
    """Whether a group does more than one region."""
    lets: dict[ir.Symbol, ir.Expr]
    """Values that can be computed anywhere in the region at hand: its own, and fixed ones."""
    forms: Forms
    pointers: dict[ir.Array, str]
    elements: dict[ir.Array, DType]
    strides: dict[ir.Symbol, int | None]
    """How far symbols bound in the region at hand move from unit to unit."""

    # How a value moves from unit to unit --------------------------------------------------------

    def stride(self, e: ir.Expr) -> int | None:
        """How much larger the value is for the next unit: 0 for all alike, None for unevenly."""
        return stride(e, self._builtin_stride, self._symbol_stride, self.is_position)

    def _builtin_stride(self, e: ir.Builtin) -> int | None:
        return of_builtin(e, self.layout, self.function.dim)

    def _symbol_stride(self, symbol: ir.Symbol) -> int | None:
        if symbol in self.strides:
            return self.strides[symbol]
        if symbol in self.plan.group:
            return 0
        if self.strip is not None and symbol not in self.strip.symbols:
            return 0
        return None

    def note_stride(self, symbol: ir.Symbol, value: ir.Expr) -> None:
        """Remember how a symbol moves, and in a strip compute it for the first unit as well."""
        if not symbol.type.is_integer or self.frame.kind == "group":
            return
        self.strides[symbol] = stride = self.stride(value)
        if self.frame.kind == "strip" and stride is not None and self.frame.first is not None:
            with self.for_first():
                self.frame.made[symbol] = self.expr(value)

    def is_position(self, e: ir.Expr) -> bool:
        """True for positions in the launch, which do not wrap."""
        return self.positions.is_position(e)

    @contextmanager
    def for_first(self) -> Iterator[None]:
        """Compute for the first unit of the row (before its loop) or of the strip (here)."""
        outer = self.frame
        if outer.first is None:
            yield
            return
        self.frame = outer.first
        try:
            if outer.before is not None:
                with self.w.into(outer.before):
                    yield
            else:
                yield
        finally:
            self.frame = outer

    # Addresses ---------------------------------------------------------------------------------

    def place(self, array: ir.Array, index: tuple[ir.Expr, ...]) -> Place:
        """Where `array[index]` is, for the frame at hand; the element need not exist."""
        (at,) = index
        base = self.pointers[array]
        if array.space == "global":
            at = self._without_offset(at, array)
        dtype = self.elements[array]
        stride = self.stride(at)
        if array.space == "local":
            return self._local(base, dtype, at, stride)
        if self.frame.kind == "strip":
            return self._strip_place(base, dtype, at, stride)
        if self.frame.kind == "unit" and self.frame.first is not None and stride is not None and stride >= 0:
            pointer = self._first_place(array, at)
            if stride:
                far = self.frame.lane if stride == 1 else self.w.ins(f"mul i64 {self.frame.lane}, {stride}")
                pointer = self._element(pointer, dtype, far)
            return Place("one", pointer, dtype)
        return Place("one", self._element(base, dtype, self.index64(self.expr(at), even=False)), dtype)

    def _first_place(self, array: ir.Array, at: ir.Expr) -> str:
        """A pointer for the first unit of a row; from one to an element before it, where there is one.

        What lies some elements further is that in 64 bits as well, if it is accessed; see above.
        """
        first = self.frame.first
        assert first is not None
        form, constant = self.forms.of(at)
        known, base = first.places.get((array, form), (constant + 1, ""))
        with self.for_first():
            if known <= constant < known + _NEAR:
                return self._element(base, self.elements[array], str(constant - known))
            pointer = self._element(self.pointers[array], self.elements[array], self.index64(self.expr(at)))
        first.places[array, form] = constant, pointer
        return pointer

    def fetch_ahead(self, array: ir.Array, at: ir.Expr) -> None:
        """Have a later row read already, where other code interrupts the stream of a row each, or rows lie apart; else
        have the first of the streams that a row reads go before the others.

        The processor itself looks ahead only while it reads, within a page, and does not always see through masks. Of
        several streams that go on side by side from memory, one that is ahead leaves the others more of it.
        """
        first, layout = self.frame.first, self.layout
        size = layout.extent * self.elements[array].itemsize
        if (
            layout.rows > 1
            or first is None
            or self.stride(at) != 1
            or not _LINE <= size <= _MOST_AHEAD * _LINE
        ):
            return
        far = self._next_rows(at, size)
        if far is None:
            if self.interrupted or self.jump is not None or first.led:
                return
            far, size = str(_LEAD // self.elements[array].itemsize), min(size, _MOST_LEAD)
        first.led = True
        row = self._first_place(array, self._without_offset(at, array))
        with self.for_first():
            row = self._element(row, self.elements[array], far)
            for k in range(0, size, _LINE):
                where = self.w.ins(f"getelementptr i8, ptr {row}, i64 {k}")
                self.w.call(
                    "void",
                    "llvm.prefetch.p0",
                    *(("ptr", where), ("i32", "0"), ("i32", "3"), ("i32", "1")),
                )

    def _next_rows(self, at: ir.Expr, size: int) -> str | None:
        """How many elements away the row to read ahead is; None where none is."""
        factors = self.forms.factors(at)
        jump = self.jump
        if jump is not None and any(isinstance(f, ir.Ref) and f.symbol is jump.turn for f in factors):
            if jump.stride != 1:
                return None
            with self.for_first():
                return self.w.ins(f"mul i64 {jump.far}, {-(-_TURNS_AHEAD // size)}")
        names = {f.name.removeprefix("native_") for f in factors if isinstance(f, ir.Builtin)}
        if not self.interrupted or not names & {"absolute_pos", "workgroup_pos"}:
            return None
        return str(-(-_AHEAD // size) * self.layout.extent)

    def _strip_place(self, base: str, dtype: DType, at: ir.Expr, stride: int | None) -> Place:
        if stride == 0:
            value = self.expr(at)
            if not value.wide:
                return Place("one", self._element(base, dtype, self.index64(value, even=False)), dtype)
        if stride == 1:
            with self.for_first():
                pointer = self._element(base, dtype, self.index64(self.expr(at)))
            return Place("row", pointer, dtype)
        return Place("each", self._elements(base, dtype, self.widen(self.expr(at))), dtype)

    def _local(self, base: str, dtype: DType, at: ir.Expr, stride: int | None) -> Place:
        """Local arrays lie element by element, units side by side."""
        units = self.function.units
        value = self.expr(at)
        if value.wide:
            wide = f"<{WIDTH} x i64>"
            index = self.index64(value, even=False)
            rows = self.w.ins(f"mul {wide} {index}, splat (i64 {units})")
            first = self.splat(self.frame.linear64, "i64")
            iota = ", ".join(f"i64 {k}" for k in range(WIDTH))
            own = self.w.ins(f"add {wide} {first}, <{iota}>")
            return Place(
                "each", self._elements_at(base, dtype, self.w.ins(f"add {wide} {rows}, {own}")), dtype
            )
        row = self.w.ins(f"mul i64 {self.index64(value, even=False)}, {units}")
        pointer = self._element(base, dtype, self.w.ins(f"add i64 {row}, {self.frame.linear64}"))
        return Place("row" if self.frame.kind == "strip" else "one", pointer, dtype)

    def _without_offset(self, at: ir.Expr, array: ir.Array) -> ir.Expr:
        """The index without the array's offset in its binding, which the array's pointer has already."""
        if isinstance(at, ir.Binary) and at.op == "+":
            if isinstance(at.b, ir.Offset) and at.b.array is array:
                return at.a
            if isinstance(at.a, ir.Offset) and at.a.array is array:
                return at.b
        minus = ir.Offset(at.type, at.span, array)
        return ir.Binary(at.type, at.span, "-", at, minus) if self._has_offset(array) else at

    def _has_offset(self, array: ir.Array) -> bool:
        return ("offset", array.name, 0) in self._slots

    def index64(self, value: Value, *, even: bool = True) -> str:
        """The index in 64 bits; of an evenly moving one the first may be negative though unsigned."""
        if value.dtype.bits == 64:
            return value.text
        if even or value.dtype.kind == "int":
            value = value._replace(dtype=BY_NAME[f"i{value.dtype.bits}"])
        return self.cast(value, i64, raw=True).text

    def _element(self, base: str, dtype: DType, index: str) -> str:
        return self.w.ins(f"getelementptr {MEMORY[dtype.name]}, ptr {base}, i64 {index}")

    def _elements(self, base: str, dtype: DType, index: Value) -> str:
        return self._elements_at(base, dtype, self.index64(index, even=False))

    def _elements_at(self, base: str, dtype: DType, index: str) -> str:
        return self.w.ins(f"getelementptr {MEMORY[dtype.name]}, ptr {base}, <{WIDTH} x i64> {index}")

    # Single accesses ---------------------------------------------------------------------------

    def load_one(self, place: Place, dtype: DType) -> Value:
        """One element as a value of `dtype`."""
        stored = place.dtype
        tag = self.tag() if self.frame.kind == "unit" else ""
        text = self.w.ins(f"load {MEMORY[stored.name]}, ptr {place.pointer}, align {stored.itemsize}{tag}")
        return self.cast(self.from_memory(text, stored, False), dtype, raw=True)

    def store_one(self, place: Place, value: Value) -> None:
        value = self.cast(value, place.dtype, raw=True)
        tag = self.tag() if self.frame.kind == "unit" else ""
        t = MEMORY[place.dtype.name]
        self.w.add(
            f"store {t} {self.to_memory(value)}, ptr {place.pointer}, align {place.dtype.itemsize}{tag}"
        )

    def atomic_one(
        self, op: str, pointer: str, dtype: DType, args: list[Value], *, shared: bool
    ) -> Value | None:
        """An atomic operation; the old value. One thread runs a whole group, so shared ones are plain."""
        t = MEMORY[dtype.name]
        align = f"align {dtype.itemsize}"
        if op == "load":
            text = (
                f"load {t}, ptr {pointer}, {align}"
                if shared
                else f"load atomic {t}, ptr {pointer} monotonic, {align}"
            )
            return Value(self.w.ins(text), dtype)
        if op == "store":
            if shared:
                self.w.add(f"store {t} {args[0].text}, ptr {pointer}, {align}")
            else:
                self.w.add(f"store atomic {t} {args[0].text}, ptr {pointer} monotonic, {align}")
            return None
        if shared:
            return self._plain(op, pointer, dtype, args)
        if op == "compare_exchange":
            word = f"i{dtype.bits}"
            expected, desired = (self.bitcast(a, BY_NAME["u" + word[1:]]).text for a in args)
            pair = self.w.ins(
                f"cmpxchg ptr {pointer}, {word} {expected}, {word} {desired} monotonic monotonic, {align}"
            )
            old = Value(self.w.ins(f"extractvalue {{ {word}, i1 }} {pair}, 0"), BY_NAME["u" + word[1:]])
            return self.bitcast(old, dtype)
        name = self._rmw_name(op, dtype)
        text = self.w.ins(f"atomicrmw {name} ptr {pointer}, {t} {args[0].text} monotonic, {align}")
        return Value(text, dtype)

    def _rmw_name(self, op: str, dtype: DType) -> str:
        if op in ("min", "max"):
            return op if dtype.kind == "int" else "u" + op
        return ("f" if dtype.is_float and op in ("add", "sub") else "") + _RMW[op]

    def _plain(self, op: str, pointer: str, dtype: DType, args: list[Value]) -> Value:
        t, align = MEMORY[dtype.name], f"align {dtype.itemsize}"
        old = self.w.ins(f"load {t}, ptr {pointer}, {align}")
        a = args[0].text
        if op == "exchange":
            new = a
        elif op == "compare_exchange":
            x, y = (self.bitcast(v, BY_NAME[f"u{dtype.bits}"]).text for v in (Value(old, dtype), args[0]))
            same = self.w.ins(f"icmp eq i{dtype.bits} {x}, {y}")
            new = self.w.ins(f"select i1 {same}, {t} {args[1].text}, {t} {old}")
        elif op in _CHOICE:
            relation = _CHOICE[op] if dtype.kind == "int" else "u" + _CHOICE[op][1:]
            first = self.w.ins(f"icmp {relation} {t} {old}, {a}")
            new = self.w.ins(f"select i1 {first}, {t} {old}, {t} {a}")
        else:
            name = ("f" if dtype.is_float else "") + _RMW[op]
            new = self.w.ins(f"{name} {t} {old}, {a}")
        self.w.add(f"store {t} {new}, ptr {pointer}, {align}")
        return Value(old, dtype)

    def store_bytes(self, pointer: str, shift: Value, mask: int, value: Value) -> None:
        """Whole bytes within a little-endian word, by a store of their own that disturbs no neighbour."""
        dtype = BY_NAME["u8" if mask == 0xFF else "u16"]
        by = self.w.ins(f"lshr i32 {shift.text}, 3")
        at = self._element(pointer, BY_NAME["u8"], self.cast(Value(by, BY_NAME["u32"]), i64, raw=True).text)
        self.store_one(Place("one", at, dtype), self.cast(value, dtype, raw=True))
