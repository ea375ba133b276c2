"""The printed form of a function: what golden tests and `CompiledKernel.ir` show."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ruda_core.ir import nodes as ir


def show(function: ir.Function) -> str:
    """The whole function, deterministic: symbols are numbered as they appear."""
    return _Printer().function(function)


def show_expr(expr: ir.Expr) -> str:
    """One expression, symbols by name."""
    return _Printer().expr(expr)


class _Printer:
    def __init__(self) -> None:
        self.numbers: dict[ir.Symbol, int] = {}
        self.lines: list[str] = []

    def function(self, f: ir.Function) -> str:
        params = ", ".join(f"{p.name}: {_param_type(p)}" for p in f.params)
        self.lines.append(f"kernel {f.name}({params}) dim={f.dim} index={f.index} {f.mode}")
        for a in f.arrays:
            if a.space != "global":
                values = f" = {a.values}" if a.space == "constant" else ""
                self.lines.append(f"  {a.space} {a.name}: {a.dtype!r}{list(a.shape)}{values}")
        for b in f.bindings:
            names = ", ".join(a.name for a in b.arrays)
            self.lines.append(f"  bind {b.name}: {b.dtype}{' atomic' if b.atomic else ''} <- {names}")
        self.body(f.body, 1)
        return "\n".join(self.lines) + "\n"

    def symbol(self, s: ir.Symbol) -> str:
        return f"%{s.name}.{self.numbers.setdefault(s, len(self.numbers))}"

    def expr(self, e: ir.Expr) -> str:
        match e:
            case ir.Const():
                return f"{_value(e.value)}:{e.type!r}"
            case ir.Ref():
                return self.symbol(e.symbol)
            case ir.Param():
                return e.name
            case ir.Builtin():
                return e.name + ("" if e.axis is None else "_" + "xyz"[e.axis])
            case ir.Length() | ir.Offset():
                return f"{type(e).__name__.lower()}({e.array.name})"
            case ir.Shape() | ir.Stride():
                return f"{type(e).__name__.lower()}({e.array.name}, {e.axis})"
            case ir.Unary():
                return f"{e.op} {self.expr(e.a)}"
            case ir.Binary() | ir.Compare() | ir.Logic():
                return f"({self.expr(e.a)} {e.op} {self.expr(e.b)})"
            case ir.Cast():
                return f"{'raw ' if e.raw else ''}{e.type!r}({self.expr(e.a)})"
            case ir.Bitcast():
                return f"bitcast {e.type!r}({self.expr(e.a)})"
            case ir.Select():
                return f"select({self.expr(e.cond)}, {self.expr(e.a)}, {self.expr(e.b)})"
            case ir.Math():
                return f"{e.fn}({self.exprs(e.args)})"
            case ir.MakeVector():
                return f"{e.type!r}({self.exprs(e.args)})"
            case ir.Component():
                return f"{self.expr(e.a)}.{e.index}"
            case ir.Fence():
                return f"{'firm ' if e.firm else ''}fence({self.expr(e.a)})"
        raise TypeError(f"no printed form for {type(e).__name__}")

    def exprs(self, args: Iterable[ir.Expr]) -> str:
        return ", ".join(self.expr(a) for a in args)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def body(self, body: ir.Body, depth: int) -> None:
        for stmt in body:
            self.stmt(stmt, depth)

    def access(self, s: Any) -> str:
        flat = ".flat" if s.flat else ""
        return f"{s.array.name}{flat}[{self.exprs(s.index)}]"

    def tail(self, s: Any) -> str:
        text = "" if s.check is None else f" if {self.expr(s.check)}"
        return text + ("" if getattr(s, "site", None) is None else f" @{s.site}")

    def stmt(self, s: ir.Stmt, depth: int) -> None:
        say: Callable[[str], None] = lambda text: self.line(depth, text)  # noqa: E731 - one word for a common line
        match s:
            case ir.Let():
                say(f"let {self.symbol(s.symbol)}: {s.symbol.type!r} = {self.expr(s.value)}")
            case ir.Assign():
                say(f"set {self.symbol(s.symbol)}: {s.symbol.type!r} = {self.expr(s.value)}")
            case ir.Load():
                say(f"load {self.symbol(s.symbol)}: {s.symbol.type!r} = {self.access(s)}{self.tail(s)}")
            case ir.UniformLoad():
                say(f"uniform_load {self.symbol(s.symbol)} = {self.access(s)}{self.tail(s)}")
            case ir.Store():
                say(f"store {self.access(s)} = {self.expr(s.value)}{self.tail(s)}")
            case ir.Atomic():
                name = "" if s.symbol is None else f"{self.symbol(s.symbol)} = "
                say(f"atomic {name}{s.op} {self.access(s)}, {self.exprs(s.args)}{self.tail(s)}")
            case ir.MaskedStore():
                place = f"{s.array.name}[{self.expr(s.index)}]"
                say(
                    f"masked_store {place} << {self.expr(s.shift)} & {s.mask:#x} = {self.expr(s.value)}"
                    + self.tail(s)
                )
            case ir.If():
                say(f"if {self.expr(s.cond)}:")
                self.body(s.then, depth + 1)
                if s.orelse:
                    say("else:")
                    self.body(s.orelse, depth + 1)
            case ir.Loop():
                say("loop:")
                self.body(s.body, depth + 1)
            case ir.For():
                trips = "" if s.trips is None else f" trips {self.expr(s.trips)}"
                bounds = self.exprs((s.start, s.stop, s.step))
                say(f"for {self.symbol(s.symbol)} in range({bounds}){trips}:")
                self.body(s.body, depth + 1)
            case ir.Block():
                say(f"block #{s.label}{' once' if s.once else ''}:")
                self.body(s.body, depth + 1)
            case ir.Leave():
                say(f"leave #{s.label}")
            case ir.Barrier():
                say(f"barrier {s.scope}")
            case ir.Subgroup():
                say(f"subgroup {self.symbol(s.symbol)} = {s.op}({self.exprs(s.args)})")
            case ir.Assert():
                say(f"assert {self.expr(s.cond)} @{s.site}")
            case ir.Report():
                parts = [self.expr(e) for e in (s.index, s.length) if e is not None]
                say(f"report @{s.site} {', '.join(parts)}".rstrip())
            case _:
                say(type(s).__name__.lower())


def _value(value: int | float | bool) -> str:
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return repr(value)


def _param_type(p: object) -> str:
    lanes = getattr(p, "lanes", None)
    if lanes is None:
        return str(getattr(p, "dtype", "?"))
    element = p.dtype if lanes == 1 else f"Vec[{p.dtype}, {lanes}]"  # type: ignore[attr-defined]  # an ArrayParam
    rank = getattr(p, "rank", None)
    return f"Array[{element}]" if rank is None else f"Tensor[{element}, {rank}]"
