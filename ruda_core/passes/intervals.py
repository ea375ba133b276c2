"""Intervals of integer expressions: sound also where arithmetic wraps.

`Interval` and `of_operator` are exact integer arithmetic; `fit` turns a result that may not fit its
dtype into the dtype's whole range. What holds at one place of a function is the business of `ranges`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ruda_core.dtypes import DType, ValueType
from ruda_core.ir import nodes as ir


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from `lo` to `hi`, both included."""

    lo: int
    hi: int

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that contains both."""
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))

    def meet(self, other: Interval) -> Interval:
        """What both contain; self when that is nothing (then the place is unreachable)."""
        lo, hi = max(self.lo, other.lo), min(self.hi, other.hi)
        return Interval(lo, hi) if lo <= hi else self

    def within(self, other: Interval) -> bool:
        return other.lo <= self.lo and self.hi <= other.hi


def full(value_type: ValueType) -> Interval:
    """Every value of an integer dtype, or 0 and 1 for bool."""
    return Interval(value_type.scalar.min, value_type.scalar.max)


def fit(interval: Interval | None, value_type: ValueType) -> Interval:
    """The interval when the dtype holds all of it, else the dtype's range: the operation may wrap."""
    whole = full(value_type)
    return interval if interval is not None and interval.within(whole) else whole


def _spread(values: Iterable[int]) -> Interval:
    found = list(values)
    return Interval(min(found), max(found))


def _corners(op: Callable[[int, int], int], a: Interval, b: Interval) -> Interval:
    return _spread(op(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi))


def _divisors(b: Interval) -> list[Interval]:
    """The parts of a divisor's interval that do not contain zero."""
    parts = (Interval(b.lo, min(b.hi, -1)), Interval(max(b.lo, 1), b.hi))
    return [p for p in parts if p.lo <= p.hi]


def _with_zero(parts: list[Interval], b: Interval) -> Interval:
    """The hull of the parts, and of zero where the divisor may be zero."""
    if b.lo <= 0 <= b.hi:
        parts = [*parts, Interval(0, 0)]
    return Interval(min(p.lo for p in parts), max(p.hi for p in parts))


def _floor_div(a: Interval, b: Interval, width: int) -> Interval:
    return _with_zero([_corners(lambda x, y: x // y, a, d) for d in _divisors(b)], b)


def _trunc_div(a: Interval, b: Interval, width: int) -> Interval:
    # Truncation is monotone on each side of zero only: zero itself is a corner where `a` spans it.
    parts = [_corners(_truncated, a, d) for d in _divisors(b)]
    if a.lo <= 0 <= a.hi:
        parts = [p.hull(Interval(0, 0)) for p in parts]
    return _with_zero(parts, b)


def _truncated(x: int, y: int) -> int:
    q = abs(x) // abs(y)
    return -q if (x < 0) != (y < 0) else q


def _floor_mod(a: Interval, b: Interval, width: int) -> Interval:
    parts = []
    for d in _divisors(b):
        if d.lo > 0:
            unchanged = a.lo >= 0 and a.hi < d.lo
            parts.append(a if unchanged else Interval(0, min(d.hi - 1, a.hi) if a.lo >= 0 else d.hi - 1))
        else:
            parts.append(Interval(d.lo + 1, 0))
    return _with_zero(parts, b)


def _trunc_rem(a: Interval, b: Interval, width: int) -> Interval:
    most = max(abs(b.lo), abs(b.hi), 1) - 1
    return Interval(max(min(a.lo, 0), -most), min(max(a.hi, 0), most))


def _and(a: Interval, b: Interval, width: int) -> Interval | None:
    limits = [i.hi for i in (a, b) if i.lo >= 0]
    return Interval(0, min(limits)) if limits else None


def _or(a: Interval, b: Interval, width: int) -> Interval | None:
    if a.lo < 0 or b.lo < 0:
        return None
    return Interval(max(a.lo, b.lo), (1 << max(a.hi, b.hi).bit_length()) - 1)


def _xor(a: Interval, b: Interval, width: int) -> Interval | None:
    found = _or(a, b, width)
    return None if found is None else Interval(0, found.hi)


def _amounts(b: Interval, width: int) -> list[int]:
    """Amounts that bound a shift's result; one out of range counts as the width."""
    inside = [min(max(k, 0), width) for k in (b.lo, b.hi)]
    return [*inside, width] if b.lo < 0 else inside


def _shift_left(a: Interval, b: Interval, width: int) -> Interval:
    amounts = [min(k, width - 1) for k in _amounts(b, width)]
    found = _spread(x << k for x in (a.lo, a.hi) for k in amounts)
    return found if b.lo >= 0 and b.hi < width else found.hull(Interval(0, 0))


def _shift_right(a: Interval, b: Interval, width: int) -> Interval:
    return _spread(x >> k for x in (a.lo, a.hi) for k in _amounts(b, width))


_OPERATORS: dict[str, Callable[[Interval, Interval, int], Interval | None]] = {
    "+": lambda a, b, width: Interval(a.lo + b.lo, a.hi + b.hi),
    "-": lambda a, b, width: Interval(a.lo - b.hi, a.hi - b.lo),
    "*": lambda a, b, width: _corners(lambda x, y: x * y, a, b),
    "//": _floor_div,
    "%": _floor_mod,
    "div_trunc": _trunc_div,
    "quo": _trunc_div,
    "rem_trunc": _trunc_rem,
    "rem": _trunc_rem,
    "&": _and,
    "|": _or,
    "^": _xor,
    "<<": _shift_left,
    "shl": _shift_left,
    ">>": _shift_right,
    "shr": _shift_right,
}


def of_operator(op: str, a: Interval, b: Interval, width: int) -> Interval | None:
    """The exact results of a binary operator on all pairs; None when nothing is known of them."""
    return _OPERATORS[op](a, b, width)


_BIT_COUNTS = frozenset({"popcount", "clz", "ctz"})


def of_function(fn: str, args: list[Interval], width: int) -> Interval | None:
    """The exact results of a function on integers; None when nothing is known of them."""
    a = args[0]
    if fn in ("min", "fmin"):
        return Interval(min(a.lo, args[1].lo), min(a.hi, args[1].hi))
    if fn in ("max", "fmax"):
        return Interval(max(a.lo, args[1].lo), max(a.hi, args[1].hi))
    if fn in _BIT_COUNTS:
        return Interval(0, width)
    if fn == "sign":
        return Interval(max(-1, min(1, a.lo)), max(-1, min(1, a.hi)))
    if fn == "abs":
        low = 0 if a.lo <= 0 <= a.hi else min(abs(a.lo), abs(a.hi))
        return Interval(low, max(abs(a.lo), abs(a.hi)))
    return None


def of_builtin(name: str, axis: int | None, function: ir.Function, value_type: ValueType) -> Interval:
    """Positions and sizes. A launch has at most as many units as the index type's largest value: the
    launcher refuses more, or widens the index type."""
    most = full(function.index).hi
    if name == "unit_pos":
        return Interval(0, (function.units if axis is None else function.dim[axis]) - 1)
    if name == "absolute_pos":
        return Interval(0, most - 1)
    groups = most // function.units
    if name == "workgroup_pos":
        return Interval(0, groups - 1)
    if name == "workgroup_count":
        return Interval(1, groups)  # some unit is running
    whole = full(value_type)
    return Interval(0, whole.hi)


def interval_of(expr: ir.Expr, function: ir.Function, symbols: dict[ir.Symbol, Interval]) -> Interval:
    """The interval of an integer or bool scalar, bottom-up, given those of immutable symbols."""
    whole = full(expr.type)
    if not isinstance(expr.type, DType) or expr.type.is_float:
        return whole

    def of(e: ir.Expr) -> Interval:
        return interval_of(e, function, symbols)

    match expr:
        case ir.Const():
            return Interval(int(expr.value), int(expr.value))
        case ir.Ref():
            return symbols.get(expr.symbol, whole)
        case ir.Builtin():
            return of_builtin(expr.name, expr.axis, function, expr.type)
        case ir.Length() | ir.Shape():
            return Interval(0, whole.hi)
        case ir.Unary(op="-") if expr.type.is_integer:
            a = of(expr.a)
            return fit(Interval(-a.hi, -a.lo), expr.type)
        case ir.Binary() if expr.type.is_integer:
            return fit(of_operator(expr.op, of(expr.a), of(expr.b), expr.type.bits), expr.type)
        case ir.Cast() if not expr.a.type.is_float:
            return fit(of(expr.a), expr.type) if expr.type.is_integer else whole
        case ir.Select():
            return of(expr.a).hull(of(expr.b))
        case ir.Math() if not expr.args[0].type.is_float and expr.type.is_integer:
            return fit(of_function(expr.fn, [of(a) for a in expr.args], expr.args[0].type.bits), expr.type)
    return whole
