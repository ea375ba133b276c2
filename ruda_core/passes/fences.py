"""Values hidden from compilers that would do algebra with them, and get it wrong.

Where the target's compiler reassociates, or takes it that nothing is NaN or infinite, it must see no float
operation that it could simplify, unless the kernel gives leave by `fp_fast`. So every result of `+ - * /` and
of square roots is fenced, and every operand is hidden: a variable is, once what it was given is fenced; so is a
parameter, and a constant by which nothing gets simpler. The right side of `-` and `/`, which may turn out to be
the same value as the left, gets a fence of another kind; for `/` also a constant, whose reciprocal is not exact.
The sides of choices and comparisons are hidden too, and floats made of bits or asked for theirs: where one is found to be infinite or
NaN, such a compiler takes it that the place is never reached, and drops what is around it. A comparison that is
negated is hidden, since it would be turned into its opposite, which is wrong of NaN. Zeros to choose are hidden, since
NVIDIA's assembler (CUDA 13) gives a choice between -1 and -0 a positive zero.
A product that a kernel lets be fused into the sum around it needs no fence of its own.

Some integers are hidden too, on the same targets. Those widened to i64: Mesa's compiler (seen in 22.3) recognises
them, and compares them wrongly with constants. What is compared as i64: NVIDIA's compiler for Vulkan (580) has twice a
float's i64 on the wrong side of a constant. Divisors: that compiler takes `2 >> n` for a power of two whatever n is,
and shifts instead of dividing. And the 1 that a counter which began below zero stops at: that compiler
makes one round too few of it, whether the loop is a `For` or was written with a condition.

Parameters are hidden where the compiler follows conditions back to them: Mesa's software device (seen in 22.3)
does, along every path, whose number doubles with each step that uses a value twice.

Where the compiler may only contract, and the kernel forbids that but the target has no control for it,
products are fenced.

Runs after every pass that makes float arithmetic; only `fold_legal` and `dead_code` follow.
"""

from __future__ import annotations

from dataclasses import replace

from ruda_core.capabilities import Target
from ruda_core.dtypes import i64
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter

_STOPS = {"<": 1, "<=": 0, ">=": 1, ">": 0}
_MIRRORED_STOPS = {">": 1, ">=": 0, "<=": 1, "<": 0}
"""How a loop's condition can say that it ends at 1, with the counter on the left and on the right."""
_ALL = frozenset({"+", "-", "*", "/"})


def fences(function: ir.Function, target: Target) -> ir.Function:
    """The function with fences where `target` needs them."""
    if target.follows_parameters:
        function = _Parameters().run(function)
    if target.reassociates:
        function = _Integers().run(function)
        return function if function.fp_fast else _Hiding(fuses=function.fp_contract).run(function)
    if not function.fp_contract and not target.contract_control:
        return _Products().run(function)
    return function


class _Parameters(Rewriter):
    def expr(self, expr: ir.Expr) -> ir.Expr:
        return _fenced(expr) if _is_given(expr) and expr.type.scalar.bits >= 32 else _once(expr)


class _Products(Rewriter):
    def expr(self, expr: ir.Expr) -> ir.Expr:
        return _fenced(expr) if _is_float(expr, "*") else _once(expr)


class _Integers(Rewriter):
    def stmt(self, stmt: ir.Stmt) -> None:
        if isinstance(stmt, ir.For) and _is_const(stmt.stop, 1) and not _is_const(stmt.start, 0):
            stmt = replace(stmt, stop=_fenced(stmt.stop))
        self.emit(stmt)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Cast) and expr.type.scalar is i64 and expr.a.type.kind == "int":
            return _fenced(expr)
        if isinstance(expr, ir.Binary) and expr.op == "quo":
            return replace(expr, b=_unknown(expr.b))
        if isinstance(expr, ir.Compare) and expr.a.type.kind == "int":
            if expr.a.type.scalar is i64:
                return replace(expr, a=_unknown(expr.a), b=_unknown(expr.b))
            if isinstance(expr.a, ir.Ref) and _is_const(expr.b, _STOPS.get(expr.op)):
                return replace(expr, b=_fenced(expr.b))
            if isinstance(expr.b, ir.Ref) and _is_const(expr.a, _MIRRORED_STOPS.get(expr.op)):
                return replace(expr, a=_fenced(expr.a))
        return _once(expr)


class _Hiding(Rewriter):
    def __init__(self, *, fuses: bool) -> None:
        self.fuses = fuses

    def stmt(self, stmt: ir.Stmt) -> None:
        if isinstance(stmt, (ir.Let, ir.Assign)) and stmt.symbol.type.is_float:
            stmt = replace(stmt, value=_hidden(stmt.value))
        self.emit(stmt)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Binary) and expr.type.is_float and expr.op in _ALL:
            return _fenced(replace(expr, a=self.left(expr), b=self.right(expr)))
        if isinstance(expr, ir.Math) and expr.fn == "sqrt":
            return _fenced(expr)
        if isinstance(expr, ir.Bitcast):
            return _fenced(expr) if expr.type.is_float else replace(expr, a=_side(expr.a))
        if isinstance(expr, ir.Select) and expr.type.is_float:
            return replace(expr, a=_choice(expr.a), b=_choice(expr.b))
        if isinstance(expr, ir.Compare) and expr.a.type.is_float:
            return replace(expr, a=_side(expr.a), b=_side(expr.b))
        if isinstance(expr, ir.Unary) and expr.op == "not" and _of_floats(expr.a):
            return replace(expr, a=_fenced(expr.a))
        return _once(expr)

    def left(self, expr: ir.Binary) -> ir.Expr:
        product = self.fused(expr.a, expr.b) if expr.op in "+-" else None
        return product or _hidden(expr.a)

    def right(self, expr: ir.Binary) -> ir.Expr:
        if expr.op == "/" or (expr.op == "-" and not isinstance(expr.b, ir.Const)):
            return _firmly(expr.b)
        product = self.fused(expr.b, expr.a) if expr.op == "+" else None
        return product or _hidden(expr.b)

    def fused(self, expr: ir.Expr, other: ir.Expr) -> ir.Binary | None:
        """The product behind a fence, where it may be fused and `other` shows nothing to factor out."""
        if not self.fuses or not isinstance(expr, ir.Fence) or not isinstance(expr.a, ir.Binary):
            return None
        product = expr.a
        if not _is_float(product, "*") or (isinstance(other, ir.Fence) and _is_float(other.a, "*")):
            return None
        alike = isinstance(other, ir.Ref) and any(
            isinstance(factor, ir.Ref) and factor.symbol is other.symbol for factor in (product.a, product.b)
        )
        return None if alike else product


def _is_given(expr: ir.Expr) -> bool:
    """True for what a launch gives, and code may compute with: all that the parameter block holds but offsets."""
    match expr:
        case ir.Param(hidden=hidden):
            return not hidden
        case ir.Builtin(name=name):
            return name == "workgroup_count"
    return isinstance(expr, (ir.Length, ir.Shape, ir.Stride))


def _of_floats(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Compare) and expr.a.type.is_float


def _is_float(expr: ir.Expr, op: str) -> bool:
    return isinstance(expr, ir.Binary) and expr.type.is_float and expr.op == op


def _is_const(expr: ir.Expr, value: int | None) -> bool:
    return isinstance(expr, ir.Const) and expr.value == value


def _unknown(expr: ir.Expr) -> ir.Expr:
    return expr if isinstance(expr, (ir.Const, ir.Fence)) else _fenced(expr)


def _once(expr: ir.Expr) -> ir.Expr:
    """Without a fence around a fence."""
    return expr.a if isinstance(expr, ir.Fence) and isinstance(expr.a, ir.Fence) else expr


def _fenced(expr: ir.Expr) -> ir.Expr:
    return ir.Fence(expr.type, expr.span, expr)


def _firmly(expr: ir.Expr) -> ir.Expr:
    if isinstance(expr, ir.Fence):
        return expr if expr.firm else replace(expr, firm=True)
    return ir.Fence(expr.type, expr.span, expr, firm=True)


def _hidden(expr: ir.Expr) -> ir.Expr:
    """The operand, fenced if a compiler might know something of its value."""
    return expr if _is_opaque(expr) else _fenced(expr)


def _side(expr: ir.Expr) -> ir.Expr:
    """A side of a choice or comparison, fenced if a compiler might find that it is infinite or NaN."""
    inner = expr.a if isinstance(expr, ir.Unary) else expr
    return expr if isinstance(inner, (ir.Const, ir.Select)) else _hidden(expr)


def _choice(expr: ir.Expr) -> ir.Expr:
    """A side of a choice, fenced for the same reason, or because it is a zero that has to keep its sign."""
    return _fenced(expr) if isinstance(expr, ir.Const) and not expr.value else _side(expr)


def _is_opaque(expr: ir.Expr) -> bool:
    if isinstance(expr, ir.Const):
        return abs(expr.value) >= _SMALLEST_NORMAL
    return isinstance(expr, (ir.Fence, ir.Ref, ir.Param))


_SMALLEST_NORMAL = 2.0**-126

__all__ = ["fences"]
