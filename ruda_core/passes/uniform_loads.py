"""`UniformLoad` by shared memory: the first unit loads, all units read its value between two barriers.

One cell serves all uniform loads of a dtype: the barrier before a load keeps the next value from
overtaking readers of the last.
"""

from __future__ import annotations

from dataclasses import replace

from ruda_core.dtypes import ValueType
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import all_of, compare, const, ref
from ruda_core.ir.rewrite import Rewriter


def uniform_loads(function: ir.Function) -> ir.Function:
    """The function without `UniformLoad`; it has a shared array of one element for each dtype loaded so."""
    rewriter = _UniformLoads()
    function = rewriter.run(function)
    at = len(function.in_space("global", "shared"))
    cells = tuple(rewriter.cells.values())
    return (
        replace(function, arrays=(*function.arrays[:at], *cells, *function.arrays[at:]))
        if cells
        else function
    )


class _UniformLoads(Rewriter):
    def __init__(self) -> None:
        self.cells: dict[ValueType, ir.Array] = {}

    def stmt(self, stmt: ir.Stmt) -> None:
        if not isinstance(stmt, ir.UniformLoad):
            self.emit(stmt)
            return
        load = ir.Load(stmt.span, stmt.symbol, stmt.array, stmt.index, stmt.check, stmt.site, stmt.flat)
        first = self.first_unit(stmt)
        if first is None:  # a workgroup of one unit
            self.emit(load)
            return
        loaded = ir.Symbol(stmt.symbol.name, stmt.symbol.type)
        place = (const(self.function.index, 0, stmt.span),)
        cell = self.cell(stmt.symbol.type)
        self.emit(ir.Barrier(stmt.span))
        self.emit(
            ir.If(
                stmt.span,
                first,
                (replace(load, symbol=loaded), ir.Store(stmt.span, cell, place, ref(loaded, stmt.span))),
            )
        )
        self.emit(ir.Barrier(stmt.span))
        self.emit(ir.Load(stmt.span, stmt.symbol, cell, place))

    def first_unit(self, stmt: ir.Stmt) -> ir.Expr | None:
        index = self.function.index
        return all_of(
            [
                compare("==", ir.Builtin(index, stmt.span, "unit_pos", axis), const(index, 0, stmt.span))
                for axis in range(3)
                if self.function.dim[axis] > 1
            ]
        )

    def cell(self, value_type: ValueType) -> ir.Array:
        if value_type not in self.cells:
            self.cells[value_type] = ir.Array(f"uniform_{value_type.name}", value_type, "shared", (1,))
        return self.cells[value_type]
