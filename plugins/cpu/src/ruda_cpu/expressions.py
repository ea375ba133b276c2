"""Pure expressions: the same code for one unit and, element by element, for a strip of units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ruda_core.artifact import ParameterLayout, Slot
from ruda_core.dtypes import BY_NAME, DType, f32, f64, i32, i64, u32
from ruda_core.ir import nodes as ir
from ruda_core.ir.text import show_expr
from ruda_core.ir.verify import InvalidIR
from ruda_cpu.frame import Frame
from ruda_cpu.plan import Plan
from ruda_cpu.target import FLOAT_INTRINSICS, LIBRARY, WIDTH
from ruda_cpu.variance import Variance
from ruda_cpu.writer import MEMORY, REGISTER, Value, Writer, constant

_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_INTEGER = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_ORDERED = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}
_RELATION = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_CHOICES = {"min": "min", "fmin": "min", "max": "max", "fmax": "max"}
_BITS = {"popcount": "ctpop", "clz": "ctlz", "ctz": "cttz", "reverse_bits": "bitreverse"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A variable: where it is in memory until it is promoted to a register."""

    pointer: str
    wide: bool


class Expressions:
    """State of one function's rendering, and its expressions."""

    def __init__(self, function: ir.Function, layout: ParameterLayout, plan: Plan) -> None:
        self.function = function
        self.plan = plan
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
        self._rules: dict[type, Callable[[ir.Expr], Value]] = {
            ir.Const: lambda e: constant(e.type.scalar, e.value),  # type: ignore[attr-defined]
            ir.Ref: self._ref,  # type: ignore[dict-item]
            ir.Param: self._param,  # type: ignore[dict-item]
            ir.Builtin: self._builtin,  # type: ignore[dict-item]
            ir.Length: lambda e: self._slot("length", e.array.name, 0, e.type.scalar),  # type: ignore[attr-defined]
            ir.Offset: lambda e: self._slot("offset", e.array.name, 0, e.type.scalar),  # type: ignore[attr-defined]
            ir.Shape: lambda e: self._slot("shape", e.array.name, e.axis, e.type.scalar),  # type: ignore[attr-defined]
            ir.Stride: lambda e: self._slot("stride", e.array.name, e.axis, e.type.scalar),  # type: ignore[attr-defined]
            ir.Unary: self._unary,  # type: ignore[dict-item]
            ir.Binary: self._binary,  # type: ignore[dict-item]
            ir.Compare: self._compare,  # type: ignore[dict-item]
            ir.Logic: self._logic,  # type: ignore[dict-item]
            ir.Cast: lambda e: self.cast(self.expr(e.a), e.type.scalar, e.raw),  # type: ignore[attr-defined]
            ir.Bitcast: lambda e: self.bitcast(self.expr(e.a), e.type.scalar),  # type: ignore[attr-defined]
            ir.Select: self._select,  # type: ignore[dict-item]
            ir.Math: self._math,  # type: ignore[dict-item]
            ir.Fence: self._fence,  # type: ignore[dict-item]
        }

    def _float_flags(self) -> str:
        f = self.function
        if f.fp_fast:
            return "reassoc nsz arcp contract "
        return "contract " if f.fp_contract and not f.fp_exact else ""

    # Types and shapes --------------------------------------------------------------------------

    def type_of(self, dtype: DType, wide: bool, *, memory: bool = False) -> str:
        """LLVM's type of a value: a scalar, or a strip of them."""
        name = (MEMORY if memory else REGISTER)[dtype.name]
        return f"<{WIDTH} x {name}>" if wide else name

    def ty(self, value: Value) -> str:
        return self.type_of(value.dtype, value.wide)

    def splat(self, text: str, llvm_type: str) -> str:
        """A strip of one scalar."""
        one = self.w.ins(f"insertelement <{WIDTH} x {llvm_type}> poison, {llvm_type} {text}, i32 0")
        return self.w.ins(
            f"shufflevector <{WIDTH} x {llvm_type}> {one}, <{WIDTH} x {llvm_type}> poison, "
            f"<{WIDTH} x i32> zeroinitializer"
        )

    def widen(self, value: Value) -> Value:
        """The value for each unit of the strip."""
        if value.wide:
            return value
        name = REGISTER[value.dtype.name]
        if value.const:
            return Value(f"splat ({name} {value.text})", value.dtype, True, True)
        return Value(self.splat(value.text, name), value.dtype, True)

    def level(self, *values: Value) -> tuple[list[Value], bool]:
        """The values with one shape: wide when any is."""
        wide = any(v.wide for v in values)
        return ([self.widen(v) for v in values] if wide else list(values)), wide

    def suffix(self, dtype: DType, wide: bool) -> str:
        """The type in an intrinsic's name."""
        kind = {"float": "f32", "double": "f64"}.get(REGISTER[dtype.name], REGISTER[dtype.name])
        return f"v{WIDTH}{kind}" if wide else kind

    def intrinsic(
        self, name: str, dtype: DType, *args: Value, extra: tuple[tuple[str, str], ...] = ()
    ) -> Value:
        """A call of an overloaded intrinsic whose operands and result have one type."""
        values, wide = self.level(*args)
        t = self.type_of(dtype, wide)
        text = self.w.call(
            t, f"llvm.{name}.{self.suffix(dtype, wide)}", *((t, v.text) for v in values), *extra
        )
        return Value(text, dtype, wide)

    # Dispatch ----------------------------------------------------------------------------------

    def expr(self, e: ir.Expr) -> Value:
        """Code for an expression in the current frame."""
        rule = self._rules.get(type(e))
        if rule is None:
            raise self.invalid(e)
        return rule(e)

    def invalid(self, e: ir.Expr) -> InvalidIR:
        return InvalidIR(f"{self.function.name}: LLVM text has no {type(e).__name__}: {show_expr(e)}")

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

    def _param(self, e: ir.Param) -> Value:
        if e.hidden:
            return self._slot(e.hidden, "", 0, e.type.scalar)
        return self._slot("scalar", e.name, 0, e.type.scalar)

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

    def from_memory(self, text: str, dtype: DType, wide: bool) -> Value:
        if dtype.kind != "bool":
            return Value(text, dtype, wide)
        zero = "zeroinitializer" if wide else "0"
        return Value(
            self.w.ins(f"icmp ne {self.type_of(dtype, wide, memory=True)} {text}, {zero}"), dtype, wide
        )

    def to_memory(self, value: Value) -> str:
        if value.dtype.kind != "bool":
            return value.text
        return self.w.ins(
            f"zext {self.ty(value)} {value.text} to {self.type_of(value.dtype, value.wide, memory=True)}"
        )

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
        total = self._absolute(2, dtype)
        for lower in (1, 0):
            size = self.cast(Value(self.group_values[("size", lower)], i64), dtype, raw=True)
            (a, b), wide = self.level(total, size)
            scaled = Value(self.w.ins(f"mul {self.type_of(dtype, wide)} {a.text}, {b.text}"), dtype, wide)
            part = self._absolute(lower, dtype)
            (a, b), wide = self.level(scaled, part)
            total = Value(self.w.ins(f"add {self.type_of(dtype, wide)} {a.text}, {b.text}"), dtype, wide)
        return total

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

    def _logic(self, e: ir.Logic) -> Value:
        return self.logic(e.op, self.expr(e.a), self.expr(e.b))

    def logic(self, op: str, a: Value, b: Value) -> Value:
        """`and` or `or`; selects, so that the right side may be undefined where the left decides."""
        if op == "and":
            return self.select(a, b, constant(a.dtype, False))
        return self.select(a, constant(a.dtype, True), b)

    def _select(self, e: ir.Select) -> Value:
        return self.select(self.expr(e.cond), self.expr(e.a), self.expr(e.b))

    def select(self, cond: Value, a: Value, b: Value) -> Value:
        if cond.wide:
            a, b = self.widen(a), self.widen(b)
        else:
            (a, b), _ = self.level(a, b)
        t = self.ty(a)
        c = f"{self.ty(cond)} {cond.text}"
        return Value(self.w.ins(f"select {c}, {t} {a.text}, {t} {b.text}"), a.dtype, a.wide)

    def _fence(self, e: ir.Fence) -> Value:
        if isinstance(e.a, ir.Binary):
            return self._binary(e.a, flags="")  # algebra needs its leave on each operation
        return self.expr(e.a)

    # Conversions -------------------------------------------------------------------------------

    def bitcast(self, a: Value, to: DType) -> Value:
        old, new = REGISTER[a.dtype.name], REGISTER[to.name]
        if old == new:
            return a._replace(dtype=to)
        return Value(self.w.ins(f"bitcast {self.ty(a)} {a.text} to {self.type_of(to, a.wide)}"), to, a.wide)

    def cast(self, a: Value, to: DType, raw: bool) -> Value:
        """Conversion by value; without `raw`, float to integer saturates."""
        of = a.dtype
        if of == to:
            return a
        if of.is_float and of.bits == 16:
            return self.cast(self.from_half(a), to, raw)
        if to.is_float and to.bits == 16:
            return self.to_half(self.cast(a, f32, raw), to)
        t, u = self.ty(a), self.type_of(to, a.wide)
        zero = "zeroinitializer" if a.wide else ("0.0" if of.is_float else "0")
        if to.kind == "bool":
            op = f"fcmp une {t}" if of.is_float else f"icmp ne {t}"
            return Value(self.w.ins(f"{op} {a.text}, {zero}"), to, a.wide)
        signed = of.kind == "int"
        if not of.is_float and to.is_float:
            return Value(self.w.ins(f"{'s' if signed else 'u'}itofp {t} {a.text} to {u}"), to, a.wide)
        if of.is_float and to.is_float:
            op = "fpext" if to.bits > of.bits else "fptrunc"
            return Value(self.w.ins(f"{op} {t} {a.text} to {u}"), to, a.wide)
        if of.is_float:
            s = "s" if to.kind == "int" else "u"
            if raw:
                return Value(self.w.ins(f"fpto{s}i {t} {a.text} to {u}"), to, a.wide)
            name = f"llvm.fpto{s}i.sat.{self.suffix(to, a.wide)}.{self.suffix(of, a.wide)}"
            return Value(self.w.call(u, name, (t, a.text)), to, a.wide)
        if REGISTER[of.name] == REGISTER[to.name]:
            return a._replace(dtype=to)
        if of.bits > to.bits:
            return Value(self.w.ins(f"trunc {t} {a.text} to {u}"), to, a.wide)
        return Value(self.w.ins(f"{'sext' if signed else 'zext'} {t} {a.text} to {u}"), to, a.wide)

    def from_half(self, a: Value) -> Value:
        """f16 or bf16 bits as f32; exact."""
        if a.dtype.name == "f16":
            half = f"<{WIDTH} x half>" if a.wide else "half"
            h = self.w.ins(f"bitcast {self.ty(a)} {a.text} to {half}")
            return Value(self.w.ins(f"fpext {half} {h} to {self.type_of(f32, a.wide)}"), f32, a.wide)
        bits = self.cast(a._replace(dtype=BY_NAME["u16"]), u32, raw=True)
        return self.bitcast(self._word("shl", bits, 16), f32)

    def _word(self, op: str, a: Value, k: int) -> Value:
        (x, c), wide = self.level(a, constant(u32, k))
        return Value(self.w.ins(f"{op} {self.ty(x)} {x.text}, {c.text}"), u32, wide)

    def to_half(self, a: Value, to: DType) -> Value:
        """f32 rounded to nearest even to f16 or bf16 bits. bf16 by integers: the hardware's flushes subnormals."""
        u16 = BY_NAME["u16"]
        if to.name == "f16":
            half = f"<{WIDTH} x half>" if a.wide else "half"
            h = self.w.ins(f"fptrunc {self.ty(a)} {a.text} to {half}")
            t = self.type_of(u16, a.wide)
            return Value(self.w.ins(f"bitcast {half} {h} to {t}"), to, a.wide)
        bits = self.bitcast(a, u32)
        odd = self._word("and", self._word("lshr", bits, 16), 1)
        bias = self._word("add", odd, 0x7FFF)
        t = self.ty(bits)
        rounded = Value(self.w.ins(f"add {t} {bits.text}, {bias.text}"), u32, a.wide)
        nan = Value(self.w.ins(f"fcmp uno {self.ty(a)} {a.text}, {a.text}"), BY_NAME["bool"], a.wide)
        chosen = self.select(nan, self._word("or", bits, 0x400000), rounded)
        return self.cast(self._word("lshr", chosen, 16), u16, raw=True)._replace(dtype=to)

    # Functions ---------------------------------------------------------------------------------

    def _math(self, e: ir.Math) -> Value:
        args = [self.expr(a) for a in e.args]
        dtype = args[0].dtype
        if dtype.is_float and dtype.bits > 16:
            return self._float_function(e, args)
        if dtype.is_integer:
            return self._integer_function(e, args)
        raise self.invalid(e)

    def _float_function(self, e: ir.Math, args: list[Value]) -> Value:
        dtype = args[0].dtype
        if e.fn in FLOAT_INTRINSICS:
            return self.intrinsic(FLOAT_INTRINSICS[e.fn], dtype, *args)
        if e.fn in ("isnan", "isinf", "isfinite"):
            x = args[0] if e.fn == "isnan" else self.intrinsic("fabs", dtype, args[0])
            other = x if e.fn == "isnan" else constant(dtype, float("inf"))
            (x, other), wide = self.level(x, other)
            op = {"isnan": "uno", "isinf": "oeq", "isfinite": "olt"}[e.fn]
            text = self.w.ins(f"fcmp {op} {self.ty(x)} {x.text}, {other.text}")
            return Value(text, BY_NAME["bool"], wide)
        if dtype.name == "f64" and e.fn == "rsqrt":
            (one, root), wide = self.level(constant(dtype, 1.0), self.intrinsic("sqrt", dtype, args[0]))
            return Value(self.w.ins(f"fdiv {self.ty(root)} {one.text}, {root.text}"), dtype, wide)
        if dtype.name == "f64" and e.fn in LIBRARY:
            return self._library(LIBRARY[e.fn], args)
        raise self.invalid(e)

    def _library(self, name: str, args: list[Value]) -> Value:
        args, wide = self.level(*args)
        if not wide:
            return Value(self.w.call("double", name, *(("double", a.text) for a in args)), f64)
        result = "poison"
        for k in range(WIDTH):
            parts = [self.w.ins(f"extractelement {self.ty(a)} {a.text}, i32 {k}") for a in args]
            one = self.w.call("double", name, *(("double", p) for p in parts))
            result = self.w.ins(f"insertelement <{WIDTH} x double> {result}, double {one}, i32 {k}")
        return Value(result, f64, True)

    def _integer_function(self, e: ir.Math, args: list[Value]) -> Value:
        dtype = args[0].dtype
        if e.fn in _CHOICES:
            return self.intrinsic(f"{'s' if dtype.kind == 'int' else 'u'}{_CHOICES[e.fn]}", dtype, *args)
        if e.fn == "abs":
            if dtype.kind == "uint":
                return args[0]
            return self.intrinsic("abs", dtype, args[0], extra=(("i1", "false"),))
        if e.fn in _BITS:
            extra = (("i1", "false"),) if e.fn in ("clz", "ctz") else ()
            return self.intrinsic(_BITS[e.fn], dtype, args[0], extra=extra)
        if e.fn == "mulhi":
            (a, b), wide = self.level(*args)
            t = self.ty(a)
            name = f"i{dtype.bits * 2}"
            double = f"<{WIDTH} x {name}>" if wide else name
            ext = "sext" if dtype.kind == "int" else "zext"
            x, y = (self.w.ins(f"{ext} {t} {v.text} to {double}") for v in (a, b))
            p = self.w.ins(f"mul {double} {x}, {y}")
            amount = f"splat ({name} {dtype.bits})" if wide else str(dtype.bits)
            h = self.w.ins(f"lshr {double} {p}, {amount}")
            return Value(self.w.ins(f"trunc {double} {h} to {t}"), dtype, wide)
        raise self.invalid(e)


__all__ = ["Cell", "Expressions", "i32"]
