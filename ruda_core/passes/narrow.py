"""Values of dtypes without arithmetic, in registers of a wider dtype.

i8 and i16 live in i32, u8 and u16 in u32, wrapped to their width after each operation that may leave it;
f16 and bf16 live in f32, rounded after each operation. bool stays bool. Arrays keep their dtypes: where
a target can store a dtype that it cannot compute with, its dialect converts as it loads and stores.

Runs after `integers`, `casts`, `floats`, `math`, `vectors` and `storage` (which packs what cannot be
stored); before `checks`. Raises UnsupportedFeature for 64-bit dtypes that the target lacks, which have
no emulation.
"""

from __future__ import annotations

from dataclasses import replace

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType, ValueType, bool_, f32, i32, u32, vec
from ruda_core.errors import UnsupportedFeature
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter, map_operands
from ruda_core.ir.span import Span, error_at
from ruda_core.passes.software.convert import FROM_BITS, ROUND, TO_BITS
from ruda_core.passes.software.expr import Scope, Value

_WIDE = {"i8": i32, "i16": i32, "u8": u32, "u16": u32, "f16": f32, "bf16": f32}
_WRAPPING = frozenset({"+", "-", "*", "shl"})  # a quotient in range stays in it
_EXACT_FUNCTIONS = frozenset("floor ceil trunc round copysign sign abs min max fmin fmax".split())


def narrow(function: ir.Function, target: Target) -> ir.Function:
    """The function with every value of a dtype that `target` computes with."""
    return _Narrow(target).run(function)


class _Narrow(Rewriter):
    def __init__(self, target: Target) -> None:
        self.target = target
        self.symbols: dict[ir.Symbol, ir.Symbol] = {}

    def wide(self, dtype: DType, span: Span | None) -> DType:
        if dtype.name in self.target.arithmetic or dtype is bool_:
            return dtype
        found = _WIDE.get(dtype.name)
        if found is None or found.name not in self.target.arithmetic:
            message = f"this device computes with no {dtype.name}: use a narrower dtype, or another device"
            raise error_at(UnsupportedFeature, message, span)
        return found

    def type_of(self, value_type: ValueType, span: Span | None) -> ValueType:
        scalar = self.wide(value_type.scalar, span)
        return scalar if isinstance(value_type, DType) else vec(scalar, value_type.lanes)

    def symbol(self, symbol: ir.Symbol, span: Span | None) -> ir.Symbol:
        known = self.symbols.get(symbol)
        if known is None:
            wide = self.type_of(symbol.type, span)
            known = symbol if wide == symbol.type else ir.Symbol(symbol.name, wide, symbol.mutable)
            self.symbols[symbol] = known
        return known

    def run(self, function: ir.Function) -> ir.Function:
        self.arrays = {a: self.array(a) for a in function.arrays}
        new = super().run(function)
        return replace(new, arrays=tuple(self.arrays[a] for a in new.arrays))

    def array(self, array: ir.Array) -> ir.Array:
        """Local and constant arrays hold what registers hold."""
        if array.space not in ("local", "constant") or array.dtype.scalar.name not in _WIDE:
            return array
        return replace(array, dtype=self.type_of(array.dtype, None))

    def stmt(self, stmt: ir.Stmt) -> None:
        array = getattr(stmt, "array", None)
        if array is not None and self.arrays[array] is not array:
            stmt = replace(stmt, array=self.arrays[array])  # type: ignore[call-arg]  # accesses have it
        symbol = getattr(stmt, "symbol", None)
        if isinstance(stmt, ir.Subgroup) and stmt.op.endswith(("sum", "prod")):
            self.subgroup(stmt)
            return
        if symbol is not None:
            new = self.symbol(symbol, stmt.span)
            if new is not symbol:
                stmt = replace(stmt, symbol=new)  # type: ignore[call-arg]  # statements that bind have it
        self.emit(stmt)

    def subgroup(self, stmt: ir.Subgroup) -> None:
        """A sum or product over units, whose wide result may not fit."""
        symbol = self.symbol(stmt.symbol, stmt.span)
        if symbol is stmt.symbol:
            self.emit(stmt)
            return
        wide = ir.Symbol("wide", symbol.type)
        self.emit(replace(stmt, symbol=wide))
        scope = Scope(stmt.span)
        fitted = self.fit(scope.value(b.ref(wide, stmt.span)), stmt.symbol.type.scalar)
        self.emit(ir.Let(stmt.span, symbol, scope.into(self, fitted)))

    def rewrite(self, expr: ir.Expr) -> ir.Expr:
        """Like `map_expr`, but each node is rewritten with its operands' original dtypes at hand."""
        scalar = expr.type.scalar
        wide = self.type_of(expr.type, expr.span)
        match expr:
            case ir.Const():
                return expr if wide == expr.type else replace(expr, type=wide)
            case ir.Ref():
                symbol = self.symbol(expr.symbol, expr.span)
                return expr if symbol is expr.symbol else b.ref(symbol, expr.span)
            case ir.Cast():
                return self.cast(expr, self.rewrite(expr.a))
            case ir.Bitcast():
                return self.bitcast(expr, self.rewrite(expr.a))
        new = map_operands(expr, self.rewrite)
        if wide == expr.type:
            return new  # type: ignore[no-any-return]  # the node's own class
        new = replace(new, type=wide)
        if not self.leaves_range(expr):
            return new  # type: ignore[no-any-return]  # the node's own class
        scope = Scope(expr.span)
        return scope.into(self, self.fit(scope.value(new), scalar))

    def leaves_range(self, expr: ir.Expr) -> bool:
        """Whether the wide operation may give what the narrow dtype lacks."""
        if isinstance(expr, ir.Unary):
            return not expr.type.is_float and not (expr.op == "~" and expr.type.kind == "int")
        if isinstance(expr, ir.Binary):
            return expr.op in _WRAPPING or expr.type.is_float
        return isinstance(expr, ir.Math) and expr.fn not in _EXACT_FUNCTIONS

    def fit(self, x: Value, dtype: DType) -> Value:
        """A wide value as the narrow dtype's: wrapped, or rounded."""
        if dtype.is_float:
            return ROUND[dtype](x)
        if dtype.kind == "uint":
            return x & dtype.max
        return (x << 32 - dtype.bits) >> 32 - dtype.bits

    def cast(self, expr: ir.Cast, a: ir.Expr) -> ir.Expr:
        to, of = expr.type.scalar, expr.a.type.scalar
        wide = self.wide(to, expr.span)
        if wide is to and a.type == expr.a.type:
            return expr if a is expr.a else replace(expr, a=a)
        scope = Scope(expr.span)
        x = scope.value(a)
        moved = x if x.dtype is wide else x.to(wide)
        if wide is to:
            return scope.into(self, moved)
        if to.is_float:
            # A raw cast says that the value is on the grid already.
            return scope.into(self, moved if expr.raw else self.fit(moved, to))
        return scope.into(self, moved if _fits(of, to) else self.fit(moved, to))

    def bitcast(self, expr: ir.Bitcast, a: ir.Expr) -> ir.Expr:
        to, of = expr.type.scalar, expr.a.type.scalar
        wide = self.wide(to, expr.span)
        if wide is to and a.type == expr.a.type:
            return expr if a is expr.a else replace(expr, a=a)
        scope = Scope(expr.span)
        x = scope.value(a)
        if of.is_float:
            x = TO_BITS[of](x) if of in TO_BITS else x.bits(u32)
        x = x.to(u32) & ((1 << of.bits) - 1)
        if to.is_float:
            return scope.into(self, FROM_BITS[to](x))
        return scope.into(self, x.to(to) if wide is to else self.fit(x.to(wide), to))


def _fits(of: DType, to: DType) -> bool:
    """Every value of `of` is one of `to`."""
    return not of.is_float and to.min <= of.min and of.max <= to.max


__all__ = ["narrow"]
