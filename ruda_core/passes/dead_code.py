"""Removes what no result depends on: unused values, unreachable statements, empty branches, unused memory.

A load with a `site` stays: in validate mode its fault is a result. So does a `UniformLoad`, a barrier.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from ruda_core.ir import nodes as ir
from ruda_core.ir.build import negate
from ruda_core.ir.rewrite import BODY_FIELDS, expressions, walk
from ruda_core.passes.accesses import accesses
from ruda_core.passes.flow import leaves, reachable


def dead_code(function: ir.Function) -> ir.Function:
    """The function without dead code; global arrays always stay."""
    body = function.body
    while True:
        smaller = _Sweep(body).block(body)
        if smaller == body:
            break
        body = smaller
    function = replace(function, body=body)
    used = accesses(function)
    arrays = tuple(a for a in function.arrays if a.space == "global" or a in used)
    return replace(function, arrays=arrays)


class _Sweep:
    """One walk from the end to the start, so that a chain of unused values goes at once."""

    def __init__(self, body: ir.Body) -> None:
        self.uses: Counter[ir.Symbol] = Counter()
        for stmt in walk(body):
            self.count(stmt, 1)

    def count(self, stmt: ir.Stmt, by: int) -> None:
        for e in expressions(stmt):
            if isinstance(e, ir.Ref):
                self.uses[e.symbol] += by

    def block(self, body: ir.Body) -> ir.Body:
        kept: list[ir.Stmt] = []
        alive = reachable(body)
        for stmt in walk(body[len(alive) :]):
            self.count(stmt, -1)
        for stmt in reversed(alive):
            kept.extend(reversed(self.stmt(stmt)))
        out = tuple(reversed(kept))
        return body if out == body else out

    def stmt(self, s: ir.Stmt) -> ir.Body:
        changed: dict[str, Any] = {}
        for name in BODY_FIELDS:
            inner = getattr(s, name, None)
            if inner is not None and (new := self.block(inner)) is not inner:
                changed[name] = new
        if changed:
            s = replace(s, **changed)
        out = self.simplified(s)
        if not out:
            self.count(s, -1)
        return out

    def simplified(self, s: ir.Stmt) -> ir.Body:
        match s:
            case ir.Let() | ir.Assign() if not self.uses[s.symbol]:
                return ()
            case ir.Load() if not self.uses[s.symbol] and s.site is None:
                return ()
            case ir.Atomic(symbol=ir.Symbol() as symbol) if not self.uses[symbol]:
                pure = s.op == "load" and s.site is None
                return () if pure else (replace(s, symbol=None),)
            case ir.For() if not s.body:
                return ()
            case ir.If() if not s.then and not s.orelse:
                return ()
            case ir.If() if not s.then:
                return (ir.If(s.span, negate(s.cond), s.orelse),)
            case ir.Block(once=False) if not leaves(s.body, s.label):
                return s.body
        return (s,)
