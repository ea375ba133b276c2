"""What is known about integers at each place of a function: facts from dominating conditions, loops, min.

`Flow` walks a function in program order. `integer_ranges` and the pass `bounds` are built on it.
Wrapping is respected: `i + 1` is the linear form of `i` plus one only where it provably does not wrap,
else it is a value about which only its dtype is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ruda_core.dtypes import DType, ValueType, bool_
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import walk
from ruda_core.passes.conditions import Condition, learn, negated
from ruda_core.passes.intervals import Interval, fit, full, interval_of, of_builtin, of_function, of_operator
from ruda_core.passes.linear import Atoms, Form, Scope

_ROUNDS = 4
"""Guesses at a loop's invariant intervals before giving up on it."""


def integer_ranges(function: ir.Function) -> Callable[[ir.Expr], Interval]:
    """A function from an integer expression of this function to values that hold wherever it stands.

    Immutable symbols have what was known where they were bound, dominating conditions included;
    variables have their dtype's range.
    """
    flow = Flow(function)
    flow.run()
    return lambda expr: interval_of(expr, function, flow.symbols)


@dataclass
class _Exits:
    """Where control may come from at the end of a loop or block: intervals of the variables it changes."""

    variables: tuple[ir.Symbol, ...]
    label: int | None = None
    left: list[dict[ir.Symbol, Interval]] = field(default_factory=list)
    repeated: list[dict[ir.Symbol, Interval]] = field(default_factory=list)
    is_loop: bool = True


class Flow:
    """Override `access` to see, and replace, each access to memory with what is known there."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.atoms = Atoms()
        self.symbols: dict[ir.Symbol, Interval] = {}
        """Intervals of immutable integer symbols where they were bound."""
        self.forms: dict[ir.Symbol, Form] = {}
        self.conditions: dict[ir.Symbol, Condition] = {}
        self.exits: list[_Exits] = []
        self.trying = 0
        """Above zero while a loop's invariants are guessed: nothing that is returned will be used."""
        self.same_length = {name: names[0] for names in function.equal_lengths for name in names}

    def run(self) -> ir.Body:
        return self.body(self.function.body, Scope())

    def access(self, stmt: Any, scope: Scope) -> ir.Body:
        """What replaces a Load, Store, Atomic or UniformLoad."""
        return (stmt,)

    # Statements ---------------------------------------------------------------------------------

    def body(self, body: ir.Body, scope: Scope) -> ir.Body:
        out: list[ir.Stmt] = []
        for stmt in body:
            if scope.reachable:
                out.extend(self.stmt(stmt, scope))
        return tuple(out)

    def stmt(self, s: ir.Stmt, scope: Scope) -> ir.Body:
        match s:
            case ir.Let():
                self.bind(s.symbol, s.value, scope)
            case ir.Assign() if _is_integer(s.symbol):
                scope.variables[s.symbol] = self.form(s.value, scope)
            case ir.Load() | ir.Store() | ir.Atomic() | ir.UniformLoad():
                return self.access(s, scope)
            case ir.If():
                return (self.branch(s, scope),)
            case ir.For() | ir.Loop():
                return (self.loop(s, scope),)
            case ir.Block():
                return (self.block(s, scope),)
            case ir.Leave() | ir.Break() | ir.Continue():
                self.jump(s, scope)
        return (s,)

    def bind(self, symbol: ir.Symbol, value: ir.Expr, scope: Scope) -> None:
        if _is_integer(symbol):
            form = self.forms[symbol] = self.form(value, scope)
            self.symbols[symbol] = fit(self.atoms.interval(form, scope), symbol.type)
        elif symbol.type is bool_:
            self.conditions[symbol] = self.condition(value, scope)

    def branch(self, s: ir.If, scope: Scope) -> ir.Stmt:
        condition = self.condition(s.cond, scope)
        yes, no = scope.copy(), scope.copy()
        learn(condition, yes, self.atoms)
        learn(negated(condition), no, self.atoms)
        changed = replace(s, then=self.body(s.then, yes), orelse=self.body(s.orelse, no))
        if not (yes.reachable and no.reachable):
            only = yes if yes.reachable else no
            scope.facts, scope.ranges, scope.variables = only.facts, only.ranges, only.variables
            scope.reachable = only.reachable
            return changed
        for symbol in _assigned((s,)):
            if yes.variables.get(symbol) != no.variables.get(symbol):
                both = self.present(symbol, yes).hull(self.present(symbol, no))
                self.set_unknown(symbol, both, scope)
            elif symbol in yes.variables:
                scope.variables[symbol] = yes.variables[symbol]
        return changed

    def block(self, s: ir.Block, scope: Scope) -> ir.Stmt:
        exits = _Exits(_assigned(s.body), s.label, is_loop=s.once)
        inner = scope.copy()
        self.exits.append(exits)
        changed = replace(s, body=self.body(s.body, inner))
        self.exits.pop()
        if not exits.left:
            scope.facts, scope.ranges, scope.variables = inner.facts, inner.ranges, inner.variables
            scope.reachable = inner.reachable
            return changed
        ends = [*exits.left, *([self.presents(exits.variables, inner)] if inner.reachable else [])]
        for symbol in exits.variables:
            self.set_unknown(symbol, _hull(ends, symbol), scope)
        return changed

    def loop(self, s: ir.For | ir.Loop, scope: Scope) -> ir.Stmt:
        variables = _assigned(s.body)
        head = self.invariants(s, variables, scope)
        changed, exits, _ = self.trip(s, variables, head, scope)
        ends = exits.left + ([head] if isinstance(s, ir.For) else [])
        scope.reachable = bool(ends)
        for symbol in variables if ends else ():
            self.set_unknown(symbol, _hull(ends, symbol), scope)
        return changed

    def invariants(
        self, s: ir.For | ir.Loop, variables: tuple[ir.Symbol, ...], scope: Scope
    ) -> dict[ir.Symbol, Interval]:
        """Intervals that the variables have at the start of every iteration."""
        guess = self.presents(variables, scope)
        for _ in range(_ROUNDS if variables else 0):
            self.trying += 1
            _, _, again = self.trip(s, variables, guess, scope)
            self.trying -= 1
            grown = {v: _hull([*again, guess], v) for v in variables}
            if grown == guess:
                return guess
            guess = {v: _widened(guess[v], grown[v], full(v.type)) for v in variables}
        return {v: full(v.type) for v in variables}

    def trip(
        self,
        s: ir.For | ir.Loop,
        variables: tuple[ir.Symbol, ...],
        head: dict[ir.Symbol, Interval],
        scope: Scope,
    ) -> tuple[ir.Stmt, _Exits, list[dict[ir.Symbol, Interval]]]:
        """Any one iteration: the new statement, the exits, and the variables where it starts again."""
        inner = scope.copy()
        if isinstance(s, ir.For):
            self.counter(s, inner)
        for symbol in variables:
            self.set_unknown(symbol, head[symbol], inner)
        exits = _Exits(variables)
        self.exits.append(exits)
        changed: ir.Stmt = replace(s, body=self.body(s.body, inner))
        self.exits.pop()
        ends = [self.presents(variables, inner)] if inner.reachable else []
        return changed, exits, exits.repeated + ends

    def counter(self, s: ir.For, scope: Scope) -> None:
        """What a `range` says about its variable; `scope` has the variables as they are before the loop."""
        start, stop = self.form(s.start, scope), self.form(s.stop, scope)
        step = self.interval(s.step, scope)
        atom = self.atoms.fresh(full(s.symbol.type))
        value = self.forms[s.symbol] = Form(0, ((atom, 1),))
        first, last = self.atoms.interval(start, scope), self.atoms.interval(stop, scope)
        up = Interval(first.lo, max(first.lo, last.hi - 1))
        down = Interval(min(first.hi, last.lo + 1), first.hi)
        self.atoms.narrow(atom, up if step.lo > 0 else down if step.hi < 0 else up.hull(down), scope)
        if step.lo > 0:
            self.atoms.learn(start - value, scope)
            self.atoms.learn((value - stop).plus(1), scope)
        elif step.hi < 0:
            self.atoms.learn(value - start, scope)
            self.atoms.learn((stop - value).plus(1), scope)
        self.symbols[s.symbol] = fit(self.atoms.range(atom, scope), s.symbol.type)

    def jump(self, s: ir.Stmt, scope: Scope) -> None:
        scope.reachable = False
        for exits in reversed(self.exits):
            if isinstance(s, ir.Leave):
                if exits.label == s.label:
                    exits.left.append(self.presents(exits.variables, scope))
                    return
            elif exits.is_loop:
                again = isinstance(s, ir.Continue) and exits.label is None
                (exits.repeated if again else exits.left).append(self.presents(exits.variables, scope))
                return

    # Variables ----------------------------------------------------------------------------------

    def set_unknown(self, symbol: ir.Symbol, interval: Interval, scope: Scope) -> None:
        atom = self.atoms.fresh(full(symbol.type))
        self.atoms.narrow(atom, interval, scope)
        scope.variables[symbol] = Form(0, ((atom, 1),))

    def present(self, symbol: ir.Symbol, scope: Scope) -> Interval:
        form = scope.variables.get(symbol)
        return full(symbol.type) if form is None else fit(self.atoms.interval(form, scope), symbol.type)

    def presents(self, symbols: tuple[ir.Symbol, ...], scope: Scope) -> dict[ir.Symbol, Interval]:
        return {s: self.present(s, scope) for s in symbols}

    # Expressions --------------------------------------------------------------------------------

    def interval(self, e: ir.Expr, scope: Scope) -> Interval:
        """Of an integer or bool scalar, here."""
        return fit(self.atoms.interval(self.form(e, scope), scope), e.type)

    def form(self, e: ir.Expr, scope: Scope) -> Form:
        """The exact value of an integer or bool scalar as a linear form."""
        match e:
            case ir.Const():
                return Form(int(e.value))
            case ir.Ref():
                return self.symbol(e.symbol, scope)
            case ir.Param() if not e.hidden:
                return self.atom(("param", e.name), full(e.type))
            case ir.Builtin():
                return self.atom((e.name, e.axis), of_builtin(e.name, e.axis, self.function, e.type))
            case ir.Length():
                name = self.same_length.get(e.array.name, e.array.name)
                return self.atom(("length", name), Interval(0, full(e.type).hi))
            case ir.Shape():
                return self.atom(("shape", e.array.name, e.axis), Interval(0, full(e.type).hi))
            case ir.Stride():
                return self.atom(("stride", e.array.name, e.axis), full(e.type))
            case ir.Unary(op="-") if e.type.is_integer:
                inner = self.form(e.a, scope)
                return self.exact(e, ("-", inner), inner.times(-1), scope)
            case ir.Binary() if _is_integer(e):
                return self.binary(e, scope)
            case ir.Cast() if isinstance(e.a.type, DType) and not e.a.type.is_float and _is_integer(e):
                inner = self.form(e.a, scope)
                return self.exact(e, ("cast", e.type, inner), inner, scope)
            case ir.Select() if _is_integer(e) and e.cond.type is bool_:
                return self.select(e, scope)
            case ir.Math() if _is_integer(e) and not e.args[0].type.is_float:
                return self.function_of(e, scope)
        return self.unknown(e.type)

    def symbol(self, symbol: ir.Symbol, scope: Scope) -> Form:
        if symbol.mutable:
            return scope.variables.get(symbol) or self.unknown(symbol.type)
        return self.forms.get(symbol) or self.atom(("symbol", symbol), full(symbol.type))

    def unknown(self, value_type: ValueType) -> Form:
        return Form(0, ((self.atoms.fresh(full(value_type)), 1),))

    def atom(self, key: Any, base: Interval) -> Form:
        return Form(0, ((self.atoms.get(key, base), 1),))

    def exact(self, e: ir.Expr, key: Any, form: Form, scope: Scope) -> Form:
        """The form where the dtype provably holds its value; else an atom of its own."""
        if self.atoms.interval(form, scope).within(full(e.type)):
            return form
        return self.atom(("wrapped", e.type, *key), full(e.type))

    def opaque(self, e: ir.Expr, key: Any, interval: Interval | None, scope: Scope) -> Form:
        """An atom whose interval holds in this scope; expressions with equal operands share it."""
        form = self.atom((e.type, *key), full(e.type))
        self.atoms.narrow(form.terms[0][0], fit(interval, e.type), scope)
        return form

    def binary(self, e: ir.Binary, scope: Scope) -> Form:
        a, b = self.form(e.a, scope), self.form(e.b, scope)
        if e.op in ("+", "-"):
            return self.exact(e, (e.op, a, b), a + b if e.op == "+" else a - b, scope)
        if e.op == "*" and not (a.terms and b.terms):
            product = b.times(a.const) if not a.terms else a.times(b.const)
            return self.exact(e, ("*", a, b), product, scope)
        if e.op in ("<<", "shl") and not b.terms and 0 <= b.const < e.type.bits:
            return self.exact(e, ("*", a, Form(1 << b.const)), a.times(1 << b.const), scope)
        left, right = self.atoms.interval(a, scope), self.atoms.interval(b, scope)
        form = self.opaque(e, (e.op, a, b), of_operator(e.op, left, right, e.type.bits), scope)
        self.relate(e.op, form, a, b, right, scope)
        return form

    def relate(self, op: str, form: Form, a: Form, b: Form, divisor: Interval, scope: Scope) -> None:
        """Facts about a quotient or remainder."""
        if op == "%" and divisor.lo > 0 and b.terms:
            self.atoms.learn((form - b).plus(1), scope)
        if b.terms or not 0 <= b.const < 64:
            return
        by = 1 << b.const if op in (">>", "shr") else b.const
        if op in ("//", ">>", "shr") and by > 0:
            self.atoms.define_quotient(form.terms[0][0], a, by)
        elif op in ("quo", "div_trunc") and by > 0 and self.atoms.interval(a, scope).lo >= 0:
            self.atoms.learn(form.times(by) - a, scope)

    def function_of(self, e: ir.Math, scope: Scope) -> Form:
        args = [self.form(a, scope) for a in e.args]
        intervals = [self.atoms.interval(a, scope) for a in args]
        form = self.opaque(e, (e.fn, *args), of_function(e.fn, intervals, e.args[0].type.scalar.bits), scope)
        if e.fn in ("min", "max", "fmin", "fmax"):
            self.atoms.define_extreme(form.terms[0][0], e.fn.removeprefix("f"), args[0], args[1])
        return form

    def select(self, e: ir.Select, scope: Scope) -> Form:
        condition = self.condition(e.cond, scope)
        yes, no = scope.copy(), scope.copy()
        learn(condition, yes, self.atoms)
        learn(negated(condition), no, self.atoms)
        either = self.interval(e.a, yes).hull(self.interval(e.b, no))
        atom = self.atoms.fresh(full(e.type))
        self.atoms.narrow(atom, either, scope)
        return Form(0, ((atom, 1),))

    def condition(self, e: ir.Expr, scope: Scope) -> Condition:
        """What a bool says about integers."""
        match e:
            case ir.Ref() if not e.symbol.mutable:
                return self.conditions.get(e.symbol)
            case ir.Logic() if e.type is bool_:
                return (e.op, self.condition(e.a, scope), self.condition(e.b, scope))
            case ir.Unary(op="not"):
                return negated(self.condition(e.a, scope))
            case ir.Compare() if _is_integer(e.a) and _is_integer(e.b):
                return (e.op, self.form(e.a, scope), self.form(e.b, scope))
        return None


def _is_integer(value: ir.Symbol | ir.Expr) -> bool:
    return isinstance(value.type, DType) and value.type.is_integer


def _assigned(body: ir.Body) -> tuple[ir.Symbol, ...]:
    """Integer variables that the body changes, in program order."""
    found = {s.symbol: None for s in walk(body) if isinstance(s, ir.Assign) and _is_integer(s.symbol)}
    return tuple(found)


def _hull(states: list[dict[ir.Symbol, Interval]], symbol: ir.Symbol) -> Interval:
    first, *rest = (state[symbol] for state in states)
    for interval in rest:
        first = first.hull(interval)
    return first


def _widened(old: Interval, new: Interval, whole: Interval) -> Interval:
    """`new`, with the sides that grew moved to zero if that is beyond them, else to the dtype's end."""
    lo = old.lo if new.lo >= old.lo else 0 if new.lo >= 0 else whole.lo
    hi = old.hi if new.hi <= old.hi else 0 if new.hi <= 0 else whole.hi
    return Interval(lo, hi)
