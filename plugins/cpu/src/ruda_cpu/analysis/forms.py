"""Integer expressions as polynomials of what they are computed from, to see which differ by a constant only.

All arithmetic is modulo 2 to the number of bits, so a form says nothing about whether a sum wraps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ruda_core.ir import nodes as ir

Monomials = frozenset[tuple[tuple[int, ...], int]]
"""Coefficients by the sorted numbers of a product's factors."""

_NONE = 1 << 16
_LARGEST = 12
"""Terms beyond which an expression is a factor of its own."""


class Forms:
    """The forms of one region's expressions."""

    def __init__(self, lets: Mapping[ir.Symbol, ir.Expr]) -> None:
        """`lets`: values of symbols that can be computed again."""
        self._lets = lets
        self._factors: dict[tuple[object, ...], int] = {}
        self._given: list[ir.Expr] = []
        """The factors by number."""
        self._memo: dict[ir.Symbol, dict[tuple[int, ...], int]] = {}

    def of(self, e: ir.Expr) -> tuple[Monomials, int]:
        """What the value of a unit depends on, and the constant that is added to it, in two's complement.

        Values of equal monomials and dtype differ by the constants, wherever variables are the same.
        """
        size = 1 << e.type.bits
        terms = {term: factor % size for term, factor in self._form(e).items()}
        constant = terms.pop((), 0)
        rest = frozenset((term, factor) for term, factor in terms.items() if factor)
        return rest, constant - size if constant >= size >> 1 else constant

    def degree(self, e: ir.Expr, of: Callable[[ir.Expr], int | None]) -> int:
        """The highest degree of a product, by the degrees of its factors; a large number where one has none."""
        form = self._form(e)
        degrees = {f: of(self._given[f]) for term in form for f in term}
        return max((sum(_NONE if (d := degrees[f]) is None else d for f in term) for term in form), default=0)

    def factors(self, e: ir.Expr) -> list[ir.Expr]:
        """What the value is computed from, as far as forms look."""
        return [self._given[f] for f in sorted({f for term in self._form(e) for f in term})]

    def _form(self, e: ir.Expr) -> dict[tuple[int, ...], int]:
        match e:
            case ir.Const() if e.type.is_integer:
                return {(): int(e.value)}
            case ir.Ref() if e.symbol in self._lets:
                if e.symbol not in self._memo:
                    self._memo[e.symbol] = self._form(self._lets[e.symbol])
                return self._memo[e.symbol]
            case ir.Cast() if e.a.type.is_integer and e.type.is_integer and e.a.type.bits == e.type.bits:
                return self._form(e.a)
            case ir.Binary(op="+") if e.type.is_integer:
                return _plus(self._form(e.a), self._form(e.b), 1)
            case ir.Binary(op="-") if e.type.is_integer:
                return _plus(self._form(e.a), self._form(e.b), -1)
            case ir.Binary(op="*") if e.type.is_integer:
                product = _times(self._form(e.a), self._form(e.b))
                return product if len(product) <= _LARGEST else self._factor(e)
        return self._factor(e)

    def _factor(self, e: ir.Expr) -> dict[tuple[int, ...], int]:
        key = _identity(e)
        if key not in self._factors:
            self._factors[key] = len(self._given)
            self._given.append(e)
        return {(self._factors[key],): 1}


def _identity(e: ir.Expr) -> tuple[object, ...]:
    """Equal for expressions that certainly have one value."""
    match e:
        case ir.Builtin():
            return (e.name, e.axis)
        case ir.Param():
            return ("parameter", e.name, e.hidden)
        case ir.Length():
            return ("length", e.array)
        case ir.Shape():
            return ("shape", e.array, e.axis)
        case ir.Stride():
            return ("stride", e.array, e.axis)
        case ir.Offset():
            return ("offset", e.array)
        case ir.Ref():
            return ("symbol", e.symbol)
    return ("at", e)


def _plus(
    a: Mapping[tuple[int, ...], int], b: Mapping[tuple[int, ...], int], sign: int
) -> dict[tuple[int, ...], int]:
    result = dict(a)
    for term, factor in b.items():
        result[term] = result.get(term, 0) + sign * factor
    return result


def _times(a: Mapping[tuple[int, ...], int], b: Mapping[tuple[int, ...], int]) -> dict[tuple[int, ...], int]:
    result: dict[tuple[int, ...], int] = {}
    for x, p in a.items():
        for y, q in b.items():
            term = tuple(sorted((*x, *y)))
            result[term] = result.get(term, 0) + p * q
    return result
