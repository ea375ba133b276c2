"""Kernels that the benchmarks of the processor measure, written as for any device."""

from __future__ import annotations

import ruda_core as ruda
from ruda_core import Array, Tensor, f32, i32, u8, u32

UNITS = 256
"""Units of a workgroup, and elements of each sum of `reduce`."""
TILE = 16
"""Rows and columns of the result that a workgroup of `matmul` makes."""
BINS = 256
WEIGHTS = tuple(tuple(float(1 + min(y, 4 - y) + min(x, 4 - x)) for x in range(5)) for y in range(5))


@ruda.kernel
def matmul(n: i32, a: Array[f32], b: Array[f32], c: Array[f32]):
    tile_a = ruda.shared(f32, (TILE, TILE))
    tile_b = ruda.shared(f32, (TILE, TILE))
    y, x = ruda.UNIT_POS_Y, ruda.UNIT_POS_X
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    total = 0.0
    for start in range(0, n, TILE):
        tile_a[y, x] = a[row * n + start + x]
        tile_b[y, x] = b[(start + y) * n + col]
        ruda.barrier()
        for k in range(TILE):
            total += tile_a[y, k] * tile_b[k, x]
        ruda.barrier()
    c[row * n + col] = total


@ruda.kernel
def reduce(x: Array[f32], sums: Array[f32]):
    """The sum of each 256 elements, by a tree in shared memory."""
    tree = ruda.shared(f32, UNITS)
    unit = ruda.UNIT_POS
    tree[unit] = x[ruda.ABSOLUTE_POS]
    half = UNITS // 2
    while half > 0:
        ruda.barrier()
        if unit < half:
            tree[unit] += tree[unit + half]
        half //= 2
    if unit == 0:
        sums[ruda.WORKGROUP_POS] = tree[0]


@ruda.kernel
def histogram(data: Array[u8], out: Array[u32]):
    bins = ruda.shared(u32, BINS)
    for k in range(ruda.UNIT_POS, BINS, UNITS):
        bins[k] = 0
    ruda.barrier()
    for i in range(ruda.ABSOLUTE_POS, len(data), UNITS * ruda.WORKGROUP_COUNT):
        ruda.atomic_add(bins, data[i], 1)
    ruda.barrier()
    for k in range(ruda.UNIT_POS, BINS, UNITS):
        ruda.atomic_add(out, k, bins[k])


@ruda.kernel
def mandelbrot(left: f32, top: f32, step: f32, cap: i32, counts: Tensor[i32]):
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    if row < counts.shape(0) and col < counts.shape(1):
        cx, cy = left + step * f32(col), top + step * f32(row)
        x, y, count = 0.0, 0.0, 0
        while x * x + y * y <= 4.0 and count < cap:
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            count += 1
        counts[row, col] = count


@ruda.kernel
def convolve(image: Tensor[f32], out: Tensor[f32]):
    """Past the border lies zero: what a checked launch reads there."""
    row, col = ruda.ABSOLUTE_POS_Y, ruda.ABSOLUTE_POS_X
    total = 0.0
    for dy in ruda.unroll(range(5)):
        for dx in ruda.unroll(range(5)):
            total += WEIGHTS[dy][dx] * image[row + dy - 2, col + dx - 2]
    out[row, col] = total
