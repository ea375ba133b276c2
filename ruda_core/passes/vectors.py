"""Vector arithmetic becomes scalar arithmetic; vectors remain where memory is read or written.

Every vector value turns into its components, so the passes after this one see scalars. A vector `Load`
keeps its symbol, of which components are taken, and a vector `Store` is given a vector made of its
components: `storage` keeps those accesses whole where the target has the width. Arrays of three-component
vectors become scalar arrays of three times as many elements here, because their elements have no
alignment: their `Offset` therefore counts scalars. `Length` still counts vectors.

Runs first among the legalising passes: after `uniform_loads` and `scalars`, before `math`, `integers`
and `flatten`. A target that declares "vector_any" keeps its vectors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType, VecType
from ruda_core.errors import UnsupportedFeature
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter, map_operands
from ruda_core.ir.span import error_at
from ruda_core.passes.fold import fold


def vectors(function: ir.Function, target: Target) -> ir.Function:
    """The function with scalar arithmetic only, unless `target` computes with any vector."""
    if target.supports("vector_any"):
        return function
    return _Vectors().run(function)


class _Vectors(Rewriter):
    def __init__(self) -> None:
        self.parts: dict[ir.Symbol, tuple[ir.Symbol, ...]] = {}
        self.loaded: set[ir.Symbol] = set()
        self.arrays: dict[ir.Array, ir.Array] = {}
        self.once: dict[int, tuple[ir.Expr, ir.Expr]] = {}
        """Scalars that several components of this statement use: by identity, kept alive."""

    def run(self, function: ir.Function) -> ir.Function:
        self.arrays = {a: _as_scalars(a) for a in function.arrays if a.dtype.lanes == 3}
        new = super().run(function)
        new = replace(new, arrays=tuple(self.arrays.get(a, a) for a in new.arrays))
        # Components may be constants where their vectors were not; the next passes write out what is infinite.
        return fold(new) if self.parts else new

    def visit(self, stmt: ir.Stmt) -> None:
        self.once = {}
        symbol = getattr(stmt, "symbol", None)
        vector = symbol is not None and isinstance(symbol.type, VecType)
        match stmt:
            case ir.Let() if vector:
                for part, value in zip(self.parts_of(stmt.symbol), self.components(stmt.value), strict=True):
                    self.emit(ir.Let(stmt.span, part, value))
            case ir.Assign() if vector:
                values = [self.let(v) for v in self.components(stmt.value)]  # all before the first changes
                for part, value in zip(self.parts_of(stmt.symbol), values, strict=True):
                    self.emit(ir.Assign(stmt.span, part, value))
            case ir.Subgroup() if vector:
                for k, part in enumerate(self.parts_of(stmt.symbol)):
                    args = tuple(self.of(a, k) for a in stmt.args)
                    self.emit(ir.Subgroup(stmt.span, part, stmt.op, args))
            case ir.Load() | ir.Store() if stmt.array in self.arrays:
                self.split_access(stmt)
            case ir.Load() | ir.UniformLoad() if vector:
                self.loaded.add(stmt.symbol)
                super().visit(stmt)
            case _:
                super().visit(stmt)

    def parts_of(self, symbol: ir.Symbol) -> tuple[ir.Symbol, ...]:
        parts = self.parts.get(symbol)
        if parts is None:
            parts = tuple(
                ir.Symbol(f"{symbol.name}_{k}", symbol.type.scalar, symbol.mutable)
                for k in range(symbol.type.lanes)
            )
            self.parts[symbol] = parts
        return parts

    def rewrite(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr.type, VecType):
            return self.whole(expr, expr.type)
        if isinstance(expr, ir.Component):
            return self.of(expr.a, expr.index)
        if isinstance(expr, (ir.Length, ir.Offset)) and expr.array in self.arrays:
            return replace(expr, array=self.arrays[expr.array])
        return map_operands(expr, self.rewrite)  # type: ignore[no-any-return]  # the node's own class

    def whole(self, expr: ir.Expr, vector: VecType) -> ir.Expr:
        if isinstance(expr, ir.Ref) and expr.symbol in self.loaded:
            return expr
        return ir.MakeVector(vector, expr.span, tuple(self.components(expr)))

    def components(self, expr: ir.Expr) -> list[ir.Expr]:
        return [self.of(expr, k) for k in range(expr.type.lanes)]

    def shared(self, expr: ir.Expr) -> ir.Expr:
        """A scalar that several components use, computed once for this statement."""
        known = self.once.get(id(expr))
        if known is None:
            known = (expr, self.let(self.rewrite(expr)))
            self.once[id(expr)] = known
        return known[1]

    def of(self, expr: ir.Expr, k: int) -> ir.Expr:
        """Component `k`; a scalar serves all components."""
        if not isinstance(expr.type, VecType):
            return self.shared(expr)
        scalar = expr.type.scalar
        match expr:
            case ir.Ref():
                if expr.symbol in self.loaded:
                    return ir.Component(scalar, expr.span, expr, k)
                return b.ref(self.parts_of(expr.symbol)[k], expr.span)
            case ir.Const() | ir.Param():
                return replace(expr, type=scalar)
            case ir.MakeVector():
                return self.shared(expr.args[0]) if len(expr.args) == 1 else self.rewrite(expr.args[k])
            case ir.Bitcast() if expr.a.type.lanes != expr.type.lanes:
                message = f"bitcast from {expr.a.type!r} to {expr.type!r}: the number of components changes"
                raise error_at(UnsupportedFeature, message, expr.span)
        new: Any = map_operands(expr, lambda e: self.of(e, k))
        return replace(new, type=scalar)  # type: ignore[no-any-return]  # the node's own class

    def split_access(self, stmt: Any) -> None:
        array = self.arrays[stmt.array]
        index = [self.let(self.rewrite(i)) for i in stmt.index]
        check = None if stmt.check is None else self.let(self.rewrite(stmt.check))
        lanes = stmt.array.dtype.lanes
        loads = isinstance(stmt, ir.Load)
        values = None if loads else [self.let(v) for v in self.components(stmt.value)]
        for k in range(lanes):
            last = b.binary("+", b.binary("*", index[-1], b.like(index[-1], lanes)), b.like(index[-1], k))
            at = (*index[:-1], last)
            if values is None:
                part = self.parts_of(stmt.symbol)[k]
                self.emit(ir.Load(stmt.span, part, array, at, check, stmt.site, stmt.flat))
            else:
                self.emit(ir.Store(stmt.span, array, at, values[k], check, stmt.site, stmt.flat))


def _as_scalars(array: ir.Array) -> ir.Array:
    if array.rank is not None:
        message = f"{array.name}: a Tensor of {array.dtype!r}; pass it as Array[{array.dtype!r}]"
        raise UnsupportedFeature(message)
    lanes = array.dtype.lanes
    shape = (*array.shape[:-1], array.shape[-1] * lanes) if array.shape else ()
    dtype: DType = array.dtype.scalar
    return replace(array, dtype=dtype, shape=shape)


__all__ = ["vectors"]
