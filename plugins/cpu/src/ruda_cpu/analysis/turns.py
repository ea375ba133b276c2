"""Loops in which units jump ahead, as over a launch's size: their group takes the turns together.

In `for i in range(ABSOLUTE_POS, n, size)` neighbouring units read neighbouring elements, while one unit's
elements lie far apart. Taken unit after unit, or strip after strip, memory is read in jumps, and a line of it
once for each strip that it spans. So the turns that all units make become a loop of the group around
straight code, and what some of them make beyond those follows as the loop that it was.

The fewest turns are those of the group's first unit or of its last one, because the number falls or rises
with the start of the range, which moves evenly from unit to unit. Where that start may wrap, it is asked
in 64 bits whether it does; then the group takes no turns together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ruda_core.dtypes import i64
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import BODY_FIELDS, Rewriter, expressions, map_expr, walk
from ruda_core.passes.fold import fold_expr
from ruda_cpu.analysis.layout import Layout
from ruda_cpu.analysis.normal import has_barrier
from ruda_cpu.analysis.positions import Positions
from ruda_cpu.analysis.strides import of_builtin, stride
from ruda_cpu.analysis.variance import group_variance, uses
from ruda_cpu.target import WIDTH

_STRAIGHT = (ir.Let, ir.Assign, ir.Load, ir.Store, ir.Atomic, ir.MaskedStore, ir.If)
_VARIABLES = 4
"""Variables from outside that a loop may change: each is an element of an array that is read and written a turn."""
_DEEP = 32
"""Values that follow one another, beyond which a start is not computed for single units."""


@dataclass(slots=True)
class Turns:
    """A function whose groups take turns together."""

    function: ir.Function
    outside: set[ir.Stmt] = field(default_factory=set)
    """Control flow that a group takes as one, around regions, although there is no barrier in it."""
    jumps: dict[ir.Stmt, tuple[ir.Expr, int]] = field(default_factory=dict)
    """By loop of turns: how far a unit jumps in a turn, and how far it is from one unit to the next."""


def in_turns(function: ir.Function) -> Turns:
    """The function, in normal form, with turns taken together where that keeps accesses side by side."""
    layout = Layout.of(function.dim)
    if layout.rows > 1 or layout.axis is None or layout.extent <= WIDTH:
        return Turns(function)
    if not any(isinstance(s, ir.For) for s in walk(function.body)):
        return Turns(function)
    found = _Finder(function, layout)
    body = found.body(function.body)
    found.turns.function = replace(function, body=body)
    return found.turns


class _Finder:
    def __init__(self, function: ir.Function, layout: Layout) -> None:
        self.function, self.layout = function, layout
        self.turns = Turns(function)
        self.variance = group_variance(function)
        self.lets = {s.symbol: s.value for s in walk(function.body) if isinstance(s, ir.Let)}
        self.positions = Positions(function, self.lets)
        self.strides: dict[ir.Symbol, int | None] = {}
        self.depths: dict[ir.Symbol, int] = {}
        """How many values follow one another to a symbol's."""
        for symbol, value in self.lets.items():  # in program order: long chains are not followed at once
            self.strides[symbol] = self._stride(value) if symbol in self.variance.symbols else 0
            before = (
                self.depths.get(e.symbol, 0) for e in (value, *expressions(value)) if isinstance(e, ir.Ref)
            )
            self.depths[symbol] = 1 + max(before, default=0)
        self.uses = uses(function.body)

    def body(self, body: ir.Body) -> ir.Body:
        """Statements that all units of a group come to together."""
        return tuple(new for stmt in body for new in self._stmt(stmt))

    def _stmt(self, s: ir.Stmt) -> ir.Body:
        if isinstance(s, ir.For) and self._fits(s):
            return self._together(s)
        if has_barrier(s):
            parts: dict[str, Any] = {n: self.body(getattr(s, n)) for n in BODY_FIELDS if hasattr(s, n)}
            return (replace(s, **parts),)
        return (s,)

    # Which loops -------------------------------------------------------------------------------

    def _fits(self, s: ir.For) -> bool:
        return self._jumps_evenly(s) and self._is_straight(s)

    def _jumps_evenly(self, s: ir.For) -> bool:
        """True for a range that starts evenly from unit to unit and passes by the whole group in a step."""
        if any(self.depths.get(e.symbol, 0) > _DEEP for e in (s.start, s.trips) if isinstance(e, ir.Ref)):
            return False
        if s.start.type.bits > 32 and not self.positions.is_position(s.start):
            return False  # 64 bits do not show whether it wraps
        if self.variance.varies(s.stop) or self.variance.varies(s.step):
            return False
        jump = self._stride(s.start)
        if not jump:
            return False
        return not isinstance(s.step, ir.Const) or abs(int(s.step.value)) >= self.layout.extent * abs(jump)

    def _is_straight(self, s: ir.For) -> bool:
        """True for a body without loops and exits that reads or writes side by side, and keeps little."""
        statements = list(walk(s.body))
        if s.symbol.mutable or not all(isinstance(inner, _STRAIGHT) for inner in statements):
            return False
        bound = {x for inner in (s, *statements) if (x := getattr(inner, "symbol", None)) is not None}
        inside = uses((s,))
        shared = [x for x in bound if inside[x] != self.uses[x]]
        if len(shared) > _VARIABLES or not all(x.mutable for x in shared):
            return False  # immutable ones are used after the loop
        self.strides[s.symbol] = self._stride(s.start)
        for inner in statements:
            if isinstance(inner, ir.Let):
                self.strides[inner.symbol] = self._stride(inner.value)
        return any(self._is_even(inner) for inner in statements)

    def _is_even(self, s: ir.Stmt) -> bool:
        """True for an access that moves evenly from unit to unit."""
        return isinstance(s, (ir.Load, ir.Store, ir.Atomic)) and bool(self._stride(s.index[0]))

    def _stride(self, e: ir.Expr) -> int | None:
        return stride(
            e,
            lambda b: of_builtin(b, self.layout, self.function.dim),
            self._symbol_stride,
            self.positions.is_position,
        )

    def _symbol_stride(self, symbol: ir.Symbol) -> int | None:
        if symbol.mutable:
            return None  # it may change before the loop
        return self.strides.get(symbol) if symbol in self.variance.symbols else 0

    # Their turns -------------------------------------------------------------------------------

    def _together(self, s: ir.For) -> ir.Body:
        assert s.trips is not None  # normal form
        out: list[ir.Stmt] = []

        def let(name: str, value: ir.Expr) -> ir.Expr:
            if isinstance(value, ir.Const):
                return value
            symbol = ir.Symbol(name, value.type)
            out.append(ir.Let(s.span, symbol, value))
            return build.ref(symbol, s.span)

        last = self.layout.extent - 1
        first_trips, last_trips = (let("trips", self._at(s.trips, unit)) for unit in (0, last))
        least = build.select(build.compare("<", first_trips, last_trips), first_trips, last_trips)
        more = build.compare("!=", first_trips, last_trips)
        if not self.positions.is_position(s.start):
            jump = self._stride(s.start)
            assert jump is not None
            low, high = (build.cast(i64, self._at(s.start, unit)) for unit in (0, last))
            even = let(
                "even", build.compare("==", build.binary("+", low, build.like(low, jump * last)), high)
            )
            least = build.select(even, least, build.like(least, 0))
            more = build.either(build.negate(even), more)
        common, more = let("common", fold_expr(least)), fold_expr(more)
        if isinstance(common, ir.Const) and common.value == 1:
            out += [ir.Let(s.span, s.symbol, s.start), *s.body]
        else:
            out.append(self._turns(s, common))
        if not (isinstance(more, ir.Const) and not more.value):
            out.append(self._rest(s, common, more))
        return tuple(out)

    def _turns(self, s: ir.For, common: ir.Expr) -> ir.For:
        word = common.type.scalar
        turn = ir.Symbol("turn", word)
        far = build.binary("*", build.cast(s.step.type.scalar, build.ref(turn), raw=True), s.step)
        own = ir.Let(s.span, s.symbol, build.binary("+", s.start, far))
        zero, one = build.const(word, 0, s.span), build.const(word, 1, s.span)
        loop = ir.For(s.span, turn, zero, common, one, (own, *s.body), common)
        self.turns.outside.add(loop)
        self.turns.jumps[loop] = (s.step, self._stride(s.start) or 0)
        return loop

    def _rest(self, s: ir.For, common: ir.Expr, more: ir.Expr) -> ir.If:
        """The turns that are left, for units that make more than the fewest."""
        done = build.binary("*", build.cast(s.step.type.scalar, common, raw=True), s.step)
        start = build.binary("+", s.start, done)
        loop = replace(s, start=start, trips=s.trips and build.binary("-", s.trips, common))
        own = [x for x, n in uses((s,)).items() if n == self.uses[x]]
        renamed = _Renamed(own).run(replace(self.function, body=(loop,)))
        rest = ir.If(s.span, more, renamed.body)
        self.turns.outside.add(rest)
        return rest

    def _at(self, e: ir.Expr, unit: int) -> ir.Expr:
        """The value for one unit of the group."""

        def leaf(x: ir.Expr) -> ir.Expr:
            if isinstance(x, ir.Ref) and x.symbol in self.variance.symbols:
                return self._at(self.lets[x.symbol], unit)
            if isinstance(x, ir.Builtin) and x.name == "unit_pos":
                own = x.axis is None or x.axis == self.layout.axis
                return build.const(x.type.scalar, unit if own else 0, x.span)
            return x

        return fold_expr(map_expr(e, leaf))


class _Renamed(Rewriter):
    """A copy with symbols of its own."""

    def __init__(self, symbols: list[ir.Symbol]) -> None:
        self.new = {x: replace(x) for x in symbols}

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Ref) and expr.symbol in self.new:
            return replace(expr, symbol=self.new[expr.symbol])
        return expr

    def stmt(self, stmt: ir.Stmt) -> None:
        symbol: Any = getattr(stmt, "symbol", None)
        new: dict[str, Any] = {"symbol": self.new[symbol]} if symbol in self.new else {}
        self.emit(replace(stmt, **new))
