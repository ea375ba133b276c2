"""How the units of a group are laid out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """How the units of a group are walked: rows of neighbours along one axis, or all in linear order."""

    axis: int | None
    """The axis that changes along a row; None: rows hold the whole group and no axis moves evenly."""
    extent: int
    """Units of a row."""
    rows: int

    @staticmethod
    def of(dim: tuple[int, int, int]) -> Layout:
        x, y, z = dim
        units = x * y * z
        if x == units or x >= 8:
            return Layout(0, x, y * z)
        for axis in (1, 2):
            if dim[axis] == units:
                return Layout(axis, units, 1)
        return Layout(None, units, 1)
