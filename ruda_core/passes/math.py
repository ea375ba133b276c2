"""Functions of floats that the target lacks, or has only with larger errors than the language allows.

`Target.math` says which functions meet the bounds natively. For f32 the others become core's software
versions, written in the IR (`software/`); 16-bit floats go through f32 and are rounded once. There are no
software versions for f64. A kernel that insists on exact division and square root (`fp_exact`, or
`fp_contract=False`) on a target without them gets them by integer arithmetic; `fma` has no software version.

Runs after `vectors`; before `integers`, `casts` and `floats`, which expand what it leaves to them
(powers of integers, rounding to whole numbers, min and max). Raises UnsupportedFeature.
"""

from __future__ import annotations

from collections.abc import Callable

from ruda_core.capabilities import Target
from ruda_core.dtypes import f32, f64
from ruda_core.errors import UnsupportedFeature
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import Rewriter
from ruda_core.ir.span import error_at
from ruda_core.passes.software.exact import divide, root
from ruda_core.passes.software.expr import Scope, Value, by_component
from ruda_core.passes.software.functions import FUNCTIONS


def math(function: ir.Function, target: Target) -> ir.Function:
    """The function with float functions that `target` has, and those that `floats` expands."""
    return _Math(target).run(function)


class _Math(Rewriter):
    def __init__(self, target: Target) -> None:
        self.target = target

    def run(self, function: ir.Function) -> ir.Function:
        insists = function.fp_exact or not function.fp_contract
        self.exactly = insists and not self.target.exact_div_sqrt
        return super().run(function)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Binary) and expr.op == "/" and self.exactly and expr.type.scalar is not f64:
            return self.expand(expr, divide, expr.a, expr.b)
        if not isinstance(expr, ir.Math) or not expr.args[0].type.is_float:
            return expr
        if expr.fn == "sqrt" and self.exactly and expr.type.scalar is not f64:
            return self.expand(expr, root, *expr.args)
        name = expr.args[0].type.scalar.name
        if f"{expr.fn}:{name}" in self.target.math and name in self.target.arithmetic:
            return expr
        if expr.fn == "fma":
            return self.fma(expr)
        return self.replaced(expr)

    def replaced(self, expr: ir.Math) -> ir.Expr:
        rule = root if expr.fn == "sqrt" else FUNCTIONS.get(expr.fn)
        if rule is None:
            return expr
        dtype = expr.args[0].type.scalar
        if dtype is f64:
            message = f"{expr.fn} of f64: this device has none that is right; use f32, or another device"
            raise error_at(UnsupportedFeature, message, expr.span)
        if f"{expr.fn}:f32" in self.target.math:
            return self.expand(expr, lambda x, *others: x.fn(expr.fn, *others), *expr.args)
        return self.expand(expr, rule, *expr.args)

    def fma(self, expr: ir.Math) -> ir.Expr:
        dtype = expr.type.scalar
        advice = "write a * b + c" if dtype is f32 else "cast the operands to f32"
        message = f"fma of {dtype.name}: this device has none that rounds once; {advice}"
        raise error_at(UnsupportedFeature, message, expr.span)

    def expand(self, expr: ir.Expr, rule: Callable[..., Value], *args: ir.Expr) -> ir.Expr:
        return by_component(args, lambda *scalars: self.expanded(expr, rule, scalars), self)

    def expanded(self, expr: ir.Expr, rule: Callable[..., Value], args: tuple[ir.Expr, ...]) -> ir.Expr:
        has_sqrt = "sqrt:f32" in self.target.math
        scope = Scope(expr.span, fence=self.target.reassociates, has_sqrt=has_sqrt)
        result = rule(*(self.operand(scope, a) for a in args))
        return scope.into(self, result.convert(expr.type.scalar))

    def operand(self, scope: Scope, arg: ir.Expr) -> Value:
        """An operand as f32; a constant is hidden, so that no target compiler folds the expansion."""
        if isinstance(arg, ir.Const):
            return scope.opaque(f32, float(arg.value))
        return scope.value(arg).to(f32)


__all__ = ["math"]
