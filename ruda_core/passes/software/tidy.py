"""What a `Scope` does with the statements that it has collected: sharing, folding, tidying."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import BODY_FIELDS, expressions, map_expr, map_operands, operands, walk
from ruda_core.passes import values

_DEPTH = 20
"""Nesting of operators up to which a value used once is put in place: compilers limit brackets."""


def key(node: ir.Expr) -> tuple[Any, ...] | None:
    """What makes two nodes the same value; None for nodes that are not compared."""
    match node:
        case ir.Const():
            return ("const", node.type, repr(node.value))
        case ir.Ref():
            return None if node.symbol.mutable else ("ref", node.symbol)
        case ir.Param() | ir.Builtin():
            return (type(node), node.name, getattr(node, "axis", None))
        case ir.Binary() | ir.Compare() | ir.Logic():
            parts = (key(node.a), key(node.b))
            return None if None in parts else (type(node), node.op, node.type, parts)
        case ir.Unary():
            part = key(node.a)
            return None if part is None else (type(node), node.op, part)
        case ir.Cast() | ir.Bitcast() | ir.Fence():
            part = key(node.a)
            return None if part is None else (type(node), node.type, getattr(node, "raw", None), part)
        case ir.Select():
            keys = (key(node.cond), key(node.a), key(node.b))
            return None if None in keys else ("select", keys)
        case ir.MakeVector() if len(node.args) == 1:
            part = key(node.args[0])
            return None if part is None else ("all", node.type, part)
    return None


def fold_binary(op: str, a: ir.Expr, c: ir.Expr) -> ir.Expr | None:
    """The result when it is known without running, else None; integers only."""
    if not isinstance(c, ir.Const) or isinstance(c.value, float):
        return None
    if isinstance(a, ir.Const):
        return ir.Const(a.type, a.span, values.binary(op, a.type.scalar, a.value, c.value))
    if c.value == 0 and op in ("+", "-", "|", "^", "shl", "shr"):
        return a
    if c.value == 0 and op in ("*", "&"):
        return c
    return a if c.value == 1 and op in ("*", "quo") else None


def tidy(
    stmts: list[ir.Stmt], results: list[ir.Expr], variables: set[ir.Symbol]
) -> tuple[ir.Body, tuple[ir.Expr, ...]]:
    """Put values that are used once where they are used, and drop those that are not used.

    Values that read one of `variables`, the expansion's own mutable symbols, stay where they are.
    """
    stmts = _live(stmts, results)
    placer = _Placer(_uses(stmts, results), variables)
    done = placer.body(stmts)
    placed = tuple(placer.place(r) for r in results)
    return (*done, *placer.pending.values()), placed


class _Placer:
    """`pending` are values on their way to their one use, in program order."""

    def __init__(self, uses: Counter[ir.Symbol], variables: set[ir.Symbol]) -> None:
        self.uses = uses
        self.variables = variables
        self.pending: dict[ir.Symbol, ir.Let] = {}

    def place(self, expr: ir.Expr) -> ir.Expr:
        return map_expr(expr, self._place)

    def _place(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Ref) and expr.symbol in self.pending:
            return self.pending.pop(expr.symbol).value
        return expr

    def settled(self) -> list[ir.Stmt]:
        """The pending values, which now stay where they are."""
        stmts: list[ir.Stmt] = list(self.pending.values())
        self.pending.clear()
        return stmts

    def body(self, stmts: Iterable[ir.Stmt]) -> list[ir.Stmt]:
        out: list[ir.Stmt] = []
        for stmt in stmts:
            stmt = map_operands(stmt, self.place)
            if isinstance(stmt, ir.Let) and self.moves(stmt):
                self.pending[stmt.symbol] = stmt
                continue
            inner = {name: getattr(stmt, name) for name in BODY_FIELDS if getattr(stmt, name, None)}
            if inner:
                out += self.settled()
                changed = {name: (*self.body(body), *self.settled()) for name, body in inner.items()}
                stmt = replace(stmt, **changed)
            out.append(stmt)
        return out

    def moves(self, let: ir.Let) -> bool:
        if self.uses[let.symbol] != 1 or _depth(let.value) > _DEPTH:
            return False
        return not self.variables or self.variables.isdisjoint(_symbols(let.value))


def _depth(expr: ir.Expr) -> int:
    return 1 + max((_depth(e) for e in operands(expr)), default=0)


def _symbols(expr: ir.Expr) -> Iterator[ir.Symbol]:
    """The symbols that an expression reads, each as often as it does."""
    return (e.symbol for e in (expr, *expressions(expr)) if isinstance(e, ir.Ref))


def _uses(stmts: list[ir.Stmt], results: list[ir.Expr]) -> Counter[ir.Symbol]:
    uses = Counter(e.symbol for s in walk(stmts) for e in expressions(s) if isinstance(e, ir.Ref))
    for result in results:
        uses.update(_symbols(result))
    return uses


def _live(stmts: list[ir.Stmt], results: list[ir.Expr]) -> list[ir.Stmt]:
    """Without the values that nothing uses."""
    while True:
        used = _uses(stmts, results)
        kept = [s for s in stmts if not isinstance(s, ir.Let) or s.symbol in used]
        if len(kept) == len(stmts):
            return kept
        stmts = kept
