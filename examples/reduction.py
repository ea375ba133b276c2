"""The sum of an array in two launches: one partial sum a workgroup, then the sum of those.

Shows a tree in shared memory, and the subgroup sum that replaces it where the device has subgroups, of
whatever size. Both are generic over the dtype: integer sums wrap at its width.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Array

T = TypeVar("T")
DIM = 64
GROUPS = 16


@ruda.func
def strided_sum(x: Array[T]):
    """The sum of this unit's share: every so many elements."""
    total = T(0)
    i = ruda.ABSOLUTE_POS
    while i < len(x):
        total += x[i]
        i += DIM * ruda.WORKGROUP_COUNT
    return total


@ruda.kernel
def sum_by_tree(x: Array[T], sums: Array[T]):
    tree = ruda.shared(T, DIM)
    unit = ruda.UNIT_POS
    tree[unit] = strided_sum(x)
    half = DIM // 2
    while half > 0:
        ruda.barrier()
        if unit < half:
            tree[unit] += tree[unit + half]
        half //= 2
    if unit == 0:
        sums[ruda.WORKGROUP_POS] = tree[0]


@ruda.kernel
def sum_by_subgroups(x: Array[T], sums: Array[T]):
    parts = ruda.shared(T, DIM)
    part = ruda.subgroup_sum(strided_sum(x))
    if ruda.SUBGROUP_LANE == 0:
        parts[ruda.SUBGROUP_ID] = part
    ruda.barrier()
    if ruda.UNIT_POS == 0:
        total = T(0)
        for k in range(ruda.SUBGROUP_COUNT):
            total += parts[k]
        sums[ruda.WORKGROUP_POS] = total


def total(client: ruda.ComputeClient, x: Any, subgroups: bool) -> Any:
    """The sum of a vector, of its dtype."""
    kernel = sum_by_subgroups if subgroups else sum_by_tree
    sums = client.tensor(np.zeros(GROUPS, x.dtype))
    result = client.tensor(np.zeros(1, x.dtype))
    kernel.launch(client, GROUPS, DIM, client.tensor(x), sums)
    kernel.launch(client, 1, DIM, sums, result)
    return result.numpy()[0]


def main() -> None:
    client = chosen_client(__doc__)
    x = np.arange(100_000, dtype=np.uint32)
    report(client, "sum by a tree", total(client, x, subgroups=False), x.sum(dtype=np.uint32))
    if client.features().subgroup:
        report(client, "sum by subgroups", total(client, x, subgroups=True), x.sum(dtype=np.uint32))


if __name__ == "__main__":
    main()
