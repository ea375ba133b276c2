"""Constant folding, to the bit what run time gives, and algebra that holds for every value.

Values come from `values`. Not folded: functions whose result is not defined to the bit, undefined
`RAW` operations, NaN payloads through a bitcast, and min or max of zeros of both signs.
"""

from __future__ import annotations

import math
from typing import cast

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType, VecType, bool_
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import const, zero
from ruda_core.ir.rewrite import Rewriter, map_expr, operands
from ruda_core.passes import values
from ruda_core.passes.values import Value


def fold(function: ir.Function) -> ir.Function:
    """The function with constants folded, constant branches resolved and copies of symbols seen through."""
    return _Folder().run(function)


def fold_legal(function: ir.Function, target: Target) -> ir.Function:
    """The same after legalisation: no constant comes up that the target cannot write."""
    return _Folder(nonfinite=target.supports("nonfinite")).run(function)


def fold_expr(expr: ir.Expr) -> ir.Expr:
    """One expression, folded bottom-up."""
    return map_expr(expr, fold_node)


class _Folder(Rewriter):
    def __init__(self, *, nonfinite: bool = True) -> None:
        self.known: dict[ir.Symbol, ir.Expr] = {}
        self.nonfinite = nonfinite

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Ref):
            return self.known.get(expr.symbol, expr)
        folded = fold_node(expr)
        return folded if self.nonfinite or _writable(folded) else expr

    def stmt(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Let(value=ir.Const() as value):
                self.known[stmt.symbol] = value
            case ir.Let(value=ir.Ref() as value) if not value.symbol.mutable:
                self.known[stmt.symbol] = value
            case ir.If(cond=ir.Const() as cond):
                for inner in stmt.then if cond.value else stmt.orelse:
                    self.emit(inner)
                return
            case ir.Assert(cond=ir.Const(value=True)):
                return
            case ir.For(start=ir.Const() as start, stop=ir.Const() as stop, step=ir.Const() as step):
                first, last, by = int(start.value), int(stop.value), int(step.value)
                if by == 0 or not range(first, last, by):
                    return
        self.emit(stmt)


def fold_node(e: ir.Expr) -> ir.Expr:
    """The node, whose operands are folded already, or what it is known to be."""
    match e:
        case ir.Select(cond=ir.Const() as cond):
            return e.a if cond.value else e.b
        case ir.Component(a=ir.MakeVector() as vector):
            return vector.args[e.index if len(vector.args) > 1 else 0]
        case ir.Cast() if e.type == e.a.type:
            return e.a
        case ir.Bitcast():
            return _bitcast(e)
        case ir.Unary() | ir.Binary() | ir.Compare() | ir.Logic() | ir.Cast() | ir.Select() | ir.Math():
            folded = _constant(e)
            return _algebra(e) if folded is None else folded
    return e


def _writable(expr: ir.Expr) -> bool:
    """No infinity or NaN as a constant."""
    return not (isinstance(expr, ir.Const) and expr.type.is_float and not math.isfinite(expr.value))


def _components(e: ir.Expr, lanes: int) -> tuple[Value, ...] | None:
    """The constant components of an operand, a scalar repeated; None when it is not constant."""
    if isinstance(e, ir.Const):
        return (e.value,) * lanes
    if isinstance(e, ir.MakeVector) and all(isinstance(a, ir.Const) for a in e.args):
        found = tuple(cast(ir.Const, a).value for a in e.args)
        return found * lanes if len(found) == 1 else found
    return None


def _constant(e: ir.Expr) -> ir.Expr | None:
    lanes = e.type.lanes
    rows = []
    for operand in operands(e):
        found = _components(operand, lanes)
        if found is None:
            return None
        rows.append(found)
    try:
        results = [_apply(e, *row) for row in zip(*rows, strict=True)]
    except ArithmeticError:
        return None
    if None in results:
        return None
    parts = tuple(const(e.type.scalar, r, e.span) for r in results if r is not None)
    return ir.MakeVector(e.type, e.span, parts) if isinstance(e.type, VecType) else parts[0]


def _apply(e: ir.Expr, *v: Value) -> Value | None:
    match e:
        case ir.Unary():
            return values.unary(e.op, e.type.scalar, *v)
        case ir.Binary():
            return values.binary(e.op, e.type.scalar, *v)
        case ir.Compare():
            return values.compare(e.op, *v)
        case ir.Logic():
            return (v[0] and v[1]) if e.op == "and" else (v[0] or v[1])
        case ir.Cast():
            return values.cast(e.type.scalar, e.a.type.scalar, v[0], raw=e.raw)
        case ir.Select():
            return v[1] if v[0] else v[2]
        case ir.Math():
            return _math(e, v)
    return None


def _math(e: ir.Math, v: tuple[Value, ...]) -> Value | None:
    dtype = e.args[0].type.scalar
    if e.fn not in values.EXACT or (e.fn == "pow" and dtype.is_float):
        return None
    extreme = e.fn in ("min", "max", "fmin", "fmax")
    if extreme and v[0] == v[1] == 0 and math.copysign(1, v[0]) != math.copysign(1, v[1]):
        return None
    return values.EXACT[e.fn](dtype, *v)


def _bitcast(e: ir.Bitcast) -> ir.Expr:
    if e.type == e.a.type:
        return e.a
    if not (isinstance(e.a, ir.Const) and isinstance(e.type, DType) and isinstance(e.a.type, DType)):
        return e
    if e.a.value != e.a.value:
        return e
    value = values.from_bits(e.type, values.to_bits(e.a.type, e.a.value))
    return e if value != value else const(e.type, value, e.span)


def _is(e: ir.Expr, value: int) -> bool:
    return isinstance(e, ir.Const) and e.type is not bool_ and e.value == value


def _algebra(e: ir.Expr) -> ir.Expr:
    """Identities that hold for every value of every operand."""
    match e:
        case ir.Logic() if e.type is bool_:
            return _logic(e)
        case ir.Unary(op="not", a=ir.Unary(op="not") as inner):
            return inner.a
        case ir.Binary() if isinstance(e.type, DType) and e.type.is_integer:
            return _integer(e)
    return e


def _logic(e: ir.Logic) -> ir.Expr:
    for one, other in ((e.a, e.b), (e.b, e.a)):
        if isinstance(one, ir.Const):
            return other if bool(one.value) == (e.op == "and") else one
    return e


def _integer(e: ir.Binary) -> ir.Expr:
    a, b = e.a, e.b
    if e.op in ("+", "|", "^") and _is(a, 0):
        return b
    if e.op == "-" and _is(a, 0):
        return ir.Unary(e.type, e.span, "-", b)
    if e.op in ("+", "-", "|", "^", "<<", ">>", "shl", "shr") and _is(b, 0):
        return a
    if e.op == "*" and _is(a, 1):
        return b
    if e.op == "*" and e.type.scalar.is_signed and (_is(a, -1) or _is(b, -1)):
        return ir.Unary(e.type, e.span, "-", b if _is(a, -1) else a)
    if e.op in ("*", "//", "div_trunc", "quo") and _is(b, 1):
        return a
    if e.op in ("*", "&") and (_is(a, 0) or _is(b, 0)):
        return zero(e.type, e.span)
    if e.op in ("%", "rem_trunc", "rem") and _is(b, 1):
        return zero(e.type, e.span)
    return e
