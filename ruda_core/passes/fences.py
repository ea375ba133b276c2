"""Float results hidden from compilers that would do algebra with them.

Where the target's compiler reassociates, every result of float `+ - * /` is fenced, unless the kernel
gives leave by `fp_fast`. Where it may only contract, and the kernel forbids that but the target has no
control for it, products are fenced.

Runs after every pass that makes float arithmetic; only `dead_code` follows.
"""

from __future__ import annotations

from ruda_core.capabilities import Target
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter

_ALL = frozenset({"+", "-", "*", "/"})
_PRODUCTS = frozenset({"*"})


def fences(function: ir.Function, target: Target) -> ir.Function:
    """The function with fences where `target` needs them."""
    if target.reassociates and not function.fp_fast:
        return _Fences(_ALL).run(function)
    if not function.fp_contract and not target.contract_control:
        return _Fences(_PRODUCTS).run(function)
    return function


class _Fences(Rewriter):
    def __init__(self, operators: frozenset[str]) -> None:
        self.operators = operators

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Binary) and expr.type.is_float and expr.op in self.operators:
            return ir.Fence(expr.type, expr.span, expr)
        if isinstance(expr, ir.Fence) and isinstance(expr.a, ir.Fence):
            return expr.a
        return expr


__all__ = ["fences"]
