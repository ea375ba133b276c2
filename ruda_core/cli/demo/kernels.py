"""The demonstration's kernels: written once, run on every device."""

from __future__ import annotations

import ruda_core as ruda
from ruda_core import Array, Comptime, f32, i32, u8, u32

TILE = 16
GAUSS = (1.0, 4.0, 6.0, 4.0, 1.0)
"""Binomial weights of the 5x5 filter, as one row; they add up to 16."""


@ruda.kernel
def saxpy(a: f32, x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(y):
        y[i] = a * x[i] + y[i]


@ruda.kernel
def matmul(n: i32, a: Array[f32], b: Array[f32], c: Array[f32]):
    """Square row-major matrices, one tile of TILE x TILE results a workgroup."""
    tile_a = ruda.shared(f32, (TILE, TILE))
    tile_b = ruda.shared(f32, (TILE, TILE))
    tx = ruda.UNIT_POS_X
    ty = ruda.UNIT_POS_Y
    row = ruda.WORKGROUP_POS_Y * TILE + ty
    col = ruda.WORKGROUP_POS_X * TILE + tx
    acc = 0.0
    for k0 in range(0, n, TILE):
        tile_a[ty, tx] = a[row * n + k0 + tx] if row < n and k0 + tx < n else 0.0
        tile_b[ty, tx] = b[(k0 + ty) * n + col] if k0 + ty < n and col < n else 0.0
        ruda.barrier()
        for k in range(TILE):
            acc += tile_a[ty, k] * tile_b[k, tx]
        ruda.barrier()
    if row < n and col < n:
        c[row * n + col] = acc


@ruda.kernel(fp_contract=False)
def mandelbrot(width: i32, height: i32, limit: i32, out: Array[i32]):
    """Iterations until |z| > 2, for c over [-2, 1] x [-1, 1]."""
    px = ruda.ABSOLUTE_POS_X
    py = ruda.ABSOLUTE_POS_Y
    if px < width and py < height:
        cx = f32(px) * (3.0 / f32(width)) - 2.0
        cy = f32(py) * (2.0 / f32(height)) - 1.0
        zx = 0.0
        zy = 0.0
        steps = 0
        while steps < limit and zx * zx + zy * zy <= 4.0:
            zx, zy = zx * zx - zy * zy + cx, 2.0 * zx * zy + cy
            steps += 1
        out[py * width + px] = steps


@ruda.kernel
def histogram(data: Array[u8], bins: Array[u32]):
    """Counts of 256 values: in shared memory first, then merged."""
    local = ruda.shared(u32, 256)
    unit = ruda.UNIT_POS
    for b in range(unit, 256, ruda.WORKGROUP_DIM):
        local[b] = 0
    ruda.barrier()
    for i in range(ruda.ABSOLUTE_POS, len(data), ruda.WORKGROUP_COUNT * ruda.WORKGROUP_DIM):
        ruda.atomic_add(local, data[i], 1)
    ruda.barrier()
    for b in range(unit, 256, ruda.WORKGROUP_DIM):
        ruda.atomic_add(bins, b, local[b])


@ruda.kernel
def grey(rgb: Array[u8], out: Array[f32]):
    """Luma of interleaved 8-bit RGB, 0 to 255 (ITU-R BT.601 weights)."""
    i = ruda.ABSOLUTE_POS
    if i < len(out):
        red = f32(rgb[3 * i])
        green = f32(rgb[3 * i + 1])
        blue = f32(rgb[3 * i + 2])
        out[i] = 0.299 * red + 0.587 * green + 0.114 * blue


@ruda.kernel
def gauss5(width: i32, height: i32, src: Array[f32], out: Array[f32], border: Comptime[int] = 2):
    """5x5 binomial filter; each workgroup shares its tile and a halo of two pixels, edges clamped."""
    tile = ruda.shared(f32, (TILE + 2 * border, TILE + 2 * border))
    side = TILE + 2 * border
    x0 = ruda.WORKGROUP_POS_X * TILE - border
    y0 = ruda.WORKGROUP_POS_Y * TILE - border
    for k in range(ruda.UNIT_POS, side * side, TILE * TILE):
        sx = ruda.clamp(x0 + k % side, 0, width - 1)
        sy = ruda.clamp(y0 + k // side, 0, height - 1)
        tile[k // side, k % side] = src[sy * width + sx]
    ruda.barrier()
    tx = ruda.UNIT_POS_X
    ty = ruda.UNIT_POS_Y
    px = ruda.WORKGROUP_POS_X * TILE + tx
    py = ruda.WORKGROUP_POS_Y * TILE + ty
    if px < width and py < height:
        acc = 0.0
        for dy in ruda.unroll(range(5)):
            for dx in ruda.unroll(range(5)):
                acc += GAUSS[dy] * GAUSS[dx] * tile[ty + dy, tx + dx]
        out[py * width + px] = acc / 256.0


@ruda.func
def at(src: Array[f32], px: i32, py: i32, width: i32, height: i32):
    """The pixel at (px, py), the edge repeated outside."""
    return src[ruda.clamp(py, 0, height - 1) * width + ruda.clamp(px, 0, width - 1)]


@ruda.kernel
def sobel(width: i32, height: i32, src: Array[f32], out: Array[u8]):
    """Length of the gradient, saturated to 8 bits."""
    px = ruda.ABSOLUTE_POS_X
    py = ruda.ABSOLUTE_POS_Y
    if px < width and py < height:
        gx = 0.0
        gy = 0.0
        for d in ruda.unroll((-1, 0, 1)):
            weight = 2.0 if d == 0 else 1.0
            gx += weight * (at(src, px + 1, py + d, width, height) - at(src, px - 1, py + d, width, height))
            gy += weight * (at(src, px + d, py + 1, width, height) - at(src, px + d, py - 1, width, height))
        out[py * width + px] = u8(ruda.minimum(ruda.sqrt(gx * gx + gy * gy), 255.0))
