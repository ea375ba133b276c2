"""The work-item plan: where the loops over the units of a group begin and end.

One thread runs a whole workgroup. Between barriers its units are independent, so the body becomes a tree:
statements done once for the group, control flow that holds barriers (the same for all units), and between
these, regions that run once for each unit. Values that live from one region into another are made again
where that is cheap, or kept in arrays with one element a unit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import bodies, expressions, walk
from ruda_cpu.analysis.variance import Variance, group_variance, has_outer_exit, symbols_of


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Statements that each unit runs, without a barrier."""

    body: ir.Body


@dataclass(frozen=True, slots=True, eq=False)
class Once:
    """A statement done once for the group: Let, Load, Assign, or an exit of control flow around it."""

    stmt: ir.Stmt


@dataclass(frozen=True, slots=True, eq=False)
class Control:
    """Control flow that all units take together; one list of nodes for each of its bodies."""

    stmt: ir.If | ir.Loop | ir.For | ir.Block
    children: tuple[tuple[Node, ...], ...]


Node = Region | Once | Control


@dataclass(slots=True)
class Plan:
    """The tree, and where each symbol lives."""

    nodes: tuple[Node, ...]
    variance: Variance
    """Over the workgroup."""
    group: set[ir.Symbol]
    """Symbols with one value for the group, computed outside of regions."""
    kept: list[ir.Symbol] = field(default_factory=list)
    """Symbols that get an array with one element a unit."""
    remade: set[ir.Symbol] = field(default_factory=set)
    """Immutable symbols that each region computes for itself."""
    lets: dict[ir.Symbol, ir.Expr] = field(default_factory=dict)
    """Values of all symbols bound by Let."""
    fixed: frozenset[ir.Symbol] = frozenset()
    """Those whose values depend on positions and parameters only: the same wherever they are computed."""

    @property
    def regions(self) -> list[Region]:
        """Those of the whole tree."""
        return _regions(self.nodes)


def _regions(nodes: tuple[Node, ...]) -> list[Region]:
    found = []
    for node in nodes:
        if isinstance(node, Region):
            found.append(node)
        elif isinstance(node, Control):
            found += [region for child in node.children for region in _regions(child)]
    return found


def plan(function: ir.Function, outside: Collection[ir.Stmt] = ()) -> Plan:
    """The plan of a function whose exits are normalised.

    `outside`: control flow without barriers that stays around regions, as if there were one in it.
    """
    variance = group_variance(function)
    lets = {s.symbol: s.value for s in walk(function.body) if isinstance(s, ir.Let)}
    mutable: set[ir.Symbol] = set()
    while True:
        builder = _Builder(variance, set(mutable), outside)
        nodes = builder.nodes(function.body)
        needed = _needed(nodes, variance, lets, function.body)
        if needed <= mutable:
            break
        mutable |= needed
    result = Plan(nodes, variance, builder.group, lets=lets, fixed=_fixed(lets))
    _place(result)
    return result


class _Builder:
    def __init__(self, variance: Variance, mutable: set[ir.Symbol], outside: Collection[ir.Stmt]) -> None:
        self.outside = outside
        self.variance = variance
        self.mutable = mutable
        self.group = set(mutable)

    def nodes(self, body: ir.Body) -> tuple[Node, ...]:
        out: list[Node] = []
        region: list[ir.Stmt] = []

        def end_region() -> None:
            if region:
                out.append(Region(tuple(region)))
                region.clear()

        for stmt in body:
            if isinstance(stmt, ir.Barrier):
                end_region()
            elif self.once_for_group(stmt):
                out.append(Once(stmt))  # before the region at hand: it depends on nothing that regions change
                self.group.add(stmt.symbol)  # type: ignore[attr-defined]  # a Let or Load
            elif (
                isinstance(stmt, ir.Assign)
                and stmt.symbol in self.mutable
                or isinstance(stmt, (ir.Break, ir.Continue, ir.Leave))
            ):
                end_region()
                out.append(Once(stmt))
            elif isinstance(stmt, (ir.If, ir.Loop, ir.For, ir.Block)) and self.must_stay_outside(stmt):
                end_region()
                if isinstance(stmt, ir.For):
                    self.group.add(stmt.symbol)
                out.append(Control(stmt, tuple(self.nodes(b) for b in bodies(stmt))))
            else:
                region.append(stmt)
        end_region()
        return tuple(out)

    def must_stay_outside(self, stmt: ir.If | ir.Loop | ir.For | ir.Block) -> bool:
        inner = tuple(walk((stmt,)))
        if any(isinstance(s, ir.Barrier) or s in self.outside for s in inner):
            return True
        if any(isinstance(s, ir.Assign) and s.symbol in self.mutable for s in inner):
            return True
        # what leaves control flow outside must itself be outside
        return has_outer_exit((stmt,))

    def once_for_group(self, stmt: ir.Stmt) -> bool:
        if not isinstance(stmt, (ir.Let, ir.Load)) or stmt.symbol in self.variance.symbols:
            return False
        return all(e.symbol in self.group for e in expressions(stmt) if isinstance(e, ir.Ref))


def _needed(
    nodes: tuple[Node, ...], variance: Variance, lets: dict[ir.Symbol, ir.Expr], body: ir.Body
) -> set[ir.Symbol]:
    """Uniform variables that the control flow outside of regions depends on."""
    sources: dict[ir.Symbol, list[ir.Expr]] = {}
    for stmt in walk(body):
        if isinstance(stmt, (ir.Let, ir.Assign, ir.Load)):
            sources.setdefault(stmt.symbol, []).extend(expressions(stmt))
    pending = [s for c in _controls(nodes) for s in _condition_symbols(c.stmt)]
    seen: set[ir.Symbol] = set()
    while pending:
        symbol = pending.pop()
        if symbol in seen or symbol in variance.symbols:
            continue
        seen.add(symbol)
        pending += [e.symbol for e in sources.get(symbol, ()) if isinstance(e, ir.Ref)]
    return {s for s in seen if s.mutable}


def _controls(nodes: tuple[Node, ...]) -> list[Control]:
    found = []
    for node in nodes:
        if isinstance(node, Control):
            found.append(node)
            for child in node.children:
                found += _controls(child)
    return found


def _condition_symbols(stmt: ir.Stmt) -> list[ir.Symbol]:
    return [e.symbol for e in expressions(stmt) if isinstance(e, ir.Ref)]


def _fixed(lets: dict[ir.Symbol, ir.Expr]) -> frozenset[ir.Symbol]:
    found: set[ir.Symbol] = set()
    for symbol, value in lets.items():  # in program order, so that what a value needs comes before it
        if all(e.symbol in found for e in (value, *expressions(value)) if isinstance(e, ir.Ref)):
            found.add(symbol)
    return frozenset(found)


def _place(result: Plan) -> None:
    """Decide for each symbol that several regions use whether it is made again or kept."""
    uses: dict[ir.Symbol, set[object]] = {}

    def note(symbols: list[ir.Symbol], place: object) -> None:
        for symbol in symbols:
            if symbol not in result.group:
                uses.setdefault(symbol, set()).add(place)

    def visit(nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            if isinstance(node, Region):
                for stmt in walk(node.body):
                    note(symbols_of(stmt), node)
            elif isinstance(node, Once):
                note([e.symbol for e in expressions(node.stmt) if isinstance(e, ir.Ref)], node)
            else:
                note(_condition_symbols(node.stmt), node)
                for child in node.children:
                    visit(child)

    visit(result.nodes)
    crossing = [s for s, places in uses.items() if len(places) > 1]
    cheap = remakeable(result)
    for symbol in crossing:
        if cheap(symbol):
            result.remade.add(symbol)
        else:
            result.kept.append(symbol)


def remakeable(result: Plan) -> Callable[[ir.Symbol], bool]:
    """Tests whether a symbol's value can be computed anywhere: from positions, parameters, group values."""
    memo: dict[ir.Symbol, int] = {}
    limit = 24

    def cost(symbol: ir.Symbol) -> int:
        if symbol in result.group:
            return 0 if not symbol.mutable else limit
        if symbol not in memo:
            memo[symbol] = limit
            value = result.lets.get(symbol)
            if value is not None:
                memo[symbol] = min(limit, of(value))
        return memo[symbol]

    def of(expr: ir.Expr) -> int:
        total = 1
        for e in (expr, *expressions(expr)):
            if isinstance(e, ir.Ref):
                total += cost(e.symbol)
            elif isinstance(e, ir.Math) or isinstance(e, ir.Binary) and e.op in ("quo", "rem", "/"):
                if not (isinstance(e, ir.Binary) and isinstance(e.b, ir.Const) and e.b.value != 0):
                    return limit
            else:
                total += 1
            if total >= limit:
                return limit
        return total

    return lambda symbol: cost(symbol) < limit
