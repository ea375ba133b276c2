"""Small questions about control flow that several passes ask."""

from __future__ import annotations

from collections.abc import Iterable

from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import bodies, walk

JUMPS = (ir.Leave, ir.Break, ir.Continue)


def leaves(body: Iterable[ir.Stmt], label: int) -> bool:
    """True when some statement, however deep, exits the block of this label."""
    return any(isinstance(s, ir.Leave) and s.label == label for s in walk(body))


def is_loop(stmt: ir.Stmt) -> bool:
    """True for what a `Break` directly inside belongs to."""
    return isinstance(stmt, (ir.Loop, ir.For)) or (isinstance(stmt, ir.Block) and stmt.once)


def breaks(body: Iterable[ir.Stmt]) -> bool:
    """True when some `Break` belongs to the loop whose body this is."""
    return any(
        isinstance(s, ir.Break) or (not is_loop(s) and any(breaks(inner) for inner in bodies(s)))
        for s in body
    )


def falls_through(body: ir.Body) -> bool:
    """False when control can never reach the end of `body`."""
    return all(_continues(stmt) for stmt in body)


def _continues(s: ir.Stmt) -> bool:
    if isinstance(s, JUMPS):
        return False
    if isinstance(s, ir.If):
        return falls_through(s.then) or falls_through(s.orelse)
    if isinstance(s, ir.Loop):
        return breaks(s.body)
    if isinstance(s, ir.Block):
        return falls_through(s.body) or leaves(s.body, s.label) or (s.once and breaks(s.body))
    return True


def reachable(body: ir.Body) -> ir.Body:
    """`body` up to and with the first statement that control does not pass."""
    for at, stmt in enumerate(body):
        if not _continues(stmt):
            return body[: at + 1]
    return body
