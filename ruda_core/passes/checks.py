"""Checks as control flow, for languages in which a conditional expression evaluates both sides.

A checked load becomes zero, then the load under an `If`; a checked store or atomic goes under an `If`.
Runs last of the passes that make or look at accesses.
"""

from __future__ import annotations

from dataclasses import replace

from ruda_core.capabilities import Target
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import ref, zero
from ruda_core.ir.rewrite import Rewriter


def checks(function: ir.Function, target: Target) -> ir.Function:
    """Unchanged where the dialect renders checks itself ("checked") or lazily ("lazy_select")."""
    if target.supports("checked") or target.supports("lazy_select"):
        return function
    return _Checks().run(function)


class _Checks(Rewriter):
    def stmt(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Load(check=ir.Expr() as check) | ir.Atomic(symbol=ir.Symbol(), check=ir.Expr() as check):
                self.guarded_value(stmt, check)
            case ir.Store(check=ir.Expr() as check) | ir.Atomic(check=ir.Expr() as check):
                self.emit(ir.If(stmt.span, check, (replace(stmt, check=None),)))
            case ir.MaskedStore(check=ir.Expr() as check):
                self.emit(ir.If(stmt.span, check, (replace(stmt, check=None),)))
            case _:
                self.emit(stmt)

    def guarded_value(self, stmt: ir.Load | ir.Atomic, check: ir.Expr) -> None:
        symbol = stmt.symbol
        if symbol is None:
            return
        found = ir.Symbol(symbol.name, symbol.type)
        variable = ir.Symbol(symbol.name, symbol.type, mutable=True)
        access = replace(stmt, symbol=found, check=None)
        self.emit(ir.Assign(stmt.span, variable, zero(symbol.type, stmt.span)))
        self.emit(ir.If(stmt.span, check, (access, ir.Assign(stmt.span, variable, ref(found, stmt.span)))))
        self.emit(ir.Let(stmt.span, symbol, ref(variable, stmt.span)))
