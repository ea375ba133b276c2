"""The shape that the plan takes: one way to leave a block, turns counted in every loop, dense tensors apart."""

from __future__ import annotations

from dataclasses import replace

from ruda_core.dtypes import unsigned
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter, expressions, walk
from ruda_core.ir.verify import InvalidIR


def normal(function: ir.Function) -> ir.Function:
    """The function with `Leave` for every exit of a block, the kernel's own included, and `For.trips`."""
    body = _body(function.body, None)
    if any(isinstance(s, ir.Leave) and s.label == ir.KERNEL for s in walk(body)):
        body = (_block(ir.Block(function.span, ir.KERNEL, body)),)
    return replace(function, body=body)


def row_strides(function: ir.Function) -> list[tuple[ir.Array, int]]:
    """Tensors of which the stride along the last axis is used, with that axis."""
    used: dict[ir.Array, int] = {}
    for stmt in walk(function.body):
        for e in expressions(stmt):
            if isinstance(e, ir.Stride) and e.array.rank is not None and e.axis == e.array.rank - 1:
                used[e.array] = e.axis
    return list(used.items())


def with_dense_rows(function: ir.Function) -> ir.Function:
    """The function for tensors whose elements lie side by side along the last axis; itself without tensors."""
    wanted = set(row_strides(function))
    if not wanted:
        return function
    return _DenseRows(wanted).run(function)


class _DenseRows(Rewriter):
    def __init__(self, wanted: set[tuple[ir.Array, int]]) -> None:
        self.wanted = wanted

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Stride) and (expr.array, expr.axis) in self.wanted:
            return build.const(expr.type.scalar, 1, expr.span)
        if (
            isinstance(expr, ir.Binary)
            and expr.op == "*"
            and isinstance(expr.b, ir.Const)
            and expr.b.value == 1
        ):
            return expr.a
        return expr


def has_barrier(stmt: ir.Stmt) -> bool:
    return any(isinstance(s, ir.Barrier) for s in walk((stmt,)))


def _body(body: ir.Body, once: int | None) -> ir.Body:
    return tuple(_stmt(s, once) for s in body)


def _stmt(s: ir.Stmt, once: int | None) -> ir.Stmt:
    """`once`: the label of the block that a Break leaves; None: it leaves a loop."""
    match s:
        case ir.Break() if once is not None:
            return ir.Leave(s.span, once)
        case ir.If():
            return replace(s, then=_body(s.then, once), orelse=_body(s.orelse, once))
        case ir.Loop():
            return replace(s, body=_body(s.body, None))
        case ir.For():
            return replace(s, body=_body(s.body, None), trips=s.trips or _trips(s))
        case ir.Block():
            return _block(replace(s, body=_body(s.body, s.label if s.once else once)))
    return s


def _block(s: ir.Block) -> ir.Block:
    """What follows the last barrier of a block becomes a block of the same label.

    There units may leave one by one; before it they leave together, as the barrier demands.
    """
    last = max((k for k, inner in enumerate(s.body) if has_barrier(inner)), default=-1)
    rest = s.body[last + 1 :]
    leaves = any(isinstance(inner, ir.Leave) and inner.label == s.label for inner in walk(rest))
    if last < 0 or not leaves:
        return s
    return replace(s, body=(*s.body[: last + 1], replace(s, body=rest)))


def _trips(s: ir.For) -> ir.Expr:
    """The turns of a range whose step is one up or down."""
    if not isinstance(s.step, ir.Const) or s.step.value not in (1, -1):
        raise InvalidIR(f"a For whose step is not one has no number of turns ({s.span})")
    low, high = (s.start, s.stop) if s.step.value == 1 else (s.stop, s.start)
    word = unsigned(s.start.type.scalar)
    gap = build.binary("-", build.cast(word, high, raw=True), build.cast(word, low, raw=True))
    return build.select(build.compare("<", low, high), gap, build.const(word, 0, s.span))
