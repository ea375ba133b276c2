"""Short constructors for passes: each gives a node whose type follows from its operands."""

from __future__ import annotations

from ruda_core.dtypes import DType, ValueType, VecType, bool_, vec
from ruda_core.ir import nodes as ir
from ruda_core.ir.span import Span


def const(dtype: DType, value: int | float | bool, span: Span | None = None) -> ir.Const:
    """`value` as a constant of `dtype`."""
    if dtype.is_float:
        value = float(value)
    elif dtype.kind == "bool":
        value = bool(value)
    return ir.Const(dtype, span, value)


def like(expr: ir.Expr, value: int | float | bool) -> ir.Expr:
    """`value` with the type of `expr`, for all components of a vector."""
    scalar = const(expr.type.scalar, value, expr.span)
    return scalar if isinstance(expr.type, DType) else ir.MakeVector(expr.type, expr.span, (scalar,))


def zero(value_type: ValueType, span: Span | None = None) -> ir.Expr:
    """Zero of a type."""
    scalar = const(value_type.scalar, 0, span)
    return scalar if isinstance(value_type, DType) else ir.MakeVector(value_type, span, (scalar,))


def ref(symbol: ir.Symbol, span: Span | None = None) -> ir.Ref:
    return ir.Ref(symbol.type, span, symbol)


def bool_like(value_type: ValueType) -> ValueType:
    """bool, or the bool vector of as many components."""
    return vec(bool_, value_type.lanes) if isinstance(value_type, VecType) else bool_


def with_scalar(value_type: ValueType, scalar: DType) -> ValueType:
    """The same number of components of another dtype."""
    return vec(scalar, value_type.lanes) if isinstance(value_type, VecType) else scalar


def unary(op: str, a: ir.Expr) -> ir.Expr:
    return ir.Unary(a.type, a.span, op, a)  # type: ignore[arg-type]  # op is one of Unary's own


def binary(op: str, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Binary(a.type, a.span or b.span, op, a, b)


def compare(op: str, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Compare(bool_like(a.type), a.span or b.span, op, a, b)


def both(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Logic(a.type, a.span or b.span, "and", a, b)


def either(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Logic(a.type, a.span or b.span, "or", a, b)


def negate(a: ir.Expr) -> ir.Expr:
    return ir.Unary(a.type, a.span, "not", a)


def all_of(checks: list[ir.Expr]) -> ir.Expr | None:
    """The conjunction, or None of none."""
    result: ir.Expr | None = None
    for check in checks:
        result = check if result is None else both(result, check)
    return result


def cast(scalar: DType, a: ir.Expr, *, raw: bool = False) -> ir.Expr:
    """`a` converted to `scalar` by value; itself when it has that dtype already."""
    if a.type.scalar is scalar:
        return a
    return ir.Cast(with_scalar(a.type, scalar), a.span, a, raw)


def bitcast(scalar: DType, a: ir.Expr) -> ir.Expr:
    return a if a.type.scalar is scalar else ir.Bitcast(with_scalar(a.type, scalar), a.span, a)


def select(cond: ir.Expr, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Select(a.type, cond.span, cond, a, b)


def math(fn: str, *args: ir.Expr) -> ir.Expr:
    return ir.Math(args[0].type, args[0].span, fn, args)


def component(a: ir.Expr, index: int) -> ir.Expr:
    return ir.Component(a.type.scalar, a.span, a, index)
