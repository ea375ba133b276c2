"""Exits from blocks by what every target has: if, else and break.

A `Leave` in tail position needs nothing but an else: what follows moves into the branch that falls
through. One inside the last loop of a block is a break of that loop. What is left makes the block a loop
of one trip (`once`): a leave is a break of it, and one from inner loops sets a flag, breaks, and is
followed by a break wherever the flag is set. `Leave(KERNEL)` stays where the target has "return".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ruda_core.capabilities import Target
from ruda_core.dtypes import bool_
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import const, ref
from ruda_core.passes.flow import falls_through, is_loop, leaves


def exits(function: ir.Function, target: Target) -> ir.Function:
    """The function without `Leave`, save returns of the kernel where the target has them."""
    body = _blocks(function.body)
    if not target.supports("return") and leaves(body, ir.KERNEL):
        body = _resolved(ir.Block(function.span, ir.KERNEL, body))
    return replace(function, body=body)


def _blocks(body: ir.Body) -> ir.Body:
    """Resolve the blocks in `body`, inner ones first."""
    out: list[ir.Stmt] = []
    for s in body:
        match s:
            case ir.If():
                out.append(replace(s, then=_blocks(s.then), orelse=_blocks(s.orelse)))
            case ir.For() | ir.Loop():
                out.append(replace(s, body=_blocks(s.body)))
            case ir.Block():
                inner = replace(s, body=_blocks(s.body))
                out.extend((inner,) if s.once else _resolved(inner))
            case _:
                out.append(s)
    return tuple(out)


def _resolved(block: ir.Block) -> ir.Body:
    """What replaces a block whose inner blocks are resolved."""
    body = without_tail_leaves(block.body, block.label)
    if not leaves(body, block.label):
        return body
    return _Once(block.label).convert(replace(block, body=body))


def without_tail_leaves(body: ir.Body, label: int) -> ir.Body:
    """`body`, at the end of the block, with leaves in tail position gone."""
    for at, s in enumerate(body):
        before, rest = body[:at], body[at + 1 :]
        if isinstance(s, ir.Leave):
            return before if s.label == label else body[: at + 1]
        if not leaves((s,), label):
            continue
        if isinstance(s, ir.If):
            then, orelse = s.then, s.orelse
            if rest and not falls_through(then):
                orelse = (*orelse, *rest)
            elif rest and not falls_through(orelse):
                then = (*then, *rest)
            elif rest:
                return body
            return (
                *before,
                replace(s, then=without_tail_leaves(then, label), orelse=without_tail_leaves(orelse, label)),
            )
        if isinstance(s, (ir.For, ir.Loop)) and not rest:
            return (*before, replace(s, body=_broken(s.body, label)))
        return body
    return body


def _broken(body: ir.Body, label: int) -> ir.Body:
    """The body of a loop that ends a block: a leave directly in it is a break."""
    out: list[ir.Stmt] = []
    for s in body:
        if isinstance(s, ir.Leave) and s.label == label:
            out.append(ir.Break(s.span))
        elif isinstance(s, ir.If):
            out.append(replace(s, then=_broken(s.then, label), orelse=_broken(s.orelse, label)))
        else:
            out.append(s)
    return tuple(out)


@dataclass(slots=True)
class _Flag:
    """A variable that says which exit a loop was left by."""

    symbol: ir.Symbol
    used: bool = False

    def raised(self, jump: ir.Stmt) -> ir.Body:
        self.used = True
        return (ir.Assign(jump.span, self.symbol, const(bool_, True, jump.span)), ir.Break(jump.span))

    def then(self, jump: ir.Stmt) -> ir.Stmt:
        return ir.If(jump.span, ref(self.symbol, jump.span), (jump,))

    def lowered(self, span: ir.Stmt) -> ir.Stmt:
        return ir.Assign(span.span, self.symbol, const(bool_, False, span.span))


class _Once:
    """Makes a block a loop of one trip."""

    def __init__(self, label: int) -> None:
        self.label = label
        self.left = _Flag(ir.Symbol("left", bool_, mutable=True))
        self.outer_break = _Flag(ir.Symbol("broke", bool_, mutable=True))
        self.outer_continue = _Flag(ir.Symbol("skipped", bool_, mutable=True))

    def convert(self, block: ir.Block) -> ir.Body:
        body = self.body(block.body, 0)
        flags = [f for f in (self.left, self.outer_break, self.outer_continue) if f.used]
        after = []
        if self.outer_break.used:
            after.append(self.outer_break.then(ir.Break(block.span)))
        if self.outer_continue.used:
            after.append(self.outer_continue.then(ir.Continue(block.span)))
        return (*(f.lowered(block) for f in flags), replace(block, body=body, once=True), *after)

    def body(self, body: ir.Body, depth: int) -> ir.Body:
        out: list[ir.Stmt] = []
        for s in body:
            out.extend(self.stmt(s, depth))
        return tuple(out)

    def stmt(self, s: ir.Stmt, depth: int) -> ir.Body:
        """`depth` counts loops between the block and the statement."""
        match s:
            case ir.Leave() if s.label == self.label:
                return self.left.raised(s) if depth else (ir.Break(s.span),)
            case ir.Break() if depth == 0:
                return self.outer_break.raised(s)
            case ir.Continue() if depth == 0:
                return self.outer_continue.raised(s)
            case ir.If():
                return (replace(s, then=self.body(s.then, depth), orelse=self.body(s.orelse, depth)),)
            case ir.For() | ir.Loop() | ir.Block() if is_loop(s):
                changed = replace(s, body=self.body(s.body, depth + 1))
                return (changed, self.left.then(ir.Break(s.span))) if leaves((s,), self.label) else (changed,)
        return (s,)
