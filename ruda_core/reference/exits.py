"""Which jumps leave a statement: what decides where masks can shrink."""

from __future__ import annotations

from collections.abc import Iterable

from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import bodies, expressions

Exit = str | int
"""`"break"` or `"continue"` of the loop around, or the label of a `Leave`."""


class Exits:
    """The exits of each statement, found once."""

    def __init__(self) -> None:
        self._known: dict[int, frozenset[Exit]] = {}

    def of(self, s: ir.Stmt) -> frozenset[Exit]:
        found = self._known.get(id(s))
        if found is None:
            found = self._known[id(s)] = self._find(s)
        return found

    def of_body(self, body: Iterable[ir.Stmt]) -> frozenset[Exit]:
        return frozenset().union(*(self.of(s) for s in body))

    def _find(self, s: ir.Stmt) -> frozenset[Exit]:
        match s:
            case ir.Break():
                return frozenset({"break"})
            case ir.Continue():
                return frozenset({"continue"})
            case ir.Leave():
                return frozenset({s.label})
        inside: frozenset[Exit] = frozenset().union(*(self.of_body(b) for b in bodies(s)))
        if isinstance(s, (ir.Loop, ir.For)):
            return inside - {"break", "continue"}
        return inside - {s.label} if isinstance(s, ir.Block) else inside


def outliving(body: ir.Body) -> frozenset[ir.Symbol]:
    """Immutable symbols bound in a loop and used outside of it.

    Units that left the loop keep the value of their own last trip.
    """
    bound: dict[ir.Symbol, tuple[int, ...]] = {}
    result: set[ir.Symbol] = set()

    def visit(body: ir.Body, loops: tuple[int, ...]) -> None:
        for s in body:
            for e in expressions(s):
                if isinstance(e, ir.Ref) and e.symbol in bound:
                    home = bound[e.symbol]
                    if loops[: len(home)] != home:
                        result.add(e.symbol)
            inner = (*loops, id(s)) if isinstance(s, (ir.Loop, ir.For)) else loops
            symbol = getattr(s, "symbol", None)
            if symbol is not None and not symbol.mutable:
                bound[symbol] = inner
            for inside in bodies(s):
                visit(inside, inner)

    visit(body, ())
    return frozenset(result)
