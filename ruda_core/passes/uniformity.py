"""Which values and branches may differ between the units of a workgroup, and the rule for barriers.

Uniform are constants, scalar parameters, the workgroup's position and sizes, lengths, shapes and
strides, loads at uniform indices from arrays that the kernel only reads, `UniformLoad`, and what is
computed from these. A variable is divergent when some assignment to it is, or happens where control may
have diverged. Control reconverges after an `If`, after a loop, and after the `Block` that was left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ruda_core.errors import LaunchArgumentError, UniformityError
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import bodies, operands
from ruda_core.ir.span import Span, error_at
from ruda_core.passes.accesses import accesses, read_only
from ruda_core.passes.flow import is_loop

Scope = Literal["workgroup", "subgroup"]

_SAME_IN_SUBGROUP = frozenset(
    {"sum", "prod", "min", "max", "and", "or", "xor", "broadcast", "any", "all", "ballot"}
)


def uniformity(function: ir.Function) -> ir.Function:
    """The same function. Raises UniformityError for a barrier that some units may not reach, with the
    barrier's line and that of the branch (and of the return) which may keep them from it."""
    _Analysis(function, "workgroup").run(report=True)
    _Analysis(function, "subgroup").run(report=True)
    return function


def divergent(function: ir.Function, scope: Scope = "workgroup") -> frozenset[ir.Symbol]:
    """Symbols whose values may differ between units of one workgroup (or subgroup)."""
    return frozenset(_Analysis(function, scope).run(report=False))


@dataclass(frozen=True, slots=True)
class _Cause:
    """Why control may have diverged: a branch, and the jump under it if one is needed."""

    branch: ir.Stmt
    jump: ir.Stmt | None = None

    def text(self) -> str:
        where = f"the {_word(self.branch)} at {_line(self.branch.span)}"
        return (
            where
            if self.jump is None
            else f"the {_word(self.jump)} at {_line(self.jump.span)}, under {where}"
        )


_WORDS: dict[type, str] = {ir.If: "branch", ir.Leave: "return", ir.Break: "break", ir.Continue: "continue"}


def _word(stmt: ir.Stmt) -> str:
    return _WORDS.get(type(stmt), "loop")


def _line(span: Span | None) -> str:
    return "an unknown line" if span is None else f"line {span.line}"


_Escapes = dict[object, _Cause]
"""Divergent jumps out of a body: ir.Break, ir.Continue or a label, to the cause."""


class _Analysis:
    def __init__(self, function: ir.Function, scope: Scope) -> None:
        self.function = function
        self.scope = scope
        self.read_only = read_only(function)
        self.found: set[ir.Symbol] = set()
        self.report = False

    def run(self, *, report: bool) -> set[ir.Symbol]:
        size = -1
        while size != len(self.found):
            size = len(self.found)
            self.body(self.function.body, None)
        if report:
            self.report = True
            self.body(self.function.body, None)
        return self.found

    # Values -------------------------------------------------------------------------------------

    def differs(self, e: ir.Expr) -> bool:
        if isinstance(e, ir.Ref):
            return e.symbol in self.found
        if isinstance(e, ir.Builtin):
            return self.position_differs(e)
        return any(self.differs(o) for o in operands(e))

    def position_differs(self, e: ir.Builtin) -> bool:
        if e.name in ("unit_pos", "absolute_pos"):
            extent = self.function.units if e.axis is None else self.function.dim[e.axis]
            return extent > 1
        if e.name == "subgroup_lane":
            return True
        return e.name == "subgroup_id" and self.scope == "workgroup"

    def load_differs(self, s: ir.Load) -> bool:
        parts = s.index if s.check is None else (*s.index, s.check)
        return s.array not in self.read_only or any(self.differs(p) for p in parts)

    # Control ------------------------------------------------------------------------------------

    def body(self, body: ir.Body, context: _Cause | None) -> _Escapes:
        """Visit statements reached where control has diverged by `context` (None: by all units or none)."""
        escapes: _Escapes = {}
        for stmt in body:
            inner = context or next(iter(escapes.values()), None)
            for key, cause in self.stmt(stmt, inner).items():
                escapes.setdefault(key, cause)
        return escapes

    def stmt(self, s: ir.Stmt, context: _Cause | None) -> _Escapes:
        match s:
            case ir.Let():
                self.mark(s.symbol, self.differs(s.value))
            case ir.Assign():
                self.mark(s.symbol, context is not None or self.differs(s.value))
            case ir.Load():
                self.mark(s.symbol, self.load_differs(s))
            case ir.Atomic(symbol=ir.Symbol() as symbol):
                self.mark(symbol, True)
            case ir.Barrier():
                self.reached_by_all(s, s.scope, "this barrier", context)
            case ir.UniformLoad():
                self.reached_by_all(s, "workgroup", "this uniform_load, which is a barrier,", context)
            case ir.Subgroup():
                same = self.scope == "subgroup" and s.op in _SAME_IN_SUBGROUP
                self.mark(s.symbol, not same)
                self.reached_by_all(s, "subgroup", f"subgroup_{s.op}", context)
            case ir.If():
                inner = context or (_Cause(s) if self.differs(s.cond) else None)
                return {**self.body(s.orelse, inner), **self.body(s.then, inner)}
            case ir.For() | ir.Loop():
                return self.loop(s, context)
            case ir.Block():
                escapes = self.body(s.body, context)
                escapes.pop(s.label, None)
                if s.once:
                    escapes.pop(ir.Break, None)
                return escapes
            case ir.Leave() | ir.Break() | ir.Continue() if context is not None:
                key = s.label if isinstance(s, ir.Leave) else type(s)
                return {key: _Cause(context.branch, s)}
        return {}

    def loop(self, s: ir.For | ir.Loop, context: _Cause | None) -> _Escapes:
        if isinstance(s, ir.For):
            self.mark(s.symbol, self.differs(s.start) or self.differs(s.step))
            if any(self.differs(e) for e in operands(s)):
                context = context or _Cause(s)
        escapes = self.body(s.body, context)
        escapes.pop(ir.Continue, None)
        if escapes and context is None:
            # Units that left are missing in the iterations that follow.
            again = self.body(s.body, next(iter(escapes.values())))
            escapes = {**again, **escapes}
            escapes.pop(ir.Continue, None)
        escapes.pop(ir.Break, None)
        return escapes

    def mark(self, symbol: ir.Symbol, differs: bool) -> None:
        if differs:
            self.found.add(symbol)

    def reached_by_all(self, s: ir.Stmt, scope: Scope, what: str, context: _Cause | None) -> None:
        if not self.report or context is None or scope != self.scope:
            return
        raise error_at(
            UniformityError,
            f"{what} may be reached by some units of the {scope} and not by others, "
            f"because of {context.text()}",
            s.span,
            (
                f"  the condition at {_line(context.branch.span)} may differ between units; put the guard around "
                "the loads and stores instead, or make the condition uniform (ruda.uniform_load)",
            ),
        )


def barrier_dependent_arrays(function: ir.Function) -> tuple[ir.Array, ...]:
    """Arrays that the kernel only reads and whose values decide whether a barrier is reached.

    If such an array overlapped one that the kernel writes, its loads would not be uniform.
    """
    found = _Dependence(function).arrays()
    return tuple(a for a in function.arrays if a in found and a.space == "global")


def refuse_racing_barriers(function: ir.Function) -> None:
    """Raise LaunchArgumentError for a barrier that depends on an array which the launch also writes through another
    name."""
    if not function.groups:
        return
    written = {array.name for array, access in accesses(function).items() if access.writes}
    for array in barrier_dependent_arrays(function):
        for group in function.groups:
            overlapping = sorted(written.intersection(group))
            if array.name in group and overlapping:
                raise LaunchArgumentError(
                    f"{function.name}: {array.name} and {overlapping[0]} overlap, and a barrier depends on "
                    f"values of {array.name}: pass separate storage, or use ruda.uniform_load"
                )


class _Dependence:
    """What the conditions around barriers are computed from, through data and through control."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.read_only = read_only(function)
        self.sources: dict[ir.Symbol, list[ir.Expr]] = {}
        self.loads: dict[ir.Symbol, ir.Array] = {}
        self.decisive: list[ir.Expr] = []

    def arrays(self) -> set[ir.Array]:
        self.collect(self.function.body, ())
        found: set[ir.Array] = set()
        seen: set[ir.Symbol] = set()
        pending = list(self.decisive)
        while pending:
            for symbol in _symbols(pending.pop()):
                if symbol in seen:
                    continue
                seen.add(symbol)
                if symbol in self.loads and self.loads[symbol] in self.read_only:
                    found.add(self.loads[symbol])
                pending.extend(self.sources.get(symbol, ()))
        return found

    def collect(self, body: ir.Body, around: tuple[ir.Expr, ...]) -> None:
        """Note where each symbol comes from; `around` are the conditions that control depends on here."""
        around = (*around, *_exit_conditions(body))
        for s in body:
            match s:
                case ir.Let():
                    self.sources.setdefault(s.symbol, []).append(s.value)
                case ir.Assign():
                    self.sources.setdefault(s.symbol, []).extend((s.value, *around))
                case ir.Load():
                    self.loads[s.symbol] = s.array
                    self.sources.setdefault(s.symbol, []).extend(operands(s))
                case ir.Barrier() | ir.UniformLoad() | ir.Subgroup():
                    self.decisive.extend(around)
            heads = tuple(operands(s)) if isinstance(s, (ir.If, ir.For)) else ()
            for inner in bodies(s):
                self.collect(inner, around + heads)


def _exit_conditions(
    body: ir.Body, inside: frozenset[int] = frozenset(), in_loop: bool = False
) -> list[ir.Expr]:
    """Conditions under which control leaves `body` early, by a jump out of its own loops and blocks."""
    found: list[ir.Expr] = []
    for s in body:
        if not _jumps_out((s,), inside, in_loop):
            continue
        if isinstance(s, (ir.If, ir.For)):
            found.extend(operands(s))
        for inner in bodies(s):
            found.extend(_exit_conditions(inner, *_within(s, inside, in_loop)))
    return found


def _jumps_out(body: Iterable[ir.Stmt], inside: frozenset[int], in_loop: bool) -> bool:
    for s in body:
        if isinstance(s, ir.Leave) and s.label not in inside:
            return True
        if isinstance(s, (ir.Break, ir.Continue)) and not in_loop:
            return True
        if any(_jumps_out(inner, *_within(s, inside, in_loop)) for inner in bodies(s)):
            return True
    return False


def _within(s: ir.Stmt, inside: frozenset[int], in_loop: bool) -> tuple[frozenset[int], bool]:
    return inside | {s.label} if isinstance(s, ir.Block) else inside, in_loop or is_loop(s)


def _symbols(expr: ir.Expr) -> Iterable[ir.Symbol]:
    if isinstance(expr, ir.Ref):
        yield expr.symbol
    for operand in operands(expr):
        yield from _symbols(operand)
