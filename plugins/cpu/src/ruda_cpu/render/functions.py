"""Functions of the language that LLVM or the C library has."""

from __future__ import annotations

from ruda_core.dtypes import BY_NAME, f64
from ruda_core.ir import nodes as ir
from ruda_core.ir.text import show_expr
from ruda_core.ir.verify import InvalidIR
from ruda_cpu.render.operands import Operands
from ruda_cpu.render.writer import Value, constant
from ruda_cpu.target import FLOAT_INTRINSICS, LIBRARY, WIDTH

_CHOICES = {"min": "min", "fmin": "min", "max": "max", "fmax": "max"}
_BITS = {"popcount": "ctpop", "clz": "ctlz", "ctz": "cttz", "reverse_bits": "bitreverse"}


class Functions(Operands):
    """`Math` nodes, their operands given."""

    function: ir.Function

    def invalid(self, e: ir.Expr) -> InvalidIR:
        return InvalidIR(f"{self.function.name}: LLVM text has no {type(e).__name__}: {show_expr(e)}")

    def math(self, e: ir.Math, args: list[Value]) -> Value:
        """The function's value; raises InvalidIR for one that legalisation should have replaced."""
        dtype = args[0].dtype
        if dtype.is_float and dtype.bits > 16:
            return self._float_function(e, args)
        if dtype.is_integer:
            return self._integer_function(e, args)
        raise self.invalid(e)

    def _float_function(self, e: ir.Math, args: list[Value]) -> Value:
        dtype = args[0].dtype
        if e.fn in FLOAT_INTRINSICS:
            return self.intrinsic(FLOAT_INTRINSICS[e.fn], dtype, *args)
        if e.fn in ("isnan", "isinf", "isfinite"):
            x = args[0] if e.fn == "isnan" else self.intrinsic("fabs", dtype, args[0])
            other = x if e.fn == "isnan" else constant(dtype, float("inf"))
            (x, other), wide = self.level(x, other)
            op = {"isnan": "uno", "isinf": "oeq", "isfinite": "olt"}[e.fn]
            text = self.w.ins(f"fcmp {op} {self.ty(x)} {x.text}, {other.text}")
            return Value(text, BY_NAME["bool"], wide)
        if dtype.name == "f64" and e.fn == "rsqrt":
            (one, root), wide = self.level(constant(dtype, 1.0), self.intrinsic("sqrt", dtype, args[0]))
            return Value(self.w.ins(f"fdiv {self.ty(root)} {one.text}, {root.text}"), dtype, wide)
        if dtype.name == "f64" and e.fn in LIBRARY:
            return self._library(LIBRARY[e.fn], args)
        raise self.invalid(e)

    def _library(self, name: str, args: list[Value]) -> Value:
        args, wide = self.level(*args)
        if not wide:
            return Value(self.w.call("double", name, *(("double", a.text) for a in args)), f64)
        result = "poison"
        for k in range(WIDTH):
            parts = [self.w.ins(f"extractelement {self.ty(a)} {a.text}, i32 {k}") for a in args]
            one = self.w.call("double", name, *(("double", p) for p in parts))
            result = self.w.ins(f"insertelement <{WIDTH} x double> {result}, double {one}, i32 {k}")
        return Value(result, f64, True)

    def _integer_function(self, e: ir.Math, args: list[Value]) -> Value:
        dtype = args[0].dtype
        if e.fn in _CHOICES:
            return self.intrinsic(f"{'s' if dtype.kind == 'int' else 'u'}{_CHOICES[e.fn]}", dtype, *args)
        if e.fn == "abs":
            if dtype.kind == "uint":
                return args[0]
            return self.intrinsic("abs", dtype, args[0], extra=(("i1", "false"),))
        if e.fn in _BITS:
            extra = (("i1", "false"),) if e.fn in ("clz", "ctz") else ()
            return self.intrinsic(_BITS[e.fn], dtype, args[0], extra=extra)
        if e.fn == "mulhi":
            (a, b), wide = self.level(*args)
            t = self.ty(a)
            name = f"i{dtype.bits * 2}"
            double = f"<{WIDTH} x {name}>" if wide else name
            ext = "sext" if dtype.kind == "int" else "zext"
            x, y = (self.w.ins(f"{ext} {t} {v.text} to {double}") for v in (a, b))
            p = self.w.ins(f"mul {double} {x}, {y}")
            amount = f"splat ({name} {dtype.bits})" if wide else str(dtype.bits)
            h = self.w.ins(f"lshr {double} {p}, {amount}")
            return Value(self.w.ins(f"trunc {double} {h} to {t}"), dtype, wide)
        raise self.invalid(e)
