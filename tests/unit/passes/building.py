"""Writes functions of the IR tersely, for tests of passes: operators on `E`, `with` for bodies.

Spans count lines: statement k of a kernel stands at line k, so that errors and sites can be told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ruda_core.artifact import ArrayParam, ScalarParam
from ruda_core.dtypes import DType, ValueType, VecType, bool_, i32
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.span import Span
from ruda_core.ir.verify import verify


class E:
    """An expression with operators; Python numbers take the other operand's type."""

    def __init__(self, expr: ir.Expr) -> None:
        self.expr = expr

    def of(self, other: Any) -> ir.Expr:
        return other.expr if isinstance(other, E) else b.like(self.expr, other)

    def binary(self, op: str, other: Any) -> E:
        return E(b.binary(op, self.expr, self.of(other)))

    def compare(self, op: str, other: Any) -> E:
        return E(b.compare(op, self.expr, self.of(other)))

    def __neg__(self) -> E:
        return E(b.unary("-", self.expr))

    def __and__(self, other: Any) -> E:
        if self.expr.type is bool_:
            return E(b.both(self.expr, self.of(other)))
        return self.binary("&", other)

    def __or__(self, other: Any) -> E:
        return E(b.either(self.expr, self.of(other))) if self.expr.type is bool_ else self.binary("|", other)

    def __invert__(self) -> E:
        return E(b.negate(self.expr))

    def eq(self, other: Any) -> E:
        return self.compare("==", other)

    def ne(self, other: Any) -> E:
        return self.compare("!=", other)

    def to(self, dtype: DType) -> E:
        return E(b.cast(dtype, self.expr))


for _name, _op in {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "mod": "%",
    "truediv": "/",
    "rshift": ">>",
    "lshift": "<<",
    "xor": "^",
}.items():
    setattr(E, f"__{_name}__", lambda self, other, op=_op: self.binary(op, other))
for _name, _op in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(E, f"__{_name}__", lambda self, other, op=_op: self.compare(op, other))


def const(dtype: DType, value: Any) -> E:
    return E(b.const(dtype, value))


def fn(name: str, *args: Any) -> E:
    first = next(a for a in args if isinstance(a, E))
    return E(b.math(name, *(first.of(a) for a in args)))


def select(cond: E, yes: E, no: Any) -> E:
    return E(b.select(cond.expr, yes.expr, yes.of(no)))


class Kernel:
    """A function being written."""

    def __init__(
        self, name: str = "k", dim: tuple[int, int, int] = (1, 1, 1), index: DType = i32, **facts: Any
    ) -> None:
        self.name, self.dim, self.index, self.facts = name, dim, index, facts
        self.params: list[ScalarParam | ArrayParam] = []
        self.arrays: list[ir.Array] = []
        self.bodies: list[list[ir.Stmt]] = [[]]
        self.line = 0
        self.labels = 0

    def function(self) -> ir.Function:
        order = {"global": 0, "shared": 1, "local": 2, "constant": 3}
        arrays = tuple(sorted(self.arrays, key=lambda a: order[a.space]))
        span = Span("kernel.py", 1, 1, 2)
        f = ir.Function(
            self.name,
            tuple(self.params),
            arrays,
            tuple(self.bodies[0]),
            self.dim,
            self.index,
            span=span,
            **self.facts,
        )
        verify(f)
        return f

    # What it has --------------------------------------------------------------------------------

    def scalar(self, name: str, dtype: DType) -> E:
        self.params.append(ScalarParam(name, dtype.name))
        return E(ir.Param(dtype, None, name))

    def array(self, name: str, dtype: ValueType, rank: int | None = None) -> ir.Array:
        self.params.append(ArrayParam(name, dtype.scalar.name, dtype.lanes, rank))
        self.arrays.append(ir.Array(name, dtype, "global", rank=rank))
        return self.arrays[-1]

    def memory(
        self, space: ir.Space, name: str, dtype: ValueType, shape: tuple[int, ...], values: Any = ()
    ) -> ir.Array:
        self.arrays.append(ir.Array(name, dtype, space, shape, values=tuple(values)))
        return self.arrays[-1]

    def builtin(self, name: Any, axis: int | None = None) -> E:
        return E(ir.Builtin(self.index, None, name, axis))

    def len(self, array: ir.Array) -> E:
        return E(ir.Length(self.index, None, array))

    def shape(self, array: ir.Array, axis: int) -> E:
        return E(ir.Shape(self.index, None, array, axis))

    # Statements ---------------------------------------------------------------------------------

    def span(self) -> Span:
        self.line += 1
        return Span("kernel.py", self.line, 1, 2)

    def emit(self, stmt: ir.Stmt) -> None:
        self.bodies[-1].append(stmt)

    def let(self, value: E, name: str = "t") -> E:
        symbol = ir.Symbol(name, value.expr.type)
        self.emit(ir.Let(self.span(), symbol, value.expr))
        return E(b.ref(symbol))

    def var(self, value: E, name: str = "v") -> E:
        variable = E(b.ref(ir.Symbol(name, value.expr.type, mutable=True)))
        self.set(variable, value)
        return variable

    def set(self, variable: E, value: Any) -> None:
        assert isinstance(variable.expr, ir.Ref)
        self.emit(ir.Assign(self.span(), variable.expr.symbol, variable.of(value)))

    def load(self, array: ir.Array, *index: E, flat: bool = False, **more: Any) -> E:
        symbol = ir.Symbol("x", array.dtype)
        self.emit(ir.Load(self.span(), symbol, array, self.index_of(index), flat=flat, **more))
        return E(b.ref(symbol))

    def uniform_load(self, array: ir.Array, *index: E) -> E:
        symbol = ir.Symbol("u", array.dtype)
        self.emit(ir.UniformLoad(self.span(), symbol, array, self.index_of(index)))
        return E(b.ref(symbol))

    def store(self, array: ir.Array, index: Any, value: Any, flat: bool = False) -> None:
        index = index if isinstance(index, tuple) else (index,)
        if not isinstance(value, E):
            value = const(array.dtype, value) if not isinstance(array.dtype, VecType) else value
        self.emit(ir.Store(self.span(), array, self.index_of(index), value.expr, flat=flat))

    def atomic(self, op: str, array: ir.Array, index: Any, *args: E) -> E:
        symbol = ir.Symbol("old", array.dtype)
        self.emit(
            ir.Atomic(self.span(), symbol, op, array, self.index_of((index,)), tuple(a.expr for a in args))
        )
        return E(b.ref(symbol))

    def index_of(self, index: tuple[Any, ...]) -> tuple[ir.Expr, ...]:
        return tuple(i.expr if isinstance(i, E) else b.const(self.index, i) for i in index)

    def barrier(self) -> None:
        self.emit(ir.Barrier(self.span()))

    def check(self, cond: E, site: int) -> None:
        self.emit(ir.Assert(self.span(), cond.expr, site))

    def leave(self, label: int = ir.KERNEL) -> None:
        self.emit(ir.Leave(self.span(), label))

    def break_(self) -> None:
        self.emit(ir.Break(self.span()))

    def continue_(self) -> None:
        self.emit(ir.Continue(self.span()))

    def captured(self) -> ir.Body:
        return tuple(self.bodies.pop())

    @contextmanager
    def if_(self, cond: E) -> Iterator[None]:
        span = self.span()
        self.bodies.append([])
        yield
        self.emit(ir.If(span, cond.expr, self.captured()))

    @contextmanager
    def else_(self) -> Iterator[None]:
        self.bodies.append([])
        yield
        body = self.captured()
        last = self.bodies[-1].pop()
        assert isinstance(last, ir.If)
        self.emit(ir.If(last.span, last.cond, last.then, body))

    @contextmanager
    def range(self, start: Any, stop: Any, step: Any = 1) -> Iterator[E]:
        span, symbol = self.span(), ir.Symbol("k", self.index)
        self.bodies.append([])
        yield E(b.ref(symbol))
        body = self.captured()
        self.emit(ir.For(span, symbol, *self.index_of((start, stop, step)), body))

    @contextmanager
    def loop(self) -> Iterator[None]:
        span = self.span()
        self.bodies.append([])
        yield
        self.emit(ir.Loop(span, self.captured()))

    @contextmanager
    def while_(self, cond: E) -> Iterator[None]:
        with self.loop():
            with self.if_(~cond):
                self.break_()
            yield

    @contextmanager
    def block(self) -> Iterator[int]:
        span = self.span()
        self.labels += 1
        label = self.labels
        self.bodies.append([])
        yield label
        self.emit(ir.Block(span, label, self.captured()))
