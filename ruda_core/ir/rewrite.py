"""Walking and rebuilding: the tools that passes are written with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from ruda_core.ir import nodes as ir

BODY_FIELDS = ("then", "orelse", "body")

_EXPR_FIELDS: dict[type, tuple[str, ...]] = {}
S = TypeVar("S", bound=ir.Stmt)


def _expr_fields(node: ir.Expr | ir.Stmt) -> tuple[str, ...]:
    """Names of the fields that may hold expressions, found once a class."""
    cls = type(node)
    names = _EXPR_FIELDS.get(cls)
    if names is None:
        names = tuple(f.name for f in fields(cls) if "Expr" in str(f.type))
        _EXPR_FIELDS[cls] = names
    return names


def operands(node: ir.Expr | ir.Stmt) -> Iterator[ir.Expr]:
    """The expressions directly below a node, in evaluation order."""
    for name in _expr_fields(node):
        value = getattr(node, name)
        if isinstance(value, tuple):
            yield from value
        elif value is not None:
            yield value


def expressions(node: ir.Expr | ir.Stmt) -> Iterator[ir.Expr]:
    """All expressions below a node (not those of statements inside it), parents first."""
    for operand in operands(node):
        yield operand
        yield from expressions(operand)


def bodies(stmt: ir.Stmt) -> Iterator[ir.Body]:
    """The bodies directly inside a statement."""
    for name in BODY_FIELDS:
        body = getattr(stmt, name, None)
        if body is not None:
            yield body


def walk(body: Iterable[ir.Stmt]) -> Iterator[ir.Stmt]:
    """All statements, parents first, in program order."""
    for stmt in body:
        yield stmt
        for inner in bodies(stmt):
            yield from walk(inner)


def map_operands(node: Any, change: Callable[[ir.Expr], ir.Expr]) -> Any:
    """The node with `change` applied to the expressions directly below it; itself when none changed."""
    changed: dict[str, Any] = {}
    for name in _expr_fields(node):
        value = getattr(node, name)
        if isinstance(value, tuple):
            new = tuple(change(v) for v in value)
            if any(a is not b for a, b in zip(new, value, strict=True)):
                changed[name] = new
        elif value is not None:
            one = change(value)
            if one is not value:
                changed[name] = one
    return replace(node, **changed) if changed else node


def map_expr(expr: ir.Expr, change: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """Rebuild bottom-up; `change` sees each node after its operands."""
    return change(map_operands(expr, lambda e: map_expr(e, change)))


def assigned(body: Iterable[ir.Stmt]) -> set[ir.Symbol]:
    """Mutable symbols that some statement of `body` changes."""
    return {s.symbol for s in walk(body) if isinstance(s, ir.Assign)}


def is_simple(expr: ir.Expr) -> bool:
    """True for what may be repeated freely: constants, parameters, builtins, immutable symbols."""
    if isinstance(expr, ir.Ref):
        return not expr.symbol.mutable
    return isinstance(expr, (ir.Const, ir.Param, ir.Builtin, ir.Length, ir.Shape, ir.Stride, ir.Offset))


class Rewriter:
    """Rebuilds a function. Override `expr` (called bottom-up for each node) and `stmt`.

    Both may call `emit` to put statements before the one at hand, so a loop's own expressions
    (`For`'s bounds) are evaluated once, before it. `stmt` receives the statement with its
    expressions and bodies already rewritten, and emits what replaces it.
    """

    function: ir.Function

    def run(self, function: ir.Function) -> ir.Function:
        self.function = function
        self._out: list[ir.Stmt] = []
        body = self.block(function.body)
        return replace(self.function, body=body)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        return expr

    def stmt(self, stmt: ir.Stmt) -> None:
        self.emit(stmt)

    def emit(self, stmt: ir.Stmt) -> None:
        self._out.append(stmt)

    def let(self, expr: ir.Expr, name: str = "t") -> ir.Expr:
        """A repeatable form of `expr`: itself when simple, else a new symbol bound here."""
        if is_simple(expr):
            return expr
        symbol = ir.Symbol(name, expr.type)
        self.emit(ir.Let(expr.span, symbol, expr))
        return ir.Ref(expr.type, expr.span, symbol)

    def block(self, body: Iterable[ir.Stmt]) -> ir.Body:
        outer, self._out = self._out, []
        try:
            for stmt in body:
                self.visit(stmt)
            return tuple(self._out)
        finally:
            self._out = outer

    def visit(self, stmt: ir.Stmt) -> None:
        stmt = map_operands(stmt, self.rewrite)
        changed: dict[str, Any] = {}
        for name in BODY_FIELDS:
            body = getattr(stmt, name, None)
            if body is not None:
                changed[name] = self.block(body)
        self.stmt(replace(stmt, **changed) if changed else stmt)

    def rewrite(self, expr: ir.Expr) -> ir.Expr:
        return map_expr(expr, self.expr)
