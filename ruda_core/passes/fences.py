"""Float results hidden from compilers that would do algebra with them.

Where the target's compiler reassociates, every result of float `+ - * /` is fenced, unless the kernel
gives leave by `fp_fast`; and so are square roots, and the operands that such compilers simplify single operations by: zeros and
subnormals as constants, converted bools, and the right side of `-` and `/`, which may turn out to be the
same value as the left. Where it may only contract, and the kernel forbids that but the target has no
control for it, products are fenced.

Runs after every pass that makes float arithmetic; only `dead_code` follows.
"""

from __future__ import annotations

from dataclasses import replace

from ruda_core.capabilities import Target
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter

_ALL = frozenset({"+", "-", "*", "/"})
_PRODUCTS = frozenset({"*"})


def fences(function: ir.Function, target: Target) -> ir.Function:
    """The function with fences where `target` needs them."""
    if target.reassociates and not function.fp_fast:
        return _Fences(_ALL, operands=True).run(function)
    if not function.fp_contract and not target.contract_control:
        return _Fences(_PRODUCTS).run(function)
    return function


class _Fences(Rewriter):
    def __init__(self, operators: frozenset[str], *, operands: bool = False) -> None:
        self.operators = operators
        self.operands = operands

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Binary) and expr.type.is_float and expr.op in self.operators:
            if self.operands:
                expr = _without_algebra(expr)
            return ir.Fence(expr.type, expr.span, expr)
        if self.operands and isinstance(expr, ir.Math) and expr.fn == "sqrt":
            return ir.Fence(expr.type, expr.span, expr)
        if isinstance(expr, ir.Fence) and isinstance(expr.a, ir.Fence):
            return expr.a
        return expr


def _without_algebra(expr: ir.Binary) -> ir.Binary:
    """The operation with those operands fenced that a compiler would simplify it by."""
    a = _fenced(expr.a) if _invites(expr.a) else expr.a
    alike = expr.op in "-/" and not isinstance(expr.b, (ir.Const, ir.Param))
    b = _firmly(expr.b) if alike else _fenced(expr.b) if _invites(expr.b) else expr.b
    return expr if a is expr.a and b is expr.b else replace(expr, a=a, b=b)


def _fenced(expr: ir.Expr) -> ir.Expr:
    return ir.Fence(expr.type, expr.span, expr)


def _firmly(expr: ir.Expr) -> ir.Expr:
    if isinstance(expr, ir.Fence):
        return expr if expr.firm else replace(expr, firm=True)
    return ir.Fence(expr.type, expr.span, expr, firm=True)


def _invites(expr: ir.Expr) -> bool:
    """A constant that is zero or subnormal in f32, or a bool as a number."""
    if isinstance(expr, ir.Cast):
        return expr.a.type.kind == "bool"
    return isinstance(expr, ir.Const) and abs(expr.value) < _SMALLEST_NORMAL


_SMALLEST_NORMAL = 2.0**-126

__all__ = ["fences"]
