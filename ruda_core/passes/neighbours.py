"""The body of an elementwise kernel for several neighbouring elements at once: a part of `widen`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ruda_core.dtypes import bool_, unsigned
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, walk
from ruda_core.passes.copies import Copy, WordCopy, Words, counted
from ruda_core.passes.elementwise import Elementwise, moves_memory


class Neighbours:
    """The body for neighbours in step: what they share is done once, memory is moved by vectors."""

    def __init__(
        self, kernel: Elementwise, wide: Mapping[ir.Array, ir.Array], width: int, *, views: bool
    ) -> None:
        """`wide`: the arrays by vectors. Every array begins on a multiple of `width` elements.

        `views`: single elements may be accessed as such beside the vectors.
        """
        self.views = views
        self.kernel = kernel
        self.wide = wide
        self.width = width
        self.copies: list[Copy] = []
        self.places: dict[ir.Array, ir.Expr] = {}
        self.mentions = _mentions(kernel.function.body)
        self._out: list[ir.Stmt] = []

    def unit(self, first: ir.Expr) -> ir.Body:
        """The body for the neighbours that begin at `first`, a multiple of `width`."""
        return self._collect(lambda: self._unit(first))

    def _unit(self, first: ir.Expr) -> None:
        index = self.kernel.function.index
        word = unsigned(index)
        position = self.let("i", first)
        for array in self.kernel.arrays:
            start = b.cast(word, b.binary("+", ir.Offset(index, None, array), position))
            place = b.binary("quo", start, b.const(word, self.width))
            self.places[array] = self.let("at", b.cast(index, place))
        self.copies = [self.copy(position, b.const(index, 0))]
        for k in range(1, self.width):
            lane = b.const(index, k)
            self.copies.append(self.copy(self.let("i", b.binary("+", position, lane)), lane))
        self.stmts(self.kernel.function.body)

    def copy(self, position: ir.Expr, lane: ir.Expr) -> Copy:
        """The body for one of the neighbours."""
        if self.views:
            return Copy(position)
        return WordCopy(position, lane, Words(self.kernel, self.wide, self.places))

    # Writing --------------------------------------------------------------------------------------

    def _collect(self, write: Callable[[], None]) -> ir.Body:
        outer, self._out = self._out, []
        write()
        body, self._out = tuple(self._out), outer
        return body

    def body(self, body: ir.Body) -> ir.Body:
        return self._collect(lambda: self.stmts(body))

    def let(self, name: str, value: ir.Expr) -> ir.Expr:
        symbol = ir.Symbol(name, value.type)
        self._out.append(ir.Let(value.span, symbol, value))
        return b.ref(symbol, value.span)

    # Statements -----------------------------------------------------------------------------------

    def stmts(self, body: ir.Body) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, s: ir.Stmt) -> None:
        varies = self.kernel.varies
        match s:
            case ir.Load() if s.array in self.wide and self.kernel.is_position(s.index[0]):
                self.load(s)
            case ir.Store():
                self.store(s)
            case ir.Let() | ir.Load() if s.symbol not in self.kernel.varying:
                self.once(s)
            case ir.If() if not varies(s.cond):
                cond = self.copies[0].expr(s.cond)
                self._out.append(ir.If(s.span, cond, self.body(s.then), self.body(s.orelse)))
            case ir.If() if moves_memory((*s.then, *s.orelse)):
                self.guard(s)
            case _:
                self._out.extend(self.each(s))

    def each(self, s: ir.Stmt) -> ir.Body:
        """The statement for each element by itself."""
        return tuple(new for copy in self.copies for new in copy.stmt(s))

    def once(self, s: ir.Let | ir.Load) -> None:
        """Something that the elements share."""
        first = self.copies[0]
        self._out.extend(first.stmt(s))
        for copy in self.copies[1:]:
            copy.known[s.symbol] = first.known[s.symbol]

    def guard(self, s: ir.If) -> None:
        """A branch that neighbours nearly always take together."""
        then = self.body(s.then)
        orelse = self.body(s.orelse) if s.orelse else ()
        apart = self.in_turn(s) if self.stands_alone(s) else self.each(s)
        if orelse:
            apart = (ir.If(s.span, self.all(s.cond, False), orelse, apart),)
        self._out.append(ir.If(s.span, self.all(s.cond, True), then, apart))

    def stands_alone(self, s: ir.If) -> bool:
        """Whether nothing of an element but its position comes from outside the branch, or is used there."""
        inside = _mentions((s,))
        return all(
            count == self.mentions[symbol]
            for symbol, count in inside.items()
            if symbol in self.kernel.varying and symbol not in self.kernel.positions
        )

    def in_turn(self, s: ir.If) -> ir.Body:
        """A branch that stands alone, for one element after the other: `each` in less text."""
        index = self.kernel.function.index
        trip, position = ir.Symbol("k", index), ir.Symbol("i", index)
        copy = self.copy(b.ref(position), b.ref(trip))
        copy.known = {
            **self.copies[0].known,
            **{s: b.cast(s.type.scalar, b.ref(position)) for s in self.kernel.positions},
        }
        first = b.binary("+", self.copies[0].position, b.ref(trip))
        body = (ir.Let(s.span, position, first), *copy.stmt(s))
        return (counted(s.span, trip, self.width, body),)

    def all(self, cond: ir.Expr, value: bool) -> ir.Expr:
        """Whether a condition has this value for all elements."""
        if isinstance(cond, ir.Unary) and cond.op == "not":
            return self.all(cond.a, not value)
        if isinstance(cond, ir.Logic) and cond.op == ("and" if value else "or"):
            return b.both(self.all(cond.a, value), self.all(cond.b, value))
        order = self.kernel.order(cond)
        if order:  # positions rise, so that one end answers for all
            last = (order in ("<", "<=")) == value
            return _is(self.copies[-1 if last else 0].expr(cond), value)
        found = b.all_of([_is(copy.expr(cond), value) for copy in self.copies])
        return b.const(bool_, True) if found is None else found

    # Memory ---------------------------------------------------------------------------------------

    def load(self, s: ir.Load) -> None:
        if s.check is None:
            values = self._vector(s)
            for copy, value in zip(self.copies, values, strict=True):
                copy.known[s.symbol] = value
            return
        variables = [ir.Symbol(s.symbol.name, s.symbol.type, mutable=True) for _ in self.copies]

        def together() -> None:
            for variable, value in zip(variables, self._vector(s), strict=True):
                self._out.append(ir.Assign(s.span, variable, value))

        def apart() -> None:
            for copy, variable in zip(self.copies, variables, strict=True):
                self._out.extend(copy.stmt(s))
                self._out.append(ir.Assign(s.span, variable, copy.known[s.symbol]))

        everywhere = self.all(s.check, True)
        self._out.append(ir.If(s.span, everywhere, self._collect(together), self._collect(apart)))
        for copy, variable in zip(self.copies, variables, strict=True):
            copy.known[s.symbol] = b.ref(variable, s.span)

    def _vector(self, s: ir.Load) -> list[ir.Expr]:
        """One load; a value for each element."""
        array = self.wide[s.array]
        symbol = ir.Symbol(s.symbol.name, array.dtype)
        self._out.append(ir.Load(s.span, symbol, array, (self.places[s.array],)))
        parts = [b.component(b.ref(symbol, s.span), k) for k in range(self.width)]
        if array.dtype.scalar is s.symbol.type.scalar:
            return list(parts)
        return [self.let(s.symbol.name, b.cast(s.symbol.type.scalar, part)) for part in parts]

    def store(self, s: ir.Store) -> None:
        array = self.wide[s.array]
        values = [self.let("v", copy.expr(s.value)) for copy in self.copies]
        whole = ir.MakeVector(
            array.dtype, s.span, tuple(b.cast(array.dtype.scalar, value) for value in values)
        )
        together = ir.Store(s.span, array, (self.places[s.array],), whole)
        if s.check is None:
            self._out.append(together)
            return
        pairs = zip(self.copies, values, strict=True)
        apart = tuple(new for copy, value in pairs for new in copy.store(s, value))
        self._out.append(ir.If(s.span, self.all(s.check, True), (together,), apart))


def _mentions(body: Iterable[ir.Stmt]) -> Counter[ir.Symbol]:
    """How often each symbol is bound, assigned or used."""
    found: Counter[ir.Symbol] = Counter()
    for stmt in walk(body):
        found.update(e.symbol for e in expressions(stmt) if isinstance(e, ir.Ref))
        symbol = getattr(stmt, "symbol", None)
        if symbol is not None:
            found[symbol] += 1
    return found


def _is(cond: ir.Expr, value: bool) -> ir.Expr:
    return cond if value else b.negate(cond)


__all__ = ["Neighbours"]
