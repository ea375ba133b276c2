"""How integer values move from unit to unit along a row: evenly by a number known here, or not."""

from __future__ import annotations

from collections.abc import Callable

from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import operands
from ruda_cpu.analysis.layout import Layout

_STEADY = (ir.Const, ir.Param, ir.Length, ir.Shape, ir.Stride, ir.Offset)


def stride(
    e: ir.Expr,
    builtin: Callable[[ir.Builtin], int | None],
    symbol: Callable[[ir.Symbol], int | None],
    is_position: Callable[[ir.Expr], bool],
) -> int | None:
    """How much larger the value is for the next unit: 0 for all alike, None for unevenly.

    All is modulo 2 to the number of bits; what `is_position` tells does not wrap.
    """
    if isinstance(e, _STEADY):
        return 0
    if isinstance(e, ir.Builtin):
        return builtin(e)
    if isinstance(e, ir.Ref):
        return symbol(e.symbol)
    parts = [stride(o, builtin, symbol, is_position) for o in operands(e)]
    if None in parts:
        return None
    if not any(parts):
        return 0
    return _even(e, [p or 0 for p in parts], is_position)


def _even(e: ir.Expr, parts: list[int], is_position: Callable[[ir.Expr], bool]) -> int | None:
    if isinstance(e, ir.Unary) and e.op == "-":
        return -parts[0]
    if isinstance(e, ir.Cast) and e.type.is_integer and e.a.type.is_integer:
        same_bits = e.type.bits == e.a.type.bits
        return parts[0] if same_bits or is_position(e.a) else None
    if not isinstance(e, ir.Binary) or not e.type.is_integer:
        return None
    if e.op == "+":
        return parts[0] + parts[1]
    if e.op == "-":
        return parts[0] - parts[1]
    if e.op == "*" and isinstance(e.b, ir.Const):
        return parts[0] * int(e.b.value)
    if e.op == "*" and isinstance(e.a, ir.Const):
        return parts[1] * int(e.a.value)
    if e.op == "shl" and isinstance(e.b, ir.Const):
        return parts[0] << int(e.b.value)
    return None


def of_builtin(e: ir.Builtin, layout: Layout, dim: tuple[int, int, int]) -> int | None:
    """The stride of a position or count along the rows of a layout."""
    if e.name == "unit_pos" and e.axis is None:
        return 1
    if e.name in ("unit_pos", "absolute_pos"):
        if e.axis is None:
            return 1 if layout.axis == 0 else None
        if layout.axis is None:
            return None if dim[e.axis] > 1 else 0
        return int(layout.axis == e.axis)
    return 0
