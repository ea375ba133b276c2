"""Operands and what any of them can undergo: shapes, selection, conversion, memory form."""

from __future__ import annotations

from ruda_core.dtypes import BY_NAME, DType, f32, u32
from ruda_cpu.render.writer import MEMORY, REGISTER, Value, Writer, constant
from ruda_cpu.target import WIDTH


class Operands:
    """Code for values of one unit and, element by element, for those of a strip."""

    w: Writer

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

    # Selection ---------------------------------------------------------------------------------

    def logic(self, op: str, a: Value, b: Value) -> Value:
        """`and` or `or`; selects, so that the right side may be undefined where the left decides."""
        if op == "and":
            return self.select(a, b, constant(a.dtype, False))
        return self.select(a, constant(a.dtype, True), b)

    def select(self, cond: Value, a: Value, b: Value) -> Value:
        if cond.wide:
            a, b = self.widen(a), self.widen(b)
        else:
            (a, b), _ = self.level(a, b)
        t = self.ty(a)
        c = f"{self.ty(cond)} {cond.text}"
        return Value(self.w.ins(f"select {c}, {t} {a.text}, {t} {b.text}"), a.dtype, a.wide)

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
