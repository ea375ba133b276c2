"""Arithmetic, comparisons and conditions: which dtypes they take, and the nodes they give."""

from __future__ import annotations

import ast
from typing import NoReturn

from ruda_core.dtypes import VecType, bf16, bool_, f16, f32, i32
from ruda_core.frontend.constants import COMPARE, UNARY, Unfit, calculate
from ruda_core.frontend.context import Context, choose, suggestion
from ruda_core.frontend.values import (
    INDEX,
    WFLOAT,
    WINT,
    Choice,
    Key,
    Number,
    Static,
    Type,
    Typed,
    Value,
    Weak,
    is_number,
    join,
    show,
    type_of,
)
from ruda_core.ir import build
from ruda_core.ir import nodes as ir

BITWISE = frozenset({"&", "|", "^"})
Nodes = tuple[ast.AST, ast.AST]


def binary(low: Context, op: str, a: Value, b: Value, node: ast.AST, sides: Nodes) -> Value:
    """`a op b`; `sides` are the operands' nodes, for errors."""
    if isinstance(a, Static) and isinstance(b, Static):
        return static_binary(low, op, a, b, node)
    left, right = low.as_number(a, sides[0]), low.as_number(b, sides[1])
    if not isinstance(left, Typed) and not isinstance(right, Typed):
        return _choices(low, op, left, right, node)
    if op in ("<<", ">>"):
        return _shift(low, op, left, right, node)
    if op == "**":
        return power(low, left, right, node, sides)
    flags = _with_flag(low, op, left, right, node)
    if flags is not None:
        return flags
    return typed_binary(low, op, left, right, node, sides)


def static_binary(low: Context, op: str, a: Static, b: Static, node: ast.AST) -> Static:
    """Python's own arithmetic."""
    try:
        return Static(calculate(op, a.value, b.value))
    except Unfit as reason:
        low.refuse(f"this cannot be computed at compile time: {reason}", node)


def _choices(low: Context, op: str, a: Static | Choice, b: Static | Choice, node: ast.AST) -> Static | Choice:
    """Arithmetic on choices between literals stays a choice."""
    if isinstance(a, Choice):
        return Choice(a.cond, _choices(low, op, a.a, b, node), _choices(low, op, a.b, b, node))
    if isinstance(b, Choice):
        return Choice(b.cond, _choices(low, op, a, b.a, node), _choices(low, op, a, b.b, node))
    return static_binary(low, op, a, b, node)


def _with_flag(low: Context, op: str, a: Number, b: Number, node: ast.AST) -> Value | None:
    """Arithmetic with a bool where no dtype says what it counts as."""
    flag_a, flag_b = _is_flag(a), _is_flag(b)
    if not (flag_a or flag_b):
        return None
    if flag_a and flag_b or op in BITWISE and _is_literal_flag(b if flag_a else a):
        if op in BITWISE:
            return None
        low.refuse(
            f"{op!r} on two bools has no dtype: write i32(...) around them, or use & | ^",
            node,
        )
    other = b if flag_a else a
    if isinstance(other, Typed):
        return None
    return _choices(
        low, op, counted(a) if isinstance(a, Typed) else a, counted(b) if isinstance(b, Typed) else b, node
    )


def _is_flag(value: Number) -> bool:
    return isinstance(value, Typed) and value.type is bool_


def _is_literal_flag(value: Number) -> bool:
    return isinstance(value, Static) and isinstance(value.value, bool)


def counted(flag: Typed) -> Choice:
    """A bool as 1 or 0 without a dtype."""
    return Choice(flag.expr, Static(1), Static(0))


def meet(
    low: Context, op: str, a: Number, b: Number, node: ast.AST, sides: Nodes
) -> tuple[ir.Expr, ir.Expr, Typed]:
    """Both operands in the type in which they meet, and that type with the locals it hangs on."""
    common = join(type_of(a), type_of(b))
    if common is None:
        refuse_mix(low, op, a, b, node, sides)
    common = decided(common, a, b)
    left = low.coerce(a, common, sides[0], "the other operand")
    right = low.coerce(b, common, sides[1], "the other operand")
    return left, right, Typed(left, common, origins(common, a, b))


def origins(common: Type, *values: Number) -> tuple[Key, ...]:
    """The locals that a still weak type hangs on."""
    if not isinstance(common, Weak):
        return ()
    return tuple(dict.fromkeys(o for v in values if isinstance(v, Typed) for o in v.origins))


def decided(common: Type, *values: Number) -> Type:
    """A type that no local will decide is decided now: i32, f32 or bool."""
    if isinstance(common, Weak) and not origins(common, *values):
        return common.default
    return common


def refuse_mix(low: Context, op: str, a: Number, b: Number, node: ast.AST, sides: Nodes) -> NoReturn:
    """Raise the error of two dtypes that do not mix, with the cast that would help."""
    ta, tb = type_of(a), type_of(b)
    weak = ta if isinstance(ta, Weak) else tb if isinstance(tb, Weak) else None
    if weak is WFLOAT:
        typed = tb if weak is ta else ta
        side = sides[1] if weak is ta else sides[0]
        low.refuse(
            f"{op!r} of a float literal and {typed!r}: a float literal does not become {typed!r}: "
            f"write {suggestion(f32, side)}",
            node,
            low.since(*sides),
        )
    if isinstance(ta, VecType) and isinstance(tb, VecType) and ta.lanes != tb.lanes:
        low.refuse(f"{ta!r} and {tb!r} have different lengths", node)
    cast_b = ta.is_float and not tb.is_float or ta.is_float == tb.is_float and ta is not INDEX
    target, side = (ta, sides[1]) if cast_b else (tb, sides[0])
    message = f"{ta!r} and {tb!r} do not mix in {op!r}: write {suggestion(target, side)}"
    low.refuse(message, node, low.since(*sides))


def typed_binary(low: Context, op: str, a: Number, b: Number, node: ast.AST, sides: Nodes) -> Typed:
    """An operator on operands of which one has a dtype."""
    left, right, common = meet(low, op, a, b, node, sides)
    _check_operator(low, op, common.type, node)
    return Typed(ir.Binary(left.type, low.span(node), op, left, right), common.type, common.origins)


def _check_operator(low: Context, op: str, common: Type, node: ast.AST) -> None:
    open_int = common is WINT  # it may still become a float
    if op == "/" and not common.is_float and not open_int:
        low.refuse(f"'/' on {common!r}: use // for whole numbers, or cast: f32(...) / f32(...)", node)
    if op in BITWISE and common.is_float:
        low.refuse(
            f"{op!r} on {common!r}: it takes integers or bool; ruda.bitcast gives a float's bits", node
        )
    if common.scalar is bool_ and op not in BITWISE:
        low.refuse(f"{op!r} on {common!r}: cast first, as in i32(...)", node)


def _shift(low: Context, op: str, a: Number, b: Number, node: ast.AST) -> Value:
    if _is_flag(a) and _is_flag(b):
        low.refuse(f"{op!r} on two bools has no dtype: write i32(...) around the left one", node)
    if _is_flag(a) and not isinstance(b, Typed):
        return _choices(low, op, counted(_as_typed(a)), b, node)
    if _is_flag(b) and not isinstance(a, Typed):
        return _choices(low, op, a, counted(_as_typed(b)), node)
    known = type_of(b) if not isinstance(a, Typed) or a.type is bool_ else a.type
    for value in (a, b):
        if type_of(value).is_float:
            low.refuse(f"{op!r} on {type_of(value)!r}: shifts take integers", node)
    left = low.coerce(a, known, node, "the shifted value")
    amount = _amount(low, b, known, node)
    return Typed(
        ir.Binary(left.type, low.span(node), op, left, amount),
        known,
        origins(known, a, b) if known is WINT else (),
    )


def _as_typed(value: Number) -> Typed:
    assert isinstance(value, Typed)
    return value


def _amount(low: Context, b: Number, known: Type, node: ast.AST) -> ir.Expr:
    """A shift's amount: any integer dtype, as many components as the shifted value."""
    if not isinstance(b, Typed):
        # an amount is no value of the shifted dtype: 300 is a fine amount for u8
        return _broadcast(low, low.coerce(b, i32, node, "a shift's amount"), known)
    if b.type is bool_:
        return low.coerce(b, known, node, "a shift's amount")
    if isinstance(b.type, VecType) and b.type.lanes != known.lanes:
        low.refuse(f"{known!r} cannot be shifted by {b.type!r}", node)
    return _broadcast(low, b.expr, known)


def _broadcast(low: Context, expr: ir.Expr, known: Type) -> ir.Expr:
    if isinstance(known, VecType) and not isinstance(expr.type, VecType):
        return ir.MakeVector(build.with_scalar(known, expr.type), expr.span, (expr,))
    return expr


def power(low: Context, a: Number, b: Number, node: ast.AST, sides: Nodes) -> Value:
    """`a ** b`: the exponent of an integer or float base may be of any integer dtype."""
    ta, tb = type_of(a), type_of(b)
    if _is_flag(a) or _is_flag(b):
        low.refuse("'**' on bool: cast first, as in i32(...)", node)
    if isinstance(a, Typed) and isinstance(b, Static) and b.value == 2 and not isinstance(ta, Weak):
        base = low.repeatable(a.expr)
        return Typed(ir.Binary(base.type, low.span(node), "*", base, base), ta)
    mixed = tb.is_integer and not isinstance(ta, Weak) and not isinstance(tb, VecType)
    if mixed and ta.is_integer:
        exponent = low.typed(b, node).expr
        if isinstance(b, Typed) and isinstance(tb, Weak):
            low.inference.meet(b.origins, ta)
        base = low.coerce(a, ta, node, "the base")
        return Typed(ir.Math(base.type, low.span(node), "pow", (base, _broadcast(low, exponent, ta))), ta)
    if mixed and isinstance(b, Typed) and not isinstance(tb, Weak):
        return _float_power(low, _as_typed(a), b, node)
    left, right, common = meet(low, "**", a, b, node, sides)
    return Typed(ir.Math(left.type, low.span(node), "pow", (left, right)), common.type, common.origins)


def _float_power(low: Context, a: Typed, b: Typed, node: ast.AST) -> Typed:
    """A float to an integer's power; narrow floats do not hold every exponent, so f32 computes it."""
    wide = f32 if a.type.scalar in (f16, bf16) else a.expr.type.scalar
    base, exponent = build.cast(wide, a.expr), build.cast(wide, b.expr)
    result = ir.Math(base.type, low.span(node), "pow", (base, _broadcast(low, exponent, base.type)))
    return Typed(build.cast(a.expr.type.scalar, result), a.type)


def unary(low: Context, op: str, a: Value, node: ast.AST, side: ast.AST) -> Value:
    """`-a`, `+a`, `~a`, `not a`."""
    if op == "not":
        if isinstance(a, Static):
            return Static(not a.value)
        cond = low.truth(a, side)
        return Typed(ir.Unary(bool_, low.span(node), "not", cond), bool_)
    if isinstance(a, Static) and is_number(a.value):
        if op == "~" and isinstance(a.value, bool):
            return Static(not a.value)
        try:
            return Static(UNARY[op](a.value))
        except TypeError:
            low.refuse(f"{op!r} on {show(a)}: it takes integers or bool", node)
    value = low.as_number(a, side)
    if isinstance(value, Choice):
        x, y = unary(low, op, value.a, node, side), unary(low, op, value.b, node, side)
        assert isinstance(x, (Static, Choice)) and isinstance(y, (Static, Choice))
        return Choice(value.cond, x, y)
    typed = low.typed(value, node)
    if op == "~" and typed.type.is_float:
        low.refuse(f"'~' on {typed.type!r}: it takes integers or bool", node)
    if op != "~" and typed.type.scalar is bool_:
        low.refuse(f"{op!r} on {typed.type!r}: cast first, as in i32(...)", node)
    if op == "+":
        return typed
    return Typed(ir.Unary(typed.expr.type, low.span(node), op, typed.expr), typed.type, typed.origins)  # type: ignore[arg-type]  # "-" or "~"


# Comparisons --------------------------------------------------------------------------------------


def compare(low: Context, op: str, a: Value, b: Value, node: ast.AST, sides: Nodes) -> Value:
    """One comparison; integers of two dtypes compare by value."""
    if isinstance(a, Static) and isinstance(b, Static):
        try:
            return Static(COMPARE[op](_as_dtype(a.value), _as_dtype(b.value)))
        except TypeError as error:
            low.refuse(f"this cannot be compared at compile time: {error}", node)
    if op not in ir.COMPARISONS:
        low.refuse(f"{op!r} compares compile-time values only: write comparisons joined by or", node)
    left, right = low.as_number(a, sides[0]), low.as_number(b, sides[1])
    if not isinstance(left, Typed) and not isinstance(right, Typed):
        return Typed(_compare_choices(low, op, left, right, node), bool_)
    ta, tb = type_of(left), type_of(right)
    if isinstance(left, Typed) and isinstance(right, Typed) and _both_integers(ta, tb):
        x, y = _broadcast(low, left.expr, tb), _broadcast(low, right.expr, ta)
    else:
        x, y, common = _meet_counting(low, op, left, right, node, sides)
        if common.type is bool_ and op not in ("==", "!="):
            x, y = build.cast(i32, x), build.cast(i32, y)  # False comes before True
    expr = ir.Compare(build.bool_like(x.type), low.span(node), op, x, y)
    return Typed(expr, expr.type)


def _as_dtype(value: object) -> object:
    """Python's bool is the dtype when dtypes are compared; in tuples too."""
    if value is bool:
        return bool_
    return tuple(_as_dtype(item) for item in value) if type(value) is tuple else value


def _both_integers(a: Type, b: Type) -> bool:
    if isinstance(a, Weak) or isinstance(b, Weak) or {a, b} == {INDEX, i32}:
        return False
    same_lanes = a.lanes == b.lanes or not (isinstance(a, VecType) and isinstance(b, VecType))
    return a.is_integer and b.is_integer and same_lanes


def _meet_counting(
    low: Context, op: str, a: Number, b: Number, node: ast.AST, sides: Nodes
) -> tuple[ir.Expr, ir.Expr, Typed]:
    """As `meet`; a bool beside a number literal counts as 0 or 1."""
    for flag, other in ((a, b), (b, a)):
        if _is_flag(flag) and not isinstance(other, Typed) and not _is_literal_flag(other):
            kind = type_of(other)
            known = kind.default if isinstance(kind, Weak) else kind
            x, y = low.coerce(a, known, node, "this"), low.coerce(b, known, node, "this")
            return x, y, Typed(x, known)
    return meet(low, op, a, b, node, sides)


def _compare_choices(low: Context, op: str, a: Static | Choice, b: Static | Choice, node: ast.AST) -> ir.Expr:
    if isinstance(a, Choice):
        return choose(
            a.cond, _compare_choices(low, op, a.a, b, node), _compare_choices(low, op, a.b, b, node)
        )
    if isinstance(b, Choice):
        return choose(
            b.cond, _compare_choices(low, op, a, b.a, node), _compare_choices(low, op, a, b.b, node)
        )
    return ir.Const(bool_, low.span(node), bool(COMPARE[op](a.value, b.value)))
