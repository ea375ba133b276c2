"""Positions and sizes by what targets have: per-axis native positions and the launch's count.

What is left afterwards: `native_workgroup_pos` and `native_workgroup_count` (u32, per axis), `unit_pos`
and `workgroup_count` (index type, per axis), and subgroup builtins. Each position that a kernel uses is
computed once, at its start.

With `Function.spread`, a count of one dimension was folded over the native axes. The linear native
position is then the logical x; groups past the logical count do nothing. All units of a group agree on
that, so barriers stay uniform.
"""

from __future__ import annotations

from dataclasses import replace

from ruda_core.dtypes import u32, unsigned
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import binary, cast, compare, const, ref
from ruda_core.ir.rewrite import Rewriter, is_simple
from ruda_core.passes.fold import fold_expr

_LOGICAL = frozenset({"absolute_pos", "unit_pos", "workgroup_pos", "workgroup_count"})


def positions(function: ir.Function) -> ir.Function:
    """The function with logical positions computed from native ones."""
    return _Positions(function).done()


class _Positions(Rewriter):
    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.index = function.index
        self.prologue: list[ir.Stmt] = []
        self.known: dict[tuple[str, int | None], ir.Expr] = {}

    def done(self) -> ir.Function:
        guard = self.inside() if self.function.spread else None
        always = tuple(self.prologue)
        self.prologue = []
        function = self.run(self.function)
        body = (*self.prologue, *function.body)
        if guard is not None:
            body = (*always, ir.If(function.span, guard, body))
        return replace(function, body=body)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if not (isinstance(expr, ir.Builtin) and expr.name in _LOGICAL):
            return expr
        return self.position(expr.name, expr.axis)

    def position(self, name: ir.BuiltinName, axis: int | None) -> ir.Expr:
        """A position or size of the index type, computed once."""
        key = (name, axis)
        if key not in self.known:
            value = fold_expr(self.linear(name) if axis is None else self.per_axis(name, axis))
            self.known[key] = self.named(value, name, axis)
        return self.known[key]

    def named(self, value: ir.Expr, name: str, axis: int | None) -> ir.Expr:
        if is_simple(value):
            return value
        symbol = ir.Symbol(name if axis is None else f"{name}_{'xyz'[axis]}", value.type)
        self.prologue.append(ir.Let(None, symbol, value))
        return ref(symbol)

    def linear(self, name: ir.BuiltinName) -> ir.Expr:
        """x + X*(y + Y*z), or X*Y*Z for a size."""
        if name == "workgroup_count":
            x, y, z = (self.position(name, axis) for axis in range(3))
            return x if self.function.spread else binary("*", binary("*", x, y), z)
        x, y, z = (self.position(name, axis) for axis in range(3))
        width, height = self.extent(name, 0), self.extent(name, 1)
        return binary("+", x, binary("*", width, binary("+", y, binary("*", height, z))))

    def extent(self, name: ir.BuiltinName, axis: int) -> ir.Expr:
        """Positions of this name along an axis."""
        units = const(self.index, self.function.dim[axis])
        if name == "unit_pos":
            return units
        groups = self.position("workgroup_count", axis)
        return groups if name == "workgroup_pos" else binary("*", groups, units)

    def per_axis(self, name: ir.BuiltinName, axis: int) -> ir.Expr:
        match name:
            case "unit_pos":
                return self.unit(axis)
            case "workgroup_pos":
                return self.group(axis)
            case "workgroup_count":
                return self.count(axis)
        units = const(self.index, self.function.dim[axis])
        return binary("+", binary("*", self.position("workgroup_pos", axis), units), self.unit(axis))

    def unit(self, axis: int) -> ir.Expr:
        if self.function.dim[axis] == 1:
            return const(self.index, 0)
        return ir.Builtin(self.index, None, "unit_pos", axis)

    def group(self, axis: int) -> ir.Expr:
        if self.function.spread:
            return cast(self.index, self.spread_group()) if axis == 0 else const(self.index, 0)
        return cast(self.index, ir.Builtin(u32, None, "native_workgroup_pos", axis))

    def count(self, axis: int) -> ir.Expr:
        if self.function.spread and axis > 0:
            return const(self.index, 1)
        return ir.Builtin(self.index, None, "workgroup_count", axis)

    def spread_group(self) -> ir.Expr:
        """The linear native position, unsigned and as wide as the index type."""
        key = ("spread", None)
        if key not in self.known:
            word = unsigned(self.index)
            x, y, z = (cast(word, ir.Builtin(u32, None, "native_workgroup_pos", a)) for a in range(3))
            width, height = (cast(word, ir.Builtin(u32, None, "native_workgroup_count", a)) for a in range(2))
            value = binary("+", x, binary("*", width, binary("+", y, binary("*", height, z))))
            self.known[key] = self.named(value, "group", None)
        return self.known[key]

    def inside(self) -> ir.Expr:
        """True in groups of the logical launch."""
        word = unsigned(self.index)
        return compare("<", self.spread_group(), cast(word, self.count(0)))
