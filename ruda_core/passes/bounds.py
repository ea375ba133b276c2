"""Checks for accesses out of bounds, left out where they are proved.

Each axis of a tensor is checked against its own extent, `tensor.flat[k]` against the length, everything
else against the array's length or shape. An index is out of bounds when it is negative. What dominates
an access is used: conditions, early returns, loop ranges, min and clamp, arrays of equal length. An
access that is proved to be out of bounds is removed (in validate mode it keeps a false check, so that it
is reported), since some target compilers refuse such a constant index.

Runs before `flatten`, on one index for each axis. Facts respect wrapping: see `ranges`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ruda_core.artifact import Site
from ruda_core.dtypes import BY_NAME, DType, bool_
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import all_of, cast, compare, const, like, ref, zero
from ruda_core.ir.rewrite import is_simple
from ruda_core.ir.span import UNKNOWN
from ruda_core.passes.fold import fold_expr
from ruda_core.passes.linear import Scope
from ruda_core.passes.ranges import Flow


def bounds(function: ir.Function) -> ir.Function:
    """The function with the checks that its mode asks for; validate mode also fills `site` and `sites`."""
    flow = _Bounds(function)
    body = flow.run()
    return replace(function, body=body, sites=tuple(flow.sites))


def extents(access: Any, index: DType) -> tuple[ir.Expr, ...]:
    """What each index of a Load, Store, Atomic or UniformLoad must be below."""
    array: ir.Array = access.array
    span = access.span
    if array.shape:
        sizes = (math.prod(array.shape),) if access.flat else array.shape
        return tuple(const(index, n, span) for n in sizes)
    if array.rank is None or access.flat:
        return (ir.Length(index, span, array),)
    return tuple(ir.Shape(index, span, array, axis) for axis in range(array.rank))


def below(index: ir.Expr, extent: ir.Expr) -> ir.Expr:
    """`0 <= index < extent` as one comparison: a negative index is a large unsigned number."""
    wide = max(index.type.bits, extent.type.bits)
    word = BY_NAME[f"u{wide}"]
    return compare("<", fold_expr(cast(word, index)), fold_expr(cast(word, extent)))


class _Bounds(Flow):
    def __init__(self, function: ir.Function) -> None:
        super().__init__(function)
        self.sites = list(function.sites)

    def access(self, stmt: Any, scope: Scope) -> ir.Body:
        if self.trying:
            return (stmt,)
        limits = extents(stmt, self.function.index)
        needed = [
            (at, self.proofs(index, limit, scope))
            for at, (index, limit) in enumerate(zip(stmt.index, limits, strict=True))
        ]
        if any(outside for _, (_, _, outside) in needed):
            return self.outside(stmt)
        if self.function.mode == "unchecked":
            return (stmt,)
        out: list[ir.Stmt] = []
        indices = list(stmt.index)
        checks = []
        for at, (above_zero, below_limit, _) in needed:
            if above_zero and below_limit:
                continue
            index = indices[at] = self.repeatable(indices[at], out)
            checks.append(self.check(index, limits[at], above_zero, below_limit))
        checked = replace(stmt, index=tuple(indices), check=all_of(checks))
        out.append(self.with_site(checked) if checks else checked)
        return tuple(out)

    def proofs(self, index: ir.Expr, limit: ir.Expr, scope: Scope) -> tuple[bool, bool, bool]:
        """Whether the index is proved to be at least zero, below the limit, and out of bounds."""
        i, n = self.form(index, scope), self.form(limit, scope)
        if self.atoms.holds(i.plus(1), scope) or self.atoms.holds(n - i, scope):
            return False, False, True
        return self.atoms.holds(i.times(-1), scope), self.atoms.holds((i - n).plus(1), scope), False

    def check(self, index: ir.Expr, limit: ir.Expr, above_zero: bool, below_limit: bool) -> ir.Expr:
        if below_limit:
            return compare(">=", index, like(index, 0))
        if above_zero and index.type is limit.type:
            return compare("<", index, limit)
        return below(index, limit)

    def repeatable(self, index: ir.Expr, out: list[ir.Stmt]) -> ir.Expr:
        """The index in a form that costs nothing to write twice."""
        if is_simple(index) or isinstance(index, ir.Ref):
            return index
        symbol = ir.Symbol("at", index.type)
        out.append(ir.Let(index.span, symbol, index))
        return ref(symbol, index.span)

    def outside(self, stmt: Any) -> ir.Body:
        """What is left of an access that is always out of bounds."""
        if self.function.mode == "validate":
            return (self.with_site(replace(stmt, check=const(bool_, False, stmt.span))),)
        return without_access(stmt)

    def with_site(self, stmt: Any) -> ir.Stmt:
        if self.function.mode != "validate":
            return stmt  # type: ignore[no-any-return]  # one of the four access statements
        span = stmt.span or UNKNOWN
        site = Site(span.file, span.line, stmt.array.name)
        if site not in self.sites:
            self.sites.append(site)
        return replace(stmt, site=self.sites.index(site))  # type: ignore[no-any-return]  # likewise


def without_access(stmt: Any) -> ir.Body:
    """An access that never happens: zero for what it would bind."""
    if isinstance(stmt, ir.UniformLoad):
        return (ir.Barrier(stmt.span), ir.Let(stmt.span, stmt.symbol, zero(stmt.symbol.type, stmt.span)))
    if getattr(stmt, "symbol", None) is None:
        return ()
    return (ir.Let(stmt.span, stmt.symbol, zero(stmt.symbol.type, stmt.span)),)


__all__ = ["below", "bounds", "extents", "without_access"]
