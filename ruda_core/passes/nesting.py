"""Expressions no deeper than compilers read: Clang, under OpenCL, stops at 256 nested brackets.

Runs after every pass that makes expressions; only `fold_legal` and `dead_code` follow.
"""

from __future__ import annotations

from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter, operands

DEEPEST = 32
"""Operations inside one another; a dialect writes up to six brackets for each."""


def nesting(function: ir.Function) -> ir.Function:
    """The function with the inner parts of deeper expressions bound to names before."""
    return _Nesting().run(function)


class _Nesting(Rewriter):
    def __init__(self) -> None:
        self.depths: dict[ir.Expr, int] = {}

    def expr(self, expr: ir.Expr) -> ir.Expr:
        depth = 1 + max((self.depths.get(operand, 0) for operand in operands(expr)), default=-1)
        if depth >= DEEPEST:
            return self.let(expr, "part")
        self.depths[expr] = depth
        return expr


__all__ = ["nesting"]
