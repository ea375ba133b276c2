"""Integer operators and functions with the language's meaning, from plain machine operations.

Floor and truncating division with their zero rules, total shifts, powers, comparisons of different
integer dtypes, bit counts and the high half of a product. Each rule is left alone where the target
has it natively (`NATIVE_SEMANTICS`, `Target.math`), and guards that known ranges make needless are not made.

Runs before `casts` (it makes casts between integers, all raw) and before `narrow`, which gives 8- and
16-bit results their width. Nothing must run before it; `vectors` may.
"""

from __future__ import annotations

from collections.abc import Callable

from ruda_core.capabilities import Target
from ruda_core.dtypes import BY_NAME, VecType, bool_, i32, u32, u64, unsigned
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter
from ruda_core.passes.intervals import Interval
from ruda_core.passes.ranges import integer_ranges
from ruda_core.passes.software.bits import BITS
from ruda_core.passes.software.expr import Scope, Value


def integers(function: ir.Function, target: Target) -> ir.Function:
    """The function without the integer semantics that `target` lacks."""
    return _Integers(target).run(function)


_DIVISIONS = {"//": "floordiv", "%": "floordiv", "div_trunc": "truncdiv", "rem_trunc": "truncdiv"}
_CHOICES = {"min": "<", "fmin": "<", "max": ">", "fmax": ">"}


class _Integers(Rewriter):
    def __init__(self, target: Target) -> None:
        self.target = target

    def run(self, function: ir.Function) -> ir.Function:
        self.ranges: Callable[[ir.Expr], Interval] | None = None
        return super().run(function)

    def range_of(self, expr: ir.Expr) -> Interval:
        """Values that an operand may have; the analysis runs when it is first asked for."""
        if self.ranges is None:
            self.ranges = integer_ranges(self.function)
        return self.ranges(expr)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Binary() if expr.op in _DIVISIONS and expr.type.is_integer:
                if not self.target.supports(_DIVISIONS[expr.op]):
                    known = self.range_of(expr.a), self.range_of(expr.b)
                    return self.expand(
                        expr, lambda s: divide(expr.op, s.value(expr.a), s.value(expr.b), *known)
                    )
            case ir.Binary(op="<<" | ">>"):
                if not self.target.supports("shift"):
                    amounts = self.range_of(expr.b)
                    return self.expand(
                        expr, lambda s: shift(expr.op, s.value(expr.a), s.value(expr.b), amounts)
                    )
            case ir.Compare() if expr.a.type.scalar is not expr.b.type.scalar:
                if not self.target.supports("mixed_compare"):
                    return self.expand(expr, lambda s: mixed(expr.op, s.value(expr.a), s.value(expr.b)))
            case ir.Math() if not expr.args[0].type.is_float:
                return self.function_of(expr)
        return expr

    def expand(self, expr: ir.Expr, rule: Callable[[Scope], Value]) -> ir.Expr:
        scope = Scope(expr.span)
        return scope.into(self, rule(scope))

    def function_of(self, expr: ir.Math) -> ir.Expr:
        dtype = expr.args[0].type.scalar
        if expr.fn == "pow":
            if self.target.supports("int_pow"):
                return expr
            return self.power(expr)
        if f"{expr.fn}:{dtype.name}" in self.target.math:
            return expr
        if expr.fn in _CHOICES:
            return self.expand(expr, lambda s: choose(expr.fn, *(s.value(a) for a in expr.args)))
        if expr.fn in ("abs", "sign"):
            return self.expand(expr, lambda s: _SIGNS[expr.fn](s.value(expr.args[0])))
        if expr.fn in BITS:
            native = f"{expr.fn}:u32" in self.target.math
            double = "u64" in self.target.arithmetic
            rule = BITS[expr.fn]
            return self.expand(expr, lambda s: rule([s.value(a) for a in expr.args], native, double))
        return expr

    def power(self, expr: ir.Math) -> ir.Expr:
        base, exponent = expr.args
        if isinstance(base.type, VecType):
            parts = [
                self.power(ir.Math(base.type.scalar, expr.span, "pow", (_part(base, k), _part(exponent, k))))
                for k in range(base.type.lanes)
            ]
            return ir.MakeVector(base.type, expr.span, tuple(parts))
        return self.expand(expr, lambda s: power(s.value(base), s.value(exponent)))


def _part(expr: ir.Expr, index: int) -> ir.Expr:
    return b.component(expr, index) if isinstance(expr.type, VecType) else expr


def divide(op: str, a: Value, d: Value, dividend: Interval, divisor: Interval) -> Value:
    """`//`, `%`, `div_trunc` or `rem_trunc`: by zero 0; MIN by -1 wraps to MIN, remainder 0.

    The intervals are what the operands are known to be; guards that they make needless are left out.
    """
    signed = a.dtype.kind == "int"
    floors = op in ("//", "%")
    known = divisor.lo if divisor.lo == divisor.hi else None
    if known is not None and known > 0 and known & (known - 1) == 0 and (floors or dividend.lo >= 0):
        return a >> known.bit_length() - 1 if op in ("//", "div_trunc") else a & (known - 1)
    never = d.scope.const(bool_, False)
    zero = d.eq(0) if divisor.lo <= 0 <= divisor.hi else never
    overflows = signed and dividend.lo == a.dtype.min and divisor.lo <= -1 <= divisor.hi
    unsafe = zero | (d.eq(-1) & a.eq(a.dtype.min)) if overflows else zero
    safe = unsafe.where(1, d)
    q = a.quo(safe)
    r = a - q * safe
    if floors and signed and not (dividend.lo >= 0 and divisor.lo >= 0):
        below = r.ne(0) & ((r ^ safe) < 0)
        q, r = below.where(q - 1, q), below.where(r + safe, r)
    return r if op in ("%", "rem_trunc") else zero.where(0, q)


def shift(op: str, a: Value, n: Value, amounts: Interval) -> Value:
    """`<<` or `>>` by any amount; a negative one counts as too large."""
    width = a.dtype.bits
    arithmetic = op == ">>" and a.dtype.kind == "int"
    if amounts.lo >= 0 and amounts.hi < width:
        return a << n.to(u32) if op == "<<" else a >> n.to(u32)
    if amounts.hi < 0 or amounts.lo >= width:
        return a >> width - 1 if arithmetic else a.like(0)
    count = n.to(unsigned(n.dtype) if n.dtype.bits > 32 else u32)  # a negative amount becomes huge
    fits = count < width
    count = count.to(u32)
    if arithmetic:
        return a >> fits.where(count, width - 1)
    count = count & (width - 1)
    return fits.where(a << count if op == "<<" else a >> count, 0)


def mixed(op: str, a: Value, c: Value) -> Value:
    """A comparison by value of integers of two dtypes."""
    bits = max(a.dtype.bits, c.dtype.bits)
    kinds = {a.dtype.kind, c.dtype.kind}
    signed = a if a.dtype.kind == "int" else c
    other = c if signed is a else a
    if len(kinds) == 1 or signed.dtype.bits > other.dtype.bits:
        common = BY_NAME[f"{'i' if 'int' in kinds else 'u'}{bits}"]
        return a.to(common)._compare(op, c.to(common))
    if other.dtype.bits < 32:
        return a.to(i32)._compare(op, c.to(i32))
    negative = signed < 0
    common = BY_NAME[f"u{bits}"]
    magnitudes = a.to(common)._compare(op, c.to(common))
    holds = op == "!=" or (op in ("<", "<=")) == (signed is a) and op != "=="
    return (negative | magnitudes) if holds else (~negative & magnitudes)


def choose(fn: str, a: Value, c: Value) -> Value:
    """min and max of integers and bools."""
    if a.dtype is bool_:
        return a & c if "min" in fn else a | c
    return a._compare(_CHOICES[fn], c).where(a, c)


def _absolute(a: Value) -> Value:
    return (a < 0).where(-a, a) if a.dtype.kind == "int" else a


def _sign(a: Value) -> Value:
    """By shifts: a compiler of NVIDIA's makes one three-way comparison of two choices, and fails on it."""
    if a.dtype.kind != "int":
        return a.ne(0).where(1, a.like(0))
    last = a.dtype.bits - 1
    word = unsigned(a.dtype)
    return (a >> last) | ((-a).to(word) >> last).to(a.dtype)


_SIGNS: dict[str, Callable[[Value], Value]] = {"abs": _absolute, "sign": _sign}


def power(base: Value, exponent: Value) -> Value:
    """`base ** exponent` with wrap; for a negative exponent 0, save for bases 1 and -1."""
    s = base.scope
    if isinstance(exponent.node, ir.Const) and exponent.node.value >= 0:
        return _known_power(base, int(exponent.node.value))
    wide = u64 if exponent.dtype.bits > 32 else u32
    negative = exponent < 0 if exponent.dtype.kind == "int" else s.const(bool_, False)
    odd = (exponent & 1).ne(0)
    left = s.variable(negative.where(0, exponent.to(wide)), "exponent")
    square, result = s.variable(base, "square"), s.variable(base.like(1), "power")
    with s.loop():
        e = left.get()
        s.stop_if(e.eq(0))
        x = square.get()
        r = result.get()
        result.set((e & 1).ne(0).where(r * x, r))
        square.set(x * x)
        left.set(e >> 1)
    total = result.get()
    if exponent.dtype.kind != "int":
        return total
    special = base.eq(1).where(1, base.like(0))
    if base.dtype.kind == "int":
        special = base.eq(-1).where(odd.where(-1, base.like(1)), special)
    return negative.where(special, total)


def _known_power(base: Value, exponent: int) -> Value:
    total: Value | None = None
    while exponent:
        if exponent & 1:
            total = base if total is None else total * base
        exponent >>= 1
        base = base * base if exponent else base
    return base.like(1) if total is None else total


__all__ = ["integers"]
