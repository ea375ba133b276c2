"""Conversions by value, from the target's plain conversions, selects and integer code.

Afterwards each `Cast` is raw, or narrows f32 to a 16-bit float that the target has no arithmetic for:
those are rounded by `narrow`, which must run later. Float to integer saturates exactly and gives 0 for
NaN; integers and f64 reach 16-bit floats with one rounding; bool is `!= 0`.

Runs after `math`, `integers` and `vectors`; `floats` may come before or after.
"""

from __future__ import annotations

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType, bool_, f32, f64, i32, u32, unsigned
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter
from ruda_core.passes.software.convert import is_nan, odd_f32, odd_from_unsigned
from ruda_core.passes.software.expr import Scope, Value


def casts(function: ir.Function, target: Target) -> ir.Function:
    """The function with conversions that `target` does as they are written."""
    return _Casts(target).run(function)


class _Casts(Rewriter):
    def __init__(self, target: Target) -> None:
        self.target = target

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if not isinstance(expr, ir.Cast) or expr.raw:
            return expr
        to, of = expr.type.scalar, expr.a.type.scalar
        native = self.target.arithmetic
        if self.target.supports("saturating_cast") and {to.name, of.name} <= native:
            return expr
        scope = Scope(expr.span)
        return scope.into(self, _convert(scope.value(expr.a), to, native))


def _convert(x: Value, to: DType, native: frozenset[str]) -> Value:
    of = x.dtype
    if of is to:
        return x
    if of.is_float and of.bits == 16 and to is not f32:
        x = x.to(f32)  # exact
        of = f32
    if to is bool_:
        return _truth(x)
    if of is bool_:
        return x.where(x.scope.const(_as(x, to), 1), 0)
    if not of.is_float and not to.is_float:
        return x.to(to)
    if not of.is_float:
        return _from_integer(x, to, native)
    if not to.is_float:
        return _to_integer(x, to)
    return _to_float(x, to, native)


def _as(x: Value, to: DType) -> ir.ValueType:
    from ruda_core.ir.build import with_scalar

    return with_scalar(x.type, to)


def _truth(x: Value) -> Value:
    """`x != 0`; NaN is True whatever the target makes of comparisons with it."""
    if not x.dtype.is_float:
        return x.ne(0)
    word = unsigned(x.dtype)
    return (x.bits(word) & word.max >> 1).ne(0)


def _from_integer(x: Value, to: DType, native: frozenset[str]) -> Value:
    if to in (f32, f64):
        wide = x.to(i32 if x.dtype.kind == "int" else u32) if x.dtype.bits < 32 else x
        return wide.to(to)
    # f16 overflows before f32 rounds, so one rounding decides; bf16 needs the bits that f32 would round.
    if to.name == "f16" or x.dtype.bits < 32:
        return _to_float(_from_integer(x, f32, native), to, native)
    if x.dtype.kind == "uint":
        return _to_float(odd_from_unsigned(x), to, native)
    word = unsigned(x.dtype)
    negative = x < 0
    magnitude = odd_from_unsigned(negative.where(-x, x).to(word))
    return _to_float(negative.where(-magnitude, magnitude), to, native)


def _to_integer(x: Value, to: DType) -> Value:
    """Truncated, saturated exactly, 0 for NaN; x is f32 or f64."""
    if to.bits < 32:
        wide = _to_integer(x, i32 if to.kind == "int" else u32)
        high = (wide > to.max).where(to.max, wide)
        return (high < to.min).where(to.min, high).to(to) if to.kind == "int" else high.to(to)
    y = is_nan(x).where(0, x)
    above = y >= float(to.max + 1)
    exact_below = x.dtype is f64 and to.bits == 32  # f64 has a value between MIN - 1 and MIN
    below = y <= float(to.min - 1) if exact_below else y < float(to.min)
    inside = (above | below).where(0, y).to(to)
    return above.where(to.max, below.where(to.min, inside))


def _to_float(x: Value, to: DType, native: frozenset[str]) -> Value:
    if to in (f32, f64):
        return x.to(to)
    if to.name in native and x.dtype is f32:
        return x.to(to)
    narrow = odd_f32(x) if x.dtype is f64 else x
    return narrow.to(to) if to.name in native else narrow.convert(to)


__all__ = ["casts"]
