"""Facts about a function that a renderer needs before its first line: where variables live, what is atomic."""

from __future__ import annotations

from dataclasses import dataclass

from ruda_core.dtypes import DType
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import bodies, expressions, walk


@dataclass(frozen=True, slots=True)
class Declarations:
    """Where mutable symbols are declared."""

    at_start: dict[int, tuple[ir.Symbol, ...]]
    """By `id` of a body: symbols to declare before its first statement."""
    with_value: frozenset[ir.Stmt]
    """Assignments that declare their symbol."""


def declarations(function: ir.Function) -> Declarations:
    """Each mutable symbol is declared in the innermost body that holds all its uses.

    A variable inside a loop is a new one each time round: no use can see an older value, because a
    symbol is assigned on every path to its use.
    """
    homes: dict[ir.Symbol, tuple[ir.Body, ...]] = {}
    first: dict[ir.Symbol, tuple[ir.Stmt, ir.Body]] = {}

    def meet(symbol: ir.Symbol, stmt: ir.Stmt, path: tuple[ir.Body, ...]) -> None:
        if not symbol.mutable:
            return
        if symbol not in homes:
            homes[symbol], first[symbol] = path, (stmt, path[-1])
            return
        common = 0
        for old, new in zip(homes[symbol], path, strict=False):
            if old is not new:
                break
            common += 1
        homes[symbol] = path[:common]

    def visit(path: tuple[ir.Body, ...]) -> None:
        for stmt in path[-1]:
            for expr in expressions(stmt):
                if isinstance(expr, ir.Ref):
                    meet(expr.symbol, stmt, path)
            if isinstance(stmt, ir.Assign):
                meet(stmt.symbol, stmt, path)
            for body in bodies(stmt):
                if body:
                    visit((*path, body))

    visit((function.body,))
    at_start: dict[int, list[ir.Symbol]] = {}
    with_value: set[ir.Stmt] = set()
    for symbol, path in homes.items():
        stmt, body = first[symbol]
        if body is path[-1] and isinstance(stmt, ir.Assign) and not _mentions(stmt, symbol):
            with_value.add(stmt)
        else:
            at_start.setdefault(id(path[-1]), []).append(symbol)
    return Declarations({key: tuple(found) for key, found in at_start.items()}, frozenset(with_value))


def _mentions(stmt: ir.Assign, symbol: ir.Symbol) -> bool:
    used = (stmt.value, *expressions(stmt.value))
    return stmt.symbol is not symbol or any(isinstance(e, ir.Ref) and e.symbol is symbol for e in used)


def atomic_arrays(function: ir.Function) -> frozenset[ir.Array]:
    """Arrays that some access treats atomically."""
    return frozenset(s.array for s in walk(function.body) if isinstance(s, (ir.Atomic, ir.MaskedStore)))


def scalar_arrays(function: ir.Function) -> frozenset[ir.Array]:
    """Arrays whose memory is indexed by components: those of scalars, and of vectors that are taken apart."""
    found = {array for array in function.arrays if isinstance(array.dtype, DType)}
    for stmt in walk(function.body):
        if isinstance(stmt, ir.Load) and isinstance(stmt.symbol.type, DType):
            found.add(stmt.array)
        if isinstance(stmt, ir.Store) and isinstance(stmt.value.type, DType):
            found.add(stmt.array)
    return frozenset(found)


def used_dtypes(function: ir.Function) -> frozenset[str]:
    """Names of all scalar dtypes that the function's values and arrays have."""
    names = {array.dtype.scalar.name for array in function.arrays}
    for stmt in walk(function.body):
        symbol = getattr(stmt, "symbol", None)
        if symbol is not None:
            names.add(symbol.type.scalar.name)
        names.update(expr.type.scalar.name for expr in expressions(stmt))
    return frozenset(names)
