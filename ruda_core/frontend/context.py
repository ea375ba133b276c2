"""The state of one round of lowering, and what every visitor needs: emitting, naming, converting."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from ruda_core.artifact import Mode, Site
from ruda_core.dtypes import DType, ValueType, VecType, bool_, i32
from ruda_core.errors import CompileError, KernelSyntaxError, KernelTypeError
from ruda_core.frontend.captures import Capture
from ruda_core.frontend.constants import Unfit, fit
from ruda_core.frontend.infer import Inference, placeholder
from ruda_core.frontend.scope import Bound, Scope
from ruda_core.frontend.source import Spans
from ruda_core.frontend.values import (
    INDEX,
    WBOOL,
    WFLOAT,
    ArrayValue,
    Choice,
    Key,
    Namespace,
    Nothing,
    Number,
    Static,
    TupleValue,
    Type,
    Typed,
    Value,
    Weak,
    is_number,
    show,
    type_of,
)
from ruda_core.ir import build
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import is_simple
from ruda_core.ir.span import Span, error_at

Visitor = Callable[["Context", Any], Any]
E = TypeVar("E", bound=CompileError)


@dataclass(frozen=True, slots=True)
class Options:
    """What the whole lowering is for."""

    dim: tuple[int, int, int]
    index: DType
    mode: Mode


@dataclass(slots=True)
class Shared:
    """What the rounds of one lowering have in common."""

    inference: Inference = field(default_factory=Inference)
    captures: dict[Capture, None] = field(default_factory=dict)
    spans: dict[Key, Spans] = field(default_factory=dict)


class Context:
    """One round: statements gather in `out`, `bound` knows which names have a value."""

    def __init__(
        self,
        options: Options,
        shared: Shared,
        expressions: dict[type, Visitor],
        statements: dict[type, Visitor],
    ) -> None:
        self.options = options
        self.index = options.index
        self.inference = shared.inference
        self.captures = shared.captures
        self.spans = shared.spans
        self._expressions = expressions
        self._statements = statements
        self.scope: Scope
        self.out: list[ir.Stmt] = []
        self.bound: Bound = set()
        self.blocks = [0]
        self._block_count = 0
        self._labels = ir.KERNEL
        self.symbols: dict[Key, ir.Symbol] = {}
        self.arrays: list[ir.Array] = []
        self.array_sites: dict[Any, ir.Array] = {}
        self.sites: list[Site] = []
        self.hint = ""
        """A name for the value that is about to be made: the target of the assignment."""

    # Errors -------------------------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        return self.scope.span(node)

    def error(self, message: str, at: ast.AST | Span, cls: type[E]) -> E:
        """An error at a node."""
        return error_at(cls, message, at if isinstance(at, Span) else self.span(at))

    def refuse(self, message: str, at: ast.AST | Span, notes: Sequence[str] = ()) -> NoReturn:
        """Raise KernelTypeError at a node."""
        raise error_at(KernelTypeError, message, at if isinstance(at, Span) else self.span(at), notes)

    def since(self, *nodes: ast.AST) -> list[str]:
        """For those nodes that are locals: a note that says where their dtype comes from."""
        notes = []
        for node in nodes:
            found = self.inference.since(self.scope.key(node.id)) if isinstance(node, ast.Name) else None
            if found is not None and isinstance(node, ast.Name):
                notes.append(f"  {node.id} is {found[0]!r} since line {found[1].line}")
        return notes

    # Statements ---------------------------------------------------------------------------------

    def emit(self, stmt: ir.Stmt) -> None:
        self.out.append(stmt)

    @contextmanager
    def nested(self) -> Iterator[list[ir.Stmt]]:
        """Statements go to a list of their own, as a block does."""
        outer, self.out = self.out, []
        self._block_count += 1
        self.blocks.append(self._block_count)
        try:
            yield self.out
        finally:
            self.out = outer
            self.blocks.pop()

    def aside(self, node: ast.expr) -> tuple[list[ir.Stmt], Value]:
        """The value of an expression, and apart from it the statements that it takes."""
        with self.nested() as statements:
            value = self.expr(node)
        return statements, value

    def new_label(self) -> int:
        self._labels += 1
        return self._labels

    def block(self, body: list[ast.stmt]) -> None:
        """Lower statements up to the first that no path reaches."""
        for stmt in body:
            if self.bound is None:
                return
            visitor = self._statements.get(type(stmt))
            if visitor is None:
                raise self.error(
                    f"{type(stmt).__name__.lower()} is not in the kernel language", stmt, KernelSyntaxError
                )
            visitor(self, stmt)

    def expr(self, node: ast.expr) -> Value:
        """Lower an expression."""
        visitor = self._expressions.get(type(node))
        if visitor is None:
            raise self.error(
                f"this {type(node).__name__} is not in the kernel language", node, KernelSyntaxError
            )
        value: Value = visitor(self, node)
        return value

    def number(self, node: ast.expr) -> Number:
        """Lower an expression that is a number."""
        return self.as_number(self.expr(node), node)

    def as_number(self, value: Value, at: ast.AST | Span) -> Number:
        """The value, known to be a number. Raises KernelTypeError."""
        if isinstance(value, (Typed, Choice)) or (isinstance(value, Static) and is_number(value.value)):
            return value
        self.refuse(f"expected a number, not {show(value)}{_advice(value)}", at)

    # Symbols ------------------------------------------------------------------------------------

    def let(self, expr: ir.Expr, name: str = "t") -> ir.Ref:
        """Bind an expression to a new immutable symbol."""
        symbol = ir.Symbol(name, expr.type)
        self.emit(ir.Let(expr.span, symbol, expr))
        return ir.Ref(expr.type, expr.span, symbol)

    def repeatable(self, expr: ir.Expr, name: str = "t") -> ir.Expr:
        """An expression that may be used twice, and later."""
        return expr if is_simple(expr) else self.let(expr, name)

    def stable(self, value: Value, name: str = "t") -> Value:
        """The value, such that no later statement changes it."""
        match value:
            case Typed():
                expr = self.repeatable(value.expr, name)
                return value if expr is value.expr else Typed(expr, value.type, value.origins)
            case Choice():
                return self._stable_choice(value)
            case TupleValue():
                return TupleValue(tuple(self.stable(item, name) for item in value.items))
        return value

    def _stable_choice(self, value: Static | Choice) -> Static | Choice:
        if isinstance(value, Static):
            return value
        cond = self.repeatable(value.cond, "c")
        return Choice(cond, self._stable_choice(value.a), self._stable_choice(value.b))

    def symbol(self, key: Key, name: str, known: Type) -> ir.Symbol:
        """The mutable symbol of a local."""
        found = self.symbols.get(key)
        if found is None:
            found = self.symbols[key] = ir.Symbol(name, self.ir_type(known), True)
        return found

    def ir_type(self, known: Type) -> ValueType:
        """The IR's type for a type."""
        return placeholder(known, self.index)

    # Conversions --------------------------------------------------------------------------------

    def constant(self, value: Any, known: Type, at: ast.AST | Span) -> ir.Expr:
        """A compile-time number with a dtype. Raises KernelTypeError when it does not fit."""
        span = at if isinstance(at, Span) else self.span(at)
        wanted = self.ir_type(known)
        if isinstance(known, Weak) and known is not WBOOL:
            return build.const(known.default, 0, span)  # not the last round: any constant will do
        try:
            number = fit(value, wanted.scalar)
        except Unfit as misfit:
            self.refuse(str(misfit), span)
        scalar = ir.Const(wanted.scalar, span, number)
        return scalar if isinstance(wanted, DType) else ir.MakeVector(wanted, span, (scalar,))

    def coerce(self, value: Number, wanted: Type, at: ast.AST | Span, role: str) -> ir.Expr:
        """The value as `wanted`, where the language converts without a cast.

        `role` names what takes it in the error, such as "x". Raises KernelTypeError.
        """
        match value:
            case Static():
                return self.constant(value.value, wanted, at)
            case Choice():
                a = self.coerce(value.a, wanted, at, role)
                b = self.coerce(value.b, wanted, at, role)
                return ir.Select(a.type, a.span, value.cond, a, b)
        return self._coerce_typed(value, wanted, at, role)

    def _coerce_typed(self, value: Typed, wanted: Type, at: ast.AST | Span, role: str) -> ir.Expr:
        have, expr = value.type, value.expr
        if have is wanted or have == wanted:
            return expr
        target = self.ir_type(wanted)
        if isinstance(have, Weak):
            if have is WFLOAT and wanted.scalar.is_integer and not isinstance(wanted, Weak):
                self.refuse(
                    f"a float literal does not become {wanted!r} for {role}: write {wanted!r}(...)", at
                )
            self.inference.meet(value.origins, wanted)
            return ir.Cast(target, expr.span, expr) if target != expr.type else expr
        if have is bool_ and not isinstance(wanted, VecType):
            return expr if target is bool_ else ir.Cast(target, expr.span, expr)
        if isinstance(wanted, Weak):
            return ir.Cast(target, expr.span, expr)  # not the last round
        if {have, wanted} == {INDEX, i32}:
            return build.cast(target.scalar, expr)
        if isinstance(wanted, VecType) and not isinstance(have, VecType):
            scalar = self._coerce_typed(value, wanted.scalar, at, role)
            return ir.MakeVector(wanted, expr.span, (scalar,))
        self.refuse(f"{role} is {wanted!r}, but this is {have!r}: write {suggestion(wanted, at)}", at)

    def truth(self, value: Value, at: ast.AST) -> ir.Expr:
        """A scalar as a condition: itself when bool, else whether it differs from zero."""
        span = self.span(at)
        match value:
            case Static(value=known) if is_number(known) or isinstance(known, (tuple, type(None))):
                return ir.Const(bool_, span, bool(known))
            case Choice():
                a, b = self.truth(value.a, at), self.truth(value.b, at)
                return choose(value.cond, a, b)
            case Typed(type=VecType()):
                self.refuse("a vector is no condition: compare components, or use ruda.select", at)
            case Typed():
                if value.expr.type is bool_:
                    return value.expr
                return ir.Compare(bool_, span, "!=", value.expr, build.zero(value.expr.type, span))
        self.refuse(f"a condition is a scalar, not {show(value)}{_advice(value)}", at)

    def typed(self, value: Number, at: ast.AST | Span) -> Typed:
        """The value with a dtype: i32 or f32 where it has none of its own."""
        if isinstance(value, Typed):
            return value
        known = type_of(value)
        assert isinstance(known, Weak)
        wanted = known.default
        return Typed(self.coerce(value, wanted, at, "this"), wanted)

    def read_type(self, known: Type) -> Type:
        """A local that has only met bool literals is read as bool."""
        return bool_ if known is WBOOL else known

    def is_reached(self) -> bool:
        """Whether some path leads here."""
        return self.bound is not None

    def bound_names(self) -> set[str]:
        """The names that have a value here, which some path reaches."""
        assert self.bound is not None
        return self.bound


def choose(cond: ir.Expr, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """`a if cond else b` of two bools, without a select where it is the condition itself."""
    if isinstance(a, ir.Const) and isinstance(b, ir.Const):
        if a.value == b.value:
            return a
        return cond if a.value else ir.Unary(bool_, cond.span, "not", cond)
    return ir.Select(a.type, cond.span, cond, a, b)


def suggestion(wanted: Type, at: ast.AST | Span) -> str:
    """The cast to write."""
    cast = f"{wanted.scalar!r}"
    if isinstance(at, ast.expr):
        text = ast.unparse(at)
        if len(text) <= 40:
            return f"{cast}({text})"
    return f"{cast}(...)"


def _advice(value: Value) -> str:
    if isinstance(value, ArrayValue):
        return f": index it, as in {value.array.name}[i]"
    if isinstance(value, Static) and callable(value.value):
        return ": call it"
    if isinstance(value, (TupleValue, Namespace, Nothing)):
        return ""
    return ""
