"""Inclusive prefix sum of any length, and with it the compaction of an array.

Shows an up sweep and a down sweep over shared memory, launches that depend on each other (blocks, then the
sums of blocks, then their offsets), and a scatter to computed places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Array, i32

DIM = 64
BLOCK = 2 * DIM


@ruda.kernel
def scan_blocks(x: Array[i32], out: Array[i32], sums: Array[i32]):
    tile = ruda.shared(i32, BLOCK)
    unit, start = ruda.UNIT_POS, ruda.WORKGROUP_POS * BLOCK
    for k in range(unit, BLOCK, DIM):
        tile[k] = x[start + k]
    stride = 1
    while stride < BLOCK:
        ruda.barrier()
        right = (unit + 1) * (stride << 1) - 1
        if right < BLOCK:
            tile[right] += tile[right - stride]
        stride <<= 1
    stride = BLOCK >> 2
    while stride > 0:
        ruda.barrier()
        right = (unit + 1) * (stride << 1) + stride - 1
        if right < BLOCK:
            tile[right] += tile[right - stride]
        stride >>= 1
    ruda.barrier()
    for k in range(unit, BLOCK, DIM):
        out[start + k] = tile[k]
    if unit == 0:
        sums[ruda.WORKGROUP_POS] = tile[BLOCK - 1]


@ruda.kernel
def add_offsets(out: Array[i32], sums: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if BLOCK <= i < len(out):
        out[i] += sums[i // BLOCK - 1]


@ruda.kernel
def mark_positive(x: Array[i32], marks: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x):
        marks[i] = i32(x[i] > 0)


@ruda.kernel
def scatter_positive(x: Array[i32], places: Array[i32], out: Array[i32]):
    i = ruda.ABSOLUTE_POS
    if i < len(x) and x[i] > 0:
        out[places[i] - 1] = x[i]


def scan_tensor(client: ruda.ComputeClient, x: ruda.RudaTensor) -> ruda.RudaTensor:
    """The inclusive prefix sum of an i32 vector on the device."""
    blocks = -(-x.size // BLOCK)
    out = ruda.RudaTensor.empty(client, x.size, np.int32)
    sums = ruda.RudaTensor.empty(client, blocks, np.int32)
    scan_blocks.launch(client, blocks, DIM, x, out, sums)
    if blocks > 1:
        add_offsets.launch_over(client, x.size, out, scan_tensor(client, sums))
    return out


def scan(client: ruda.ComputeClient, x: Any) -> Any:
    """The inclusive prefix sum of an i32 vector."""
    return scan_tensor(client, client.tensor(x)).numpy()


def keep_positive(client: ruda.ComputeClient, x: Any) -> Any:
    """The elements above zero of an i32 vector, in order."""
    values = client.tensor(x)
    marks = ruda.RudaTensor.empty(client, x.size, np.int32)
    mark_positive.launch_over(client, x.size, values, marks)
    places = scan_tensor(client, marks)
    kept = ruda.RudaTensor.empty(client, places[-1:].item(), np.int32)
    scatter_positive.launch_over(client, x.size, values, places, kept)
    return kept.numpy()


def main() -> None:
    client = chosen_client(__doc__)
    x = np.random.default_rng(1).integers(-1000, 1000, 20_001).astype(np.int32)
    report(client, "prefix sum of 20,001 elements", scan(client, x), np.cumsum(x, dtype=np.int32))
    report(client, "compaction", keep_positive(client, x), x[x > 0])


if __name__ == "__main__":
    main()
