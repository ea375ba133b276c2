"""Float results hidden from compilers that would do algebra with them.

Where the target's compiler reassociates, every result of float `+ - * /` is fenced, unless the kernel
gives leave by `fp_fast`; and so are the operands that such compilers simplify single operations by: zeros
and subnormals as constants, and the right side of `a - a` and `a / a`. Where it may only contract, and the kernel forbids that but the target has no
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
        if isinstance(expr, ir.Fence) and isinstance(expr.a, ir.Fence):
            return expr.a
        return expr


def _without_algebra(expr: ir.Binary) -> ir.Binary:
    """The operation with those operands fenced that a compiler would simplify it by."""
    a = _fenced(expr.a) if _invites(expr.a) else expr.a
    b = _fenced(expr.b) if _invites(expr.b) or (expr.op in "-/" and _same(expr.a, expr.b)) else expr.b
    return expr if a is expr.a and b is expr.b else replace(expr, a=a, b=b)


def _fenced(expr: ir.Expr) -> ir.Expr:
    return ir.Fence(expr.type, expr.span, expr)


def _invites(expr: ir.Expr) -> bool:
    """A constant that is zero or subnormal in f32."""
    return isinstance(expr, ir.Const) and abs(expr.value) < _SMALLEST_NORMAL


def _same(a: ir.Expr, b: ir.Expr) -> bool:
    if isinstance(a, ir.Fence):
        a = a.a
    if isinstance(b, ir.Fence):
        b = b.a
    if isinstance(a, ir.Ref) and isinstance(b, ir.Ref):
        return a.symbol is b.symbol
    return isinstance(a, ir.Param) and isinstance(b, ir.Param) and a.name == b.name


_SMALLEST_NORMAL = 2.0**-126

__all__ = ["fences"]
