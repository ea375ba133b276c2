"""Exact trip counts: `For.trips` is unsigned and as wide as the index type, right up to the ends of the range.

Counting `i += step` past the end would wrap near the largest index; a count cannot.
"""

from __future__ import annotations

from dataclasses import replace

from ruda_core.dtypes import unsigned
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import binary, both, cast, compare, const, either, like, select, zero
from ruda_core.ir.rewrite import Rewriter
from ruda_core.passes.fold import fold_expr


def trips(function: ir.Function) -> ir.Function:
    """The function with `trips` of every `For` filled in."""
    return _Trips().run(function)


class _Trips(Rewriter):
    def stmt(self, stmt: ir.Stmt) -> None:
        if not isinstance(stmt, ir.For) or stmt.trips is not None:
            self.emit(stmt)
            return
        start, stop, step = self.let(stmt.start), self.let(stmt.stop), self.let(stmt.step)
        count = self.let(fold_expr(_count(start, stop, step)), "trips")
        self.emit(replace(stmt, start=start, stop=stop, step=step, trips=count))


def _count(start: ir.Expr, stop: ir.Expr, step: ir.Expr) -> ir.Expr:
    """Iterations of `range(start, stop, step)`; none for a step of zero.

    Differences are taken unsigned: they are at most the largest index minus the smallest, which fits.
    """
    word = unsigned(start.type.scalar)
    a, b, by = cast(word, start), cast(word, stop), cast(word, step)
    nothing = const(word, 0, start.span)
    if isinstance(step, ir.Const):
        value = int(step.value)
        if value == 0:
            return nothing
        some, gap = _way(value > 0, start, stop, a, b)
        return select(some, _steps(gap, const(word, abs(value), step.span)), nothing)
    up, gap_up = _way(True, start, stop, a, b)
    down, gap_down = _way(False, start, stop, a, b)
    rises, falls = compare(">", step, like(step, 0)), compare("<", step, like(step, 0))
    some = either(both(rises, up), both(falls, down))
    size = select(falls, binary("-", zero(word), by), select(rises, by, const(word, 1)))
    return select(some, _steps(select(rises, gap_up, gap_down), size), nothing)


def _way(rises: bool, start: ir.Expr, stop: ir.Expr, a: ir.Expr, b: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
    """Whether there is any iteration in this direction, and the distance."""
    if rises:
        return compare("<", start, stop), binary("-", b, a)
    return compare(">", start, stop), binary("-", a, b)


def _steps(gap: ir.Expr, size: ir.Expr) -> ir.Expr:
    """`ceil(gap / size)` for a gap of at least one, without overflow."""
    if isinstance(size, ir.Const) and size.value == 1:
        return gap
    one = like(gap, 1)
    return binary("+", binary("//", binary("-", gap, one), size), one)
