"""Float operators and functions that are defined to the bit, for targets that lack them.

`//` and `%`, min and max with NaN, `!=` (written as `not ==`), isnan and its kin by bits, rounding to
whole numbers, abs, sign and copysign, and infinities and NaN as constants (by a bitcast of a value known
only at run time). 16-bit floats are widened to f32, where all of these are exact.

Runs after `math`, `vectors` and `casts` (it makes raw casts, and casts to 16-bit floats for `narrow`,
which runs later); before `flatten`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from ruda_core.capabilities import Target
from ruda_core.dtypes import DType, bool_, f32, f64
from ruda_core.ir import build as b
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter
from ruda_core.passes.software.exact import divide
from ruda_core.passes.software.expr import Scope, Value, by_component
from ruda_core.passes.software.modulo import floor_quotient, remainder
from ruda_core.passes.software.whole import TESTS, WHOLE

_NATIVE_AS = {"min": "minmax", "max": "minmax", "fmin": "minmax", "fmax": "minmax", "round": "round_even"}
"""Functions whose meaning is a semantic of the target rather than an entry of its functions."""


def floats(function: ir.Function, target: Target) -> ir.Function:
    """The function without the float semantics that `target` lacks."""
    return _Floats(target).run(function)


class _Floats(Rewriter):
    def __init__(self, target: Target) -> None:
        self.target = target

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Const() if expr.type.is_float and not math.isfinite(expr.value):
                if not self.target.supports("nonfinite"):
                    return self.nonfinite(expr)
            case ir.Binary(op="//" | "%") if expr.type.is_float:
                if not self.target.supports("float_mod"):
                    rule = self.floor_quotient(expr) if expr.op == "//" else remainder
                    return self.expand(expr, rule, expr.a, expr.b)
            case ir.Compare(op="!=") if expr.a.type.is_float:
                if not self.target.supports("nan_compare"):
                    return b.negate(ir.Compare(expr.type, expr.span, "==", expr.a, expr.b))
            case ir.Math() if expr.args[0].type.is_float:
                return self.function_of(expr)
        return expr

    def function_of(self, expr: ir.Math) -> ir.Expr:
        dtype = expr.args[0].type.scalar
        if expr.fn in TESTS:
            native = f"{expr.fn}:{dtype.name}" in self.target.math
            return expr if native else self.expand(expr, TESTS[expr.fn], *expr.args)
        if expr.fn not in WHOLE or self.has(expr.fn, dtype):
            return expr
        if dtype.bits == 16 and self.has(expr.fn, f32):
            return self.expand(expr, lambda x, *others: x.fn(expr.fn, *others), *expr.args)
        return self.expand(expr, WHOLE[expr.fn], *expr.args)

    def floor_quotient(self, expr: ir.Binary) -> Callable[..., Value]:
        """With a division that is exact: the target's own, or one by integers."""
        if self.target.exact_div_sqrt or expr.type.scalar is f64:
            return floor_quotient
        return partial(floor_quotient, over=divide)

    def has(self, fn: str, dtype: DType) -> bool:
        semantic = _NATIVE_AS.get(fn)
        if semantic is not None:
            return self.target.supports(semantic)
        return f"{fn}:{dtype.name}" in self.target.math

    def nonfinite(self, expr: ir.Const) -> ir.Expr:
        scope = Scope(expr.span)
        dtype = expr.type.scalar
        return scope.into(self, scope.opaque(f32 if dtype.bits == 16 else dtype, expr.value).to(dtype))

    def expand(self, expr: ir.Expr, rule: Callable[..., Value], *args: ir.Expr) -> ir.Expr:
        return by_component(args, lambda *scalars: self.expanded(expr, rule, scalars), self)

    def expanded(self, expr: ir.Expr, rule: Callable[..., Value], args: tuple[ir.Expr, ...]) -> ir.Expr:
        """`rule` on the operands, 16-bit floats widened before and rounded after."""
        scope = Scope(expr.span, fence=self.target.reassociates)
        dtype = args[0].type.scalar
        narrow = dtype.bits == 16
        values = [scope.value(a) for a in args]
        result = rule(*(v.to(f32) if narrow else v for v in values))
        if narrow and result.dtype is not bool_:
            exact = isinstance(expr, ir.Math) or dtype.name in self.target.arithmetic
            result = result.to(dtype) if exact else result.convert(dtype)
        return scope.into(self, result)


__all__ = ["floats"]
