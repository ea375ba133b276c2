"""2-D convolution of an image with constant weights, through a shared tile with its halo.

Shows constants captured as a tuple, loops unrolled at compile time, a compile-time switch between two
border rules, and signed indices: left of the image, `col` is negative and out of bounds, never wrapped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Comptime, Tensor, f32

RADIUS = 2
SIZE = 2 * RADIUS + 1
BLOCK = 8
TILE = BLOCK + 2 * RADIUS
BOX = (1.0,) * (SIZE * SIZE)


@ruda.kernel
def convolve_kernel(image: Tensor[f32], out: Tensor[f32], clamp: Comptime[bool]):
    tile = ruda.shared(f32, (TILE, TILE))
    unit_y, unit_x = ruda.UNIT_POS_Y, ruda.UNIT_POS_X
    top, left = ruda.WORKGROUP_POS_Y * BLOCK - RADIUS, ruda.WORKGROUP_POS_X * BLOCK - RADIUS
    for y in range(unit_y, TILE, BLOCK):
        for x in range(unit_x, TILE, BLOCK):
            row, col = top + y, left + x
            if clamp:
                row = ruda.clamp(row, 0, image.shape(0) - 1)
                col = ruda.clamp(col, 0, image.shape(1) - 1)
            tile[y, x] = image[row, col]
    ruda.barrier()
    total = 0.0
    for dy in ruda.unroll(range(SIZE)):
        for dx in ruda.unroll(range(SIZE)):
            total += BOX[dy * SIZE + dx] * tile[unit_y + dy, unit_x + dx]
    out[ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X] = total


def convolve(client: ruda.ComputeClient, image: Any, clamp: bool = False) -> Any:
    """The 5 x 5 box sum of an f32 image; its border is zero, or (`clamp`) the nearest pixel."""
    out = client.tensor(np.zeros_like(image))
    count = ruda.RudaCount.cover(image.shape[::-1], (BLOCK, BLOCK))
    convolve_kernel.launch(client, count, (BLOCK, BLOCK), client.tensor(image), out, clamp=clamp)
    return out.numpy()


def reference(image: Any, clamp: bool = False) -> Any:
    """The same in NumPy."""
    padded = np.pad(image, RADIUS, mode="edge" if clamp else "constant")
    return np.lib.stride_tricks.sliding_window_view(padded, (SIZE, SIZE)).sum((2, 3))


def main() -> None:
    client = chosen_client(__doc__)
    image = np.random.default_rng(1).integers(0, 256, (37, 61)).astype(np.float32)
    for clamp in (False, True):
        border = "clamped" if clamp else "zero"
        report(
            client, f"convolution, {border} border", convolve(client, image, clamp), reference(image, clamp)
        )


if __name__ == "__main__":
    main()
