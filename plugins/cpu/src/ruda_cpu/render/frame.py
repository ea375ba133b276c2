"""Frames: whose values are being computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ruda_core.ir import nodes as ir
from ruda_cpu.analysis.forms import Monomials
from ruda_cpu.render.writer import Lines, Value


@dataclass(slots=True, eq=False)
class Frame:
    """Whose values expressions give: the group's, one unit's, or those of a strip of units at once."""

    kind: Literal["group", "unit", "strip", "first"]
    """first: the first unit of a row or strip, for addresses."""
    units: tuple[Value, Value, Value]
    """`unit_pos` on each axis, i32."""
    linear: Value
    """The linear `unit_pos`, i32."""
    linear64: str
    """The same (a strip's first unit) as i64."""
    lane: str = "0"
    """i64: how far the unit, or the strip's first unit, is from the first one that `first` describes."""
    first: Frame | None = None
    """Units: the first one of the row; strips: their first one. Addresses are computed for it."""
    before: Lines | None = None
    """Units: straight-line code before the loop over them."""
    made: dict[ir.Symbol, Value] = field(default_factory=dict)
    """Values of symbols for the first unit."""
    places: dict[tuple[ir.Array, Monomials], tuple[int, str]] = field(default_factory=dict)
    """The first unit of a row: pointers, with the constant of their index's form."""
    led: bool = False
    """The first unit of a row: true once something is read ahead for the row."""
    mask: str | None = None
    """Strips: the units that take part; None for all."""
    some: bool = True
    """Strips: at least one unit certainly takes part."""
    group: str | None = None
    """Metadata of the accesses in a loop whose turns are independent."""
