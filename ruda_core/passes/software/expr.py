"""Python operators that write IR: what expansions are written with.

A `Scope` collects the statements of one expansion. Each operation gets a symbol, the same operation
twice gets one; constants of integers and bools fold. `Scope.into` hands everything to a `Rewriter`,
with values that are used once back in place, so that printed code stays short.

Operators mean the machine's operations: `<<` and `>>` are shl and shr, `/` on floats is the target's
division, `.quo` truncates. `+ - *` on integers wrap. Nothing here needs a pass before or after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Union

from ruda_core.dtypes import BY_NAME, DType, ValueType, bool_, u32, unsigned, vec
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter, is_simple
from ruda_core.ir.span import Span
from ruda_core.passes import values
from ruda_core.passes.software.tidy import fold_binary, key, tidy

Operand = Union["Value", int, float, bool]


def zero_word(span: Span | None = None) -> ir.Expr:
    """The u32 zero that is known only at run time."""
    return ir.Param(u32, span, "zero", "zero")


class Scope:
    """Statements being written.

    With `fence`, results of float arithmetic are fenced from algebra; `has_sqrt`: the target has sqrt of f32.
    """

    def __init__(self, span: Span | None = None, *, fence: bool = False, has_sqrt: bool = True) -> None:
        self.span = span
        self.fence = fence
        self.has_sqrt = has_sqrt
        self.stmts: list[ir.Stmt] = []
        self._known: dict[tuple[Any, ...], Value] = {}
        self._variables: set[ir.Symbol] = set()

    def value(self, node: ir.Expr) -> Value:
        """`node` under a name, so that it can be used many times."""
        if is_simple(node):
            return Value(self, node)
        name = key(node)
        known = self._known.get(name) if name is not None else None
        if known is not None:
            return known
        symbol = ir.Symbol("t", node.type)
        self.stmts.append(ir.Let(self.span, symbol, node))
        made = Value(self, b.ref(symbol, self.span))
        if name is not None:
            self._known[name] = made
        return made

    def const(self, dtype: ValueType, value: int | float | bool) -> Value:
        """A constant; of all components, for a vector type."""
        scalar = b.const(dtype.scalar, value, self.span)
        return Value(self, scalar if isinstance(dtype, DType) else ir.MakeVector(dtype, self.span, (scalar,)))

    def opaque(self, dtype: DType, value: float) -> Value:
        """A float constant that the target's compiler cannot see: for values it has no spelling for."""
        bits = values.to_bits(dtype, value)
        word = ir.Const(unsigned(dtype), self.span, bits)
        zero = b.cast(unsigned(dtype), zero_word(self.span), raw=True)
        return self.value(b.bitcast(dtype, b.binary("^", word, zero)))

    def variable(self, initial: Value, name: str = "v") -> Variable:
        """A mutable local that starts as `initial`."""
        symbol = ir.Symbol(name, initial.type, mutable=True)
        self._variables.add(symbol)
        self.stmts.append(ir.Assign(self.span, symbol, initial.node))
        return Variable(self, symbol)

    @contextmanager
    def loop(self) -> Iterator[None]:
        """The body of an endless loop; leave it with `stop_if`."""
        with self._inner() as body:
            yield
        self.stmts.append(ir.Loop(self.span, tuple(body)))

    @contextmanager
    def when(self, cond: Value) -> Iterator[None]:
        """Statements for where `cond` holds."""
        with self._inner() as body:
            yield
        self.stmts.append(ir.If(self.span, cond.node, tuple(body)))

    def stop_if(self, cond: Value) -> None:
        """Leave the loop where `cond` holds."""
        self.stmts.append(ir.If(self.span, cond.node, (ir.Break(self.span),)))

    @contextmanager
    def _inner(self) -> Iterator[list[ir.Stmt]]:
        outer, known = self.stmts, self._known
        self.stmts, self._known = [], dict(known)
        inner = self.stmts
        try:
            yield inner
        finally:
            self.stmts, self._known = outer, known

    def into(self, rewriter: Rewriter, result: Value) -> ir.Expr:
        """Emit the statements and return the result's expression."""
        stmts, (node,) = self.finish(result)
        for stmt in stmts:
            rewriter.emit(stmt)
        return node

    def finish(self, *results: Value) -> tuple[ir.Body, tuple[ir.Expr, ...]]:
        """The statements, tidied, and the results' expressions after them."""
        return tidy(self.stmts, [r.node for r in results], self._variables)


class Value:
    """An expression with operators; its node may be repeated freely."""

    __slots__ = ("node", "scope")

    def __init__(self, scope: Scope, node: ir.Expr) -> None:
        self.scope = scope
        self.node = node

    @property
    def type(self) -> ValueType:
        return self.node.type

    @property
    def dtype(self) -> DType:
        """The scalar type."""
        return self.node.type.scalar

    def like(self, other: Operand) -> Value:
        """`other` as a value of this one's type, when it is a Python number."""
        return other if isinstance(other, Value) else self.scope.const(self.type, other)

    def _binary(self, op: str, other: Operand) -> Value:
        right = self.like(other)
        folded = fold_binary(op, self.node, right.node)
        if folded is not None:
            return Value(self.scope, folded)
        made = self.scope.value(ir.Binary(self.type, self.scope.span, op, self.node, right.node))
        if self.scope.fence and self.dtype.is_float:
            return self.scope.value(ir.Fence(made.type, self.scope.span, made.node))
        return made

    def __add__(self, other: Operand) -> Value:
        return self._binary("+", other)

    def __radd__(self, other: Operand) -> Value:
        return self.like(other)._binary("+", self)

    def __sub__(self, other: Operand) -> Value:
        return self._binary("-", other)

    def __rsub__(self, other: Operand) -> Value:
        return self.like(other)._binary("-", self)

    def __mul__(self, other: Operand) -> Value:
        return self._binary("*", other)

    def __rmul__(self, other: Operand) -> Value:
        return self.like(other)._binary("*", self)

    def __truediv__(self, other: Operand) -> Value:
        return self._binary("/", other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.like(other)._binary("/", self)

    def quo(self, other: Operand) -> Value:
        """Truncating quotient; the divisor is not zero, and nothing overflows."""
        return self._binary("quo", other)

    def __and__(self, other: Operand) -> Value:
        return self._logic("and", other) if self.dtype is bool_ else self._binary("&", other)

    def __or__(self, other: Operand) -> Value:
        return self._logic("or", other) if self.dtype is bool_ else self._binary("|", other)

    def __xor__(self, other: Operand) -> Value:
        return self.ne(other) if self.dtype is bool_ else self._binary("^", other)

    def __lshift__(self, amount: Operand) -> Value:
        return self._shift("shl", amount)

    def __rshift__(self, amount: Operand) -> Value:
        return self._shift("shr", amount)

    def _shift(self, op: str, amount: Operand) -> Value:
        if not isinstance(amount, Value):
            amount = self.scope.const(b.with_scalar(self.type, u32), amount)
        return self._binary(op, amount.to(u32))

    def _logic(self, op: str, other: Operand) -> Value:
        right = self.like(other)
        for known, kept in ((self, right), (right, self)):
            if isinstance(known.node, ir.Const):
                return known if bool(known.node.value) == (op == "or") else kept
        return self.scope.value(ir.Logic(self.type, self.scope.span, op, self.node, right.node))  # type: ignore[arg-type]  # "and", "or"

    def __invert__(self) -> Value:
        op = "not" if self.dtype is bool_ else "~"
        if isinstance(self.node, ir.Const):
            return self.scope.const(self.type, values.unary(op, self.dtype, self.node.value))
        return self.scope.value(b.unary(op, self.node))

    def __neg__(self) -> Value:
        if isinstance(self.node, ir.Const):
            return self.scope.const(self.type, values.unary("-", self.dtype, self.node.value))
        return self.scope.value(b.unary("-", self.node))

    def _compare(self, op: str, other: Operand) -> Value:
        right = self.like(other)
        a, c = self.node, right.node
        if isinstance(a, ir.Const) and isinstance(c, ir.Const) and not self.dtype.is_float:
            return self.scope.const(bool_, values.compare(op, a.value, c.value))
        if (a is c or (isinstance(a, ir.Ref) and isinstance(c, ir.Ref) and a.symbol is c.symbol)) and (
            not self.dtype.is_float and isinstance(self.type, DType)
        ):
            return self.scope.const(bool_, op in ("==", "<=", ">="))
        return self.scope.value(ir.Compare(b.bool_like(self.type), self.scope.span, op, a, c))

    def __lt__(self, other: Operand) -> Value:
        return self._compare("<", other)

    def __le__(self, other: Operand) -> Value:
        return self._compare("<=", other)

    def __gt__(self, other: Operand) -> Value:
        return self._compare(">", other)

    def __ge__(self, other: Operand) -> Value:
        return self._compare(">=", other)

    def eq(self, other: Operand) -> Value:
        return self._compare("==", other)

    def ne(self, other: Operand) -> Value:
        return self._compare("!=", other)

    def where(self, yes: Operand, no: Operand) -> Value:
        """`yes` where this bool holds, else `no`; at least one of them is a Value."""
        if not isinstance(yes, Value):
            if not isinstance(no, Value):
                raise TypeError("where needs a Value to take the type from")
            yes = no.like(yes)
        other = yes.like(no)
        if isinstance(self.node, ir.Const):
            return yes if self.node.value else other
        if yes.node is other.node or (key(yes.node) is not None and key(yes.node) == key(other.node)):
            return yes
        return self.scope.value(ir.Select(yes.type, self.scope.span, self.node, yes.node, other.node))

    def to(self, dtype: DType) -> Value:
        """The target's plain conversion; the value is in range."""
        if self.dtype is dtype:
            return self
        if isinstance(self.node, ir.Const) and not dtype.is_float and not self.dtype.is_float:
            return self.scope.const(dtype, values.cast(dtype, self.dtype, self.node.value, raw=True))
        if self.dtype.is_integer and dtype.is_integer and self.dtype.bits < dtype.bits:
            # Width first, then sign: compilers of WGSL take the signedness of the extension from the result.
            wide = BY_NAME[f"{'i' if self.dtype.kind == 'int' else 'u'}{dtype.bits}"]
            return self.scope.value(
                b.cast(dtype, self.scope.value(b.cast(wide, self.node, raw=True)).node, raw=True)
            )
        return self.scope.value(b.cast(dtype, self.node, raw=True))

    def convert(self, dtype: DType) -> Value:
        """The language's conversion, for later passes to expand."""
        return self if self.dtype is dtype else self.scope.value(b.cast(dtype, self.node))

    def bits(self, dtype: DType) -> Value:
        """The same bits as another dtype of the same width."""
        if self.dtype is dtype:
            return self
        return self.scope.value(b.bitcast(dtype, self.node))

    def fn(self, name: str, *others: Operand) -> Value:
        """A function that the target has."""
        return self.scope.value(b.math(name, self.node, *(self.like(o).node for o in others)))


class Variable:
    """A mutable local of an expansion."""

    def __init__(self, scope: Scope, symbol: ir.Symbol) -> None:
        self.scope = scope
        self.symbol = symbol

    def get(self) -> Value:
        """Its value now, under a name of its own."""
        symbol = ir.Symbol("t", self.symbol.type)
        self.scope.stmts.append(ir.Let(self.scope.span, symbol, b.ref(self.symbol, self.scope.span)))
        return Value(self.scope, b.ref(symbol, self.scope.span))

    def set(self, value: Value) -> None:
        self.scope.stmts.append(ir.Assign(self.scope.span, self.symbol, value.node))


def by_component(args: tuple[ir.Expr, ...], rule: Callable[..., ir.Expr], rewriter: Rewriter) -> ir.Expr:
    """`rule` on the operands, or on each component of vectors, for rules that take scalars only."""
    lanes = args[0].type.lanes
    if lanes == 1:
        return rule(*args)
    named = [rewriter.let(a) for a in args]
    parts = tuple(rule(*(b.component(a, k) if a.type.lanes > 1 else a for a in named)) for k in range(lanes))
    return ir.MakeVector(vec(parts[0].type.scalar, lanes), args[0].span, parts)


def polynomial(x: Value, coefficients: tuple[float, ...]) -> Value:
    """Horner's rule, highest power first."""
    total: Operand = x.like(coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return x.like(total)
