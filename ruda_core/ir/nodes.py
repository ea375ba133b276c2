"""The typed, structured IR: pure expressions inside effectful statements.

Rules that every producer keeps and `verify` checks:

* Expressions are pure. Whatever reads or writes memory is a statement that binds a `Symbol`, so
  evaluation order and short-circuiting are visible in the statement order.
* A `Symbol` that is not mutable is bound by exactly one `Let`, `Load`, `Atomic` or `For`; facts about
  it never die. A mutable one is a variable of the unit, changed by `Assign`.
* Every expression has a concrete type; weak literals exist only inside the frontend.
* Control flow is structured. `Loop` is endless and left by `Break`; `Leave(label)` exits the `Block`
  of that label, or the kernel when the label is `KERNEL`.
* Nodes are immutable and compared by identity; passes build new ones.

Meaning of the operators: those named in `SEMANTIC` mean what the language says for every input
(floor division with its zero rules, total shifts); those in `RAW` are the machine's, and only legalised
code whose operands are known to be in range has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ruda_core.artifact import ArrayParam, Mode, ScalarParam, Site
from ruda_core.dtypes import DType, ValueType, VecType
from ruda_core.ir.span import Span

SEMANTIC = frozenset({"+", "-", "*", "/", "//", "%", "div_trunc", "rem_trunc", "&", "|", "^", "<<", ">>"})
RAW = frozenset({"quo", "rem", "shl", "shr"})
"""quo, rem: truncating, divisor not zero, no overflow. shl, shr: amount (u32) below the width."""
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})

KERNEL = 0
"""The label of the whole kernel body."""

Space = Literal["global", "shared", "local", "constant"]
BuiltinName = Literal[
    "absolute_pos",
    "unit_pos",
    "workgroup_pos",
    "workgroup_count",
    "subgroup_size",
    "subgroup_lane",
    "subgroup_id",
    "subgroup_count",
    "native_workgroup_pos",
    "native_workgroup_count",
]
"""`native_*` are the target's own (u32, what was dispatched); the others are of the index type, logical."""


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """One local value of a unit. Printers number symbols; the name is the user's, for readers."""

    name: str
    type: ValueType
    mutable: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """Memory that the kernel indexes: a parameter, shared or local memory, or a constant tuple."""

    name: str
    dtype: ValueType
    """Element type; a vector type for `Array[Vec[…]]`."""
    space: Space
    shape: tuple[int, ...] = ()
    """Of shared, local and constant arrays; () for parameters."""
    rank: int | None = None
    """Of a `Tensor` parameter; None for an `Array`."""
    values: tuple[int | float | bool, ...] = ()
    """Of a constant array."""

    @property
    def axes(self) -> int:
        """Indices that an access has before it is flattened."""
        return len(self.shape) or (1 if self.rank is None else self.rank)


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """What the target binds for one or several global arrays that overlap."""

    name: str
    dtype: DType
    """As the target stores it: u32 words where the arrays' own dtype is emulated or they differ."""
    arrays: tuple[Array, ...]
    atomic: bool = False
    """Some access is atomic, so that targets with atomic types must declare it so."""


# Expressions ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """A pure value."""

    type: ValueType
    span: Span | None


@dataclass(frozen=True, slots=True, eq=False)
class Const(Expr):
    """A Python int, float or bool that `type` (a scalar) holds exactly."""

    value: int | float | bool


@dataclass(frozen=True, slots=True, eq=False)
class Ref(Expr):
    symbol: Symbol


@dataclass(frozen=True, slots=True, eq=False)
class Param(Expr):
    """A scalar parameter, or a hidden slot of the parameter block such as "zero" (see `hidden`)."""

    name: str
    hidden: Literal["", "zero", "program"] = ""


@dataclass(frozen=True, slots=True, eq=False)
class Builtin(Expr):
    """A position or size. `axis` None is the linear one. The workgroup's dim is a constant, not a builtin."""

    name: BuiltinName
    axis: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Length(Expr):
    """Elements of a global array, index type."""

    array: Array


@dataclass(frozen=True, slots=True, eq=False)
class Shape(Expr):
    """Extent of a tensor's axis, index type."""

    array: Array
    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class Stride(Expr):
    """Stride of a tensor's axis in elements, index type, may be negative or zero."""

    array: Array
    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class Offset(Expr):
    """Element offset of a global array in its binding, index type."""

    array: Array


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Expr):
    """`-`, `~` (integers, bool), `not` (bool)."""

    op: Literal["-", "~", "not"]
    a: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Expr):
    """One of `SEMANTIC` or `RAW`. Operands have the node's type, save a shift's amount: any integer."""

    op: str
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Expr):
    """Gives bool (per component for vectors). Integers of two dtypes compare by value."""

    op: str
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Logic(Expr):
    """`and`, `or` of bool values; both sides are pure, so laziness is invisible."""

    op: Literal["and", "or"]
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Expr):
    """Conversion by value: truncating and saturating from float to integer, wrapping between
    integers, round to nearest even to floats, `!= 0` to bool. `raw`: the target's own is right."""

    a: Expr
    raw: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Bitcast(Expr):
    """The same bits as another type of the same width."""

    a: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Select(Expr):
    """`a` where `cond` (bool, or a bool vector), else `b`; both count as evaluated."""

    cond: Expr
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Math(Expr):
    """A function of `MATH` (see ir/functions.py), per component."""

    fn: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MakeVector(Expr):
    """A vector from its components, or from one scalar for all."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Component(Expr):
    """One component of a vector, by constant index."""

    a: Expr
    index: int


@dataclass(frozen=True, slots=True, eq=False)
class Fence(Expr):
    """The value of `a`, through which no compiler does algebra. A `firm` one is also never taken for
    an ordinary one of the same value."""

    a: Expr
    firm: bool = False


# Statements -------------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """One kernel, specialised."""

    name: str
    params: tuple[ScalarParam | ArrayParam, ...]
    arrays: tuple[Array, ...]
    """Global arrays in parameter order, then shared, local and constant ones."""
    body: Body
    dim: tuple[int, int, int]
    index: DType
    """i32, or i64 for a launch that needs it."""
    mode: Mode = "checked"
    fp_contract: bool = True
    fp_exact: bool = False
    fp_fast: bool = False
    sites: tuple[Site, ...] = ()
    bindings: tuple[Binding, ...] = ()
    """Filled by the pass `bind`."""
    equal_lengths: tuple[tuple[str, ...], ...] = ()
    """Array parameters whose lengths the launcher found equal."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Array parameters that share an allocation and so one binding."""
    spread: bool = False
    span: Span | None = None

    @property
    def units(self) -> int:
        """Units of one workgroup."""
        return self.dim[0] * self.dim[1] * self.dim[2]

    def in_space(self, *spaces: Space) -> tuple[Array, ...]:
        """The arrays of these spaces, in order."""
        return tuple(a for a in self.arrays if a.space in spaces)


__all__ = [
    "COMPARISONS",
    "KERNEL",
    "RAW",
    "SEMANTIC",
    "Array",
    "Assert",
    "Assign",
    "Atomic",
    "Barrier",
    "Binary",
    "Binding",
    "Bitcast",
    "Block",
    "Body",
    "Break",
    "Builtin",
    "BuiltinName",
    "Cast",
    "Compare",
    "Component",
    "Const",
    "Continue",
    "DType",
    "Expr",
    "Fence",
    "For",
    "Function",
    "If",
    "Leave",
    "Length",
    "Let",
    "Load",
    "Logic",
    "Loop",
    "MakeVector",
    "MaskedStore",
    "Math",
    "Offset",
    "Param",
    "Ref",
    "Report",
    "Select",
    "Shape",
    "Space",
    "Stmt",
    "Store",
    "Stride",
    "Subgroup",
    "Symbol",
    "Unary",
    "UniformLoad",
    "ValueType",
    "VecType",
]
