"""The rules of the IR, checked after the frontend and after each pass while testing and compiling."""

from __future__ import annotations

from ruda_core.dtypes import BY_NAME, VecType, bool_
from ruda_core.errors import RudaError
from ruda_core.ir import nodes as ir
from ruda_core.ir.functions import MATH
from ruda_core.ir.rewrite import bodies, expressions, operands
from ruda_core.ir.text import show_expr


class InvalidIR(RudaError):
    """A pass or the frontend broke a rule of the IR: a defect of ruda, not of the user's kernel."""


def verify(function: ir.Function, after: str = "the frontend") -> None:
    """Raise InvalidIR, naming the rule, the place and the pass, when the function breaks one."""
    _Verifier(function, after).run()


class _Verifier:
    def __init__(self, function: ir.Function, after: str) -> None:
        self.function = function
        self.after = after
        self.bound: set[ir.Symbol] = set()
        self.arrays = set(function.arrays)

    def fail(self, rule: str, node: ir.Expr | ir.Stmt) -> None:
        what = show_expr(node) if isinstance(node, ir.Expr) else type(node).__name__
        raise InvalidIR(f"after {self.after}, in {self.function.name}: {rule}: {what} ({node.span})")

    def run(self) -> None:
        self.body(self.function.body, loops=0, labels=frozenset({ir.KERNEL}))

    def body(self, body: ir.Body, loops: int, labels: frozenset[int]) -> None:
        for stmt in body:
            self.stmt(stmt, loops, labels)

    def stmt(self, s: ir.Stmt, loops: int, labels: frozenset[int]) -> None:
        for expr in expressions(s):
            self.expr(expr)
        symbol = getattr(s, "symbol", None)
        if isinstance(s, ir.Assign):
            if not s.symbol.mutable:
                self.fail("an immutable symbol is assigned", s)
            if s.symbol.type != s.value.type:
                self.fail(f"a {s.value.type!r} is assigned to a {s.symbol.type!r}", s)
            self.bound.add(s.symbol)
        elif symbol is not None:
            if symbol.mutable or symbol in self.bound:
                self.fail(f"{symbol.name} is bound twice, or is mutable", s)
            self.bound.add(symbol)
        if isinstance(s, ir.Let) and s.symbol.type != s.value.type:
            self.fail(f"a {s.value.type!r} is bound to a {s.symbol.type!r}", s)
        if isinstance(s, ir.If) and s.cond.type is not bool_:
            self.fail("a condition is not bool", s)
        if isinstance(s, (ir.Break, ir.Continue)) and not loops:
            self.fail("outside a loop", s)
        if isinstance(s, ir.Leave) and s.label not in labels:
            self.fail(f"no enclosing block #{s.label}", s)
        array = getattr(s, "array", None)
        if array is not None and array not in self.arrays:
            self.fail(f"{array.name} is not an array of the function", s)
        check = getattr(s, "check", None)
        if check is not None and check.type is not bool_:
            self.fail("a check is not bool", s)
        inner = labels | {s.label} if isinstance(s, ir.Block) else labels
        deeper = loops + (isinstance(s, (ir.Loop, ir.For)) or (isinstance(s, ir.Block) and s.once))
        for body in bodies(s):
            self.body(body, deeper, inner)

    def expr(self, e: ir.Expr) -> None:
        if e.type.scalar.name not in BY_NAME:
            self.fail(f"type {e.type!r} is not of the language", e)
        match e:
            case ir.Ref():
                if e.type != e.symbol.type:
                    self.fail("a reference has another type than its symbol", e)
                if not e.symbol.mutable and e.symbol not in self.bound:
                    self.fail("a symbol is used before it is bound", e)
            case ir.Binary():
                self.binary(e)
            case ir.Compare():
                mixed = e.a.type.is_integer and e.b.type.is_integer
                if e.op not in ir.COMPARISONS or (e.a.type != e.b.type and not mixed):
                    self.fail("a comparison's operands differ", e)
            case ir.Logic():
                if any(o.type.scalar is not bool_ for o in operands(e)):
                    self.fail("a logic operand is not bool", e)
            case ir.Bitcast():
                if e.type.itemsize != e.a.type.itemsize:
                    self.fail("a bitcast changes the width", e)
            case ir.Select():
                if e.a.type != e.type or e.b.type != e.type or e.cond.type.scalar is not bool_:
                    self.fail("a select's sides differ", e)
            case ir.Math():
                entry = MATH.get(e.fn)
                if entry is None or entry.arity != len(e.args):
                    self.fail("an unknown function, or a wrong number of arguments", e)
            case ir.MakeVector():
                if not isinstance(e.type, VecType) or len(e.args) not in (1, e.type.lanes):
                    self.fail("a vector has another number of components", e)
            case ir.Component():
                if not isinstance(e.a.type, VecType) or not 0 <= e.index < e.a.type.lanes:
                    self.fail("no such component", e)

    def binary(self, e: ir.Binary) -> None:
        if e.op not in ir.SEMANTIC and e.op not in ir.RAW:
            self.fail("an unknown operator", e)
        if e.a.type != e.type:
            self.fail("a left operand has another type than the result", e)
        shift = e.op in ("<<", ">>", "shl", "shr")
        if e.b.type != e.type and not (shift and e.b.type.is_integer):
            self.fail("operands differ", e)
