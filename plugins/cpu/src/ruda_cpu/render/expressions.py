"""Pure expressions: the same code for one unit and, element by element, for a strip of units."""

from __future__ import annotations

from dataclasses import dataclass

from ruda_core.artifact import ParameterLayout, Slot
from ruda_core.dtypes import BY_NAME, DType, f64, i64
from ruda_core.ir import nodes as ir
from ruda_core.ir.verify import InvalidIR
from ruda_cpu.analysis.plan import Plan
from ruda_cpu.analysis.positions import Positions
from ruda_cpu.analysis.variance import Variance
from ruda_cpu.render.frame import Frame
from ruda_cpu.render.functions import Functions
from ruda_cpu.render.writer import MEMORY, REGISTER, Value, Writer, constant

_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_INTEGER = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_ORDERED = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}
_RELATION = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A variable: where it is in memory until it is promoted to a register."""

    pointer: str
    wide: bool


class Expressions(Functions):
    """State of one function's rendering, and its expressions."""

    def __init__(self, function: ir.Function, layout: ParameterLayout, plan: Plan) -> None:
        self.function = function
        self.plan = plan
        self.positions = Positions(function, plan.lets)
        self.w = Writer()
        self.frame: Frame
        self.env: dict[ir.Symbol, Value] = {}
        self.cells: dict[ir.Symbol, Cell] = {}
        self.kept: dict[ir.Symbol, str] = {}
        """Arrays with one element a unit, of symbols that live across regions."""
        self.strip: Variance | None = None
        """Over the strip, while one is rendered."""
        self.group_values: dict[tuple[str, int | None], str] = {}
        """i64 names of `workgroup_pos` by axis and linear, and of `workgroup_count` by axis."""
        self._slots = {
            (s.kind, s.name, s.axis): (s, at) for s, at in zip(layout.slots, layout.offsets, strict=True)
        }
        self._slot_values: dict[Slot, Value] = {}
        self._flags = self._float_flags()

    def _float_flags(self) -> str:
        f = self.function
        if f.fp_fast:
            return "reassoc nsz arcp contract "
        return "contract " if f.fp_contract and not f.fp_exact else ""

    # Dispatch ----------------------------------------------------------------------------------

    def expr(self, e: ir.Expr) -> Value:
        """Code for an expression in the current frame."""
        match e:
            case ir.Const():
                return constant(e.type.scalar, e.value)
            case ir.Ref():
                return self._ref(e)
            case ir.Param():
                kind, name = (e.hidden, "") if e.hidden else ("scalar", e.name)
                return self._slot(kind, name, 0, e.type.scalar)
            case ir.Builtin():
                return self._builtin(e)
            case ir.Length() | ir.Offset():
                return self._slot(type(e).__name__.lower(), e.array.name, 0, e.type.scalar)
            case ir.Shape() | ir.Stride():
                return self._slot(type(e).__name__.lower(), e.array.name, e.axis, e.type.scalar)
            case ir.Unary():
                return self._unary(e)
            case ir.Binary():
                return self._position(e) or self._binary(e)
            case ir.Compare():
                return self._compare(e)
            case ir.Logic():
                return self.logic(e.op, self.expr(e.a), self.expr(e.b))
            case ir.Cast():
                return self.cast(self.expr(e.a), e.type.scalar, e.raw)
            case ir.Bitcast():
                return self.bitcast(self.expr(e.a), e.type.scalar)
            case ir.Select():
                return self.select(self.expr(e.cond), self.expr(e.a), self.expr(e.b))
            case ir.Math():
                return self.math(e, [self.expr(a) for a in e.args])
            case ir.Fence():
                return self._fence(e)
        raise self.invalid(e)

    # Leaves ------------------------------------------------------------------------------------

    def _slot(self, kind: str, name: str, axis: int, dtype: DType) -> Value:
        slot, at = self._slots[(kind, name, axis)]  # type: ignore[index]  # kinds are the layout's own
        if slot not in self._slot_values:
            with self.w.into(self.w.entry):
                own = BY_NAME[slot.dtype]
                where = self.w.ins(f"getelementptr inbounds i8, ptr %params, i64 {at}")
                text = self.w.ins(f"load {REGISTER[own.name]}, ptr {where}, align {own.itemsize}")
            self._slot_values[slot] = Value(text, own)
        value = self._slot_values[slot]
        if value.dtype == dtype:
            return value
        with self.w.into(self.w.entry):
            return self.cast(value, dtype, raw=True)

    def _ref(self, e: ir.Ref) -> Value:
        symbol = e.symbol
        if self.frame.kind == "first":
            made = self._for_first(symbol)
            if made is not None:
                return made
        cell = self.cells.get(symbol)
        if cell is not None:
            t = self.type_of(symbol.type.scalar, cell.wide)
            return Value(self.w.ins(f"load {t}, ptr {cell.pointer}"), symbol.type.scalar, cell.wide)
        value = self.env.get(symbol)
        if value is not None:
            return value
        if symbol in self.kept:
            return self.load_kept(symbol)
        if symbol in self.plan.lets:
            return self.expr(self.plan.lets[symbol])
        raise InvalidIR(f"{self.function.name}: {symbol.name} has no value here")

    def _for_first(self, symbol: ir.Symbol) -> Value | None:
        """The symbol's value for the first unit of a row or strip; None: it is the same for all of them."""
        made = self.frame.made
        if symbol in made:
            return made[symbol]
        steady = symbol in self.plan.group or self.strip is not None and symbol not in self.strip.symbols
        if steady:
            return None
        made[symbol] = self.expr(self.plan.lets[symbol])
        return made[symbol]

    def load_kept(self, symbol: ir.Symbol) -> Value:
        """A symbol's value in the array that keeps it across regions, for the frame's unit or strip."""
        dtype = symbol.type.scalar
        wide = self.frame.kind == "strip"
        t = self.type_of(dtype, wide, memory=True)
        p = self.kept_at(symbol)
        return self.from_memory(
            self.w.ins(f"load {t}, ptr {p}, align {dtype.itemsize}{self.tag()}"), dtype, wide
        )

    def kept_at(self, symbol: ir.Symbol) -> str:
        name = MEMORY[symbol.type.scalar.name]
        return self.w.ins(
            f"getelementptr inbounds {name}, ptr {self.kept[symbol]}, i64 {self.frame.linear64}"
        )

    def tag(self) -> str:
        """Metadata for an access that is independent of the loop's other turns."""
        return f", !llvm.access.group {self.frame.group}" if self.frame.group else ""

    def _builtin(self, e: ir.Builtin) -> Value:
        dtype = e.type.scalar
        frame = self.frame
        if e.name == "unit_pos":
            value = frame.linear if e.axis is None else frame.units[e.axis]
            return self.cast(value, dtype, raw=True)
        if e.name == "absolute_pos":
            return self._absolute(e.axis, dtype)
        name = e.name.removeprefix("native_")
        if name not in ("workgroup_pos", "workgroup_count"):
            raise self.invalid(e)
        if name == "workgroup_count" and e.axis is None:
            parts = [self.group_values[(name, axis)] for axis in range(3)]
            product = self.w.ins(f"mul i64 {parts[0]}, {parts[1]}")
            text = self.w.ins(f"mul i64 {product}, {parts[2]}")
        else:
            text = self.group_values[(name, e.axis)]
        return self.cast(Value(text, i64), dtype, raw=True)

    def _absolute(self, axis: int | None, dtype: DType) -> Value:
        """Positions in the launch do not wrap: a launch of more units than the index type counts is refused."""
        if axis is not None:
            start = self.group_values[("workgroup_start", axis)]
            base = self.cast(Value(start, i64), dtype, raw=True)
            unit = self.cast(self.frame.units[axis], dtype, raw=True)
            (base, unit), wide = self.level(base, unit)
            return Value(
                self.w.ins(f"add nuw nsw {self.type_of(dtype, wide)} {base.text}, {unit.text}"), dtype, wide
            )
        if self.function.dim[1] == self.function.dim[2] == 1:
            return self._in_line(dtype)
        total = self._absolute(2, dtype)
        for lower in (1, 0):
            size = self.cast(Value(self.group_values[("size", lower)], i64), dtype, raw=True)
            (a, b), wide = self.level(total, size)
            scaled = Value(self.w.ins(f"mul {self.type_of(dtype, wide)} {a.text}, {b.text}"), dtype, wide)
            part = self._absolute(lower, dtype)
            (a, b), wide = self.level(scaled, part)
            total = Value(self.w.ins(f"add {self.type_of(dtype, wide)} {a.text}, {b.text}"), dtype, wide)
        return total

    def _in_line(self, dtype: DType) -> Value:
        """The linear position of a unit whose group is a line of units."""
        start = self.w.ins(f"mul nuw nsw i64 %wg, {self.function.dim[0]}")
        base, unit = Value(start, i64), self.frame.units[0]
        (a, b), wide = self.level(self.cast(base, dtype, raw=True), self.cast(unit, dtype, raw=True))
        return Value(self.w.ins(f"add nuw nsw {self.type_of(dtype, wide)} {a.text}, {b.text}"), dtype, wide)

    def _position(self, e: ir.Binary) -> Value | None:
        """A linear position that is spelled out."""
        kind = self.positions.linear(e)
        if kind is None:
            return None
        dtype = e.type.scalar
        return self._in_line(dtype) if kind == "unit" else self.cast(Value("%wg", i64), dtype, raw=True)

    # Operators ---------------------------------------------------------------------------------

    def _unary(self, e: ir.Unary) -> Value:
        a = self.expr(e.a)
        t = self.ty(a)
        if e.op == "-":
            if a.dtype.is_float:
                return Value(self.w.ins(f"fneg {t} {a.text}"), a.dtype, a.wide)
            return Value(
                self.w.ins(f"sub {t} {'zeroinitializer' if a.wide else '0'}, {a.text}"), a.dtype, a.wide
            )
        ones = "true" if a.dtype.kind == "bool" else "-1"
        mask = f"splat ({REGISTER[a.dtype.name]} {ones})" if a.wide else ones
        return Value(self.w.ins(f"xor {t} {a.text}, {mask}"), a.dtype, a.wide)

    def _binary(self, e: ir.Binary, flags: str | None = None) -> Value:
        a, b = self.expr(e.a), self.expr(e.b)
        if e.op in ("shl", "shr"):
            b = self.cast(b, a.dtype, raw=True)
        (a, b), wide = self.level(a, b)
        dtype = a.dtype
        t = self.type_of(dtype, wide)
        if dtype.is_float and dtype.bits > 16 and e.op in _FLOAT:
            flags = self._flags if flags is None else flags
            return Value(self.w.ins(f"{_FLOAT[e.op]} {flags}{t} {a.text}, {b.text}"), dtype, wide)
        if not dtype.is_float and e.op in _INTEGER:
            return Value(self.w.ins(f"{_INTEGER[e.op]} {t} {a.text}, {b.text}"), dtype, wide)
        if e.op == "shl":
            return Value(self.w.ins(f"shl {t} {a.text}, {b.text}"), dtype, wide)
        if e.op == "shr":
            return Value(
                self.w.ins(f"{'ashr' if dtype.kind == 'int' else 'lshr'} {t} {a.text}, {b.text}"), dtype, wide
            )
        if dtype.is_integer and e.op in ("quo", "rem"):
            return self._divide(e.op, a, b)
        raise self.invalid(e)

    def _divide(self, op: str, a: Value, b: Value) -> Value:
        """Truncating division. Of 32 bits and less by f64: exact, and it vectorises where integer division does not."""
        s = "s" if a.dtype.kind == "int" else "u"
        t = self.ty(a)
        if b.const or a.dtype.bits > 32 or self.frame.kind == "group":
            return Value(
                self.w.ins(f"{s}{'div' if op == 'quo' else 'rem'} {t} {a.text}, {b.text}"), a.dtype, a.wide
            )
        real = self.type_of(f64, a.wide)
        x = self.w.ins(f"{s}itofp {t} {a.text} to {real}")
        y = self.w.ins(f"{s}itofp {t} {b.text} to {real}")
        z = self.w.ins(f"fdiv {real} {x}, {y}")
        q = self.w.ins(f"fpto{s}i {real} {z} to {t}")
        if op == "rem":
            p = self.w.ins(f"mul {t} {q}, {b.text}")
            q = self.w.ins(f"sub {t} {a.text}, {p}")
        return Value(q, a.dtype, a.wide)

    def _compare(self, e: ir.Compare) -> Value:
        (a, b), wide = self.level(self.expr(e.a), self.expr(e.b))
        bool_ = BY_NAME["bool"]
        if a.dtype.is_float:
            return Value(self.w.ins(f"fcmp {_ORDERED[e.op]} {self.ty(a)} {a.text}, {b.text}"), bool_, wide)
        if e.op in _RELATION:
            op = ("s" if a.dtype.kind == "int" else "u") + _RELATION[e.op]
        else:
            op = "eq" if e.op == "==" else "ne"
        return Value(self.w.ins(f"icmp {op} {self.ty(a)} {a.text}, {b.text}"), bool_, wide)

    def _fence(self, e: ir.Fence) -> Value:
        if isinstance(e.a, ir.Binary):
            return self._binary(e.a, flags="")  # algebra needs its leave on each operation
        return self.expr(e.a)
