"""Atomic operations that the target lacks, from those it has.

Subtraction is addition of the negative, a store is an exchange, a load adds nothing; what else is missing
(float add among it) becomes a compare-exchange loop on the element's word. An access out of bounds does
nothing and gives zero.

Runs after `storage`, which makes words of float arrays whose atomics need them, and after `narrow`;
before `exits` and `checks`. Raises UnsupportedFeature where the target has no compare-exchange either.
"""

from __future__ import annotations

from dataclasses import replace

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType
from ruda_core.errors import UnsupportedFeature
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter
from ruda_core.ir.span import error_at

_BITWISE = frozenset({"add", "sub", "and", "or", "xor", "exchange", "compare_exchange", "load", "store"})
"""On integers of one width these do the same to signed and unsigned."""
_MOVES = frozenset({"exchange", "load", "store"})
_OPERATORS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
_CHOICES = {"min": "<", "max": ">"}


def atomics(function: ir.Function, target: Target) -> ir.Function:
    """The function with atomic operations that `target` has."""
    return _Atomics(target).run(function)


class _Atomics(Rewriter):
    def __init__(self, target: Target) -> None:
        self.target = target

    def run(self, function: ir.Function) -> ir.Function:
        self.stored = {a: bound.dtype for bound in function.bindings for a in bound.arrays}
        return super().run(function)

    def stmt(self, stmt: ir.Stmt) -> None:
        if not isinstance(stmt, ir.Atomic):
            self.emit(stmt)
            return
        word = self.stored.get(stmt.array, stmt.array.dtype.scalar)
        dtype = self.dtype_of(stmt, word)
        if dtype.itemsize != word.itemsize:
            raise self.refused(stmt, dtype)
        if dtype is word and self.has(word, stmt.op):
            self.emit(stmt)
        elif dtype is not word and self.same_bits(stmt.op, dtype) and self.has(word, stmt.op):
            self.on_words(stmt, word)
        elif not self.rephrase(stmt, dtype, word):
            if not self.has(word, "compare_exchange") or stmt.op == "compare_exchange":
                raise self.refused(stmt, dtype)
            self.loop(stmt, dtype, word)

    def dtype_of(self, stmt: ir.Atomic, word: DType) -> DType:
        if stmt.args:
            return stmt.args[0].type.scalar
        return word if stmt.symbol is None else stmt.symbol.type.scalar

    def has(self, dtype: DType, op: str) -> bool:
        return op in self.target.atomics.get(dtype.name, ())

    def same_bits(self, op: str, dtype: DType) -> bool:
        return op in (_MOVES if dtype.is_float else _BITWISE)

    def refused(self, stmt: ir.Atomic, dtype: DType) -> UnsupportedFeature:
        message = f"atomic_{stmt.op} on {dtype.name}: this device has neither it nor a compare-exchange to make it of"
        return error_at(UnsupportedFeature, message, stmt.span)

    def on_words(self, stmt: ir.Atomic, word: DType) -> None:
        """The same operation on the bits."""
        args = tuple(b.bitcast(word, a) for a in stmt.args)
        if stmt.symbol is None:
            self.emit(replace(stmt, args=args))
            return
        old = ir.Symbol("old", word)
        self.emit(replace(stmt, symbol=old, args=args))
        self.emit(ir.Let(stmt.span, stmt.symbol, b.bitcast(stmt.symbol.type.scalar, b.ref(old, stmt.span))))

    def rephrase(self, stmt: ir.Atomic, dtype: DType, word: DType) -> bool:
        """Another operation that does the same, if the target has it."""
        if stmt.op == "sub" and dtype.is_integer and self.has(word, "add"):
            self.stmt(replace(stmt, op="add", args=(b.unary("-", stmt.args[0]),)))
        elif stmt.op == "store" and self.has(word, "exchange"):
            self.stmt(replace(stmt, op="exchange"))
        elif stmt.op == "load" and self.has(word, "add") and word.is_integer:
            self.stmt(replace(stmt, op="add", args=(b.const(dtype, 0, stmt.span),)))
        else:
            return False
        return True

    def loop(self, stmt: ir.Atomic, dtype: DType, word: DType) -> None:
        """Read, compute, exchange if nothing came between; again if it did."""
        span = stmt.span
        index = (self.let(stmt.index[0]),)
        args = [self.let(a) for a in stmt.args]
        result = ir.Symbol("old", dtype, mutable=True)
        seen = ir.Symbol("seen", word, mutable=True)
        first, before, got = (ir.Symbol(name, word) for name in ("word", "before", "got"))
        old = b.bitcast(dtype, b.ref(before, span))
        new = ir.Symbol("new", word)
        exchange = (b.ref(before, span), b.ref(new, span))
        body: ir.Body = (
            ir.Load(span, first, stmt.array, index),
            ir.Assign(span, seen, b.ref(first, span)),
            ir.Loop(
                span,
                (
                    ir.Let(span, before, b.ref(seen, span)),
                    ir.Let(span, new, b.bitcast(word, self.updated(stmt, old, args))),
                    ir.Atomic(span, got, "compare_exchange", stmt.array, index, exchange),
                    ir.If(span, b.compare("==", b.ref(got, span), b.ref(before, span)), (ir.Break(span),)),
                    ir.Assign(span, seen, b.ref(got, span)),
                ),
            ),
            ir.Assign(span, result, b.bitcast(dtype, b.ref(seen, span))),
        )
        self.emit(ir.Assign(span, result, b.zero(dtype, span)))
        if stmt.check is None:
            for s in body:
                self.emit(s)
        else:
            self.emit(ir.If(span, stmt.check, body))
        if stmt.symbol is not None:
            self.emit(ir.Let(span, stmt.symbol, b.ref(result, span)))

    def updated(self, stmt: ir.Atomic, old: ir.Expr, args: list[ir.Expr]) -> ir.Expr:
        if stmt.op in _OPERATORS:
            return b.binary(_OPERATORS[stmt.op], old, args[0])
        if stmt.op in _CHOICES and not old.type.is_float:
            return b.select(b.compare(_CHOICES[stmt.op], old, args[0]), old, args[0])
        if stmt.op in ("exchange", "store"):
            return args[0]
        if stmt.op == "load":
            return old
        raise self.refused(stmt, old.type.scalar)


__all__ = ["atomics"]
