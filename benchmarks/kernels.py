"""Kernels that the benchmarks measure, written as any user would."""

from __future__ import annotations

import ruda_core as ruda
from ruda_core import Array, Vec, f32, i32

F4 = Vec[f32, 4]

UNITS = 512
"""Units of a workgroup of `total` where there is much to add."""
FEW_UNITS = 256
"""Units of the one workgroup that adds the partial sums."""
BLOCK = 128
"""Rows and columns of the result that a workgroup of `matmul` makes."""
DEPTH = 16
"""Columns of A and rows of B that it holds in shared memory."""


@ruda.kernel
def saxpy(a: f32, x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < len(y):
        y[i] = a * x[i] + y[i]


@ruda.kernel
def saxpy4(a: f32, x: Array[F4], y: Array[F4]):
    i = ruda.ABSOLUTE_POS
    if i < len(y):
        y[i] = a * x[i] + y[i]


@ruda.kernel
def total(x: Array[F4], out: Array[f32]):
    """One partial sum for each workgroup, of a piece without gaps: vector loads, then a tree in shared memory."""
    units = ruda.WORKGROUP_DIM
    tile = ruda.shared(f32, units)
    unit = ruda.UNIT_POS
    turn = 2 * units
    piece = (len(x) + ruda.WORKGROUP_COUNT * turn - 1) // (ruda.WORKGROUP_COUNT * turn) * turn
    i = ruda.WORKGROUP_POS * piece + unit
    end = min(i - unit + piece, len(x))
    acc = F4(0.0, 0.0, 0.0, 0.0)
    more = F4(0.0, 0.0, 0.0, 0.0)
    while i + units < end:
        acc += x[i]
        more += x[i + units]
        i += turn
    if i < end:
        acc += x[i]
    tile[unit] = (acc + more).sum()
    ruda.barrier()
    half = units // 2
    while half > 0:
        if unit < half:
            tile[unit] += tile[unit + half]
        ruda.barrier()
        half //= 2
    if unit == 0:
        out[ruda.WORKGROUP_POS] = tile[0]


@ruda.kernel
def matmul(n: i32, a: Array[f32], b: Array[F4], c: Array[F4]):
    """Square row-major matrices of a multiple of BLOCK rows; 256 units, each with an 8 x 8 block of results.

    The rows and columns of a unit lie in two groups of four, 64 apart, so that shared memory is read as
    vectors of neighbours.
    """
    tile_a = ruda.shared(F4, (DEPTH, BLOCK // 4))
    tile_b = ruda.shared(F4, (DEPTH, BLOCK // 4))
    unit = ruda.UNIT_POS
    tx = unit % 16
    ty = unit // 16
    row0 = ruda.WORKGROUP_POS_Y * BLOCK
    col0 = ruda.WORKGROUP_POS_X * (BLOCK // 4)
    quarter = n // 4
    acc = ruda.local(F4, (8, 2))
    for r in ruda.unroll(range(8)):
        for g in ruda.unroll(range(2)):
            acc[r, g] = F4(0.0, 0.0, 0.0, 0.0)
    a_depth = unit % DEPTH
    a_rows = unit // DEPTH
    b_depth = unit // 32
    b_col = unit % 32
    for k0 in range(0, n, DEPTH):
        for h in ruda.unroll(range(2)):
            rows = a_rows + 16 * h
            at = (row0 + rows * 4) * n + k0 + a_depth
            tile_a[a_depth, rows] = F4(a[at], a[at + n], a[at + 2 * n], a[at + 3 * n])
            deep = b_depth + 8 * h
            tile_b[deep, b_col] = b[(k0 + deep) * quarter + col0 + b_col]
        ruda.barrier()
        for k in ruda.unroll(range(DEPTH)):
            low = tile_b[k, tx]
            high = tile_b[k, tx + 16]
            for g in ruda.unroll(range(2)):
                four = tile_a[k, ty + 16 * g]
                for r in ruda.unroll(range(4)):
                    acc[g * 4 + r, 0] = acc[g * 4 + r, 0] + four[r] * low
                    acc[g * 4 + r, 1] = acc[g * 4 + r, 1] + four[r] * high
        ruda.barrier()
    for g in ruda.unroll(range(2)):
        for r in ruda.unroll(range(4)):
            row = row0 + (ty + 16 * g) * 4 + r
            c[row * quarter + col0 + tx] = acc[g * 4 + r, 0]
            c[row * quarter + col0 + tx + 16] = acc[g * 4 + r, 1]


@ruda.kernel
def scale(a: f32, n: i32, x: Array[f32], y: Array[f32]):
    i = ruda.ABSOLUTE_POS
    if i < n:
        y[i] = a * x[i]
