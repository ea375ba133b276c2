"""Narrow scalar parameters are read from the 4-byte slots in which they travel."""

from __future__ import annotations

from ruda_core.dtypes import BY_NAME, DType
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter

SLOTS: dict[str, str] = {
    "bool": "u32",
    "u8": "u32",
    "u16": "u32",
    "i8": "i32",
    "i16": "i32",
    "f16": "f32",
    "bf16": "f32",
}
"""Dtype of a parameter to the dtype of its slot; the others are their own."""


def scalars(function: ir.Function) -> ir.Function:
    """The function in which every `Param` has a dtype of the parameter block, cast to its own by value."""
    return _Scalars().run(function)


class _Scalars(Rewriter):
    def expr(self, expr: ir.Expr) -> ir.Expr:
        if not (isinstance(expr, ir.Param) and isinstance(expr.type, DType) and expr.type.name in SLOTS):
            return expr
        slot = BY_NAME[SLOTS[expr.type.name]]
        return ir.Cast(expr.type, expr.span, ir.Param(slot, expr.span, expr.name, expr.hidden))
