"""Which values may differ between the units that run together, and which loops their exits tear apart.

Asked twice: over a workgroup (what can be computed once for all its units, and which control flow may
stay outside the loop over them), and over the strip of neighbouring units that a vector holds (what stays
one scalar beside the vectors, and which loops need masks).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import bodies, expressions, operands, walk


def symbols_of(stmt: ir.Stmt) -> list[ir.Symbol]:
    """Symbols that the statement itself reads or binds, not those of statements inside it."""
    found = [e.symbol for e in expressions(stmt) if isinstance(e, ir.Ref)]
    bound = getattr(stmt, "symbol", None)
    if bound is not None:
        found.append(bound)
    return found


def uses(body: Iterable[ir.Stmt]) -> Counter[ir.Symbol]:
    """How often statements, and those inside them, name each symbol."""
    found: Counter[ir.Symbol] = Counter()
    for stmt in walk(body):
        found.update(symbols_of(stmt))
    return found


def written_arrays(function: ir.Function) -> frozenset[ir.Array]:
    """Arrays that the kernel changes, with those that share a binding with one."""
    written = {s.array for s in walk(function.body) if isinstance(s, (ir.Store, ir.Atomic, ir.MaskedStore))}
    for binding in function.bindings:
        if written.intersection(binding.arrays):
            written.update(binding.arrays)
    return frozenset(written)


class Variance:
    """The result of one question: varying symbols, and loops and blocks with varying exits."""

    def __init__(
        self,
        body: Iterable[ir.Stmt],
        builtin_varies: Callable[[ir.Builtin], bool],
        load_varies: Callable[[ir.Array], bool],
        *,
        assume: Iterable[ir.Symbol] = (),
        strip: bool = False,
    ) -> None:
        """`load_varies` is asked for a load at an index that does not vary; `assume` vary from the start.

        `strip`: a variable that lives within a masked construct has one value for the units in it, and
        every loop or block that is left through a `Leave` counts as torn.
        """
        self._builtin_varies = builtin_varies
        self._load_varies = load_varies
        self._strip = strip
        self._body = tuple(body)
        self._total = uses(self._body)
        self._inside: dict[ir.Stmt, Counter[ir.Symbol]] = {}
        self.symbols: set[ir.Symbol] = set(assume)
        self.torn: set[ir.Stmt] = set()
        size = -1
        while size != len(self.symbols) + len(self.torn):
            size = len(self.symbols) + len(self.torn)
            self._visit(self._body, ())

    def varies(self, expr: ir.Expr | None) -> bool:
        """True when the value may differ between units."""
        if expr is None:
            return False
        if isinstance(expr, ir.Ref):
            return expr.symbol in self.symbols
        if isinstance(expr, ir.Builtin):
            return self._builtin_varies(expr)
        return any(self.varies(o) for o in operands(expr))

    def _visit(self, body: ir.Body, torn: tuple[ir.Stmt, ...]) -> None:
        for stmt in body:
            self._bindings(stmt, torn)
            if isinstance(stmt, ir.If):
                inner = (*torn, stmt) if self.varies(stmt.cond) else torn
            elif isinstance(stmt, (ir.Loop, ir.For, ir.Block)):
                if self._is_torn(stmt):
                    self.torn.add(stmt)
                inner = (*torn, stmt) if stmt in self.torn else torn
            else:
                inner = torn
            for nested in bodies(stmt):
                self._visit(nested, inner)

    def _bindings(self, stmt: ir.Stmt, torn: tuple[ir.Stmt, ...]) -> None:
        symbol: ir.Symbol | None = getattr(stmt, "symbol", None)
        if symbol is None or symbol in self.symbols:
            return
        if isinstance(stmt, ir.Load):
            index = any(self.varies(e) for e in (*stmt.index, stmt.check))
            varies = index or stmt.array.space == "local" or self._load_varies(stmt.array)
        elif isinstance(stmt, ir.For):
            varies = self.varies(stmt.start) or self.varies(stmt.step)
        elif isinstance(stmt, ir.Let):
            varies = self.varies(stmt.value)
        elif isinstance(stmt, ir.Assign):
            varies = self.varies(stmt.value) or any(self._outlives(symbol, scope) for scope in torn)
        else:
            varies = True
        if varies:
            self.symbols.add(symbol)

    def _outlives(self, symbol: ir.Symbol, scope: ir.Stmt) -> bool:
        if not self._strip:
            return True
        if scope not in self._inside:
            self._inside[scope] = uses((scope,))
        return self._inside[scope][symbol] != self._total[symbol]

    def _is_torn(self, stmt: ir.Loop | ir.For | ir.Block) -> bool:
        if isinstance(stmt, ir.Block):
            labels = frozenset({stmt.label})
            return self._exits(stmt.body, loop=False, labels=labels, varying=self._strip, inward=True)
        if isinstance(stmt, ir.For) and self.varies(stmt.trips):
            return True
        if self._exits(stmt.body, loop=True, labels=frozenset(), varying=False, inward=True):
            return True
        inner = frozenset(s.label for s in walk(stmt.body) if isinstance(s, ir.Block))
        return self._exits(stmt.body, loop=False, labels=inner, varying=self._strip, inward=False)

    def _exits(
        self, body: ir.Body, *, loop: bool, labels: frozenset[int], varying: bool, inward: bool
    ) -> bool:
        """True when an exit is reached by some units only.

        Exits are Break and Continue with `loop`, and a Leave whose label is among `labels` (`inward`) or
        is not (`inward` false).
        """
        for stmt in body:
            if isinstance(stmt, (ir.Break, ir.Continue)):
                if loop and varying:
                    return True
            elif isinstance(stmt, ir.Leave):
                if (stmt.label in labels) == inward and varying and (labels or not inward):
                    return True
            else:
                tears = isinstance(stmt, ir.If) and self.varies(stmt.cond) or stmt in self.torn
                deeper = loop and not isinstance(stmt, (ir.Loop, ir.For))
                for nested in bodies(stmt):
                    if self._exits(
                        nested, loop=deeper, labels=labels, varying=varying or tears, inward=inward
                    ):
                        return True
        return False


def group_variance(function: ir.Function) -> Variance:
    """What varies between the units of a workgroup."""
    written = written_arrays(function)
    return Variance(
        function.body,
        lambda b: b.name in ("absolute_pos", "unit_pos"),
        lambda a: not (a.space == "constant" or a.space == "global" and a not in written),
    )


def has_outer_exit(body: ir.Body) -> bool:
    """True when a statement inside leaves the body: Break or Continue of a loop, or Leave of a block, around it."""
    return any(_leaves(s, False, frozenset()) for s in body)


def _leaves(stmt: ir.Stmt, in_loop: bool, labels: frozenset[int]) -> bool:
    if isinstance(stmt, (ir.Break, ir.Continue)):
        return not in_loop
    if isinstance(stmt, ir.Leave):
        return stmt.label not in labels
    in_loop = in_loop or isinstance(stmt, (ir.Loop, ir.For))
    if isinstance(stmt, ir.Block):
        labels = labels | {stmt.label}
    return any(_leaves(s, in_loop, labels) for nested in bodies(stmt) for s in nested)


def escaping(body: ir.Body) -> frozenset[ir.Symbol]:
    """Immutable symbols that are bound in a loop and used outside of it."""
    total = uses(body)
    found: set[ir.Symbol] = set()
    for loop in walk(body):
        if not isinstance(loop, (ir.Loop, ir.For)):
            continue
        inside = uses(loop.body)
        bound: set[ir.Symbol] = set()
        for stmt in walk(loop.body):
            symbol = getattr(stmt, "symbol", None)
            if symbol is not None and not symbol.mutable:
                bound.add(symbol)
        found.update(s for s in bound if inside[s] != total[s])
    return frozenset(found)
