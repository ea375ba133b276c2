"""Recognises positions in the launch, which do not wrap, however they are spelled out.

A launch of more units than the index type counts is refused, so a sum and product that equals a position
as a polynomial of workgroup positions, counts and unit positions is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ruda_core.ir import nodes as ir

Polynomial = dict[tuple[str, ...], int]
"""Coefficients by monomial: the sorted names of its factors."""

_LARGEST = 12
"""Terms beyond which an expression is no position."""


class Positions:
    """Tests expressions of one function."""

    def __init__(self, function: ir.Function, lets: Mapping[ir.Symbol, ir.Expr]) -> None:
        self._dim = function.dim
        self._lets = lets
        self._memo: dict[ir.Symbol, Polynomial | None] = {}
        axes = range(3)
        units = [self._unit(a) for a in axes]
        groups: list[Polynomial] = [{(f"g{a}",): 1} for a in axes]
        counts: list[Polynomial] = [{(f"c{a}",): 1} for a in axes]
        sizes = [_times(counts[a], {(): self._dim[a]}) for a in axes]
        whole = [_plus(_times(groups[a], {(): self._dim[a]}), units[a]) for a in axes]
        self._known = [*units, *groups, *whole, self._linear_unit()]
        self._absolute = _linear(whole, sizes)
        self._group = _linear(groups, counts)
        self._known += [self._absolute, self._group]
        self._in_line = function.dim[1] == function.dim[2] == 1

    def is_position(self, e: ir.Expr) -> bool:
        """True for a position on an axis or a linear one: of a unit, of a workgroup, or in the whole launch."""
        found = self._polynomial(e)
        return found is not None and found in self._known

    def linear(self, e: ir.Expr) -> Literal["group", "unit"] | None:
        """Whether the value is the linear position of a workgroup, or of a unit whose group is a line of units.

        Groups are numbered in that order, so neither takes a division.
        """
        if not isinstance(e, ir.Binary) or e.op != "+" or not e.type.is_integer:
            return None
        found = self._polynomial(e)
        if found == self._group:
            return "group"
        return "unit" if self._in_line and found == self._absolute else None

    def _unit(self, axis: int) -> Polynomial:
        return {(f"u{axis}",): 1} if self._dim[axis] > 1 else {}

    def _linear_unit(self) -> Polynomial:
        sizes: list[Polynomial] = [{(): d} for d in self._dim]
        return _linear([self._unit(a) for a in range(3)], sizes)

    def _polynomial(self, e: ir.Expr) -> Polynomial | None:
        match e:
            case ir.Const() if e.type.is_integer:
                return {(): int(e.value)} if e.value else {}
            case ir.Ref():
                return self._symbol(e.symbol)
            case ir.Cast() if e.type.is_integer and e.type.bits >= 32:
                return self._polynomial(e.a)
            case ir.Builtin():
                return self._builtin(e)
            case ir.Binary(op="+" | "*"):
                a, b = self._polynomial(e.a), self._polynomial(e.b)
                if a is None or b is None:
                    return None
                result = _plus(a, b) if e.op == "+" else _times(a, b)
                return result if len(result) <= _LARGEST else None
            case ir.Binary(op="shl") if isinstance(e.b, ir.Const):
                a = self._polynomial(e.a)
                return None if a is None else _times(a, {(): 1 << int(e.b.value)})
        return None

    def _symbol(self, symbol: ir.Symbol) -> Polynomial | None:
        if symbol not in self._memo:
            self._memo[symbol] = None
            if symbol in self._lets:
                self._memo[symbol] = self._polynomial(self._lets[symbol])
        return self._memo[symbol]

    def _builtin(self, e: ir.Builtin) -> Polynomial | None:
        name = e.name.removeprefix("native_")
        if name == "unit_pos":
            return self._linear_unit() if e.axis is None else self._unit(e.axis)
        if name == "absolute_pos":
            if e.axis is None:
                return self._absolute
            return _plus({(f"g{e.axis}",): self._dim[e.axis]}, self._unit(e.axis))
        if e.axis is None or name not in ("workgroup_pos", "workgroup_count"):
            return None
        return {(f"{'g' if name == 'workgroup_pos' else 'c'}{e.axis}",): 1}


def _plus(a: Polynomial, b: Polynomial) -> Polynomial:
    result = dict(a)
    for term, factor in b.items():
        result[term] = result.get(term, 0) + factor
    return {term: factor for term, factor in result.items() if factor}


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for x, p in a.items():
        for y, q in b.items():
            term = tuple(sorted((*x, *y)))
            result[term] = result.get(term, 0) + p * q
    return {term: factor for term, factor in result.items() if factor}


def _linear(parts: list[Polynomial], sizes: list[Polynomial]) -> Polynomial:
    """x + X*(y + Y*z)."""
    x, y, z = parts
    return _plus(x, _times(sizes[0], _plus(y, _times(sizes[1], z))))
