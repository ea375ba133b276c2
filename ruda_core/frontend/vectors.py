"""Vectors: construction, components, sums."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ruda_core.dtypes import VecType, bool_
from ruda_core.frontend.context import Context
from ruda_core.frontend.values import Static, Typed, Value, show
from ruda_core.ir import build
from ruda_core.ir import nodes as ir

LETTERS = "xyzw"


def construct(low: Context, wanted: VecType, args: Sequence[Value], node: ast.Call) -> Value:
    """`Vec[f32, 4](a, b, c, d)`, one scalar for all, or another vector of as many components."""
    span = low.span(node)
    if len(args) == 1 and isinstance(args[0], Typed) and isinstance(args[0].type, VecType):
        if args[0].type.lanes != wanted.lanes:
            low.refuse(
                f"{args[0].type!r} has {args[0].type.lanes} components, {wanted!r} takes {wanted.lanes}", node
            )
        return Typed(build.cast(wanted.scalar, args[0].expr), wanted)
    if len(args) not in (1, wanted.lanes):
        low.refuse(f"{wanted!r} takes {wanted.lanes} components, or one for all; {len(args)} are given", node)
    sides = list(node.args) if len(node.args) == len(args) else [node] * len(args)
    parts = tuple(
        low.coerce(low.as_number(arg, side), wanted.scalar, side, f"a component of {wanted!r}")
        for arg, side in zip(args, sides, strict=True)
    )
    return Typed(ir.MakeVector(wanted, span, parts), wanted)


def component(low: Context, vector: Typed, letter: str, node: ast.AST) -> Typed:
    """`v.x` and its kin."""
    lanes = vector.type.lanes
    at = LETTERS.find(letter) if len(letter) == 1 else -1
    if letter == "sum":
        low.refuse("sum is called: write v.sum()", node)
    if not 0 <= at < lanes:
        allowed = ", ".join(LETTERS[:lanes])
        low.refuse(f"{vector.type!r} has no component {letter!r}; it has {allowed} and [i]", node)
    return part(low, vector, at, node)


def part(low: Context, vector: Typed, at: int, node: ast.AST) -> Typed:
    """One component by number; of a vector just made, the component itself."""
    scalar = vector.expr.type.scalar
    expr = vector.expr
    if isinstance(expr, ir.MakeVector) and len(expr.args) > 1:
        return Typed(expr.args[at], scalar)
    return Typed(ir.Component(scalar, low.span(node), expr, at), scalar)


def pick(low: Context, vector: Typed, index: Value, node: ast.AST) -> Typed:
    """`v[i]`; a run-time `i` out of range gives zero."""
    lanes = vector.type.lanes
    if isinstance(index, Static):
        if not isinstance(index.value, int) or not 0 <= index.value < lanes:
            low.refuse(f"{vector.type!r} has components 0 to {lanes - 1}, not {index.value!r}", node)
        return part(low, vector, int(index.value), node)
    number = low.typed(low.as_number(index, node), node)
    if not number.type.is_integer:
        low.refuse(f"a component's number is an integer, not {show(index)}", node)
    span = low.span(node)
    whole = low.repeatable(vector.expr)
    at = low.repeatable(number.expr)
    scalar = whole.type.scalar
    result: ir.Expr = build.zero(scalar, span)
    for lane in range(lanes):
        hit = ir.Compare(bool_, span, "==", at, build.const(at.type.scalar, lane, span))
        result = ir.Select(scalar, span, hit, ir.Component(scalar, span, whole, lane), result)
    return Typed(result, scalar)


def total(low: Context, vector: Typed, node: ast.AST) -> Typed:
    """`v.sum()`: components added from the first to the last."""
    if vector.type.scalar is bool_:
        low.refuse("a sum of bools has no dtype: cast first, as in i32(v).sum()", node)
    whole = Typed(low.repeatable(vector.expr), vector.type)
    result = part(low, whole, 0, node).expr
    for lane in range(1, vector.type.lanes):
        result = ir.Binary(result.type, low.span(node), "+", result, part(low, whole, lane, node).expr)
    return Typed(result, result.type)


def dot(low: Context, a: Value, b: Value, node: ast.Call) -> Typed:
    """`ruda.dot(a, b)`: the sum of the products, from the first to the last."""
    for value in (a, b):
        if not (isinstance(value, Typed) and isinstance(value.type, VecType)):
            low.refuse(f"dot takes two vectors, not {show(value)}", node)
    assert isinstance(a, Typed) and isinstance(b, Typed)
    if a.type != b.type:
        low.refuse(f"{a.type!r} and {b.type!r} do not mix in dot", node)
    if a.type.scalar is bool_:
        low.refuse("dot takes vectors of numbers, not of bool", node)
    product = ir.Binary(a.expr.type, low.span(node), "*", a.expr, b.expr)
    return total(low, Typed(product, a.type), node)
