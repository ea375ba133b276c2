"""Heat in a plate and in a block: each inner cell moves towards the mean of its neighbours.

Shows a shared tile whose edge units load the halo too (the branches are around the loads, never around the
barrier), a three-dimensional grid, and many launches in a row over two buffers that change places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Tensor, f32

BLOCK = 8


@ruda.kernel
def plate_step(old: Tensor[f32], rate: f32, new: Tensor[f32]):
    tile = ruda.shared(f32, (BLOCK + 2, BLOCK + 2))
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    y, x = ruda.UNIT_POS_Y + 1, ruda.UNIT_POS_X + 1
    tile[y, x] = old[row, col]
    if y == 1:
        tile[0, x] = old[row - 1, col]
        tile[BLOCK + 1, x] = old[row + BLOCK, col]
    if x == 1:
        tile[y, 0] = old[row, col - 1]
        tile[y, BLOCK + 1] = old[row, col + BLOCK]
    ruda.barrier()
    if 0 < row < old.shape(0) - 1 and 0 < col < old.shape(1) - 1:
        around = tile[y - 1, x] + tile[y + 1, x] + tile[y, x - 1] + tile[y, x + 1]
        new[row, col] = tile[y, x] + rate * (around - 4.0 * tile[y, x])


@ruda.kernel
def block_step(old: Tensor[f32], rate: f32, new: Tensor[f32]):
    z, y, x = ruda.ABSOLUTE_POS_Z, ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    if 0 < z < old.shape(0) - 1 and 0 < y < old.shape(1) - 1 and 0 < x < old.shape(2) - 1:
        around = old[z - 1, y, x] + old[z + 1, y, x] + old[z, y - 1, x]
        around += old[z, y + 1, x] + old[z, y, x - 1] + old[z, y, x + 1]
        new[z, y, x] = old[z, y, x] + rate * (around - 6.0 * old[z, y, x])


def diffuse(client: ruda.ComputeClient, start: Any, rate: float, steps: int) -> Any:
    """An f32 plate (2-D) or block (3-D) after some steps; its outermost cells stay as they are."""
    kernel, dim = (plate_step, (BLOCK, BLOCK)) if start.ndim == 2 else (block_step, (8, 4, 2))
    count = ruda.RudaCount.cover(start.shape[::-1], dim)
    old, new = client.tensor(start), client.tensor(start)
    for _ in range(steps):
        kernel.launch(client, count, dim, old, rate, new)
        old, new = new, old
    return old.numpy()


def reference(start: Any, rate: float, steps: int) -> Any:
    """The same in NumPy, in f64."""
    values = start.astype(np.float64)
    inner = (slice(1, -1),) * values.ndim
    for _ in range(steps):
        around = sum(np.roll(values, shift, axis) for axis in range(values.ndim) for shift in (-1, 1))
        values[inner] += rate * (around - 2 * values.ndim * values)[inner]
    return values


def main() -> None:
    client = chosen_client(__doc__)
    rng = np.random.default_rng(1)
    for name, shape, rate in (("plate", (37, 50), 0.25), ("block", (9, 17, 21), 0.125)):
        start = rng.random(shape).astype(np.float32)
        report(
            client,
            f"heat in a {name}, 64 steps",
            diffuse(client, start, rate, 64),
            reference(start, rate, 64),
            tolerance=1e-5,
        )


if __name__ == "__main__":
    main()
