"""Pure values: what they are made of, and the memory that they name. See `nodes` for the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ruda_core.dtypes import DType, ValueType
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
    over: Array | None = None
    """The parameter whose memory this array names by whole vectors, made by the pass `widen`. An index
    counts from the start of the binding; there is no length, offset or argument of its own."""

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
