"""Index tuples become one linear element index, and element offsets of global arrays are added.

Shared, local and constant arrays are row-major; tensors go through their strides; `tensor.flat[k]` is
taken apart into one index for each axis first. The result is of the index type, in elements of the
array's dtype. A checked index is in bounds wherever the access happens, so none of this can wrap there;
elsewhere it has a value that nobody uses (divisions are by at least one).

Runs after `integers` (it makes only `RAW` operators) and before `bind` and `storage`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ruda_core.capabilities import Target
from ruda_core.dtypes import unsigned
from ruda_core.ir import nodes as ir
from ruda_core.ir.build import binary, cast, compare, const, select
from ruda_core.ir.rewrite import Rewriter
from ruda_core.passes.faults import FAULTS
from ruda_core.passes.fold import fold_expr


def flatten(function: ir.Function, target: Target) -> ir.Function:
    """The function with one linear index for each access; offsets only where the driver does not add them.

    Unchanged for a target that indexes tensors and applies offsets itself.
    """
    if target.supports("tensor_index", "offset"):
        return function
    return _Flatten(offsets=not target.supports("offset")).run(function)


class _Flatten(Rewriter):
    def __init__(self, *, offsets: bool) -> None:
        self.offsets = offsets

    def stmt(self, stmt: ir.Stmt) -> None:
        if isinstance(stmt, (ir.Load, ir.Store, ir.Atomic, ir.UniformLoad)):
            index = fold_expr(self.linear(stmt))
            self.emit(replace(stmt, index=(index,), flat=False))
        else:
            self.emit(stmt)

    def linear(self, s: Any) -> ir.Expr:
        array: ir.Array = s.array
        indices = [cast(self.function.index, i) for i in s.index]
        if array.shape:
            return indices[0] if s.flat else self.row_major(indices, array.shape)
        if array.rank is not None:
            along = self.per_axis(indices[0], array) if s.flat else indices
            indices = [self.strided(along, array)]
        if not self.offsets or array.space != "global" or array.name == FAULTS or array.over is not None:
            return indices[0]
        return binary("+", ir.Offset(self.function.index, s.span, array), indices[0])

    def row_major(self, indices: list[ir.Expr], shape: tuple[int, ...]) -> ir.Expr:
        index = indices[0]
        for i, n in zip(indices[1:], shape[1:], strict=True):
            index = binary("+", binary("*", index, const(self.function.index, n, i.span)), i)
        return index

    def strided(self, indices: list[ir.Expr], array: ir.Array) -> ir.Expr:
        index: ir.Expr = const(self.function.index, 0)
        for axis, i in enumerate(indices):
            step = binary("*", i, ir.Stride(self.function.index, i.span, array, axis))
            index = step if axis == 0 else binary("+", index, step)
        return index

    def per_axis(self, flat: ir.Expr, array: ir.Array) -> list[ir.Expr]:
        """The index along each axis of the `flat`-th element in row-major order."""
        index, word = self.function.index, unsigned(self.function.index)
        rest = self.let(cast(word, flat), "flat")
        found: list[ir.Expr] = []
        for axis in range((array.rank or 0) - 1, 0, -1):
            extent = cast(word, ir.Shape(index, flat.span, array, axis))
            one = const(word, 1, flat.span)
            by = self.let(select(compare("==", extent, const(word, 0, flat.span)), one, extent), "extent")
            above = self.let(binary("quo", rest, by), "flat")
            found.insert(0, cast(index, binary("-", rest, binary("*", above, by))))
            rest = above
        return [cast(index, rest), *found] if array.rank else []
