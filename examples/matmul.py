"""Matrix product twice: straight from global memory, and through shared tiles.

Shows two-dimensional grids, generic dtypes (f16 input, f32 sums), shared memory with barriers in a uniform
loop, and a tile size that is a compile-time value. The tiled kernel leans on checked launches: what it reads
past an edge is zero, and what it writes there is dropped.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Comptime, Tensor, f16, f32

T = TypeVar("T", f16, f32)


@ruda.kernel
def naive(a: Tensor[T], b: Tensor[T], c: Tensor[f32]):
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    if row < c.shape(0) and col < c.shape(1):
        total = 0.0
        for k in range(a.shape(1)):
            total += f32(a[row, k]) * f32(b[k, col])
        c[row, col] = total


@ruda.kernel
def tiled(a: Tensor[T], b: Tensor[T], c: Tensor[f32], size: Comptime[int]):
    tile_a = ruda.shared(f32, (size, size))
    tile_b = ruda.shared(f32, (size, size))
    y, x = ruda.UNIT_POS_Y, ruda.UNIT_POS_X
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    total = 0.0
    for start in range(0, a.shape(1), size):
        tile_a[y, x] = f32(a[row, start + x])
        tile_b[y, x] = f32(b[start + y, col])
        ruda.barrier()
        for k in range(size):
            total += tile_a[y, k] * tile_b[k, x]
        ruda.barrier()
    c[row, col] = total


def matmul(client: ruda.ComputeClient, a: Any, b: Any, tile: int | None = 8) -> Any:
    """The product of two f16 or f32 matrices, in f32; `tile=None` uses no shared memory."""
    c = client.tensor(np.zeros((a.shape[0], b.shape[1]), np.float32))
    args = client.tensor(a), client.tensor(b), c
    if tile is None:
        naive.launch_over(client, (b.shape[1], a.shape[0]), *args)
    else:
        count = ruda.RudaCount.cover((b.shape[1], a.shape[0]), (tile, tile))
        tiled.launch(client, count, (tile, tile), *args, size=tile)
    return c.numpy()


def main() -> None:
    client = chosen_client(__doc__)
    rng = np.random.default_rng(1)
    a = rng.integers(-8, 8, (33, 17)).astype(np.float32)
    b = rng.integers(-8, 8, (17, 65)).astype(np.float32)
    report(client, "naive matmul", matmul(client, a, b, tile=None), a @ b)
    report(client, "tiled matmul", matmul(client, a, b), a @ b)
    report(client, "tiled matmul of f16", matmul(client, a.astype("f2"), b.astype("f2")), a @ b)


if __name__ == "__main__":
    main()
