"""Validate mode: failed checks and asserts become a record in the hidden global array `FAULTS`.

The record is 16 words of u32: 0 is the number of faults so far (an atomic add); the unit that finds it
at zero fills in 1 the program, 2 the site, 3 and 4 the index, 5 and 6 the length (low word first, two's
complement). An assert leaves index and length alone. Accesses keep their checks.

Runs after `bounds` and before `uniform_loads` and `flatten`: it reports the index of the failing axis.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ruda_core.dtypes import i64, u32, u64
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import binary, cast, compare, const, like, negate, ref, select
from ruda_core.ir.rewrite import Rewriter
from ruda_core.passes.bounds import below, extents, without_access

FAULTS = "<faults>"
"""Name of the hidden array, which only the passes and the runtime know."""

WORDS = 16


def faults(function: ir.Function) -> ir.Function:
    """The function with its reports made explicit; unchanged in the other modes."""
    if function.mode != "validate":
        return function
    record = ir.Array(FAULTS, u32, "global")
    params = len(function.in_space("global"))
    arrays = (*function.arrays[:params], record, *function.arrays[params:])
    return _Faults(record).run(replace(function, arrays=arrays))


class _Faults(Rewriter):
    def __init__(self, record: ir.Array) -> None:
        self.record = record

    def stmt(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Assert():
                self.report_unless(stmt.cond, ir.Report(stmt.span, stmt.site, None, None))
            case ir.Report():
                for inner in self.recorded(stmt):
                    self.emit(inner)
            case ir.Load() | ir.Store() | ir.Atomic() | ir.UniformLoad() if stmt.site is not None:
                self.access(stmt)
            case _:
                self.emit(stmt)

    def access(self, s: Any) -> None:
        if s.check is None:
            self.emit(replace(s, site=None))
            return
        index, length = self.failing(s)
        self.report_unless(s.check, ir.Report(s.span, s.site, index, length))
        if isinstance(s.check, ir.Const) and not s.check.value:
            for left in without_access(s):
                self.emit(left)
        else:
            self.emit(replace(s, site=None))

    def failing(self, s: Any) -> tuple[ir.Expr, ir.Expr]:
        """Index and length of the first axis that is out of bounds."""
        limits = extents(s, self.function.index)
        indices = s.index
        if len({i.type for i in indices}) > 1:
            indices = tuple(cast(self.function.index, i) for i in indices)
        index, length = indices[-1], limits[-1]
        for i, n in zip(reversed(indices[:-1]), reversed(limits[:-1]), strict=True):
            inside = below(i, n)
            index, length = select(inside, index, i), select(inside, length, n)
        return index, length

    def report_unless(self, cond: ir.Expr, report: ir.Report) -> None:
        body = self.recorded(report)
        if isinstance(cond, ir.Const):
            for stmt in () if cond.value else body:
                self.emit(stmt)
        else:
            self.emit(ir.If(report.span, negate(cond), body))

    def recorded(self, r: ir.Report) -> ir.Body:
        """Count the fault; the first one describes itself."""
        before = ir.Symbol("before", u32)
        words = {1: ir.Param(u32, r.span, "program", "program"), 2: const(u32, r.site, r.span)}
        first: list[ir.Stmt] = []
        for at, value in ((3, r.index), (5, r.length)):
            if value is not None:
                words[at], words[at + 1] = self.halves(value, first)
        first += [self.atomic("store", at, value, None) for at, value in words.items()]
        return (
            self.atomic("add", 0, const(u32, 1, r.span), before),
            ir.If(r.span, compare("==", ref(before, r.span), const(u32, 0)), tuple(first)),
        )

    def halves(self, value: ir.Expr, out: list[ir.Stmt]) -> tuple[ir.Expr, ir.Expr]:
        """The low and high words of an integer as a 64-bit one."""
        symbol = ir.Symbol("place", value.type)
        out.append(ir.Let(value.span, symbol, value))
        v = ref(symbol, value.span)
        low = cast(u32, v)
        if value.type in (i64, u64):
            return low, cast(u32, binary(">>", v, const(u32, 32)))
        if not value.type.is_signed:
            return low, const(u32, 0)
        return low, select(compare("<", v, like(v, 0)), const(u32, u32.max), const(u32, 0))

    def atomic(self, op: str, at: int, value: ir.Expr, symbol: ir.Symbol | None) -> ir.Stmt:
        place = (const(self.function.index, at, value.span),)
        return ir.Atomic(value.span, symbol, op, self.record, place, (value,))
