"""How the units of a launch lie in arrays: a chunk of whole workgroups, one lane a unit.

A chunk's lanes have the axes (group z, y, x, unit z, y, x), without those of extent 1; the C order of
the lanes is the order of the units. A value has extent 1 on the axes it does not depend on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ruda_core.reference.affine import affine

Triple = tuple[int, int, int]

LANE_BYTES = 1 << 17
"""Bytes that one value of a chunk takes, about: the working set stays in a processor's cache, and the C
library's allocator keeps such blocks. It gives larger ones back to the system each time, which costs
four times the arithmetic."""
_KEPT = 1 << 14
"""A launch of at most this many units keeps its only chunk, positions included, for the next one."""

_INT64 = np.dtype(np.int64)
_UINT32 = np.dtype(np.uint32)


class Geometry:
    """One launch: `dim` units in each of `count` workgroups (x, y, z)."""

    def __init__(self, dim: Triple, count: Triple, index: np.dtype[Any], width: int = 4) -> None:
        """`width`: bytes of the kernel's widest value."""
        self.lanes = max(1, LANE_BYTES // width)
        self.dim = dim
        self.count = count
        self.index = index
        self.units = math.prod(dim)
        group_axes = [("group", a) for a in (2, 1, 0) if count[a] > 1] or [("group", 0)]
        self.unit_axes = [("unit", a) for a in (2, 1, 0) if dim[a] > 1]
        self.axes = (*group_axes, *self.unit_axes)
        self.kept: tuple[Chunk, ...] = ()
        """The only chunk of a small launch; empty: ask `chunks`."""
        if math.prod(count) * self.units <= _KEPT:
            self.kept = (Chunk(self, (0, 0, 0), count),)

    def chunks(self) -> Iterator[Chunk]:
        """All workgroups once, in order."""
        if self.kept:
            yield from self.kept
            return
        room = max(1, self.lanes // self.units)
        sizes: list[int] = []
        for n in self.count:
            sizes.append(max(1, min(n, room)))
            room = room // n if room >= n else 1
        starts = (range(0, n, size) for n, size in zip(reversed(self.count), reversed(sizes), strict=True))
        for z, y, x in itertools.product(*starts):
            origin = (x, y, z)
            a, b, c = (min(s, n - o) for s, n, o in zip(sizes, self.count, origin, strict=True))
            yield Chunk(self, origin, (a, b, c))


class Chunk:
    """A box of workgroups that run together."""

    def __init__(self, geometry: Geometry, origin: Triple, size: Triple) -> None:
        self.geometry = geometry
        self.origin = origin
        extents = {"group": size, "unit": geometry.dim}
        self.shape = tuple(extents[kind][axis] for kind, axis in geometry.axes)
        self.lanes = math.prod(self.shape)
        self.group_axes = len(geometry.axes) - len(geometry.unit_axes)
        self._positions: dict[tuple[str, int | None], Any] = {}

    def position(self, name: str, axis: int | None = None) -> Any:
        """A position of each unit, as the builtin of this name has it."""
        key = (name, axis)
        found = self._positions.get(key)
        if found is None:
            found = self._positions[key] = self._position(name, axis)
        return found

    def count(self, axis: int | None, *, native: bool = False) -> Any:
        """How many workgroups the launch has, along one axis or in all."""
        count = self.geometry.count
        dtype = _UINT32 if native else self.geometry.index
        return dtype.type(math.prod(count) if axis is None else count[axis])

    def _position(self, name: str, axis: int | None) -> Any:
        groups: Triple
        units: Triple
        dim, count = self.geometry.dim, self.geometry.count
        if name == "absolute_pos":
            groups, units, extent = dim, (1, 1, 1), (dim[0] * count[0], dim[1] * count[1])
        elif name == "unit_pos":
            groups, units, extent = (0, 0, 0), (1, 1, 1), (dim[0], dim[1])
        else:
            groups, units, extent = (1, 1, 1), (0, 0, 0), (count[0], count[1])
        weights = (
            (1, extent[0], extent[0] * extent[1]) if axis is None else [int(a == axis) for a in range(3)]
        )
        per = {
            "group": [w * g for w, g in zip(weights, groups, strict=True)],
            "unit": [w * u for w, u in zip(weights, units, strict=True)],
        }
        start = sum(w * o for w, o in zip(per["group"], self.origin, strict=True))
        steps = tuple(per[kind][a] for kind, a in self.geometry.axes)
        dtype = _UINT32 if name.startswith("native") else self.geometry.index
        return affine(start, steps, self.shape, dtype)

    def shared_base(self, elements: int) -> Any:
        """Where each lane's workgroup begins in shared memory of `elements` a workgroup."""
        extents = self.shape[: self.group_axes]
        steps = [elements * math.prod(extents[k + 1 :]) for k in range(len(extents))]
        steps += [0] * (len(self.shape) - len(extents))
        return affine(0, tuple(steps), self.shape, _INT64)

    @property
    def groups(self) -> int:
        """Workgroups of the chunk."""
        return math.prod(self.shape[: self.group_axes])

    def lane(self) -> Any:
        """The number of each lane."""
        key = ("lane", None)
        found = self._positions.get(key)
        if found is None:
            steps = tuple(math.prod(self.shape[k + 1 :]) for k in range(len(self.shape)))
            found = self._positions[key] = affine(0, steps, self.shape, _INT64)
        return found
