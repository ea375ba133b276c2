"""Casts that are written out: `f32(x)`, `int(x)`, `ruda.index(x)`, `ruda.bitcast(u32, x)`."""

from __future__ import annotations

import ast
from typing import Any

from ruda_core.dtypes import DType, VecType, bool_, f32, i32
from ruda_core.frontend.constants import Unfit, convert
from ruda_core.frontend.context import Context
from ruda_core.frontend.memory import whole
from ruda_core.frontend.values import (
    INDEX,
    Choice,
    IndexType,
    Number,
    Static,
    Typed,
    Value,
    Weak,
    show,
    with_lanes,
)
from ruda_core.ir import build
from ruda_core.ir import nodes as ir

FLEXIBLE = (int, float, bool)
"""Python's own: they keep an integer's or a float's width."""


def cast(low: Context, wanted: Any, value: Number, node: ast.AST) -> Value:
    """`wanted(value)`; of compile-time numbers, Python's own casts give compile-time numbers."""
    if wanted in FLEXIBLE:
        return _flexible(low, wanted, value, node)
    if isinstance(wanted, IndexType):
        return _to_index(low, value, node)
    if not isinstance(value, Typed):
        return Typed(_constant(low, value, wanted, node), wanted)
    target = with_lanes(value.type, wanted)
    expr = value.expr
    if wanted is bool_ and not isinstance(target, VecType):
        return Typed(low.truth(value, node), bool_)
    if expr.type == target:
        return Typed(expr, target)
    return Typed(ir.Cast(target, low.span(node), expr), target)


def _constant(low: Context, value: Static | Choice, wanted: DType, node: ast.AST) -> ir.Expr:
    if isinstance(value, Choice):
        a, b = _constant(low, value.a, wanted, node), _constant(low, value.b, wanted, node)
        return ir.Select(wanted, low.span(node), value.cond, a, b)
    try:
        return ir.Const(wanted, low.span(node), convert(value.value, wanted))
    except Unfit as misfit:
        low.refuse(str(misfit), node)


def _flexible(low: Context, wanted: Any, value: Number, node: ast.AST) -> Value:
    if isinstance(value, Static):
        try:
            return Static(wanted(value.value))
        except (ValueError, OverflowError) as error:
            low.refuse(f"this cannot be computed at compile time: {error}", node)
    if isinstance(value, Choice):
        a, b = _flexible(low, wanted, value.a, node), _flexible(low, wanted, value.b, node)
        if isinstance(a, (Static, Choice)) and isinstance(b, (Static, Choice)):
            return Choice(value.cond, a, b)
        low.refuse(f"{show(value)} cannot be cast", node)
    if wanted is bool:
        return cast(low, bool_, value, node)
    kept = value.type.is_integer if wanted is int else value.type.is_float
    return value if kept else cast(low, i32 if wanted is int else f32, value, node)


def _to_index(low: Context, value: Number, node: ast.AST) -> Value:
    if not isinstance(value, Typed):
        known = value.value if isinstance(value, Static) else None
        if isinstance(known, float):
            return Typed(_constant(low, Static(known), low.index, node), INDEX)
        return Typed(low.coerce(value, INDEX, node, "an index"), INDEX)
    if value.type is INDEX:
        return value
    if isinstance(value.type, VecType):
        low.refuse(f"an index is a scalar, not {value.type!r}", node)
    if value.expr.type.is_integer:
        return Typed(whole(low, value.expr, False, signed=True), INDEX)
    return Typed(build.cast(low.index, value.expr), INDEX)


def bitcast(low: Context, wanted: Value, value: Number, node: ast.Call) -> Typed:
    """`ruda.bitcast(dtype, x)`: the same bits."""
    target = wanted.value if isinstance(wanted, Static) else None
    if not isinstance(target, (DType, VecType)) or target.scalar is bool_:
        low.refuse(f"ruda.bitcast takes a dtype first, not {show(wanted)}: ruda.bitcast(u32, x)", node)
    typed = low.typed(value, node.args[-1])
    expr = typed.expr
    if typed.type is INDEX:
        expr = build.cast(i32, expr)
    if expr.type.scalar is bool_:
        low.refuse("the bits of a bool: cast it instead, as in u32(x)", node)
    if isinstance(target, DType):
        target = with_lanes(typed.type, target)
    if target.itemsize != expr.type.itemsize and not isinstance(typed.type, Weak):
        low.refuse(
            f"{target!r} has {target.itemsize * 8} bits, but {typed.type!r} has {expr.type.itemsize * 8}: bitcast "
            f"keeps the width",
            node,
        )
    if isinstance(target, VecType) and target.lanes != expr.type.lanes:
        low.refuse(f"{expr.type!r} and {target!r} have different lengths: bitcast works by component", node)
    return Typed(expr if expr.type == target else ir.Bitcast(target, low.span(node), expr), target)


def text_to_float(low: Context, text: str, node: ast.AST) -> Static:
    """`float("inf")` and its kin."""
    try:
        return Static(float(text))
    except ValueError as error:
        low.refuse(str(error), node)
