"""What keeps units within bounds: guards around a region, and checks of its accesses.

A guard around the whole body becomes the bounds of the loop over a row of units. Where the first and the last
unit of a group show that all of its indices are within bounds, the group takes code without checks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ruda_core.dtypes import BY_NAME, i32
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, walk
from ruda_cpu.render.frame import Frame
from ruda_cpu.render.strips import Strips
from ruda_cpu.render.writer import Value, constant

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
_MOST = 12
"""Different comparisons beyond which asking costs more than it saves."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Comparisons of one value, plus constants, with one limit; all have 32 bits."""

    value: ir.Expr
    limit: ir.Expr
    stride: int
    """How much larger the value is for the next unit."""
    least: int
    most: int
    """The smallest and the largest constant."""

    def with_constant(self, c: int) -> _Span:
        """One more comparison."""
        return replace(self, least=min(self.least, c), most=max(self.most, c))


@dataclass(frozen=True, slots=True)
class Proof:
    """Checks, and the values that decide whether they hold in a whole row or block of units."""

    checks: frozenset[ir.Expr]
    spans: list[tuple[_Span, list[str], str]]
    """Comparisons, the values at their ends for the first units of rows, and their limits."""


class Bounds(Strips):
    """Which units run, and which checks they need."""

    # Guards ------------------------------------------------------------------------------------

    def _bounds(self, body: ir.Body, low: str, high: str) -> tuple[str, str, ir.Body, bool]:
        """First unit, one past the last, and what they run: a guard around all of it narrows the bounds.

        Last, whether the bounds may come out as constants: those that the launch decides never do.
        """
        constants = True
        while body and isinstance(body[-1], ir.If) and not body[-1].orelse:
            guard = body[-1]
            lets = body[:-1]
            if not all(isinstance(s, ir.Let) and s.symbol not in self.kept for s in lets):
                break
            rest: ir.Expr | None = None
            found = False
            for term in self._terms(guard.cond):
                limits = self._limits(term)
                if limits is None:
                    rest = term if rest is None else ir.Logic(term.type, term.span, "and", rest, term)
                    continue
                found = True
                constants = constants and not self._of_launch(term)
                low, high = self._max(low, limits[0]), self._min(high, limits[1])
            if not found:
                break
            inner = guard.then if rest is None else (ir.If(guard.span, rest, guard.then),)
            body = (*lets, *inner)
            if rest is not None:
                break
        return low, high, body, constants

    def _of_launch(self, term: ir.Expr) -> bool:
        """True for a comparison with anything but constants, variables and positions in the group."""
        assert isinstance(term, ir.Compare)
        factors = [*self.forms.factors(term.a), *self.forms.factors(term.b)]
        return any(
            f.name != "unit_pos" if isinstance(f, ir.Builtin) else not isinstance(f, ir.Ref) for f in factors
        )

    def _terms(self, e: ir.Expr) -> list[ir.Expr]:
        if isinstance(e, ir.Ref) and e.symbol in self.lets:
            inner = self.lets[e.symbol]
            if isinstance(inner, (ir.Logic, ir.Compare)):
                return self._terms(inner)
        if isinstance(e, ir.Logic) and e.op == "and":
            return self._terms(e.a) + self._terms(e.b)
        return [e]

    def _limits(self, term: ir.Expr) -> tuple[str, str] | None:
        """Bounds of the lane for which a comparison of a position with a steady value holds."""
        if not isinstance(term, ir.Compare) or term.op not in _TURNED or not term.a.type.is_integer:
            return None
        if term.a.type != term.b.type:
            return None
        a, b = self._let_strides(term.a), self._let_strides(term.b)
        if a == 1 and b == 0 and self.is_position(term.a):
            op, position, limit = term.op, term.a, term.b
        elif a == 0 and b == 1 and self.is_position(term.b):
            op, position, limit = _TURNED[term.op], term.b, term.a
        else:
            return None
        with self.for_first():
            start = self._wide64(self.expr(position))
            end = self._wide64(self.expr(limit))
            far = self.w.ins(f"sub i64 {end}, {start}")
            past = self.w.ins(f"add i64 {far}, 1")
        none = str(self.layout.extent)
        return {"<": ("0", far), "<=": ("0", past), ">": (past, none), ">=": (far, none), "==": (far, past)}[
            op
        ]

    def _wide64(self, value: Value) -> str:
        return self.cast(value, BY_NAME["i64"], raw=True).text

    def _let_strides(self, e: ir.Expr) -> int | None:
        """`stride`, through the values of symbols that the region has not reached yet."""
        for sym in (x.symbol for x in (e, *expressions(e)) if isinstance(x, ir.Ref)):
            if sym not in self.strides and sym not in self.plan.group:
                self._let_stride(sym)
        return self.stride(e)

    def _let_stride(self, symbol: ir.Symbol) -> int | None:
        if symbol in self.plan.group:
            return 0
        if symbol not in self.strides:
            value = self.lets.get(symbol)
            if value is None:
                return None
            self.strides[symbol] = self._let_strides(value)
        return self.strides[symbol]

    def _max(self, a: str, b: str) -> str:
        return self._choose("smax", a, b)

    def _min(self, a: str, b: str) -> str:
        return self._choose("smin", a, b)

    def _choose(self, name: str, a: str, b: str) -> str:
        if a == b:
            return a
        with self.for_first():
            return self.w.call("i64", f"llvm.{name}.i64", ("i64", a), ("i64", b))

    # Groups within bounds ------------------------------------------------------------------------

    def proof(self, body: ir.Body) -> Proof | None:
        """What can show that the checks of a region hold for many units at once; None where nothing can."""
        spans: dict[tuple[object, ...], tuple[_Span, int]] = {}
        checks = _checks(body)
        if self.layout.rows > 1:
            checks += [s.cond for s in walk(body) if isinstance(s, ir.If) and not s.orelse]
        proven = frozenset(check for check in checks if self._note(check, spans))
        found = [span for span, _ in spans.values()]
        if not any(span.stride for span in found) or len(found) > _MOST:
            return None
        return Proof(proven, [(span, *self._ends(span)) for span in found])

    def holds(self, proof: Proof, low: str, width: int) -> str:
        """A condition under which the checks hold for so many units of each row, from one on.

        It may be false although they hold: indices are asked to stay within bounds without wrapping.
        """
        result = "true"
        for span, values, limit in proof.spans:
            most = span.most + (width - 1) * span.stride
            moved = self.w.ins(f"mul i64 {low}, {span.stride}")
            for value in values:
                first = self.w.ins(f"add i64 {value}, {moved}")
                least, last = (self.w.ins(f"add i64 {first}, {c}") for c in (span.least, most))
                above, below = (
                    self.w.ins(f"icmp sge i64 {least}, 0"),
                    self.w.ins(f"icmp slt i64 {last}, {limit}"),
                )
                both = self.w.ins(f"and i1 {above}, {below}")
                result = self.w.ins(f"and i1 {result}, {both}")
        return result

    def without_guards(self, body: ir.Body) -> ir.Body:
        """The body with what is under conditions that hold in its place."""
        if not any(isinstance(s, ir.If) and s.cond in self.proven for s in body):
            return body
        parts = [s.then if isinstance(s, ir.If) and s.cond in self.proven else (s,) for s in body]
        return self.without_guards(tuple(s for part in parts for s in part))

    def _note(self, check: ir.Expr, spans: dict[tuple[object, ...], tuple[_Span, int]]) -> bool:
        """Take a check's comparisons into the spans; False where one of them does not move evenly.

        A span is kept with the constant that its value has already.
        """
        found: list[tuple[tuple[object, ...], _Span, int]] = []
        for term in self._terms(check):
            if not isinstance(term, ir.Compare) or term.op != "<" or term.a.type is not term.b.type:
                return False
            stride, steady = self._let_strides(term.a), self._let_strides(term.b)
            if term.a.type.bits != 32 or stride is None or stride < 0 or steady != 0:
                return False
            if self.plan.variance.varies(term.b) or not self._even_rows(term.a):
                return False
            form, constant = self.forms.of(term.a)
            key: tuple[object, ...] = (form, self.forms.of(term.b), stride)
            found.append((key, _Span(term.a, term.b, stride, 0, 0), constant))
        for at, span, constant in found:
            known, base = spans.get(at, (span, constant))
            spans[at] = known.with_constant(constant - base), base
        return True

    def _even_rows(self, e: ir.Expr) -> bool:
        """True when the value also moves evenly from row to row."""
        if self.layout.rows == 1:
            return True
        if self.function.dim[2] > 1:  # rows along two axes
            return not self.plan.variance.varies(e)
        return self.forms.degree(e, self._by_row) <= 1

    def _by_row(self, factor: ir.Expr) -> int | None:
        """How often the row is a factor of something that forms take as one; None where it is in some other way."""
        if isinstance(factor, ir.Builtin) and factor.name in ("unit_pos", "absolute_pos"):
            return 0 if factor.axis == 0 else 1
        return None if self.plan.variance.varies(factor) else 0

    def _ends(self, span: _Span) -> tuple[list[str], str]:
        """The value for the first unit of the first row and of the last one, and the limit; i64."""
        first = self._at_row(span.value, 0)
        values = [self.w.ins(f"sext i32 {first} to i64")]
        if self.layout.rows > 1:
            step = self.w.ins(f"sub i32 {self._at_row(span.value, 1)}, {first}")
            far = self.w.ins(f"mul i64 {self.w.ins(f'sext i32 {step} to i64')}, {self.layout.rows - 1}")
            values.append(self.w.ins(f"add i64 {values[0]}, {far}"))
        return values, self.w.ins(f"sext i32 {self.expr(span.limit).text} to i64")

    def _at_row(self, e: ir.Expr, r: int) -> str:
        """The value for the first unit of a row."""
        outer = self.frame
        linear = r * self.layout.extent
        units = (constant(i32, 0), constant(i32, r), constant(i32, 0))
        self.frame = Frame("first", units, constant(i32, linear), str(linear))
        text = self.expr(e).text
        self.frame = outer
        return text


def _checks(body: ir.Body) -> list[ir.Expr]:
    """Checks of all accesses."""
    found = (getattr(stmt, "check", None) for stmt in walk(body))
    return [check for check in found if check is not None and not isinstance(check, ir.Const)]
