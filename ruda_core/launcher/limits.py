"""Counts and the device's limits, checked before anything is queued."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ruda_core.artifact import KernelSource, RudaCount
from ruda_core.capabilities import DeviceProperties
from ruda_core.errors import LaunchArgumentError, LaunchLimitError, UnsupportedFeature
from ruda_core.launcher.plan import LaunchPlan
from ruda_core.memory import Handle
from ruda_core.tensor import RudaTensor

INDEX32 = 2**31 - 1
"""Most units or elements that 32-bit positions count."""

Triple = tuple[int, int, int]


def over(plan: LaunchPlan, what: str, requested: object, limit: object, advice: str) -> LaunchLimitError:
    """The error for a launch over a limit, with both numbers."""
    return LaunchLimitError(
        f"{plan.location}: {what} of {requested} is over the device's limit of {limit}: {advice}",
        what=what,
        requested=requested,
        limit=limit,
    )


def check_dim(plan: LaunchPlan, properties: DeviceProperties) -> None:
    """Raise LaunchLimitError for a workgroup that the device cannot run."""
    for axis, wanted, limit in zip("xyz", plan.dim, properties.max_workgroup_dim, strict=True):
        if wanted < 1:
            raise LaunchArgumentError(
                f"{plan.location}: a workgroup's dim counts from 1, got {tuple(plan.dim)}"
            )
        if wanted > limit:
            raise over(plan, f"max_workgroup_dim: a dim.{axis}", wanted, limit, "use a smaller dim")
    units = plan.dim.units
    if units > properties.max_units_per_workgroup:
        limit = properties.max_units_per_workgroup
        raise over(plan, "max_units_per_workgroup: a dim", units, limit, "use a smaller dim")


def check_source(plan: LaunchPlan, source: KernelSource, properties: DeviceProperties) -> None:
    """Raise LaunchLimitError for shared memory or arrays over the device's limits."""
    limit = properties.max_shared_memory
    if source.shared_memory > limit:
        raise over(plan, "max_shared_memory: shared memory", source.shared_memory, limit, "use smaller tiles")
    arrays = sum(1 for binding in source.bindings if binding.arrays)
    if arrays > properties.max_bindings:
        advice = "put several arrays into one"
        raise over(plan, "max_bindings: a number of arrays", arrays, properties.max_bindings, advice)


def count_of(plan: LaunchPlan, count: Any) -> Triple:
    """A count's three axes. Raises LaunchArgumentError; UnsupportedFeature for an indirect one."""
    if type(count) is RudaCount:
        x, y, z = count.x, count.y, count.z
        if type(x) is type(y) is type(z) is int:
            return x, y, z
        count = x, y, z
    if isinstance(count, Handle | RudaTensor):
        raise UnsupportedFeature(
            f"{plan.location}: a count in device memory needs the feature indirect, which this device lacks",
            file=plan.file,
            line=plan.line,
        )
    items = count if isinstance(count, tuple | list) else (count,)
    try:
        axes = [operator.index(item) for item in items if not isinstance(item, bool | np.bool_)]
    except TypeError:
        axes = []
    if len(axes) != len(items) or not 1 <= len(axes) <= 3:
        raise LaunchArgumentError(
            f"{plan.location}: a count is an int, 1 to 3 of them, or a RudaCount, got {count!r}"
        )
    x, y, z = (*axes, 1, 1)[:3]
    return x, y, z


def is_spread(plan: LaunchPlan, count: Triple, properties: DeviceProperties) -> bool:
    """True when a one-dimensional count must be folded over the axes.

    Raises LaunchArgumentError for a negative count, LaunchLimitError for one that no folding makes fit.
    """
    limits = properties.max_workgroup_count
    if min(count) < 0:
        raise LaunchArgumentError(f"{plan.location}: a count is not negative, got {count}")
    most, total = properties.max_workgroups, count[0] * count[1] * count[2]
    if most is not None and total > most:
        raise over(plan, "max_workgroups: a count", total, most, "launch in parts")
    excess = [axis for axis in range(3) if count[axis] > limits[axis]]
    if not excess:
        return False
    if count[1] == count[2] == 1:
        total = limits[0] * limits[1] * limits[2]
        if count[0] <= total:
            return True
        raise over(plan, "max_workgroup_count: a count", count[0], total, "launch in parts")
    axis = excess[0]
    what = f"max_workgroup_count: a count.{'xyz'[axis]}"
    raise over(plan, what, count[axis], limits[axis], "launch in parts, or use one axis")


def fold(count: int, limits: Triple) -> Triple:
    """A grid within the limits of at least `count` workgroups, with little beyond."""
    mx, my, _ = limits
    z = -(-count // (mx * my))
    layer = -(-count // z)
    y = -(-layer // mx)
    return -(-layer // y), y, z


def needs_index64(plan: LaunchPlan, units: int, reach: int, has_index64: bool) -> bool:
    """True when positions do not fit 32 bits; LaunchLimitError where the device has no others."""
    largest = max(units, reach)
    if largest <= INDEX32:
        return False
    if has_index64:
        return True
    what = (
        "index width: a number of units" if units > INDEX32 else "index width: a storage offset plus length"
    )
    raise over(plan, what, largest, INDEX32, "launch in parts; the device has no 64-bit indices")
