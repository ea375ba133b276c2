"""Copies of an elementwise kernel's body, each for one element: a part of `widen`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ruda_core.dtypes import unsigned
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import map_expr
from ruda_core.ir.span import Span
from ruda_core.passes.elementwise import Elementwise


class Copy:
    """The body for one element, with symbols of its own each time that it is made."""

    def __init__(self, position: ir.Expr) -> None:
        self.position = position
        self.known: dict[ir.Symbol, ir.Expr] = {}
        """What stands for the symbols of the kernel."""

    def expr(self, e: ir.Expr) -> ir.Expr:
        return map_expr(e, self._node)

    def _node(self, e: ir.Expr) -> ir.Expr:
        if isinstance(e, ir.Ref):
            return self.known.get(e.symbol, e)
        return self.position if isinstance(e, ir.Builtin) and e.name == "absolute_pos" else e

    def bind(self, symbol: ir.Symbol) -> ir.Symbol:
        """A new symbol in the place of an immutable one."""
        new = ir.Symbol(symbol.name, symbol.type)
        self.known[symbol] = b.ref(new)
        return new

    def variable(self, symbol: ir.Symbol) -> ir.Symbol:
        """The variable of this element in the place of a mutable symbol, whether or not it is new."""
        found = self.known.get(symbol)
        if isinstance(found, ir.Ref):
            return found.symbol
        new = ir.Symbol(symbol.name, symbol.type, mutable=True)
        self.known[symbol] = b.ref(new)
        return new

    def body(self, body: ir.Body) -> ir.Body:
        return tuple(new for s in body for new in self.stmt(s))

    def stmt(self, s: ir.Stmt) -> ir.Body:
        match s:
            case ir.Let():
                value = self.expr(s.value)
                return (ir.Let(s.span, self.bind(s.symbol), value),)
            case ir.Assign():
                value = self.expr(s.value)
                return (ir.Assign(s.span, self.variable(s.symbol), value),)
            case ir.Load():
                return self.load(s)
            case ir.Store():
                return self.store(s, self.expr(s.value))
            case ir.If():
                return (ir.If(s.span, self.expr(s.cond), self.body(s.then), self.body(s.orelse)),)
        raise TypeError(f"{type(s).__name__} in an elementwise kernel")

    def load(self, s: ir.Load) -> ir.Body:
        index, check = self.place(s), self.check(s)
        return (replace(s, symbol=self.bind(s.symbol), index=index, check=check),)

    def store(self, s: ir.Store, value: ir.Expr) -> ir.Body:
        return (replace(s, index=self.place(s), value=value, check=self.check(s)),)

    def place(self, s: ir.Load | ir.Store) -> tuple[ir.Expr, ...]:
        return tuple(self.expr(i) for i in s.index)

    def check(self, s: ir.Load | ir.Store) -> ir.Expr | None:
        return None if s.check is None else self.expr(s.check)


@dataclass(frozen=True, slots=True)
class Words:
    """The vectors in memory that the neighbours of one unit are, and nobody else's elements."""

    kernel: Elementwise
    wide: Mapping[ir.Array, ir.Array]
    """The arrays that are accessed at the position, by vectors."""
    places: Mapping[ir.Array, ir.Expr]
    """The vector of this unit in each."""


class WordCopy(Copy):
    """The body for one element of a vector, where memory cannot be named by vectors and by elements both.

    An element is taken out of its vector, and put into it by storing the vector: no other unit of the
    launch has elements there, and launches do not overlap on the queue of such a device.
    """

    def __init__(self, position: ir.Expr, lane: ir.Expr, words: Words) -> None:
        """`lane`: which component of the vectors the element is, an integer."""
        super().__init__(position)
        self.lane = lane
        self.words = words

    def load(self, s: ir.Load) -> ir.Body:
        if not (s.array in self.words.wide and self.words.kernel.is_position(s.index[0])):
            return super().load(s)
        whole, parts = self._whole(s)
        value = parts[-1]
        for k in reversed(range(len(parts) - 1)):
            value = b.select(self._is_lane(k), parts[k], value)
        return (whole, ir.Let(s.span, self.bind(s.symbol), b.cast(s.symbol.type.scalar, value)))

    def store(self, s: ir.Store, value: ir.Expr) -> ir.Body:
        array = self.words.wide[s.array]
        new = ir.Symbol("v", array.dtype.scalar)
        whole, parts = self._whole(s)
        mixed = tuple(b.select(self._is_lane(k), b.ref(new), part) for k, part in enumerate(parts))
        vector = ir.MakeVector(array.dtype, s.span, mixed)
        return (
            ir.Let(s.span, new, b.cast(array.dtype.scalar, value)),
            whole,
            ir.Store(s.span, array, whole.index, vector, whole.check),
        )

    def _whole(self, s: ir.Load | ir.Store) -> tuple[ir.Load, list[ir.Expr]]:
        """A load of the vector that the element is in, and its components."""
        array = self.words.wide[s.array]
        symbol = ir.Symbol("whole", array.dtype)
        load = ir.Load(s.span, symbol, array, (self.words.places[s.array],), self.check(s))
        return load, [b.component(b.ref(symbol, s.span), k) for k in range(array.dtype.lanes)]

    def _is_lane(self, k: int) -> ir.Expr:
        return b.compare("==", self.lane, b.like(self.lane, k))


def counted(span: Span | None, symbol: ir.Symbol, times: int, body: ir.Body) -> ir.For:
    """A loop over the numbers below `times`."""
    index = symbol.type.scalar
    start, stop, step = (b.const(index, n) for n in (0, times, 1))
    return ir.For(span, symbol, start, stop, step, body, b.const(unsigned(index), times))


__all__ = ["Copy", "WordCopy", "Words", "counted"]
