"""The Mandelbrot set: how many steps each point takes to leave a circle of radius two.

Shows a two-dimensional grid, a loop that ends elsewhere in each unit, `break`, and casts between int and
float.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import chosen_client, report

import ruda_core as ruda
from ruda_core import Tensor, f32, i32, u8


@ruda.func
def escape(cx: f32, cy: f32, cap: i32):
    """The number of steps until |z| > 2, at most `cap`."""
    x, y, count = 0.0, 0.0, 0
    while x * x + y * y <= 4.0 and count < cap:
        next_x, next_y = x * x - y * y + cx, 2.0 * x * y + cy
        if next_x == x and next_y == y:
            count = cap  # a fixed point never leaves
            break
        x, y = next_x, next_y
        count += 1
    return count


@ruda.kernel
def mandelbrot_kernel(left: f32, top: f32, step: f32, cap: i32, counts: Tensor[i32], shades: Tensor[u8]):
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    if row < counts.shape(0) and col < counts.shape(1):
        count = escape(left + step * f32(col), top + step * f32(row), cap)
        counts[row, col] = count
        shades[row, col] = u8(255.0 * f32(count) / f32(cap))


def mandelbrot(
    client: ruda.ComputeClient, left: float, top: float, step: float, cap: int, shape: tuple[int, int]
) -> tuple[Any, Any]:
    """Escape counts (i32) and grey shades (u8) of a picture of `shape` rows and columns."""
    counts = client.tensor(np.zeros(shape, np.int32))
    shades = client.tensor(np.zeros(shape, np.uint8))
    mandelbrot_kernel.launch_over(client, shape[::-1], left, top, step, cap, counts, shades)
    return counts.numpy(), shades.numpy()


def reference(left: float, top: float, step: float, cap: int, shape: tuple[int, int]) -> Any:
    """The counts in NumPy."""
    rows, cols = np.indices(shape)
    c = np.float32(left) + np.float32(step) * cols + 1j * (np.float32(top) + np.float32(step) * rows)
    z, counts = np.zeros(shape, np.complex128), np.zeros(shape, np.int32)
    for _ in range(cap):
        inside = np.abs(z) <= 2
        counts += inside
        z = np.where(inside, z * z + c, z)
    return counts


def main() -> None:
    client = chosen_client(__doc__)
    view = (-2.0, -1.25, 2.5 / 64, 50, (64, 80))
    counts, _ = mandelbrot(client, *view)
    same = np.mean(counts == reference(*view))  # rounding decides at the edge of the set
    report(client, "Mandelbrot set, share of equal pixels", same, 1.0, tolerance=0.01)


if __name__ == "__main__":
    main()
