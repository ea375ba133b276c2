"""Constant arrays that hold infinities or NaN, as arrays of their bits.

C dialects spell such numbers by calls, which initialise no constant; WGSL has no spelling. What is loaded is bits
too: no compiler sees an infinity by looking into the array. Runs after `narrow`, which decides what these arrays
hold; before `fences`.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from ruda_core.dtypes import unsigned
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter
from ruda_core.passes.values import to_bits


def tables(function: ir.Function) -> ir.Function:
    """The function with only integers, bools and finite floats in its constant arrays."""
    words = {a: _as_words(a) for a in function.in_space("constant") if not all(map(isfinite, a.values))}
    return _Tables(words).run(function) if words else function


def _as_words(array: ir.Array) -> ir.Array:
    dtype = array.dtype.scalar
    bits = tuple(to_bits(dtype, value) for value in array.values)
    return replace(array, dtype=b.with_scalar(array.dtype, unsigned(dtype)), values=bits)


class _Tables(Rewriter):
    def __init__(self, words: dict[ir.Array, ir.Array]) -> None:
        self.words = words

    def run(self, function: ir.Function) -> ir.Function:
        new = super().run(function)
        return replace(new, arrays=tuple(self.words.get(a, a) for a in new.arrays))

    def stmt(self, stmt: ir.Stmt) -> None:
        if not (isinstance(stmt, ir.Load) and stmt.array in self.words):
            self.emit(stmt)
            return
        array, loaded = self.words[stmt.array], stmt.symbol
        word = ir.Symbol("word", b.with_scalar(loaded.type, array.dtype.scalar))
        self.emit(replace(stmt, array=array, symbol=word))
        self.emit(ir.Let(stmt.span, loaded, b.bitcast(loaded.type.scalar, b.ref(word, stmt.span))))


__all__ = ["tables"]
