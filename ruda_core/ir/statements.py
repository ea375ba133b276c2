"""Effects and structured control flow. See `nodes` for the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ruda_core.ir.expressions import Array, Expr, Symbol
from ruda_core.ir.span import Span


@dataclass(frozen=True, slots=True, eq=False)
class Stmt:
    span: Span | None


Body = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Let(Stmt):
    """The one binding of an immutable symbol."""

    symbol: Symbol
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Stmt):
    """A new value for a mutable symbol; the first in program order on each path also brings it into being."""

    symbol: Symbol
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Load(Stmt):
    """`symbol = array[index]`. Where `check` is false the value is zero; None means proved or unchecked.

    `index` has one entry for each axis until `flatten`, then one linear element index; `flat` marks
    `tensor.flat[k]`.
    """

    symbol: Symbol
    array: Array
    index: tuple[Expr, ...]
    check: Expr | None = None
    site: int | None = None
    """Index into `Function.sites`, in validate mode."""
    flat: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Store(Stmt):
    """`array[index] = value`; dropped where `check` is false. See `Load`."""

    array: Array
    index: tuple[Expr, ...]
    value: Expr
    check: Expr | None = None
    site: int | None = None
    flat: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Atomic(Stmt):
    """`symbol = old value`; `op` is one of `capabilities.ATOMIC_OPS`. Out of bounds: nothing, and zero."""

    symbol: Symbol | None
    op: str
    array: Array
    index: tuple[Expr, ...]
    args: tuple[Expr, ...]
    """(value), or (expected, desired) for compare_exchange, or () for load."""
    check: Expr | None = None
    site: int | None = None
    flat: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class MaskedStore(Stmt):
    """`word = (word & ~(mask << shift)) | (value << shift)`, atomic with respect to other masked stores.

    Made by the pass that packs narrow elements into u32 words. `index` is a word index.
    """

    array: Array
    index: Expr
    shift: Expr
    mask: int
    value: Expr
    check: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class UniformLoad(Stmt):
    """A load by one unit whose value all units of the workgroup receive; a barrier by itself."""

    symbol: Symbol
    array: Array
    index: tuple[Expr, ...]
    check: Expr | None = None
    site: int | None = None
    flat: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class If(Stmt):
    cond: Expr
    then: Body
    orelse: Body = ()


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Stmt):
    """For ever, until a `Break` (of this loop) or a `Leave`. `Continue` starts the body again."""

    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class For(Stmt):
    """Python's range: `symbol` takes start, start + step, … before `stop`. All of the index type.

    `trips` is the exact number of iterations, unsigned and as wide; the pass `trips` fills it. A step of
    zero gives none.
    """

    symbol: Symbol
    start: Expr
    stop: Expr
    step: Expr
    body: Body
    trips: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Block(Stmt):
    """A body that `Leave(label)` exits. `once`: rendered as a loop of one trip whose exits are breaks."""

    label: int
    body: Body
    once: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Leave(Stmt):
    label: int


@dataclass(frozen=True, slots=True, eq=False)
class Break(Stmt):
    pass


@dataclass(frozen=True, slots=True, eq=False)
class Continue(Stmt):
    pass


@dataclass(frozen=True, slots=True, eq=False)
class Barrier(Stmt):
    """Waits for the scope and orders its shared and global accesses."""

    scope: Literal["workgroup", "subgroup"] = "workgroup"


@dataclass(frozen=True, slots=True, eq=False)
class Subgroup(Stmt):
    """`symbol = op(args)` over the units of a subgroup: sum, prod, min, max, and, or, xor,
    inclusive_sum, inclusive_prod, exclusive_sum, exclusive_prod, broadcast, shuffle, shuffle_xor,
    shuffle_up, shuffle_down, any, all, ballot, elect."""

    symbol: Symbol
    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Assert(Stmt):
    """Reported at `site` where `cond` is false; the frontend makes it in validate mode only."""

    cond: Expr
    site: int


@dataclass(frozen=True, slots=True, eq=False)
class Report(Stmt):
    """Record a fault: `index` and `length` are of the index type (None for an assert)."""

    site: int
    index: Expr | None
    length: Expr | None
