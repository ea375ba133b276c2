"""What an expression of a kernel is while it is being lowered, and the types that only exist then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ruda_core.dtypes import DType, VecType, bool_, f32, i32, vec
from ruda_core.frontend.arguments import INDEX as INDEX
from ruda_core.frontend.arguments import ComptimeValue as ComptimeValue
from ruda_core.frontend.arguments import IndexType as IndexType
from ruda_core.ir import nodes as ir

if TYPE_CHECKING:
    from collections.abc import Hashable

Key = tuple["Hashable", ...]
"""One local of one inlined call: its path of calls, then its name."""


@dataclass(frozen=True, slots=True, eq=False)
class Weak:
    """The type of a local that has only met literals so far: it takes the first dtype that it meets."""

    name: str
    kind: Literal["bool", "int", "float"]
    rank: int
    """Literals unify upwards: bool, int, float."""
    default: DType

    def __repr__(self) -> str:
        return f"{self.name} literal"

    @property
    def is_integer(self) -> bool:
        return self.kind == "int"

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_signed(self) -> bool:
        return self.kind != "bool"

    @property
    def lanes(self) -> int:
        return 1

    @property
    def scalar(self) -> Weak:
        return self


WBOOL = Weak("bool", "bool", 0, bool_)
WINT = Weak("int", "int", 1, i32)
WFLOAT = Weak("float", "float", 2, f32)

Type = DType | VecType | IndexType | Weak


# Values -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """A compile-time Python value: a weak number, a dtype, a tuple, a function, …"""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of two weak numbers, by a run-time condition; it takes a dtype where it meets one."""

    cond: ir.Expr
    a: Static | Choice
    b: Static | Choice


@dataclass(frozen=True, slots=True, eq=False)
class Typed:
    """A run-time value. While `type` is weak, `origins` are the locals that will decide it."""

    expr: ir.Expr
    type: Type
    origins: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ArrayValue:
    """An array by reference; `flat` for the one-dimensional view of a tensor."""

    array: ir.Array
    flat: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class TupleValue:
    """A tuple of which some item is not compile-time."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Namespace:
    """A module or a class: its attributes are captured values."""

    holder: Any
    root: Any
    """The capture of the name that it was reached from; None for what never changes."""
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Nothing:
    """The result of a call that has none; `what` was called."""

    what: str


Value = Static | Choice | Typed | ArrayValue | TupleValue | Namespace | Nothing
Number = Static | Choice | Typed


# Rules about types --------------------------------------------------------------------------------


def is_number(value: object) -> bool:
    """True for a compile-time value that can become a scalar."""
    return isinstance(value, (int, float))


def weak_type(value: Static | Choice) -> Weak:
    """The weak type of a compile-time number, or of a choice between some."""
    if isinstance(value, Choice):
        a, b = weak_type(value.a), weak_type(value.b)
        return a if a.rank >= b.rank else b
    return WBOOL if isinstance(value.value, bool) else WINT if isinstance(value.value, int) else WFLOAT


def type_of(value: Number) -> Type:
    """The type of a number, weak for compile-time ones."""
    return value.type if isinstance(value, Typed) else weak_type(value)


def join(a: Type, b: Type) -> Type | None:
    """The type in which two operands meet; None where they do not mix."""
    if a is b or a == b:
        return a
    if isinstance(a, VecType) or isinstance(b, VecType):
        return _join_vectors(a, b)
    if isinstance(a, Weak) or isinstance(b, Weak):
        return _join_weak(a, b)
    if a is bool_ or b is bool_:
        return b if a is bool_ else a
    pair = {a, b}
    return INDEX if pair == {INDEX, i32} else None


def _join_vectors(a: Type, b: Type) -> Type | None:
    if isinstance(a, VecType) and isinstance(b, VecType):
        return None
    vector, scalar = (a, b) if isinstance(a, VecType) else (b, a)
    assert isinstance(vector, VecType)
    if scalar is INDEX:
        return vector if vector.scalar is i32 else None
    return vector if join(vector.scalar, scalar) == vector.scalar else None


def _join_weak(a: Type, b: Type) -> Type | None:
    if isinstance(a, Weak) and isinstance(b, Weak):
        return a if a.rank >= b.rank else b
    weak, typed = (a, b) if isinstance(a, Weak) else (b, a)
    if typed is bool_:
        return typed if weak is WBOOL else weak
    if weak is WFLOAT and not typed.is_float:
        return None
    return typed


def settle(old: Type, new: Type) -> Type | None:
    """The dtype of a local that was `old` and is now given a `new`; None for a conflict."""
    if old is new or old == new:
        return old
    if isinstance(old, Weak):
        if isinstance(new, Weak) or new is bool_:
            return _join_weak(old, new)
        if isinstance(new, VecType):
            return new if not (old is WFLOAT and not new.is_float) else None
        return _join_weak(old, new)
    if old is bool_:
        return old if new is WBOOL else None
    if {old, new} == {INDEX, i32} or new is bool_:
        return old
    joined = join(old, new)
    return old if joined == old else None


def with_lanes(like: Type, scalar: DType) -> DType | VecType:
    """`scalar`, or the vector of it with as many components as `like`."""
    return vec(scalar, like.lanes) if isinstance(like, VecType) else scalar


def show(value: Value) -> str:
    """What a value is, for an error."""
    match value:
        case Static(value=v):
            return f"the compile-time value {v!r}" if is_number(v) else f"{_kind(v)}"
        case Choice():
            return f"a {weak_type(value)!r}"
        case Typed():
            return f"a value of dtype {value.type!r}"
        case ArrayValue():
            return f"the array {value.array.name!r}"
        case TupleValue():
            return "a tuple"
        case Namespace():
            return f"{getattr(value.holder, '__name__', value.holder)}"
        case Nothing():
            return f"the result of {value.what}, which gives none"


def _kind(v: object) -> str:
    if isinstance(v, (DType, VecType)):
        return f"the dtype {v!r}"
    if v is None or isinstance(v, (tuple, str)):
        return repr(v)
    return f"{getattr(v, '__name__', None) or type(v).__name__!r}"
