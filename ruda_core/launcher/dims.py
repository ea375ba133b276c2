"""Workgroups: what a user gives as one, and the one that suits a device."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from ruda_core.artifact import RudaDim
from ruda_core.errors import LaunchArgumentError


def suitable_dim(units: Any, properties: Any) -> RudaDim:
    """A workgroup of up to 256 units, shaped to the rank of `units`."""
    rank = len(tuple(units)) if isinstance(units, Iterable) else 1
    wanted = {1: (256, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}.get(rank, (1, 1, 1))
    most = properties.max_units_per_workgroup
    x, y, z = (min(n, limit) for n, limit in zip(wanted, properties.max_workgroup_dim, strict=True))
    while x * y * z > most:
        x = max(1, x // 2)
    return RudaDim(x, y, z)


def dim_of(kernel: str, dim: Any) -> RudaDim:
    """What a user gives as a dim. Raises LaunchArgumentError for what is none."""
    try:
        made = RudaDim.of(dim)
        fits = index(made.x) > 0 and index(made.y) > 0 and index(made.z) > 0
    except (LaunchArgumentError, TypeError):
        raise LaunchArgumentError(
            f"{kernel}: dim is an int, a tuple of 1 to 3 ints or a RudaDim of them, not {dim!r}"
        ) from None
    if not fits:
        raise LaunchArgumentError(f"{kernel}: every axis of dim is at least 1, got {tuple(made)}")
    return made


__all__ = ["dim_of", "suitable_dim"]
