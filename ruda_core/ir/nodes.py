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

from ruda_core.artifact import ArrayParam, Mode, ScalarParam, Site
from ruda_core.dtypes import DType, ValueType, VecType
from ruda_core.ir.expressions import (
    COMPARISONS,
    KERNEL,
    RAW,
    SEMANTIC,
    Array,
    Binary,
    Binding,
    Bitcast,
    Builtin,
    BuiltinName,
    Cast,
    Compare,
    Component,
    Const,
    Expr,
    Fence,
    Length,
    Logic,
    MakeVector,
    Math,
    Offset,
    Param,
    Ref,
    Select,
    Shape,
    Space,
    Stride,
    Symbol,
    Unary,
)
from ruda_core.ir.span import Span
from ruda_core.ir.statements import (
    Assert,
    Assign,
    Atomic,
    Barrier,
    Block,
    Body,
    Break,
    Continue,
    For,
    If,
    Leave,
    Let,
    Load,
    Loop,
    MaskedStore,
    Report,
    Stmt,
    Store,
    Subgroup,
    UniformLoad,
)


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
    per_unit: int = 1
    """Positions along x that each unit does: a launch has so many times fewer workgroups along x."""
    aligned: tuple[str, ...] = ()
    """Arrays that must begin on a multiple of `per_unit` elements; the launcher looks."""
    askew: bool = False
    """Nothing may rest on where arrays begin."""
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
