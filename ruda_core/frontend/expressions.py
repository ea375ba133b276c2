"""Expressions: one visit for each kind of node."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from ruda_core.dtypes import Vec, VecType, bool_, vec
from ruda_core.frontend import hints
from ruda_core.frontend import locals as names
from ruda_core.frontend.context import Context, Visitor, choose
from ruda_core.frontend.memory import element
from ruda_core.frontend.operators import binary, compare, counted, decided, origins, refuse_mix, unary
from ruda_core.frontend.values import (
    ArrayValue,
    Choice,
    Namespace,
    Number,
    Static,
    TupleValue,
    Typed,
    Value,
    is_number,
    join,
    show,
    type_of,
)
from ruda_core.frontend.vectors import component
from ruda_core.ir import nodes as ir

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
}
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


Side = tuple[list[ir.Stmt], Value]
"""A value, and the statements that it takes."""
Late = Callable[[], Side]
Word = Literal["and", "or"]


def constant(low: Context, node: ast.Constant) -> Value:
    return Static(node.value)


def tuple_(low: Context, node: ast.Tuple) -> Value:
    items = [low.expr(item) for item in node.elts]
    return make_tuple(items)


def make_tuple(items: Sequence[Value]) -> Value:
    """A compile-time tuple when all items are."""
    if all(isinstance(item, Static) for item in items):
        return Static(tuple(item.value for item in items if isinstance(item, Static)))
    return TupleValue(tuple(items))


def attribute(low: Context, node: ast.Attribute) -> Value:
    base = low.expr(node.value)
    match base:
        case Namespace():
            return names.attribute_of(low, base, node.attr, node)
        case ArrayValue():
            return _array_attribute(low, base, node)
        case Typed(type=VecType()):
            return component(low, base, node.attr, node)
        case Static(value=value) if not is_number(value) or hasattr(value, "name"):
            return names.attribute_of(low, base, node.attr, node)
    axis = hints.axis_of(ast.unparse(node.value), node.attr)
    low.refuse(f"{show(base)} has no attribute {node.attr!r}{axis}", node)


def _array_attribute(low: Context, base: ArrayValue, node: ast.Attribute) -> Value:
    array = base.array
    if node.attr == "rank" and not base.flat:
        return Static(array.axes)
    if node.attr == "flat" and not base.flat:
        return ArrayValue(array, True)
    if node.attr == "dtype":
        return Static(array.dtype)
    if node.attr in ("shape", "stride"):
        low.refuse(f"{node.attr} is called with an axis: write {ast.unparse(node)}(0)", node)
    advice = _NUMPY_ATTRIBUTES.get(node.attr, "").format(ast.unparse(node.value))
    low.refuse(f"the array {array.name!r} has no attribute {node.attr!r}{advice}", node)


_NUMPY_ATTRIBUTES = {
    "size": ": write len({0})",
    "ndim": ": write {0}.rank",
    "strides": ": write {0}.stride(0)",
    "T": ": exchange the indices, or pass a view, tensor.T",
    "itemsize": ": dtypes are compared, as in {0}.dtype == f32",
    "sum": ": write a loop that adds",
    "min": ": write a loop with min",
    "max": ": write a loop with max",
    "copy": ": write a loop over its elements",
    "astype": ": cast each element, as in f32({0}[i])",
}
"""What stands in kernels for attributes that NumPy's arrays have."""


def subscript(low: Context, node: ast.Subscript) -> Value:
    base = low.expr(node.value)
    if isinstance(base, Static) and base.value is Vec:
        return _vector_type(low, node)
    return element(low, base, node)


def _vector_type(low: Context, node: ast.Subscript) -> Value:
    item = low.expr(node.slice)
    try:
        if isinstance(item, Static) and isinstance(item.value, tuple):
            scalar, lanes = item.value
            return Static(vec(bool_ if scalar is bool else scalar, lanes))
    except (TypeError, ValueError) as error:
        low.refuse(str(error), node)
    low.refuse("Vec takes a dtype and a compile-time length: Vec[f32, 4]", node)


def bin_op(low: Context, node: ast.BinOp) -> Value:
    a = low.expr(node.left)
    b = low.expr(node.right)
    return apply(low, node.op, a, b, node, node.left, node.right)


def apply(
    low: Context, op: ast.operator, a: Value, b: Value, node: ast.AST, left: ast.AST, right: ast.AST
) -> Value:
    """The operator of a binary or augmented operation on values."""
    symbol = BINARY[type(op)]
    if symbol == "@":
        low.refuse("'@' is not in the kernel language: write the loop, or ruda.dot for two vectors", node)
    return binary(low, symbol, a, b, node, (left, right))


def unary_op(low: Context, node: ast.UnaryOp) -> Value:
    return unary(low, UNARY[type(node.op)], low.expr(node.operand), node, node.operand)


def comparison(low: Context, node: ast.Compare) -> Value:
    """`a < b < c`: each operand once, and none after the first comparison that fails."""
    left = low.expr(node.left)
    return _chain(low, left, node, 0)


def _chain(low: Context, left: Value, node: ast.Compare, at: int) -> Value:
    """The comparisons from the `at`-th on, given the value to their left."""
    side = node.left if at == 0 else node.comparators[at - 1]
    right = low.expr(node.comparators[at])
    last = at == len(node.ops) - 1
    if not last:
        right = low.stable(right)
    first = compare(low, COMPARE[type(node.ops[at])], left, right, node, (side, node.comparators[at]))
    if last:
        return first

    def rest() -> Side:
        with low.nested() as statements:
            value = _chain(low, right, node, at + 1)
        return statements, value

    return _logic(low, "and", first, rest, node)


def bool_op(low: Context, node: ast.BoolOp) -> Value:
    word: Word = "and" if isinstance(node.op, ast.And) else "or"
    result = low.expr(node.values[0])
    for side in node.values[1:]:
        result = _logic(low, word, result, partial(low.aside, side), node)
    if isinstance(result, Static):
        return Static(bool(result.value))
    return Typed(low.truth(result, node), bool_)


def _logic(low: Context, word: Word, left: Value, right: Late, node: ast.AST) -> Value:
    """`left and right`; `right()` is lowered apart and runs only where the left side does not decide."""
    if isinstance(left, Static):
        if bool(left.value) == (word == "or"):
            return Static(bool(left.value))
        statements, value = right()
        low.out.extend(statements)
        return value
    cond = low.truth(left, node)
    statements, value = right()
    span = low.span(node)
    if not statements:
        return Typed(_both(low, word, cond, value, node), bool_)
    cond = low.repeatable(cond, "c")
    result = ir.Symbol(word, bool_, True)
    evaluated = (*statements, ir.Assign(span, result, low.truth(value, node)))
    decided = (ir.Assign(span, result, ir.Const(bool_, span, word == "or")),)
    then, orelse = (evaluated, decided) if word == "and" else (decided, evaluated)
    low.emit(ir.If(span, cond, then, orelse))
    # what the left side proves stays visible beside the result
    return Typed(ir.Logic(bool_, span, word, cond, ir.Ref(bool_, span, result)), bool_)


def _both(low: Context, word: Word, cond: ir.Expr, value: Value, node: ast.AST) -> ir.Expr:
    other = low.truth(value, node)
    if isinstance(other, ir.Const) and bool(other.value) == (word == "and"):
        return cond
    return ir.Logic(bool_, low.span(node), word, cond, other)


def conditional(low: Context, node: ast.IfExp) -> Value:
    """`a if c else b`: only the taken side is evaluated."""
    test = low.expr(node.test)
    if isinstance(test, Static):
        return low.expr(node.body if test.value else node.orelse)
    cond = low.truth(test, node.test)
    then, a = low.aside(node.body)
    orelse, b = low.aside(node.orelse)
    return _either(low, cond, (then, a), (orelse, b), node)


def _either(low: Context, cond: ir.Expr, then: Side, orelse: Side, node: ast.IfExp) -> Value:
    pairs = _pairs(low, then[1], orelse[1], node)
    if len(pairs) != 1:
        cond = low.repeatable(cond, "c")
    if not then[0] and not orelse[0]:
        results: list[Value] = [_select(low, cond, a, b, node) for a, b in pairs]
    else:
        results = [_merge(low, a, b, node, then[0], orelse[0]) for a, b in pairs]
        low.emit(ir.If(low.span(node), cond, tuple(then[0]), tuple(orelse[0])))
    return results[0] if items_of(then[1]) is None else make_tuple(results)


def _pairs(low: Context, a: Value, b: Value, node: ast.IfExp) -> list[tuple[Number, Number]]:
    """The scalars of both sides, one by one for tuples."""
    left, right = items_of(a), items_of(b)
    if left is None and right is None:
        return [(low.as_number(a, node.body), low.as_number(b, node.orelse))]
    if left is None or right is None or len(left) != len(right):
        low.refuse(f"one side is {show(a)}, the other {show(b)}", node)
    return [
        (low.as_number(x, node.body), low.as_number(y, node.orelse)) for x, y in zip(left, right, strict=True)
    ]


def items_of(value: Value) -> tuple[Value, ...] | None:
    """The items of a tuple, or None for anything else."""
    if isinstance(value, TupleValue):
        return value.items
    if isinstance(value, Static) and isinstance(value.value, tuple):
        return tuple(Static(item) for item in value.value)
    return None


def _select(low: Context, cond: ir.Expr, a: Number, b: Number, node: ast.IfExp) -> Value:
    if not isinstance(a, Typed) and not isinstance(b, Typed):
        return Choice(cond, a, b)
    common = join(type_of(a), type_of(b))
    flag = _counted_side(a, b)
    if flag is not None:
        return Choice(cond, *flag)
    if common is None:
        refuse_mix(low, "if … else", a, b, node, (node.body, node.orelse))
    x = low.coerce(a, common, node.body, "the other side")
    y = low.coerce(b, common, node.orelse, "the other side")
    if common is bool_:
        return Typed(choose(cond, x, y), bool_)
    return Typed(ir.Select(x.type, low.span(node), cond, x, y), common, origins(common, a, b))


def _counted_side(a: Number, b: Number) -> tuple[Static | Choice, Static | Choice] | None:
    """Both sides as choices, where a bool stands beside a number literal."""
    for flag, other in ((a, b), (b, a)):
        if isinstance(flag, Typed) and flag.type is bool_ and not isinstance(other, Typed):
            if isinstance(other, Static) and isinstance(other.value, bool):
                return None
            sides = counted(flag), other
            return sides if flag is a else (sides[1], sides[0])
    return None


def _merge(
    low: Context, a: Number, b: Number, node: ast.IfExp, then: list[ir.Stmt], orelse: list[ir.Stmt]
) -> Typed:
    """A variable that each side assigns."""
    common = join(type_of(a), type_of(b))
    if common is None:
        refuse_mix(low, "if … else", a, b, node, (node.body, node.orelse))
    common = decided(common, a, b)
    span = low.span(node)
    symbol = ir.Symbol("either", low.ir_type(common), True)
    for side, value, statements in ((node.body, a, then), (node.orelse, b, orelse)):
        statements.append(ir.Assign(span, symbol, low.coerce(value, common, side, "the other side")))
    return Typed(ir.Ref(symbol.type, span, symbol), low.read_type(common), origins(common, a, b))


EXPRESSIONS: dict[type, Visitor] = {
    ast.Constant: constant,
    ast.Tuple: tuple_,
    ast.List: tuple_,
    ast.Name: names.name,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.BinOp: bin_op,
    ast.UnaryOp: unary_op,
    ast.Compare: comparison,
    ast.BoolOp: bool_op,
    ast.IfExp: conditional,
}
