"""The base that C-like renderers share: one method a statement, over `spelling` for all that it spells.

One instance renders one function.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from ruda_core.codegen.spelling import CLikeSpelling
from ruda_core.codegen.writer import bare
from ruda_core.dtypes import unsigned
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import is_simple

_LOOP = -1
"""On the stack of what a `break` can leave: a loop. Blocks are there by their labels."""


class CLikeRenderer(CLikeSpelling):
    """Renders one legalised function; see `Dialect.render` for what that means."""

    def body(self, body: ir.Body) -> None:
        """Write the statements of a body, after the variables that live in it."""
        for symbol in self._declarations.at_start.get(id(body), ()):
            self.w.line(self.declare(self.names.of(symbol), symbol.type, None, mutable=True) + ";")
        for stmt in body:
            method: Callable[[ir.Stmt], None] | None = getattr(self, f"stmt_{type(stmt).__name__}", None)
            if method is None:
                self.refuse(f"the statement {type(stmt).__name__}")
            method(stmt)

    def let(self, symbol: ir.Symbol, value: str) -> None:
        """Bind an immutable symbol."""
        self.w.line(self.declare(self.names.of(symbol), symbol.type, value, mutable=False) + ";")

    def stmt_Let(self, s: ir.Let) -> None:
        self.let(s.symbol, self.expr(s.value))

    def stmt_Assign(self, s: ir.Assign) -> None:
        name, value = self.names.of(s.symbol), self.choice(s.value)
        if s in self._declarations.with_value:
            self.w.line(self.declare(name, s.symbol.type, value, mutable=True) + ";")
        else:
            self.w.line(f"{name} = {bare(value)};")

    def stmt_Load(self, s: ir.Load) -> None:
        value = self.load(s.array, self._index(s), s.symbol.type)
        if s.check is not None:
            value = self.lazy(self.condition(self.expr(s.check)), value, self.zero(s.symbol.type))
        self.let(s.symbol, value)

    def stmt_Store(self, s: ir.Store) -> None:
        value = self.choice if s.array.space == "local" else self.expr
        with self._where(s.check):
            self.w.line(self.store(s.array, self._index(s), value(s.value), s.value.type))

    def stmt_Atomic(self, s: ir.Atomic) -> None:
        index, args = self._index(s), [self.expr(a) for a in s.args]
        if s.symbol is None or s.check is None:
            with self._where(s.check):
                value = self.atomic_call(s.op, s.array, index, args)
                if s.symbol is None:
                    if not value.isidentifier():  # a name alone does nothing, and is no statement in WGSL
                        self.w.line(f"{value};")
                else:
                    self.let(s.symbol, value)
            return
        name = self.names.of(s.symbol)
        zero = self.zero(s.symbol.type)
        self.w.line(self.declare(name, s.symbol.type, zero, mutable=True) + ";")
        with self._where(s.check):
            self.w.line(f"{name} = {self.atomic_call(s.op, s.array, index, args)};")

    def stmt_MaskedStore(self, s: ir.MaskedStore) -> None:
        with self._where(s.check), self.w.braces(""):
            index = self.temporary(s.index.type, self.expr(s.index))
            shift = self.temporary(s.shift.type, self.expr(s.shift))
            value = self.temporary(s.value.type, self.expr(s.value))
            self.masked_store(s.array, index, shift, s.mask, value)

    def stmt_If(self, s: ir.If) -> None:
        with self.w.braces(f"if ({bare(self.taken(s))})"):
            self.body(s.then)
        if s.orelse:
            with self.w.braces("else"):
                self.body(s.orelse)

    def taken(self, s: ir.If) -> str:
        """Hook: the condition of a branch, for targets that have to be told what lies behind it."""
        return self.condition(self.expr(s.cond))

    def stmt_Loop(self, s: ir.Loop) -> None:
        with self.w.braces(self.forever):
            self._breakable(_LOOP, s.body)

    def stmt_For(self, s: ir.For) -> None:
        step = s.step.value if isinstance(s.step, ir.Const) else None
        if step in (1, -1):
            self._counted(s, int(step))
        else:
            self._by_trips(s)

    def _counted(self, s: ir.For, step: int) -> None:
        """Steps of one cannot overflow before the end of the range."""
        stop = self._kept(s.stop, "stop")
        name, dtype = self.names.of(s.symbol), s.symbol.type.scalar
        cond = f"{name} {'<' if step > 0 else '>'} {stop}"
        with self.w.braces(self.for_head(name, dtype, self.expr(s.start), cond, step)):
            self._breakable(_LOOP, s.body)

    def _by_trips(self, s: ir.For) -> None:
        """Count the exact number of trips, and find the value from it by arithmetic that wraps."""
        if s.trips is None:
            self.refuse("a loop without its number of trips")
        word = unsigned(s.symbol.type.scalar)
        trips = self._kept(s.trips, "trips")
        start, step = (self._keep(e, stem) for e, stem in ((s.start, "start"), (s.step, "step")))
        trip = ir.Symbol("trip", word)
        name = self.names.of(trip)
        with self.w.braces(self.for_head(name, word, self.constant(word, 0), f"{name} < {trips}", 1)):
            moved = build.binary("*", build.ref(trip), build.bitcast(word, step))
            value = build.binary("+", build.bitcast(word, start), moved)
            self.let(s.symbol, self.expr(build.bitcast(s.symbol.type.scalar, value)))
            self._breakable(_LOOP, s.body)

    def _keep(self, expr: ir.Expr, stem: str) -> ir.Expr:
        """An expression with the value that `expr` has now, whatever the loop assigns."""
        if is_simple(expr):
            return expr
        symbol = ir.Symbol(stem, expr.type)
        self.let(symbol, self.expr(expr))
        return build.ref(symbol)

    def _kept(self, expr: ir.Expr, stem: str) -> str:
        return self.expr(self._keep(expr, stem))

    def stmt_Block(self, s: ir.Block) -> None:
        head, tail = self.once
        with self.w.braces(head, tail):
            self._breakable(s.label, s.body)

    def stmt_Leave(self, s: ir.Leave) -> None:
        if s.label == ir.KERNEL:
            self.w.line("return;")
            return
        if not self._leaves or self._leaves[-1] != s.label:
            self.refuse(f"an exit from block #{s.label} out of something inside it")
        self.w.line("break;")

    def stmt_Break(self, s: ir.Break) -> None:
        if not self._leaves:
            self.refuse("a break outside every loop")
        self.w.line("break;")  # inside a block of one trip it leaves the block

    def stmt_Continue(self, s: ir.Continue) -> None:
        if not self._leaves or self._leaves[-1] != _LOOP:
            self.refuse("a continue out of a block inside the loop")
        self.w.line("continue;")

    def stmt_Barrier(self, s: ir.Barrier) -> None:
        self.w.line(self.barrier(s.scope))

    def stmt_Subgroup(self, s: ir.Subgroup) -> None:
        self.let(s.symbol, self.subgroup_call(s.op, [self.expr(a) for a in s.args], s.symbol.type))

    def _breakable(self, what: int, body: ir.Body) -> None:
        self._leaves.append(what)
        self.body(body)
        self._leaves.pop()

    def _where(self, check: ir.Expr | None) -> AbstractContextManager[None]:
        if check is None:
            return nullcontext()
        return self.w.braces(f"if ({bare(self.condition(self.expr(check)))})")

    def _index(self, s: ir.Load | ir.Store | ir.Atomic) -> str:
        if len(s.index) != 1:
            self.refuse(f"an access to {s.array.name} with {len(s.index)} indices")
        return self.expr(s.index[0])


__all__ = ["CLikeRenderer"]
