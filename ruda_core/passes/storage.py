"""Memory of dtypes that the target cannot store, as u32 words; vector accesses that it cannot do whole.

A binding of u32 words (made by `bind` for dtypes that the target cannot store, or for arrays of several
dtypes in one allocation) is read a word at a time. Elements narrower than a word are taken out of it by
shifts and put into it by `MaskedStore`, which leaves the neighbours alone even when other units store to
them at the same time; elements and vectors that fill whole words are stored plainly, 64-bit ones as two
words. Shared arrays are packed likewise. bool is stored as u8 where the target stores bytes and read
as `!= 0`. f32 and f64 arrays with atomic operations that the target lacks become words here, for the
compare-exchange loops of `atomics`. Local and constant arrays of narrow dtypes are left to `narrow`.

Runs after `flatten` and `bind` (one linear index, in elements of the array's own dtype), before
`narrow` and `atomics`. Arrays keep their dtypes; what lies in memory is the binding's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType, VecType, bool_, f32, f64, u8, u16, u32, u64, unsigned
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter, walk
from ruda_core.passes.software.expr import Scope, Value


def storage(function: ir.Function, target: Target) -> ir.Function:
    """The function with accesses that `target` can do."""
    return _Storage(target).run(function)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How an array's elements lie in memory."""

    array: ir.Array
    stored: DType
    """What one index of the memory holds."""
    whole: bool
    """One access moves one element as it is."""


class _Storage(Rewriter):
    def __init__(self, target: Target) -> None:
        self.target = target
        self.parts: dict[ir.Symbol, tuple[ir.Symbol, ...]] = {}
        self.masked: set[ir.Array] = set()

    def run(self, function: ir.Function) -> ir.Function:
        foreign = self.foreign_atomics(function)
        bindings = tuple(self.rebound(bound, foreign) for bound in function.bindings)
        stored = {a: bound.dtype for bound in bindings for a in bound.arrays}
        self.layouts = {a: self.layout(a, stored.get(a), a in foreign) for a in function.arrays}
        new = super().run(replace(function, bindings=bindings))
        marked = tuple(
            replace(bound, atomic=True) if self.masked.intersection(bound.arrays) else bound
            for bound in bindings
        )
        arrays = tuple(self.layouts[a].array for a in new.arrays)
        return replace(new, arrays=arrays, bindings=marked)

    def foreign_atomics(self, function: ir.Function) -> set[ir.Array]:
        """Arrays of floats with an atomic operation that the target lacks."""
        return {
            s.array
            for s in walk(function.body)
            if isinstance(s, ir.Atomic)
            and s.array.dtype.is_float
            and s.op not in self.target.atomics.get(s.array.dtype.name, ())
        }

    def rebound(self, bound: ir.Binding, foreign: set[ir.Array]) -> ir.Binding:
        if bound.dtype in (f32, f64) and foreign.intersection(bound.arrays):
            return replace(bound, dtype=unsigned(bound.dtype), atomic=True)
        return bound

    def layout(self, array: ir.Array, stored: DType | None, atomic: bool) -> _Layout:
        dtype = array.dtype.scalar
        if array.over is not None:
            return _Layout(array, dtype, True)
        if stored is None:
            stored = self.own(array, dtype, atomic)
            if stored is not dtype:
                count = -(-array.dtype.itemsize * _elements(array) // stored.itemsize)
                new = replace(array, dtype=stored, shape=(count,))
                return _Layout(new, stored, False)
            if isinstance(array.dtype, VecType) and not self.has_vector(array.dtype):
                new = replace(array, dtype=dtype, shape=(_elements(array) * array.dtype.lanes,))
                return _Layout(new, stored, False)
        whole = stored is dtype and (array.dtype.lanes == 1 or self.has_vector(array.dtype))
        return _Layout(array, stored, whole)

    def own(self, array: ir.Array, dtype: DType, atomic: bool) -> DType:
        """What a shared, local or constant array stores."""
        if atomic:
            return unsigned(dtype)
        if array.space != "shared" or dtype.name in self.target.storage:
            return dtype
        if dtype is bool_ and "u8" in self.target.storage:
            return u8
        return u32

    def has_vector(self, vector: VecType | DType) -> bool:
        if self.target.supports("vector_any"):
            return True
        name = vector.scalar.name
        known = name in self.target.storage and name in self.target.arithmetic
        return known and vector.lanes in self.target.vectors

    # Rewriting ------------------------------------------------------------------------------------

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Ref) and expr.symbol in self.parts:
            refs = tuple(b.ref(part, expr.span) for part in self.parts[expr.symbol])
            return ir.MakeVector(expr.type, expr.span, refs)
        if isinstance(expr, ir.Component) and isinstance(expr.a, ir.MakeVector) and len(expr.a.args) > 1:
            return expr.a.args[expr.index]
        return expr

    def stmt(self, stmt: ir.Stmt) -> None:
        if not isinstance(stmt, (ir.Load, ir.Store, ir.Atomic)):
            self.emit(stmt)
            return
        layout = self.layouts[stmt.array]
        if isinstance(stmt, ir.Atomic):
            self.emit(replace(stmt, array=layout.array))
        elif layout.whole:
            self.emit(replace(stmt, array=layout.array) if layout.array is not stmt.array else stmt)
        elif isinstance(stmt, ir.Load):
            self.load(stmt, layout)
        else:
            self.store(stmt, layout)

    def load(self, stmt: ir.Load, layout: _Layout) -> None:
        stmt = replace(stmt, check=None if stmt.check is None else self.let(stmt.check))
        if isinstance(stmt.symbol.type, DType):
            self.load_into((stmt.symbol,), stmt, layout)
            return
        parts = tuple(
            ir.Symbol(f"{stmt.symbol.name}_{k}", stmt.symbol.type.scalar)
            for k in range(stmt.symbol.type.lanes)
        )
        self.parts[stmt.symbol] = parts
        self.load_into(parts, stmt, layout)

    def load_into(self, parts: tuple[ir.Symbol, ...], stmt: ir.Load, layout: _Layout) -> None:
        dtype = parts[0].type.scalar
        lanes = len(parts)
        if layout.stored.itemsize == dtype.itemsize:
            for k, part in enumerate(parts):
                if layout.stored is dtype:
                    self.emit(self.read(stmt, layout, part, lanes, k))
                    continue
                word = ir.Symbol("word", layout.stored)
                self.emit(self.read(stmt, layout, word, lanes, k))
                scope = Scope(stmt.span)
                value = scope.value(b.ref(word, stmt.span))
                self.emit(ir.Let(stmt.span, part, scope.into(self, _of_equal_width(value, dtype))))
            return
        for first, group in _groups(parts, dtype):
            self.load_words(group, stmt, layout, lanes, first)

    def read(self, stmt: ir.Load, layout: _Layout, symbol: ir.Symbol, lanes: int, k: int) -> ir.Load:
        return ir.Load(stmt.span, symbol, layout.array, (self.at(stmt, lanes, k),), stmt.check, stmt.site)

    def at(self, stmt: Any, per_element: int, k: int) -> ir.Expr:
        """The index of part `k` of the element."""
        scope = Scope(stmt.span)
        return scope.into(self, scope.value(stmt.index[0]) * per_element + k)

    def load_words(
        self, group: tuple[ir.Symbol, ...], stmt: ir.Load, layout: _Layout, lanes: int, first: int
    ) -> None:
        """Parts that together fill whole words, or lie in one word."""
        dtype = group[0].type.scalar
        nbytes = dtype.itemsize * len(group)
        shift: ir.Expr | None = None
        if nbytes >= 4:
            per_element = lanes * dtype.itemsize // 4
            start = first * dtype.itemsize // 4
            places = [self.at(stmt, per_element, start + j) for j in range(nbytes // 4)]
        else:
            place, shift = self.in_word(stmt, lanes // len(group), first // len(group), nbytes)
            places = [place]
        words = [ir.Symbol("word", u32) for _ in places]
        for word, place in zip(words, places, strict=True):
            self.emit(ir.Load(stmt.span, word, layout.array, (place,), stmt.check, stmt.site))
        for k, part in enumerate(group):
            scope = Scope(stmt.span)
            values = [scope.value(b.ref(word, stmt.span)) for word in words]
            if shift is not None:
                values = [values[0] >> scope.value(shift)]
            self.emit(ir.Let(stmt.span, part, scope.into(self, _unpack(values, dtype, k))))

    def in_word(self, stmt: Any, per_element: int, k: int, nbytes: int) -> tuple[ir.Expr, ir.Expr]:
        """Word index and bit position of a piece of one or two bytes."""
        scope = Scope(stmt.span)
        piece = scope.value(stmt.index[0]) * per_element + k
        per_word = 4 // nbytes
        place = piece >> per_word.bit_length() - 1
        shift = (piece & (per_word - 1)).to(u32) * (nbytes * 8)
        stmts, (place_node, shift_node) = scope.finish(place, shift)
        for s in stmts:
            self.emit(s)
        return self.let(place_node), self.let(shift_node)

    def store(self, stmt: ir.Store, layout: _Layout) -> None:
        stmt = replace(stmt, check=None if stmt.check is None else self.let(stmt.check))
        dtype, lanes = stmt.value.type.scalar, stmt.value.type.lanes
        parts = tuple(self.let(part) for part in self.split(stmt.value))
        if layout.stored.itemsize == dtype.itemsize:
            for k, part in enumerate(parts):
                scope = Scope(stmt.span)
                value = scope.value(part)
                moved = value if layout.stored is dtype else _to_equal_width(value, layout.stored)
                self.write(stmt, layout, self.at(stmt, lanes, k), scope.into(self, moved))
            return
        for first, group in _groups(parts, dtype):
            self.store_words(group, stmt, layout, lanes, first)

    def split(self, value: ir.Expr) -> list[ir.Expr]:
        if isinstance(value.type, DType):
            return [value]
        if isinstance(value, ir.MakeVector):
            return list(value.args) if len(value.args) > 1 else [self.let(value.args[0])] * value.type.lanes
        whole = self.let(value)
        return [b.component(whole, k) for k in range(value.type.lanes)]

    def write(self, stmt: ir.Store, layout: _Layout, place: ir.Expr, value: ir.Expr) -> None:
        self.emit(ir.Store(stmt.span, layout.array, (place,), value, stmt.check, stmt.site))

    def store_words(
        self, group: tuple[ir.Expr, ...], stmt: ir.Store, layout: _Layout, lanes: int, first: int
    ) -> None:
        dtype = group[0].type.scalar
        nbytes = dtype.itemsize * len(group)
        scope = Scope(stmt.span)
        words = _pack([scope.value(part) for part in group], dtype)
        if nbytes < 4:
            place, shift = self.in_word(stmt, lanes // len(group), first // len(group), nbytes)
            value = scope.into(self, words[0])
            mask = (1 << nbytes * 8) - 1
            self.masked.add(stmt.array)
            self.emit(ir.MaskedStore(stmt.span, layout.array, place, shift, mask, value, stmt.check))
            return
        stmts, nodes = scope.finish(*words)
        for s in stmts:
            self.emit(s)
        start = first * dtype.itemsize // 4
        for j, node in enumerate(nodes):
            place = self.at(stmt, lanes * dtype.itemsize // 4, start + j)
            self.write(stmt, layout, place, node)


def _elements(array: ir.Array) -> int:
    total = 1
    for extent in array.shape:
        total *= extent
    return total


def _groups(parts: tuple[Any, ...], dtype: DType) -> list[tuple[int, tuple[Any, ...]]]:
    """Parts that are accessed together, with the number of the first: all, unless three share words."""
    if len(parts) == 3 and dtype.itemsize < 4:
        return [(k, (part,)) for k, part in enumerate(parts)]
    return [(0, parts)]


def _of_equal_width(word: Value, dtype: DType) -> Value:
    return word.ne(0) if dtype is bool_ else word.bits(dtype)


def _to_equal_width(value: Value, stored: DType) -> Value:
    if value.dtype is not bool_:
        return value.bits(stored)
    return value.where(value.scope.const(stored, 1), 0)


def _unpack(words: list[Value], dtype: DType, k: int) -> Value:
    """Element `k` out of consecutive words."""
    at = k * dtype.itemsize
    word = words[at // 4]
    if dtype.itemsize == 8:
        wide = (words[at // 4 + 1].to(u64) << 32) | word.to(u64)
        return wide.bits(dtype)
    if dtype.itemsize == 4:
        return word.bits(dtype)
    piece = word >> (at % 4) * 8
    if dtype is bool_:
        return (piece & 0xFF).ne(0)
    if dtype.is_float:
        return piece.to(u16).bits(dtype)
    return piece.to(dtype)


def _pack(parts: list[Value], dtype: DType) -> list[Value]:
    """The words that consecutive elements make."""
    words: dict[int, Value] = {}
    for k, part in enumerate(parts):
        at = k * dtype.itemsize
        if dtype.itemsize == 8:
            wide = part.bits(u64)
            words[at // 4], words[at // 4 + 1] = wide.to(u32), (wide >> 32).to(u32)
            continue
        piece = _word(part) << (at % 4) * 8
        words[at // 4] = words[at // 4] | piece if at // 4 in words else piece
    return [words[j] for j in sorted(words)]


def _word(part: Value) -> Value:
    """A value of at most four bytes, zero-extended to a word."""
    if part.dtype is bool_:
        return part.where(part.scope.const(u32, 1), 0)
    if part.dtype.bits == 32:
        return part.bits(u32)
    narrow = unsigned(part.dtype)
    return (part.bits(narrow) if part.dtype.is_float else part.to(narrow)).to(u32)


__all__ = ["storage"]
