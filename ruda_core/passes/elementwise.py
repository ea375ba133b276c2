"""Which kernels do the same to each element by itself: what `widen` may do several elements of at once.

Such a kernel reads and writes its arrays at the linear position alone (others it may read at places that
all units share), branches on data only to compute, and on the position by comparisons. It has no loops,
barriers, atomics or memory of its own, and none of its arrays shares an allocation with another. Then no
unit sees what another one does, so neighbours may be done by one unit, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace

from ruda_core.dtypes import DType
from ruda_core.ir import nodes as ir
from ruda_core.ir.rewrite import expressions, operands, walk
from ruda_core.passes.exits import without_tail_leaves
from ruda_core.passes.flow import leaves

_FUNCTION_COST = 8
"""What a function such as exp counts for, in operators."""
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Elementwise:
    """A kernel that qualifies."""

    function: ir.Function
    """With returns turned into branches."""
    arrays: tuple[ir.Array, ...]
    """Those that are accessed at the position, in order."""
    positions: Set[ir.Symbol]
    """Symbols that are the position, in an integer dtype that holds it."""
    varying: Set[ir.Symbol]
    """Symbols that may differ from element to element, positions included."""
    cost: int
    """Operators of one element."""

    def is_position(self, e: ir.Expr) -> bool:
        """Whether an expression is the linear position, by value."""
        if isinstance(e, ir.Cast):
            return _holds_positions(e.type, self.function) and self.is_position(e.a)
        return _is_builtin(e) or (isinstance(e, ir.Ref) and e.symbol in self.positions)

    def varies(self, e: ir.Expr) -> bool:
        """Whether an expression may differ from element to element."""
        if isinstance(e, ir.Ref):
            return e.symbol in self.varying
        return _is_builtin(e) or any(self.varies(o) for o in operands(e))

    def order(self, e: ir.Expr) -> str:
        """The operator of a comparison of the position (first) with what all units share; else ""."""
        if not isinstance(e, ir.Compare) or e.op not in _TURNED:
            return ""
        if self.is_position(e.a) and not self.varies(e.b):
            return e.op
        return _TURNED[e.op] if self.is_position(e.b) and not self.varies(e.a) else ""


def elementwise(function: ir.Function) -> Elementwise | None:
    """What is to be known of a kernel that qualifies; None for one that does not."""
    if function.mode == "validate" or function.in_space("shared", "local"):
        return None
    body = without_tail_leaves(function.body, ir.KERNEL)
    if leaves(body, ir.KERNEL):
        return None
    return _Qualifying(replace(function, body=body)).result()


def _is_builtin(e: ir.Expr) -> bool:
    return isinstance(e, ir.Builtin) and e.name == "absolute_pos" and e.axis is None


def _holds_positions(dtype: object, function: ir.Function) -> bool:
    return isinstance(dtype, DType) and dtype.is_integer and dtype.bits >= function.index.bits


class _Unfit(Exception):
    """The kernel does not qualify."""


class _Qualifying:
    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.positions: set[ir.Symbol] = set()
        self.varying: set[ir.Symbol] = set()
        self.known = Elementwise(function, (), self.positions, self.varying, 0)
        """What has been found so far: symbols are bound before they are used."""
        self.written = {s.array for s in walk(function.body) if isinstance(s, ir.Store)}
        self.wide: set[ir.Array] = set()

    def result(self) -> Elementwise | None:
        try:
            self.expressions()
            self.body(self.function.body)
        except _Unfit:
            return None
        if not self.wide:
            return None
        arrays = tuple(a for a in self.function.arrays if a in self.wide)
        return replace(self.known, arrays=arrays, cost=_cost(self.function.body))

    def expressions(self) -> None:
        """Of positions and sizes only the linear position, and the count that the user gave."""
        for stmt in walk(self.function.body):
            for e in expressions(stmt):
                if isinstance(e, ir.Builtin) and not _is_builtin(e) and e.name != "workgroup_count":
                    raise _Unfit

    def body(self, body: ir.Body) -> None:
        for stmt in body:
            self.stmt(stmt)

    def stmt(self, s: ir.Stmt) -> None:
        known = self.known
        match s:
            case ir.Let():
                if known.is_position(s.value):
                    self.positions.add(s.symbol)
                if known.varies(s.value):
                    self.varying.add(s.symbol)
            case ir.Assign():
                self.varying.add(s.symbol)  # it may depend on the way here, which may vary
            case ir.Load():
                self.load(s)
            case ir.Store():
                self.at_position(s)
            case ir.If():
                if (
                    known.varies(s.cond)
                    and moves_memory((*s.then, *s.orelse))
                    and not _is_guard(s.cond, known)
                ):
                    raise _Unfit
                self.body(s.then)
                self.body(s.orelse)
            case _:
                raise _Unfit

    def load(self, s: ir.Load) -> None:
        parts = s.index if s.check is None else (*s.index, s.check)
        shared = not any(self.known.varies(part) for part in parts)
        if not shared:
            self.varying.add(s.symbol)
        if s.array.space == "constant" or (shared and s.array not in self.written):
            return
        self.at_position(s)

    def at_position(self, s: ir.Load | ir.Store) -> None:
        a = s.array
        alone = not any(a.name in group for group in self.function.groups)
        plain = a.space == "global" and a.rank is None and isinstance(a.dtype, DType)
        if not (alone and plain and self.known.is_position(s.index[0])):
            raise _Unfit
        if s.check is not None and not _is_guard(s.check, self.known):
            raise _Unfit
        self.wide.add(a)


def moves_memory(body: Iterable[ir.Stmt]) -> bool:
    """Whether some statement loads or stores."""
    return any(isinstance(s, (ir.Load, ir.Store)) for s in walk(body))


def _is_guard(cond: ir.Expr, known: Elementwise) -> bool:
    """A condition on the position that neighbours nearly always agree on."""
    match cond:
        case ir.Logic():
            return _is_guard(cond.a, known) and _is_guard(cond.b, known)
        case ir.Unary(op="not"):
            return _is_guard(cond.a, known)
        case ir.Compare():
            sides = (cond.a, cond.b)
            return any(not known.varies(e) for e in sides) and all(_moves_with(e, known) for e in sides)
    return not known.varies(cond)


def _moves_with(e: ir.Expr, known: Elementwise) -> bool:
    """The position plus or minus what all units share, or only that."""
    if not known.varies(e) or known.is_position(e):
        return True
    if isinstance(e, ir.Cast):
        return _moves_with(e.a, known)
    return isinstance(e, ir.Binary) and e.op in "+-" and all(_moves_with(o, known) for o in (e.a, e.b))


def _cost(body: ir.Body) -> int:
    return sum(
        _FUNCTION_COST if isinstance(e, ir.Math) else 1
        for stmt in walk(body)
        for e in expressions(stmt)
        if not isinstance(e, (ir.Const, ir.Ref, ir.Param))
    )


__all__ = ["Elementwise", "elementwise", "moves_memory"]
